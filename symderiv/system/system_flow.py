"""The equations of a system as a flow, for the search of fixed points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.exchanged_flow import (
    ExchangedFlow,
    UnitEntries,
    classes_of,
    of_vectors,
)
from symderiv.foundation.errors import NotYetError
from symderiv.system.closed_motion import overlap_name, scalar_name
from symderiv.system.system_runs import Solver

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_MOST_ELEMENTS = 20_000


@dataclass(frozen=True)
class UnitSwap:
    """Families whose members i and j may be exchanged, in all of these families at once.

    Attributes:
        families: The names of the families.
        pairs: The pairs of members, counted from 0.
        units: Units in their new order, one per pair.
        orders: The permutation of coordinates for each pair, shape (n,).
    """

    families: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    units: tuple[Labels, ...]
    orders: tuple[Labels, ...]

    @property
    def name(self) -> str:
        """The families in words."""
        return ", ".join(self.families)


@dataclass(frozen=True)
class SystemFlow(ExchangedFlow):
    """The flow of a system, with the constants of a given start.

    Attributes:
        solver: The compiled equations.
        begin, constants: The packed start and constants.
        held: Places of entries fixed by constraints, with their values if known.
        unit: The largest rate at generic states.
    """

    solver: Solver
    begin: Floats
    constants: Floats
    held: Mapping[int, float | None]
    unit: float

    @classmethod
    def of(
        cls, solver: Solver, initial: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> SystemFlow:
        """Return the flow from a state by name.

        Raises:
            NotYetError: The equations depend on time.
        """
        if not solver.closed.autonomous:
            raise NotYetError("fixed points need a flow whose coefficients do not depend on time")
        begin, constants = solver.layout.packed(initial, parameters)
        held = _held_places(solver)
        for place, value in held.items():
            if value is not None:
                begin[place] = value
        flow = cls(solver, begin, constants, held, 1.0)
        speeds = [np.max(np.abs(flow.slope(state[flow.place]))) for state in flow.samples(5, 3)]
        return cls(solver, begin, constants, held, float(np.median(speeds)) or 1.0)

    @cached_property
    def place(self) -> Labels:
        """Places of all entries that no constraint fixes."""
        return np.array([n for n in range(self.begin.size) if n not in self.held])

    def state(self, values: Floats) -> Floats:
        """Return the packed state with these values of the free entries."""
        packed = self.begin.copy()
        packed[self.place] = values
        return packed

    def slope(self, values: Floats, constants: Floats | None = None) -> Floats:
        used = self.constants if constants is None else constants
        rates = rates_of(self.solver, used, self.state(values))
        return np.asarray(rates[self.place] / self.unit)

    def inside(self, values: Floats) -> Floats:
        if self.held:
            return values  # constraints fix lengths
        layout, closed = self.solver.layout, self.solver.closed
        moving = [(v, v) in closed.moving for v in layout.statement.vectors]
        own, others = np.flatnonzero(moving), np.flatnonzero(np.logical_not(moving))
        state = self.state(values)
        views = layout.packing("state").views(state)
        for k, gram in enumerate(self.grams(values)):
            places = (own, own), (own, others), (others, others)
            filled = of_vectors(*(gram[np.ix_(*each)] for each in places))
            for i, j in combinations_with_replacement(range(own.size), 2):
                pair = (layout.statement.vectors[own[n]] for n in (i, j))
                views[overlap_name(closed.ordered(*pair))][k] = filled[i, j]
        return state[self.place]

    def along(self, parameter: str) -> Callable[[float], tuple[Floats, float]]:
        """Return a function of one parameter that gives the constants and the unit of rates."""
        packing = self.solver.layout.packing("parameters")

        def at(value: float) -> tuple[Floats, float]:
            constants = self.constants.copy()
            packing.views(constants)[f"p__{parameter}"][...] = value
            return constants, self.unit

        return at

    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        random = np.random.default_rng(seed)
        for _ in range(count):
            scale = 10.0 ** random.uniform(-1.0, 0.4)
            state = drawn_state(self.solver, self.constants, random, scale)
            yield self.state(state[self.place])

    @cached_property
    def _units(self) -> dict[Any, int]:
        """Numbers of the units, which are vectors and scalars."""
        layout = self.solver.layout
        units = [*layout.statement.vectors, *layout.symbols.scalars]
        return {unit: n for n, unit in enumerate(units)}

    def _entries(self, vector: str) -> UnitEntries:
        """Return the units of the entries of states or parameters."""
        owners: dict[str, tuple[Any, ...]]
        owners = {overlap_name(pair): pair for pair in self.solver.closed.pairs}
        owners |= {scalar_name(each): (each,) for each in self.solver.layout.symbols.scalars}
        entries = []
        for name, part in self.solver.layout.packing(vector).slices.items():
            units = [self._units[unit] for unit in owners.get(name, ())]
            kind = name if not units else ""
            entries += [((kind, n), units, True) for n in range(part.stop - part.start)]
        return UnitEntries.of(len(self._units), entries)

    @cached_property
    def whole(self) -> UnitEntries:
        return self._entries("state")

    @cached_property
    def fixed(self) -> Sequence[tuple[UnitEntries, Floats]]:
        return ((self._entries("parameters"), self.constants),)

    @cached_property
    def exchanges(self) -> Sequence[UnitSwap]:
        """Exchanges of members of families under which the equations are invariant.

        As little as possible is exchanged at once: vectors of one family, or vectors with the
        scalars that belong to them.
        """
        layout = self.solver.layout
        members: dict[str, tuple[Any, ...]] = {**layout.families, **layout.scalars}
        left = [name for name, each in members.items() if len(each) > 1]
        exchanges: list[UnitSwap] = []
        for count in range(1, len(left) + 1):
            for families in combinations(list(left), count):
                sizes = {len(members[name]) for name in families}
                if len(sizes) > 1 or not set(families) <= set(left):
                    continue
                swap = self._swap(families, [members[name] for name in families])
                if swap.pairs:
                    exchanges.append(swap)
                    left = [name for name in left if name not in families]
        return exchanges

    def _swap(self, families: tuple[str, ...], members: Sequence[tuple[Any, ...]]) -> UnitSwap:
        """Return the pairs of members that may be exchanged, in all of these families at once."""
        swaps = []
        for i, j in combinations(range(len(members[0])), 2):
            moved = np.arange(len(self._units))
            for each in members:
                a, b = self._units[each[i]], self._units[each[j]]
                moved[[a, b]] = b, a
            symmetry = self.symmetry_of(moved, np.ones(moved.size))
            if symmetry is not None:
                swaps.append(((i, j), moved, symmetry[0]))
        return UnitSwap(families, *(zip(*swaps, strict=True) if swaps else ((), (), ())))

    @property
    def kinds(self) -> Mapping[str, Sequence[Labels]]:
        return {each.name: each.orders for each in self.exchanges}

    @cached_property
    def _signs(self) -> list[Floats]:
        """Sign changes of single vectors, with or without the scalar of the same number, under
        which the equations are invariant.
        """
        layout, signs = self.solver.layout, []
        for members in layout.families.values():
            of_one_size = [each for each in layout.scalars.values() if len(each) == len(members)]
            for others in ((), *of_one_size):
                for n, vector in enumerate(members):
                    turned = np.ones(len(self._units))
                    turned[[self._units[each] for each in (vector, *others[n : n + 1])]] = -1.0
                    symmetry = self.symmetry_of(np.arange(turned.size), turned)
                    if symmetry is not None and np.any(symmetry[1] != 1.0):
                        signs.append(symmetry[1])
        return signs

    @cached_property
    def elements(self) -> tuple[Labels, Floats]:
        size = self.place.size
        same, whole = np.arange(size), np.ones(size)
        moves = [(order, whole) for each in self.exchanges for order in each.orders]
        moves += [(same, sign) for sign in self._signs]
        reached = {_key(same, whole): (same, whole)}
        waiting = list(reached.values())
        while waiting:
            order, sign = waiting.pop()
            for other, factor in moves:
                new = order[other], sign[other] * factor
                if _key(*new) not in reached:
                    reached[_key(*new)] = new
                    waiting.append(new)
            if len(reached) > _MOST_ELEMENTS:
                raise NotYetError(
                    f"these equations have more than {_MOST_ELEMENTS} symmetries; take fewer units"
                )
        orders, signs = zip(*reached.values(), strict=True)
        return np.array(orders), np.array(signs)

    @cached_property
    def vectors(self) -> Sequence[Sequence[Sequence[int]]]:
        """Families of moving vectors, split into groups of exchangeable members."""
        layout, alike = self.solver.layout, []
        for exchange in self.exchanges:
            for members in (layout.families.get(name, ()) for name in exchange.families):
                if members and (members[0], members[0]) in self.solver.closed.moving:
                    own = np.array([self._units[each] for each in members])
                    labels = classes_of(len(self._units), exchange.units)[own]
                    groups = (own[labels == label] for label in np.unique(labels))
                    alike += [[(unit,) for unit in each] for each in groups if len(each) > 1]
        return alike

    def grams(self, values: Floats, constants: Floats | None = None) -> Iterator[Floats]:
        layout, vectors = self.solver.layout, self.solver.layout.statement.vectors
        known = self.constants if constants is None else constants
        fields = layout.fields(self.state(values), known)
        if fields.keys() >= {name for row in layout.pair_names(vectors) for name in row}:
            yield from layout.gram(vectors, fields)

    def alike(self, values: Floats) -> str:
        """Return, in words, the members of families whose exchange leaves a state invariant."""
        words, scale = [], 1e-6 * (1 + np.max(np.abs(self.state(values))))
        for exchange in self.exchanges:
            pairs = [
                f"{i + 1} ~ {j + 1}"
                for (i, j), order in zip(exchange.pairs, exchange.orders, strict=True)
                if np.max(np.abs(values[order] - values)) < scale
            ]
            words += [f"{exchange.name} {', '.join(pairs)}"] if pairs else []
        return "; ".join(words)


def _key(order: Labels, sign: Floats) -> bytes:
    return bytes(order.tobytes() + sign.tobytes())


def _held_places(solver: Solver) -> dict[int, float | None]:
    """Return the places of a state that constraints fix, with their values if these are known."""
    layout, closed = solver.layout, solver.closed
    slices = layout.packing("state").slices
    held: dict[int, float | None] = {}
    for constraint in layout.statement.constraints:
        if layout.classes > 1:
            raise NotYetError("fixed points under constraints need isotropic inputs")
        for a in constraint.vectors:
            for b in constraint.vectors:
                if a is b or constraint.kind == "orthonormal":
                    value = float(a is b) if constraint.kind == "orthonormal" else None
                    held[slices[overlap_name(closed.ordered(a, b))].start] = value
    return held


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
