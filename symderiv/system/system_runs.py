"""Rates and trajectories of a system from its generated module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import sympy as sp
from symderiv_codegen import (
    Assignment,
    Constant,
    Program,
    ProgramError,
    print_fast,
    print_lanes,
    print_numba,
    print_readable,
    print_reverse,
    tangent,
    tangent_procedure,
)

from symderiv.foundation.errors import NotYetError
from symderiv.foundation.showing import Shown, Summary
from symderiv.integrate.steppers.coupled_modes import CoupledModes, ModeRow
from symderiv.lowering.means.uncompiled import uncompiled
from symderiv.statement.register import LearningTime
from symderiv.storage.kernels import LANES, WaitingModule, kept_module
from symderiv.system.closed_motion import Closed, overlap_name
from symderiv.system.named_states import ByName, Layout

#: One term of a sum over the classes: the arrays that are its factors, with their powers.
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
    """Return how the eigenvalue classes of a state are coupled by sums.

    Args:
        closed: The equations.
        sums: The sums over classes in the equations.
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
    families = [(one.family, other.family) for one, other in moving.values()]
    rows = (
        ModeRow(
            state.slices[name].start,
            tuple(weights[name]),
            pair[0] == pair[1],
            families.index((pair[0].family, pair[1].family)),
        )
        for name, pair in moving.items()
    )
    return CoupledModes(state.size, layout.classes, tuple(rows))


