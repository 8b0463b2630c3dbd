"""A flow with symmetries that map states to each other; images count as one fixed point.

Entries of packed vectors belong to units, so that exchanges of units and changes of their signs act
on the states of any flow, and states in which some units coincide are known. Which of these are
symmetries is not assumed: those are kept that leave the constants unchanged and commute with the
rates at states in general position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.newton_steps import Floats, Labels
from symderiv.foundation.packing import orbits

#: Two states closer than this, relative to one plus the larger one, count as the same.
SAME = 1e-6
# Largest asymmetry of rates, relative, that errors of quadrature may cause.
_COMMUTES = 1e-7


@dataclass(frozen=True)
class UnitEntries:
    """The units to which the entries of a vector belong.

    Attributes:
        count: The number of units.
        kinds: A number for what each entry is apart from its units, shape (n,).
        units: The two units of each entry, ``count`` in place of a missing one; shape (n, 2).
        even: True for entries that are symmetric in their units, shape (n,).
    """

    count: int
    kinds: Labels
    units: Labels
    even: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, count: int, entries: Iterable[tuple[Hashable, Sequence[int], bool]]) -> UnitEntries:
        """Return the units of entries given one by one as kind, units and ``even``."""
        names, units, even = zip(*entries, strict=True)
        number = {name: n for n, name in enumerate(dict.fromkeys(names))}
        pairs = [[*each, count, count][:2] for each in units]
        kinds = np.array([number[name] for name in names])
        return cls(count, kinds, np.array(pairs), np.array(even))

    def at(self, places: Labels) -> UnitEntries:
        """Return the units of the entries at some places."""
        return UnitEntries(self.count, self.kinds[places], self.units[places], self.even[places])

    def codes(self, moved: Labels) -> Labels:
        """Return a code for each entry after each unit is replaced by ``moved[unit]``.

        Entries with equal codes are the same entry.
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
        """Return the permutation of entries by one of units; None if an entry has no image."""
        (codes, first), wanted = self._own, self.codes(moved)
        nearest = np.searchsorted(codes, wanted).clip(max=max(codes.size - 1, 0))
        return first[nearest] if np.array_equal(codes[nearest], wanted) else None

    def factors(self, signs: Floats) -> Floats:
        """Return the signs of entries, as products of the signs of their units."""
        return np.asarray(np.prod(np.append(signs, 1.0)[self.units], axis=1))


