"""Runs of a system that differ in parameters, initial values or inputs: keys with values.

``"eta"`` or ``"parameters.eta"`` is a parameter, ``"initial.w.B"`` an order parameter at α = 0,
``"inputs.x.exponent"`` an argument of the model of the inputs x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError, NotYetError
from symderiv.statement.stated_motion import derived
from symderiv.system.closed_motion import closed as take_averages
from symderiv.system.closed_motion import parameter_name
from symderiv.system.named_states import named
from symderiv.system.system_runs import Solver

_KEPT_SOLVERS, _KEPT_STATES = 64, 1024
# Models whose eigenvalues are constants of compiled modules
_SPECTRA = ("isotropic", "spectrum", "power-law")


@dataclass(frozen=True)
class SystemPoint:
    """The start of one run.

    Args:
        state, constants: The packed vectors of the solver's layout.
        parameters: Values that differ from the defaults.
        solver: The equations with the inputs of the run.
        given: The names of the order parameters that were given.
    """

    state: np.ndarray
    constants: np.ndarray
    parameters: Mapping[str, Any]
    solver: Solver
    given: tuple[str, ...]


class VariedSystem:
    """The common parts of the runs of a system.

    Args:
        solver: The equations.
        initial: The state at α = 0 by name.
        parameters: Values of parameters that differ from their defaults.
    """

    def __init__(
        self, solver: Solver, initial: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> None:
        self.solver, self.initial, self.parameters = solver, named(initial), dict(parameters)
        self._solvers = lru_cache(_KEPT_SOLVERS)(self._with_inputs)
        self._bases: dict[Any, SystemPoint] = {}

    def key_of(self, name: str) -> str:
        """Return the full key for a name.

        Raises:
            InputError: The name stands for no key.
        """
        table, _, rest = name.partition(".")
        layout = self.solver.layout
        parameters = [str(p) for p in layout.symbols.parameters]
        if name in parameters:
            return f"parameters.{name}"
        models = {each.name: each.model for each in layout.statement.inputs}
        inputs, _, argument = rest.partition(".")
        if (
            (table == "parameters" and rest in parameters)
            or (table == "initial" and rest in layout.all_names)
            or (table == "inputs" and inputs in models and argument in _arguments(models[inputs]))
        ):
            return name
        there = [
            *parameters,
            *(f"initial.{each}" for each in layout.names),
            *(f"inputs.{x}.{a}" for x, model in models.items() for a in _arguments(model)),
        ]
        raise InputError(
            f"is not a name that can vary; choose one of {', '.join(there)}", argument=name
        )

    def point(self, values: Mapping[str, Any]) -> SystemPoint:
        """Return the start of a run with other values.

        Args:
            values: The values by key, as :meth:`key_of` gives it.

        Raises:
            InputError: A value is not acceptable.
        """
        parts: dict[str, dict[str, Any]] = {"parameters": {}, "initial": {}, "inputs": {}}
        for key, value in values.items():
            table, _, name = key.partition(".")
            parts[table][name] = value
        inputs, initial = (_hashable(parts[table]) for table in ("inputs", "initial"))
        parameters = {**self.parameters, **parts["parameters"]}
        if (inputs, initial) not in self._bases:
            if len(self._bases) >= _KEPT_STATES:
                self._bases.clear()
            self._bases[inputs, initial] = self._packed(inputs, parts, parameters)
        base = self._bases[inputs, initial]
        # runs that differ in parameters only share one state
        layout, constants = base.solver.layout, base.constants.copy()
        views = layout.packing("parameters").views(constants)
        for name, value in layout.parameter_values(parameters).items():
            views[parameter_name(name)][...] = value
        return replace(base, constants=constants, parameters=parameters)

    def _packed(
        self,
        inputs: tuple[tuple[str, Any], ...],
        parts: Mapping[str, Mapping[str, Any]],
        parameters: Mapping[str, Any],
    ) -> SystemPoint:
        """Return the start of a run, packed anew."""
        solver = self._solvers(inputs) if inputs else self.solver
        if solver.layout.classes != self.solver.layout.classes:
            raise NotYetError(
                "all runs of a system must have the same number of eigenvalue classes",
                argument=f"inputs.{inputs[0][0]}",
            )
        given = {**self.initial, **parts["initial"]}
        try:
            state, constants = solver.layout.packed(given, parameters)
        except InputError as error:
            if error.argument in parts["initial"]:
                raise error.renamed(f"initial.{error.argument}") from None
            raise
        return SystemPoint(state, constants, parameters, solver, tuple(given))

    def _with_inputs(self, given: tuple[tuple[str, Any], ...]) -> Solver:
        closed = self.solver.closed
        statement = closed.equations.statement
        changed = []
        for inputs in statement.inputs:
            own = {
                key.partition(".")[2]: value
                for key, value in given
                if key.partition(".")[0] == inputs.name
            }
            model = inputs.model
            if own:
                try:
                    model = model.model_copy(update=own)
                except InputError as error:
                    name = f"inputs.{inputs.name}.{error.argument or next(iter(own))}"
                    raise error.renamed(name) from None
            changed.append(replace(inputs, model=model))
        statement = replace(statement, inputs=tuple(changed))
        if any(inputs.model.model not in _SPECTRA for inputs in changed):
            return Solver(take_averages(derived(statement)))
        # the equations depend only on the kind of these models, which no key changes
        law = closed.equations.law.with_inputs(statement)
        equations = replace(closed.equations, statement=statement, law=law)
        return self.solver.with_inputs(replace(closed, equations=equations))


def _arguments(model: Any) -> Iterable[str]:
    return [name for name in type(model).model_fields if name != "model"]


def _hashable(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    def frozen(value: Any) -> Any:
        plained = value.tolist() if isinstance(value, np.ndarray) else value
        return tuple(map(frozen, plained)) if isinstance(plained, list | tuple) else plained

    return tuple((key, frozen(value)) for key, value in sorted(values.items()))
