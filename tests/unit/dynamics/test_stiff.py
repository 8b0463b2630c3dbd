"""Stiff problems: implicit steps, and when they are taken."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from support.plain_stepper import plain_view
from support.studies import toml

from symderiv import System, activation
from symderiv.api.problem import Problem
from symderiv.foundation.errors import InputError, RunWarning
from symderiv.foundation.packing import Packing, families_of
from symderiv.integrate.flows import flat_run, implicit_run
from symderiv.integrate.flows.flat_run import FlatProblem, FlatResult, StepLimits
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.rules.solving import flow_of, solve
from symderiv.integrate.steppers import implicit_jacobian, implicit_work
from symderiv.integrate.steppers.memory import IMPLICIT, STEP_UNDERFLOW
from symderiv.problem.initial import initial
from symderiv.problem.input_models import PowerLaw, Spectrum
from symderiv.problem.study import parse_study
from symderiv.storage.checkpoint import Checkpoint

pytestmark = pytest.mark.days(12)


def study_of(
    method="implicit",
    eigenvalues=(9.0, 3.0, 1.0, 0.3, 0.02),
    times=(10.0, 300.0, 3000.0),
    rtol=1e-9,
    K=3,
    M=2,
    activation="erf",
    both=False,
    noise=0.0,
    decay=0.0,
):
    return parse_study(
        toml(
            network={
                "activation": activation,
                "students": K,
                "teachers": M,
                "student_weights": [0.6, 0.9, 0.4][:K],
                "teacher_weights": [0.8, -0.5, 0.3][:M],
                "train_second_layer": both,
            },
            data={
                "model": "spectrum",
                "dimension": 8 * len(eigenvalues),
                "eigenvalues": eigenvalues,
            },
            training={"learning_rate": 0.1, "weight_decay": decay, "label_noise": noise},
            initial={"student_std": 0.5, "seed": 4},
            time={"values": times, "relative_tolerance": rtol, "method": method},
        )
    )


@pytest.mark.parametrize(
    ("K", "M", "options"),
    [
        (3, 2, {}),
        (3, 3, {"both": True, "noise": 0.2, "decay": 1e-3}),
        (3, 2, {"activation": "relu", "rtol": 1e-7}),
        (3, 1, {"eigenvalues": (1.0,)}),
        (3, 2, {"eigenvalues": (4.0, 0.0), "noise": 0.2}),
        (2, 3, {"eigenvalues": (4.0, 1.0, 0.0), "both": True, "activation": "relu"}),
        (1, 2, {"eigenvalues": (5.0, 1.0, 0.1, 1e-3), "both": True}),
    ],
)
def test_implicit_steps_keep_the_tolerance(K, M, options):
    options = {"K": K, "M": M, **options}
    found = solve(study_of("implicit", **options))
    assert found.method == "implicit"
    assert found.succeeded
    exact = solve(study_of("explicit", **{**options, "rtol": 1e-13}), check="never")
    scale = np.max(exact.Q)
    rtol = options.get("rtol", 1e-9)
    np.testing.assert_allclose(found.Q, exact.Q, rtol=0, atol=rtol * scale)
    np.testing.assert_allclose(found.R, exact.R, rtol=0, atol=rtol * scale)
    np.testing.assert_allclose(found.v, exact.v, rtol=0, atol=rtol * np.max(exact.v))
    np.testing.assert_array_equal(found.alpha, exact.alpha)


def test_only_auto_leaves_the_explicit_steps(monkeypatch):
    monkeypatch.setattr(flat_run, "limited", lambda *_: True)
    monkeypatch.setattr(flat_run, "implicit_pays", lambda *_: True)
    kept = {"times": (10.0, 1e4), "rtol": 1e-6}
    assert solve(study_of("explicit", **kept), check="never").method == "explicit"
    auto = solve(study_of("auto", **kept), check="never")
    assert auto.method.endswith(", then implicit")


def test_a_long_stiff_run_is_finished_with_other_steps_and_no_other():
    wide = {"eigenvalues": (30.0, 10.0, 3.0, 1.0, 0.1, 1e-3), "rtol": 1e-8, "decay": 1e-4}
    times = (0.0, 100.0, 1e6)
    found = solve(study_of("auto", times=times, **wide), check="never")
    assert found.method.startswith("explicit to alpha = ")
    assert found.method.endswith(", then implicit")
    assert found.cause == "done"
    np.testing.assert_array_equal(found.alpha, times)
    # the fastest mode decays in 0.63, and explicit steps take two evaluations for that
    assert found.rhs_evaluations < 2.8e6 / 10
    alone = solve(study_of("implicit", times=times, **wide), check="never")
    np.testing.assert_allclose(found.Q, alone.Q, rtol=0, atol=1e-7 * np.max(alone.Q))
    np.testing.assert_allclose(found.R, alone.R, rtol=0, atol=1e-7 * np.max(alone.Q))
    short = solve(study_of("auto", times=(0.0, 100.0), **wide), check="never")
    assert short.method == "explicit"
    assert solve(study_of("auto"), check="never").method == "explicit"


def test_where_implicit_steps_fail_explicit_ones_are_taken(monkeypatch):
    integrate_flat = implicit_run.integrate_flat

    def fail(*given, kinds, **named) -> FlatResult:
        result = integrate_flat(*given, kinds=kinds, **named)
        return replace(result, code=STEP_UNDERFLOW) if IMPLICIT in kinds else result

    eager = {"eigenvalues": (30.0, 3.0, 1e-3), "times": (1e3,), "rtol": 1e-6}
    monkeypatch.setattr(flat_run, "limited", lambda *_: True)
    monkeypatch.setattr(flat_run, "implicit_pays", lambda *_: True)
    switched = solve(study_of("auto", **eager), check="never")
    assert switched.method.endswith("implicit")
    monkeypatch.setattr(implicit_run, "integrate_flat", fail)
    found = solve(study_of("auto", **eager), check="never")
    assert (found.method, found.cause) == ("explicit", "done")
    failed = solve(study_of("implicit", **eager), check="never")
    assert (failed.method, failed.cause) == ("implicit", "step-underflow")


def test_an_interrupt_and_a_limit_of_steps_keep_what_was_computed(monkeypatch):
    study = study_of("implicit", times=(0.0, 1e-3, 1e4))
    limited = solve(study, check="never", max_steps=10)
    assert limited.cause == "step-limit"
    assert limited.steps + limited.rejected == 10
    assert limited.alpha.size == 2

    def progress(alpha, steps):
        assert alpha > 0
        raise KeyboardInterrupt

    monkeypatch.setattr(flat_run, "_FIRST_SLICE", 1.0)
    interrupted = solve(study, check="never", progress=progress)
    assert interrupted.cause == "interrupted"
    assert 0 < interrupted.alpha_end < 1e4


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr(implicit_run, "_MOST_NUMBERS", 100)
    with pytest.raises(InputError, match=r"time\.method: .*of matrices, more than"):
        solve(study_of("implicit"))


def test_a_run_stopped_in_its_implicit_part_resumes_to_the_same_numbers(tmp_path):
    study = study_of(
        "auto",
        eigenvalues=(30.0, 10.0, 3.0, 1.0, 0.1, 1e-3),
        times=(0.0, 100.0, 1e6),
        rtol=1e-8,
        decay=1e-4,
    )
    undisturbed = solve(study, check="never")
    switched = float(undisturbed.method.split()[4].rstrip(","))
    stopping = Checkpoint(tmp_path / "run.checkpoint", stop=lambda: seen > switched)
    seen = 0.0

    def progress(alpha, steps):
        nonlocal seen
        seen = alpha

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flat_run, "_FIRST_SLICE", 1.0)
        stopped = solve(study, check="never", checkpoint=stopping, progress=progress)
    assert stopped.cause == "interrupted"
    assert switched < stopped.alpha_end < 1e6
    told = []
    resumed = solve(
        study,
        check="never",
        checkpoint=Checkpoint(tmp_path / "run.checkpoint", notice=told.append),
    )
    assert len(told) == 1
    assert told[0].startswith("resuming at alpha = ")
    assert resumed.method == undisturbed.method
    np.testing.assert_array_equal(resumed.generalization_error, undisturbed.generalization_error)
    np.testing.assert_array_equal(resumed.student_overlap, undisturbed.student_overlap)


def flow_for(rule: dict[str, object], L: int) -> Flow:
    """Return the flow of a rule from a state in general position, with L eigenvalues."""
    last = 0.003 if {"averaging_rate", "sobolev_weight"} & set(rule) else 0.0
    inputs = Spectrum([4.0, 2.0, 1.0, 0.5, 0.1, 0.02, last][:L], dimension=84)
    problem = Problem(
        "erf", students=2, teachers=2, learning_rate=0.4, student_std=0.5, inputs=inputs, **rule
    )
    start = initial(problem._study)
    flow: Flow = flow_of(problem._study, start)(start.state)
    return flow


@pytest.mark.parametrize("L", [1, 2, 4])
def test_parts_of_what_implicit_steps_keep_fill_it_and_do_not_overlap(monkeypatch, L):
    monkeypatch.setattr(implicit_work, "view", plain_view)
    flow = flow_for({"momentum_rate": 2.0}, L)
    modes = flow.modes(flow.begin, flow.parameters)
    numbers = np.zeros(modes.numbers)
    numbers[5:9] = modes.counts
    for part in implicit_work.work_of.py_func(numbers, modes.size):
        part += 1.0
    numbers[5:9] -= modes.counts
    np.testing.assert_array_equal(numbers, 1.0)


RULES = [
    {},
    {"train_second_layer": True, "label_noise": 0.3, "weight_decay": 0.01},
    {"momentum_rate": 2.0},
    {"input_noise": 0.4},
    {"normalise": "sphere"},
    {"train_biases": True, "bias_learning_rate": 0.5, "student_biases": 0.1},
    {"normalise": "gradient"},
    {"keep": 0.7, "update_noise": 0.2},
    {"consistency_weight": 0.5, "averaging_rate": 0.5},
    {"sobolev_weight": 0.5},
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: " ".join(rule) or "plain")
def test_the_jacobian_predicts_changes_of_the_slope(monkeypatch, rule):
    """Blocks, border and corner, read by Python, for several numbers of eigenvalues."""
    for module in (implicit_work, implicit_jacobian):
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)
    monkeypatch.setattr(implicit_work, "view", plain_view)
    for L in (1, 2, 3, 4, 7):
        _predicts(flow_for(rule, L), L)


def _predicts(flow: Flow, L: int) -> None:
    """Compare with differences along random directions."""
    rhs, sizes, y = flow.kernel.right_hand_side_for(2, 2), flow.sizes, flow.begin
    modes = flow.modes(y, flow.parameters)

    def slope(state):
        found = np.empty_like(state)
        rhs(0.0, state, sizes, flow.parameters, found)
        return found

    work = implicit_work.work_of(modes.vector(), modes.size)
    room = SimpleNamespace(
        y=y, stages=slope(y), scratch=y.copy(), new=y.copy(), parameters=flow.parameters
    )
    runs = SimpleNamespace(sizes=sizes)
    evaluations = implicit_jacobian.fill_jacobian(rhs, work, runs, room, 0.0)
    S, G, C, _ = modes.counts
    assert evaluations <= S + G + C
    np.testing.assert_array_equal(room.scratch, y)
    rows = [slice(row.start, row.start + L) for row in modes.rows]
    rng = np.random.default_rng(1)
    symmetric = [
        place
        for name, place in Packing.of(flow.layout, "state", K=2, M=2, L=L).slices.items()
        if name == "momentum_square" or len(set(families_of(name))) == 1
    ]
    for _ in range(4):
        change = rng.standard_normal(y.size)
        for place in symmetric:
            overlap = change[place].reshape(2, 2, L)
            overlap += overlap.swapaxes(0, 1).copy()
        parts = np.array([change[row] for row in rows]).reshape(S, L)
        sums = [np.sum(work.weights[c] * parts[int(work.summed[c])]) for c in range(C)]
        together = np.concatenate([change[modes.alone], sums])
        found = np.empty_like(y)
        blocks = np.einsum("abk,bk->ak", work.blocks, parts)
        for row, values in zip(
            rows, blocks + np.einsum("ack,c->ak", work.border, together), strict=True
        ):
            found[row] = values
        found[modes.alone] = work.corner @ together
        expected = (slope(y + 1e-5 * change) - slope(y - 1e-5 * change)) / 2e-5
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * np.abs(expected).max())


def two_kinds_of_inputs() -> FlatProblem:
    """Return a stated system whose students see inputs with a spectrum, and others without."""
    P = System()
    x, z = P.inputs("x", PowerLaw(20, exponent=1.0, dimension=200)), P.inputs("z")
    w, B = P.vectors("w", 2), P.vectors("B", fixed=True)
    g = activation("erf")
    output, target = (g(w @ x) + w @ z / 4).sum(), g(B @ x)
    P.descend((output - target) ** 2 / 2, {w: 0.3})
    rng = np.random.default_rng(3)
    initial_vectors = {"w": 0.3 * rng.normal(size=(2, 200)), "B": rng.normal(size=200)}
    solver = P.solver
    state, constants = solver.layout.packed(initial_vectors, {})
    asked = np.geomspace(1e-2, 3e3, 40)
    modes = solver.modes(constants)
    assert modes.counts[2] > modes.counts[0]  # some overlaps are in two sums
    sizes = solver.layout.sizes
    return FlatProblem(solver.right_hand_side, state, sizes, constants, asked, modes)


def slow_averages() -> FlatProblem:
    """Return a rule with overlaps of three families of vectors."""
    flow = flow_for({"consistency_weight": 0.5, "averaging_rate": 0.5}, 7)
    sizes, begin, parameters = flow.sizes, flow.begin, flow.parameters
    rhs, modes = flow.kernel.right_hand_side_for(2, 2), flow.modes(begin, parameters)
    return FlatProblem(rhs, begin, sizes, parameters, np.geomspace(1e-2, 3e3, 40), modes)


def noisy_updates() -> FlatProblem:
    """Return a rule where iterations do not converge in some of the steps that lead to results."""
    inputs = PowerLaw(100, exponent=1.5, dimension=10000)
    rule = {"learning_rate": 0.3, "student_std": 0.1, "update_noise": 0.3}
    study = Problem("erf", students=2, teachers=2, inputs=inputs, **rule)._study
    start = initial(study)
    flow = flow_of(study, start)(start.state)
    rhs, modes = flow.kernel.right_hand_side_for(2, 2), flow.modes(flow.begin, flow.parameters)
    asked = np.linspace(10.0, 3e3, 300)
    return FlatProblem(rhs, flow.begin, flow.sizes, flow.parameters, asked, modes)


@pytest.mark.parametrize("problem", [two_kinds_of_inputs, slow_averages, noisy_updates])
def test_rules_and_stated_systems_go_on_with_implicit_steps(problem, monkeypatch):
    flat = problem()
    exact = flat_run.integrate_flat(flat, StepLimits(1e-12, 1e-16))
    limits = StepLimits(1e-9, 1e-13)
    implicit = flat_run.integrate_flat(flat, limits, kinds=("implicit",))
    monkeypatch.setattr(flat_run, "implicit_pays", lambda *_: True)
    chosen = flat_run.integrate_flat(flat, limits, kinds=("explicit", "implicit"))
    assert chosen.method.endswith(", then implicit")
    largest = np.max(np.abs(exact.results), axis=1, keepdims=True)
    for run in (implicit, chosen):
        assert run.cause == "done"
        assert np.max(np.abs(run.results - exact.results) / largest) < 1e-8


def test_implicit_steps_that_follow_a_run_are_longer_than_its_own() -> None:
    flat, limits = slow_averages(), StepLimits(1e-9, 1e-13)
    run = flat_run.integrate_flat(flat, limits, kinds=("implicit",))
    (made,) = run.lengths
    assert len(made) == run.steps
    np.testing.assert_allclose(made[:-1].sum(axis=1), made[1:, 0])
    wider = replace(limits, relative=1e-8, absolute=1e-12, followed=made)
    worse = flat_run.integrate_flat(flat, wider, kinds=("implicit",))
    (longer,) = worse.lengths
    before = made[np.searchsorted(made[:, 0], longer[:-1, 0], side="right") - 1, 1]
    shorter = longer[:-1, 1] < before * (1.15 - 1e-12)
    assert np.count_nonzero(shorter) <= worse.rejected < 0.1 * worse.steps
    largest = np.max(np.abs(run.results), axis=1, keepdims=True)
    assert 0.0 < np.max(np.abs(worse.results - run.results) / largest) < 1e-8


@pytest.mark.parametrize(
    ("students", "teachers", "end"), [(1, 1, 1e18), (2, 1, 1e18), (2, 2, 1e20), (3, 1, 1e8)]
)
def test_results_between_long_steps_are_there(students: int, teachers: int, end: float) -> None:
    """Slopes of states at rest are rounding, which steps of such length magnify."""
    problem = Problem("erf", students=students, teachers=teachers, learning_rate=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)  # rounding grows on plateaus
        long = problem.solve(end=end)
        early = (long.alpha > 0) & (long.alpha < 1300)
        short = problem.solve(alpha=[0, *long.alpha[early]], method="explicit")
    assert "implicit" in long.method
    assert np.isfinite(long.Q).all()
    assert np.isfinite(long.R).all()
    assert np.max(np.abs(short.Q[1:] - long.Q[early])) < 1e-10
