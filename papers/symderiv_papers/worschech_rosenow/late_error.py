"""Equations 17, 121, 122: the error late in learning, and its power law."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import mpmath
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import extended

from symderiv_papers.references.homogeneous import Committee
from symderiv_papers.worschech_rosenow.escape_points import TYPICAL, Series, cases
from symderiv_papers.worschech_rosenow.late_modes import blocks, late_modes
from symderiv_papers.worschech_rosenow.late_points import (
    LATE,
    linear_theory,
    on_trajectories,
)

__all__ = [
    "amounts",
    "late_vectors",
    "main_text",
    "main_text_trajectories",
]


def main_text(numbers: Any) -> Iterator[Point]:
    """Yield the names of the main text: group 1 is the fast one."""
    yield from _exchanged(linear_theory(numbers))


def main_text_trajectories(numbers: Any) -> Iterator[Point]:
    yield from _exchanged(on_trajectories(numbers))


def _exchanged(points: Iterator[Point]) -> Iterator[Point]:
    for point in points:
        old = point.values
        new = {"v_1": old["v_2"], "v_2": old["v_1"], "g_1": old["g_2"], "g_2": old["g_1"]}
        yield Point(point.label, extended(old, new), point.parameter, point.series)


def _late_vectors(committee: Committee) -> Mapping[str, Any]:
    vectors = [vector for _, vector in late_modes(committee).rest]
    return blocks(vectors, committee)


def _amounts(committee: Committee) -> Mapping[str, Any]:
    """Return how much of the first group is in a deviation x, and two inverses of its
    eigenvectors.
    """
    L, modes = committee.modes, late_modes(committee)
    deviation = mpmath.matrix([mpmath.mpf(3 + (5 * k) % 7) / (11 + k) for k in range(4 * L)])

    def group() -> Any:
        columns = mpmath.matrix(4 * L, L)
        for k, (_, vector) in enumerate(modes.differing):
            columns[:, k] = vector
        return columns

    def solved() -> Series:
        """Amounts of all eigenvectors that add up to x."""
        columns = modes.all_vectors.copy()
        parts = mpmath.lu_solve(columns, deviation)
        found = []
        for _, vector in modes.differing:
            # the column that is this vector but for its length
            for k in range(4 * L):
                ratio = _ratio(columns[:, k], vector)
                if ratio is not None:
                    found.append(mpmath.re(parts[k] * ratio))
        return Series(1, found)

    def alone() -> Series:
        columns = group()
        return Series((1, 1), mpmath.inverse(columns.T * columns) * columns.T)

    def among_all() -> Series:
        table = mpmath.matrix(L, 4 * L)
        for k, row in enumerate(modes.left_differing):
            table[k, :] = row
        return Series((1, 1), table)

    return {
        "g_1": solved,
        "V1_inverse": alone,
        "V_inverse": among_all,
        "x": lambda: Series(1, list(deviation)),
    }


def _ratio(column: Any, vector: Any) -> Any:
    """Return the factor between two parallel vectors, None if they are not parallel."""
    largest = max(range(vector.rows), key=lambda i: abs(vector[i]))
    ratio = column[largest] / vector[largest]
    apart = max(abs(column[i] - ratio * vector[i]) for i in range(vector.rows))
    small = mpmath.mpf(10) ** -25
    return ratio if apart < small * abs(ratio) and abs(ratio) > small else None


late_vectors = cases(TYPICAL, _late_vectors)
amounts = cases(LATE, _amounts)
