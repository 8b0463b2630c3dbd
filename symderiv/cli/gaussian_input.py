"""Covariances, means and integrands as users give them: JSON with exact numbers, fields x1, x2, ...

A covariance entry is a JSON number (read as the decimal it is, not as a float), or text: an exact
decimal, a fraction, a formula, a symbol. Messages name the option or key and the entry.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from symderiv.errors import FormulaError, InputError, ShapeError
from symderiv.expressions import parse_formula
from symderiv.expressions.functions import ALIASES, CONSTANTS, FUNCTIONS
from symderiv.expressions.reader import quoted

if TYPE_CHECKING:
    import sympy as sp

__all__ = ["load_json", "read_covariance", "read_integrand", "read_mean"]

MAX_FIELDS: Final = 32
FIRST_FIELDS: Final = ("x", "y", "z", "w")

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*", re.ASCII)
_FIELD = re.compile(r"x([1-9][0-9]{0,2})")


def load_json(text: str, what: str) -> Any:
    """The JSON value of a text, its numbers left as text so that they stay exact.

    Args:
        text: The text.
        what: How messages name it, e.g. ``"--covariance"``.

    Raises:
        InputError: Not JSON, NaN or infinity, a key twice, nested too deeply.
    """
    try:
        return json.loads(
            text,
            parse_float=str,
            parse_int=str,
            parse_constant=_not_finite,
            object_pairs_hook=_without_duplicates,
        )
    except json.JSONDecodeError as error:
        where = quoted(text[error.pos :]) if error.pos < len(text) else "the end"
        raise InputError(
            f"{what} is not JSON near {where}: {error.msg.lower()} "
            '(fractions and symbols are strings: "1/3", "c12")'
        ) from None
    except InputError as error:
        raise type(error)(f"{what}: {error}") from None
    except RecursionError:
        raise InputError(f"{what} is nested too deeply") from None


def _not_finite(name: str) -> NoReturn:
    raise InputError(f"{name} is not a finite number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError(f"the key {quoted(key)} occurs twice")
        result[key] = value
    return result


def read_covariance(value: Any, what: str, size: int | None = None) -> sp.Matrix:
    """The covariance matrix of a JSON array of rows.

    Symbols are real; a symbol that stands alone on the diagonal is positive, as a variance is.

    Args:
        value: The JSON value, at most 32 rows.
        what: How messages name it.
        size: The number of fields it must have, if that is known.

    Raises:
        ShapeError: Not square, or not of the wanted size.
        InputError: An entry that cannot be read, not symmetric.
    """
    import sympy as sp

    rows = _array(value, what)
    n = len(rows)
    if size is not None and n != size:
        raise ShapeError(f"{what} must be {size} x {size}, it has {n} row{'s' * (n != 1)}")
    entries = []
    for i, row in enumerate(rows):
        cells = _array(row, f"{what}[{i}]")
        if len(cells) != n:
            raise ShapeError(
                f"{what} is not square: row {i} has {len(cells)} entries, there are {n} rows"
            )
        entries.append([_entry(cell, f"{what}[{i}][{j}]") for j, cell in enumerate(cells)])
    variances = {entries[i][i] for i in range(n) if entries[i][i].is_Symbol}
    positive = {symbol: sp.Symbol(symbol.name, positive=True) for symbol in variances}
    matrix = sp.Matrix(entries).xreplace(positive)
    for i in range(n):
        for j in range(i):
            if matrix[i, j] != matrix[j, i]:
                raise InputError(
                    f"{what} is not symmetric: entry [{i}][{j}] is {matrix[i, j]}, "
                    f"entry [{j}][{i}] is {matrix[j, i]}"
                )
    return matrix


def read_mean(value: Any, what: str, covariance: sp.Matrix) -> sp.Matrix:
    """The mean vector, shape (n, 1), of a JSON array of n entries; symbols as in the covariance.

    Raises:
        ShapeError: Not as long as the covariance.
        InputError: An entry that cannot be read.
    """
    import sympy as sp

    cells, n = _array(value, what), covariance.rows
    if len(cells) != n:
        raise ShapeError(f"{what} has length {len(cells)}, the covariance is {n} x {n}")
    known = {sp.Symbol(s.name, real=True): s for s in covariance.free_symbols}
    return sp.Matrix([_entry(cell, f"{what}[{i}]") for i, cell in enumerate(cells)]).xreplace(known)


def read_integrand(text: Any, what: str, size: int) -> tuple[sp.Expr, Sequence[sp.Symbol]]:
    """The integrand in the fields x1, x2, ...; x, y, z, w are other names of the first four.

    Returns:
        The expression, and all ``size`` fields as real symbols.

    Raises:
        FormulaError: The text is not an acceptable formula.
        ShapeError: A field beyond the covariance's size.
    """
    import sympy as sp

    if not isinstance(text, str):
        raise FormulaError(f"{what} must be text")
    names = {f"x{i + 1}": i for i in range(size)} | {
        name: i for i, name in enumerate(FIRST_FIELDS[:size])
    }
    for name in _names(text):
        number = _field_number(name)
        if number is not None and number > size:
            raise ShapeError(
                f"{what} uses the field {name} (number {number}), but the covariance has only "
                f"{size} field{'s' * (size != 1)}"
            )
    fields = [sp.Symbol(f"x{i + 1}", real=True) for i in range(size)]
    renaming = {sp.Symbol(name, real=True): fields[i] for name, i in names.items()}
    try:
        return parse_formula(text, names).xreplace(renaming), fields
    except FormulaError as error:
        raise FormulaError(f"{what}: {error}") from None


def _array(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ShapeError(f"{what} must be a non-empty JSON array")
    if len(value) > MAX_FIELDS:
        raise ShapeError(f"{what} has {len(value)} entries, more than {MAX_FIELDS}")
    return value


def _entry(value: Any, what: str) -> sp.Expr:
    if not isinstance(value, str):
        raise InputError(f'{what} must be a number or text such as "1/3" or "c12"')
    symbols = sorted(set(_names(value)))
    for name in symbols:
        if _field_number(name) is not None:
            raise InputError(f"{what}: {name} is the name of a field; rename the symbol")
    try:
        return parse_formula(value, symbols)
    except FormulaError as error:
        raise FormulaError(f"{what}: {error}") from None


def _names(text: str) -> Iterator[str]:
    """The names in a text that can only be variables."""
    for name in _NAME.findall(text[:3000]):
        known = name in FUNCTIONS or name in ALIASES or name in CONSTANTS
        if not known and not keyword.iskeyword(name):
            yield name


def _field_number(name: str) -> int | None:
    """The number of a field's name, counted from one; None for any other name."""
    if name in FIRST_FIELDS:
        return FIRST_FIELDS.index(name) + 1
    match = _FIELD.fullmatch(name)
    return int(match.group(1)) if match else None
