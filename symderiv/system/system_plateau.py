"""The plateau of a system: a fixed point in which vectors are equivalent, and the escape from it.

Permutations under which the equations are invariant (:class:`.SystemFlow`) have an invariant space
of symmetric states; see :mod:`symderiv.analysis.fixed_points`. Eigenvectors of the Jacobian are of
kinds: *symmetric* ones, and ones that distinguish members of families.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from symderiv.analysis.fixed_points.exchanged_flow import classes_of
from symderiv.analysis.fixed_points.symmetric_flow import symmetric_point
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.foundation.showing import Shown, Summary
from symderiv.system.named_states import ByName
from symderiv.system.system_flow import SystemFlow
from symderiv.system.system_runs import Solver


@dataclass(frozen=True, repr=False)
class SystemPlateau(ByName, Shown):
    """A symmetric fixed point of a system and the spectrum of its Jacobian.

    Attributes:
        state: Order parameters by name, shapes as in states; ``plateau["w.B"]``.
        observables: The observables by name.
        unstable_eigenvalue: Largest rate of all directions, per unit of α.
        direction: Its direction: "symmetric", or the families whose members it separates.
        escape_time: The inverse of that rate, or None if no direction is unstable.
        eigenvalues: The eigenvalues of the Jacobian by these kinds, complex, largest real part
            first.
        eigenvalue_error: Largest difference found when the steps of differences are doubled.
        residual: Largest remaining rate at the fixed point.
    """

    state: Mapping[str, np.ndarray]
    observables: Mapping[str, float]
    unstable_eigenvalue: float
    direction: str
    escape_time: float | None
    eigenvalues: Mapping[str, np.ndarray]
    eigenvalue_error: float
    residual: float

    _where: ClassVar[str] = "state"

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the order parameters by name."""
        return self.state

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [*self.state.items(), *self.observables.items()]
        rows += [
            ("unstable_eigenvalue", self.unstable_eigenvalue),
            ("direction", self.direction),
            ("escape_time", self.escape_time),
            ("eigenvalue_error", self.eigenvalue_error),
        ]
        return Summary("Symmetric plateau of a system", rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers; of eigenvalues the real parts."""
        return {
            **vars(self),
            "state": {name: np.asarray(value).tolist() for name, value in self.state.items()},
            "observables": dict(self.observables),
            "eigenvalues": {kind: each.real.tolist() for kind, each in self.eigenvalues.items()},
        }


def plateau_of(
    solver: Solver, initial: Mapping[str, Any], parameters: Mapping[str, Any]
) -> SystemPlateau:
    """Return the plateau that the flow approaches from the symmetric part of a state.

    Raises:
        InputError: The equations are invariant under no permutation of vectors.
        NotYetError: The equations depend on time.
        ToleranceError: No fixed point is approached, or the flow is not smooth there.
    """
    whole = SystemFlow.of(solver, initial, parameters)
    if not whole.exchanges:
        raise InputError(
            "no permutation of vectors leaves the equations unchanged, so there is no symmetric "
            "state; it needs families of several vectors that enter the equations alike, and "
            "fixed vectors whose overlaps are alike"
        )
    orders = [whole.whole.places(units) for each in whole.exchanges for units in each.units]
    labels = classes_of(whole.begin.size, [each for each in orders if each is not None])
    # the average also satisfies the constraints
    alike = (np.bincount(labels, whole.begin) / np.bincount(labels))[labels]
    whole = replace(whole, begin=alike)
    point = symmetric_point(whole)
    if point is None:
        raise ToleranceError(
            "the flow approaches no symmetric fixed point from this state; start closer to one"
        )
    values, spectrum, residual = point
    layout, state, constants = solver.layout, whole.state(values), whole.constants
    return SystemPlateau(
        state=layout.unpacked(state, constants, layout.shown(initial)),
        observables={k: float(v[0]) for k, v in solver.observed(state[None], constants).items()},
        **spectrum.told(residual),
    )
