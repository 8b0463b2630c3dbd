"""Exact values of entries of a covariance or a mean: numbers or formulas.

Floats are read as the decimals that are printed for them, the shortest that round to them: ``0.1``
is 1/10, as it is in JSON and on the command line, and not the binary number nearest to it. Whoever
means the binary number writes ``Fraction(0.1)``.
"""

from __future__ import annotations

import keyword
import math
import numbers
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NoReturn

import mpmath
import numpy as np
import sympy as sp

from symderiv.formula import parse_formula
from symderiv.formula.known_functions import ALIASES, CONSTANTS, FUNCTIONS
from symderiv.formula.reader import MAX_DIGITS, quoted
from symderiv.foundation.errors import FormulaError, InexactError, InputError

#: Other names of the fields x1, ..., x4.
FIRST_FIELDS: Final = ("x", "y", "z", "w")

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*", re.ASCII)
_FIELD = re.compile(r"x([1-9][0-9]{0,2})")
_MOST_BITS: Final = math.ceil(MAX_DIGITS * math.log2(10))
_LARGEST: Final = Fraction(sys.float_info.max)

# What other programs print in place of a finite number.
_NOT_FINITE: Final = frozenset(
    ("nan", "inf", "infinity", "infty", "oo", "zoo", "na", "nat", "null", "none", "true", "false")
)
# Names that a reader takes for a function or a constant, whatever the capitals.
_TAKEN: Final = frozenset(
    name.lower()
    for name in (
        *(*FUNCTIONS, *ALIASES, *CONSTANTS, "i", "tan", "cot", "asin", "acos", "arcsin", "arccos"),
        *("arcsinh", "arccosh", "arctanh", "erfi", "erfinv", "OwenT", "SignMean4", "lambda"),
        "eulergamma",
    )
)


class EntryReader:
    """A reader of the entries of one question, in which each name is one symbol.

    Attributes:
        given: By name, the symbols that were given as SymPy symbols and not as text; answers are
            written in them.
    """

    def __init__(self) -> None:
        self.given: dict[str, sp.Symbol] = {}

    def entry(self, value: Any, argument: str, entry: str) -> sp.Expr:
        """Return the exact expression of one entry, in real symbols.

        Args:
            value: A number (int, Fraction, Decimal, float, of NumPy, SymPy or mpmath), text
                ("1/3", "0.11", "c12") or a SymPy expression.
            argument, entry: The names for error messages, e.g. ``"covariance"`` and ``"[0][1]"``.

        Raises:
            InputError: Not a finite real number, or a name that cannot be that of a symbol.
        """
        try:
            exact = self._entry(value)
        except InputError as error:
            raise error.renamed(argument, entry) from None
        if exact.is_Rational and abs(Fraction(int(exact.p), int(exact.q))) > _LARGEST:
            raise InputError(
                f"{quoted(str(value))} is beyond the largest number, {sys.float_info.max:.2g}",
                argument=argument,
                entry=entry,
            )
        return exact

    def _entry(self, value: Any) -> sp.Expr:
        if isinstance(value, str):
            return _from_text(value)
        if isinstance(value, sp.Basic):
            return self._from_sympy(value)
        number = _exact(value)
        return sp.Rational(number.numerator, number.denominator)

    def _from_sympy(self, value: sp.Basic) -> sp.Expr:
        if not isinstance(value, sp.Expr):
            raise InputError(f"{quoted(str(value))} is not a number or formula")
        if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo) or value.is_real is False:
            raise InputError(f"{quoted(str(value))} is not a finite real number")
        real: dict[sp.Symbol, sp.Symbol] = {}
        for symbol in sorted(value.free_symbols, key=str):
            _check_symbol(symbol.name)
            if self.given.setdefault(symbol.name, symbol) != symbol:
                raise InputError(
                    f"two different symbols are called {symbol.name}; their assumptions differ"
                )
            real[symbol] = sp.Symbol(symbol.name, real=True)
        return without_floats(value).xreplace(real)


