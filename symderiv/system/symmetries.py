"""Permutations of vectors and scalars that leave the equations of a system alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.foundation.packing import orbits
from symderiv.system.closed_motion import overlap_name, scalar_name
from symderiv.system.system_runs import Solver

__all__ = ["Exchange", "classes_of", "exchanges_of"]

Floats = npt.NDArray[np.float64]

_SAME_CONSTANTS, _SAME_RATES = 1e-12, 1e-7
_SAMPLES = 2


@dataclass(frozen=True)
class Exchange:
    """Families whose members may be exchanged, the i-th with the j-th of all of them at once.

    Attributes:
        families: Their names.
        pairs: Of members, counted from 0.
        orders: Where the entries of a state come from, one per pair, shape (n,).
    """

    families: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    orders: tuple[npt.NDArray[np.int64], ...]

    @property
    def name(self) -> str:
        """The families in words."""
        return ", ".join(self.families)


def exchanges_of(solver: Solver, constants: Floats) -> list[Exchange]:
    """Return the exchanges that leave the equations with these constants alone.

    What is exchanged together is as little as possible: student and teacher vectors each for
    themselves; vectors and the scalars that belong to them at once. Equations are compared at
    states in general position.
    """
    layout = solver.layout
    members: dict[str, tuple[Any, ...]] = {**layout.families, **layout.scalars}
    sizes: dict[int, list[str]] = {}
    for name, each in members.items():
        if len(each) > 1:
            sizes.setdefault(len(each), []).append(name)
    samples = [_general(solver, constants, seed) for seed in range(_SAMPLES)]
    found: list[Exchange] = []
    for size, names in sizes.items():
        left = list(names)
        for count in range(1, len(names) + 1):
            for families in combinations(names, count):
                if not set(families) <= set(left):
                    continue
                exchange = _exchange(solver, families, size, constants, samples)
                if exchange is not None:
                    found.append(exchange)
                    left = [name for name in left if name not in families]
    return found


def classes_of(count: int, orders: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return for every entry the number of its orbit under permutations, from 0."""
    return np.asarray(np.unique(orbits(count, orders), return_inverse=True)[1])


def _exchange(
    solver: Solver,
    families: tuple[str, ...],
    size: int,
    constants: Floats,
    samples: Sequence[tuple[Floats, Floats]],
) -> Exchange | None:
    """Return the pairs that may be exchanged in families, None if there are none."""
    pairs, orders = [], []
    for i, j in combinations(range(size), 2):
        state = _order(solver, families, i, j, "state")
        fixed = _order(solver, families, i, j, "parameters")
        if state is None or fixed is None:
            continue
        largest = np.max(np.abs(constants))
        if np.max(np.abs(constants[fixed] - constants)) > _SAME_CONSTANTS * largest:
            continue
        if all(_same(solver, constants, state, *sample) for sample in samples):
            pairs.append((i, j))
            orders.append(state)
    return Exchange(families, tuple(pairs), tuple(orders)) if pairs else None


def _order(
    solver: Solver, families: tuple[str, ...], i: int, j: int, vector: str
) -> npt.NDArray[np.int64] | None:
    """Return where the entries of a vector come from under an exchange of members."""
    layout = solver.layout
    moved: dict[Any, Any] = {}
    for name in families:
        each = layout.families.get(name) or layout.scalars[name]
        moved |= {each[i]: each[j], each[j]: each[i]}
    packing = layout.packing(vector)
    order = np.arange(packing.size)
    for place, other in _renamed(solver, moved):
        if place in packing.slices:
            if other not in packing.slices:
                return None
            order[packing.slices[place]] = np.arange(packing.size)[packing.slices[other]]
    return order


def _renamed(solver: Solver, moved: dict[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of arrays with those that stand in their place."""
    closed = solver.closed
    for a, b in closed.pairs:
        pair = closed.ordered(moved.get(a, a), moved.get(b, b))
        yield overlap_name((a, b)), overlap_name(pair)
    for symbol in solver.layout.symbols.scalars:
        yield scalar_name(symbol), scalar_name(moved.get(symbol, symbol))


def _same(
    solver: Solver, constants: Floats, order: npt.NDArray[np.int64], state: Floats, rates: Floats
) -> bool:
    """Return whether rates of an exchanged state are the exchanged rates."""
    other = np.empty_like(rates)
    solver.right_hand_side(0.0, state[order].copy(), solver.layout.sizes, constants, other)
    return bool(np.max(np.abs(other - rates[order])) <= _SAME_RATES * np.max(np.abs(rates)))


def _general(solver: Solver, constants: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return a state of drawn vectors beside the fixed ones, and its rates."""
    layout, closed = solver.layout, solver.closed
    drawn = np.random.default_rng(seed)
    vectors = layout.statement.vectors
    fixed = [v for v in vectors if (v, v) not in closed.moving]
    given = layout.packing("parameters").views(constants)
    packing = layout.packing("state")
    state = drawn.uniform(0.3, 0.9, packing.size)
    views = packing.views(state)
    room = len(fixed) + len(vectors) + 2
    for k in range(layout.classes):
        gram = np.array(
            [[float(given[overlap_name(closed.ordered(a, b))][k]) for b in fixed] for a in fixed]
        ).reshape(len(fixed), len(fixed))
        values, basis = np.linalg.eigh(gram)
        roots = basis * np.sqrt(np.maximum(values, 0.0))
        place = {
            v: np.pad(root, (0, room - len(fixed))) for v, root in zip(fixed, roots, strict=True)
        }
        for v in vectors:
            if v not in place:
                place[v] = drawn.normal(size=room) * 0.8 / np.sqrt(room)
        for a, b in closed.moving:
            views[overlap_name((a, b))][k] = place[a] @ place[b]
    rates = np.empty_like(state)
    solver.right_hand_side(0.0, state, layout.sizes, constants, rates)
    return state, rates
