"""The swept problem, a study or a system with start and times, and the grid of its runs."""

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

#: A function that is called with the number of finished points.
PointsTold = Callable[[int], None]


class RunGrid(ABC):
    """A grid of runs, numbered by flat indices in which the last key varies fastest.

    Attributes:
        axes: One axis per key, in the order given.
    """

    axes: tuple[Axis, ...]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The numbers of values of the keys."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def settings(self, index: int) -> dict[str, Any]:
        """Return the values of the keys at a point."""
        return {axis.key: value for axis, value in values_at(self.axes, index)}

    def label(self, index: int) -> str:
        """Return the values of the keys at a point in words."""
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
        """The text of what all points share, as stores keep it."""

    @property
    @abstractmethod
    def checked(self) -> bool:
        """True if the error of each run is measured by a second one."""

    @abstractmethod
    def over(self, axes: tuple[Axis, ...]) -> Self:
        """Return the grid over other values, which have been checked already."""

    @abstractmethod
    def hashes(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return 32 hexadecimal digits per point, which are equal for equal runs."""

    @abstractmethod
    def extent(self) -> tuple[tuple[int, ...], np.ndarray, PointArrays]:
        """Return the axes on which output times depend, the times, and the variables of a point."""

    @abstractmethod
    def derive(self, tell: Tell) -> None:
        """Derive every solver module once, before many workers need it."""

    @abstractmethod
    def integrate(
        self, indices: np.ndarray, threads: int | None, told: PointsTold
    ) -> Iterator[tuple[np.ndarray, Chunk]]:
        """Yield finished points: their positions among the given ones, and their runs."""


class Swept(Protocol):
    """A study or a system that is swept over keys and values."""

    @property
    def text(self) -> str:
        """The text of what all points share, as stores keep it; :func:`tables_of` reads it."""

    def alone(self) -> Self:
        """Return the swept problem without values of its own to sweep over."""

    def checked_keys(self, over: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Return keys and values, including its own, with ranges written out."""

    def grid(
        self, over: Mapping[str, Sequence[Any]], tell: Tell, *, lazily: bool = False
    ) -> RunGrid:
        """Return the grid over keys and values."""

    def is_whole(self, key: str) -> bool:
        """Return whether a key takes whole numbers only."""

    def identity(self, sources: str, **more: str) -> dict[str, str]:
        """Return everything on which the results of its runs depend, for checkpoints."""


def tables_of(text: str) -> dict[str, Any]:
    """Return the tables of keys in a text: a study file's TOML, or the JSON of a swept system."""
    if not text.lstrip().startswith("{"):
        return tomllib.loads(text)
    said: dict[str, Any] = json.loads(text)
    # values that keys may vary are compared as keys, not as parts of the statement
    system = {**said["system"], "declarations": []}
    for declaration in said["system"]["declarations"]:
        facts = {key: value for key, value in declaration.items() if key not in ("model", "value")}
        system["declarations"].append(facts)
    return {**said, "system": {"statement": system}}
