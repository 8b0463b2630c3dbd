"""Bounded functions of which activations are made, for many numbers at once.

Mathematical libraries take one number at a time; these are arithmetic and selections, which
compilers turn into vector instructions. Pasted into generated modules.
"""

from __future__ import annotations

import math

from symderiv.numerics.signs.sign_covariances import _decay


def _saturation(y: float) -> float:
    """Return tanh(y), with a relative error below 1e-14."""
    x, z = abs(y), y * y
    e = _decay(-2.0 * x)
    near = x * (1.0 - z * (1.0 / 3.0 - z * (2.0 / 15.0 - z * (17.0 / 315.0))))
    return math.copysign(near if x < 0.01 else (1.0 - e) / (1.0 + e), y)


def _gate(y: float) -> float:
    """Return tanh(log(1 + exp(y))), with an absolute error of a few roundings."""
    e = _decay(-abs(y))
    part = 1.0 + 2.0 * e if y > 0.0 else e * (2.0 + e)
    return part / (part + (2.0 * e * e if y > 0.0 else 2.0))


def _ramp(y: float) -> float:
    """Return log(1 + exp(y)), with an error of a few roundings of the larger of it and one."""
    e = _decay(-abs(y))
    # log(1 + e) is twice the inverse hyperbolic tangent of r, at most a third
    r = e / (2.0 + e)
    z = r * r
    z2 = z * z
    even = 1.0 / 29.0 + z2 * (1.0 / 33.0)
    even = 1.0 / 17.0 + z2 * (1.0 / 21.0 + z2 * (1.0 / 25.0 + z2 * even))
    even = 1.0 + z2 * (1.0 / 5.0 + z2 * (1.0 / 9.0 + z2 * (1.0 / 13.0 + z2 * even)))
    odd = 1.0 / 19.0 + z2 * (1.0 / 23.0 + z2 * (1.0 / 27.0 + z2 * (1.0 / 31.0)))
    odd = 1.0 / 3.0 + z2 * (1.0 / 7.0 + z2 * (1.0 / 11.0 + z2 * (1.0 / 15.0 + z2 * odd)))
    return (y if y > 0.0 else 0.0) + 2.0 * r * (even + z * odd)