@dataclass(frozen=True, repr=False)
class SystemRates(ByName, Shown):
    """Derivatives of the order parameters of a system by α, by name.

    Attributes:
        rates: The rates by name, shapes as given.
        observables: Averages at the state, by name.
    """

    rates: Mapping[str, np.ndarray]
    observables: Mapping[str, float]

    _where: ClassVar[str] = "rates"

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the rates by name."""
        return self.rates

    def _summary(self) -> Summary:
        return Summary("rates of a system", [*self.rates.items(), *self.observables.items()])

    def to_dict(self) -> dict[str, Any]:
        """Return rates and observables as lists and numbers."""
        rates = {name: np.asarray(value).tolist() for name, value in self.rates.items()}
        return {"rates": rates, "observables": dict(self.observables)}


def _compiled(text: str) -> Callable[..., None]:
    """Return the function on vectors of the text of a fast module."""
    compiled: Callable[..., None] = kept_module(text).specialised(1)
    return compiled


class Solver:
    """The compiled equations of a system.

    Args:
        closed: The equations.
    """

    def __init__(self, closed: Closed) -> None:
        self.closed = closed
        self.layout = Layout(closed)
        # further code, which solvers of the same program share
        self._kept: dict[tuple[str, ...], Any] = {}

    def with_inputs(self, closed: Closed) -> Solver:
        """Return a solver of the same program with other inputs, which shares its code."""
        vars(closed)["program"] = self.closed.program
        shared = "readable", "_observing", "right_hand_side", "_sums"
        code = {name: getattr(self, name) for name in shared}
        solver = Solver(closed)
        vars(solver).update(code, _kept=self._kept)
        return solver

    def lanes(self, observable: str = "") -> ModuleType | None:
        """Return the module for eight runs at a time; None where a mean is no plain expression.

        Args:
            observable: The name of an observable that the module is to have too.
        """
        key = "lanes", observable
        if key not in self._kept:
            name = f"observe_{observable}" if observable else "observables"
            try:
                self._kept[key] = str(print_lanes(replace(self.closed.program, observables=name)))
            except ProgramError:
                self._kept[key] = ""
        text: str = self._kept[key]
        return kept_module(text, LANES) if text else None

    @cached_property
    def readable(self) -> str:
        """The text of the readable module."""
        return print_readable(self.closed.program)

    @cached_property
    def _observing(self) -> WaitingModule:
        module: WaitingModule = kept_module(self.readable)
        return module

    @cached_property
    def right_hand_side(self) -> Callable[..., None]:
        """The compiled right-hand side on vectors."""
        return _compiled(print_fast(self.closed.program))

    @cached_property
    def by_finer_rules(self) -> Callable[..., None]:
        """The compiled right-hand side with means by much finer rules."""
        return self._with(self.closed.means.finer_constants)

    def _with(self, constants: Mapping[str, Constant]) -> Callable[..., None]:
        return _compiled(print_fast(replace(self.closed.program, constants=constants)))

    @cached_property
    def extents(self) -> dict[str, Callable[..., float]]:
        """The functions that return the largest variance, mean and scalar of means by
        quadrature.
        """
        names = self.closed.extents
        module = uncompiled(print_numba(self.closed.extent_program)) if names else None
        return {name: getattr(module, f"observe_{name}") for name in names}

    def tangent_program(self, moving: tuple[str, ...]) -> Program:
        """Return the program of the rates along a direction of the state and of some constants.

        Raises:
            NotYetError: A mean has no derivative.
        """
        try:
            return tangent(self.closed.differentiable_program, moving)
        except (NotYetError, ProgramError) as error:
            raise NotYetError(f"has no Jacobian yet: {error}", argument="state") from error

    def tangent(self, moving: tuple[str, ...]) -> Callable[..., None]:
        """Return the compiled tangent program as a function on vectors.

        Raises:
            NotYetError: A mean has no derivative.
        """
        key = "tangent", *moving
        if key not in self._kept:
            self._kept[key] = _compiled(print_fast(self.tangent_program(moving)))
        compiled: Callable[..., None] = self._kept[key]
        return compiled

    def reversed(self, moving: tuple[str, ...]) -> Callable[..., None]:
        """Return the function for weights times the Jacobian of the rates, on vectors.

        Raises:
            NotYetError: A mean has no derivative.
        """
        try:
            text = print_reverse(self.closed.differentiable_program, moving)
        except (NotYetError, ProgramError) as error:
            raise NotYetError(f"has no derivatives yet: {error}", argument="control") from error
        return _compiled(text)

    def observable_tangent(self, name: str) -> tuple[Callable[..., float], tuple[str, ...]]:
        """Return the function of an average's rate, and the names of what the average depends on.

        Its arguments are the values of these names and then their rates.

        Raises:
            NotYetError: A mean has no derivative.
        """
        key = "observable", name
        if key not in self._kept:
            try:
                program = self.closed.differentiable_program
                stated = program.procedure(f"observe_{name}")
                assert stated is not None
                alone = replace(program, procedures=(stated,), state=None, parameters=None)
                text = print_numba(tangent_procedure(alone, stated.name))
            except (NotYetError, ProgramError) as error:
                raise NotYetError(
                    f"{name} has no derivative yet: {error}", argument="sensitivities"
                ) from error
            function = kept_module(text).function(f"{stated.name}_tangent")
            self._kept[key] = function, tuple(array.name for array in stated.inputs)
        known: tuple[Callable[..., float], tuple[str, ...]] = self._kept[key]
        return known

    @cached_property
    def _sums(self) -> Sums:
        return sums_in(self.closed)

    def rates(self, given: Mapping[str, Any], parameters: Mapping[str, Any]) -> SystemRates:
        """Return the rates, or the change in a step, and the observables at a state.

        If the equations depend on time, ``parameters`` may contain it as ``alpha``, by default 0.
        """
        state, constants, alpha = self.placed(given, parameters)
        slope = self.slope(state, constants, alpha)
        still = np.zeros_like(constants)
        rates = self.layout.unpacked(slope, still, self.layout.shown(given))
        observed = self.observed(state[None], constants, np.array([alpha]))
        return SystemRates(rates, {name: float(value[0]) for name, value in observed.items()})

    def placed(
        self, given: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return the packed state, the packed constants, and the time."""
        parameters, alpha = dict(parameters), 0.0
        if self.layout.statement.symbols.of(LearningTime):
            alpha = float(parameters.pop("alpha", 0.0))
        state, constants = self.layout.packed(given, parameters)
        return state, self.layout.at_time(constants, alpha, parameters), alpha

    def slope(self, state: np.ndarray, constants: np.ndarray, alpha: float) -> np.ndarray:
        """Return the rates as a vector.

        Raises:
            NotYetError: A mean by quadrature would take too many points.
        """
        slope, crude = np.empty((2, state.size))
        self.right_hand_side(alpha, state, self.layout.sizes, constants, slope)
        means = self.closed.means
        if (means.joints.names or means.products.names) and not np.isfinite(slope).all():
            few = {**means.constants, **means.joints.crude, **means.products.crude}
            self._with(few)(alpha, state, self.layout.sizes, constants, crude)
            if np.isfinite(crude).all():
                program, times = self.closed.extent_program, np.array([alpha])
                sizes = self.evaluated(program, self.extents, state[None], constants, times)
                reached = ", ".join(f"{name} {float(size[0]):.3g}" for name, size in sizes.items())
                raise NotYetError(
                    "a mean over fields would take too many points, as its function is too sharp "
                    f"there: fields and scalars reach {reached}. Take smaller ones, or simulate at "
                    "finite N"
                )
        return slope

    def observed(
        self,
        states: np.ndarray,
        constants: np.ndarray,
        alpha: np.ndarray | None = None,
        names: Iterable[str] | None = None,
    ) -> dict[str, np.ndarray]:
        """Return the observables of states, shape (P, n); all of them or these.

        Args:
            states: Shape (P, n).
            constants: Constants of shape (m,) for all states, or (P, m) with one row for each.
            alpha: The times, shape (P,); α = 0 without them.
            names: The names of the observables, all when left out.
        """
        times = np.zeros(len(states)) if alpha is None else alpha
        asked = self.closed.observables if names is None else names
        functions = {name: self._observing.function(f"observe_{name}") for name in asked}
        return self.evaluated(self.closed.program, functions, states, constants, times)

    def evaluated(
        self,
        program: Program,
        functions: Mapping[str, Callable[..., float]],
        states: np.ndarray,
        constants: np.ndarray,
        times: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Return functions of the state at each state, by name, shape (P,) each.

        Args:
            program: The program, whose procedures list the arguments of the functions.
            functions: The functions by name.
            states, constants, times: As of :meth:`observed`.
        """
        rows = np.broadcast_to(constants, (len(states), constants.shape[-1]))
        packings = self.layout.packing("state"), self.layout.packing("parameters")
        by_name = {}
        for name, function in functions.items():
            procedure = program.procedure(f"observe_{name}")
            assert procedure is not None
            values = []
            for state, row, time in zip(states, rows, times, strict=True):
                fixed = packings[1].views(row.copy())
                constant = {k: float(v) if not v.shape else v for k, v in fixed.items()}
                fields = {**packings[0].views(state), **constant, "alpha": float(time)}
                values.append(function(*(fields[array.name] for array in procedure.inputs)))
            by_name[name] = np.array(values)
        return by_name

    def modes(self, constants: np.ndarray) -> CoupledModes:
        """Return how eigenvalue classes are coupled in runs with these constants."""
        return modes_of_system(self.closed, self._sums, self.layout, constants)

    def times(self, alpha: np.ndarray) -> np.ndarray:
        """Return the times of results nearest to those asked for, which are integers for steps."""
        return np.unique(np.rint(alpha)) if self.closed.equations.by_steps else alpha
