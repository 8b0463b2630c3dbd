"""Runs of studies whose learning rule is nothing but its statement."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from symderiv_codegen import Array
from symderiv_kernels.layout import LAYOUT

from symderiv.dynamics.rules.general_module import FEW, GeneralModule
from symderiv.dynamics.rules.rule_of import StudyRule, rule_of
from symderiv.dynamics.rules.rule_run import RuleFlow
from symderiv.dynamics.rules.stated_module import (
    FIXED,
    VELOCITY,
    OfEigenspaces,
    StatedModule,
    kept_name,
    stated_module,
)
from symderiv.dynamics.rules.study_system import numbers_of, problem_of
from symderiv.dynamics.stepping.flat_run import FlatResult
from symderiv.dynamics.storage.checkpoint import Checkpoint
from symderiv.dynamics.storage.kernels import Kernel
from symderiv.dynamics.studies.state import State
from symderiv.dynamics.studies.study import Study
from symderiv.errors import InputError, NotClosed, NotYetError
from symderiv.learning.rule.stated_rule import state_rule
from symderiv.statement.language import Language

__all__ = ["StatedFlow", "kernel_of_statement", "module_of_study", "stated_flow"]

_PLAIN = (
    "learning_rate",
    "second_layer_learning_rate",
    "weight_decay",
    "second_layer_weight_decay",
    "label_noise",
)
"""Parameters of statements that the vectors of plain descent hold."""

_modules: dict[str, StatedModule | GeneralModule] = {}


def module_of_study(study: Study) -> StatedModule | GeneralModule:
    """Return the solver module of a study's statement; one for all values of its numbers.

    Where all means have closed forms the module is for all numbers of units, else for those of the
    study.

    Raises:
        NotClosed: The equations do not close.
    """
    few = _stated(study, FEW)
    key = repr((few.statement.lines, few.statement.constraints, few.statement.observables))
    if key not in _modules:
        module = GeneralModule(few.statement, _own_arrays(few))
        with suppress(NotYetError, NotClosed):
            _ = module.lifting
            return _modules.setdefault(key, module)
        key = f"{study.K} {study.M} {key}"
    if key not in _modules:
        P = _stated(study, None)
        _modules[key] = stated_module(P, tuple(each.name for each in _own_arrays(P)))
    return _modules[key]


def _stated(study: Study, units: Mapping[str, int] | None) -> Language:
    """Return the statement of a study with inputs of any eigenvalues."""
    P = Language()
    numbers = numbers_of(study, P, weights_move=True, units=units)
    state_rule(P, problem_of(study), numbers, OfEigenspaces())
    return P


def _own_arrays(P: Language) -> tuple[Array, ...]:
    """Return the parameters of a statement beyond those of plain descent."""
    found: dict[str, Array] = {}
    for symbol in P.statement.symbols.parameters:
        name = str(symbol).rstrip("0123456789")
        if str(symbol) in _PLAIN or name == "c":
            continue
        shape = {"student_biases": ("K",), "teacher_biases": ("M",)}.get(name, ())
        found.setdefault(name, Array(name, shape))
    return tuple(found.values())


def kernel_of_statement(study: Study) -> Kernel:
    """Return the compiled module of a study's statement."""
    return module_of_study(study).kernel(study.student_activation, study.teacher_activation)


@dataclass(frozen=True)
class StatedFlow(RuleFlow):
    """The flow of a statement's module from a state."""

    module: StatedModule | GeneralModule | None = None

    @property
    def layout(self) -> Any:
        """How the module packs its vectors."""
        assert self.module is not None
        return self.module.layout

    @cached_property
    def sizes(self) -> np.ndarray:
        """The sizes; a module for given numbers of units has that of a slow scalar behind."""
        assert self.module is not None
        return super().sizes if self.module.general else np.append(super().sizes, 1)

    def error_at(self, state: np.ndarray, parameters: np.ndarray) -> float:
        """Return the generalisation error of a flat state."""
        assert self.module is not None
        K, M = self.state.K, self.state.M
        rooms = (np.empty((K, K)), np.empty((K, M))) if self.module.general else ()
        observed = self.kernel.module.flat_observables
        return float(observed(state, self.sizes, parameters, *rooms))

    def further(self, result: FlatResult) -> dict[str, np.ndarray]:
        """Return what the rule adds to the state, at every row: overlaps as covariances."""
        fields = self.packing("state").views(result.results)
        variance = self.state.weight * self.state.eigenvalue
        found = {"b": fields["b"].copy()} if "b" in fields else {}
        assert self.module is not None
        for a, b in self.module.further:
            share = self.state.weight if b == FIXED else variance
            found[f"{a}.{b}"] = fields[kept_name((a, b))] @ share
        return found


def stated_flow(study: Study, state: State, checkpoint: Checkpoint | None = None) -> StatedFlow:
    """Return the flow of a study whose rule is its statement.

    Raises:
        InputError: The equations use eigenspaces in which inputs do not vary.
        NotClosed: The equations do not close.
    """
    if np.any(state.eigenvalue == 0.0):
        raise InputError(
            "has eigenvalues that are zero, where overlaps of weights and teachers are not known; "
            "leave those inputs out",
            argument="data",
        )
    module = module_of_study(study)
    kernel = kernel_of_statement(study)
    own = list(module.layout["parameters"])[len(LAYOUT["parameters"]) :]
    numbers = {name: _number(study, name) for name in own}
    rule = StudyRule(rule_of(study).rule, numbers, _started(module, study, state))
    return StatedFlow(study, kernel, state, checkpoint, rule, module)


def _number(study: Study, name: str) -> float | np.ndarray:
    """Return a parameter of a module beyond those of plain descent."""
    if name in ("student_biases", "teacher_biases"):
        return np.array(getattr(study, name))
    return float(getattr(study.training, name))


def _started(
    module: StatedModule | GeneralModule, study: Study, state: State
) -> dict[str, np.ndarray]:
    """Return the fields of a state beyond plain descent at α = 0.

    Averages begin as the weights, velocities at rest.
    """
    students = np.moveaxis(state.student_overlap, 0, -1)
    teachers = np.moveaxis(state.cross_overlap, 0, -1)
    found: dict[str, np.ndarray] = {}
    for pair in module.further:
        like = teachers if pair[1] == FIXED else students
        found[kept_name(pair)] = np.zeros_like(like) if VELOCITY in pair else like
    at_rest = np.zeros(state.K)
    found |= {"v_velocity": at_rest, "b_velocity": at_rest}
    return {**found, "b": np.array(study.student_biases)}
