"""The variables of one point of a sweep, their dimensions, and the lengths of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from symderiv.storage.run_files import MORE_OF_RULES, axes_of, of_rules

_OF_STUDIES = ("generalization_error", "Q", "R", "v", "T")


def _axes(name: str) -> tuple[str, ...]:
    return tuple("time" if axis == "alpha" else axis for axis in axes_of(name)[0])


#: Dimensions of each variable after those of the sweep; "time" is that of the output times.
AXES = {name: _axes(name) for name in (*_OF_STUDIES, *MORE_OF_RULES)}


@dataclass(frozen=True)
class PointArrays:
    """The curves that every point has.

    Args:
        times: the number of output times.
        sizes: lengths of the dimensions, except that of the times.
        curves: dimensions by variable.
        study: True if the points are studies, whose rules may add variables.
    """

    times: int
    sizes: Mapping[str, int]
    curves: Mapping[str, tuple[str, ...]]
    study: bool = False

    @classmethod
    def of_studies(cls, times: int, K: int, M: int) -> Self:
        """Return the arrays of studies with up to K students and M teachers."""
        sizes = {"student": K, "student_2": K, "teacher": M, "teacher_2": M}
        return cls(times, sizes, {name: AXES[name] for name in _OF_STUDIES}, True)

    @classmethod
    def read(cls, said: Any) -> Self:
        """Return the variables from the form :attr:`said`, in which a store keeps them."""
        if isinstance(said, list):
            return cls.of_studies(*said)
        curves = {name: tuple(axes) for name, axes in said["curves"].items()}
        return cls(said["times"], said["sizes"], curves)

    @property
    def said(self) -> Any:
        """The sizes in JSON: for studies the numbers of times, students and teachers."""
        if self.study:
            return [self.times, self.sizes["student"], self.sizes["teacher"]]
        curves = {name: list(axes) for name, axes in self.curves.items()}
        return {"times": self.times, "sizes": dict(self.sizes), "curves": curves}

    @property
    def numbers(self) -> int:
        """The number of values in the curves of a point."""
        lengths = {**self.sizes, "time": self.times}
        return sum(int(np.prod([lengths[a] for a in axes])) for axes in self.curves.values())

    def axes(self, variable: str) -> tuple[str, ...]:
        """Return the dimensions of a variable."""
        known = self.study and of_rules(variable)
        return self.curves.get(variable) or (_axes(variable) if known else ())