def _from_text(text: str) -> sp.Expr:
    symbols = sorted(set(names_in(text)))
    for name in symbols:
        _check_symbol(name)
    try:
        return parse_formula(text, symbols)
    except FormulaError:
        if text.strip().lower().lstrip("+-") in _NOT_FINITE:
            _refuse(text)
        raise


def _check_symbol(name: str) -> None:
    if name.lower() in _NOT_FINITE:
        _refuse(name)
    if name.lower() in _TAKEN:
        raise InputError(f"{quoted(name)} looks like a function or a constant; rename the symbol")
    if field_number(name) is not None:
        raise InputError(f"{name} is the name of a field; rename the symbol")


def _refuse(value: Any) -> NoReturn:
    raise InputError(f"{quoted(str(value))} is not a finite number")


def _exact(value: Any) -> Fraction:
    """Return the exact fraction that a number of Python, NumPy or mpmath stands for."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if value is np.ma.masked:
        raise InputError("is masked: there is no number")
    if isinstance(value, bool | np.bool_) or value is None:
        raise InputError(f'must be a number or text such as "1/3" or "c12", not {value}')
    if isinstance(value, numbers.Rational | np.integer):
        number = Fraction(int(value.numerator), int(value.denominator))
        if max(part.bit_length() for part in number.as_integer_ratio()) > _MOST_BITS:
            raise InputError(f"has more than {MAX_DIGITS} digits")
        return number
    if isinstance(value, Decimal):
        if not value.is_finite():
            _refuse(value)
        if abs(value.adjusted()) > MAX_DIGITS or len(value.as_tuple().digits) > MAX_DIGITS:
            raise InputError(f"{quoted(str(value))} has more than {MAX_DIGITS} digits")
        return Fraction(value)
    if isinstance(value, float) and not isinstance(value, np.floating):
        if not math.isfinite(value):
            _refuse(value)
        return Fraction(repr(value))
    if isinstance(value, np.floating):
        if not np.isfinite(value):
            _refuse(value)
        return Fraction(np.format_float_scientific(value, unique=True))
    if isinstance(value, mpmath.ctx_mp_python._mpf):
        if not mpmath.isfinite(value):
            _refuse(value)
        return _shortest(value._mpf_, value.context.prec)
    if isinstance(value, complex | np.complexfloating):
        raise InputError(f"{value} is a complex number; entries are real")
    raise InputError(f'must be a number or text such as "1/3" or "c12", not {type(value).__name__}')


def without_floats(expression: sp.Expr) -> sp.Expr:
    """Return the expression with each Float as the shortest decimal that rounds to it."""
    exact = {}
    for number in expression.atoms(sp.Float):
        fraction = _shortest(number._mpf_, number._prec)
        exact[number] = sp.Rational(fraction.numerator, fraction.denominator)
    return expression.xreplace(exact)


def _shortest(raw: Any, bits: int) -> Fraction:
    """Return the shortest decimal that rounds to a binary number with this precision."""
    most = mpmath.libmp.repr_dps(bits)
    for digits in range(1, most + 1):
        text = mpmath.libmp.to_str(raw, digits)
        if mpmath.libmp.from_str(text, bits, "n") == raw:
            return Fraction(text)
    # a number with more bits than its context is taken exactly
    sign, mantissa, exponent, _ = raw
    if abs(exponent) > 4 * MAX_DIGITS:
        raise InexactError(f"has more than {MAX_DIGITS} digits")
    return Fraction(-int(mantissa) if sign else int(mantissa)) * Fraction(2) ** int(exponent)


def names_in(text: str) -> Iterator[str]:
    """Yield the names in a text that can only be variables."""
    for name in _NAME.findall(text[:3000]):
        known = name in FUNCTIONS or name in ALIASES or name in CONSTANTS
        if not known and not keyword.iskeyword(name):
            yield name


def field_number(name: str) -> int | None:
    """Return the number of a field from its name, counted from one; None for any other name."""
    if name in FIRST_FIELDS:
        return FIRST_FIELDS.index(name) + 1
    match = _FIELD.fullmatch(name)
    return int(match.group(1)) if match else None
