"""The derivative of a study's right-hand side along a direction, compiled for its sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from symderiv.formula import activation
from symderiv.foundation.errors import NotYetError
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.storage.kernels import kept_module
from symderiv.storage.study_kernel import activation_tolerance

if TYPE_CHECKING:
    from symderiv_codegen import Program

    from symderiv.integrate.flows.study_flow import Flow

#: Names of which formulas consist whose equations are exact, whatever the tolerance.
_EXACT = frozenset(("x", "erf", "sqrt", "Heaviside"))


def tangent_program_of(flow: Flow, moving: tuple[str, ...]) -> Program:
    """Return the program of the rates' derivative along a direction of state and parameters.

    Args:
        flow: The flow of a study.
        moving: Names of the parameters that change along the direction.

    Raises:
        NotYetError: A mean is an integral, whose derivative is not known; or the inputs have
            several classes.
    """
    from symderiv.lowering.programs.exported import tangent_program

    program = tangent_program(*_of_one_class(flow), moving)
    assert program.state is not None
    stated = [each.shape for each in program.state.fields]
    if stated != list(flow.layout["state"].values()):
        raise NotYetError("this learning rule has no Jacobian yet", argument="activation")
    return program


def tangent_function(flow: Flow, moving: tuple[str, ...]) -> Callable[..., None]:
    """Return the compiled tangent of the right-hand side, as a function of flat vectors.

    It has the arguments of a right-hand side, but takes the direction of the state in place of the
    state, and one vector of the state, the parameters and the directions of moving parameters in
    place of the parameters.

    Raises:
        NotYetError: See :func:`tangent_program_of`.
    """
    from symderiv.lowering.programs.exported import tangent_module_text

    module = kept_module(tangent_module_text(*_of_one_class(flow), moving))
    compiled: Callable[..., None] = module.specialised(flow.state.K, flow.state.M)
    return compiled


def reverse_function(flow: Flow, moving: tuple[str, ...]) -> Callable[..., None]:
    """Return the compiled product of weights with the Jacobian, as a function of flat vectors.

    It has the arguments of a right-hand side, but takes the weights in place of the state, and one
    vector of the state and the parameters in place of the parameters. The result has the
    derivatives by moving fields, in their order, arrays before numbers.

    Args:
        flow: The flow of a study.
        moving: Names of the fields of the state and of the parameters to differentiate by.

    Raises:
        NotYetError: See :func:`tangent_program_of`.
    """
    from symderiv.lowering.programs.exported import reverse_module_text

    module = kept_module(reverse_module_text(*_of_one_class(flow), moving))
    compiled: Callable[..., None] = module.specialised(flow.state.K, flow.state.M)
    return compiled


def observables_tangent(flow: Flow) -> tuple[Callable[..., float], tuple[str, ...]]:
    """Return the function of the derivatives of Q, R and the error, and its arguments' names.

    See :func:`symderiv.lowering.programs.exported.tangent_observables_text`.
    """
    from symderiv.lowering.programs.exported import tangent_observables_text

    text, names = tangent_observables_text(*_of_one_class(flow))
    return kept_module(text).function("observables_tangent"), names


def _of_one_class(flow: Flow) -> tuple[str, str, LearningRule, float | None]:
    """Return :func:`equations_asked`, whose derivative is that of the flow.

    Raises:
        NotYetError: The inputs have several classes.
    """
    if flow.data is not None:
        raise NotYetError(
            "must be of one class; for several there is no Jacobian yet", argument="inputs"
        )
    return equations_asked(flow)


def equations_asked(flow: Flow) -> tuple[str, str, LearningRule, float | None]:
    """Return activations, rule and tolerance that determine the equations of a flow.

    They are the same for every class of inputs.
    """
    study = flow.study
    names = study.student_activation, study.teacher_activation
    tolerance = activation_tolerance(study.time.relative_tolerance)
    return *names, flow.rule.rule, None if all(map(_is_exact, names)) else tolerance


def _is_exact(name: str) -> bool:
    """Return whether an activation has exact equations, which do not depend on a tolerance."""
    return _EXACT.issuperset(re.findall(r"[A-Za-z_]\w*", activation(name).text))
