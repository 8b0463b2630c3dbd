"""Bounds on the size of a formula: exact constants, sizes of integers, degrees.

SymPy computes powers of numbers at once and without asking: ``9**9**9`` never returns, nor does
``2**(x + 10**900)/2**x``, whose variables cancel. So before SymPy sees a formula, each piece gets
an upper bound on the bits of any rational number that automatic simplification can make of it,
whatever cancels. The bound grows only through powers; one limit on it keeps all arithmetic fast.

The same walk evaluates constant pieces, exactly as long as they are rational and in floats
otherwise, which finds divisions by zero, overflow and roots of negative numbers early; with numbers
for all names it is the evaluator behind :func:`symderiv.formula.evaluate_scalar`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, cast

from symderiv.formula.known_functions import CONSTANTS, KNOWN
from symderiv.formula.reader import Apply, Node, Number, quoted, to_text
from symderiv.formula.walker import Meaning, constant, value_of
from symderiv.foundation.errors import FormulaError

Constant = Fraction | float

MAX_BITS: Final = 12_000  # below the 4300 digits that Python converts to text
MAX_EXPONENT: Final = 100
MAX_DEGREE: Final = 200
MAX_ROOT_BITS: Final = 1000  # SymPy looks for perfect powers in the base of a root
MAX_CONSTANT_EXPONENT: Final = 700.0


@dataclass(frozen=True)
class FormulaBound:
    """Bounds on one piece of a formula.

    Attributes:
        value: The value if the piece is constant, exact if rational; None if it has variables.
        bits: A bound on the bits of any rational number that simplification finds in the piece.
        degree: Largest number of variable factors in a term, functions counting as one.
        logarithm: Whether a logarithm occurs, so that an exponential of the piece can be a
            rational power.
    """

    value: Constant | None
    bits: int
    degree: int = 0
    logarithm: bool = False


def measure(node: Node, names: Mapping[str, Constant | None]) -> FormulaBound:
    """Return bounds on a formula, and its value if every name has one.

    Args:
        node: The formula.
        names: For each variable its value, or None if it stays a variable.

    Raises:
        FormulaError: The formula has no finite real value or could become too large to handle.
    """
    try:
        return cast("FormulaBound", value_of(node, _Bounds(names), {}))
    except RecursionError:
        raise FormulaError("the formula is nested too deeply") from None


@dataclass(frozen=True)
class _Bounds:
    """The domain of bounds, in which formulas are evaluated."""

    names: Mapping[str, Constant | None]

    def meaning(self, node: Node) -> Meaning:
        """Return the function that makes a piece's bound from those of its arguments, and these."""
        if isinstance(node, Number):
            return constant(FormulaBound(node.value, _bits(node.value)))
        if isinstance(node, Apply):
            return partial(_applied, node), node.arguments
        if node.name not in self.names:
            return constant(FormulaBound(CONSTANTS[node.name], 1))
        value = self.names[node.name]
        if value is None:
            return constant(FormulaBound(None, 1, degree=1))
        return constant(FormulaBound(value, _bits(value) if isinstance(value, Fraction) else 1))


def _applied(node: Apply, *arguments: FormulaBound) -> FormulaBound:
    bound = _RULES.get(node.operation, _function)(node, list(arguments))
    if bound.bits > MAX_BITS:
        raise FormulaError(f"the numbers in {_shown(node)} can grow beyond {MAX_BITS} bits")
    if bound.degree > MAX_DEGREE:
        raise FormulaError(f"the degree of {_shown(node)} is larger than {MAX_DEGREE}")
    return bound


def _shown(node: Node) -> str:
    return quoted(to_text(node))


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _sum(node: Apply, terms: list[FormulaBound]) -> FormulaBound:
    bits = sum(term.bits for term in terms) + len(terms)
    # the limit comes before the arithmetic, here and below
    value = _folded(node, terms, sum) if bits <= MAX_BITS else None
    return FormulaBound(value, bits, max(term.degree for term in terms), _logarithm(terms))


def _product(node: Apply, factors: list[FormulaBound]) -> FormulaBound:
    bits = sum(factor.bits for factor in factors)
    value = _folded(node, factors, math.prod) if bits <= MAX_BITS else None
    return FormulaBound(value, bits, sum(factor.degree for factor in factors), _logarithm(factors))


def _folded(
    node: Apply, bounds: list[FormulaBound], fold: Callable[[list[Constant]], Constant]
) -> Constant | None:
    values = [bound.value for bound in bounds if bound.value is not None]
    if len(values) < len(bounds):
        return None
    if not all(isinstance(value, Fraction) for value in values):
        values = [_float(value, node) for value in values]
    return _finite(fold(values), node)


def _negative(node: Apply, arguments: list[FormulaBound]) -> FormulaBound:
    (argument,) = arguments
    value = None if argument.value is None else -argument.value
    return FormulaBound(value, argument.bits, argument.degree, argument.logarithm)


