"""The activations of a problem at arrays of numbers, from their formulas, without any means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symderiv.formula import Activation
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import derivative
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.numeric_activation import NumericActivation

Floats = NDArray[np.float64]
_STEP = 6e-6


@dataclass(frozen=True)
class Functions:
    """The activations of a problem as functions of arrays of numbers."""

    problem: LearningProblem

    def value(self, teacher: bool, order: int) -> Callable[[Floats], Floats]:
        """Return an activation (order 0) or its slope (order 1), as a central difference."""
        function = self._pair[teacher]
        if order == 0:
            return function
        return lambda x: (function(x + _STEP) - function(x - _STEP)) / (2 * _STEP)

    def exists(self, teacher: bool, order: int) -> bool:
        """Return whether this derivative is a function; the slope of a jump is not."""
        if order == 0:
            return True
        activation = self.problem.teacher if teacher else self.problem.student
        return order == 1 and not derivative(activation.expression).has(sp.DiracDelta)

    def kinks(self, teacher: bool) -> tuple[float, ...]:
        """Return the places where an activation is known not to be smooth."""
        return self._kinks[teacher]

    @cached_property
    def _kinks(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return _known_kinks(self.problem.student), _known_kinks(self.problem.teacher)

    @cached_property
    def _pair(self) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
        return _evaluated(self.problem.student.expression), _evaluated(
            self.problem.teacher.expression
        )


def _known_kinks(activation: Activation) -> tuple[float, ...]:
    try:
        return NumericActivation(activation.expression, activation.text).kinks
    except NotYetError:
        return ()


def _evaluated(expression: sp.Expr) -> Callable[[Floats], Floats]:
    x = sp.Symbol("x", real=True)
    function = as_function(x, expression.xreplace(dict.fromkeys(expression.free_symbols, x)))
    return lambda values: np.broadcast_to(function(values), values.shape)
