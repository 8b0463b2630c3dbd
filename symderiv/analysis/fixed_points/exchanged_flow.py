"""A flow with symmetries that take states to each other, which are one fixed point.

Entries of packed vectors belong to units. So exchanges of units and changes of their signs act on
the vectors of any flow, and states in which some units are one are known. Which of these are
symmetries is not assumed: those are kept that leave constants alone and commute with the rates at
states in general position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.foundation.packing import orbits

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

#: Two states closer than this, in units of the larger, are one.
SAME = 1e-6
# Of rates, which quadrature leaves so far from being symmetric.
_COMMUTES = 1e-7


@dataclass(frozen=True)
class UnitEntries:
    """The units that the entries of a vector belong to.

    Attributes:
        count: How many units there are.
        kinds: What an entry is, apart from its units, as a number; shape (n,).
        units: Numbers of its units, two of them, ``count`` for none; shape (n, 2).
        even: Whether their order does not matter, shape (n,).
    """

    count: int
    kinds: Labels
    units: Labels
    even: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, count: int, entries: Iterable[tuple[Hashable, Sequence[int], bool]]) -> UnitEntries:
        """Return those of entries that are given one by one: what it is, its units, ``even``."""
        names, units, even = zip(*entries, strict=True)
        number = {name: n for n, name in enumerate(dict.fromkeys(names))}
        pairs = [[*each, count, count][:2] for each in units]
        kinds = np.array([number[name] for name in names])
        return cls(count, kinds, np.array(pairs), np.array(even))

    def at(self, places: Labels) -> UnitEntries:
        """Return those of some of the entries."""
        return UnitEntries(self.count, self.kinds[places], self.units[places], self.even[places])

    def codes(self, moved: Labels) -> Labels:
        """Return a number for each entry with other units in place of its own, ``moved[unit]``:
        entries of one number are one.
        """
        units = np.append(moved, self.count)[self.units]
        units[self.even] = np.sort(units[self.even], axis=1)
        return np.asarray(
            (self.kinds * (self.count + 1) + units[:, 0]) * (self.count + 1) + units[:, 1]
        )

    @cached_property
    def _own(self) -> tuple[Labels, Labels]:
        codes, first = np.unique(self.codes(np.arange(self.count)), return_index=True)
        return codes, first

    def places(self, moved: Labels) -> Labels | None:
        """Return where the entries come from if units move so; None if they come from no entry."""
        (codes, first), wanted = self._own, self.codes(moved)
        nearest = np.searchsorted(codes, wanted).clip(max=max(codes.size - 1, 0))
        return first[nearest] if np.array_equal(codes[nearest], wanted) else None

    def factors(self, signs: Floats) -> Floats:
        """Return the signs of entries for those of units."""
        return np.asarray(np.prod(np.append(signs, 1.0)[self.units], axis=1))


class ExchangedFlow(ABC):
    """A flow of coordinates with exchanges and signs that leave it alone.

    Attributes:
        begin: A whole state.
        place: Places of the coordinates in it.
        unit: What rates are divided by.
        elements: The symmetries: entry n of an image is sign[n] times entry order[n]; orders and
            signs have shapes (g, n).
        whole: Units of the entries of a whole state.
        fixed: What does not move, with the units of its entries.
        kinds: Exchanges of coordinates by the families of units that they exchange.
        vectors: Families of vectors that may be one, each vector as the units that go with it.
    """

    begin: Floats
    unit: float

    @property
    @abstractmethod
    def place(self) -> Labels: ...

    @property
    @abstractmethod
    def elements(self) -> tuple[Labels, Floats]: ...

    @property
    @abstractmethod
    def whole(self) -> UnitEntries: ...

    @property
    @abstractmethod
    def fixed(self) -> Sequence[tuple[UnitEntries, Floats]]: ...

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, Sequence[Labels]]: ...

    @property
    @abstractmethod
    def vectors(self) -> Sequence[Sequence[Sequence[int]]]: ...

    @abstractmethod
    def state(self, values: Floats) -> Floats:
        """Return the whole state of coordinates."""

    @abstractmethod
    def slope(self, values: Floats, constants: Floats | None = None) -> Floats:
        """Return the rates of coordinates, not a number where there are none."""

    @abstractmethod
    def inside(self, values: Floats) -> Floats:
        """Return coordinates with what overlaps of moving vectors lack to be of vectors, added."""

    @abstractmethod
    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        """Yield whole states of drawn vectors."""

    @abstractmethod
    def grams(self, values: Floats, constants: Floats | None = None) -> Iterator[Floats]:
        """Yield the overlaps of all units, for each eigenvalue; none if not all are followed."""

    def physical(self, values: Floats, constants: Floats | None = None) -> bool:
        """Return whether vectors with these overlaps exist."""
        return self.least_gram(values, constants) >= -1e-8

    def least_gram(self, values: Floats, constants: Floats | None = None) -> float:
        """Return the least eigenvalue of the overlaps of all units, in units of the largest."""
        sizes = [np.linalg.eigvalsh(each) for each in self.grams(values, constants)]
        return min((float(each[0] / max(each[-1], 1e-300)) for each in sizes), default=0.0)

    @cached_property
    def moving(self) -> UnitEntries:
        """Units of the coordinates."""
        return self.whole.at(self.place)

    @cached_property
    def _trials(self) -> list[tuple[Floats, Floats]]:
        """States in general position with their rates."""
        states = [state[self.place] for state in self.samples(2, seed=11)]
        return [(each, self.slope(each)) for each in states]

    def symmetry_of(self, moved: Labels, signs: Floats) -> tuple[Labels, Floats] | None:
        """Return what an exchange of units with signs does to coordinates, None if it changes the
        flow.
        """
        for entries, values in self.fixed:
            order = entries.places(moved)
            if order is None:
                return None
            image = entries.factors(signs) * values[order]
            if not np.allclose(image, values, rtol=1e-12, atol=1e-13):
                return None
        order, sign = self.moving.places(moved), self.moving.factors(signs)
        if order is None:
            return None
        for values, slope in self._trials:
            gaps = self.slope(sign * values[order]) - sign * slope[order]
            if not np.max(np.abs(gaps)) <= _COMMUTES * np.max(np.abs(slope)):
                return None
        return order, sign

    def merging(self, members: Sequence[Sequence[int]], labels: Sequence[int]) -> Labels:
        """Return classes of coordinates that are equal where members of one label are one, each of
        them given by its units.
        """
        moved = np.arange(self.whole.count)
        for units, label in zip(members, labels, strict=True):
            moved[list(units)] = members[labels.index(label)]
        return np.asarray(np.unique(self.moving.codes(moved), return_inverse=True)[1])

    def merged(self) -> Iterator[Floats]:
        """Yield projectors on states in which some members of a family are one vector."""
        for members in self.vectors:
            for labels in partitions(len(members)):
                if max(labels) + 1 < len(members):
                    yield averaging(self.merging(members, labels))

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


def averaging(labels: Labels) -> Floats:
    """Return the projector on states whose entries are equal within classes."""
    alike = (labels[:, None] == labels[None]).astype(float)
    return np.asarray(alike / alike.sum(axis=1))


def kept_projector(flow: Any, values: Floats, close: float) -> Floats:
    """Return the projector on states with all symmetries that keep a state, to so much."""
    keep = np.max(np.abs(flow.images(values) - values), axis=1) < close
    images = [flow.images(each)[keep] for each in np.eye(values.size)]
    return np.asarray(np.mean(images, axis=1).T)


def of_vectors(own: Floats, cross: Floats, others: Floats) -> Floats:
    """Return overlaps of vectors with what they lack, given those with others, to be of vectors."""
    along = cross @ np.linalg.pinv(others) @ cross.T
    rest, axes = np.linalg.eigh(own - along)
    return np.asarray(along + axes @ np.diag(rest.clip(0)) @ axes.T)


def classes_of(count: int, orders: Sequence[Labels]) -> Labels:
    """Return for every entry the number of its orbit under permutations, from 0."""
    return np.asarray(np.unique(orbits(count, orders), return_inverse=True)[1])


def partitions(size: int) -> Iterator[list[int]]:
    """Yield all ways to put units into classes, as the class of each."""
    if size == 1:
        yield [0]
        return
    for labels in partitions(size - 1):
        for label in range(max(labels) + 2):
            yield [*labels, label]
