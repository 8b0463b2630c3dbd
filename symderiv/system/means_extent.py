"""The error of means by quadrature along a run of a system.

That error is stated for fields and scalars up to some size. Where a run exceeds that size, its
rates are compared with those of a much finer rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from time import process_time
from typing import Any

import numpy as np

from symderiv.integrate.flows.activation_error import (
    BY_RULE,
    NEAR,
    beyond_line,
    near_tolerance,
)
from symderiv.lowering.means.joint_means import LARGEST_CONSTANT, LARGEST_MEAN, SAFETY
from symderiv.lowering.means.quadrature_error import LARGEST_VARIANCE
from symderiv.system.system_runs import Solver

_COMPARED = 8
"""The number of times outside of the stated range at which rates are compared."""

LONG = 0.5
"""The seconds for one evaluation of rates beyond which a run is reported as slow; a finer rule
takes many times as long, so that rates are not compared.
"""

_ALLOWED = {
    "variance": ("variance up to", LARGEST_VARIANCE),
    "mean": ("means up to", LARGEST_MEAN),
    "scalar": ("scalars up to", LARGEST_CONSTANT),
}


@dataclass(frozen=True)
class RunOfMeans:
    """A run of a system, to assess the error of its means by quadrature, if it has any.

    Attributes:
        solver: The equations.
        alpha: Times, shape (P,).
        states: States at these times, shape (P, n).
        constants: Constants of the equations at these times, shape (P, m).
    """

    solver: Solver
    alpha: np.ndarray
    states: np.ndarray
    constants: np.ndarray

    @cached_property
    def extents(self) -> dict[str, np.ndarray]:
        """The largest variance, mean and scalar in any mean at each time, shape (P,) each."""
        functions, program = self.solver.extents, self.solver.closed.extent_program
        return self.solver.evaluated(program, functions, self.states, self.constants, self.alpha)

    @cached_property
    def outside(self) -> np.ndarray:
        """Indices of the times at which some mean exceeds the range of its stated error."""
        beyond = np.zeros(self.alpha.size, bool)
        for name, sizes in self.extents.items():
            beyond |= sizes > _ALLOWED[name][1]
        return np.flatnonzero(beyond)

    @cached_property
    def changed(self) -> float:
        """The largest change of rates by a much finer rule at some of these times, times the safety
        factor of errors of means; nan if comparing would take long.
        """
        solver, largest = self.solver, 0.0
        rates = solver.right_hand_side, solver.by_finer_rules
        count = min(_COMPARED, self.outside.size)
        for n in self.outside[np.linspace(0, self.outside.size - 1, count).astype(int)]:
            slopes, begun = np.empty((2, self.states.shape[1])), process_time()
            for rate, slope in zip(rates, slopes, strict=True):
                if process_time() - begun > LONG:
                    return float("nan")
                alpha = float(self.alpha[n])
                rate(alpha, self.states[n], solver.layout.sizes, self.constants[n], slope)
            largest = float(np.maximum(largest, np.max(np.abs(slopes[1] - slopes[0]))))
        return SAFETY * largest

    @property
    def error(self) -> float:
        """The stated error of means; outside of its range the change of rates if that is larger, or
        nan if that is not known.
        """
        stated = self.solver.closed.means.error
        return float(np.maximum(stated, self.changed)) if self.outside.size else stated

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes in files that state the error of means."""
        told = "not known" if np.isnan(self.error) else f"{self.error:.2g}"
        return {"means_error": told} if self.extents else {}

    def warnings(self, tolerance: float) -> Iterator[str]:
        """Yield warnings on the means of a run with a tolerance, one line each."""
        if not self.extents or not self.alpha.size:
            return
        if not np.isnan(self.error):
            yield from near_tolerance(
                f"means: {BY_RULE}", self.error, tolerance, "relative_tolerance"
            )
        yield from self.beyond(tolerance)

    def beyond(self, tolerance: float) -> Iterator[str]:
        """Yield a warning if states leave the range of the stated error and rates may be off by
        more than a tolerance allows.
        """
        if self.outside.size and not self.changed <= NEAR * tolerance:
            stated = f"means: the error by quadrature, {self.solver.closed.means.error:.1e}"
            limits = ", ".join(
                f"{_ALLOWED[name][0]} {_ALLOWED[name][1]:g}" for name in self.extents
            )
            largest = {name: float(np.max(sizes)) for name, sizes in self.extents.items()}
            past = [n for n, size in largest.items() if size > _ALLOWED[n][1]]
            reached = ", ".join(f"{name} {largest[name]:.3g}" for name in past)
            tail = f"where rates may be off by {self.changed:.1e}, by a much finer rule"
            if np.isnan(self.changed):
                tail = "and comparing rates with those of a much finer rule would take long"
            yield beyond_line(stated, limits, float(self.alpha[self.outside[0]]), reached, tail)


def means_at(solver: Solver, given: Mapping[str, Any], parameters: Mapping[str, Any]) -> RunOfMeans:
    """Return the run that has one state only, with the arguments of its rates."""
    state, constants, alpha = solver.placed(given, parameters)
    return RunOfMeans(solver, np.array([alpha]), state[None], constants[None])
