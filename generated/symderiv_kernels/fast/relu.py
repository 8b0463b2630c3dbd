"""Order-parameter dynamics of a two-layer student and teacher, g(x) = x*Heaviside(x): fast

Generated, do not edit: change the recipe and generate again. The equations and what computes them
one by one stand in relu.py, from the same program; here is the right-hand side on vectors, compiled
for given numbers of units. The module needs math, numpy, numba and the runtime.py beside it.

Digests (SHA-256):
    program  d2ce1bae8862ffa28bb9df430ffdd3cbae2eda000127b1e11e28ec813f9df1d2
    code     26b4c5b8efaeb6c5c996868b5a0ef6d0a7071793c675e085665b0306f613095f
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit

from .runtime import derivative_apart, DIGEST, stack_array, view

_SPECIALISED = {}

_compiled = njit(cache=True, error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_sums = njit(cache=True, error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)
_compiled_many = njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)


@_compiled
def _clipped_sqrt(x):
    """Square root; a negative rounding error is taken for 0."""
    return 0.0 if x < 0.0 else math.sqrt(x)


@_compiled
def _ratio(numerator, denominator):
    """Quotient, 0 where the denominator vanishes: the limit at a field without variance."""
    return 0.0 if denominator == 0.0 else numerator / denominator


_ARCTANGENT = (
    -0.3333333333333333,
    0.19999999999999798,
    -0.14285714285658574,
    0.11111111105033467,
    -0.09090908747438506,
    0.07692296199967973,
    -0.06666421745351814,
    0.058788929347181634,
    -0.052301889934494805,
    0.04550384655278787,
    -0.034539518756678086,
    0.01625139658592304,
)
_HALF_PI = 1.5707963267948966
_HALF_PI_REST = 6.123233995736766e-17
_LEGENDRE_12 = np.array(np.polynomial.legendre.leggauss(12))
_LEGENDRE_24 = np.array(np.polynomial.legendre.leggauss(24))
_EVEN_NODES = _LEGENDRE_24[0][12:].copy()
_EVEN_WEIGHTS = _LEGENDRE_24[1][12:].copy()
_NODES = _LEGENDRE_12[0]
_WEIGHTS = _LEGENDRE_12[1]
_ROOM = 96
_STRETCH = 1.3
_BEGIN = math.log(1.3)
_NOISE_VARIANCE = 1e-31
_LEAST_PART = 1e-18


@_compiled_many
def _arctangents(values, count):
    """Replace the first numbers of an array by their arctangents, with an error below 2 ulp.

    atan(t) = t + t^3 P(t^2) up to tan(pi/8), beyond it pi/4 + atan((x - 1)/(x + 1)) and, beyond
    tan(3 pi/8), pi/2 + atan(-1/x). The array must have room for a multiple of 16 numbers.
    """
    for first in range(0, count, 16):
        for k in range(np.uint64(first), np.uint64(first + 16)):
            x = abs(values[k])
            middle = x > 0.4142135623730951
            large = x > 2.414213562373095
            above = -1.0 if large else (x - 1.0 if middle else x)
            below = x if large else (x + 1.0 if middle else 1.0)
            angle = _HALF_PI if large else (0.5 * _HALF_PI if middle else 0.0)
            rest = _HALF_PI_REST if large else (0.5 * _HALF_PI_REST if middle else 0.0)
            t = above / below
            z = t * t
            z2 = z * z
            z4 = z2 * z2
            low = _ARCTANGENT[0] + _ARCTANGENT[1] * z + (_ARCTANGENT[2] + _ARCTANGENT[3] * z) * z2
            mid = _ARCTANGENT[4] + _ARCTANGENT[5] * z + (_ARCTANGENT[6] + _ARCTANGENT[7] * z) * z2
            high = _ARCTANGENT[8] + _ARCTANGENT[9] * z
            high += (_ARCTANGENT[10] + _ARCTANGENT[11] * z) * z2
            p = low + mid * z4 + high * (z4 * z4)
            values[k] = math.copysign(angle + (t + (rest + t * z * p)), values[k])


@_compiled
def _unit_scale(variance):
    """Return the power of two that brings a standard deviation near 1 without rounding."""
    return math.ldexp(1.0, -(math.frexp(variance)[1] // 2))


@_compiled
def _two_product(a, b):
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


@_compiled
def _two_difference(a_high, a_low, b_high, b_low):
    """Return (a_high + a_low) - (b_high + b_low) as a double and its remainder."""
    s = a_high - b_high
    t = s - a_high
    low = ((a_high - (s - t)) - (b_high + t)) + (a_low - b_low)
    high = s + low
    return high, low - (high - s)


@_compiled
def _minor(a, b, c, d):
    """Return a b - c d of doubles, in doubled precision."""
    p, p_low = _two_product(a, b)
    q, q_low = _two_product(c, d)
    return _two_difference(p, p_low, q, q_low)


@_compiled
def _minor_of_doubled(a, b, c, d):
    """Return a b - c d of doubled-precision numbers, in doubled precision."""
    p, p_low = _two_product(a[0], b[0])
    q, q_low = _two_product(c[0], d[0])
    p_low += a[0] * b[1] + a[1] * b[0]
    q_low += c[0] * d[1] + c[1] * d[0]
    return _two_difference(p, p_low, q, q_low)


@_compiled
def _arcsine(variance_product_minus_square, covariance):
    """Return asin of a correlation, from the covariance and the 2 x 2 determinant."""
    return math.atan2(covariance, math.sqrt(max(variance_product_minus_square, 0.0)))


@_compiled
def _determinant3(a, b, c, ab, ac, bc):
    """Return the 3 x 3 determinant over a in doubles, only to choose which field to scale."""
    return (a * b - ab * ab) * (a * c - ac * ac) / a - (a * bc - ab * ac) ** 2 / a


@_compiled
def _summed_angles(nodes, count, path):
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


@_compiled
def _scaled4(c):
    """Scale four fields by powers of two, without rounding, so that no product over- or underflows.

    Returned are their covariances and the powers.
    """
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    s1, s2, s3, s4 = _unit_scale(c11), _unit_scale(c22), _unit_scale(c33), _unit_scale(c44)
    c11, c12, c13, c14 = c11 * s1 * s1, c12 * s1 * s2, c13 * s1 * s3, c14 * s1 * s4
    c22, c23, c24 = c22 * s2 * s2, c23 * s2 * s3, c24 * s2 * s4
    c33, c34, c44 = c33 * s3 * s3, c34 * s3 * s4, c44 * s4 * s4
    return (c11, c12, c13, c14, c22, c23, c24, c33, c34, c44), (s1, s2, s3, s4)


@_compiled
def _least_determined_last(c):
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


@_compiled
def _minors_of_pairs(c):
    """Return the minors of 12, 13, 14, 23, 24 and 34 in doubled precision."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    d12, d34 = _minor(c11, c22, c12, c12), _minor(c33, c44, c34, c34)
    d13, d24 = _minor(c11, c33, c13, c13), _minor(c22, c44, c24, c24)
    d14, d23 = _minor(c11, c44, c14, c14), _minor(c22, c33, c23, c23)
    return d12, d13, d14, d23, d24, d34


