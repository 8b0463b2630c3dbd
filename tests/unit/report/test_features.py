"""Plateau, decay and agreement of curves that are known by construction."""

import math

import numpy as np
import pytest
from unit.report.synthetic import broken_power_law, curve, plateau_curve, simulated

from symderiv.show.plots import features


def test_the_local_exponent_of_a_power_law_is_its_exponent() -> None:
    alpha = np.geomspace(1.0, 100.0, 50)
    assert features.local_exponent(alpha, 3.0 * alpha**-0.7) == pytest.approx(0.7)


def test_a_plateau_begins_near_its_height_and_ends_at_half_of_it() -> None:
    found = features.plateau(plateau_curve(length=50.0))
    assert found.exists
    assert found.exponent == pytest.approx(0.01, abs=1e-6)
    assert 20.0 < found.alpha < 1000.0
    assert found.height == pytest.approx(0.01 * (found.alpha / 20.0) ** -0.01, rel=1e-3)
    # the transient of exponent 1 reaches 1.1 times the height at this time
    assert found.begin == pytest.approx(0.2 / (1.1 * found.height), rel=1e-2)
    fallen = 0.01 * 50.0**-0.01
    assert found.end == pytest.approx(1000.0 * (2 * fallen / found.height) ** (1 / 3), rel=1e-2)
    assert found.length == pytest.approx(found.end - found.begin)


def test_an_early_stretch_before_anything_happens_is_not_a_plateau() -> None:
    only_transient = broken_power_law([10.0], [0.0, 1.0], 1000.0)
    assert features.plateau(only_transient) is None


def test_a_slow_stretch_that_is_not_flat_is_a_shoulder_of_length_zero() -> None:
    found = features.plateau(broken_power_law([1.0, 20.0, 400.0], [0.0, 1.0, 0.3, 2.0], 5000.0))
    assert not found.exists
    assert found.exponent == pytest.approx(0.3)
    assert found.length == 0.0
    assert found.end is not None


def test_a_plateau_that_does_not_end_has_a_length_that_is_a_lower_bound() -> None:
    found = features.plateau(broken_power_law([1.0, 20.0], [0.0, 1.0, 0.001], 5000.0))
    assert found.exists
    assert found.end is None
    assert found.length == pytest.approx(5000.0 - found.begin)


@pytest.mark.parametrize("size", [0, 1, 2, 4])
def test_curves_of_a_few_points_have_no_plateau_and_raise_nothing(size: int) -> None:
    alpha = np.linspace(0.0, 1.0, size)
    assert features.plateau(curve(alpha, np.ones(size))) is None
    features.final_decay(curve(alpha, np.ones(size)))


def test_zero_errors_and_times_are_left_out() -> None:
    known = plateau_curve()
    alpha = np.concatenate(([0.0], known.alpha, [3e4]))
    error = np.concatenate(([0.25], known.error, [0.0]))
    assert features.plateau(curve(alpha, error)) == features.plateau(known)


def test_the_final_decay_of_an_exponential_is_its_rate() -> None:
    alpha = np.geomspace(1.0, 1000.0, 3000)
    found = features.final_decay(curve(alpha, np.exp(-0.01 * alpha)))
    assert found.rate == pytest.approx(0.01, rel=1e-4)
    assert (found.begin, found.end) == pytest.approx((800.0, 1000.0))
    assert found.exponent == pytest.approx(0.01 * 200.0 / math.log(1000.0 / 800.0), rel=1e-3)


def test_deviations_are_counted_in_standard_errors() -> None:
    base = plateau_curve()
    found = features.agreement(base, simulated(base, np.array([2.0]), runs=1000))
    assert found.deviations == pytest.approx([2.0] * 10)
    assert len(found.alpha) == features.NUMBER_OF_TIMES
    assert found.agrees


def test_the_bound_is_three_standard_errors_for_many_runs_and_more_for_few() -> None:
    base = plateau_curve()
    bounds = []
    for runs in (2, 4, 8, 10**6):
        found = features.agreement(base, simulated(base, np.array([0.0]), runs=runs))
        assert found is not None
        bounds.append(found.bound)
    # Student's t with 1, 3, 7 degrees of freedom: tables of the distribution at 99.73 %
    assert bounds == pytest.approx([235.8, 9.219, 4.530, 3.0], rel=1e-3)


def test_simulations_that_are_off_do_not_agree() -> None:
    base = plateau_curve()
    found = features.agreement(base, simulated(base, np.array([5.0, 0.0]), runs=100))
    assert not found.agrees


@pytest.mark.parametrize(("deviation", "agree"), [(9.0, True), (-70.0, False), (-50.0, True)])
def test_one_time_that_is_visibly_off_is_no_agreement(deviation: float, agree: bool) -> None:
    base = plateau_curve()
    points = simulated(base, np.array([0.0]), runs=3)
    points.error[-1] *= 1 + 0.01 * deviation
    found = features.agreement(base, points)
    # three runs: Student's t with two degrees of freedom allows 60 at one of ten times
    assert (found.within, found.agrees) == (10 if deviation == 9.0 else 9, agree)
    assert found.far == (not agree)


def test_a_single_run_cannot_be_compared() -> None:
    base = plateau_curve()
    points = simulated(base, np.array([0.0]), runs=1)
    points.error_se[:] = np.nan
    assert features.agreement(base, points) is None
