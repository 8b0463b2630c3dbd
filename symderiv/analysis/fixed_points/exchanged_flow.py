"""A flow with symmetries that take states to each other, which are one fixed point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

#: Two states closer than this, in units of the larger, are one.
SAME = 1e-6


class ExchangedFlow(ABC):
    """A flow of coordinates with exchanges and signs that leave it alone.

    Attributes:
        begin: A whole state.
        place: Places of the coordinates in it.
        unit: What rates are divided by.
        elements: The symmetries: entry n of an image is sign[n] times entry order[n]; orders and
            signs have shapes (g, n).
    """

    begin: Floats
    unit: float

    @property
    @abstractmethod
    def place(self) -> Labels: ...

    @property
    @abstractmethod
    def elements(self) -> tuple[Labels, Floats]: ...

    @abstractmethod
    def slope(self, values: Floats) -> Floats:
        """Return the rates of coordinates, not a number where there are none."""

    @abstractmethod
    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        """Yield whole states of drawn vectors."""

    @abstractmethod
    def merged(self) -> Iterator[Floats]:
        """Yield projectors on states in which some vectors are one."""

    @abstractmethod
    def physical(self, values: Floats) -> bool:
        """Return whether vectors with these overlaps exist."""

    def images(self, values: Floats) -> Floats:
        """Return all images of coordinates, shape (g, n)."""
        orders, signs = self.elements
        return np.asarray(signs * values[orders])

    def canonical(self, values: Floats) -> tuple[Floats, int, Labels]:
        """Return the chosen one of all images, how many there are, and which symmetries keep it.

        The chosen image is the largest, entry by entry in order, of rounded numbers.
        """
        images = self.images(values)
        rounded = np.round(images, 5) + 0.0
        chosen = images[np.lexsort(-rounded.T[::-1])[0]]
        near = np.max(np.abs(self.images(chosen) - chosen), axis=1)
        stabiliser = np.flatnonzero(near < SAME * (1 + np.max(np.abs(chosen))))
        return chosen, len(images) // len(stabiliser), stabiliser

    def same(self, first: Floats, second: Floats, tolerance: float = SAME) -> bool:
        """Return whether a symmetry takes one of two states to the other."""
        apart = np.min(np.max(np.abs(self.images(first) - second), axis=1))
        return bool(apart < tolerance * (1 + np.max(np.abs(second))))


def averaging(size: int, classes: Iterable[list[int]]) -> Floats:
    """Return the projector on states whose entries are equal within classes, else zero."""
    projector = np.zeros((size, size))
    for members in classes:
        projector[np.ix_(members, members)] = 1 / len(members)
    return projector


def partitions(size: int) -> Iterator[list[int]]:
    """Yield all ways to put units into classes, as the class of each."""
    if size == 1:
        yield [0]
        return
    for labels in partitions(size - 1):
        for label in range(max(labels) + 2):
            yield [*labels, label]