@_compiled
def _mean_of_merged(c, minors):
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


@_compiled
def _path_of(c, minors):
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


@_compiled
def _ends_of(variance, least):
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


@_compiled
def _integrated_angles(path, variance):
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


@_compiled
def _mean_of_signs(c):
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


@_compiled
def _angle(along, across):
    """Return the angle between -pi/2 and pi/2 with this tangent; 0 where both vanish."""
    return math.atan2(along, across)


@_compiled
def _bounded(part, pivot):
    """Return a part along a pivot, cut at twice the pivot, which only rounding can exceed."""
    return max(min(part, 2.0 * pivot), -2.0 * pivot)


@_compiled
def _stretched3(x, s):
    """Return a vector times a number."""
    return x[0] * s, x[1] * s, x[2] * s


@_compiled
def _stretched4(x, s):
    """Return a vector times a number."""
    return x[0] * s, x[1] * s, x[2] * s, x[3] * s


@_compiled
def _root_of_minor(c11, c12, c22):
    """Return sqrt(c11 c22 - c12**2), the area that two fields span; 0 outside the positive cone."""
    s1, s2 = _unit_scale(c11), _unit_scale(c22)
    minor = _minor(c11 * s1 * s1, c22 * s2 * s2, c12 * s1 * s2, c12 * s1 * s2)[0]
    return math.sqrt(max(minor, 0.0)) / (s1 * s2)


@_compiled
def _fields3(c11, c12, c13, c22, c23, c33):
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


@_compiled
def _first_of_four(c, least):
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


@_compiled
def _last_of_four(rests, scale, c33, c44, least):
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


@_compiled
def _vectors4(c):
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


@_compiled
def _plane3(x, y):
    """Return x ^ y, components 12, 13, 23."""
    return (
        _minor(x[0], y[1], x[1], y[0])[0],
        _minor(x[0], y[2], x[2], y[0])[0],
        _minor(x[1], y[2], x[2], y[1])[0],
    )


@_compiled
def _plane4(x, y):
    """Return x ^ y in doubled precision, components 12, 13, 14, 23, 24, 34."""
    return (
        _minor(x[0], y[1], x[1], y[0]),
        _minor(x[0], y[2], x[2], y[0]),
        _minor(x[0], y[3], x[3], y[0]),
        _minor(x[1], y[2], x[2], y[1]),
        _minor(x[1], y[3], x[3], y[1]),
        _minor(x[2], y[3], x[3], y[2]),
    )


@_compiled
def _alternating(a, x, b, y, c, z):
    """Return a x - b y + c z, its products and sums in doubled precision."""
    p, p_low = _minor_of_doubled(a, (x, 0.0), b, (y, 0.0))
    q, q_low = _two_product(c[0], -z)
    high, _ = _two_difference(p, p_low, q, q_low - c[1] * z)
    return high


@_compiled
def _space4(p, z):
    """Return p ^ z for a plane p, components 123, 124, 134, 234."""
    return (
        _alternating(p[0], z[2], p[1], z[1], p[3], z[0]),
        _alternating(p[0], z[3], p[2], z[1], p[4], z[0]),
        _alternating(p[1], z[3], p[2], z[2], p[5], z[0]),
        _alternating(p[3], z[3], p[4], z[2], p[5], z[1]),
    )


