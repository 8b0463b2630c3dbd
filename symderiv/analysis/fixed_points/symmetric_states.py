"""States of invariant spaces, in which coordinates are equal up to signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.newton_steps import Floats, Labels
from symderiv.analysis.fixed_points.unit_flow import UnitFlow


@dataclass(frozen=True)
class SymmetricStates:
    """States of an invariant space, given by the value of each class of equal coordinates.

    The coordinates of a class are equal up to signs in all states of the space.

    Attributes:
        flow: The flow in Q and R for one eigenvalue.
        basis: The basis of the space, shape (n, m).
    """

    flow: UnitFlow
    basis: Floats

    @cached_property
    def classes(self) -> tuple[Labels, Floats]:
        """The class of every coordinate, -1 for those that vanish, and its sign."""
        rows = self.basis @ self.basis.T
        labels, signs = np.full(len(rows), -1), np.ones(len(rows))
        for n in np.flatnonzero(np.max(np.abs(rows), axis=1) > 1e-9):
            if labels[n] < 0:
                label = labels.max() + 1
                for sign in (-1.0, 1.0):
                    same = np.max(np.abs(rows - sign * rows[n]), axis=1) < 1e-8
                    labels[same], signs[same] = label, sign
        return labels, signs

    @property
    def size(self) -> int:
        return int(np.max(self.classes[0])) + 1

    @cached_property
    def entries(self) -> tuple[Labels, Labels]:
        """Places of Q (K, K) and R (K, M) among the coordinates."""
        flow, places = self.flow, np.full(self.flow.begin.size, -1)
        places[flow.place] = np.arange(flow.place.size)
        places = places[np.minimum(np.arange(places.size), flow.mirror)]
        views = flow.packing(0).views(places)
        return views["student_overlap"][..., 0], views["cross_overlap"][..., 0]

    @cached_property
    def labels(self) -> tuple[Labels, Labels]:
        """The classes of the entries of Q, shape (K, K), and of R, shape (K, M)."""
        Q, R = self.entries
        return self.classes[0][Q], self.classes[0][R]

    def filled(self, numbers: Sequence[Any], zero: Any) -> tuple[npt.NDArray[Any], ...]:
        """Return P and R with these values of the classes."""
        labels, signs = self.classes
        one = np.array([*numbers, zero])
        every = np.where(signs > 0, one[labels], -one[labels])
        return tuple(every[each] for each in self.entries)

    def firsts(self) -> Labels:
        """Return the first coordinate of every class."""
        return np.array([int(np.argmax(self.classes[0] == n)) for n in range(self.size)])

    def numbers(self, values: Floats, inverse: Floats) -> Floats:
        """Return the values of the classes of P and R, for coordinates of Q and R."""
        Q, R = (values[each] for each in self.entries)
        in_P_and_R = values.copy()
        in_P_and_R[self.entries[0]] = Q - R @ inverse @ R.T
        return np.asarray(in_P_and_R[self.firsts()] * self.classes[1][self.firsts()])

    def values(self, numbers: Floats, inverse: Floats) -> Floats:
        """Return the coordinates of Q and R for values of the classes."""
        P, R = self.filled(list(numbers), 0.0)
        coordinates = np.empty(self.flow.place.size)
        coordinates[self.entries[0]] = P + R @ inverse @ R.T
        coordinates[self.entries[1]] = R
        return coordinates

    @cached_property
    def stabiliser(self) -> Labels:
        """Indices of the symmetries that keep every state of the space."""
        orders, signs, *_ = self.flow.group
        moved = signs[:, :, None] * self.basis[orders]
        return np.flatnonzero(np.max(np.abs(moved - self.basis), axis=(1, 2)) < 1e-9)

    @property
    def one_vector(self) -> list[list[int]]:
        """Groups of students, from 0, that coincide in every state of the space."""
        labels, _ = self.labels
        merged: dict[int, list[int]] = {}
        for i in range(len(labels)):
            first = next(j for j in range(i + 1) if labels[i, j] == labels[i, i] == labels[j, j])
            merged.setdefault(first, []).append(i)
        return [each for each in merged.values() if len(each) > 1]

    def holds(self, values: Floats) -> bool:
        """Return whether coordinates lie in the space."""
        apart = values - self.basis @ (self.basis.T @ values)
        return bool(np.max(np.abs(apart)) < 1e-6 * (1 + np.max(np.abs(values))))

    @cached_property
    def pairs(self) -> list[tuple[int, int, int]]:
        """Classes of P_ij, P_ii, P_jj for i < j, where they differ."""
        labels = self.labels[0].tolist()
        pairs = combinations(range(len(labels)), 2)
        triples = {(labels[i][j], labels[i][i], labels[j][j]) for j, i in pairs}
        return [each for each in sorted(triples) if 0 <= each[0] != each[1]]

    @cached_property
    def orders(self) -> list[tuple[int, int, float]]:
        """Classes a and o and signs s: the value of a may be assumed to be at least s times o's.

        One of all images of a state under its symmetries satisfies every one of them: its value of
        the first class is the largest that images have there; of the images with this value, that
        of the second class is the largest; and so on.
        """
        bounds, images = [], self._images_of_classes()
        while len(images) > 1:
            moved = [{each[n] for each in images} - {(n, 1.0)} for n in range(self.size)]
            a = max(range(self.size), key=lambda n: len(moved[n]))
            bounds += [(a, o, s) for o, s in sorted(moved[a])]
            images = [each for each in images if each[a] == (a, 1.0)]
        return bounds

    def _images_of_classes(self) -> list[tuple[tuple[int, float], ...]]:
        """Return for each symmetry of the space the class and the sign that replace each class."""
        group_orders, signs, *_ = self.flow.group
        labels, own = self.classes
        members = [np.flatnonzero(labels == n) for n in range(self.size)]
        distinct = set()
        for order, sign in zip(group_orders, signs, strict=True):
            moved = [
                {(int(labels[order[p]]), float(own[p] * sign[p] * own[order[p]])) for p in each}
                for each in members
            ]
            if all(len(each) == 1 for each in moved):
                image = tuple(each.pop() for each in moved)
                if all(n >= 0 for n, _ in image):
                    distinct.add(image)
        return sorted(distinct)


def contained(inner: Floats, outer: Floats, flow: UnitFlow) -> bool:
    """Return whether a symmetry maps a space into another; bases have shapes (n, m)."""
    orders, signs = flow.elements
    images = signs[:, :, None] * inner[orders]
    apart = np.max(np.abs(images - outer @ (outer.T @ images)), axis=(1, 2))
    return bool(np.min(apart) < 1e-9)
