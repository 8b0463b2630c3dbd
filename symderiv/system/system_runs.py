"""Rates and trajectories of a system from its generated module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np
from symderiv_codegen import print_fast, print_readable

from symderiv.dynamics.stepping.flat_run import integrate_flat
from symderiv.dynamics.storage.kernels import kept_module
from symderiv.errors import InputError
from symderiv.showing import Shown, Summary
from symderiv.system.closed_motion import Closed
from symderiv.system.named_states import Layout

__all__ = ["Solver", "SystemRates", "SystemRun"]

_SAFER = 0.05  # of the tolerance that is stated, as for trajectories of problems


@dataclass(frozen=True, repr=False)
class SystemRates(Shown):
    """Derivatives of the order parameters of a system by α, by name.

    Attributes:
        rates: By name, shapes as given.
        observables: Averages at the state, by name.
    """

    rates: Mapping[str, np.ndarray]
    observables: Mapping[str, float]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.rates[name]

    def _summary(self) -> Summary:
        return Summary("rates of a system", [*self.rates.items(), *self.observables.items()])

    def to_dict(self) -> dict[str, Any]:
        """Return rates and observables as lists and numbers."""
        rates = {name: np.asarray(value).tolist() for name, value in self.rates.items()}
        return {"rates": rates, "observables": dict(self.observables)}


@dataclass(frozen=True, repr=False)
class SystemRun(Shown):
    """A trajectory of a system.

    Attributes:
        alpha: Times, examples over input dimension, shape (P,).
        values: Order parameters and observables by name, α first.
        cause: ``"done"`` if the last asked time was reached, else why the run ended.
        steps, rhs_evaluations: Of the run.
        error: Largest difference from a run at a looser tolerance over all order parameters; an
            estimate of the error of that one, which is no bound.
    """

    alpha: np.ndarray
    values: Mapping[str, np.ndarray]
    cause: str
    steps: int
    rhs_evaluations: int
    error: float

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.values:
            raise InputError(f"{name!r} is not in the run; there are {', '.join(self.values)}")
        return self.values[name]

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [("alpha", self.alpha)]
        rows += [(f"{name} at the end", value[-1]) for name, value in self.values.items()]
        notes = [] if self.cause == "done" else [f"The run ended early: {self.cause}."]
        return Summary("trajectory of a system", rows, notes)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers."""
        values = {name: value.tolist() for name, value in self.values.items()}
        return {"alpha": self.alpha.tolist(), **values, "cause": self.cause}


class Solver:
    """The compiled equations of a system.

    Args:
        closed: The equations.
    """

    def __init__(self, closed: Closed) -> None:
        self.closed = closed
        self.layout = Layout(closed)

    @cached_property
    def readable(self) -> str:
        """The text of the readable module."""
        return print_readable(self.closed.program)

    @cached_property
    def _fast(self) -> ModuleType:
        return kept_module(print_fast(self.closed.program))

    @cached_property
    def _observing(self) -> ModuleType:
        return kept_module(self.readable)

    @cached_property
    def right_hand_side(self) -> Callable[..., None]:
        """The compiled right-hand side on vectors."""
        from symderiv.code_cache import kept_code

        with kept_code():
            found: Callable[..., None] = self._fast.specialised(1)
        return found

    def rates(self, given: Mapping[str, Any], parameters: Mapping[str, Any]) -> SystemRates:
        """Return the rates and the observables at a state."""
        state, constants = self.layout.packed(given, parameters)
        slope = np.empty_like(state)
        self.right_hand_side(0.0, state, self.layout.sizes, constants, slope)
        still = np.zeros_like(constants)
        rates = self.layout.unpacked(slope, still, self.layout.shown(given))
        observed = self.observed(state[None], constants)
        return SystemRates(rates, {name: float(value[0]) for name, value in observed.items()})

    def observed(
        self, states: np.ndarray, constants: np.ndarray, names: Iterable[str] | None = None
    ) -> dict[str, np.ndarray]:
        """Return the observables of states, shape (P, n); all of them or these."""
        fixed = self.layout.packing("parameters").views(constants)
        constant = {k: float(v) if not v.shape else v for k, v in fixed.items()}
        found = {}
        for name in self.closed.observables if names is None else names:
            function = getattr(self._observing, f"observe_{name}")
            procedure = self.closed.program.procedure(f"observe_{name}")
            assert procedure is not None
            values = []
            for state in states:
                fields = {**self.layout.packing("state").views(state), **constant}
                values.append(function(*(fields[array.name] for array in procedure.inputs)))
            found[name] = np.array(values)
        return found

    def solve(
        self,
        alpha: np.ndarray,
        given: Mapping[str, Any],
        parameters: Mapping[str, Any],
        relative_tolerance: float,
        absolute_tolerance: float,
        progress: Callable[[float, int], None] | None = None,
    ) -> SystemRun:
        """Return the trajectory from α = 0."""
        state, constants = self.layout.packed(given, parameters)

        def run(tolerance: float) -> Any:
            return integrate_flat(
                self.right_hand_side,
                state,
                self.layout.sizes,
                constants,
                alpha,
                relative_tolerance=tolerance,
                absolute_tolerance=absolute_tolerance,
                cone_tolerance=0.0,
                progress=progress,
            )

        result, rough = run(_SAFER * relative_tolerance), run(relative_tolerance)
        common = min(result.reached, rough.reached)
        error = float(np.max(np.abs(result.results[:common] - rough.results[:common]), initial=0.0))
        values = self.layout.unpacked(result.results, constants, self.layout.shown(given))
        values |= self.observed(result.results, constants)
        return SystemRun(
            alpha[: result.reached],
            values,
            result.cause,
            result.steps,
            result.rhs_evaluations,
            error,
        )
