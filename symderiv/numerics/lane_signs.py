r"""Functions of Gaussian means for several runs at a time, in place of those of one run.

Their names, arguments and values are those of :mod:`~symderiv.numerics.fields`,
:mod:`~symderiv.numerics.sign_mean4` and :mod:`~symderiv.numerics.sign_covariances`; numbers are
lane values of ``symderiv_kernels.lanes.runtime``. A run's rule of quadrature follows from its own
correlations, so that its values do not depend on its neighbours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symderiv.numerics.shifted_signs import _sign_covariance
from symderiv.numerics.sign_covariances import (
    _PRICE_NODES,
    _PRICE_WEIGHTS,
    _REACH,
    _TAIL,
    _decay,
    _price_density,
)
from symderiv.numerics.sign_mean4 import (
    _EVEN_NODES,
    _EVEN_WEIGHTS,
    _NODES,
    _WEIGHTS,
    _arcsine,
    _determinant3,
    _minor,
    _minor_of_doubled,
)

if TYPE_CHECKING:
    from symderiv_kernels.lanes.runtime import any_lane, chosen, inverse_root, negated, unit_scale

    _Lanes = Any


def _unit_scale(variance: _Lanes) -> _Lanes:
    """Return the power of two that brings a standard deviation near 1 without rounding."""
    return unit_scale(variance)


def _mean_signs(values: _Lanes, count: int) -> None:
    """Replace the first numbers h of an array by E[sgn(x + h)] = erf(h/sqrt(2))."""
    for n in range(count):
        h = abs(values[n])
        x = chosen(h < 9.0, h, 9.0)
        w = (x - 4.5) / (x + 4.5)
        w2 = w * w
        w4 = w2 * w2
        w8 = w4 * w4
        a = _TAIL[0] + _TAIL[1] * w + (_TAIL[2] + _TAIL[3] * w) * w2
        b = _TAIL[4] + _TAIL[5] * w + (_TAIL[6] + _TAIL[7] * w) * w2
        c = _TAIL[8] + _TAIL[9] * w + (_TAIL[10] + _TAIL[11] * w) * w2
        d = _TAIL[12] + _TAIL[13] * w + (_TAIL[14] + _TAIL[15] * w) * w2
        e = _TAIL[16] + _TAIL[17] * w
        total = a + b * w4 + (c + d * w4) * w8 + e * (w8 * w8)
        values[n] = math.copysign(1.0 - total * _decay(-0.5 * x * x), values[n])


def _price_sum(start: int, stop: int, t: _Lanes, squares: _Lanes, product: _Lanes) -> _Lanes:
    """Return the sum of one of the rules."""
    total = 0.0 * t
    for j in range(start, stop, 4):
        low = _PRICE_WEIGHTS[j] * _price_density(_PRICE_NODES[j] * t, squares, product)
        low += _PRICE_WEIGHTS[j + 1] * _price_density(_PRICE_NODES[j + 1] * t, squares, product)
        high = _PRICE_WEIGHTS[j + 2] * _price_density(_PRICE_NODES[j + 2] * t, squares, product)
        high += _PRICE_WEIGHTS[j + 3] * _price_density(_PRICE_NODES[j + 3] * t, squares, product)
        total += low + high
    return total


def _sign_covariances(
    first: _Lanes, second: _Lanes, correlation: _Lanes, total: _Lanes, count: int
) -> None:
    """Replace the first numbers of an array of means h by covariances of two signs.

    ``second`` are the means k; ``total`` is what the function of one run needs.
    """
    largest = abs(correlation[0])
    for n in range(1, count):
        largest = max(largest, abs(correlation[n]))
    middle, wide, far = largest > _REACH[0], largest > _REACH[1], largest > _REACH[2]
    for n in range(count):
        h, k, r = first[n], second[n], correlation[n]
        squares, product = 0.5 * (h * h + k * k), 2.0 * h * k
        t = r / (1.0 + math.sqrt((1.0 - r) * (1.0 + r)))
        found = 0.0 * t
        if any_lane(negated(middle)):
            found = chosen(middle, found, _price_sum(0, 8, t, squares, product))
        if any_lane(middle & negated(wide)):
            found = chosen(middle, _price_sum(8, 20, t, squares, product), found)
        if any_lane(wide & negated(far)):
            found = chosen(wide, _price_sum(20, 40, t, squares, product), found)
        found = t * found
        if any_lane(far):
            found = chosen(far, _sign_covariance(h, k, r), found)
        first[n] = found


def _angles_at(
    cc: _Lanes, ss: _Lanes, d: _Lanes, r: _Lanes, p: _Lanes, start: _Lanes, end: _Lanes
) -> _Lanes:
    """Return the integrand at a node: a squared cosine and a squared sine up to a scale."""
    root = inverse_root(max(d[0] * cc + d[1] * ss, 1e-300))
    first = inverse_root(max(cc + p[0] * ss, 1e-300))
    second = inverse_root(max(cc + p[1] * ss, 1e-300))
    third = inverse_root(max(cc + p[2] * ss, 1e-300))
    total = r[0] * first * math.atan((start[0] * cc + end[0] * ss) * first * root)
    total += r[1] * second * math.atan((start[1] * cc + end[1] * ss) * second * root)
    total += r[2] * third * math.atan((start[2] * cc + end[2] * ss) * third * root)
    return total


def _merged_signs(
    minors: _Lanes, c12: _Lanes, c13: _Lanes, c14: _Lanes, c23: _Lanes, c24: _Lanes, c34: _Lanes
) -> tuple[_Lanes, _Lanes]:
    """Return in which runs two fields are equal or opposite, and the mean there.

    ``minors`` are those of 12, 13, 14, 23, 24, 34.
    """
    d12, d13, d14, d23, d24, d34 = minors
    side = 0.6366197723675814  # 2/pi
    merged, mean = d34 <= 0.0, math.copysign(side, c34) * _arcsine(d12, c12)
    mean = chosen(d24 <= 0.0, math.copysign(side, c24) * _arcsine(d13, c13), mean)
    mean = chosen(d23 <= 0.0, math.copysign(side, c23) * _arcsine(d14, c14), mean)
    mean = chosen(d14 <= 0.0, math.copysign(side, c14) * _arcsine(d23, c23), mean)
    mean = chosen(d13 <= 0.0, math.copysign(side, c13) * _arcsine(d24, c24), mean)
    mean = chosen(d12 <= 0.0, math.copysign(side, c12) * _arcsine(d34, c34), mean)
    merged = merged | (d24 <= 0.0) | (d23 <= 0.0) | (d14 <= 0.0) | (d13 <= 0.0) | (d12 <= 0.0)
    return merged, mean


def sign_mean4_cov(
    c11: _Lanes,
    c12: _Lanes,
    c13: _Lanes,
    c14: _Lanes,
    c22: _Lanes,
    c23: _Lanes,
    c24: _Lanes,
    c33: _Lanes,
    c34: _Lanes,
    c44: _Lanes,
) -> _Lanes:
    """E[sgn z1 sgn z2 sgn z3 sgn z4] of centred Gaussian fields from their covariances."""
    nothing = 0.0 * (c11 + c22 + c33 + c44)
    positive = (c11 > 0.0) & (c22 > 0.0) & (c33 > 0.0) & (c44 > 0.0)
    s1, s2, s3, s4 = unit_scale(c11), unit_scale(c22), unit_scale(c33), unit_scale(c44)
    c11, c12, c13, c14 = c11 * s1 * s1, c12 * s1 * s2, c13 * s1 * s3, c14 * s1 * s4
    c22, c23, c24 = c22 * s2 * s2, c23 * s2 * s3, c24 * s2 * s4
    c33, c34, c44 = c33 * s3 * s3, c34 * s3 * s4, c44 * s4 * s4
    # The field least determined by the other three has the shortest path: make it number 4.
    without1 = _determinant3(c22, c33, c44, c23, c24, c34) * c11
    without2 = _determinant3(c11, c33, c44, c13, c14, c34) * c22
    without3 = _determinant3(c11, c22, c44, c12, c14, c24) * c33
    without4 = _determinant3(c11, c22, c33, c12, c13, c23) * c44
    smallest = min(min(without1, without2), min(without3, without4))
    moved = smallest < without4
    first = moved & (smallest == without1)
    second = moved & negated(first) & (smallest == without2)
    third = moved & negated(first) & negated(second)
    old = c11, c44, c12, c24, c13, c34
    c11, c44, c12, c24, c13, c34 = chosen(first, (c44, c11, c24, c12, c34, c13), old)
    old = c22, c44, c12, c14, c23, c34
    c22, c44, c12, c14, c23, c34 = chosen(second, (c44, c22, c14, c12, c34, c23), old)
    old = c33, c44, c13, c14, c23, c24
    c33, c44, c13, c14, c23, c24 = chosen(third, (c44, c33, c14, c13, c24, c23), old)
    d12, d34 = _minor(c11, c22, c12, c12), _minor(c33, c44, c34, c34)
    d13, d24 = _minor(c11, c33, c13, c13), _minor(c22, c44, c24, c24)
    d14, d23 = _minor(c11, c44, c14, c14), _minor(c22, c33, c23, c23)
    minors = d12[0], d13[0], d14[0], d23[0], d24[0], d34[0]
    merged, mean = _merged_signs(minors, c12, c13, c14, c23, c24, c34)
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
    p = d14[0] / (c11 * c44), d24[0] / (c22 * c44), d34[0] / (c33 * c44)
    start = a23[0] / q1, b13[0] / q2, e12[0] / q3
    end = (
        end1[0] / (q1 * c11 * c44),
        end2[0] / (q2 * c22 * c44),
        end3[0] / (q3 * c33 * c44),
    )
    # The nearest and farthest singularities are at 1 and 1/sqrt(variance).
    variance = min(given12[0] / (c11 * c44 * d12[0]), given13[0] / (c11 * c44 * d13[0]))
    least = min(min(p[0], p[1]), p[2])
    variance = min(min(least, variance), given23[0] / (c22 * c44 * d23[0]))
    variance = chosen(d4 < variance * d3, d4 / d3, variance)
    begin = math.log(1.3)
    # The integrand falls as 1/sigma^2 at least, as 1/sigma^3 beyond 1/sqrt(p).
    farthest = 17.5 - 0.25 * math.log(least)
    reach = chosen(variance > 1e-80, -0.5 * math.log(variance) - begin, 1e3)
    regular = positive & negated(merged)
    finish = chosen(regular, max(min(reach, farthest), begin), begin)
    d, total = (d3, d4), 0.0 * nothing
    for n in range(_EVEN_NODES.size):
        ss = (1.3 * _EVEN_NODES[n]) ** 2
        weight = 1.3 * _EVEN_WEIGHTS[n] / (1.0 + ss)
        total += weight * _angles_at(1.0, ss, d, r, p, start, end)
    at = begin + 0.0 * total
    while any_lane(at < finish):
        # Panels may grow where the integrand is already small.
        half = chosen(at < finish, 0.5 * min(1.6 + 0.1 * at, finish - at), 0.0)
        for n in range(_NODES.size):
            sigma = math.exp(at + half * (1.0 + _NODES[n]))
            ss = sigma * sigma
            weight = half * _WEIGHTS[n] * sigma / (1.0 + ss)
            total += weight * _angles_at(1.0, ss, d, r, p, start, end)
        at += 2.0 * half
    beyond = reach < farthest
    if any_lane(beyond):
        half = chosen(beyond, 0.5 * math.exp(-2.0 * finish), 0.0)
        for n in range(_NODES.size):
            cc = half * (1.0 + _NODES[n])
            weight = 0.5 * half * _WEIGHTS[n] / (1.0 + cc)
            total += weight * _angles_at(cc, 1.0, d, r, p, start, end)
    found = chosen(merged, mean, 0.4052847345693511 * total)  # 4/pi^2
    return chosen(positive, found, nothing)
