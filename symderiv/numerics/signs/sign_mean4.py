r"""Mean of the signs of four correlated centred Gaussian fields, in double precision.

The text of this module is copied into generated solvers; every function is plain Python that numba
compiles as it stands. With sigma from 0 to infinity the path on which one field loses its
correlations with the other three,

    E = 4/pi^2  int dsigma / (1 + sigma^2)  sum_j  r_j / sqrt(1 + p_j sigma^2)
        * atan( (N_j + sigma^2 N'_j) / sqrt((1 + p_j sigma^2) (d3 + sigma^2 d4)) ),

p_j = 1 - r_j^2, d3 and d4 the determinants without and with that field, N_j and N'_j minors. All
singularities lie on the imaginary axis between distances 1 and S = sqrt(d3/d4), so that three
Gauss-Legendre rules of twelve nodes do: sigma up to about 1, panels in log(sigma) up to about S,
and 1/sigma^2 beyond. Fields that align only make S larger; the number of panels grows with log(S).

The minors carry the cancellations. They are formed from the covariances in doubled precision
(products split into two doubles without rounding error), through Schur complements, so each is as
good as its covariance entries determine it. Covariances are the better input: dividing by standard
deviations first rounds the correlations, and 1 - r with them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from symderiv_codegen.printers.elementary import _arctangents

from symderiv.numerics.nodes import _LEGENDRE_12, _LEGENDRE_24

if TYPE_CHECKING:
    _Doubled = tuple[float, float]
    _Three = tuple[float, float, float]
    _Four = tuple[float, float, float, float]
    _Ten = tuple[float, float, float, float, float, float, float, float, float, float]
    _Pairs = tuple[_Doubled, _Doubled, _Doubled, _Doubled, _Doubled, _Doubled]
    _Path = tuple[tuple[float, float], _Three, _Three, _Three, _Three]

# Positive half of the 24-node rule: the integrand is even in sigma.
_EVEN_NODES = _LEGENDRE_24[0][12:].copy()
_EVEN_WEIGHTS = _LEGENDRE_24[1][12:].copy()
_NODES = _LEGENDRE_12[0]
_WEIGHTS = _LEGENDRE_12[1]
# The number of nodes summed at a time, a multiple of sixteen; most integrals need fewer.
_ROOM = 96
# The first rule takes sigma up to this, where panels begin.
_STRETCH = 1.3
_BEGIN = math.log(1.3)


def _unit_scale(variance: float) -> float:
    """Return the power of two that brings a standard deviation near 1 without rounding."""
    return math.ldexp(1.0, -(math.frexp(variance)[1] // 2))


def _two_product(a: float, b: float) -> tuple[float, float]:
    """Return a product and its rounding error: a b = high + low exactly."""
    t = 134217729.0 * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = 134217729.0 * b
    b_high = t - (t - b)
    b_low = b - b_high
    high = a * b
    low = ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low
    return high, low


def _two_difference(
    a_high: float, a_low: float, b_high: float, b_low: float
) -> tuple[float, float]:
    """Return (a_high + a_low) - (b_high + b_low) as a double and its remainder."""
    s = a_high - b_high
    t = s - a_high
    low = ((a_high - (s - t)) - (b_high + t)) + (a_low - b_low)
    high = s + low
    return high, low - (high - s)


def _minor(a: float, b: float, c: float, d: float) -> tuple[float, float]:
    """Return a b - c d of doubles, in doubled precision."""
    p, p_low = _two_product(a, b)
    q, q_low = _two_product(c, d)
    return _two_difference(p, p_low, q, q_low)


def _minor_of_doubled(
    a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], d: tuple[float, float]
) -> tuple[float, float]:
    """Return a b - c d of doubled-precision numbers, in doubled precision."""
    p, p_low = _two_product(a[0], b[0])
    q, q_low = _two_product(c[0], d[0])
    p_low += a[0] * b[1] + a[1] * b[0]
    q_low += c[0] * d[1] + c[1] * d[0]
    return _two_difference(p, p_low, q, q_low)


def _arcsine(variance_product_minus_square: float, covariance: float) -> float:
    """Return asin of a correlation, from the covariance and the 2 x 2 determinant."""
    return math.atan2(covariance, math.sqrt(max(variance_product_minus_square, 0.0)))


def _determinant3(a: float, b: float, c: float, ab: float, ac: float, bc: float) -> float:
    """Return the 3 x 3 determinant over a in doubles, only to choose which field to scale."""
    return (a * b - ab * ab) * (a * c - ac * ac) / a - (a * bc - ab * ac) ** 2 / a


def _summed_angles(nodes: np.ndarray, count: int, path: _Path) -> float:
    """Return the integrand summed over nodes (squared cosines, squared sines, weights)."""
    d, r, p, start, end = path
    cosines, sines, weights = nodes[:_ROOM], nodes[_ROOM : 2 * _ROOM], nodes[2 * _ROOM : 3 * _ROOM]
    widths, angles = nodes[3 * _ROOM : 7 * _ROOM], nodes[7 * _ROOM : 10 * _ROOM]
    for n in range(count):
        cc, ss = cosines[n], sines[n]
        widths[4 * n] = max(d[0] * cc + d[1] * ss, 1e-300)
        widths[4 * n + 1] = max(cc + p[0] * ss, 1e-300)
        widths[4 * n + 2] = max(cc + p[1] * ss, 1e-300)
        widths[4 * n + 3] = max(cc + p[2] * ss, 1e-300)
    # Whole vector instructions, four at once, by indices without sign.
    for k in range(np.uint64((4 * count + 31) // 32 * 32)):
        widths[k] = 1.0 / math.sqrt(widths[k])
    for n in range(count):
        cc, ss, root = cosines[n], sines[n], widths[4 * n]
        angles[3 * n] = (start[0] * cc + end[0] * ss) * widths[4 * n + 1] * root
        angles[3 * n + 1] = (start[1] * cc + end[1] * ss) * widths[4 * n + 2] * root
        angles[3 * n + 2] = (start[2] * cc + end[2] * ss) * widths[4 * n + 3] * root
    _arctangents(angles, 3 * count)
    total = 0.0
    for n in range(count):
        term = r[0] * widths[4 * n + 1] * angles[3 * n]
        term += r[1] * widths[4 * n + 2] * angles[3 * n + 1]
        term += r[2] * widths[4 * n + 3] * angles[3 * n + 2]
        total += weights[n] * term
    return total


def _scaled4(c: _Ten) -> tuple[_Ten, _Four]:
    """Scale four fields by powers of two, without rounding, so that no product over- or underflows.

    Returned are their covariances and the powers.
    """
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    s1, s2, s3, s4 = _unit_scale(c11), _unit_scale(c22), _unit_scale(c33), _unit_scale(c44)
    c11, c12, c13, c14 = c11 * s1 * s1, c12 * s1 * s2, c13 * s1 * s3, c14 * s1 * s4
    c22, c23, c24 = c22 * s2 * s2, c23 * s2 * s3, c24 * s2 * s4
    c33, c34, c44 = c33 * s3 * s3, c34 * s3 * s4, c44 * s4 * s4
    return (c11, c12, c13, c14, c22, c23, c24, c33, c34, c44), (s1, s2, s3, s4)


def _least_determined_last(c: _Ten) -> _Ten:
    """Put the field that the others determine least last: its path is the shortest."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    without1 = _determinant3(c22, c33, c44, c23, c24, c34) * c11
    without2 = _determinant3(c11, c33, c44, c13, c14, c34) * c22
    without3 = _determinant3(c11, c22, c44, c12, c14, c24) * c33
    without4 = _determinant3(c11, c22, c33, c12, c13, c23) * c44
    smallest = min(without1, without2, without3, without4)
    if smallest < without4:
        if smallest == without1:
            c11, c44, c12, c24, c13, c34 = c44, c11, c24, c12, c34, c13
        elif smallest == without2:
            c22, c44, c12, c14, c23, c34 = c44, c22, c14, c12, c34, c23
        else:
            c33, c44, c13, c14, c23, c24 = c44, c33, c14, c13, c24, c23
    return c11, c12, c13, c14, c22, c23, c24, c33, c34, c44


