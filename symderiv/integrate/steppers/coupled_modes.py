"""How the numbers of a state are coupled: what implicit steps solve their linear systems by.

Given sums over the modes and the numbers that stand alone, the equations of one mode are linear in
it and in nothing else of the state. The vector that implicit steps keep and work with begins with
what is said here; :mod:`symderiv.integrate.steppers.implicit_work` takes it apart. Nothing here
needs the compiler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from symderiv.integrate.steppers.memory import IMPLICIT_STAGES, IMPLICIT_SYSTEMS

#: Numbers at the beginning of the vector, and the places in it of the number of rows, of numbers
#: alone, of sums and of modes.
IMPLICIT_HEAD, COUNTS = 12, slice(5, 9)
_ROUNDING = 1e-12


class ModeRow(NamedTuple):
    """A number of all modes, which lie beside each other.

    Args:
        start: place of the first one in the state.
        weights: of the modes in each of its sums, shape (L,).
        squared: True for squared lengths; differences go up there, and towards zero elsewhere: into
            the cone.
        field: the field that it is an entry of, by number; -1 for what has none.
    """

    start: int
    weights: tuple[np.ndarray, ...] = ()
    squared: bool = False
    field: int = -1


def rows_of(
    start: int, shape: Sequence[int], weights: tuple[np.ndarray, ...], squared: bool = False
) -> list[ModeRow]:
    """Return the rows of a field (..., L), squared for lengths and angles of a family of vectors.

    Args:
        start: place of the field.
        shape: of the field.
        weights: see :class:`ModeRow`.
        squared: True if its axes before the last are the same vectors.
    """
    return [
        ModeRow(start + number * shape[-1], weights, squared and len(set(place)) < 2, start)
        for number, place in enumerate(np.ndindex(*shape[:-1]))
    ]


@dataclass(frozen=True)
class CoupledModes:
    """The modes of a state, and their sums.

    Args:
        size: numbers of the state.
        count: L, the number of modes; all numbers of a single mode count as alone.
        given: the rows; what no row has is alone.
    """

    size: int
    count: int
    given: tuple[ModeRow, ...] = ()

    @cached_property
    def rows(self) -> tuple[ModeRow, ...]:
        """The rows, where there are several modes, without sums that others of their row give."""
        if self.count == 1:
            return ()
        return tuple(row._replace(weights=_apart(row.weights)) for row in self.given)

    @cached_property
    def alone(self) -> np.ndarray:
        """The places of the numbers that are in no row."""
        free = np.ones(self.size, dtype=bool)
        for row in self.rows:
            free[row.start : row.start + self.count] = False
        return np.flatnonzero(free)

    @cached_property
    def counts(self) -> tuple[int, int, int, int]:
        """The numbers of rows, of numbers alone, of sums, and of modes."""
        sums = sum(len(row.weights) for row in self.rows)
        return len(self.rows), self.alone.size, sums, self.count

    @property
    def numbers(self) -> int:
        """Length of the vector."""
        S, G, C, L = self.counts
        border, systems = G + C, IMPLICIT_SYSTEMS
        given = IMPLICIT_HEAD + S + 2 * G + C + border + L * (2 * C + S)
        work = L * S * (S + border + 2 * systems * S + 2)
        work += border * (G + 2 + 2 * systems * border)
        return given + work + self.size * (2 * systems + IMPLICIT_STAGES + 1)

    def vector(self) -> np.ndarray:
        """Return the vector with what is known before the steps."""
        vector = np.zeros(self.numbers)
        vector[COUNTS] = self.counts
        rows, alone = self.rows, set(self.alone)
        lone = {row.start: row for row in self.given if row.start in alone}
        squared = [place in lone and lone[place].squared for place in self.alone]
        squared += [row.squared for row in rows for _ in row.weights]
        known: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}
        keys = [tuple(map(id, row.weights)) for row in rows]
        for key, row in zip(keys, rows, strict=True):
            if key not in known:
                known[key] = _patterns(np.reshape(row.weights, (len(key), self.count)))
        parts = [
            [row.start for row in rows],
            self.alone,
            [lone[place].field if place in lone else -1 for place in self.alone],
            [number for number, row in enumerate(rows) for _ in row.weights],
            squared,
            *(weights for row in rows for weights in row.weights),
            *(known[key][0] for key in keys),
            *(known[key][1] for key in keys),
        ]
        begin = np.concatenate([np.ravel(np.asarray(part, dtype=float)) for part in parts])
        vector[IMPLICIT_HEAD : IMPLICIT_HEAD + begin.size] = begin
        return vector

    def repeated(self, times: int) -> CoupledModes:
        """Return the modes of a state with so many alike behind one another."""
        rows = (
            row._replace(start=row.start + number * self.size)
            for number in range(times)
            for row in self.given
        )
        return CoupledModes(times * self.size, self.count, tuple(rows))


def _apart(weights: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Return those that no others before them give."""
    independent: tuple[np.ndarray, ...] = ()
    if len(weights) == 1 and np.any(weights[0]):
        return weights
    for each in weights:
        more = np.array([*independent, each])
        scale = np.max(np.abs(more), axis=1, keepdims=True)
        if np.all(scale > 0.0) and np.linalg.matrix_rank(more / scale, tol=1e-9) == len(more):
            independent = (*independent, each)
    return independent


def _patterns(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return changes of the modes that change one sum by 1, and one that changes none.

    The latter is made in groups of neighbours; it is zero where there are too few for that.
    """
    sums, L = weights.shape
    if sums == 1:
        total = np.sum(weights)
        lifts = np.full((1, L), 1.0 / total if total != 0.0 else 1.0)
    else:
        lifts = np.linalg.pinv(weights).T
    unsummed = np.ones(L)
    moving = np.flatnonzero(np.any(weights != 0.0, axis=0))
    groups = moving.size // (sums + 1) if sums else 0
    if groups == 0:
        unsummed[moving] = 0.0
        return lifts, unsummed
    first = moving[: (groups - 1) * (sums + 1)].reshape(groups - 1, sums + 1)
    for group in (first, moving[None, first.size :]):
        signs = np.where(np.arange(group.shape[1]) % 2 == 0, 1.0, -0.9)
        within = np.moveaxis(weights[:, group], 0, 1)
        within = within / np.maximum(np.max(np.abs(within), axis=2, keepdims=True), 1e-300)
        still = (
            signs - (np.linalg.pinv(within, rcond=_ROUNDING) @ (within @ signs)[..., None])[..., 0]
        )
        largest = np.max(np.abs(still), axis=1, keepdims=True, initial=1e-300)
        unsummed[group] = still / largest
    return lifts, unsummed
