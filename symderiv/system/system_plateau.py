"""The plateau of a system: a fixed point in which vectors are alike, and how it is left.

Permutations that leave the equations alone (:mod:`symderiv.system.symmetries`) leave a space of
states alone, in which the flow stays; see :mod:`symderiv.analysis.fixed_points`. Eigenvectors of
its Jacobian are of kinds: *symmetric* ones, and ones that tell members of families apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.symmetric_flow import SymmetricFlow
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.foundation.showing import Shown, Summary
from symderiv.system.closed_motion import overlap_name
from symderiv.system.symmetries import UnitSwap, classes_of
from symderiv.system.system_flow import SystemFlow
from symderiv.system.system_runs import Solver

Floats = npt.NDArray[np.float64]

_COINCIDING = 1e-3


@dataclass(frozen=True, repr=False)
class SystemPlateau(Shown):
    """A symmetric fixed point of a system and the spectrum of its Jacobian.

    Attributes:
        state: Order parameters by name, shapes as in states; ``plateau["w.B"]``.
        observables: The observables by name.
        unstable_eigenvalue: Largest rate of all directions, per unit of α.
        direction: What grows so: "symmetric", or the families whose members it tells apart.
        escape_time: Its inverse, or None where nothing grows.
        eigenvalues: The eigenvalues of the Jacobian by these kinds, complex, largest real part
            first.
        eigenvalue_error: Largest difference found when the steps of differences are doubled.
        residual: Largest rate that is left.
    """

    state: Mapping[str, np.ndarray]
    observables: Mapping[str, float]
    unstable_eigenvalue: float
    direction: str
    escape_time: float | None
    eigenvalues: Mapping[str, np.ndarray]
    eigenvalue_error: float
    residual: float

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.state:
            raise InputError(f"{name!r} is not in the state; there are {', '.join(self.state)}")
        return self.state[name]

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
    """Return the plateau that is approached from the symmetric part of a state.

    Raises:
        InputError: No permutation of vectors leaves the equations alone.
        NotYetError: Time occurs in the equations.
        ToleranceError: No fixed point is approached, or the flow is not smooth there.
    """
    whole = SystemFlow.of(solver, initial, parameters)
    exchanges, place = whole.exchanges, whole.place
    if not exchanges:
        raise InputError(
            "no permutation of vectors leaves the equations unchanged, so there is no symmetric "
            "state; it needs families of several vectors that enter the equations alike, and "
            "fixed vectors whose overlaps are alike"
        )
    size, constants = whole.begin.size, whole.constants
    labels = classes_of(size, [order for each in exchanges for order in each.orders])
    # also what constraints hold
    alike = (np.bincount(labels, whole.begin) / np.bincount(labels))[labels]
    whole = replace(whole, begin=alike)

    def inside(orbits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.asarray(np.unique(orbits[place], return_inverse=True)[1])

    flow = SymmetricFlow(lambda y: whole.rates(whole.state(y))[place], inside(labels), alike[place])
    values = flow.fixed_point(
        lambda y: inside(_coinciding(solver, labels, exchanges, whole.state(y)))
    )
    if values is None:
        raise ToleranceError(
            "the flow approaches no symmetric fixed point from this state; start closer to one"
        )
    families = {each.name: inside(classes_of(size, each.orders)) for each in exchanges}
    told = flow.spectrum(values, families).told(flow.residual(values))
    layout, state = solver.layout, whole.state(values)
    return SystemPlateau(
        state=layout.unpacked(state, constants, layout.shown(initial)),
        observables={k: float(v[0]) for k, v in solver.observed(state[None], constants).items()},
        **told,
    )


def _coinciding(
    solver: Solver,
    symmetric: npt.NDArray[np.int64],
    exchanges: Sequence[UnitSwap],
    state: Floats,
) -> npt.NDArray[np.int64]:
    """Return orbits, with those as one that say that members of a family are one vector."""
    layout = solver.layout
    slices = layout.packing("state").slices
    labels = symmetric.copy()
    for exchange in exchanges:
        for members in (layout.families[n] for n in exchange.families if n in layout.families):
            for i, j in exchange.pairs:
                own, pair = (overlap_name((members[i], members[k])) for k in (i, j))
                if own not in slices:
                    continue
                scale = _COINCIDING * np.max(np.abs(state[slices[own]]))
                if np.max(np.abs(state[slices[own]] - state[slices[pair]])) < scale:
                    for a, b in zip(labels[slices[own]], labels[slices[pair]], strict=True):
                        labels[labels == b] = a
    return labels
