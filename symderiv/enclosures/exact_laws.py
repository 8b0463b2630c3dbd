"""The numbers of equations as exact ones, for each kind of examples and each piece of time.

Learning rates that change in time are products of a number and a formula in time. Inputs of several
classes have rates of their own for each class, of overlaps with teachers that are rescaled; the
rates of the run are their means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing, families_of

if TYPE_CHECKING:
    from symderiv.inputs import DataModel

#: Time in formulas.
ALPHA = sp.Symbol("alpha", real=True)


@dataclass(frozen=True)
class ExactVectors:
    """A state and constants as exact numbers: shortest decimals of doubles, or formulas.

    Attributes:
        begin, constants: In doubles.
        state, parameters: How they are packed.
        exact: SymPy numbers made of roots, by names of fields; all entries of such a field are
            this number.
        factors: Formulas, perhaps in :data:`ALPHA`, by which entries of fields are multiplied.
    """

    begin: np.ndarray
    constants: np.ndarray
    state: Packing
    parameters: Packing
    exact: Mapping[str, sp.Expr] = field(default_factory=dict)
    factors: Mapping[str, sp.Expr] = field(default_factory=dict)

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Return the numbers by field, as fractions or formulas."""
        numbers = {}
        for packing, values in ((self.state, self.begin), (self.parameters, self.constants)):
            for name, view in packing.views(values).items():
                exact = np.empty(view.shape, object)
                for index in np.ndindex(view.shape):
                    number = self.exact.get(name, decimal(float(view[index])))
                    exact[index] = _product(number, self.factors.get(name))
                numbers[name] = exact
        return numbers


@dataclass(frozen=True)
class ExactLaw:
    """The equations of one kind of examples.

    Attributes:
        numbers: The state at the start and the constants by field, as fractions or formulas.
        share: The probability of an example.
        scale: Factors that multiply fields of the state in these equations, in their shapes.
    """

    numbers: Mapping[str, np.ndarray]
    share: Fraction = Fraction(1)
    scale: Mapping[str, np.ndarray] = field(default_factory=dict)

    def factor(self, name: str, place: int) -> Fraction:
        """Return the factor of an entry of the state."""
        return self.scale[name].reshape(-1)[place] if name in self.scale else Fraction(1)

    @property
    def in_time(self) -> bool:
        """Return whether a constant is a formula in time."""
        values = (x for array in self.numbers.values() for x in array.ravel())
        return any(isinstance(x, sp.Basic) and x.has(ALPHA) for x in values)


@dataclass(frozen=True)
class ExactPiece:
    """A piece of time in which the equations do not jump.

    Attributes:
        begin: The time at which it begins.
        laws: The equations of all kinds of examples.
    """

    begin: float
    laws: tuple[ExactLaw, ...]


def classes_of(vectors: ExactVectors, data: DataModel) -> tuple[ExactLaw, tuple[ExactLaw, ...]]:
    """Return the equations at averaged eigenvalues, and those of each class of inputs.

    Args:
        vectors: A state of plain descent at averaged eigenvalues, with its constants.
        data: The classes. Their probabilities and eigenvalues are the shortest decimals; the
            probabilities are divided by their sum.

    Raises:
        NotYetError: An eigenvalue is zero, so that overlaps cannot be rescaled.
    """
    weights = [decimal(each.probability) for each in data.components]
    shares = [each / sum(weights) for each in weights]
    own = [np.array([decimal(x) for x in each.eigenvalue]) for each in data.components]
    if any(x == 0 for each in own for x in each):
        raise NotYetError(
            "has a class with an eigenvalue of zero, whose overlaps cannot be rescaled exactly; "
            "give these inputs a small variance",
            argument="inputs",
        )
    mean = np.sum([share * each for share, each in zip(shares, own, strict=True)], axis=0)
    usual = {**vectors.numbers, "eigenvalue": mean}
    laws = []
    for share, each in zip(shares, own, strict=True):
        ratio = each / mean
        teachers = usual["teacher_overlap"] * ratio**2
        variances = (teachers / each * usual["weight"]).sum(axis=-1)
        numbers = {**usual, "eigenvalue": each, "teacher_overlap": teachers, "T": variances}
        scale = {
            name: np.broadcast_to(ratio, shape)
            for name, shape in vectors.state.shapes.items()
            if families_of(name)[1:] == ("B",)
        }
        laws.append(ExactLaw(numbers, share, scale))
    return ExactLaw(usual), tuple(laws)


def decimal(number: float) -> Fraction:
    """Return the shortest decimal that gives a double."""
    return Fraction(repr(float(number)))


def _product(number: Fraction | sp.Expr, factor: sp.Expr | None) -> Fraction | sp.Expr:
    if factor is None:
        return number
    product = sp.sympify(number) * factor
    return Fraction(int(product.p), int(product.q)) if product.is_Rational else product
