"""Derivatives of runs and of times of events, against differences of runs of small tolerance."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.followed import readable
from symderiv.api.results.rate_function import flow_at
from symderiv.integrate.events.conditions import Condition
from symderiv.integrate.flows.event_times import SeenRun
from symderiv.integrate.flows.sensitivities import VariedFlow

TIMES = [0.0, 2.0, 10.0, 40.0]
EVENTS = ["generalization_error < 0.1", "R[1,1] > 0.7*Q[1,1]", "Q[1,2] > alpha/10 + 40"]


def general(**others: Any) -> sd.Problem:
    """Return a problem with K ≠ M, T ≠ 1, noise, two eigenvalues and large steps."""
    inputs = sd.PowerLaw(exponent=1.0, dimension=400, distinct_eigenvalues=2)
    given = {"learning_rate": 0.9, "student_std": 0.5, "label_noise": 0.1, "weight_decay": 0.01}
    given |= {"inputs": inputs, "students": 2, "teachers": 3, "train_second_layer": True}
    return sd.Problem(**{"activation": "erf", **given, **others})


def by_differences(problem: sd.Problem, number: str, value: float) -> dict[str, np.ndarray]:
    """Return derivatives by central differences of sixth order."""
    step = 4e-3 * value
    found: dict[str, Any] = {}
    for n, weight in {1: 45, -1: -45, 2: -9, -2: 9, 3: 1, -3: -1}.items():
        there = problem.replace(**{number: value + n * step})
        run = there.solve(alpha=TIMES, relative_tolerance=1e-12, events=EVENTS)
        arrays = {name: getattr(run, name) for name in ("Q", "R", "v", "generalization_error")}
        arrays["events"] = np.array([each["alpha"] or np.nan for each in run.events])
        for name, array in arrays.items():
            found[name] = found.get(name, 0.0) + weight / 60 / step * array
    return found


NUMBERS = {
    "learning_rate": 0.9,
    "label_noise": 0.1,
    "weight_decay": 0.01,
    "student_std": 0.5,
    "exponent": 1.0,
}


OTHERS = {
    "linear learns erf": {"activation": "x", "teacher_activation": "erf", "learning_rate": 0.4},
    "momentum": {"momentum": 0.4},
    "biases": {
        "student_biases": [0.2, -0.1],
        "teacher_biases": [0.1, 0.3, -0.2],
        "train_biases": True,
    },
    "relu": {"activation": "relu", "learning_rate": 0.3},
}


# each compiles equations of its own
@pytest.mark.turns(8)
@pytest.mark.parametrize("which", OTHERS)
def test_derivatives_under_other_rules_are_those_of_differences(which: str) -> None:
    problem = general(train_second_layer=False, **OTHERS[which])
    found = problem.solve(alpha=TIMES, sensitivities=["learning_rate", "student_std"])
    for number in ("learning_rate", "student_std"):
        expected = by_differences(problem, number, getattr(problem, number))
        for name in ("Q", "R", "generalization_error"):
            scale = np.max(np.abs(expected[name]))
            own = found.sensitivity(name, number)
            np.testing.assert_allclose(own, expected[name], rtol=1e-7, atol=1e-8 * scale)


@pytest.fixture(scope="module")
def run() -> Any:
    return general().solve(alpha=TIMES, sensitivities=[*NUMBERS], events=EVENTS)


@pytest.fixture(scope="module")
def twice() -> Any:
    names = ["learning_rate_twice", "student_std_twice"]
    return general().solve(alpha=TIMES, sensitivities=names)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", ["learning_rate", "student_std"])
def test_second_derivatives_are_those_of_differences_of_runs(twice: Any, number: str) -> None:
    value, fields = NUMBERS[number], ("Q", "R", "v", "generalization_error")
    step = 2e-2 * value
    expected = dict.fromkeys(fields, 0.0)
    for n, weight in enumerate([1 / 90, -3 / 20, 3 / 2, -49 / 18, 3 / 2, -3 / 20, 1 / 90], -3):
        there = general(**{number: value + n * step})
        other = there.solve(alpha=TIMES, relative_tolerance=1e-13)
        for name in fields:
            expected[name] += weight / step**2 * getattr(other, name)
    for name in fields:
        scale = np.max(np.abs(expected[name]))
        found = twice.sensitivity(name, number + "_twice")
        np.testing.assert_allclose(found, expected[name], rtol=1e-7, atol=3e-8 * scale)
        assert scale > 1e-2


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", NUMBERS)
def test_derivatives_are_those_of_differences(run: Any, number: str) -> None:
    expected = by_differences(general(), number, NUMBERS[number])
    for name in ("Q", "R", "v", "generalization_error"):
        found = run.sensitivity(name, number)
        scale = np.max(np.abs(expected[name]))
        np.testing.assert_allclose(found, expected[name], rtol=1e-7, atol=1e-8 * scale)
        assert scale > 1e-6
    times = [each["derivatives"].get(number, np.nan) for each in run.events]
    np.testing.assert_allclose(times, expected["events"], rtol=1e-6)
    assert np.isfinite(times[:2]).all()


@pytest.mark.turns(4)
def test_runs_with_derivatives_are_kept_and_drawn(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "RUN.nc"
    run.save(path)
    again = sd.open(path)
    np.testing.assert_array_equal(again.Q_by_exponent, run.sensitivity("Q", "exponent"))
    assert again.events == run.events
    assert again.events[2]["alpha"] is None
    assert run.Q_by_exponent.shape == run.Q.shape
    run.plot("generalization_error_by_label_noise")
    longer = run.extend(50.0, points=2)
    for one, other in zip(longer.events[:2], run.events[:2], strict=True):
        assert one["alpha"] == pytest.approx(other["alpha"], rel=1e-8)
    assert [each["event"] for each in longer.events] == EVENTS
    assert "never" in again.to_text()


def test_times_of_events_are_those_of_runs_with_smaller_tolerance() -> None:
    random = np.random.default_rng(20)
    located = 0
    for _ in range(4):
        problem = sd.Problem(
            "erf",
            students=2,
            teachers=2,
            learning_rate=float(random.uniform(0.2, 2.0)),
            student_std=float(random.uniform(0.05, 0.5)),
            label_noise=float(random.uniform(0.0, 0.3)),
            seed=int(random.integers(1000)),
        )
        tolerance = float(10.0 ** -random.integers(6, 11))
        error = float(problem.rates().generalization_error)
        conditions = [f"generalization_error < {error * random.uniform(0.05, 0.9)}"]
        conditions.append(f"R[1,1]**2 + R[1,2]**2 > {random.uniform(0.05, 0.5)}*Q[1,1]")
        found, exact = (
            problem.solve(end=300.0, points=20, relative_tolerance=each, events=conditions).events
            for each in (tolerance, 1e-13)
        )
        for one, other in zip(found, exact, strict=True):
            assert (one["alpha"] is None) == (other["alpha"] is None)
            if other["alpha"]:
                located += 1
                assert one["alpha"] == pytest.approx(other["alpha"], rel=10 * tolerance)
                assert abs(one.time - other.time) <= one.error_bound + other.error_bound
    assert located > 4


@pytest.mark.turns(4)
def test_runs_end_at_events() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=1.0, student_std=0.1, label_noise=0.1, seed=3
    )
    low = sd.event("generalization_error", below=0.03)
    run = problem.solve(end=300.0, until=low, sensitivities=["learning_rate"])
    event = run.events["generalization_error"]
    assert event is not run.events[0]
    assert event == run.events["generalization_error < 0.03"]
    assert run.alpha[-1] == event.time
    assert run.generalization_error[-1] == pytest.approx(0.03)
    slope = -run.sensitivity("generalization_error", "learning_rate")[-1]
    whole = problem.solve(alpha=[event.time - 1e-4, event.time + 1e-4])
    speed = np.diff(whole.generalization_error)[0] / 2e-4
    assert event.derivatives["learning_rate"] == pytest.approx(slope / speed, rel=1e-5)
    assert run.problem.solve().alpha[-1] == event.time
    with pytest.warns(UserWarning, match="until: generalization_error does not happen up to"):
        late = problem.solve(end=1.0, until=sd.event("generalization_error", below=1e-3))
    assert late.alpha[-1] == 1.0
    assert late.events[0].time == np.inf


@pytest.mark.turns(4)
def test_ends_of_plateaus_are_events() -> None:
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=1.0, student_std=1e-2)
    events = ["plateau-begin", sd.event("plateau-end")]
    run = problem.solve(end=600.0, points=400, events=events)
    features = run.features
    begin, end = run.events["plateau-begin"].time, run.events["plateau-end"].time
    assert begin == pytest.approx(features.begins, rel=1e-2)
    assert end == pytest.approx(features.ends, rel=1e-2)
    at = problem.solve(alpha=[begin, end]).generalization_error / features.height
    assert at == pytest.approx([1.1, 0.5], rel=1e-4)
    again = run.extend(700.0, points=2)
    assert again.events["plateau-end"].time == pytest.approx(end, rel=1e-3)


@pytest.mark.filterwarnings("ignore::symderiv.foundation.errors.RunWarning")
def test_ends_of_plateaus_are_not_looked_for_in_what_rounding_leaves() -> None:
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=1.0, student_std=0.3)
    run = problem.solve(end=2000.0, points=200, events=["plateau-end"])
    # the run has converged long before its end, and its last errors are those of steps
    assert np.abs(run.generalization_error[-1]) < 1e-11
    event = run.events["plateau-end"]
    assert event.time == pytest.approx(run.features.ends, rel=1e-2)


def test_conditions_that_hardly_hold_at_an_output_time_are_located() -> None:
    study = sd.Problem("erf", students=2, teachers=2, learning_rate=1.0, student_std=0.3)._study
    times = np.linspace(0.0, 5.0, 41)
    seen = SeenRun.of(VariedFlow(flow_at(study, start_of(study, None)), {}), times)
    held = np.array([each["Q"][0, 0] for each in seen.observed])
    assert np.all(np.diff(held[8:]) > 0)
    located = []
    for value in held[10:]:
        place = seen.first(
            Condition(f"Q[1,1] > {float(np.nextafter(value, 0.0))!r}", readable(2, 2))
        )
        assert place is not None
        located.append(place[1])
    assert located == pytest.approx(times[10:], rel=1e-8)
    # from the time before, other steps lead to a little less, so that some are found behind it
    assert np.any(np.array(located) > times[10:])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sd.event("R[1,1]"), "give one of below"),
        (lambda: sd.event("R[1,1]", below=1, above=2), "give one of below"),
        (lambda: sd.event("R[1,1] > 1", below=1), "complete condition"),
        (lambda: sd.event("R[1,1]", below="much"), "below: must be a number or None, not 'much'"),
        (lambda: sd.event(3), "what: 3 is not a condition such as"),
        (lambda: general().solve(end=1, until="R[1,1]"), "until: 'R"),
        (lambda: general().solve(end=1).certificate(), "was not certified"),
    ],
)
def test_events_that_are_not_ones_are_refused(make: Any, said: str) -> None:
    with pytest.raises(sd.InputError, match=re.escape(said)):
        make()


def test_what_cannot_be_followed_is_refused() -> None:
    problem = general()
    for names, said in ((["speed"], "not a number"), (["activation"], "not a number")):
        with pytest.raises(sd.InputError, match=said) as error:
            problem.solve(alpha=TIMES, sensitivities=names)
        assert error.value.argument == "sensitivities"
    for text in ("Q[1,1]", "Q[3,1] > 0", "__import__('os') > 1", "Q[1] > 1", "1 < alpha < 2"):
        with pytest.raises(sd.InputError):
            problem.solve(alpha=TIMES, events=[text])
    tasks = [{"until": 1.0, "teachers": [0]}, {"teachers": [0, 1]}]
    for more, name, said in (
        ({"schedule": "1/(1 + alpha)"}, "learning_rate_twice", "second derivatives"),
        ({"tasks": tasks}, "learning_rate_twice", "second derivatives"),
        ({"batch_ratio": 0.5, "weight_decay": 0.0}, "batch_ratio", "time of a jump or of a step"),
    ):
        with pytest.raises(sd.SymderivError, match=said):
            general(**more).solve(alpha=TIMES, sensitivities=[name])


IN_TIME: dict[str, dict[str, Any]] = {
    "a table": {"schedule": {"times": [0.0, 0.7], "rates": [1.0, 0.25]}},
    "a power": {"schedule": {"power": 0.5, "after": 0.7}},
    "mixed tasks": {
        "schedule": "1/(1 + alpha)",
        "tasks": [
            {"until": 0.5, "teachers": [0]},
            {"until": 1.2, "teachers": [1]},
            {"mixture": {"0": 0.3, "1": 0.7}},
        ],
    },
    "inputs of a task": {
        "tasks": [
            {"until": 0.6, "teachers": [0], "data": {"model": "spectrum", "eigenvalues": [0.3, 2]}},
            {"teachers": [1]},
        ],
    },
    "steps": {"batch_ratio": 0.4, "schedule": {"times": [0.0, 1.2], "rates": [1.0, 0.25]}},
}


@pytest.mark.days(5)
@pytest.mark.parametrize("kind", IN_TIME)
def test_what_changes_in_time_has_the_derivatives_of_differences(kind: str) -> None:
    """Two eigenvalues, K ≠ M; rates that jump or are formulas, tasks, and steps of order one."""
    numbers = {"learning_rate": 0.6, "label_noise": 0.1, "student_std": 0.5}
    event = "generalization_error < 0.2"

    def solved(change: dict[str, float], **asked: Any) -> Any:
        given = {"inputs": sd.Spectrum([1.5, 0.5], dimension=200), "seed": 3}
        given |= {"teacher_weights": [1.0, 0.7, -0.5]}
        given |= {"student_weights": [0.8, -0.6], "train_second_layer": True, **numbers}
        problem = sd.Problem("erf", students=2, teachers=3, **{**given, **IN_TIME[kind], **change})
        times = [0.0, 0.5, 1.2, 3.0]
        return problem.solve(alpha=times, relative_tolerance=1e-12, events=[event], **asked)

    run = solved({}, sensitivities=list(numbers))
    located = run.events[event]
    assert 0.0 < located.time < 3.0
    for name, value in numbers.items():
        step = 2e-3 * value
        runs = {n: solved({name: value + n * step}) for n in (-2, -1, 1, 2)}
        weights = {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
        for field in ("Q", "R", "v", "generalization_error"):
            expected = sum(weights[n] * getattr(runs[n], field) for n in runs) / step
            found = run.sensitivity(field, name)
            np.testing.assert_allclose(found, expected, atol=1e-7 * (1 + np.abs(expected).max()))
        assert np.abs(run.sensitivity("Q", name)).max() > 1e-3
        if kind != "steps":
            slope = sum(weights[n] * runs[n].events[event].time for n in runs) / step
            assert located.derivatives[name] == pytest.approx(slope, rel=1e-6)
    if kind == "steps":
        assert located.time / 0.4 == pytest.approx(round(located.time / 0.4))
        assert located.derivatives == {}
