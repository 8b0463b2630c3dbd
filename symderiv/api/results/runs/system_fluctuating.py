"""The flow of a system with the noise of its steps, in the coordinates that fluctuate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from symderiv.api.results.flows.jacobian import entry_names
from symderiv.api.results.runs.fluctuating import (
    Fluctuating,
    check_size,
)
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.flows.sensitivities import Observed
from symderiv.statement.averaged_step import Reading, SlowState
from symderiv.statement.step_covariance import StepVariation, check_varies
from symderiv.system.closed_motion import overlap_name, scalar_name
from symderiv.system.point_run import PointRun
from symderiv.system.system_following import VariedSystemRun
from symderiv.system.system_sgd import gram_of
from symderiv.system.varied_system import SystemPoint

_STEP = 1e-3
"""The step of differences for rates without a derivative, in units of the state."""
_NO_VECTORS = -1e-9


@dataclass(frozen=True)
class SystemFluctuations(Fluctuating):
    """The fluctuations of a system: its flow from a state, and the noise of steps.

    Args:
        point: The initial state.

    Raises:
        NotYetError: Fluctuations of such a system are not known yet.
        InputError: No vectors have the initial overlaps.
    """

    point: SystemPoint
    averages: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        solver = self.point.solver
        check_varies(solver.layout.statement)
        if not solver.closed.autonomous:
            raise NotYetError(
                "fluctuations of statements whose coefficients depend on time are not known yet",
                argument="alpha",
            )
        object.__setattr__(self, "averages", tuple(solver.closed.observables))
        lowest = np.linalg.eigvalsh(gram_of(solver, self.point.state, self.point.constants))
        if lowest.min(initial=0.0) < _NO_VECTORS * max(1.0, lowest.max(initial=0.0)):
            raise InputError(
                "no vectors have these overlaps; give overlaps of all vectors, including those "
                "that the equations do not need",
                argument="initial",
            )

    @cached_property
    def varied(self) -> VariedSystemRun:
        return VariedSystemRun(PointRun(self.point, Goal(np.zeros(1))), {}, self.averages)

    def product(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        try:
            return super().product()
        except NotYetError:
            return partial(_difference, self.rates)

    def changes(self, flat: np.ndarray, direction: np.ndarray) -> Observed:
        try:
            return super().changes(flat, direction)
        except NotYetError:
            shown = list(self.varied.observed(flat))

            def seen(state: np.ndarray) -> np.ndarray:
                values = self.varied.observed(state)
                return np.concatenate([np.ravel(values[name]) for name in shown])

            change, sizes = _difference(seen, flat, direction), self.varied.observed(flat)
            ends = np.cumsum([np.size(sizes[name]) for name in shown])[:-1]
            parts = zip(shown, np.split(change, ends), strict=True)
            return {name: part.reshape(np.shape(sizes[name])) for name, part in parts}

    @cached_property
    def _named(self) -> dict[str, int]:
        """Places in states of the shown order parameters by name, in the order shown."""
        layout = self.point.solver.layout
        order = layout.shown(self.point.given)
        places = {name: n for n, name in enumerate(entry_names(layout, order)) if name}
        check_size(len(places))
        names = sorted(places, key=lambda name: order.index(name.partition("[")[0]))
        return {name: places[name] for name in names}

    @property
    def places(self) -> list[int]:
        return list(self._named.values())

    @property
    def spread(self) -> np.ndarray:
        return np.eye(self.point.state.size)[:, self.places]

    @property
    def shown(self) -> tuple[str, ...]:
        return tuple(self._named)

    @property
    def coordinates(self) -> tuple[str, ...]:
        return self.shown

    def order_parameters(self, states: np.ndarray) -> np.ndarray:
        return np.asarray(states[:, self.places])

    @cached_property
    def reading(self) -> Reading:
        return Reading(self.point.solver.layout.statement)

    def cases(self, flat: np.ndarray) -> list[tuple[float, SlowState]]:
        solver, constants = self.point.solver, self.point.constants
        layout, law = solver.layout, solver.closed.equations.law
        values, turn = np.linalg.eigh(gram_of(solver, flat, constants))
        rows = turn * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        names = [each.name for each in layout.statement.vectors]
        vectors = {name: rows[:, n] for n, name in enumerate(names)}
        views = layout.packing("state").views(flat)
        numbers = layout.parameter_values(self.point.parameters)
        numbers |= {str(u): float(views[scalar_name(u)][0]) for u in layout.symbols.scalars}
        weight, spectra = layout.spectrum
        cases = []
        for case in law.cases:
            own: dict[str, Any] = dict(spectra)
            for atom, part in case.atoms.items():
                own[atom.source] = spectra.get(part.source, np.ones_like(weight))
            cases.append((float(case.probability), SlowState(vectors, weight, own, numbers)))
        return cases

    def held(self, step: StepVariation) -> tuple[list[int], np.ndarray]:
        layout = self.point.solver.layout
        order: Mapping[str, Any] = layout.packing("state").slices
        place = np.full(self.point.state.size, -1)
        vectors = {each.name: each for each in layout.statement.vectors}
        for n, pair in enumerate(step.pairs):
            name = overlap_name((vectors[pair[0]], vectors[pair[1]]))
            place[order[name]] = np.arange(n * step.classes, (n + 1) * step.classes)
        first = len(step.pairs) * step.classes
        for n, name in enumerate(step.scalars):
            place[order[f"u__{name}"]] = first + n
        rows = [int(n) for n in place[self.places]]
        return rows, np.ones(len(rows))


def _difference(
    function: Callable[[np.ndarray], np.ndarray], state: np.ndarray, direction: np.ndarray
) -> np.ndarray:
    """Return the derivative of a function along a direction, by differences of fourth order."""
    size = _STEP * (1e-2 + np.abs(state).max()) / (np.abs(direction).max() or 1.0)
    near, far = (
        function(state + n * size * direction) - function(state - n * size * direction)
        for n in (1, 2)
    )
    return np.asarray((8 * near - far) / (12 * size))