class ExchangedFlow(ABC):
    """A flow of coordinates with permutations and signs of units as its symmetries.

    Attributes:
        begin: A whole state.
        place: Places of the coordinates in it.
        unit: The number by which rates are divided.
        elements: The symmetries: entry n of an image is sign[n] times entry order[n]; orders and
            signs have shapes (g, n).
        whole: The units of the entries of a whole state.
        fixed: The constants and the entries that do not move, each with the units of its entries.
        kinds: For each family of units, the permutations of coordinates by exchanges of two
            members.
        vectors: Families of vectors that may coincide, each vector as the units that belong to it.
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
        """Return the whole state that has these coordinates."""

    @abstractmethod
    def slope(self, values: Floats, constants: Floats | None = None) -> Floats:
        """Return the rates of coordinates; NaN where they do not exist."""

    @abstractmethod
    def inside(self, values: Floats) -> Floats:
        """Return coordinates moved into the cone: overlaps of moving vectors are made possible."""

    @abstractmethod
    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        """Yield whole states of random vectors."""

    @abstractmethod
    def grams(self, values: Floats, constants: Floats | None = None) -> Iterator[Floats]:
        """Yield the Gram matrix of all units for each eigenvalue; none if some are not followed."""

    def physical(self, values: Floats, constants: Floats | None = None) -> bool:
        """Return whether vectors with these overlaps exist."""
        return self.least_gram(values, constants) >= -1e-8

    def least_gram(self, values: Floats, constants: Floats | None = None) -> float:
        """Return the smallest eigenvalue of the Gram matrices, relative to the largest."""
        sizes = [np.linalg.eigvalsh(each) for each in self.grams(values, constants)]
        return min((float(each[0] / max(each[-1], 1e-300)) for each in sizes), default=0.0)

    @cached_property
    def moving(self) -> UnitEntries:
        """The units of the coordinates."""
        return self.whole.at(self.place)

    @cached_property
    def _trials(self) -> list[tuple[Floats, Floats]]:
        """Coordinates of states in general position, with their rates."""
        states = [state[self.place] for state in self.samples(2, seed=11)]
        return [(each, self.slope(each)) for each in states]

    def symmetry_of(self, moved: Labels, signs: Floats) -> tuple[Labels, Floats] | None:
        """Return how a permutation of units with signs acts on coordinates.

        The result is None if it is not a symmetry of the flow.
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
        """Return classes of coordinates that are equal if members with equal labels coincide.

        Each member is given by its units.
        """
        moved = np.arange(self.whole.count)
        for units, label in zip(members, labels, strict=True):
            moved[list(units)] = members[labels.index(label)]
        return np.asarray(np.unique(self.moving.codes(moved), return_inverse=True)[1])

    def merged(self) -> Iterator[Floats]:
        """Yield projectors on states in which some members of a family coincide."""
        for members in self.vectors:
            for labels in partitions(len(members)):
                if max(labels) + 1 < len(members):
                    yield averaging(self.merging(members, labels))

    def images(self, values: Floats) -> Floats:
        """Return the images of coordinates under all symmetries, shape (g, n)."""
        orders, signs = self.elements
        return np.asarray(signs * values[orders])

    def canonical(self, values: Floats) -> tuple[Floats, int, Labels]:
        """Return the canonical image, the number of images, and the symmetries that keep it.

        It is the image whose rounded entries are lexicographically largest.
        """
        images = self.images(values)
        rounded = np.round(images, 5) + 0.0
        chosen = images[np.lexsort(-rounded.T[::-1])[0]]
        near = np.max(np.abs(self.images(chosen) - chosen), axis=1)
        stabiliser = np.flatnonzero(near < SAME * (1 + np.max(np.abs(chosen))))
        return chosen, len(images) // len(stabiliser), stabiliser

    def same(self, first: Floats, second: Floats, tolerance: float = SAME) -> bool:
        """Return whether a symmetry maps one of two states to the other."""
        apart = np.min(np.max(np.abs(self.images(first) - second), axis=1))
        return bool(apart < tolerance * (1 + np.max(np.abs(second))))


def averaging(labels: Labels) -> Floats:
    """Return the projector on states whose entries are equal within classes."""
    alike = (labels[:, None] == labels[None]).astype(float)
    return np.asarray(alike / alike.sum(axis=1))


def kept_projector(flow: Any, values: Floats, close: float) -> Floats:
    """Return the projector on states with all symmetries that keep a state within ``close``."""
    keep = np.max(np.abs(flow.images(values) - values), axis=1) < close
    images = [flow.images(each)[keep] for each in np.eye(values.size)]
    return np.asarray(np.mean(images, axis=1).T)


def of_vectors(own: Floats, cross: Floats, others: Floats) -> Floats:
    """Return ``own`` overlaps projected into the cone of vectors, for given cross overlaps."""
    along = cross @ np.linalg.pinv(others) @ cross.T
    rest, axes = np.linalg.eigh(own - along)
    return np.asarray(along + axes @ np.diag(rest.clip(0)) @ axes.T)


def classes_of(count: int, orders: Sequence[Labels]) -> Labels:
    """Return the label of each entry's orbit under permutations, from 0."""
    return np.asarray(np.unique(orbits(count, orders), return_inverse=True)[1])


def partitions(size: int) -> Iterator[list[int]]:
    """Yield all partitions of units into classes, as the label of each unit's class."""
    if size == 1:
        yield [0]
        return
    for labels in partitions(size - 1):
        for label in range(max(labels) + 2):
            yield [*labels, label]
