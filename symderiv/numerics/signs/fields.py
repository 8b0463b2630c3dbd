r"""Conditional covariances of a few Gaussian fields through vectors, in double precision.

The text of this module is copied into generated solvers; every function is plain Python that numba
compiles as it stands.

Differences c_ij - c_ik c_jk/c_kk lose all digits where fields align, and lose them independently of
each other. Here the fields become vectors x_i with x_i . x_j = c_ij (a pivoted triangular factor,
its cancellations in doubled precision), and everything conditional follows from exterior products:
with D_S the squared volume spanned by the fields in S,

    c_ij|S = <x_S ^ x_i, x_S ^ x_j> / D_S,      c_ii|S c_jj|S - c_ij|S**2 = D_Sij / D_S.

Volumes and inner products are sums without cancellation. Rounding the vectors moves the fields
themselves by one part in 1e16, the same in every quantity, and means of signs and rectified fields
move by no more. So the error is that of one rounding, at rank loss as elsewhere. A matrix outside
the positive cone is taken at its edge.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symderiv.numerics.signs.sign_mean4 import (
    _minor,
    _minor_of_doubled,
    _scaled4,
    _two_difference,
    _two_product,
    _unit_scale,
)

if TYPE_CHECKING:
    from symderiv.numerics.signs.sign_mean4 import _Doubled, _Four, _Ten

    _Vector3 = tuple[float, float, float]
    _Vector4 = tuple[float, float, float, float]
    _Plane4 = tuple[_Doubled, _Doubled, _Doubled, _Doubled, _Doubled, _Doubled]
    _Lasts = tuple[float, float, float, float, float, float]

# A field's residual given the others: a variance below the first number is rounding, and the
# standard deviation becomes the second one, so that no direction is lost. Variances are about 1.
_NOISE_VARIANCE = 1e-31
_LEAST_PART = 1e-18


def _angle(along: float, across: float) -> float:
    """Return the angle between -pi/2 and pi/2 with this tangent; 0 where both vanish."""
    return math.atan2(along, across)


def _bounded(part: float, pivot: float) -> float:
    """Return a part along a pivot, cut at twice the pivot, which only rounding can exceed."""
    return max(min(part, 2.0 * pivot), -2.0 * pivot)


def _stretched3(x: _Vector3, s: float) -> _Vector3:
    """Return a vector times a number."""
    return x[0] * s, x[1] * s, x[2] * s


def _stretched4(x: _Vector4, s: float) -> _Vector4:
    """Return a vector times a number."""
    return x[0] * s, x[1] * s, x[2] * s, x[3] * s


def _root_of_minor(c11: float, c12: float, c22: float) -> float:
    """Return sqrt(c11 c22 - c12**2), the area that two fields span; 0 outside the positive cone."""
    s1, s2 = _unit_scale(c11), _unit_scale(c22)
    minor = _minor(c11 * s1 * s1, c22 * s2 * s2, c12 * s1 * s2, c12 * s1 * s2)[0]
    return math.sqrt(max(minor, 0.0)) / (s1 * s2)


def _fields3(
    c11: float, c12: float, c13: float, c22: float, c23: float, c33: float
) -> tuple[_Vector3, _Vector3, _Vector3, float]:
    """Return vectors with the given inner products, and the volume they span."""
    s1, s2, s3 = _unit_scale(c11), _unit_scale(c22), _unit_scale(c33)
    c11, c12, c13 = c11 * s1 * s1, c12 * s1 * s2, c13 * s1 * s3
    c22, c23, c33 = c22 * s2 * s2, c23 * s2 * s3, c33 * s3 * s3
    n22, n23, n33, scale = (c22, 0.0), (c23, 0.0), (c33, 0.0), 1.0
    least = _LEAST_PART + 0.0 * (c11 + c22 + c33)  # NaN where a variance is NaN
    l11, l21, l31 = least, 0.0, 0.0
    if c11 > 0.0:
        l11 = math.sqrt(c11)
        l21, l31 = _bounded(c12 / l11, l11), _bounded(c13 / l11, l11)
        n22 = _minor(c11, c22, c12, c12)
        n23 = _minor(c11, c23, c12, c13)
        n33 = _minor(c11, c33, c13, c13)
        scale = c11
    swapped = n33[0] * c22 > n22[0] * c33
    if swapped:
        n22, n33, l21, l31 = n33, n22, l31, l21
    l22, l32, l33 = least, 0.0, least
    if n22[0] > scale * _NOISE_VARIANCE:
        l22 = math.sqrt(n22[0] / scale)
        l32 = _bounded(n23[0] / math.sqrt(n22[0] * scale), l22)
        rest = _minor_of_doubled(n22, n33, n23, n23)[0] / (n22[0] * scale)
        if rest > _NOISE_VARIANCE:
            l33 = math.sqrt(rest)
    x1, x2, x3 = (l11, 0.0, 0.0), (l21, l22, 0.0), (l31, l32, l33)
    if swapped:
        x2, x3 = x3, x2
    volume = l11 * l22 * l33 / (s1 * s2 * s3)
    return _stretched3(x1, 1.0 / s1), _stretched3(x2, 1.0 / s2), _stretched3(x3, 1.0 / s3), volume


def _first_of_four(c: _Ten, least: float) -> tuple[_Four, _Plane4, float]:
    """Return the components of four fields along the first, and residual covariances of 2 to 4.

    The covariances are in units of the last number. ``least`` replaces the first component where
    the first field vanishes.
    """
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    n22, n23, n24 = (c22, 0.0), (c23, 0.0), (c24, 0.0)
    n33, n34, n44, scale = (c33, 0.0), (c34, 0.0), (c44, 0.0), 1.0
    l11, l21, l31, l41 = least, 0.0, 0.0, 0.0
    if c11 > 0.0:
        l11 = math.sqrt(c11)
        l21, l31 = _bounded(c12 / l11, l11), _bounded(c13 / l11, l11)
        l41 = _bounded(c14 / l11, l11)
        n22, n23 = _minor(c11, c22, c12, c12), _minor(c11, c23, c12, c13)
        n24, n33 = _minor(c11, c24, c12, c14), _minor(c11, c33, c13, c13)
        n34, n44 = _minor(c11, c34, c13, c14), _minor(c11, c44, c14, c14)
        scale = c11
    return (l11, l21, l31, l41), (n22, n23, n24, n33, n34, n44), scale


def _last_of_four(
    rests: _Plane4, scale: float, c33: float, c44: float, least: float
) -> tuple[_Lasts, bool]:
    """Return the components 22, 32, 42, and 33, 43, 44 of the last two fields in their order.

    The last value says whether field 4 comes before field 3.
    """
    n22, n23, n24, n33, n34, n44 = rests
    l22, l32, l42, l33, l43, l44 = least, 0.0, 0.0, least, 0.0, least
    swapped = False
    if n22[0] > scale * _NOISE_VARIANCE:
        l22 = math.sqrt(n22[0] / scale)
        root = math.sqrt(n22[0] * scale)
        l32, l42 = _bounded(n23[0] / root, l22), _bounded(n24[0] / root, l22)
        scale *= n22[0]
        m33 = _minor_of_doubled(n22, n33, n23, n23)
        m34 = _minor_of_doubled(n22, n34, n23, n24)
        m44 = _minor_of_doubled(n22, n44, n24, n24)
        swapped = m44[0] * c33 > m33[0] * c44
        if swapped:
            m33, m44 = m44, m33
        if m33[0] > scale * _NOISE_VARIANCE:
            l33 = math.sqrt(m33[0] / scale)
            l43 = _bounded(m34[0] / math.sqrt(m33[0] * scale), l33)
            rest = _minor_of_doubled(m33, m44, m34, m34)[0] / (m33[0] * scale)
            if rest > _NOISE_VARIANCE:
                l44 = math.sqrt(rest)
    return (l22, l32, l42, l33, l43, l44), swapped


def _vectors4(c: _Ten) -> tuple[_Vector4, _Vector4, _Vector4, _Vector4, float]:
    """Return vectors with the given inner products, and the volume they span."""
    scaled, (s1, s2, s3, s4) = _scaled4(c)
    c11, c22, c33, c44 = scaled[0], scaled[4], scaled[7], scaled[9]
    least = _LEAST_PART + 0.0 * (c11 + c22 + c33 + c44)  # NaN where a variance is NaN
    (l11, l21, l31, l41), rests, scale = _first_of_four(scaled, least)
    n22, n23, n24, n33, n34, n44 = rests
    # The pivot is the field with the largest residual variance, relative to its own variance.
    swapped23 = n33[0] * c22 > n22[0] * c33
    if swapped23:
        n22, n33, n24, n34, l21, l31, c22, c33 = n33, n22, n34, n24, l31, l21, c33, c22
    swapped24 = n44[0] * c22 > n22[0] * c44
    if swapped24:
        n22, n44, n23, n34, l21, l41, c22, c44 = n44, n22, n34, n23, l41, l21, c44, c22
    pivoted = n22, n23, n24, n33, n34, n44
    (l22, l32, l42, l33, l43, l44), swapped34 = _last_of_four(pivoted, scale, c33, c44, least)
    x1, x2 = (l11, 0.0, 0.0, 0.0), (l21, l22, 0.0, 0.0)
    x3, x4 = (l31, l32, l33, 0.0), (l41, l42, l43, l44)
    if swapped34:
        x3, x4 = (l31, l32, l43, l44), (l41, l42, l33, 0.0)
    if swapped24:
        x2, x4 = x4, x2
    if swapped23:
        x2, x3 = x3, x2
    volume = l11 * l22 * l33 * l44 / (s1 * s2 * s3 * s4)
    x1, x2 = _stretched4(x1, 1.0 / s1), _stretched4(x2, 1.0 / s2)
    x3, x4 = _stretched4(x3, 1.0 / s3), _stretched4(x4, 1.0 / s4)
    return x1, x2, x3, x4, volume


def _plane3(x: _Vector3, y: _Vector3) -> _Vector3:
    """Return x ^ y, components 12, 13, 23."""
    return (
        _minor(x[0], y[1], x[1], y[0])[0],
        _minor(x[0], y[2], x[2], y[0])[0],
        _minor(x[1], y[2], x[2], y[1])[0],
    )


def _plane4(x: _Vector4, y: _Vector4) -> _Plane4:
    """Return x ^ y in doubled precision, components 12, 13, 14, 23, 24, 34."""
    return (
        _minor(x[0], y[1], x[1], y[0]),
        _minor(x[0], y[2], x[2], y[0]),
        _minor(x[0], y[3], x[3], y[0]),
        _minor(x[1], y[2], x[2], y[1]),
        _minor(x[1], y[3], x[3], y[1]),
        _minor(x[2], y[3], x[3], y[2]),
    )


def _alternating(
    a: _Doubled,
    x: float,
    b: _Doubled,
    y: float,
    c: _Doubled,
    z: float,
) -> float:
    """Return a x - b y + c z, its products and sums in doubled precision."""
    p, p_low = _minor_of_doubled(a, (x, 0.0), b, (y, 0.0))
    q, q_low = _two_product(c[0], -z)
    high, _ = _two_difference(p, p_low, q, q_low - c[1] * z)
    return high


def _space4(
    p: _Plane4,
    z: _Vector4,
) -> _Vector4:
    """Return p ^ z for a plane p, components 123, 124, 134, 234."""
    return (
        _alternating(p[0], z[2], p[1], z[1], p[3], z[0]),
        _alternating(p[0], z[3], p[2], z[1], p[4], z[0]),
        _alternating(p[1], z[3], p[2], z[2], p[5], z[0]),
        _alternating(p[3], z[3], p[4], z[2], p[5], z[1]),
    )


def _inner3(a: _Vector3, b: _Vector3) -> float:
    """Return the inner product of planes of three-dimensional space."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _inner4(a: _Vector4, b: _Vector4) -> float:
    """Return the inner product of three-dimensional subspaces of four-dimensional space."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


def _inner6(
    a: _Plane4,
    b: _Plane4,
) -> float:
    """Return the inner product of planes of four-dimensional space."""
    first = a[0][0] * b[0][0] + a[1][0] * b[1][0] + a[2][0] * b[2][0]
    return first + a[3][0] * b[3][0] + a[4][0] * b[4][0] + a[5][0] * b[5][0]
