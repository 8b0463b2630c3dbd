"""The rates of the right-hand side of a study along a direction, compiled for its sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from symderiv.formula import activation
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.components import ComponentsFlow
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.problem.rule_of import rule_of
from symderiv.storage.kernels import kept_module
from symderiv.storage.study_kernel import activation_tolerance

if TYPE_CHECKING:
    from symderiv_codegen import Program

    from symderiv.integrate.flows.study_flow import Flow

#: What tanh cannot be written with.
_EXACT = frozenset(("x", "erf", "sqrt", "Heaviside"))


def tangent_program_of(flow: Flow, moving: tuple[str, ...]) -> Program:
    """Return the program of the rates along a direction of the state and of some parameters.

    Args:
        flow: The flow of a study.
        moving: Names of parameters in the layout of the flow.

    Raises:
        NotYetError: A mean is an integral, whose derivative is not known; or the inputs have
            several classes.
    """
    from symderiv.lowering.programs.exported import tangent_program

    program = tangent_program(*equations_asked(flow), moving)
    assert program.state is not None
    stated = [each.shape for each in program.state.fields]
    if stated != list(flow.layout["state"].values()):
        raise NotYetError("this learning rule has no Jacobian yet", argument="activation")
    return program


def tangent_function(flow: Flow, moving: tuple[str, ...]) -> Callable[..., None]:
    """Return the function of that program on vectors.

    It is called as right-hand sides are, with the direction of the state in place of the state, and
    with one vector of the state, the parameters and the directions of those that move.

    Raises:
        NotYetError: See :func:`tangent_program_of`.
    """
    from symderiv.lowering.programs.exported import tangent_module_text

    module = kept_module(tangent_module_text(*equations_asked(flow), moving))
    compiled: Callable[..., None] = module.specialised(flow.state.K, flow.state.M)
    return compiled


def reverse_function(flow: Flow, moving: tuple[str, ...]) -> Callable[..., None]:
    """Return the function of weights of the rates times their derivatives, on vectors.

    It is called as right-hand sides are, with the weights in place of the state, with one vector of
    the state and the parameters, and with one for the result: by the fields that move, in their
    order, arrays before numbers.

    Args:
        flow: The flow of a study.
        moving: Names of fields of the state and of parameters in the layout of the flow.

    Raises:
        NotYetError: See :func:`tangent_program_of`.
    """
    from symderiv.lowering.programs.exported import reverse_module_text

    module = kept_module(reverse_module_text(*equations_asked(flow), moving))
    compiled: Callable[..., None] = module.specialised(flow.state.K, flow.state.M)
    return compiled


def observables_tangent(flow: Flow) -> tuple[Callable[..., float], tuple[str, ...]]:
    """Return the function of the rates of Q, R and the error, and the names of its arguments; see
    :func:`symderiv.lowering.programs.exported.tangent_observables_text`.
    """
    from symderiv.lowering.programs.exported import tangent_observables_text

    text, names = tangent_observables_text(*equations_asked(flow))
    return kept_module(text).function("observables_tangent"), names


def moving_packing(flow: Flow, moving: tuple[str, ...]) -> Packing:
    """Return where the directions of parameters lie in one vector."""
    state, parameters = flow.state, flow.layout["parameters"]
    layout = {"moving": {name: parameters[name] for name in moving}}
    return Packing.of(layout, "moving", K=state.K, M=state.M, L=state.L)


def equations_asked(flow: Flow) -> tuple[str, str, LearningRule, float | None]:
    """Return activations, rule and tolerance of the equations of a flow, as programs are kept by.

    Raises:
        NotYetError: The inputs have several classes.
    """
    if isinstance(flow, ComponentsFlow):
        raise NotYetError(
            "must be of one class; for several there is no Jacobian and no enclosure yet",
            argument="inputs",
        )
    study = flow.study
    rule = rule_of(study).rule if study.rule_keys else PLAIN
    names = study.student_activation, study.teacher_activation
    tolerance = activation_tolerance(study.time.relative_tolerance)
    return *names, rule, None if all(map(_is_exact, names)) else tolerance


def _is_exact(name: str) -> bool:
    """Return whether an activation is no mixture that a tolerance makes: its letters say so."""
    return _EXACT.issuperset(re.findall(r"[A-Za-z_]\w*", activation(name).text))
