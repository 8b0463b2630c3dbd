r"""Means of four factors in the noise, for activations that are sums of error functions.

They are E[g'(x_i) g'(x_j) f(z) f(w)], where z and w are any two of all fields and f is the
activation of their network, f(z) = Σ_a W_a erf(a z) + rest. A product of two slopes is a sum of
Gaussian factors. Under each of them the fields are Gaussian with a smaller covariance d, and

.. math:: \frac{\pi}{2} E[f(z) f(w)] = \sum_m t_m \rho_{zw}^{2m+1} S_m(z) S_m(w), \qquad
   S_m(z) = \sum_a W_a u_a(z)^{2m+1}, \quad u_a(z)^2 = \frac{a^2 d_{zz}}{1/2 + a^2 d_{zz}},

with the correlation ρ and the coefficients t_m of the arcsine's series, because
E[erf(a z) erf(b w)] is 2/π times the arcsine of ρ_zw u_a(z) u_b(w). (This is Mehler's formula for
sums of error functions.) The sums S_m serve all pairs of fields. All W have one sign and
u² ≤ x < 1, so that the terms after the m-th add at most 1/(1 - x²) times the largest of
t_m S_m(z)²: this ends the series. Where x is close to 1, arcsines replace it.

The numbers of a rule: those of error functions per field and of squares of slopes; the largest
remainder of a series; what students and teachers add to their sums; then weights and ascending
scales of students, of teachers, and of squares. Shorter lists begin with zeros.

Pasted into generated modules, also into those for several runs at a time: all that depends on the
run is therefore written with ``_choice``, ``_any_run`` and ``_over_root``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.numerics.quadratures.noise_arrays import _fill_covariance, _spread

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv_codegen.printers.elementary import _arcsines

    _Array = Any
    _Number = Any

_MIXTURE_HEAD = 5
"""The place of the first weight in a rule."""
_SERIES_ORDERS = 768
"""A multiple of four; with ``_SERIES_END`` the series always ends before."""
_SERIES_END = 0.98
"""The largest u² for which the series is taken."""
_ARCSINE_SERIES = np.cumprod(
    np.append(1.0, (2.0 * np.arange(_SERIES_ORDERS) + 1.0) ** 2)
    / np.append(
        1.0, (2.0 * np.arange(_SERIES_ORDERS) + 2.0) * (2.0 * np.arange(_SERIES_ORDERS) + 3.0)
    )
)


def _choice(condition: bool, value: float, other: float) -> float:
    """Return one of two numbers."""
    return value if condition else other


def _any_run(condition: bool) -> bool:
    """Return whether a condition holds in any of the runs: here there is one."""
    return condition


def _over_root(value: float) -> float:
    """Return the inverse of a square root."""
    return 1.0 / math.sqrt(value)


def _under_slopes(
    rule: np.ndarray,
    covariance: _Array,
    pair: tuple[int, int],
    at: tuple[int, int],
    moments: _Array,
) -> _Number:
    """Write the covariances of fields under the Gaussian factors of two slopes.

    Args:
        rule: The numbers of the rule.
        covariance: That of all fields.
        pair: The fields of the slopes.
        at: The error functions whose slopes they are; for one field twice, the square's number.
        moments: Shape (fields, fields + 1): [a, b] is the covariance of fields a and b ≤ a.

    Returns:
        The weight of these factors.
    """
    (i, j), (first, second), terms, squares = pair, at, int(rule[0]), int(rule[1])
    place = _MIXTURE_HEAD + 4 * terms if i == j else _MIXTURE_HEAD
    scale = rule[place + (squares if i == j else terms) + first]
    square = scale * scale
    over = _over_root(covariance[i, i] * square + (0.25 if i == j else 0.5))
    share = square * over * over
    weight = rule[place + first] * scale * over
    other = 0.0 * share
    if i == j:
        weight = weight * scale
    else:
        scale = rule[_MIXTURE_HEAD + terms + second]
        left = covariance[j, j] - share * covariance[i, j] * covariance[i, j]
        over = _over_root(left * scale * scale + 0.5)
        other = scale * scale * over * over
        weight = weight * (rule[_MIXTURE_HEAD + second] * scale * over)
    for a in range(covariance.shape[0]):
        along = share * covariance[i, a]
        beside = other * (covariance[j, a] - along * covariance[i, j])
        for b in range(a + 1):
            rest = covariance[j, b] - share * covariance[i, j] * covariance[i, b]
            moments[a, b] = covariance[a, b] - along * covariance[i, b] - beside * rest
        moments[a, a] = max(moments[a, a], 0.0)
    return weight


def _first_powers(
    rule: np.ndarray, moments: _Array, students: int, powers: _Array, sums: _Array
) -> _Number:
    """Write W_a u_a, u_a² and u_a of all fields; return the largest u².

    Covariances become correlations, with their squares; ``sums`` serves as room.
    """
    terms, largest = int(rule[0]), 0.0 * moments[0, 0]
    for a in range(sums.shape[0]):
        place = _MIXTURE_HEAD if a < students else _MIXTURE_HEAD + 2 * terms
        variance = moments[a, a]
        any_left = variance > 1e-300
        over = _choice(any_left, _over_root(_choice(any_left, variance, 1.0 + 0.0 * variance)), 0.0)
        root = variance * over
        for k in range(terms):
            scale = rule[place + terms + k]
            value = scale * root * _over_root(variance * scale * scale + 0.5)
            powers[0, a, k] = rule[place + k] * value
            powers[1, a, k] = value * value
            powers[2, a, k] = value
        largest = max(largest, powers[1, a, terms - 1])
        sums[a, 0] = over
        for b in range(a + 1):
            correlation = max(min(moments[a, b] * (over * sums[b, 0]), 1.0), -1.0)
            moments[a, b] = correlation
            moments[b, a + 1] = correlation * correlation
    return largest


def _next_powers(powers: _Array, sums: _Array, parts: _Array) -> None:
    """Write S_m of all fields for the next four m, in eight partial sums that run in parallel.

    The numbers in ``powers`` become those of the order after these.
    """
    for a in range(sums.shape[0]):
        for k in range(8):
            power, square = powers[0, a, k], powers[1, a, k]
            parts[0, k] = power
            power *= square
            parts[1, k] = power
            power *= square
            parts[2, k] = power
            power *= square
            parts[3, k] = power
            powers[0, a, k] = power * square
        for block in range(8, powers.shape[2], 8):
            for k in range(8):
                power, square = powers[0, a, block + k], powers[1, a, block + k]
                parts[0, k] += power
                power *= square
                parts[1, k] += power
                power *= square
                parts[2, k] += power
                power *= square
                parts[3, k] += power
                powers[0, a, block + k] = power * square
        for n in range(4):
            low = (parts[n, 0] + parts[n, 4]) + (parts[n, 1] + parts[n, 5])
            sums[a, n] = low + ((parts[n, 2] + parts[n, 6]) + (parts[n, 3] + parts[n, 7]))


def _add_orders(
    weight: _Number, order: int, moments: _Array, sums: _Array, total: _Array
) -> _Number:
    """Add four orders of the series to the means of all pairs; return the largest last term."""
    last = 0.0 * weight
    for a in range(sums.shape[0]):
        first = weight * (_ARCSINE_SERIES[order] * sums[a, 0])
        second = weight * (_ARCSINE_SERIES[order + 1] * sums[a, 1])
        third = weight * (_ARCSINE_SERIES[order + 2] * sums[a, 2])
        fourth = weight * (_ARCSINE_SERIES[order + 3] * sums[a, 3])
        for b in range(a + 1):
            power, square = moments[a, b], moments[b, a + 1]
            rest = second * sums[b, 1] + square * (
                third * sums[b, 2] + square * fourth * sums[b, 3]
            )
            total[a, b] += power * (first * sums[b, 0] + square * rest)
            fourth_power = square * square
            moments[a, b] = power * (fourth_power * fourth_power)
        last = max(last, fourth * sums[a, 3])
    return last


def _add_arcsines(
    weight: _Number,
    rule: np.ndarray,
    moments: _Array,
    students: int,
    powers: _Array,
    arcsines: _Array,
    total: _Array,
) -> None:
    """Add the arcsines of all pairs of error functions to the means of all pairs of fields."""
    terms = int(rule[0])
    for a in range(moments.shape[0]):
        first = _MIXTURE_HEAD if a < students else _MIXTURE_HEAD + 2 * terms
        for b in range(a + 1):
            second = _MIXTURE_HEAD if b < students else _MIXTURE_HEAD + 2 * terms
            for k in range(terms):
                part = moments[a, b] * powers[2, a, k]
                for n in range(terms):
                    arcsines[k * terms + n] = part * powers[2, b, n]
            _to_arcsines(arcsines, terms * terms)
            inner = 0.0 * weight
            for k in range(terms):
                along = 0.0 * weight
                for n in range(terms):
                    along += rule[second + n] * arcsines[k * terms + n]
                inner += rule[first + k] * along
            total[a, b] += weight * inner


def _mixture_sums(
    rule: np.ndarray,
    covariance: _Array,
    pair: tuple[int, int],
    students: int,
    work: tuple[_Array, _Array, _Array, _Array, _Array],
    means: _Array,
) -> None:
    """Write E[g'(x_i) g'(x_j) f(z) f(w)] of two students i and j, for all pairs of fields.

    Args:
        rule: The numbers of the rule.
        covariance: That of all fields.
        pair: The numbers of the students.
        students: How many fields belong to students.
        work: Room for moments, powers, their parts and sums, and arcsines.
        means: Shape (fields, fields).
    """
    moments, powers, parts, sums, arcsines = work
    (i, j), terms, squares = pair, int(rule[0]), int(rule[1])
    fields = sums.shape[0]
    for a in range(fields):
        for b in range(a + 1):
            means[a, b] = 0.0 * covariance[a, b]
    for first in range(squares if i == j else terms):
        for second in range(1 if i == j else terms):
            weight = _under_slopes(rule, covariance, pair, (first, second), moments)
            largest = _first_powers(rule, moments, students, powers, sums)
            far = largest > _SERIES_END
            for a in range(fields):
                rest = weight * (0.5 * math.pi * rule[3 if a < students else 4])
                for b in range(a + 1):
                    means[a, b] += rest * rule[3 if b < students else 4]
            if _any_run(far):
                along = _choice(far, weight, 0.0 * weight)
                _add_arcsines(along, rule, moments, students, powers, arcsines, means)
            left = _choice(far, 0.0 * weight, weight)
            over = 1.0 / _choice(far, 1.0 + 0.0 * weight, 1.0 - largest * largest)
            for order in range(0, _SERIES_ORDERS, 4):
                if not _any_run(left > 0.0):
                    break
                _next_powers(powers, sums, parts)
                last = _add_orders(left, order, moments, sums, means)
                left = _choice(last * over > rule[2], left, 0.0 * left)
    for a in range(fields):
        for b in range(a + 1):
            means[a, b] = means[a, b] * (4.0 / math.pi**2)
            means[b, a] = means[a, b]


def _to_arcsines(values: _Array, count: int) -> None:
    """Replace the first numbers of an array by their arcsines."""
    _arcsines(values, count)


def _mixture_noise(
    rule: np.ndarray,
    fields: tuple[_Array, _Array, _Array],
    work: tuple[_Array, _Array, _Array, _Array, _Array],
    joined: tuple[_Array, _Array],
    means: tuple[_Array, _Array, _Array],
) -> None:
    """Write the means of four factors of all pairs of students.

    Args:
        rule: The numbers of the rule.
        fields: The arrays Q, R and T.
        work: Room for the sums over a mixture, see :func:`_mixture_sums`.
        joined: Room for the covariance of all fields, and for the means of one pair of students.
        means: The arrays of means: of students, of both, and of teachers.
    """
    (Q, R, T), (covariance, sums) = fields, joined
    of_students, of_both, of_teachers = means
    _fill_covariance(Q, R, T, covariance)
    for i in range(R.shape[0]):
        for j in range(i + 1):
            _mixture_sums(rule, covariance, (i, j), R.shape[0], work, sums)
            _spread(sums, (i, j), of_students, of_both, of_teachers)
