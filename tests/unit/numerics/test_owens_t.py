"""Owen's function as it is pasted into modules, against SciPy's and against its integral."""

import math

import mpmath
import pytest
from scipy.special import owens_t

from symderiv.numerics.digits.owens_t_mpmath import _owen_t_mpmath
from symderiv.numerics.signs.owens_t import _owen_t


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0, 1.0000001, 1.7, 12.0, 1e6, math.inf])
def test_owens_t_is_scipys(a: float) -> None:
    for h in (0.0, 1e-9, 0.2, 0.9, 2.5, 7.0, 40.0):
        found = _owen_t(h, a)
        assert found == pytest.approx(owens_t(h, a), rel=0, abs=4e-16)
        # even in h, odd in a
        assert _owen_t(-h, a) == found
        assert _owen_t(h, -a) == -found


@pytest.mark.parametrize(("h", "a"), [("0.4", "0.7"), ("1.5", "3"), ("0.2", "-11"), ("0", "2")])
def test_owens_t_of_many_digits_is_its_integral(h: str, a: str) -> None:
    mp = mpmath.MPContext()
    mp.dps = 30
    x, end = mp.mpf(h), mp.mpf(a)
    found = _owen_t_mpmath(mp, x, end)
    exact = mp.quad(
        lambda t: mp.exp(-x * x * (1 + t * t) / 2) / (1 + t * t), mp.linspace(0, end, 9)
    )
    assert abs(found - exact / (2 * mp.pi)) < mp.mpf(10) ** -25
    assert float(found) == pytest.approx(_owen_t(float(h), float(a)), abs=4e-16)
    assert not math.isnan(float(found))
