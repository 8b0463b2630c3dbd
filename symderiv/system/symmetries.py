"""Permutations of vectors and scalars that leave the equations of a system alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.foundation.packing import orbits
from symderiv.system.closed_motion import overlap_name, scalar_name
from symderiv.system.system_runs import Solver

Floats = npt.NDArray[np.float64]
_Samples = Sequence[tuple[Floats, Floats]]

_SAME_CONSTANTS, _SAME_RATES = 1e-12, 1e-7
_SAMPLES = 2


@dataclass(frozen=True)
class UnitSwap:
    """Families whose members may be exchanged, the i-th with the j-th of all of them at once.

    Attributes:
        families: Their names.
        pairs: The pairs of members, counted from 0.
        orders: Where the entries of a state come from, one per pair, shape (n,).
    """

    families: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    orders: tuple[npt.NDArray[np.int64], ...]

    @property
    def name(self) -> str:
        """The families in words."""
        return ", ".join(self.families)


def exchanges_of(solver: Solver, constants: Floats) -> list[UnitSwap]:
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
    samples = _samples(solver, constants)
    exchanges: list[UnitSwap] = []
    for size, names in sizes.items():
        left = list(names)
        for count in range(1, len(names) + 1):
            for families in combinations(names, count):
                if not set(families) <= set(left):
                    continue
                exchange = _exchange(solver, families, size, constants, samples)
                if exchange is not None:
                    exchanges.append(exchange)
                    left = [name for name in left if name not in families]
    return exchanges


def classes_of(count: int, orders: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return for every entry the number of its orbit under permutations, from 0."""
    return np.asarray(np.unique(orbits(count, orders), return_inverse=True)[1])


def _exchange(
    solver: Solver,
    families: tuple[str, ...],
    size: int,
    constants: Floats,
    samples: _Samples,
) -> UnitSwap | None:
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
        if _moves_rates(solver, constants, samples, itemgetter(state)):
            pairs.append((i, j))
            orders.append(state)
    return UnitSwap(families, tuple(pairs), tuple(orders)) if pairs else None


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
    for place, other in renamed_fields(solver, moved):
        if place in packing.slices:
            if other not in packing.slices:
                return None
            order[packing.slices[place]] = np.arange(packing.size)[packing.slices[other]]
    return order


def renamed_fields(solver: Solver, moved: dict[Any, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names of arrays with those that stand in their place."""
    closed = solver.closed
    for a, b in closed.pairs:
        pair = closed.ordered(moved.get(a, a), moved.get(b, b))
        yield overlap_name((a, b)), overlap_name(pair)
    for symbol in solver.layout.symbols.scalars:
        yield scalar_name(symbol), scalar_name(moved.get(symbol, symbol))


def _moves_rates(
    solver: Solver, constants: Floats, samples: _Samples, moved: Callable[[Floats], Floats]
) -> bool:
    """Return whether rates of moved states are the moved rates."""
    return all(
        np.max(np.abs(rates_of(solver, constants, moved(state)) - moved(rates)))
        <= _SAME_RATES * np.max(np.abs(rates))
        for state, rates in samples
    )


def rates_of(solver: Solver, constants: Floats, state: Floats) -> Floats:
    """Return the rates of a packed state."""
    rates = np.empty_like(state)
    solver.right_hand_side(0.0, state, solver.layout.sizes, constants, rates)
    return rates


def signs_of(solver: Solver, constants: Floats) -> list[Floats]:
    """Return the changes of sign of members that leave the equations alone, as factors of the
    entries of a state, shape (n,).

    A member is one of a family of vectors, with the scalar of the same number or without.
    """
    layout, closed = solver.layout, solver.closed
    samples, signs = _samples(solver, constants), []
    scalars: list[tuple[Any, ...]] = [(), *layout.scalars.values()]
    for members in layout.families.values():
        for others in (each for each in scalars if len(each) in (0, len(members))):
            for number, vector in enumerate(members):
                turned = {vector, *others[number : number + 1]}
                factors = []
                for kind in ("state", "parameters"):
                    packing = layout.packing(kind)
                    factor = np.ones(packing.size)
                    for a, b in closed.pairs:
                        if overlap_name((a, b)) in packing.slices:
                            sign = (-1.0) ** ((a in turned) + (b in turned))
                            factor[packing.slices[overlap_name((a, b))]] *= sign
                    for symbol in layout.symbols.scalars:
                        if symbol in turned and scalar_name(symbol) in packing.slices:
                            factor[packing.slices[scalar_name(symbol)]] *= -1.0
                    factors.append(factor)
                own, fixed = factors
                if np.any(fixed * constants != constants) or np.all(own == 1.0):
                    continue
                if _moves_rates(solver, constants, samples, partial(np.multiply, own)):
                    signs.append(own)
    return signs


def _samples(solver: Solver, constants: Floats) -> _Samples:
    """Return states in general position with their rates."""
    drawn = map(np.random.default_rng, range(_SAMPLES))
    states = [drawn_state(solver, constants, each) for each in drawn]
    return [(state, rates_of(solver, constants, state)) for state in states]


def drawn_state(
    solver: Solver, constants: Floats, drawn: np.random.Generator, scale: float = 0.8
) -> Floats:
    """Return a state of drawn vectors of about this length beside the fixed ones."""
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
