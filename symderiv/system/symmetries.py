"""Rates of a system at packed states, and random states."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from symderiv.system.closed_motion import overlap_name
from symderiv.system.system_runs import Solver

Floats = npt.NDArray[np.float64]


def rates_of(solver: Solver, constants: Floats, state: Floats) -> Floats:
    """Return the rates of a packed state."""
    rates = np.empty_like(state)
    solver.right_hand_side(0.0, state, solver.layout.sizes, constants, rates)
    return rates


def drawn_state(
    solver: Solver, constants: Floats, drawn: np.random.Generator, scale: float = 0.8
) -> Floats:
    """Return a state of random vectors of about this length beside the fixed ones."""
    layout, closed = solver.layout, solver.closed
    vectors = layout.statement.vectors
    fixed = [v for v in vectors if (v, v) not in closed.moving]
    given = layout.packing("parameters").views(constants)
    packing = layout.packing("state")
    state = drawn.uniform(0.3, 0.9, packing.size)
    views = packing.views(state)
    length = len(fixed) + len(vectors) + 2
    for k in range(layout.classes):
        gram = np.array(
            [[float(given[overlap_name(closed.ordered(a, b))][k]) for b in fixed] for a in fixed]
        ).reshape(len(fixed), len(fixed))
        values, basis = np.linalg.eigh(gram)
        roots = basis * np.sqrt(np.maximum(values, 0.0))
        place = {
            v: np.pad(root, (0, length - len(fixed))) for v, root in zip(fixed, roots, strict=True)
        }
        for v in vectors:
            if v not in place:
                place[v] = drawn.normal(size=length) * scale / np.sqrt(length)
        for a, b in closed.moving:
            views[overlap_name((a, b))][k] = place[a] @ place[b]
    return state
