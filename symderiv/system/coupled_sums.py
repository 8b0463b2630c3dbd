"""The sums over eigenvalue classes through which the equations of a system are coupled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp
from symderiv_codegen import Assignment

from symderiv.integrate.steppers.coupled_modes import CoupledModes, ModeRow
from symderiv.system.closed_motion import Closed, overlap_name
from symderiv.system.named_states import Layout

__all__ = ["Sums", "modes_of_system", "sums_in"]

#: Factors of the terms of sums over the classes, with their powers, by the names of arrays.
Sums = tuple[Mapping[str, int], ...]


def sums_in(closed: Closed) -> Sums:
    """Return the sums over the eigenvalue classes that occur in the rates of a system."""
    procedure = closed.program.procedure("right_hand_side")
    assert procedure is not None
    values = (step.value for step in procedure.body if isinstance(step, Assignment))
    terms = {term for value in values for term in value.atoms(sp.Sum)}
    return tuple(
        {str(array.base): int(power) for array, power in each.function.as_powers_dict().items()}
        for each in sorted(terms, key=str)
    )


def modes_of_system(
    closed: Closed, sums: Sums, layout: Layout, constants: np.ndarray
) -> CoupledModes:
    """Return the modes of a state, and how they are summed.

    Args:
        closed: The equations.
        sums: Those that occur in them.
        layout: How vectors are packed.
        constants: The constants of a run.
    """
    state, known = layout.packing("state"), layout.packing("parameters").views(constants)
    weights: dict[str, list[np.ndarray]] = {name: [] for name in state.shapes}
    for factors in sums:
        for name in factors.keys() & weights.keys():
            others = (known[other] ** power for other, power in factors.items() if other != name)
            weights[name].append(np.prod([*others], axis=0))
    moving = {overlap_name(pair): pair for pair in closed.moving}
    rows = (
        ModeRow(state.slices[name].start, tuple(weights[name]), pair[0] == pair[1])
        for name, pair in moving.items()
    )
    return CoupledModes(state.size, layout.classes, tuple(rows))