def _minors_of_pairs(c: _Ten) -> _Pairs:
    """Return the minors of 12, 13, 14, 23, 24 and 34 in doubled precision."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    d12, d34 = _minor(c11, c22, c12, c12), _minor(c33, c44, c34, c34)
    d13, d24 = _minor(c11, c33, c13, c13), _minor(c22, c44, c24, c24)
    d14, d23 = _minor(c11, c44, c14, c14), _minor(c22, c33, c23, c23)
    return d12, d13, d14, d23, d24, d34


def _mean_of_merged(c: _Ten, minors: _Pairs) -> float:
    """Return the mean where two fields are equal or opposite, so that two others remain."""
    _, c12, c13, c14, _, c23, c24, _, c34, _ = c
    d12, d13, d14, d23, d24, d34 = minors
    side = 0.6366197723675814  # 2/pi
    mean = math.copysign(side, c34) * _arcsine(d12[0], c12)
    if d24[0] <= 0.0:
        mean = math.copysign(side, c24) * _arcsine(d13[0], c13)
    if d23[0] <= 0.0:
        mean = math.copysign(side, c23) * _arcsine(d14[0], c14)
    if d14[0] <= 0.0:
        mean = math.copysign(side, c14) * _arcsine(d23[0], c23)
    if d13[0] <= 0.0:
        mean = math.copysign(side, c13) * _arcsine(d24[0], c24)
    if d12[0] <= 0.0:
        mean = math.copysign(side, c12) * _arcsine(d34[0], c34)
    return mean


def _path_of(c: _Ten, minors: _Pairs) -> tuple[_Path, float]:
    """Return d, r, p, N and N' of the path, and the least variance that a field keeps on it.

    The nearest and farthest singularities are at 1 and 1/sqrt(variance).
    """
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    d12, d13, d14, d23, d24, d34 = minors
    # Minors: a_jk given 1, b_jk given 2, e_jk given 3.
    a23, a24 = _minor(c11, c23, c12, c13), _minor(c11, c24, c12, c14)
    b13, b14 = _minor(c22, c13, c12, c23), _minor(c22, c14, c12, c24)
    e12, e14 = _minor(c33, c12, c13, c23), _minor(c33, c14, c13, c34)
    a34, b34 = _minor(c11, c34, c13, c14), _minor(c22, c34, c23, c24)
    e24 = _minor(c33, c24, c23, c34)
    end1 = _minor_of_doubled(a23, d14, a24, a34)
    end2 = _minor_of_doubled(b13, d24, b14, b34)
    end3 = _minor_of_doubled(e12, d34, e14, e24)
    given12 = _minor_of_doubled(d12, d14, a24, a24)
    given13 = _minor_of_doubled(d13, d14, a34, a34)
    given23 = _minor_of_doubled(d23, d24, b34, b34)
    d3 = max(_minor_of_doubled(d12, d13, a23, a23)[0], 0.0) / c11
    d4 = max(_minor_of_doubled(given12, given13, end1, end1)[0], 0.0) / (d14[0] * c11 * c11 * c44)
    q1, q2, q3, q4 = math.sqrt(c11), math.sqrt(c22), math.sqrt(c33), math.sqrt(c44)
    r = c14 / (q1 * q4), c24 / (q2 * q4), c34 / (q3 * q4)
    p1, p2, p3 = d14[0] / (c11 * c44), d24[0] / (c22 * c44), d34[0] / (c33 * c44)
    # Dividing by the standard deviation of the partner completes the arctangents' arguments.
    start = a23[0] / q1, b13[0] / q2, e12[0] / q3
    end2_, end3_ = end2[0] / (q2 * c22 * c44), end3[0] / (q3 * c33 * c44)
    end = end1[0] / (q1 * c11 * c44), end2_, end3_
    least1 = min(given12[0] / (c11 * c44 * d12[0]), given13[0] / (c11 * c44 * d13[0]))
    variance = min(p1, p2, p3, least1, given23[0] / (c22 * c44 * d23[0]))
    if d4 < variance * d3:
        variance = d4 / d3
    return ((d3, d4), r, (p1, p2, p3), start, end), variance


def _ends_of(variance: float, least: float) -> tuple[float, float]:
    """Return the log(sigma) at which panels end, and the one beyond which the integrand is
    negligible.

    Args:
        variance: The least variance that a field keeps on the path.
        least: The smallest p.
    """
    reach = 1e3
    if variance > 1e-80:
        reach = -0.5 * math.log(variance) - _BEGIN
    # The integrand falls as 1/sigma^2 at least, as 1/sigma^3 beyond 1/sqrt(p).
    return reach, 17.5 - 0.25 * math.log(least)


def _integrated_angles(path: _Path, variance: float) -> float:
    """Return the integral over sigma, from 0 to infinity."""
    p = path[2]
    reach, farthest = _ends_of(variance, min(p[0], p[1], p[2]))
    finish = max(min(reach, farthest), _BEGIN)
    nodes = np.ones(10 * _ROOM)
    for n in range(_EVEN_NODES.size):
        ss = (_STRETCH * _EVEN_NODES[n]) ** 2
        nodes[n], nodes[_ROOM + n] = 1.0, ss
        nodes[2 * _ROOM + n] = _STRETCH * _EVEN_WEIGHTS[n] / (1.0 + ss)
    count = _EVEN_NODES.size
    total = 0.0
    at = _BEGIN
    while at < finish:
        if count + 2 * _NODES.size > _ROOM:
            total += _summed_angles(nodes, count, path)
            count = 0
        # Panels may grow where the integrand is already small.
        half = 0.5 * min(1.6 + 0.1 * at, finish - at)
        for n in range(_NODES.size):
            sigma = math.exp(at + half * (1.0 + _NODES[n]))
            ss = sigma * sigma
            nodes[count], nodes[_ROOM + count] = 1.0, ss
            nodes[2 * _ROOM + count] = half * _WEIGHTS[n] * sigma / (1.0 + ss)
            count += 1
        at += 2.0 * half
    if reach < farthest:
        half = 0.5 * math.exp(-2.0 * finish)
        for n in range(_NODES.size):
            cc = half * (1.0 + _NODES[n])
            nodes[count], nodes[_ROOM + count] = cc, 1.0
            nodes[2 * _ROOM + count] = 0.5 * half * _WEIGHTS[n] / (1.0 + cc)
            count += 1
    return total + _summed_angles(nodes, count, path)


def _mean_of_signs(c: _Ten) -> float:
    """Return E[sgn z1 sgn z2 sgn z3 sgn z4] of centred Gaussian fields from their covariances.

    Fields of zero variance give 0; fields that are equal or opposite are merged; a matrix slightly
    outside the positive cone is taken at its edge. Never NaN for finite arguments. Absolute error
    below 1e-14 for the covariances as given, also as correlations approach 1 (1 - r = 1e-12).
    """
    if not (c[0] > 0.0 and c[4] > 0.0 and c[7] > 0.0 and c[9] > 0.0):
        return 0.0 * (c[0] + c[4] + c[7] + c[9])
    ordered = _least_determined_last(_scaled4(c)[0])
    minors = _minors_of_pairs(ordered)
    d12, d13, d14, d23, d24, d34 = minors
    if min(d12[0], d13[0], d14[0], d23[0], d24[0], d34[0]) <= 0.0:
        return _mean_of_merged(ordered, minors)
    path, variance = _path_of(ordered, minors)
    return 0.4052847345693511 * _integrated_angles(path, variance)  # 4/pi^2


def sign_mean4(r12: float, r13: float, r14: float, r23: float, r24: float, r34: float) -> float:
    """Return E[sgn z1 sgn z2 sgn z3 sgn z4] of centred Gaussian fields from their correlations."""
    return _mean_of_signs((1.0, r12, r13, r14, 1.0, r23, r24, 1.0, r34, 1.0))