@_compiled
def _inner3(a, b):
    """Return the inner product of planes of three-dimensional space."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@_compiled
def _inner4(a, b):
    """Return the inner product of three-dimensional subspaces of four-dimensional space."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]


@_compiled
def _inner6(a, b):
    """Return the inner product of planes of four-dimensional space."""
    first = a[0][0] * b[0][0] + a[1][0] * b[1][0] + a[2][0] * b[2][0]
    return first + a[3][0] * b[3][0] + a[4][0] * b[4][0] + a[5][0] * b[5][0]


@_compiled
def sign_mean4_cov(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """Mean of four signs from covariances."""
    return _mean_of_signs((c11, c12, c13, c14, c22, c23, c24, c33, c34, c44))


@_compiled
def _fields4(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """Vectors with the given inner products, and the volume they span."""
    return _vectors4((c11, c12, c13, c14, c22, c23, c24, c33, c34, c44))


@_compiled
def i2(c11, c12, c22):
    """E[g(a) g(b)]."""
    volume_12 = _root_of_minor(c11, c12, c22)
    c_2_2_given_1 = _ratio(volume_12 * volume_12, c11)
    return (
        (0.5 / math.pi) * _clipped_sqrt(c11) * _clipped_sqrt(c_2_2_given_1)
        + (0.5 / math.pi) * c12 * _angle(c12, volume_12)
        + 0.25 * c12
    )


@_compiled
def i2_11(c11, c12, c22):
    """1/2 E[g''(a) g(b)] = dI2/dc11."""
    volume_12 = _root_of_minor(c11, c12, c22)
    c_2_2_given_1 = _ratio(volume_12 * volume_12, c11)
    return (0.25 / math.pi) * _ratio(_clipped_sqrt(c_2_2_given_1), _clipped_sqrt(c11))


@_compiled
def i2_12(c11, c12, c22):
    """E[g'(a) g'(b)] = dI2/dc12."""
    volume_12 = _root_of_minor(c11, c12, c22)
    return (0.5 / math.pi) * _angle(c12, volume_12) + 0.25


@_compiled
def i2_aa(c11):
    """E[g(a) g(a)]."""
    return 0.5 * c11


@_compiled
def i4(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) g(c) g(d)]."""
    x1, x2, x3, x4, volume_1234 = _fields4(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44)
    x12 = _plane4(x1, x2)
    x24 = _plane4(x2, x4)
    inverse_c22 = _ratio(1.0, c22)
    c_1_4_given_2 = -inverse_c22 * _inner6(x12, x24)
    x13 = _plane4(x1, x3)
    x34 = _plane4(x3, x4)
    inverse_c33 = _ratio(1.0, c33)
    c_1_4_given_3 = -inverse_c33 * _inner6(x13, x34)
    volume_12 = _clipped_sqrt(_inner6(x12, x12))
    inverse_c11 = _ratio(1.0, c11)
    c_2_2_given_1 = inverse_c11 * volume_12 * volume_12
    x14 = _plane4(x1, x4)
    c_2_4_given_1 = inverse_c11 * _inner6(x12, x14)
    x23 = _plane4(x2, x3)
    c_2_4_given_3 = -inverse_c33 * _inner6(x23, x34)
    volume_13 = _clipped_sqrt(_inner6(x13, x13))
    c_3_3_given_1 = inverse_c11 * volume_13 * volume_13
    volume_23 = _clipped_sqrt(_inner6(x23, x23))
    c_3_3_given_2 = inverse_c22 * volume_23 * volume_23
    c_3_4_given_1 = inverse_c11 * _inner6(x13, x14)
    c_3_4_given_2 = inverse_c22 * _inner6(x23, x24)
    volume_14 = _clipped_sqrt(_inner6(x14, x14))
    c_4_4_given_1 = inverse_c11 * volume_14 * volume_14
    volume_24 = _clipped_sqrt(_inner6(x24, x24))
    c_4_4_given_2 = inverse_c22 * volume_24 * volume_24
    volume_34 = _clipped_sqrt(_inner6(x34, x34))
    c_4_4_given_3 = inverse_c33 * volume_34 * volume_34
    x123 = _space4(x12, x3)
    x124 = _space4(x12, x4)
    x134 = _space4(x13, x4)
    x234 = _space4(x23, x4)
    root_c22 = _clipped_sqrt(c22)
    inverse_root_c22 = _ratio(1.0, root_c22)
    root_c_4_4_given_2 = _clipped_sqrt(c_4_4_given_2)
    c23_root_c_4_4_given_2 = c23 * root_c_4_4_given_2
    root_c11 = _clipped_sqrt(c11)
    inverse_root_c11 = _ratio(1.0, root_c11)
    root_c_2_2_given_1 = _clipped_sqrt(c_2_2_given_1)
    quotient = _ratio(c13 * c_2_4_given_1 + c23 * c_1_4_given_2, root_c_2_2_given_1)
    root_c_3_3_given_1 = _clipped_sqrt(c_3_3_given_1)
    quotient_2 = _ratio(c13 * c_3_4_given_1 + c33 * c_1_4_given_3, root_c_3_3_given_1)
    root_c_3_3_given_2 = _clipped_sqrt(c_3_3_given_2)
    quotient_3 = _ratio(c23 * c_3_4_given_2 + c33 * c_2_4_given_3, root_c_3_3_given_2)
    root_c33 = _clipped_sqrt(c33)
    root_c_4_4_given_3 = _clipped_sqrt(c_4_4_given_3)
    root_c33_root_c_4_4_given_3 = root_c33 * root_c_4_4_given_3
    root_c_4_4_given_1 = _clipped_sqrt(c_4_4_given_1)
    c13_root_c_4_4_given_1 = c13 * root_c_4_4_given_1
    return (
        (0.25 / math.pi**2) * c13_root_c_4_4_given_1 * inverse_root_c11
        * _angle(_inner4(x124, x134), volume_1234 * volume_14)
        + (0.125 / math.pi) * c13_root_c_4_4_given_1 * inverse_root_c11
        + (0.25 / math.pi**2) * c23_root_c_4_4_given_2 * inverse_root_c22
        * _angle(-_inner4(x124, x234), volume_1234 * volume_24)
        + (0.125 / math.pi) * c23_root_c_4_4_given_2 * inverse_root_c22
        + (0.125 / math.pi) * c34 * _angle(c12, volume_12)
        + (0.125 / math.pi) * c34 * _angle(c13, volume_13)
        + (0.125 / math.pi) * c34 * _angle(c14, volume_14)
        + (0.125 / math.pi) * c34 * _angle(c23, volume_23)
        + (0.125 / math.pi) * c34 * _angle(c24, volume_24)
        + (0.125 / math.pi) * c34 * _angle(c34, volume_34)
        + 0.0625 * c34 * sign_mean4_cov(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44)
        + 0.0625 * c34
        + (0.25 / math.pi**2) * inverse_root_c11 * quotient
        * _angle(_inner4(x123, x124), volume_12 * volume_1234)
        + (0.125 / math.pi) * inverse_root_c11 * quotient
        + (0.25 / math.pi**2) * inverse_root_c11 * quotient_2
        * _angle(-_inner4(x123, x134), volume_1234 * volume_13)
        + (0.125 / math.pi) * inverse_root_c11 * quotient_2
        + (0.25 / math.pi**2) * inverse_root_c22 * quotient_3
        * _angle(_inner4(x123, x234), volume_1234 * volume_23)
        + (0.125 / math.pi) * inverse_root_c22 * quotient_3
        + (0.25 / math.pi**2) * root_c33_root_c_4_4_given_3
        * _angle(_inner4(x134, x234), volume_1234 * volume_34)
        + (0.125 / math.pi) * root_c33_root_c_4_4_given_3
    )


@_compiled
def i4_aaaa(c11):
    """E[g'(a) g'(a) g(a) g(a)]."""
    return 0.5 * c11


@_compiled
def i4_aaab(c11, c12, c22):
    """E[g'(a) g'(a) g(a) g(b)]."""
    volume_12 = _root_of_minor(c11, c12, c22)
    c_2_2_given_1 = _ratio(volume_12 * volume_12, c11)
    return (
        (0.5 / math.pi) * _clipped_sqrt(c11) * _clipped_sqrt(c_2_2_given_1)
        + (0.5 / math.pi) * c12 * _angle(c12, volume_12)
        + 0.25 * c12
    )


@_compiled
def i4_aabb(c11, c12, c22):
    """E[g'(a) g'(a) g(b) g(b)]."""
    volume_12 = _root_of_minor(c11, c12, c22)
    c_2_2_given_1 = _ratio(volume_12 * volume_12, c11)
    return (
        (0.5 / math.pi) * c22 * _angle(c12, volume_12)
        + 0.25 * c22
        + (0.5 / math.pi) * _ratio(c12 * _clipped_sqrt(c_2_2_given_1), _clipped_sqrt(c11))
    )


@_compiled
def i4_aabc(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(a) g(b) g(c)]."""
    x1, x2, x3, volume_123 = _fields3(c11, c12, c13, c22, c23, c33)
    x12 = _plane3(x1, x2)
    x23 = _plane3(x2, x3)
    inverse_c22 = _ratio(1.0, c22)
    c_1_3_given_2 = -inverse_c22 * _inner3(x12, x23)
    volume_12 = _clipped_sqrt(_inner3(x12, x12))
    inverse_c11 = _ratio(1.0, c11)
    c_2_2_given_1 = inverse_c11 * volume_12 * volume_12
    x13 = _plane3(x1, x3)
    c_2_3_given_1 = inverse_c11 * _inner3(x12, x13)
    volume_13 = _clipped_sqrt(_inner3(x13, x13))
    c_3_3_given_1 = inverse_c11 * volume_13 * volume_13
    volume_23 = _clipped_sqrt(_inner3(x23, x23))
    c_3_3_given_2 = inverse_c22 * volume_23 * volume_23
    root_c11 = _clipped_sqrt(c11)
    quotient = _ratio((0.25 / math.pi), root_c11)
    return (
        c12 * quotient * _clipped_sqrt(c_3_3_given_1)
        + (0.25 / math.pi) * _clipped_sqrt(c22) * _clipped_sqrt(c_3_3_given_2)
        + (0.25 / math.pi) * c23 * _angle(c12, volume_12)
        + (0.25 / math.pi) * c23 * _angle(c13, volume_13)
        + (0.25 / math.pi) * c23 * _angle(c23, volume_23)
        + 0.125 * c23
        + _ratio(
            quotient * (c12 * c_2_3_given_1 + c22 * c_1_3_given_2), _clipped_sqrt(c_2_2_given_1)
        )
    )


@_compiled
def i4_abaa(c11, c12, c22):
    """E[g'(a) g'(b) g(a) g(a)]."""
    volume_12 = _root_of_minor(c11, c12, c22)
    volume_12_squared = volume_12 * volume_12
    c_1_1_given_2 = _ratio(volume_12_squared, c22)
    c_2_2_given_1 = _ratio(volume_12_squared, c11)
    return (
        (0.5 / math.pi) * c11 * _angle(c12, volume_12)
        + 0.25 * c11
        + (0.5 / math.pi)
        * _ratio(c12 * c_1_1_given_2, _clipped_sqrt(c11) * _clipped_sqrt(c_2_2_given_1))
    )


@_compiled
def i4_abab(c11, c12, c22):
    """E[g'(a) g'(b) g(a) g(b)]."""
    volume_12 = _root_of_minor(c11, c12, c22)
    c_2_2_given_1 = _ratio(volume_12 * volume_12, c11)
    return (
        (0.5 / math.pi) * _clipped_sqrt(c11) * _clipped_sqrt(c_2_2_given_1)
        + (0.5 / math.pi) * c12 * _angle(c12, volume_12)
        + 0.25 * c12
    )


@_compiled
def i4_abac(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(b) g(a) g(c)]."""
    x1, x2, x3, volume_123 = _fields3(c11, c12, c13, c22, c23, c33)
    x12 = _plane3(x1, x2)
    x23 = _plane3(x2, x3)
    inverse_c22 = _ratio(1.0, c22)
    c_1_3_given_2 = -inverse_c22 * _inner3(x12, x23)
    volume_12 = _clipped_sqrt(_inner3(x12, x12))
    inverse_c11 = _ratio(1.0, c11)
    c_2_2_given_1 = inverse_c11 * volume_12 * volume_12
    x13 = _plane3(x1, x3)
    c_2_3_given_1 = inverse_c11 * _inner3(x12, x13)
    volume_13 = _clipped_sqrt(_inner3(x13, x13))
    c_3_3_given_1 = inverse_c11 * volume_13 * volume_13
    volume_23 = _clipped_sqrt(_inner3(x23, x23))
    c_3_3_given_2 = inverse_c22 * volume_23 * volume_23
    root_c11 = _clipped_sqrt(c11)
    return (
        (0.25 / math.pi) * _ratio(c12 * _clipped_sqrt(c_3_3_given_2), _clipped_sqrt(c22))
        + (0.25 / math.pi) * c13 * _angle(c12, volume_12)
        + (0.25 / math.pi) * c13 * _angle(c13, volume_13)
        + (0.25 / math.pi) * c13 * _angle(c23, volume_23)
        + 0.125 * c13
        + (0.25 / math.pi) * root_c11 * _clipped_sqrt(c_3_3_given_1)
        + (0.25 / math.pi)
        * _ratio(c11 * c_2_3_given_1 + c12 * c_1_3_given_2, root_c11 * _clipped_sqrt(c_2_2_given_1))
    )


@_compiled
def i4_abcc(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(b) g(c) g(c)]."""
    x1, x2, x3, volume_123 = _fields3(c11, c12, c13, c22, c23, c33)
    x12 = _plane3(x1, x2)
    x23 = _plane3(x2, x3)
    inverse_c22 = _ratio(1.0, c22)
    c_1_3_given_2 = -inverse_c22 * _inner3(x12, x23)
    volume_12 = _clipped_sqrt(_inner3(x12, x12))
    inverse_c11 = _ratio(1.0, c11)
    c_2_2_given_1 = inverse_c11 * volume_12 * volume_12
    x13 = _plane3(x1, x3)
    c_2_3_given_1 = inverse_c11 * _inner3(x12, x13)
    volume_13 = _clipped_sqrt(_inner3(x13, x13))
    c_3_3_given_1 = inverse_c11 * volume_13 * volume_13
    volume_23 = _clipped_sqrt(_inner3(x23, x23))
    c_3_3_given_2 = inverse_c22 * volume_23 * volume_23
    root_c11 = _clipped_sqrt(c11)
    quotient = _ratio((0.25 / math.pi), root_c11)
    return (
        c13 * quotient * _clipped_sqrt(c_3_3_given_1)
        + (0.25 / math.pi) * c33 * _angle(c12, volume_12)
        + (0.25 / math.pi) * c33 * _angle(c13, volume_13)
        + (0.25 / math.pi) * c33 * _angle(c23, volume_23)
        + 0.125 * c33
        + _ratio(
            quotient * (c13 * c_2_3_given_1 + c23 * c_1_3_given_2), _clipped_sqrt(c_2_2_given_1)
        )
        + (0.25 / math.pi) * _ratio(c23 * _clipped_sqrt(c_3_3_given_2), _clipped_sqrt(c22))
    )


@_compiled_sums
def order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R):
    """Covariances of the fields from the overlaps per eigenvalue.

    Inputs: student_overlap (K, K, L), cross_overlap (K, M, L), eigenvalue (L), weight (L).
    Outputs, in place: Q (K, K), R (K, M).
    """
    K = student_overlap.shape[0]
    M = cross_overlap.shape[1]
    L = eigenvalue.shape[0]
    for i in range(K):
        for j in range(i + 1):
            sum_over_k = 0.0
            for k in range(L):
                sum_over_k += eigenvalue[k] * student_overlap[i, j, k] * weight[k]
            Q[i, j] = sum_over_k
            Q[j, i] = Q[i, j]
        for n in range(M):
            sum_over_k_2 = 0.0
            for k in range(L):
                sum_over_k_2 += cross_overlap[i, n, k] * weight[k]
            R[i, n] = sum_over_k_2


