"""Covariances of two signs, many at once, against Price's integral in multiprecision."""

import numpy as np
import pytest
import sympy as sp

from symderiv.gaussian.functions import ShiftedSigns
from symderiv.numerics.signs.shifted_signs import _mean_sign, _shifted_signs
from symderiv.numerics.signs.sign_covariances import _mean_signs, _sign_covariances

ALLOWED = 1e-15


def covariances(h: np.ndarray, k: np.ndarray, r: np.ndarray) -> np.ndarray:
    """As a module computes them, in arrays with room for a multiple of eight."""
    arrays = np.zeros((4, -(-h.size // 8) * 8))
    arrays[:3, : h.size] = h, k, r
    _sign_covariances(*arrays, h.size)
    return arrays[0, : h.size]


def exact(h: float, k: float, r: float) -> float:
    """E[sgn(x + h) sgn(y + k)] less the product of the means, to thirty digits."""
    h, k, r = (sp.Float(float(each), 30) for each in (h, k, r))
    apart = sp.erf(h / sp.sqrt(2)) * sp.erf(k / sp.sqrt(2))
    return float(sp.N(ShiftedSigns(h, k, r) - apart, 25))


@pytest.mark.parametrize("largest", [0.5, 0.76, 0.94, 0.999999])
def test_every_rule_keeps_its_error(largest: float) -> None:
    rng = np.random.default_rng(int(1e3 * largest))
    h, k = rng.normal(size=(2, 5)) * 2.0 ** rng.uniform(-3, 2.5, size=(2, 5))
    r = largest * rng.choice([-1, 1], size=5) * np.r_[1, 1, 1, rng.uniform(size=2)]
    k[1] = h[1] * np.sign(r[1])
    h[2] = 0.0
    allowed = ALLOWED if largest < 0.95 else 3 * ALLOWED
    for found, *at in zip(covariances(h, k, r), h, k, r, strict=True):
        assert found == pytest.approx(exact(*at), abs=allowed), at


def test_means_of_signs_at_any_size() -> None:
    values = np.array([0.0, 1e-9, -0.3, 2.0, -5.5, 8.9, 40.0, -1e6])
    found = values.copy()
    _mean_signs(found, values.size)
    assert found == pytest.approx([_mean_sign(each) for each in values], abs=ALLOWED)


def test_two_signs_where_they_are_nearly_one() -> None:
    """A part of 1e-8 of the second field is its own, and decides whether the signs differ."""
    for r, h, k in ((1 - 1e-12, 0.7, 0.7 + 3e-7), (-1 + 1e-14, 1.1, -1.1 + 4e-8)):
        wanted = float(ShiftedSigns(*(sp.Float(each, 40) for each in (h, k, r))).evalf(20))
        assert _shifted_signs(h, k, r) == pytest.approx(wanted, abs=ALLOWED)
