"""Means of four factors in the noise, by mixtures, for several runs at a time.

In place of the functions of the same names of
:mod:`~symderiv.numerics.quadratures.mixture_noise`; numbers are lane values of
``symderiv_kernels.lanes.runtime``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.numerics.quadratures.mixture_noise import _mixture_noise

if TYPE_CHECKING:  # defined by the module into which this text is pasted
    from symderiv_kernels.lanes.runtime import any_lane, chosen, inverse_root, to_arcsines, view

    _Lanes = Any
    MIXTURE_RULE = np.empty(0)


def _choice(condition: _Lanes, value: _Lanes, other: _Lanes) -> _Lanes:
    """Return one of two numbers for each run."""
    return chosen(condition, value, other)


def _any_run(condition: _Lanes) -> bool:
    """Return whether a condition holds in any of the runs."""
    return bool(any_lane(condition))


def _over_root(value: _Lanes) -> _Lanes:
    """Return the inverse of a square root."""
    return inverse_root(value)


def _to_arcsines(values: _Lanes, count: int) -> None:
    """Replace the first numbers of an array by their arcsines."""
    to_arcsines(values, count)


def _next_powers(powers: _Lanes, sums: _Lanes, parts: _Lanes) -> None:
    """Write the next four sums of powers of all fields; runs fill the vectors here."""
    for a in range(sums.shape[0]):
        first = 0.0 * powers[0, a, 0]
        second, third, fourth = first, first, first
        for k in range(powers.shape[2]):
            power, square = powers[0, a, k], powers[1, a, k]
            first += power
            power *= square
            second += power
            power *= square
            third += power
            power *= square
            fourth += power
            powers[0, a, k] = power * square
        sums[a, 0] = first
        sums[a, 1] = second
        sums[a, 2] = third
        sums[a, 3] = fourth


def mixture_noise_means(
    Q: _Lanes,
    R: _Lanes,
    T: _Lanes,
    means_of_students: _Lanes,
    means_of_both: _Lanes,
    means_of_teachers: _Lanes,
) -> None:
    """Means of four factors of all pairs of students."""
    space, fields = int(MIXTURE_RULE[0]), R.shape[0] + R.shape[1]
    of_moments, of_powers, of_pairs = fields * (fields + 1), 3 * fields * space, fields * fields
    memory = np.empty(8 * (of_moments + of_powers + 32 + 4 * fields + space * space + 2 * of_pairs))
    powers = of_moments
    parts = powers + of_powers
    sums = parts + 32
    arcsines = sums + 4 * fields
    covariance = arcsines + space * space
    work = (
        view(memory, 0, (fields, fields + 1)),
        view(memory, powers, (3, fields, space)),
        view(memory, parts, (4, 8)),
        view(memory, sums, (fields, 4)),
        view(memory, arcsines, (space * space,)),
    )
    joined = (
        view(memory, covariance, (fields, fields)),
        view(memory, covariance + of_pairs, (fields, fields)),
    )
    means = means_of_students, means_of_both, means_of_teachers
    _mixture_noise(MIXTURE_RULE, (Q, R, T), work, joined, means)
    memory[0] = 0.0  # the views do not keep the memory
