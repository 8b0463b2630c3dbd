"""Means of products of functions of Gaussian variables as scalar functions of their covariances."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp
from symderiv_codegen import Function, ScalarFunction

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian.distributions import reduced
from symderiv.lowering.means.closed_means import ClosedMean, X, closed_mean, field_symbols
from symderiv.statement.field_law import Law
from symderiv.system.means.joint_forms import FormSlot
from symderiv.system.means.joint_means import JointMeans

__all__ = ["MOST_FIELDS", "SlotMeans"]

MOST_FIELDS = 8
"""More functions in one product are refused: no closed form is to be expected."""


class SlotMeans:
    """The functions that the means of a statement are, each derived once.

    Attributes:
        functions: The functions by name, in the order in which they were needed.
        joints: Those by quadrature.
    """

    def __init__(self) -> None:
        self.functions: dict[str, ScalarFunction] = {}
        self.joints = JointMeans()
        self._names: dict[tuple[sp.Expr, tuple[bool, ...]], str] = {}

    def mean(self, slots: Sequence[FormSlot], law: Law) -> sp.Expr:
        """Return the mean of a product as a call of a function of covariances and means.

        Raises:
            NotYetError: No rule of the Gaussian calculus applies.
            DivergentError: The mean does not exist.
        """
        slots = sorted(_merged(slots), key=lambda each: (str(each.function), str(each.form)))
        if not slots:
            return sp.S.One
        size = len(slots)
        if size > MOST_FIELDS:
            raise NotYetError(f"it is a product of {size} functions of different fields")
        covariance, means = law.moments([slot.form for slot in slots])
        integrand = sp.Mul(
            *(s.function.xreplace({X: z}) for s, z in zip(slots, field_symbols(size), strict=True))
        )
        key = integrand, tuple(each != 0 for each in means)
        try:
            found = _in_real_numbers(closed_mean(*key))
        except NotYetError:
            return self.joints.mean(slots, law)
        if found.value.is_number and not found.definitions:
            return found.value
        if key not in self._names:
            name = self._names[key] = f"mean_{len(self._names) + 1}"
            self.functions[name] = found.function(name, f"E[{integrand}].")
        moments = [covariance[i][j] for i in range(size) for j in range(i, size)]
        moments += [each for each in means if each != 0]
        numbers = found.arguments[len(moments) :]
        return sp.Function(self._names[key])(*moments, *numbers)

    @property
    def all_functions(self) -> tuple[Function, ...]:
        """The functions in an order in which each calls earlier ones only."""
        return (*self.functions.values(), *self.joints.functions.values())


def _in_real_numbers(mean: ClosedMean) -> ClosedMean:
    """Return a mean that is written without the imaginary unit.

    Raises:
        NotYetError: It is not.
    """
    if any(each.has(sp.I) for each in (mean.value, *(value for _, value in mean.definitions))):
        raise NotYetError(
            "a wave times a sign of fields with means needs an error function of complex numbers"
        )
    return mean


def _merged(slots: Sequence[FormSlot]) -> list[FormSlot]:
    """Return the slots with those of one form multiplied, except for those that bring own noise.

    erf of a field is the sign of the field plus independent noise: nothing becomes singular where
    several stand at one field, and products at one field need no function of their own. Products of
    steps, signs and delta functions are written in full.
    """
    alone = [slot for slot in slots if isinstance(slot.function, sp.erf)]
    rest: dict[sp.Expr, sp.Expr] = {}
    for slot in slots:
        if not isinstance(slot.function, sp.erf):
            rest[slot.form] = rest.get(slot.form, sp.S.One) * slot.function
    found = ((reduced(function, X), form) for form, function in rest.items())
    return alone + [FormSlot(function, form) for function, form in found if function != 1]
