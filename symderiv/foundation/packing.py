"""Arrays in one vector, one after the other, read and written by the names of a ``LAYOUT``.

Generated modules state a ``LAYOUT``: the order of their sizes and, for each of their vectors, its
fields with the names of their axes. No other code knows where in a vector a field lies.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

OVERLAPS = {
    ("J", "J"): "student_overlap",
    ("J", "B"): "cross_overlap",
    ("B", "B"): "teacher_overlap",
    ("U", "J"): "momentum_overlap",
    ("U", "U"): "momentum_square",
    ("U", "B"): "momentum_cross",
}
"""Fields of states that hold overlaps of velocities U, students J and teachers B."""

COVARIANCES = {("J", "J"): "Q", ("J", "B"): "R", ("B", "B"): "T"}
"""Arrays of covariances of fields that have a name of their own."""

_FAMILIES = {name: pair for names in (OVERLAPS, COVARIANCES) for pair, name in names.items()}


def families_of(name: str) -> tuple[str, ...]:
    """Return the two families of vectors whose overlaps an array holds; () for another array."""
    if name in _FAMILIES:
        return _FAMILIES[name]
    kind, *families = name.split("_")
    return tuple(families) if kind in ("covariance", "product", "overlap") else ()


def of_rule(name: str) -> bool:
    """Return whether a state holds an array of this name only under a learning rule."""
    own = "b", "v_velocity", "b_velocity", "momentum_overlap", "momentum_square", "momentum_cross"
    return name in own or name.startswith("overlap_")


def velocities_in(name: str) -> int:
    """Return the power of the velocities in an array of a state."""
    return families_of(name).count("U") + name.endswith("_velocity")


def is_symmetric(name: str) -> bool:
    """Return whether an array holds overlaps within one family, so that it is symmetric."""
    families = families_of(name)
    return len(families) == 2 and families[0] == families[1]


@dataclass(frozen=True)
class Packing:
    """A vector that holds arrays of given shapes in order, each in C order; a number has shape ().

    Args:
        shapes: the shapes of the fields by name, in the order of the vector.
    """

    shapes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, layout: Mapping[str, Any], vector: str, **sizes: int) -> Packing:
        """Return the packing of a vector of a layout.

        Args:
            layout: ``LAYOUT`` of a module.
            vector: ``"state"`` or ``"parameters"``.
            sizes: the sizes by the names of the layout's ranges; those that no field has may be
                left out.
        """
        fields = layout[vector]
        key = id(fields), *sizes.items()
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            shapes = {name: tuple(sizes[axis] for axis in axes) for name, axes in fields.items()}
            _KNOWN[key] = fields, cls(shapes)
        return _KNOWN[key][1]

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Return the slice of each field in the vector."""
        lengths = (math.prod(shape) for shape in self.shapes.values())
        places = pairwise(accumulate(lengths, initial=0))
        return {name: slice(*place) for name, place in zip(self.shapes, places, strict=True)}

    @cached_property
    def size(self) -> int:
        """Return the length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def views(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Return the fields of vectors (…, n) as views, each of shape (…, *its own).

        Raises:
            ValueError: The last axis has another length.
        """
        if vector.shape[-1] != self.size:
            raise ValueError(f"the vector has length {vector.shape[-1]}, not {self.size}")
        lead = vector.shape[:-1]
        return {
            name: vector[..., part].reshape((*lead, *self.shapes[name]))
            for name, part in self.slices.items()
        }

    def packed(self, lead: tuple[int, ...] = (), /, **fields: Any) -> np.ndarray:
        """Return vectors (…, n) of float64 from their fields, each of shape (…, *its own).

        Args:
            lead: the sizes in front; () for one vector.
            fields: the arrays.

        Raises:
            ValueError: A field is missing, is not one of these, or has another shape.
        """
        if fields.keys() != self.shapes.keys():
            raise ValueError(f"the fields are {sorted(fields)}, not {sorted(self.shapes)}")
        vector = np.empty((*lead, self.size))
        for name, place in self.views(vector).items():
            value = np.asarray(fields[name], dtype=np.float64)
            if value.shape != place.shape:
                raise ValueError(f"{name} has shape {value.shape}, not {place.shape}")
            place[...] = value
        return vector

    # The fields of a layout and their packing, which the runs of a sweep share, by sizes and by the
    # identity of the fields; these are kept, so that no others get it.

    def directions(self) -> Iterator[tuple[str, tuple[int, ...], np.ndarray]]:
        """Yield name, index and unit direction of every entry; symmetric ones change together."""
        for name, shape in self.shapes.items():
            for index in np.ndindex(shape):
                direction = np.zeros(self.size)
                view = self.views(direction)[name]
                view[index] = 1.0
                if is_symmetric(name):
                    view[(index[1], index[0], *index[2:])] = 1.0
                yield name, index, direction

    def coordinates(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield place and unit direction of every entry, of two symmetric ones the first."""
        for place, (name, index, direction) in enumerate(self.directions()):
            if not is_symmetric(name) or index[0] <= index[1]:
                yield place, direction


_KNOWN: dict[Hashable, tuple[Any, Packing]] = {}
_MOST_KNOWN = 64


def orbits(count: int, orders: Sequence[np.ndarray]) -> np.ndarray:
    """Return for every entry of a vector the least index to which permutations take it.

    Args:
        count: The number of entries.
        orders: For each permutation, the index from which each entry comes.
    """
    labels = np.arange(count)
    while True:
        before = labels
        for order in orders:
            labels = np.minimum(labels, labels[order])
        if np.array_equal(before, labels):
            return labels


_NAMES = {
    "student_overlap": "Q",
    "cross_overlap": "R",
    "momentum_overlap": "P",
    "momentum_square": "W",
    "momentum_cross": "C",
}


def field_named(name: str) -> str:
    """Return the field of solver modules of an order parameter; see :func:`order_name`."""
    fields = {shown: field for field, shown in _NAMES.items()}
    return fields.get(name) or "overlap_" + name.replace(".", "_")


def order_name(field: str) -> str:
    """Return the name of an order parameter in calls and runs.

    Args:
        field: the field of the vectors of solver modules. Overlaps with other vectors are named
            by the two families of vectors, as ``A.J``; other fields by their own names.
    """
    families = families_of(field) if field.startswith("overlap_") else ()
    return _NAMES.get(field) or ".".join(families) or field
