"""The digits planned for moments, against errors followed exactly at high precision."""

import math
import random
from typing import Any

import mpmath
import numpy as np
import pytest

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.inputs.spectra import power_law
from symderiv.precision.moments.digits import DOUBLE_DIGITS, Plan, moment_digits, require_double

SEED = 5


def eigenvalues_of(L: int, exponent: float) -> np.ndarray:
    return power_law(L, exponent).single().eigenvalue


def overlap_errors(rho: np.ndarray, signs: list[int], mp: Any) -> list[Any]:
    """w rho times the errors of q_k if the moments of q = 1 are wrong by u = 1, relatively."""
    L = len(rho)
    vandermonde = mp.matrix(L, L)
    for l in range(L):
        for k in range(L):
            vandermonde[l, k] = mp.mpf(float(rho[k])) ** l / L
    errors = [signs[l] * mp.fsum(vandermonde[l, k] for k in range(L)) for l in range(L)]
    q = mp.lu_solve(vandermonde, mp.matrix(errors))
    mean = mp.fsum(float(x) for x in rho)
    return [float(x) * q[k] / mean for k, x in enumerate(rho)]


def digits_lost(rho: np.ndarray, taus: list[float], patterns: int = 6) -> float:
    """log10 of the largest error after a decay exp(-rho tau), for random signs."""
    mp = mpmath.MPContext()
    mp.dps = 150
    draw = random.Random(SEED)
    worst: Any = mp.zero
    for _ in range(patterns):
        errors = overlap_errors(rho, [draw.choice((-1, 1)) for _ in rho], mp)
        for tau in taus:
            terms = (mp.exp(-mp.mpf(float(x)) * tau) * e for x, e in zip(rho, errors, strict=True))
            worst = max(worst, abs(mp.fsum(terms)))
    return float(mp.log10(worst))


@pytest.mark.parametrize("exponent", [0.25, 1.0])
@pytest.mark.parametrize("L", [2, 7, 20])
def test_the_bound_at_any_time_is_attained(L: int, exponent: float) -> None:
    """Errors of alternating sign, and eigenvalues decayed or not as if free to choose."""
    mp = mpmath.MPContext()
    mp.dps = 150
    rho = eigenvalues_of(L, exponent)
    errors = overlap_errors(rho, [(-1) ** l for l in range(L)], mp)
    attained = mp.log10(mp.fsum(abs(e) for e in errors))
    assert moment_digits(rho).lost == pytest.approx(max(0.0, float(attained)), rel=1e-12)


@pytest.mark.parametrize("tau", [0.3, 3.0, 10.0])
def test_early_the_loss_follows_the_exponential_series(tau: float) -> None:
    rho = eigenvalues_of(20, 1.0)
    alpha = tau / rho[0] / 2.0
    lost = digits_lost(rho, [part * tau / rho[0] for part in (0.3, 0.7, 1.0)])
    early = moment_digits(rho, alpha=alpha, rate=2.0)
    assert max(lost, 0.0) <= early.lost <= lost + 2
    assert early.lost < moment_digits(rho).lost - 20


def test_unequal_weights_and_any_order_and_scale() -> None:
    rho = np.array([3.0, 0.25, 1.0])
    weight = np.array([0.5, 0.2, 0.3])
    # the sum of the docstring, written out
    total = 0.0
    for k in range(3):
        for other in range(3):
            product = rho[k] * weight[other]
            for j in {0, 1, 2} - {k}:
                product *= (rho[other] + rho[j]) / abs(rho[k] - rho[j])
            total += product
    expected = math.log10(total / (weight @ rho))
    for order in ([0, 1, 2], [2, 0, 1]):
        for scale in (1.0, 1e-3):
            plan = moment_digits(scale * rho[order], weight[order], digits=20)
            assert plan.lost == pytest.approx(expected, rel=1e-12)
            assert plan.digits == math.ceil(20 + expected) + 6
    one = moment_digits([2.0], alpha=7.0, rate=1.0)
    assert one.lost == 0.0


def test_doubles_are_refused_with_the_reason() -> None:
    require_double(moment_digits(eigenvalues_of(5, 1.0), digits=8))
    with pytest.raises(ToleranceError, match=r"leave 0 of the 8 digits wanted .*12 eigenvalues"):
        require_double(moment_digits(eigenvalues_of(12, 1.0), digits=8))
    beyond = moment_digits(eigenvalues_of(185, 0.25))
    assert beyond.double_digits == -math.inf
    with pytest.raises(ToleranceError, match=r"overflow: .* 10\^319, but doubles end at 10\^308"):
        require_double(beyond)
    # it is the power of the largest eigenvalue that overflows
    below = eigenvalues_of(175, 0.25)
    assert np.isfinite(below[0] ** 175)
    with np.errstate(over="ignore"):
        assert not np.isfinite(eigenvalues_of(185, 0.25)[0] ** 185)
    assert moment_digits(below).double_digits < -400


def test_the_digits_of_a_double() -> None:
    assert math.isclose(10.0**-DOUBLE_DIGITS, 2.0**-53)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eigenvalues": []}, "0 eigenvalues"),
        ({"eigenvalues": [1.0, 0.0]}, "positive eigenvalues"),
        ({"eigenvalues": [1.0, math.nan]}, "positive eigenvalues"),
        ({"eigenvalues": [1.0, 2.0, 1.0]}, "two eigenvalues are equal"),
        ({"eigenvalues": [1.0, 2.0], "weights": [1.0]}, "do not fit"),
        ({"eigenvalues": [1.0, 2.0], "weights": [1.5, -0.5]}, "weights must be positive"),
        ({"eigenvalues": [1.0], "digits": 0}, "digits must be at least 1"),
        ({"eigenvalues": [1.0], "alpha": -1.0, "rate": 1.0}, "must not be negative"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        moment_digits(**arguments)


def test_whole_digits_that_doubles_leave_are_said() -> None:
    with pytest.raises(ToleranceError, match="leave 4 of the 8 digits wanted"):
        require_double(Plan(30, 8, DOUBLE_DIGITS - 4.7, 3.0, "a reason"))
    with pytest.raises(ToleranceError, match="leave 0 of the 8 digits wanted"):
        require_double(Plan(30, 8, DOUBLE_DIGITS + 4.7, 3.0, "a reason"))
    require_double(Plan(30, 8, DOUBLE_DIGITS - 8.0, 3.0, "a reason"))
