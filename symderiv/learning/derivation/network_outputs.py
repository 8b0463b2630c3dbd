"""Derivatives through the outputs of student and teacher in slopes of a symbolic loss."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import derivative, spread


@dataclass(frozen=True)
class Outputs:
    """The outputs for an example.

    Attributes:
        student: s, with the units that are kept in this example.
        target: The variable t in slopes of the loss: the target, or the sum whose sign is taken.
    """

    student: sp.Expr
    target: sp.Expr

    def by(self, expression: sp.Expr, variable: sp.Indexed) -> sp.Expr:
        """Return the derivative by a field or a weight, also through the slopes of the loss.

        Args:
            expression: An expression for one example, without means.
            variable: x_i, y_n, v_i or b_i.
        """
        return derivative(expression, variable) + self._through(expression, variable)

    def _through(self, expression: sp.Expr, variable: sp.Indexed) -> sp.Expr:
        """Return the part of the derivative through s and t in the slopes of the loss."""
        student, target = (derivative(each, variable) for each in (self.student, self.target))
        total = sp.Integer(0)
        for slope in sorted(expression.atoms(s.LossSlope), key=sp.default_sort_key):
            a, b = slope.args
            inner = s.LossSlope(a + 1, b) * student + s.LossSlope(a, b + 1) * target
            place = sp.Dummy()
            outer = sp.diff(expression.xreplace({slope: place}), place).xreplace({place: slope})
            total += outer * inner
        return spread(total)
