"""The loss of an example as an expression in the student's output s and the target t."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv.formula import parse_formula
from symderiv.formula.named_losses import NAMED
from symderiv.foundation.errors import FormulaError

OUTPUT, TARGET = sp.symbols("s t", real=True)


@dataclass(frozen=True)
class Loss:
    """What gradient descent decreases, ℓ(s, t).

    Attributes:
        name: As it is called.
        expression: ℓ in :data:`OUTPUT` and :data:`TARGET`.

    Raises:
        FormulaError: Another symbol occurs in it.
    """

    name: str
    expression: sp.Expr

    def __post_init__(self) -> None:
        unknown = self.expression.free_symbols - {OUTPUT, TARGET}
        if unknown:
            names = ", ".join(sorted(map(str, unknown)))
            raise FormulaError(
                f"a loss is an expression in s and t, not in {names}", argument="loss"
            )

    @property
    def quadratic(self) -> bool:
        """Whether the means of its forces are sums of means of products of activations.

        Those of all polynomials are; of second order they have four factors at most.
        """
        if not self.expression.is_polynomial(OUTPUT, TARGET):
            return False
        return int(sp.Poly(self.expression, OUTPUT, TARGET).total_degree()) <= 2


SQUARED = Loss("squared", (OUTPUT - TARGET) ** 2 / 2)


def loss(text: str) -> Loss:
    """ℓ(s, t) of a name or of a formula in ``s`` and ``t``.

    Raises:
        FormulaError: The formula is outside of the allow-list, or does not depend on s.
    """
    if text == SQUARED.name:
        return SQUARED
    try:
        found = parse_formula(NAMED.get(text, text), ("s", "t"))
    except FormulaError as error:
        raise error.renamed("loss") from None
    if not found.has(*found.free_symbols) or "s" not in map(str, found.free_symbols):
        raise FormulaError(
            f"{text!r} does not depend on s, the student's output; choose one of "
            f"{', '.join(NAMED)}, or a formula in s and t",
            argument="loss",
        )
    polynomial = found.is_polynomial(*found.free_symbols)
    squared = polynomial and sp.expand(found - SQUARED.expression) == 0
    return SQUARED if squared else Loss(text, found)
