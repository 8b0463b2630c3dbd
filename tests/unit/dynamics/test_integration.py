"""From a study to a trajectory: failures keep what was computed, tolerances are measured."""

import time
from dataclasses import astuple
from types import SimpleNamespace

import numpy as np
import pytest
from support import small_systems as systems
from support.studies import toml

import symderiv as sd
from symderiv.foundation.errors import InputError
from symderiv.integrate.flows import courses, run_errors
from symderiv.integrate.flows import integrate as integrate_module
from symderiv.integrate.flows import moment_check as moment_form
from symderiv.integrate.flows.compression import Compression
from symderiv.integrate.flows.study_flow import Flow
from symderiv.integrate.flows.trajectory import ESTIMATED, LOCAL_SUM, REPEATED
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.problem.state import State
from symderiv.problem.study import parse_study

ERF = toml(
    network={"activation": "erf", "students": 2, "teachers": 2},
    data={"model": "power-law", "dimension": 256, "distinct_eigenvalues": 4, "exponent": 1.0},
    training={"learning_rate": 0.4, "weight_decay": 0.01, "label_noise": 0.2},
    initial={"student_std": 0.1},
    time={"end": 30.0, "points": 21},
)


def one_unit(T):
    """One student, one teacher, one eigenvalue 1: Q = 1, R = 0, v = 1."""
    one, block = np.ones(1), np.ones((1, 1, 1))
    return State(one, one, block, 0 * block, T * block, T * block[0], one, one)


@pytest.fixture
def small_study(tmp_path):
    one_unit(1.0).save(tmp_path / "state.npz")

    def made(values, method="auto"):
        text = systems.STUDY.format(values=values) + f'\nmethod = "{method}"\n'
        return parse_study(text, base=tmp_path)

    return made


WORDS = {
    "not-a-number": "not a number",
    "step-underflow": "diverges",
    "cone-left": "positive semi-definite",
}


@pytest.mark.parametrize("method", ["explicit", "implicit"])
@pytest.mark.parametrize(
    ("rhs", "cause", "end"),
    [
        (systems.not_a_number_at_one, "not-a-number", 1.0),
        (systems.explosion, "step-underflow", 1.0),
        (systems.out_of_the_cone, "cone-left", 2.0),
    ],
)
def test_a_failed_run_says_when_and_why_and_keeps_what_was_computed(
    small_study, method, rhs, cause, end
):
    times = [0.0, 0.25, 0.5, 0.75, 3.0]
    result = solve(small_study(times, method), kernel=systems.as_kernel(rhs))
    # implicit steps may become short before a number is none, and the other way round
    either = {"not-a-number", "step-underflow"}
    assert result.cause in (either if method == "implicit" and cause in either else {cause})
    assert not result.succeeded
    assert WORDS[result.cause] in result.message
    assert f"alpha = {result.alpha_end:.10g}" in result.message
    assert "\n" not in result.message
    before, after = {"explicit": (1.2, 1e-6), "implicit": (0.6, 1e-5)}[method]
    assert end - before < result.alpha_end < end + after
    np.testing.assert_array_equal(result.alpha, times[:4])
    assert result.Q.shape == (4, 1, 1)
    assert np.all(np.isfinite(result.generalization_error))
    assert np.all(np.isfinite(result.final.student_overlap))


@pytest.mark.parametrize("method", ["explicit", "implicit"])
def test_a_run_that_fails_at_once_has_an_empty_or_initial_trajectory(small_study, method):
    kernel = systems.as_kernel(systems.never_a_number)
    assert solve(small_study([0.0, 1.0], method), kernel=kernel).alpha.tolist() == [0.0]
    empty = solve(small_study([0.5, 1.0], method), kernel=kernel)
    assert empty.cause == "not-a-number"
    assert empty.alpha.size == 0
    assert empty.Q.shape == (0, 1, 1)
    assert empty.alpha_end == 0.0
    assert empty.to_dict()["generalization_error_end"] is None


def test_the_start_alone_is_not_taken_for_a_measurement_of_the_tolerance(small_study):
    # it fails before the only later time, so repeated runs have nothing but alpha = 0 in common
    result = solve(small_study([0.0, 3.0]), kernel=systems.as_kernel(systems.explosion))
    assert result.alpha.tolist() == [0.0]
    assert result.tolerance_method == LOCAL_SUM
    assert result.tolerance_reached > 0.0


