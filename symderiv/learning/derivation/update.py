"""The loss of one example and its forces, by the chain rule through outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from symderiv.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_means import mean_over_example
from symderiv.learning.derivation.indexed_sums import derivative, spread
from symderiv.learning.derivation.network_outputs import Outputs, outputs_of
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.learning.rule.loss import OUTPUT, TARGET, Loss


@dataclass(frozen=True)
class Example:
    """The loss ℓ of one example: s the student's output, t what it is taught."""

    rule: LearningRule = PLAIN

    @property
    def loss(self) -> Loss:
        """ℓ(s, t)."""
        return self.rule.loss

    @property
    def _explicit(self) -> bool:
        """Whether slopes of the loss are written out."""
        return self.loss.quadratic and self.rule.target == "sum"

    @cached_property
    def outputs(self) -> Outputs:
        """s and t."""
        return outputs_of(self.rule)

    @property
    def slope(self) -> sp.Expr:
        """∂ℓ/∂s, in δ = s - t where it depends on that alone."""
        return in_difference(sp.diff(self.loss.expression, OUTPUT))

    def by_chain_rule(self, variable: sp.Indexed) -> sp.Expr:
        """∂ℓ/∂s ∂s/∂variable, with the slope of the loss as one factor."""
        return self.slope * derivative(self.outputs.student, variable)

    @cached_property
    def force(self) -> sp.Expr:
        """F_i = ∂ℓ/∂x_i."""
        return self._checked(s.x[s.i])

    @cached_property
    def output_force(self) -> sp.Expr:
        """∂ℓ/∂v_i."""
        return self._checked(s.v[s.i])

    def force_by(self, variable: sp.Indexed) -> sp.Expr:
        """∂F_i/∂x_j or ∂F_i/∂y_n."""
        by = self.outputs.by
        return self.written_out(by(by(LOSS, s.x[s.i]), variable))

    @cached_property
    def mean_loss(self) -> sp.Expr:
        """⟨ε⟩ over input and noise."""
        return mean_over_example(self.written_out(LOSS))

    def written_out(self, expression: sp.Expr) -> sp.Expr:
        """Slopes of a quadratic loss in fields and noise; of other losses they stay names."""
        if not self._explicit:
            return expression
        outputs = {OUTPUT: self.outputs.student, TARGET: self.outputs.target}
        slopes = {
            slope: sp.diff(self.loss.expression, (OUTPUT, a), (TARGET, b)).xreplace(outputs)
            for slope in expression.atoms(s.LossSlope)
            for a, b in [slope.args]
        }
        return spread(expression.xreplace(slopes))

    def _checked(self, variable: sp.Indexed) -> sp.Expr:
        """The derivative of the loss by the chain rule, compared with that of ℓ written out.

        Raises:
            SymderivError: They differ, or a force depends on more than the fields of the example,
                which Stein's rule would miss.
        """
        found = self.written_out(self.outputs.by(LOSS, variable))
        if self._explicit:
            direct = derivative(self.written_out(LOSS), variable)
            if spread(direct - found) != 0:
                raise SymderivError(f"the derivative of the loss by {variable} is {direct}")
        random = {str(e.base.label) for e in found.atoms(sp.Indexed)} & s.RANDOM
        if random - {"x", "y", "mask"}:
            raise SymderivError(f"a force depends on {', '.join(sorted(random))}")
        return found


LOSS = s.LossSlope(0, 0)


def in_difference(expression: sp.Expr) -> sp.Expr:
    """An expression in s and t, in δ = s - t where it depends on that alone."""
    found = sp.expand(expression.xreplace({OUTPUT: TARGET + s.delta}))
    return expression if found.has(TARGET) else found
