r"""Functions of Gaussian means for several runs at a time, in place of those of one run.

Their names, arguments and values are those of :mod:`~symderiv.numerics.signs.fields`,
:mod:`~symderiv.numerics.signs.sign_mean4` and :mod:`~symderiv.numerics.signs.sign_covariances`;
numbers are lane values of ``symderiv_kernels.lanes.runtime``. A run's rule of quadrature follows
from its own correlations, so that its values do not depend on its neighbours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symderiv.numerics.signs.shifted_signs import _mean_sign, _sign_covariance
from symderiv.numerics.signs.sign_covariances import (
    _PRICE_NODES,
    _PRICE_WEIGHTS,
    _REACH,
    _SERIES_REACH,
    _four_terms,
    _price_density,
    _sign_of_mean,
)
from symderiv.numerics.signs.sign_mean4 import (
    _BEGIN,
    _EVEN_NODES,
    _EVEN_WEIGHTS,
    _NODES,
    _STRETCH,
    _WEIGHTS,
    _ends_of,
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
        values[n] = _sign_of_mean(values[n])


def _price_sum(start: int, stop: int, t: _Lanes, squares: _Lanes, product: _Lanes) -> _Lanes:
    """Return the sum of Gauss' rule with nodes ``start`` to ``stop`` for the density of Price's
    theorem.
    """
    total = 0.0 * t
    for j in range(start, stop, 4):
        low = _PRICE_WEIGHTS[j] * _price_density(_PRICE_NODES[j] * t, squares, product)
        low += _PRICE_WEIGHTS[j + 1] * _price_density(_PRICE_NODES[j + 1] * t, squares, product)
        high = _PRICE_WEIGHTS[j + 2] * _price_density(_PRICE_NODES[j + 2] * t, squares, product)
        high += _PRICE_WEIGHTS[j + 3] * _price_density(_PRICE_NODES[j + 3] * t, squares, product)
        total += low + high
    return total


def _series_sum(h: _Lanes, k: _Lanes, r: _Lanes) -> _Lanes:
    """Return the covariance of two signs by Mehler's series, for |r| up to the last of
    ``_SERIES_REACH``.
    """
    size = abs(r)
    # beyond nine the covariance is below all digits
    h, k = max(min(h, 9.0), -9.0), max(min(k, 9.0), -9.0)
    weight = 2.0 / math.pi * r * math.exp(-0.5 * (h * h + k * k))
    along, square = r * k, r * r
    total, at = _four_terms(0, h, along, square, (weight, 0.0 * r, 1.0 + 0.0 * r, 0.0 * r))
    for n in range(1, _SERIES_REACH.size):
        more = size > _SERIES_REACH[n - 1]
        if not any_lane(more):
            break
        part, at = _four_terms(4 * n, h, along, square, at)
        total = chosen(more, total + part, total)
    return total


def _covariance(h: _Lanes, k: _Lanes, r: _Lanes) -> _Lanes:
    """Return the covariance of two signs by the rule that each run's correlation needs."""
    size = abs(r)
    middle, wide, far = size > _SERIES_REACH[-1], size > _REACH[1], size > _REACH[2]
    covariance = 0.0 * r
    if any_lane(negated(middle)):
        covariance = chosen(middle, covariance, _series_sum(h, k, r))
    if any_lane(middle):
        squares, product = 0.5 * (h * h + k * k), 2.0 * h * k
        t = r / (1.0 + math.sqrt((1.0 - r) * (1.0 + r)))
        if any_lane(middle & negated(wide)):
            price = t * _price_sum(8, 20, t, squares, product)
            covariance = chosen(middle, price, covariance)
        if any_lane(wide & negated(far)):
            price = t * _price_sum(20, 40, t, squares, product)
            covariance = chosen(wide, price, covariance)
        if any_lane(far):
            covariance = chosen(far, _sign_covariance(h, k, r), covariance)
    return covariance


def _sign_covariances(
    first: _Lanes, second: _Lanes, correlation: _Lanes, total: _Lanes, count: int
) -> None:
    """Replace the first numbers of an array of means h by covariances of two signs.

    ``second`` are the means k; ``total`` is not used here, but the function of one run needs it.
    """
    for n in range(count):
        first[n] = _covariance(first[n], second[n], correlation[n])


def _shifted_signs(h: _Lanes, k: _Lanes, r: _Lanes) -> _Lanes:
    """Return the mean of two signs whose fields have means h and k."""
    return _mean_sign(h) * _mean_sign(k) + _covariance(h, k, r)


def _angles_at(cc: _Lanes, ss: _Lanes, path: _Lanes) -> _Lanes:
    """Return the integrand at a node, given as squared cosine and squared sine up to a scale."""
    d, r, p, start, end = path
    root = inverse_root(max(d[0] * cc + d[1] * ss, 1e-300))
    first = inverse_root(max(cc + p[0] * ss, 1e-300))
    second = inverse_root(max(cc + p[1] * ss, 1e-300))
    third = inverse_root(max(cc + p[2] * ss, 1e-300))
    total = r[0] * first * math.atan((start[0] * cc + end[0] * ss) * first * root)
    total += r[1] * second * math.atan((start[1] * cc + end[1] * ss) * second * root)
    total += r[2] * third * math.atan((start[2] * cc + end[2] * ss) * third * root)
    return total


def _integrated_angles(path: _Lanes, variance: _Lanes) -> _Lanes:
    """Return the integral over sigma, from 0 to infinity."""
    p = path[2]
    least = min(min(p[0], p[1]), p[2])
    reach, farthest = _ends_of(variance, least)
    # runs with a vanishing field, or with two equal ones, need no panels
    finish = chosen(least > 0.0, max(min(reach, farthest), _BEGIN), _BEGIN)
    total = 0.0 * variance
    for n in range(_EVEN_NODES.size):
        ss = (_STRETCH * _EVEN_NODES[n]) ** 2
        weight = _STRETCH * _EVEN_WEIGHTS[n] / (1.0 + ss)
        total += weight * _angles_at(1.0, ss, path)
    at = _BEGIN + 0.0 * total
    while any_lane(at < finish):
        # Panels may grow where the integrand is already small.
        half = chosen(at < finish, 0.5 * min(1.6 + 0.1 * at, finish - at), 0.0)
        for n in range(_NODES.size):
            sigma = math.exp(at + half * (1.0 + _NODES[n]))
            ss = sigma * sigma
            weight = half * _WEIGHTS[n] * sigma / (1.0 + ss)
            total += weight * _angles_at(1.0, ss, path)
        at += 2.0 * half
    beyond = reach < farthest
    if any_lane(beyond):
        half = chosen(beyond, 0.5 * math.exp(-2.0 * finish), 0.0)
        for n in range(_NODES.size):
            cc = half * (1.0 + _NODES[n])
            weight = 0.5 * half * _WEIGHTS[n] / (1.0 + cc)
            total += weight * _angles_at(cc, 1.0, path)
    return total
