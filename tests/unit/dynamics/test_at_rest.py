"""Runs that come to rest: at once at their end, and what is no rest although slopes are small."""

from dataclasses import replace

import numpy as np
import pytest

from symderiv import Problem
from symderiv.integrate.flows import flat_run, implicit_run
from symderiv.integrate.flows.at_rest import Rest
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.integrate.rules.solving import solve
from symderiv.storage.checkpoint import Checkpoint

pytestmark = pytest.mark.days(6)

LATER = np.geomspace(1e3, 1e9, 30)


def stays(slopes, state, later=LATER):
    """Whether a state stays; slopes are a function of time and state."""

    def rhs(alpha, y, slope):
        slope[:] = slopes(alpha, y)

    y, slope = np.array(state), np.empty(len(state))
    rhs(1e3, y, slope)
    return Rest(rhs, 1e3, y, slope).stays(1e-11, later)


def circle(_, y):
    """Every point of a circle is at rest, and none beside it; the last number never changes."""
    x, z, _ = y
    return [x * (1 - x * x - z * z), z * (1 - x * x - z * z), 0.0]


def test_a_state_among_others_at_rest_stays():
    assert stays(circle, [np.cos(1.0), np.sin(1.0), 7.0])
    assert stays(circle, [np.cos(1.0) + 1e-16, np.sin(1.0), 0.0])
    assert not stays(circle, [np.cos(1.0) + 1e-13, np.sin(1.0), 0.0])


def test_a_single_attracting_state_stays():
    assert stays(lambda _, y: [1.0 - y[0], -0.1 * y[1]], [1.0, 1e-17])


def test_equal_slopes_of_two_numbers_keep_their_difference():
    """Both entries of an angle: they differ by rounding, and for ever."""
    assert stays(lambda _, y: [1.0 - y[0], -0.3 * y[1], -0.3 * y[1]], [1.0, 0.0, 1e-14])


@pytest.mark.parametrize("rate", [-1e-9, -1e-7, 1e-9, 1e-6, 1.0])
def test_slow_changes_and_all_that_grow_are_no_rest(rate):
    tiny = min(1e-18 / abs(rate), 1e-5)
    away = 1e-5 if rate == -1e-7 else tiny
    assert not stays(lambda _, y: [1.0 - y[0], rate * y[1]], [1.0, away])


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("power", [2, 3])
def test_decays_and_escapes_by_a_power_of_time_are_no_rest(sign, power):
    away = 1e-18 ** (1.0 / power)
    assert not stays(lambda _, y: [1.0 - y[0], sign * y[1] ** power], [1.0, away])


def test_what_moves_along_states_at_rest_is_no_rest():
    """The second number is rounding, and yet the first one goes on for as long as it is there."""
    assert not stays(lambda _, y: [y[1], -(y[1] ** 3), 1.0 - y[2]], [0.5, 1e-17, 1.0])


def test_what_depends_on_time_is_no_rest():
    def pulsed(alpha, y):
        return [(1.0 - y[0]) * (2.0 + np.sin(alpha)), -y[1]]

    assert not stays(pulsed, [1.0, 0.5e-17])
    assert stays(pulsed, [1.0, 0.5e-17], LATER[:0])


def test_slopes_that_are_not_numbers_nearby_are_no_rest():
    def rooted(_, y):
        with np.errstate(invalid="ignore"):
            return [1.0 - y[0], -np.sqrt(y[1])]

    assert not stays(rooted, [1.0, 0.0])


@pytest.mark.parametrize(
    ("students", "teachers", "end", "seed"),
    [(3, 1, 1e8, 0), (3, 1, 1e15, 0), (3, 1, 1e15, 2), (2, 1, 1e30, 1), (2, 2, 1e30, 0)],
)
def test_long_runs_end_at_rest_with_true_errors(students, teachers, end, seed):
    problem = Problem("erf", students=students, teachers=teachers, learning_rate=0.5, seed=seed)
    long = problem.solve(end=end)
    assert long.cause == "done"
    assert long.rhs_evaluations < 250_000
    early = (long.alpha > 0) & (long.alpha < 2500)
    short = problem.solve(alpha=[*long.alpha[early], 5000.0], method="explicit")
    within = long.tolerance_reached + short.tolerance_reached
    assert within < 2e-9
    largest = np.max(np.abs(short.Q))
    for name in ("Q", "R"):
        found, exact = getattr(long, name), getattr(short, name)
        assert np.max(np.abs(found[early] - exact[:-1])) < within * largest
        assert np.max(np.abs(found[long.alpha > 5000] - exact[-1])) < within * largest