def specialised(K, M):
    """flat_right_hand_side for one set of sizes, compiled for them, with the signature that time
    steppers expect.

    sizes = [K, M, L]

    state = student_overlap (K, K, L), cross_overlap (K, M, L), v (K)

    parameters = eigenvalue (L), weight (L), teacher_overlap (M, M, L), T (M, M), v_teacher (M),
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order

    derivative is packed like state and must not overlap with any other. alpha is the time.
    """
    if (K, M) in _SPECIALISED:
        return _SPECIALISED[K, M]
    parts = -(-(K + M) // 10)
    width_K = -(-K // parts)
    padded_K = parts * width_K
    width_M = -(-M // parts)
    padded_M = parts * width_M
    most = max(1, 56 // (width_K + width_M))
    groups_K = -(-K // most)
    rows_K = -(-K // groups_K)
    room_Q = K * K
    room_R = K * M
    room_A = K * K
    room_B = K * M
    room_dv = K
    room_Gamma = K * K
    room_scaled_B = K * padded_M
    room_scaled_A = K * padded_K
    room = room_Q + room_R + room_A + room_B + room_dv + room_Gamma + room_scaled_B + room_scaled_A
    if room > 262144:
        raise ValueError("the arrays of so many units do not fit on the stack")
    digest = DIGEST

    def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
        digest  # compiled code is kept by what the function mentions
        number_K = min(K, sizes[0])
        number_M = min(M, sizes[1])
        L = sizes[2]
        start = 0
        student_overlap = view(state, start, (K, K, L))
        start += K * K * L
        cross_overlap = view(state, start, (K, M, L))
        start += K * M * L
        v = state[start : start + K]
        start += K
        if start != state.size:
            raise ValueError("state: its length does not agree with sizes")
        start = 0
        eigenvalue = parameters[start : start + L]
        start += L
        weight = parameters[start : start + L]
        start += L
        teacher_overlap = view(parameters, start, (M, M, L))
        start += M * M * L
        T = view(parameters, start, (M, M))
        start += M * M
        v_teacher = parameters[start : start + M]
        start += M
        learning_rate = parameters[start]
        start += 1
        second_layer_learning_rate = parameters[start]
        start += 1
        weight_decay = parameters[start]
        start += 1
        second_layer_weight_decay = parameters[start]
        start += 1
        label_noise = parameters[start]
        start += 1
        full_order = parameters[start]
        start += 1
        if start != parameters.size:
            raise ValueError("parameters: its length does not agree with sizes")
        derivative_apart()
        start = 0
        d_student_overlap = view(derivative, start, (K, K, L))
        start += K * K * L
        d_cross_overlap = view(derivative, start, (K, M, L))
        start += K * M * L
        d_v = derivative[start : start + K]
        start += K
        if start != derivative.size:
            raise ValueError("derivative: its length does not agree with sizes")
        Q = stack_array(room_Q, (K, K))
        R = stack_array(room_R, (K, M))
        A = stack_array(room_A, (K, K))
        B = stack_array(room_B, (K, M))
        dv = stack_array(room_dv, (room_dv,))
        Gamma = stack_array(room_Gamma, (K, K))
        scaled_B = stack_array(room_scaled_B, (K, padded_M))
        scaled_A = stack_array(room_scaled_A, (K, padded_K))
        order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
        # first_layer_gradients: derivatives of the generalisation error by Q (one variable for Q_ij
        # and Q_ji) and R
        for i in range(K):
            Q_ii = Q[i, i]
            v_i = v[i]
            sum_over_m = 0.0
            for m in range(M):
                sum_over_m += v_teacher[m] * i2_11(Q_ii, R[i, m], T[m, m])
            sum_over_p = 0.0
            for p in range(K):
                if i != p:
                    sum_over_p += 2.0 * v[p] * i2_11(Q_ii, Q[i, p], Q[p, p])
            curvature = v_i * (sum_over_p - 2.0 * sum_over_m)
            for j in range(i + 1):
                if i == j:
                    case = 0.5
                else:
                    case = i2_12(Q_ii, Q[i, j], Q[j, j])
                A[i, j] = (1.0 if i == j else 0.0) * curvature + v_i * v[j] * case
                A[j, i] = A[i, j]
            for n in range(M):
                B[i, n] = -v_i * v_teacher[n] * i2_12(Q_ii, R[i, n], T[n, n])
        if second_layer_learning_rate != 0.0:
            # second_layer_gradient: derivatives of the generalisation error by v
            for i in range(K):
                Q_ii_2 = Q[i, i]
                sum_over_m_2 = 0.0
                for m in range(M):
                    sum_over_m_2 += v_teacher[m] * i2(Q_ii_2, R[i, m], T[m, m])
                sum_over_p_2 = 0.0
                for p in range(K):
                    if i == p:
                        case_2 = i2_aa(Q_ii_2)
                    else:
                        case_2 = i2(Q_ii_2, Q[i, p], Q[p, p])
                    sum_over_p_2 += v[p] * case_2
                dv[i] = sum_over_p_2 - sum_over_m_2
        else:
            for i0 in range(K):
                dv[i0] = 0.0
        if full_order != 0.0:
            # noise: mean of the product of two students' forces, with label noise
            label_noise_squared = label_noise * label_noise
            for i in range(K):
                Q_ii_3 = Q[i, i]
                for j in range(i + 1):
                    Q_ij = Q[i, j]
                    Q_jj = Q[j, j]
                    sum_over_p_3 = 0.0
                    for p in range(K):
                        Q_ip = Q[i, p]
                        Q_pp = Q[p, p]
                        Q_jp = Q[j, p]
                        sum_over_q = 0.0
                        for q in range(p + 1):
                            Q_iq = Q[i, q]
                            Q_qq = Q[q, q]
                            Q_pq = Q[p, q]
                            Q_jq = Q[j, q]
                            if i == j and i == p and i == q:
                                case_3 = i4_aaaa(Q_ii_3)
                            elif i == j and i == p:
                                case_3 = i4_aaab(Q_ii_3, Q_iq, Q_qq)
                            elif (i == p and j == q) or (i == q and j == p):
                                case_3 = i4_abab(Q_ii_3, Q_ij, Q_jj)
                            elif i == j and i == q:
                                case_3 = i4_aaab(Q_ii_3, Q_ip, Q_pp)
                            elif i == j and p == q:
                                case_3 = i4_aabb(Q_ii_3, Q_ip, Q_pp)
                            elif i == p and i == q:
                                case_3 = i4_abaa(Q_ii_3, Q_ij, Q_jj)
                            elif j == p and j == q:
                                case_3 = i4_abaa(Q_jj, Q_ij, Q_ii_3)
                            elif i == j:
                                case_3 = i4_aabc(Q_ii_3, Q_ip, Q_iq, Q_pp, Q_pq, Q_qq)
                            elif i == p:
                                case_3 = i4_abac(Q_ii_3, Q_ij, Q_iq, Q_jj, Q_jq, Q_qq)
                            elif i == q:
                                case_3 = i4_abac(Q_ii_3, Q_ij, Q_ip, Q_jj, Q_jp, Q_pp)
                            elif j == p:
                                case_3 = i4_abac(Q_jj, Q_ij, Q_jq, Q_ii_3, Q_iq, Q_qq)
                            elif j == q:
                                case_3 = i4_abac(Q_jj, Q_ij, Q_jp, Q_ii_3, Q_ip, Q_pp)
                            elif p == q:
                                case_3 = i4_abcc(Q_ii_3, Q_ij, Q_ip, Q_jj, Q_jp, Q_pp)
                            else:
                                case_3 = i4(
                                    Q_ii_3, Q_ij, Q_ip, Q_iq, Q_jj, Q_jp, Q_jq, Q_pp, Q_pq, Q_qq
                                )
                            sum_over_q += (1.0 if p == q else 2.0) * v[q] * case_3
                        if i == j and i == p:
                            case_4 = 0.0
                            for m in range(M):
                                case_4 += v_teacher[m] * i4_aaab(Q_ii_3, R[i, m], T[m, m])
                        elif i == j:
                            case_4 = 0.0
                            for m in range(M):
                                case_4 += (
                                    v_teacher[m]
                                    * i4_aabc(Q_ii_3, Q_ip, R[i, m], Q_pp, R[p, m], T[m, m])
                                )
                        elif i == p:
                            case_4 = 0.0
                            for m in range(M):
                                case_4 += (
                                    v_teacher[m]
                                    * i4_abac(Q_ii_3, Q_ij, R[i, m], Q_jj, R[j, m], T[m, m])
                                )
                        elif j == p:
                            case_4 = 0.0
                            for m in range(M):
                                case_4 += (
                                    v_teacher[m]
                                    * i4_abac(Q_jj, Q_ij, R[j, m], Q_ii_3, R[i, m], T[m, m])
                                )
                        else:
                            case_4 = 0.0
                            for m in range(M):
                                case_4 += (
                                    v_teacher[m]
                                    * i4(
                                        Q_ii_3, Q_ij, Q_ip, R[i, m], Q_jj, Q_jp, R[j, m], Q_pp,
                                        R[p, m], T[m, m],
                                    )
                                )
                        sum_over_p_3 += v[p] * (case_4 - 0.5 * sum_over_q)
                    if i == j:
                        case_5 = 0.5
                    else:
                        case_5 = i2_12(Q_ii_3, Q_ij, Q_jj)
                    sum_over_m_3 = 0.0
                    for m in range(M):
                        R_im = R[i, m]
                        T_mm = T[m, m]
                        R_jm = R[j, m]
                        sum_over_n = 0.0
                        for n in range(m + 1):
                            R_in = R[i, n]
                            T_mn = T[m, n]
                            T_nn = T[n, n]
                            if i == j and m == n:
                                case_6 = i4_aabb(Q_ii_3, R_im, T_mm)
                            elif i == j:
                                case_6 = i4_aabc(Q_ii_3, R_im, R_in, T_mm, T_mn, T_nn)
                            elif m == n:
                                case_6 = i4_abcc(Q_ii_3, Q_ij, R_im, Q_jj, R_jm, T_mm)
                            else:
                                case_6 = i4(
                                    Q_ii_3, Q_ij, R_im, R_in, Q_jj, R_jm, R[j, n], T_mm, T_mn, T_nn
                                )
                            sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * case_6
                        sum_over_m_3 += v_teacher[m] * sum_over_n
                    Gamma[i, j] = (
                        v[i] * v[j]
                        * (label_noise_squared * case_5 + sum_over_m_3 - 2.0 * sum_over_p_3)
                    )
                    Gamma[j, i] = Gamma[i, j]
        else:
            for i0 in range(K):
                for i1 in range(K):
                    Gamma[i0, i1] = 0.0
        for i in range(K):
            d_v[i] = -second_layer_learning_rate * dv[i] - second_layer_weight_decay * v[i]
        for i in range(K):
            for m in range(M):
                scaled_B[i, m] = -learning_rate * B[i, m]
            for m in range(M, padded_M):
                scaled_B[i, m] = 0.0
            for p in range(K):
                scaled_A[i, p] = -learning_rate * A[i, p]
            for p in range(K, padded_K):
                scaled_A[i, p] = 0.0
        for first in range(np.uint64(0), np.uint64(L), np.uint64(1024)):
            last = min(first + np.uint64(1024), np.uint64(L))
            for j in range(K):
                for group in range(groups_K):
                    begin = min(group * rows_K, K - rows_K)
                    for part in range(parts):
                        for k in range(first, last):
                            for row in range(rows_K):
                                if part == 0:
                                    before = 0.0
                                else:
                                    before = d_student_overlap[begin + row, j, k]
                                sum_over_p_4 = 0.0
                                for p in range(width_K):
                                    sum_over_p_4 += (
                                        scaled_A[begin + row, p + part * width_K]
                                        * student_overlap[j, min(K - 1, p + part * width_K), k]
                                    )
                                sum_over_m_4 = 0.0
                                for m in range(width_M):
                                    sum_over_m_4 += (
                                        cross_overlap[j, min(M - 1, m + part * width_M), k]
                                        * scaled_B[begin + row, m + part * width_M]
                                    )
                                d_student_overlap[begin + row, j, k] = (
                                    before + sum_over_m_4 + eigenvalue[k] * sum_over_p_4
                                )
            learning_rate_squared = learning_rate * learning_rate
            for i in range(K):
                for j in range(i + 1):
                    learning_rate_squared_Gamma_ij = learning_rate_squared * Gamma[i, j]
                    for k in range(first, last):
                        d_student_overlap[i, j, k] = (
                            learning_rate_squared_Gamma_ij * eigenvalue[k]
                            + d_student_overlap[i, j, k]
                            + d_student_overlap[j, i, k]
                        )
                        d_student_overlap[j, i, k] = d_student_overlap[i, j, k]
            if weight_decay != 0.0:
                for i in range(number_K):
                    for j in range(number_K):
                        for k in range(first, last):
                            d_student_overlap[i, j, k] = (
                                d_student_overlap[i, j, k]
                                - 2.0 * weight_decay * student_overlap[i, j, k]
                            )
            for n in range(M):
                for group in range(groups_K):
                    begin = min(group * rows_K, K - rows_K)
                    for part in range(parts):
                        for k in range(first, last):
                            for row in range(rows_K):
                                if part == 0:
                                    before = 0.0
                                else:
                                    before = d_cross_overlap[begin + row, n, k]
                                sum_over_p_5 = 0.0
                                for p in range(width_K):
                                    sum_over_p_5 += (
                                        cross_overlap[min(K - 1, p + part * width_K), n, k]
                                        * scaled_A[begin + row, p + part * width_K]
                                    )
                                sum_over_m_5 = 0.0
                                for m in range(width_M):
                                    sum_over_m_5 += (
                                        scaled_B[begin + row, m + part * width_M]
                                        * teacher_overlap[n, min(M - 1, m + part * width_M), k]
                                    )
                                d_cross_overlap[begin + row, n, k] = (
                                    before + sum_over_m_5 + eigenvalue[k] * sum_over_p_5
                                )
            if weight_decay != 0.0:
                for i in range(number_K):
                    for n in range(number_M):
                        for k in range(first, last):
                            d_cross_overlap[i, n, k] = (
                                d_cross_overlap[i, n, k] - weight_decay * cross_overlap[i, n, k]
                            )

    flat_right_hand_side.__qualname__ += f"_{K}_{M}"
    _SPECIALISED[K, M] = njit(
        "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])",
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "contract"},
    )(flat_right_hand_side)
    return _SPECIALISED[K, M]


def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
    """What ``specialised`` makes for these sizes; to be called from Python."""
    specialised(int(sizes[0]), int(sizes[1]))(alpha, state, sizes, parameters, derivative)
