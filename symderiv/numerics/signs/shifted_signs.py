r"""The mean of two signs of Gaussian fields with means, as text for generated modules.

E[sgn(x + h) sgn(y + k)] for standard normal x, y of correlation r is
sgn(h) sgn(k) - 4 T(h, a) - 4 T(k, b) with Owen's function, a = (k - r h)/(h sqrt(1 - r²)) and b
with h and k exchanged (D. B. Owen, Ann. Math. Stat. 27, 1075, 1956). Absolute error below 1e-15 for
the given r, largest found. A field and itself, whose r is 1 up to the rounding of two roots and a
quotient, are one.
"""

from __future__ import annotations

import math

from symderiv.numerics.signs.owens_t import _owen_along

_SAME_FIELD = 1.0 - 5e-16


def _mean_sign(h: float) -> float:
    """Return the mean E[sgn(x + h)] of one sign."""
    return math.erf(math.sqrt(0.5) * h)


def _sign_covariance(h: float, k: float, r: float) -> float:
    """Return the covariance of two signs with means h and k of their fields."""
    return _signs_by_owen(h, k, r) - _mean_sign(h) * _mean_sign(k)


def _shifted_signs(h: float, k: float, r: float) -> float:
    """Return the mean of two signs whose fields have means h and k."""
    return _signs_by_owen(h, k, r)


def _signs_by_owen(h: float, k: float, r: float) -> float:
    """Return the mean of two signs whose fields have means h and k (see above)."""
    bounded = r if abs(r) < _SAME_FIELD else math.copysign(1.0, r)
    if h == 0.0 and k == 0.0:
        return 2.0 / math.pi * math.asin(bounded)
    root = math.sqrt((1.0 - bounded) * (1.0 + bounded))
    # k - r h and h - r k, also where they nearly vanish because r is nearly 1 or -1
    side = math.copysign(1.0, bounded)
    rest = 1.0 - abs(bounded)
    first = (k - side * h) + side * rest * h
    second = (h - side * k) + side * rest * k
    if root > 0.0:
        first, second = first / root, second / root
    else:
        first, second = 1e300 * first, 1e300 * second
    sign_h = 1.0 if h >= 0.0 else -1.0
    sign_k = 1.0 if k >= 0.0 else -1.0
    one = math.copysign(1.0, first) * sign_h * _owen_along(abs(h), abs(first))
    other = math.copysign(1.0, second) * sign_k * _owen_along(abs(k), abs(second))
    return sign_h * sign_k - 4.0 * one - 4.0 * other