@pytest.mark.parametrize(("noise", "seed", "students"), [(0.0, 2, 4), (0.1, 0, 3)])
def test_runs_that_rounding_shortens_end_with_a_sentence(noise, seed, students):
    """The last explicit run takes other steps, of a smaller tolerance, to times before the end."""
    problem = Problem(
        "erf", students=students, teachers=1, learning_rate=0.5, label_noise=noise, seed=seed
    )
    long = problem.solve(end=1e15)
    assert long.cause == "step-limit"
    assert long.rhs_evaluations < 250_000
    assert "shortened by rounding" in long.message
    assert 1e6 < long.alpha_end < 1e15
    assert long.alpha[-1] <= long.alpha_end
    early = (long.alpha > 0) & (long.alpha < 1e4)
    short = problem.solve(alpha=long.alpha[early], method="explicit", relative_tolerance=1e-12)
    within = long.tolerance_reached + short.tolerance_reached
    largest = np.max(np.abs(short.Q))
    for name in ("Q", "R"):
        assert np.max(np.abs(getattr(long, name)[early] - getattr(short, name))) < within * largest


def test_steps_are_explicit_again_where_implicit_ones_are_no_longer():
    """Angles between ReLU units that merge make slopes that are not smooth."""
    problem = Problem("relu", students=3, teachers=1, learning_rate=0.5)
    found = problem.solve(end=6e3)
    assert (found.cause, found.method) == ("done", "explicit")
    assert found.rhs_evaluations < 250_000
    exact = problem.solve(alpha=found.alpha[1:], method="explicit", relative_tolerance=1e-12)
    within = found.tolerance_reached + exact.tolerance_reached
    assert np.max(np.abs(found.Q[1:] - exact.Q)) < within * np.max(exact.Q)
    assert problem.solve(end=1e15).cause == "step-limit"


def test_a_stopped_run_comes_to_rest_at_the_same_numbers(tmp_path, monkeypatch):
    study = Problem("erf", students=3, teachers=1, learning_rate=0.5, time={"end": 1e12})._study
    undisturbed = solve(study, check="never")
    path = tmp_path / "run.checkpoint"
    seen = 0.0

    def progress(alpha, steps):
        nonlocal seen
        seen = alpha

    monkeypatch.setattr(flat_run, "_FIRST_SLICE", 1.0)
    stopping = Checkpoint(path, stop=lambda: seen > 1e4)
    stopped = solve(study, check="never", checkpoint=stopping, progress=progress)
    assert stopped.cause == "interrupted"
    resumed = solve(study, check="never", checkpoint=Checkpoint(path))
    assert resumed.cause == "done"
    np.testing.assert_array_equal(resumed.student_overlap, undisturbed.student_overlap)


@pytest.mark.parametrize("times", [1, 3])
def test_a_run_says_which_results_are_missing(monkeypatch, times):
    integrate_flat = implicit_run.integrate_flat
    runs = []

    def incomplete(*given, **named) -> FlatResult:
        result = integrate_flat(*given, **named)
        runs.append(result)
        if len(runs) > 1:
            return result
        rows = result.results.copy()
        rows[-1 - times : -1] = np.nan
        return replace(result, results=rows)

    problem = Problem("erf", students=2, teachers=2, learning_rate=0.5)
    whole = problem.solve(end=300.0, method="implicit")
    monkeypatch.setattr(implicit_run, "integrate_flat", incomplete)
    with pytest.warns(UserWarning, match="there is no result"):
        found = problem.solve(end=300.0, method="implicit")
    (said,) = [line for line in found.warnings if "there is no result" in line]
    alpha = found.alpha[-1 - times : -1]
    where = f"at alpha = {alpha[0]:.4g}"
    if times > 1:
        where = f"at {times} times from alpha = {alpha[0]:.4g} to {alpha[-1]:.4g}"
    assert said.startswith(f"there is no result {where}, only NaN: ")
    assert found.cause == "done"
    np.testing.assert_array_equal(np.isnan(found.Q).any(axis=(1, 2)), np.isin(found.alpha, alpha))
    # that of the results that are there
    assert 0.0 < found.tolerance_reached <= whole.tolerance_reached
    assert found.error_accuracy <= whole.error_accuracy
    assert found.tolerance_method == whole.tolerance_method
