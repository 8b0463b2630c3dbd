"""The equations of a system as a flow whose fixed points are looked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow, averaging, partitions
from symderiv.foundation.errors import NotYetError
from symderiv.system.closed_motion import overlap_name
from symderiv.system.symmetries import (
    UnitSwap,
    drawn_state,
    exchanges_of,
    rates_of,
    renamed_fields,
    signs_of,
)
from symderiv.system.system_runs import Solver

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_MOST_ELEMENTS = 20_000


@dataclass(frozen=True)
class SystemFlow(ExchangedFlow):
    """A system from a start, which says what its constants are.

    Attributes:
        solver: Its compiled equations.
        begin, constants: Packed.
        held: Places that constraints hold, with their values.
        unit: Largest rate at states in general position.
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
            NotYetError: Time occurs in the equations.
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
        """Places of all entries that no constraint holds."""
        return np.array([n for n in range(self.begin.size) if n not in self.held])

    def state(self, values: Floats) -> Floats:
        """Return the packed state of these coordinates."""
        packed = self.begin.copy()
        packed[self.place] = values
        return packed

    def rates(self, state: Floats) -> Floats:
        """Return the rates of a packed state."""
        return rates_of(self.solver, self.constants, state)

    def slope(self, values: Floats) -> Floats:
        return np.asarray(self.rates(self.state(values))[self.place] / self.unit)

    def samples(self, count: int, seed: int) -> Iterator[Floats]:
        random = np.random.default_rng(seed)
        for _ in range(count):
            scale = 10.0 ** random.uniform(-1.0, 0.4)
            state = drawn_state(self.solver, self.constants, random, scale)
            yield self.state(state[self.place])

    @cached_property
    def exchanges(self) -> Sequence[UnitSwap]:
        """Permutations of members of families that leave the equations alone."""
        return exchanges_of(self.solver, self.constants)

    @cached_property
    def elements(self) -> tuple[Labels, Floats]:
        size = self.begin.size
        same = np.arange(size)
        moves = [(order, np.ones(size)) for each in self.exchanges for order in each.orders]
        moves += [(same, sign) for sign in signs_of(self.solver, self.constants)]
        reached = {_key(same, np.ones(size)): (same, np.ones(size))}
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
        number = np.full(size, -1)
        number[self.place] = np.arange(self.place.size)
        orders, signs = zip(*reached.values(), strict=True)
        return (
            np.array([number[order[self.place]] for order in orders]),
            np.array([sign[self.place] for sign in signs]),
        )

    def merged(self) -> Iterator[Floats]:
        packing = self.solver.layout.packing("state")
        number = np.full(self.begin.size, -1)
        number[self.place] = np.arange(self.place.size)
        for exchange in self.exchanges:
            for members in self._moving_families(exchange):
                for labels in partitions(len(members)):
                    first = {
                        m: members[labels.index(k)] for m, k in zip(members, labels, strict=True)
                    }
                    if len(set(labels)) == len(members):
                        continue
                    classes: dict[tuple[str, int], list[int]] = {}
                    for own, other in renamed_fields(self.solver, first):
                        if own in packing.slices:
                            for n, place in enumerate(
                                np.arange(self.begin.size)[packing.slices[own]]
                            ):
                                if number[place] >= 0:
                                    classes.setdefault((other, n), []).append(int(number[place]))
                    yield averaging(self.place.size, classes.values())

    def _moving_families(self, exchange: UnitSwap) -> Iterator[tuple[Any, ...]]:
        """Yield the families of vectors that move, all of whose members may be exchanged."""
        for name in exchange.families:
            members = self.solver.layout.families.get(name, ())
            every = len(members) * (len(members) - 1) // 2
            moving = members and (members[0], members[0]) in self.solver.closed.moving
            if moving and len(exchange.pairs) == every:
                yield members

    def physical(self, values: Floats) -> bool:
        layout, closed = self.solver.layout, self.solver.closed
        vectors = layout.statement.vectors
        fields = {
            **layout.packing("parameters").views(self.constants),
            **layout.packing("state").views(self.state(values)),
        }
        for k in range(layout.classes):
            names = [[overlap_name(closed.ordered(a, b)) for b in vectors] for a in vectors]
            if any(name not in fields for row in names for name in row):
                return True  # not all overlaps are followed
            gram = np.array([[float(fields[name][k]) for name in row] for row in names])
            eigenvalues = np.linalg.eigvalsh(gram)
            if eigenvalues[0] < -1e-8 * max(eigenvalues[-1], 1e-300):
                return False
        return True

    def alike(self, values: Floats) -> str:
        """Return which members of families an exchange in this state leaves alone, in words."""
        state, words = self.state(values), []
        scale = 1e-6 * (1 + np.max(np.abs(state)))
        for exchange in self.exchanges:
            pairs = [
                f"{i + 1} ~ {j + 1}"
                for (i, j), order in zip(exchange.pairs, exchange.orders, strict=True)
                if np.max(np.abs(state[order] - state)) < scale
            ]
            words += [f"{exchange.name} {', '.join(pairs)}"] if pairs else []
        return "; ".join(words)


def _key(order: Labels, sign: Floats) -> bytes:
    return bytes(order.tobytes() + sign.tobytes())


def _held_places(solver: Solver) -> dict[int, float | None]:
    """Return the places of a state that constraints hold, with their values if these are known."""
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
