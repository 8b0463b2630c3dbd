"""``mean``, ``i2``, ``i3``, ``i4``: expectations of functions of jointly Gaussian fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import sympy as sp

from symderiv.api.questions.expectation import Expectation, Question, answered
from symderiv.api.questions.law import LawOfFields, read_activation, read_expression, read_law
from symderiv.formula.reader import quoted
from symderiv.foundation.errors import InputError
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following
from symderiv.gaussian import covariance_symbols, integrand

DEFAULT_DIGITS: Final = 15
MAX_DIGITS: Final = 1000

#: For each integral its integrand, with one activation per slot, and the number of fields.
INTEGRALS: Final = {
    "i2": ("{}(u)*{}(v)", 2, 2),
    "i3": ("{}'(u)*v*{}(w)", 2, 3),
    "i4": ("{}'(u)*{}'(v)*{}(w)*{}(z)", 4, 4),
}


@public
@following("integrating")
def mean(
    expression: Any, covariance: Any, mean: Any = None, digits: int = DEFAULT_DIGITS
) -> Expectation:
    """Return the expectation of a product of one-variable functions of jointly Gaussian fields.

    Args:
        expression: The function of the fields x1, x2, ... (x, y, z, w are other names of the first
            four): text, or a SymPy expression in symbols of these names.
        covariance: The covariance of the fields, shape (n, n), n up to 32: lists, a NumPy array or
            a SymPy matrix. Entries are ints, fractions, decimals, floats (the decimals that are
            printed for them: 0.1 is 1/10), SymPy expressions, or texts such as "1/3", "0.11",
            "c12"; names are real symbols, positive where one stands alone on the diagonal.
        mean: The mean of the fields, n entries; None is zero.
        digits: Significant digits of the number, 1 to 1000.

    Returns:
        The closed form where there is one, the number with a proved bound of its error where no
        symbols are left, and the derivation.

    Raises:
        InputError: An argument cannot be understood (``error.argument`` says which), the covariance
            is not positive semidefinite, or the expectation does not exist.
        NotYetError: There is no answer in this version.
        ToleranceError: The digits were not reached.

    Example:
        >>> result = mean("erf(x)*y", [[1, "1/2"], ["1/2", 2]], digits=20)
        >>> result.closed_form
        sqrt(3)/(3*sqrt(pi))
        >>> print(result.value, result.error_bound)
        0.32573500793527994772 4.3e-21
    """
    digits = _digits(digits)
    if covariance is None:
        raise InputError(
            "is missing; give one row for each field, [[1, 0.5], [0.5, 1]]", argument="covariance"
        )
    law = read_law(covariance, mean)
    function, fields = read_expression(expression, law.covariance.rows)
    zero = ["0"] * law.covariance.rows
    echo = {
        "formula": str(function),
        "covariance": matrix_texts(law.covariance),
        "mean": zero if law.mean is None else [str(entry) for entry in law.mean],
    }
    return answered(Question(function, fields, law, digits, echo))


@public
@following("integrating")
def i2(g: Any, h: Any = None, covariance: Any = None, digits: int = DEFAULT_DIGITS) -> Expectation:
    """Return I2 = E[g(u) h(v)], the integral of the generalisation error.

    Args:
        g: An activation: a name ("erf" is erf(x/sqrt(2)), "relu", "tanh", ...), a formula in x, or
            a SymPy expression in one symbol.
        h: The activation of the second slot; None means ``g``.
        covariance: The covariance of (u, v), as in :func:`mean`; None is in symbols c11, c12, c22.
        digits: Significant digits of the number, 1 to 1000.

    Returns, Raises: As :func:`mean`.

    Example:
        >>> i2("erf").closed_form
        2*asin(c12/(sqrt(c11 + 1)*sqrt(c22 + 1)))/pi
        >>> round(float(i2("tanh", covariance=[[1, 0.5], [0.5, 2]])), 12)
        0.14675411546
    """
    return _slots("i2", {"g": g, "h": h}, covariance, digits)


@public
@following("integrating")
def i3(g: Any, h: Any = None, covariance: Any = None, digits: int = DEFAULT_DIGITS) -> Expectation:
    """Return I3 = E[g'(u) v h(w)], the integral of the drift.

    The arguments are those of :func:`i2`; ``covariance`` is that of (u, v, w).

    Example:
        >>> i3("linear").closed_form
        c23
    """
    return _slots("i3", {"g": g, "h": h}, covariance, digits)


@public
@following("integrating")
def i4(
    g: Any,
    h: Any = None,
    k: Any = None,
    l: Any = None,
    covariance: Any = None,
    digits: int = DEFAULT_DIGITS,
) -> Expectation:
    """Return I4 = E[g'(u) h'(v) k(w) l(z)], the integral of the noise term.

    Args:
        g, h, k, l: Activations as in :func:`i2`, one for all slots or one for each.
        covariance: The covariance of (u, v, w, z), as in :func:`mean`; None is in symbols.
        digits: Significant digits of the number, 1 to 1000.

    Example:
        >>> i4("linear").closed_form
        c34
    """
    return _slots("i4", {"g": g, "h": h, "k": k, "l": l}, covariance, digits)


@public
@following("integrating")
def integral(
    which: str,
    activation: Any = None,
    activations: Any = None,
    covariance: Any = None,
    digits: int = DEFAULT_DIGITS,
) -> Expectation:
    """Return I2, I3 or I4 by name, with the arguments of the command ``integral``.

    Args:
        which: "i2", "i3" or "i4".
        activation: One activation for all slots, a name (erf, relu, ...) or a formula in x; as a
            SymPy expression in one symbol, too.
        activations: One activation per slot (two, two, four), a sequence or a text with commas,
            instead of ``activation``.
        covariance: As in :func:`i2`.
        digits: Significant digits of the number, 1 to 1000.
    """
    return answered(asked_integral(which, activation, activations, covariance, digits))


def asked_integral(
    which: str,
    activation: Any,
    activations: Any,
    covariance: Any,
    digits: int = DEFAULT_DIGITS,
) -> Question:
    """Return the question that the arguments of :func:`integral` ask."""
    kind = which.strip().lower() if isinstance(which, str) else which
    if not isinstance(kind, str) or kind not in INTEGRALS:
        raise InputError(
            f"must be one of {', '.join(INTEGRALS)}, not {quoted(str(which))}", argument="which"
        )
    if (activation is None) == (activations is None):
        raise InputError(
            "give one activation for all slots, or activations, one per slot",
            argument="activation",
        )
    slots = INTEGRALS[kind][1]
    if activation is not None:
        return _integral(kind, [read_activation(activation, "activation")], covariance, digits)
    given = split_activations(activations) if isinstance(activations, str) else activations
    if not isinstance(given, Sequence):
        raise InputError("must be a list of activations", argument="activations")
    if len(given) != slots:
        raise InputError(
            f"must have {slots} entries, one per slot, not {len(given)}", argument="activations"
        )
    read = [read_activation(g, "activations") for g in given]
    return _integral(kind, read, covariance, digits)


def split_activations(text: str) -> list[str]:
    """Return the parts of a text between commas outside brackets: ``Max(x,0),x`` has two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _slots(which: str, given: dict[str, Any], covariance: Any, digits: int) -> Expectation:
    named = {name: g for name, g in given.items() if g is not None}
    if len(named) not in (1, len(given)) or "g" not in named:
        missing = next((name for name, g in given.items() if g is None), "g")
        raise InputError(
            f"is missing: give one activation for all slots or one for each of {', '.join(given)}",
            argument=missing,
        )
    read = [read_activation(g, name) for name, g in named.items()]
    return answered(_integral(which, read, covariance, digits))


def _integral(
    which: str, given: Sequence[tuple[sp.Expr, str]], covariance: Any, digits: int
) -> Question:
    """Return an integral of given activations, one for all slots or one per slot."""
    pattern, slots, size = INTEGRALS[which]
    digits = _digits(digits)
    if covariance is None:
        law = LawOfFields(sp.ImmutableMatrix(covariance_symbols(size)), None, {})
    else:
        law = read_law(covariance, size=size)
    letters = ["g"] if len(given) == 1 else [f"g{i + 1}" for i in range(slots)]
    definitions = [f"{letter}(x) = {g}" for letter, (_, g) in zip(letters, given, strict=True)]
    per_slot = list(given) * (slots if len(given) == 1 else 1)
    formula = pattern.format(*(letters * slots)[:slots])
    function, fields = integrand(which, [g for g, _ in per_slot])
    echo = {
        "formula": f"E[{formula}], {', '.join(definitions)}",
        "integral": which,
        "activations": [text for _, text in per_slot],
        "covariance": matrix_texts(law.covariance),
    }
    return Question(function, fields, law, digits, echo)


def _digits(value: Any) -> int:
    """Return a number of significant digits, given as a whole number or its text."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        number = int(value)
    else:
        text = value if isinstance(value, str) else ""
        if not (text.isascii() and text.isdigit() and len(text) < 9):
            raise InputError(f"must be a whole number, not {quoted(str(value))}", argument="digits")
        number = int(text)
    if not 1 <= number <= MAX_DIGITS:
        raise InputError(
            f"must be from 1 to {MAX_DIGITS}, not {number if abs(number) < 10**9 else 'that many'}",
            argument="digits",
        )
    return number


def matrix_texts(matrix: sp.MatrixBase) -> list[list[str]]:
    """Return the entries of a matrix as texts, row by row."""
    return [[str(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]
