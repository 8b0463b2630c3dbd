"""Owen's function as it is pasted into modules, against SciPy's."""

import math

import pytest
from scipy.special import owens_t

from symderiv.numerics.signs.owens_t import _owen_t


@pytest.mark.parametrize("a", [0.0, 0.3, 1.0, 1.0000001, 1.7, 12.0, 1e6, math.inf])
def test_owens_t_is_scipys(a: float) -> None:
    for h in (0.0, 1e-9, 0.2, 0.9, 2.5, 7.0, 40.0):
        found = _owen_t(h, a)
        assert found == pytest.approx(owens_t(h, a), rel=0, abs=4e-16)
        # even in h, odd in a
        assert _owen_t(-h, a) == found
        assert _owen_t(h, -a) == -found