def test_the_trajectory_holds_what_its_fields_say():
    study = parse_study(ERF)
    result = solve(study)
    assert result.succeeded
    assert result.alpha.size == 21
    assert result.alpha_end == 30.0
    state = result.initial
    np.testing.assert_allclose(result.Q[0], state.Q, rtol=1e-14)
    np.testing.assert_allclose(result.R[0], state.R, rtol=1e-14)
    weight, rho = state.weight, state.eigenvalue
    np.testing.assert_allclose(
        result.Q, np.einsum("k,pkij->pij", weight * rho, result.student_overlap), rtol=1e-13
    )
    np.testing.assert_allclose(
        result.R, np.einsum("k,pkin->pin", weight, result.cross_overlap), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(result.final.Q, result.Q[-1], rtol=1e-13)
    assert result.to_dict()["generalization_error_end"] == result.generalization_error[-1]
    shown = str(result)
    assert "30; reached alpha = 30" in shown
    assert f"{result.tolerance_reached:.1e} of 1e-09 asked for ({ESTIMATED[:20]}" in shown
    # E[(student - teacher)^2] / 2 from the fields' covariance, by sampling the fields
    seed = 4
    C = np.block([[result.Q[-1], result.R[-1]], [result.R[-1].T, result.T]])
    z = np.random.default_rng(seed).multivariate_normal(np.zeros(4), C, size=200_000)
    from scipy.special import erf

    g = erf(z / np.sqrt(2)) * np.array([*result.v[-1], *(-result.teacher_weights)])
    sampled = 0.5 * np.sum(g, axis=1) ** 2
    error = np.std(sampled) / np.sqrt(sampled.size)
    assert abs(np.mean(sampled) - result.generalization_error[-1]) < 4 * error, f"seed {seed}"


def test_the_error_check_can_be_forced_or_left_out():
    study = parse_study(ERF)
    never = solve(study, check="never")
    always = solve(study, check="always")
    assert never.tolerance_method == LOCAL_SUM
    assert always.tolerance_method == REPEATED
    assert always.steps > 2 * never.steps
    assert always.tolerance_reached <= 1e-9
    # the one reported without a check is the sum over the steps, here on the safe side
    assert always.tolerance_reached <= never.tolerance_reached < 1e-6


def test_the_default_check_estimates_and_compares_where_the_estimate_is_too_large(monkeypatch):
    study = parse_study(ERF)
    never, auto, best = solve(study, check="never"), solve(study), _reference(study)
    assert auto.tolerance_method == ESTIMATED
    true = np.max(np.abs(auto.Q - best.Q) / np.max(best.Q, axis=(1, 2), keepdims=True))
    assert 0.0 < true <= auto.tolerance_reached <= 1e-9
    # a sixtieth of the tolerance, and one run of fewer steps
    assert auto.rhs_evaluations < 2.8 * never.rhs_evaluations
    monkeypatch.setattr(run_errors, "NOT_SHOWN", 1e9)
    compared = solve(study)
    assert compared.tolerance_method == REPEATED
    assert compared.tolerance_reached <= 1e-9


def _reference(study):
    text = study.text.replace("relative_tolerance = 1e-09", "relative_tolerance = 1e-13")
    assert text != study.text
    return solve(parse_study(text), check="never")


def test_what_is_asked_of_the_integration_follows_from_the_study(monkeypatch):
    """The room for its results, the edge of the cone, the absolute tolerance; what it says."""
    asked, memory = [], []
    original = courses.integrate

    def watched(method, problem, limits, **options):
        asked.append(limits)
        return original(method, problem, limits, **options)

    monkeypatch.setattr(courses, "integrate", watched)
    monkeypatch.setattr(courses, "check_memory", lambda size, what, argument: memory.append(size))
    monkeypatch.setattr(integrate_module, "range_warnings", lambda *_: ["out of range"])
    text = ERF + "relative_tolerance = 1e-8\nabsolute_tolerance = 1e-11\n"
    started = time.perf_counter()
    result = solve(parse_study(text), check="always")
    assert 0.0 < result.wall_seconds <= time.perf_counter() - started
    assert result.warnings[-1] == "out of range"
    # the run, the better one, and one that is worse than that
    for limits, tolerance in zip(asked, (1e-8, 1e-9, 1e-8), strict=True):
        assert limits.relative == pytest.approx(tolerance)
        assert limits.absolute == pytest.approx(1e-3 * tolerance)
        # some way above what rounding and the tolerance put outside
        assert 10 * tolerance < limits.cone < 1e4 * tolerance
    # the results of two runs, and the better one taken apart
    kept = result.student_overlap.nbytes + result.cross_overlap.nbytes + result.v.nbytes
    assert memory
    assert all(3 * kept < size < 6 * kept for size in memory)


@pytest.mark.parametrize(("error", "told"), [(0.5, True), (1e-9, False)])
def test_a_coarse_compression_is_told(monkeypatch, error, told):
    original = integrate_module.settle

    def settled(*arguments):
        state, run, _ = original(*arguments)
        return state, run, Compression(400, 12, 4, error)

    monkeypatch.setattr(integrate_module, "settle", settled)
    result = solve(parse_study(ERF))
    warnings = [line for line in result.warnings if line.startswith("time.compression: with ")]
    assert bool(warnings) == told
    if told:
        assert "uncertain by up to 50.0%" in warnings[0]
    assert result.compression.error == error


def test_the_moment_form_is_asked_for_the_rates_of_the_study(monkeypatch):
    seen = []
    monkeypatch.setattr(moment_form, "moment_trajectory", lambda *a, **k: seen.append((a, k)))
    text = ERF.replace(
        "weight_decay = 0.01", "weight_decay = 0.01\nsecond_layer_weight_decay = 0.03"
    )
    text = text.replace(
        "learning_rate = 0.4", "learning_rate = 0.4\nsecond_layer_learning_rate = 0.7"
    )
    study = parse_study(text.replace("teachers = 2", "teachers = 2\ntrain_second_layer = true"))
    moment_form.solve_moments(study, digits=9)
    ((state, rates, alpha, *activations), options) = seen[0]
    assert astuple(rates) == (0.4, 0.7, 0.01, 0.03, 0.2, True)
    np.testing.assert_array_equal(state.Q, initial(study).state.Q)
    np.testing.assert_array_equal(alpha, study.alpha)
    assert activations == [study.student_activation, study.teacher_activation]
    assert options["digits"] == 9


def test_runs_are_compared_at_each_time_relative_to_the_sizes_there():
    """States are (Q, R, v)."""
    flow = Flow(None, None, one_unit(4.0))
    end = np.array([[9.0, 3.0, 2.0], [1e-4, 1e-3, 0.5], [4.0, 1.0, 1.0]])
    for place, change in (((1, 0), 1e-4), ((1, 1), np.sqrt(1e-4 * 4.0)), ((1, 2), 0.5)):
        other = end.copy()
        other[place] += 0.01 * change
        runs = [SimpleNamespace(results=flat, reached=len(flat)) for flat in (other[:2], end)]
        assert flow.apart(*runs) == pytest.approx(0.01, rel=1e-6)
    empty = SimpleNamespace(results=end[:0], reached=0)
    assert flow.apart(empty, runs[1]) == np.inf


def test_an_uncertain_generalization_error_is_reported_with_its_size():
    text = ERF.replace("weight_decay = 0.01\nlabel_noise = 0.2", "")
    text = text.replace("end = 30.0\npoints = 21", "values = [1, 3000]\nrelative_tolerance = {}")
    coarse = solve(parse_study(text.format(1e-4)), check="always")
    fine = solve(parse_study(text.format(1e-12)), check="always")
    true = np.abs(coarse.generalization_error / fine.generalization_error - 1)
    assert true[0] < 1e-3
    assert np.max(true) < coarse.error_accuracy
    assert fine.error_accuracy < 1e-2
    (warning,) = coarse.warnings
    assert "from alpha = 3000 on its estimated error" in warning
    assert fine.warnings == ()
    assert np.isnan(solve(parse_study(ERF), check="never").error_accuracy)


@pytest.mark.turns(6)
def test_a_tolerance_that_rounding_forbids_is_reported_as_not_kept_without_endless_steps(
    small_study,
):
    result = solve(small_study([0.0, 1.0, 2.0]), kernel=systems.as_kernel(systems.noisy))
    assert not result.tolerance_kept
    # of all runs together, those that repeat the integration with smaller tolerances too
    assert result.rhs_evaluations < 15_000_000
    assert result.cause == "done"
    np.testing.assert_allclose(result.Q[:, 0, 0], np.exp([0.0, -1.0, -2.0]), rtol=1e-5)


def test_the_warning_about_small_multiplicities_reaches_the_result():
    text = ERF.replace("distinct_eigenvalues = 4", "distinct_eigenvalues = 128")
    (warning,) = solve(parse_study(text)).warnings
    assert "only 2 of 256 coordinates" in warning


def test_a_study_with_a_sweep_is_not_one_run():
    study = parse_study(ERF + '[sweep]\n"training.learning_rate" = [0.1, 0.2]\n')
    with pytest.raises(InputError, match=r"^sweep: "):
        solve(study)


@pytest.mark.parametrize("method", ["auto", "explicit"])
def test_a_student_that_vanishes_leaves_no_cone(method):
    """Its variance falls below the absolute tolerance, where rounding gives it either sign."""
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=1,
        student_weights=[1.0, 0.5],
        teacher_weights=1.0,
        learning_rate=1.0,
    )
    start = {"Q": [[1.0, -0.2], [-0.2, 0.5]], "R": [[0.2], [0.3]], "T": [[1.0]]}
    run = problem.solve(end=2500, points=5, initial=start, method=method, progress=False)
    assert run.cause == "done"
    assert abs(run.Q[-1, 1, 1]) < 1e-13
    assert abs(run.Q[-1, 0, 0] - 1.0) < 1e-9