def _inverse(node: Apply, arguments: list[FormulaBound]) -> FormulaBound:
    (argument,) = arguments
    value = None if argument.value is None else _power_value(node, argument.value, Fraction(-1))
    return FormulaBound(value, argument.bits, argument.degree, argument.logarithm)


def _power(node: Apply, arguments: list[FormulaBound]) -> FormulaBound:
    base, exponent = arguments
    if exponent.value is None:
        # The variables of the exponent may cancel and leave a number of this many bits.
        growth = 1 << min(exponent.bits, 64)
        if base.bits * growth > MAX_BITS:
            raise FormulaError(f"the exponent of {_shown(node)} is too large or too complicated")
    else:
        growth = _growth(node, base, exponent.value)
    bits = base.bits * growth + exponent.bits
    value = None
    if base.value is not None and exponent.value is not None and bits <= MAX_BITS:
        value = _power_value(node, base.value, exponent.value)
    return FormulaBound(value, bits, base.degree * growth, base.logarithm or exponent.logarithm)


def _growth(node: Apply, base: FormulaBound, exponent: Constant) -> int:
    """Return the exponent's modulus rounded up; raise an error if it is beyond the limits."""
    if isinstance(exponent, Fraction) and isinstance(base.value, Fraction):
        largest = MAX_BITS  # the bits of the result are checked later
        if exponent.denominator > 1 and base.bits > MAX_ROOT_BITS:
            raise FormulaError(f"the base of {_shown(node)} has too many digits for a root")
    else:
        largest = MAX_EXPONENT
    if not -largest <= exponent <= largest:
        raise FormulaError(f"the exponent of {_shown(node)} is larger than {largest}")
    if isinstance(exponent, Fraction) and exponent.denominator > MAX_EXPONENT:
        # exact roots of such an order cannot be handled; decimals such as 0.123456 land here
        raise FormulaError(
            f"the exponent of {_shown(node)} is a fraction with a denominator above {MAX_EXPONENT}"
        )
    return max(math.ceil(abs(float(exponent))), 1)


def _function(node: Apply, arguments: list[FormulaBound]) -> FormulaBound:
    function = node.operation
    bits = sum(argument.bits for argument in arguments) + 2
    degree = min(sum(argument.degree for argument in arguments), 1)
    logarithm = _logarithm(arguments)
    value = None
    if all(argument.value is not None for argument in arguments):
        floats = [_float(argument.value, node) for argument in arguments]
        value = _called(node, KNOWN[function].numeric, *floats)
    if function == "exp" and logarithm:
        # exp(n*log(2)) is 2**n
        if value is not None and abs(floats[0]) > MAX_CONSTANT_EXPONENT:
            raise FormulaError(f"the exponent of {_shown(node)} is too large")
        growth = 1 << min(bits, 64)
        if value is None and bits * growth > MAX_BITS:
            raise FormulaError(f"the exponent of {_shown(node)} is too large or too complicated")
        bits *= growth if value is None else 1
    if function == "sqrt":
        (argument,) = arguments
        degree = argument.degree
        if isinstance(argument.value, Fraction) and argument.bits > MAX_ROOT_BITS:
            raise FormulaError(f"the argument of {_shown(node)} has too many digits for a root")
    if function in ("Max", "Min"):
        degree = max(argument.degree for argument in arguments)
    return FormulaBound(value, bits, degree, logarithm or function == "log")


_RULES: Final[Mapping[str, Callable[[Apply, list[FormulaBound]], FormulaBound]]] = {
    "+": _sum,
    "*": _product,
    "negative": _negative,
    "inverse": _inverse,
    "**": _power,
}


def _logarithm(bounds: list[FormulaBound]) -> bool:
    return any(bound.logarithm for bound in bounds)


def _float(value: Constant | None, node: Apply) -> float:
    assert value is not None
    try:
        return float(value)
    except OverflowError:
        raise FormulaError(f"a number in {_shown(node)} is too large") from None


def _power_value(node: Apply, base: Constant, exponent: Constant) -> Constant:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        if base == 0 and exponent < 0:
            raise FormulaError(f"division by zero in {_shown(node)}")
        return base**exponent.numerator
    return _called(node, math.pow, _float(base, node), _float(exponent, node))


def _called(node: Apply, function: Callable[..., float], *arguments: float) -> float:
    try:
        value = function(*arguments)
    except ZeroDivisionError:
        raise FormulaError(f"{_shown(node)} is infinite") from None
    except OverflowError:
        raise FormulaError(f"{_shown(node)} is too large") from None
    except ValueError:
        raise FormulaError(f"{_shown(node)} is not a finite real number") from None
    result = _finite(value, node)
    return float(result)


def _finite(value: Constant, node: Apply) -> Constant:
    if isinstance(value, float) and not math.isfinite(value):
        raise FormulaError(f"{_shown(node)} is not a finite number")
    return value
