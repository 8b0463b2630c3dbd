"""Losses as formulas that doubles can evaluate, and where they are not smooth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp
from symderiv_codegen import ScalarFunction

from symderiv.formula.as_function import as_function, bounded
from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET
from symderiv.learning.rule.loss import Loss
from symderiv.lowering.means.numeric_activation import SoftPlus, with_softplus
from symderiv.statement.slopes import ROUGH, gaps_of

_NUMBER = sp.Symbol("number", real=True)


def gap_by_number(
    name: str, gaps: Sequence[sp.Expr], arguments: tuple[sp.Symbol, ...], doc: str
) -> ScalarFunction:
    """Return a function of a module: the gap with the number that is its first argument."""
    *before, value = gaps or (sp.S.One,)
    for number, gap in reversed([*enumerate(before)]):
        value = sp.Piecewise((gap, sp.Lt(_NUMBER, number + sp.S.Half)), (value, True))
    return ScalarFunction(name, (_NUMBER, *arguments), (), value, doc, as_value=True)


@dataclass(frozen=True)
class NumericLoss:
    """A loss ℓ(s, t), its slope ∂ℓ/∂s and its kinks.

    Raises:
        NotYetError: The loss itself jumps.
    """

    loss: Loss

    def __post_init__(self) -> None:
        if self.slope.has(sp.DiracDelta):
            raise NotYetError(
                f"not yet: the slope of the loss {self.loss.name!r} is not a function; choose a "
                "continuous loss, written with Max, Min or Abs",
                argument="loss",
            )

    @cached_property
    def value(self) -> sp.Expr:
        """The loss ℓ, with log(1 + exp(u)) in a form without overflow."""
        return with_softplus(self.loss.expression)

    @cached_property
    def slope(self) -> sp.Expr:
        """∂ℓ/∂s; the slope of log(1 + exp(u)) is 1/(1 + exp(-u)) ∂u/∂s.

        A step is 1 at 0: saturating outputs come so close to a kink that they are rounded to it.
        """
        places = {e: sp.Dummy(real=True) for e in self.value.atoms(SoftPlus)}
        outer = self.value.xreplace(places)
        derivative = sp.diff(outer, OUTPUT)
        for softplus, place in places.items():
            inner = sp.diff(softplus.args[0], OUTPUT)
            derivative += sp.diff(outer, place) * inner / (1 + sp.exp(-softplus.args[0]))
        derivative = derivative.xreplace({place: softplus for softplus, place in places.items()})
        return derivative.replace(
            sp.Heaviside, lambda gap, *_: sp.Piecewise((1, sp.Ge(gap, 0)), (0, True))
        )

    @property
    def as_stated(self) -> sp.Expr:
        """∂ℓ/∂s of the formula as it was given, for libraries that know no softplus."""
        return sp.diff(self.loss.expression, OUTPUT)

    @cached_property
    def kinks(self) -> tuple[sp.Expr, ...]:
        """Expressions in s and t at whose zeros ℓ or a derivative of it may jump."""
        gaps: dict[sp.Expr, None] = {}
        for rough in sorted(self.value.atoms(*ROUGH), key=sp.default_sort_key):
            for gap in gaps_of(rough):
                if gap.has(OUTPUT) and -gap not in gaps:
                    gaps[gap] = None
        return tuple(gaps)

    @property
    def polynomial(self) -> bool:
        """True if ℓ is a polynomial in s and t between its kinks."""
        pieces = self.value.xreplace({e: sp.Dummy() for e in self.value.atoms(*ROUGH)})
        return bool(pieces.is_polynomial())

    @property
    def even(self) -> bool:
        """True if ℓ(-s, -t) = ℓ(s, t)."""
        other = self.loss.expression.xreplace({OUTPUT: -OUTPUT, TARGET: -TARGET})
        return bool(sp.simplify(other - self.loss.expression) == 0)

    def functions(self) -> tuple[ScalarFunction, ...]:
        """Value, slope and kinks as functions of a module."""
        both, value, slope = (OUTPUT, TARGET), bounded(self.value), bounded(self.slope)
        return (
            ScalarFunction("loss_value", both, (), value, "The loss of an example."),
            ScalarFunction("loss_slope", both, (), slope, "Its derivative by s."),
            gap_by_number("loss_kink", self.kinks, both, "Zero where the loss is not smooth."),
        )

    def refuse_growth(
        self, student: Callable[[float], float], teacher: Callable[[float], float], sign: bool
    ) -> None:
        """Refuse a loss whose squared slope outgrows the Gaussian weight.

        Raises:
            DivergentError: It does so at one large distance along a ray of the fields of a student
                and a teacher.
        """
        far = 16.0
        slope = as_function((OUTPUT, TARGET), self.as_stated, "mpmath")
        for x in (-far, far):
            for y in (-far, far):
                t = math.copysign(1.0, y) if sign else teacher(y)
                try:
                    size = abs(float(sp.log(abs(sp.Float(slope(student(x), t))) + 1)))
                except ZeroDivisionError:  # a pole, as of sqrt(Abs(s - t)) at s = t
                    continue
                if size > far**2 / 8:
                    raise DivergentError(
                        f"the mean force of the loss {self.loss.name!r} diverges: it grows as fast "
                        'as the Gaussian falls; choose bounded activations, or target = "sign"'
                    )
