"""The swept problem, a study or a system with its start and times, and the grid of its runs."""

from __future__ import annotations

import json
import math
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from symderiv.foundation.progress import Tell
from symderiv.sweeps.point_arrays import PointArrays
from symderiv.sweeps.swept_keys import Axis, point_label, values_at

if TYPE_CHECKING:
    from symderiv.integrate.ensemble import Chunk

#: Called with the number of points that are done.
PointsTold = Callable[[int], None]


class RunGrid(ABC):
    """A grid of runs; each is known by its flat index, the last key varying fastest.

    Attributes:
        axes: One per key, in the order given.
    """

    axes: tuple[Axis, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The numbers of values of the keys."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def settings(self, index: int) -> dict[str, Any]:
        """Return the values of a point by the keys."""
        return {axis.key: value for axis, value in values_at(self.axes, index)}

    def label(self, index: int) -> str:
        """Return the same in words."""
        return point_label(self.axes, index)

    def part(self, slices: Sequence[slice]) -> Self:
        """Return the grid of some of the values along each axis."""
        return self.over(
            tuple(
                replace(axis, values=axis.values[one])
                for axis, one in zip(self.axes, slices, strict=True)
            )
        )

    @property
    @abstractmethod
    def text(self) -> str:
        """The common part of all points, as stores keep it."""

    @abstractmethod
    def over(self, axes: tuple[Axis, ...]) -> Self:
        """Return the grid over other values, which were checked already."""

    @abstractmethod
    def hashes(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return 32 hexadecimal digits of each point: equal runs, equal hashes."""

    @abstractmethod
    def extent(self) -> tuple[tuple[int, ...], np.ndarray, PointArrays]:
        """Return numbers of the axes that output times depend on, the times, and what a point
        has.
        """

    @abstractmethod
    def derive(self, tell: Tell) -> None:
        """Derive every solver module once, before workers ask for it all at once."""

    @abstractmethod
    def integrate(
        self, indices: np.ndarray, threads: int | None, told: PointsTold
    ) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Yield points of flat indices as they come: their numbers among these, and their runs."""


class Swept(Protocol):
    """A study with values, whatever it is made of."""

    @property
    def text(self) -> str:
        """Text of the grid, as stores keep it; :func:`tables_of` reads it."""

    def alone(self) -> Self:
        """Return the same without values of its own to sweep over."""

    def checked_keys(self, over: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return keys and values, with those of its own, ranges written out."""

    def grid(
        self, over: Mapping[str, Sequence[Any]], tell: Tell, *, lazily: bool = False
    ) -> RunGrid:
        """Return the grid over keys and values."""

    def is_whole(self, key: str) -> bool:
        """Return whether a key takes whole numbers only."""

    def identity(self, sources: str, **more: str) -> dict[str, str]:
        """Return everything on which the numbers of its runs depend, for checkpoints."""


def tables_of(text: str) -> dict[str, Any]:
    """Return the tables of keys in a text: a study file's TOML, or the JSON of a swept system."""
    if not text.lstrip().startswith("{"):
        return tomllib.loads(text)
    said: dict[str, Any] = json.loads(text)
    # what keys may vary is compared as keys
    system = {**said["system"], "declarations": []}
    for declaration in said["system"]["declarations"]:
        facts = {key: value for key, value in declaration.items() if key not in ("model", "value")}
        system["declarations"].append(facts)
    return {**said, "system": {"statement": system}}
