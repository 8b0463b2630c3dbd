"""Runs in lanes: the numbers and the ends of single runs, whatever their neighbours do."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import InputError
from symderiv.integrate.ensemble import chunks, group_points, integrate_chunk, lane_run
from symderiv.integrate.rules.solving import solve

TOLERANCE = 1e-8
CURVES = ("Q", "R", "v", "generalization_error")
PER_RUN = ("status", "alpha_end", "error_sum", "steps", "rhs_evaluations")


@pytest.fixture(scope="module")
def problem() -> sd.Problem:
    # linear units diverge from learning rates of two on
    time = {"end": 600.0, "points": 25, "relative_tolerance": TOLERANCE}
    return sd.Problem(
        "linear",
        students=2,
        teachers=2,
        learning_rate=0.5,
        student_std=0.3,
        inputs=sd.Isotropic(50),
        time=time,
    )


@pytest.fixture(scope="module")
def studies(problem):
    """Drawn starts; rules that differ by number and in what vanishes; some of them diverge."""
    drawn = np.random.default_rng(3)
    found = []
    for seed in range(27):
        rate = float(drawn.choice([0.1, 0.7, 1.4, 1.9, 2.6, 4.0]))
        changes = {"learning_rate": rate * drawn.uniform(0.9, 1.1), "seed": seed}
        if seed % 3 == 1:
            changes |= {"order": "small-learning-rate", "weight_decay": 0.05}
        if seed % 4 == 2:
            changes |= {"train_second_layer": True, "second_layer_learning_rate": 0.2}
        if seed % 5 == 3:
            changes["label_noise"] = 0.3
        found.append(problem.replace(**changes)._study)
    return found


@pytest.fixture(scope="module")
def chunk(studies):
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(lane_run, "LEAST_RUNS", 1)
        return integrate_chunk(studies, threads=2)


def test_runs_in_lanes_are_single_runs_to_the_tolerance(studies, chunk) -> None:
    ends = set()
    for number, study in enumerate(studies):
        single = _alone(study)
        ends.add(single.cause)
        assert chunk.status[number] == single.cause
        assert chunk.steps[number] == pytest.approx(single.steps, rel=0.1)
        # of a run that overflows the last step is accepted or not by rounding
        np.testing.assert_allclose(chunk.alpha_end[number], single.alpha_end, rtol=1e-2)
        np.testing.assert_array_equal(chunk.T[number], single.T)
        # where a solution explodes, errors grow with it
        settled = single.alpha < 0.9 * single.alpha_end
        if single.cause == "done":
            settled[:] = True
            assert single.alpha.size == chunk.alpha.size
        for name in ("Q", "R", "v"):
            ours, theirs = getattr(chunk, name)[number], getattr(single, name)
            size = np.abs(theirs[settled]).max(axis=tuple(range(1, theirs.ndim)), keepdims=True)
            difference = np.abs(ours[: settled.size][settled] - theirs[settled])
            assert np.max(difference / size) < 100 * TOLERANCE
    assert "done" in ends
    assert len(ends) > 1


def test_what_lies_behind_the_end_is_not_a_number(chunk) -> None:
    for number, end in enumerate(chunk.alpha_end):
        behind = chunk.alpha > end
        for name in CURVES:
            values = getattr(chunk, name)[number]
            assert np.isfinite(values[~behind]).all()
            assert np.isnan(values[behind]).all()


def test_the_generalization_error_is_that_of_the_states(chunk) -> None:
    ours, scale = chunk.generalization_error, 1.0 / np.sqrt(2.0)
    w = np.full((*ours.shape, 2), scale)
    expected = 0.5 * (
        np.einsum("nai,naij,naj->na", chunk.v, chunk.Q, chunk.v)
        - 2.0 * np.einsum("nai,naim,nam->na", chunk.v, chunk.R, w)
        + np.einsum("nai,nij,naj->na", w, chunk.T, w)
    )
    bound = 1e-13 * (1.0 + np.abs(chunk.Q).max(axis=(2, 3)))
    reached = np.isfinite(ours)
    assert reached.any()
    assert (np.abs(ours - expected) <= bound)[reached].all()


def test_a_run_does_not_depend_on_its_neighbours_to_the_last_bit(
    studies, chunk, monkeypatch
) -> None:
    monkeypatch.setattr(lane_run, "LEAST_RUNS", 1)
    places = [11, 4, 20]
    few = integrate_chunk([studies[place] for place in places], threads=1)
    for name in (*CURVES, *PER_RUN):
        np.testing.assert_array_equal(getattr(few, name), getattr(chunk, name)[places], name)


def _alone(study) -> sd.Trajectory:
    """A run as those of an ensemble are made: explicit steps at a tenth of the tolerance."""
    times = {"relative_tolerance": TOLERANCE / 10, "absolute_tolerance": 1e-15}
    changes = {f"time.{name}": value for name, value in times.items()}
    return solve(study.changed({**changes, "time.method": "explicit"}), check="never")


Points = Callable[[sd.Problem], list[sd.Problem]]


def _with_rates(**changes) -> Points:
    time = {"end": 20.0, "points": 11, "relative_tolerance": TOLERANCE}
    return lambda problem: [
        problem.replace(learning_rate=rate, seed=seed, time=time, **changes)
        for seed, rate in enumerate((0.2, 0.5, 0.9))
    ]


def _other_times(problem: sd.Problem) -> list[sd.Problem]:
    """Tasks with inputs, heads and ends of their own; one is over before the end, one never is."""
    problem = problem.replace(
        activation="erf",
        students=3,
        train_second_layer=True,
        inputs=sd.Spectrum([1.6, 0.4], weights=[0.5, 0.5], dimension=40),
        time={"values": [0.0, 0.5, 2.0, 3.0, 7.5, 12.0], "relative_tolerance": TOLERANCE},
    )
    own = {"model": "spectrum", "eigenvalues": [0.7, 1.3], "weights": [0.5, 0.5]}
    points = []
    for seed, until in enumerate((2.0, 7.0, 7.0, 12.0, 50.0)):
        first, last = {"teachers": [0], "until": until}, {"teachers": [1]}
        second = {"data": own} if seed % 2 else {"head": "shared"} if seed == 2 else {}
        tasks = [{**first, "head": "shared"}, {**last, **second}]
        points.append(problem.replace(tasks=tasks, learning_rate=0.2 + 0.3 * seed, seed=seed))
    return points


def _velocities(problem: sd.Problem) -> list[sd.Problem]:
    """With 1 - β = γ/N the state has velocities; their covariances are sums over eigenspaces."""
    problem = problem.replace(
        activation="erf",
        students=3,
        student_std=0.5,
        student_biases=[0.1, -0.2, 0.4],
        teacher_biases=[0.3, -0.1],
        train_biases=True,
        inputs=sd.Spectrum([1.6, 0.4], weights=[0.25, 0.75], dimension=40),
        time={"end": 6.0, "points": 121, "relative_tolerance": TOLERANCE},
    )
    return [
        problem.replace(seed=seed, learning_rate=0.3 + 0.1 * seed, momentum_rate=1.0 + seed)
        for seed in range(3)
    ]


TASKS = [{"teachers": [0], "until": 7.0}, {"teachers": [1]}]
PLAIN = ("momentum", "schedule", "tasks")
FAMILIES: dict[str, Points] = {
    "momentum": _with_rates(momentum=0.4),
    "schedule": _with_rates(schedule={"times": [0.0, 5.0], "rates": [1.0, 0.5]}),
    "tasks": _with_rates(tasks=TASKS, train_second_layer=True),
    "changes at other times": _other_times,
    "velocities and biases": _velocities,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_runs_of_rules_are_single_runs_in_lanes_too(problem, name, monkeypatch) -> None:
    """One by one to the last bit, or to rounding with another compiled form; in lanes to the
    tolerance, whatever their neighbours are.
    """
    points = [each._study for each in FAMILIES[name](problem)]
    rounding = 0.0 if name in PLAIN else 1e-15
    groups = group_points(points)
    assert (len(groups) == 1) == (name != "changes at other times")
    one_by_one = [integrate_chunk([points[n] for n in group], threads=2) for group in groups]
    monkeypatch.setattr(lane_run, "LEAST_RUNS", 1)
    for group, plain in zip(groups, one_by_one, strict=True):
        found = integrate_chunk([points[n] for n in group], threads=1)
        last = integrate_chunk([points[n] for n in group[1:]], threads=1) if group[1:] else None
        assert set(found.status) == {"done"}
        for place, number in enumerate(group):
            single = _alone(points[number])
            wanted = {each: getattr(single, each) for each in CURVES} | single.further
            assert plain.steps[place] == single.steps
            for each, expected in wanted.items():
                alone = getattr(plain, each)[place]
                np.testing.assert_allclose(alone, expected, rtol=0, atol=rounding, err_msg=each)
                ours = getattr(found, each)[place]
                np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-8, err_msg=each)
                if last is not None and place:
                    np.testing.assert_array_equal(getattr(last, each)[place - 1], ours, each)
            if name.startswith("velocities"):
                # d(J.B)/d alpha = U.B, and the covariances R and C have the same weights
                change = np.gradient(found.R[place], found.alpha, axis=0, edge_order=2)
                apart = np.abs(found.C[place] - change)[1:-1].max()
                assert apart < 2e-3 * np.abs(change).max()


def test_a_run_that_ends_in_its_first_piece_leaves_the_others_alone(problem, monkeypatch) -> None:
    """Linear units diverge before the second task; what is known of their run is that of one."""
    tasks = [{"teachers": [0], "until": 60.0}, {"teachers": [1]}]
    time = {"end": 120.0, "points": 13, "relative_tolerance": TOLERANCE}
    points = [
        problem.replace(learning_rate=rate, seed=seed, tasks=tasks, time=time)._study
        for seed, rate in enumerate((0.4, 4.0, 0.8, 5.0))
    ]
    monkeypatch.setattr(lane_run, "LEAST_RUNS", 1)
    found = integrate_chunk(points, threads=1)
    assert list(found.status == "done") == [True, False, True, False]
    for number, study in enumerate(points):
        single = _alone(study)
        reached = single.alpha.size
        assert (reached == 13) == (number % 2 == 0)
        assert np.isnan(found.Q[number, reached:]).all()
        assert np.isnan(found.task_error[number, reached:]).all()
        assert np.isnan(found.generalization_error[number, reached:]).all()
        before = max(reached - 1, 1)  # the last numbers of a diverging run have no digits
        for name, expected in {**single.further, "Q": single.Q}.items():
            ours = getattr(found, name)[number, :before]
            np.testing.assert_allclose(ours, expected[:before], rtol=1e-5, atol=1e-9)


def test_runs_that_cannot_go_on_stop_nobody(problem, monkeypatch) -> None:
    def failing(study, **given):
        if study.training.batch_ratio is not None:
            raise InputError("is refused late", argument="training.batch_ratio")
        return solve(study, **given)

    monkeypatch.setattr(chunks, "solve", failing)
    points = [
        problem.replace(learning_rate=0.5, seed=1)._study,
        problem.replace(batch_ratio=0.5)._study,
        problem.replace(**{"time.method": "implicit"})._study,
    ]
    assert group_points(points) == [[0, 2], [1]]
    found = integrate_chunk(points)
    assert list(found.status[[0, 2]]) == ["done", "done"]
    assert found.status[1].startswith("failed: ")
    assert "training.batch_ratio: is refused late" in found.status[1]
    limited = integrate_chunk(points[:1], max_steps=7)
    assert list(limited.status) == ["step-limit"]
    assert 0.0 < limited.alpha_end[0] < 600.0
    implicit = solve(points[2], check="never")
    np.testing.assert_allclose(found.Q[2], implicit.Q, rtol=1e-5)


def test_an_interrupt_ends_all_runs_where_they_are(problem) -> None:
    def interrupt(done: int, total: int) -> None:
        if done < total:
            raise KeyboardInterrupt

    changes = {"time": {"end": 3e6, "points": 2, "relative_tolerance": TOLERANCE}}
    points = [problem.replace(seed=seed, **changes)._study for seed in range(9)]
    found = integrate_chunk(points, threads=1, progress=interrupt)
    assert found.interrupted
    assert set(found.status) <= {"done", "interrupted"}
    assert not np.isnan(found.alpha_end).any()


def test_an_ensemble_has_a_dimension_per_list(problem, chunk) -> None:
    told: list[float] = []
    found = problem.ensemble(
        over={"learning_rate": [0.1, 0.7, 3.0], "seed": range(2)},
        students=[1, 2],
        end=800.0,
        points=6,
        progress=lambda task, done: told.append(done),
    )
    assert found.Q.dims == ("learning_rate", "seed", "students", "alpha", "student", "student_2")
    assert found.Q.shape == (3, 2, 2, 6, 2, 2)
    assert set(found.status.sel(learning_rate=0.7).values.ravel()) == {"done"}
    assert set(found.status.sel(learning_rate=3.0).values.ravel()) != {"done"}
    # a smaller network leaves the rest empty
    single = found.sel(students=1).Q.isel(student=1)
    assert single.isnull().all()
    one = problem.replace(learning_rate=0.7, seed=1).solve(end=800.0, points=6)
    ours = found.sel(learning_rate=0.7, seed=1, students=2)
    np.testing.assert_allclose(ours.Q.values, one.Q, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.alpha.values, one.alpha)
    assert told[-1] == 1.0
    assert all(b >= a for a, b in pairwise(told))


@pytest.mark.parametrize(
    ("lists", "argument"),
    [
        ({}, "lists"),
        ({"seed": []}, "seed"),
        ({"learning_rate": 0.1}, "learning_rate"),
        ({"learning_rate": [0.1, -1.0]}, "learning_rate"),
        ({"rate": [1]}, "rate"),
        ({"simulation": [{}]}, "simulation"),
    ],
)
def test_bad_lists_are_refused_by_their_names(problem, lists, argument) -> None:
    with pytest.raises(InputError) as caught:
        problem.ensemble(**lists)
    assert caught.value.argument == argument
