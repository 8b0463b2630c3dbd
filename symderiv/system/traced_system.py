"""The equations of a system in exact numbers, for proved runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from symderiv.enclosures.exact_laws import ExactLaw, ExactPiece, ExactVectors
from symderiv.enclosures.traced_flow import TIME, Place, TracedRates, module_of
from symderiv.enclosures.traced_module import traced
from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.operations import Operations
from symderiv.system.closed_motion import BEGIN
from symderiv.system.point_run import PointRun
from symderiv.system.system_following import VariedSystemRun


@dataclass(frozen=True)
class TracedSystem(TracedRates):
    """The equations of a system in exact numbers.

    Attributes:
        flow: A run of the system in doubles.
        shown: The names of the order parameters in results.
    """

    flow: PointRun
    shown: tuple[str, ...]

    @classmethod
    def of(cls, flow: PointRun) -> TracedSystem:
        """Return the equations of a run.

        Raises:
            NotYetError: A mean is an integral, or steps are over batches.
        """
        point, closed = flow.point, flow.point.solver.closed
        if closed.equations.by_steps:
            raise NotYetError("proves no runs of steps over batches", argument="certify")
        if closed.means.by_quadrature:
            raise NotYetError(
                "has no enclosure: a mean is an integral; take activations and losses with closed "
                "means (erf, relu, polynomials, …)",
                argument="certify",
            )
        layout = point.solver.layout
        packings = layout.packing("state"), layout.packing("parameters")
        vectors = ExactVectors(point.state, point.constants, *packings)
        pieces = []
        for piece in flow.course.pieces:
            numbers = replace(vectors, constants=piece.laws[0].constants).numbers
            if BEGIN in numbers:
                # time in the state is that of the whole run
                numbers[BEGIN] = np.array(Fraction(0))
            pieces.append(ExactPiece(piece.begin, (ExactLaw(numbers),)))
        first, shown = pieces[0].laws[0], layout.shown(point.given)
        module = module_of(closed.program)
        return cls(closed.program, module, vectors, first, tuple(pieces), flow, shown)

    @property
    def in_time(self) -> bool:
        return self.flow.point.solver.closed.in_time

    @cached_property
    def names(self) -> list[str]:
        """The names of the moving fields as in solver modules, with the eigenvalue class."""
        return [
            TIME[0] if (name, place) == TIME else f"{name}[{place + 1}]"
            for name, place in self.moving
        ]

    @cached_property
    def observables(self) -> tuple[Operations, list[str]]:
        """The entries of order parameters, ``w.B[1,2]``, and averages as operations, with their
        names.

        Raises:
            NotYetError: An average jumps in time.
        """
        solver, operations = self.flow.point.solver, Operations()
        moving = {self._flat(place): n for n, place in enumerate(self.moving) if place != TIME}
        names = []
        for name, place in solver.layout.entries(self.shown):
            here = ("state", moving[place]) if place in moving else ("number", self._exact[place])
            operations.outputs.append(operations.place(here))
            names.append(name)
        for name in solver.closed.observables:
            procedure = self.procedure(f"observe_{name}")
            before, *others = (
                traced(
                    self.module,
                    procedure.name,
                    self.given(procedure, piece.laws[0]),
                    [],
                    operations,
                )
                for piece in self.pieces
            )
            if any(each.entries != before.entries for each in others):
                raise NotYetError(f"has no enclosure: {name} jumps in time", argument="certify")
            operations = before
            names.append(name)
        return operations, names

    def rows(self, times: np.ndarray) -> np.ndarray:
        return VariedSystemRun(self.flow, {}, ()).run(times)

    def scales(self, sizes: Mapping[str, arb]) -> dict[str, arb]:
        """Return scales of the entries: for an overlap the product of the longest vectors of its
        two families, for a scalar the largest of its name.
        """
        layout, largest = self.flow.point.solver.layout, dict.fromkeys(self.shown, arb(0))
        names = {entry: entry.partition("[")[0] for entry in sizes}
        order_parameters = [entry for entry, name in names.items() if name in largest]
        for entry in order_parameters:
            largest[names[entry]] = max(largest[names[entry]], sizes[entry], key=float)
        scales = dict(largest)
        for name in largest.keys() - layout.scalars.keys():
            one, other = (f"{family}.{family}" for family in name.split("."))
            if one in largest and other in largest:
                scales[name] = (largest[one] * largest[other]).sqrt()
        return {entry: scales[names[entry]] for entry in order_parameters}

    @cached_property
    def _exact(self) -> list[Any]:
        """All exact numbers of the state followed by the constants."""
        return [x for array in self.usual.numbers.values() for x in array.ravel()]

    def _flat(self, place: Place) -> int:
        start: int = self.vectors.state.slices[place[0]].start
        return start + place[1]
