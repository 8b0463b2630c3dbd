"""The loss of an example as a formula in the student's output s and the target t.

Rules are compared without SymPy, so that a run with an existing module does not import it:
expressions are made on demand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from symderiv.formula import parse_formula
from symderiv.formula.named_losses import NAMED
from symderiv.foundation.errors import FormulaError

if TYPE_CHECKING:
    import sympy as sp


@dataclass(frozen=True)
class Loss:
    """The loss ℓ(s, t) that gradient descent decreases.

    Attributes:
        name: The name of the loss.
        formula: ℓ in ``s`` and ``t``.
    """

    name: str
    formula: str

    @cached_property
    def expression(self) -> sp.Expr:
        """ℓ in the symbols ``OUTPUT`` and ``TARGET`` of learning problems.

        Raises:
            FormulaError: The formula is outside of the allow-list.
        """
        try:
            return parse_formula(self.formula, ("s", "t"))
        except FormulaError as error:
            raise error.renamed("loss") from None

    @property
    def quadratic(self) -> bool:
        """True if ℓ is a polynomial of degree two at most.

        The means of its forces are then sums of means of products of at most four activations.
        """
        symbols = self.expression.free_symbols
        if not self.expression.is_polynomial(*symbols):
            return False
        return int(self.expression.as_poly(*symbols).total_degree()) <= 2


SQUARED = Loss("squared", NAMED["squared"])


def loss(text: str) -> Loss:
    """Return ℓ(s, t) for a name or a formula in ``s`` and ``t``.

    Raises:
        FormulaError: The formula is outside of the allow-list, or does not depend on s.
    """
    if text == SQUARED.name:
        return SQUARED
    stated = Loss(text, NAMED.get(text, text))
    if "s" not in map(str, stated.expression.free_symbols):
        raise FormulaError(
            f"{text!r} does not depend on s, the student's output; choose one of "
            f"{', '.join(NAMED)}, or a formula in s and t",
            argument="loss",
        )
    same = (stated.expression - SQUARED.expression).expand() == 0
    return SQUARED if same else stated
