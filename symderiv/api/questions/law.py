"""The law of the fields and the averaged function, as users give them.

Fields are called x1, x2, ...; x, y, z, w are other names of the first four.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sympy as sp

from symderiv.formula import Activation, activation, parse_formula
from symderiv.formula.exact_entries import (
    FIRST_FIELDS,
    EntryReader,
    field_number,
    names_in,
    without_floats,
)
from symderiv.formula.reader import quoted
from symderiv.foundation.errors import FormulaError, InputError, ShapeError

MAX_FIELDS: Final = 32

_X: Final = sp.Symbol("x", real=True)


@dataclass(frozen=True)
class LawOfFields:
    """An exact Gaussian law of fields.

    Args:
        covariance: Shape (n, n), symmetric. Symbols are real; one that stands alone on the diagonal
            is positive, as a variance is.
        mean: Shape (n, 1), or None for zero.
        given: The caller's symbols, by the symbols that replace them here.
    """

    covariance: sp.ImmutableMatrix
    mean: sp.ImmutableMatrix | None
    given: Mapping[sp.Symbol, sp.Symbol]


def read_law(covariance: Any, mean: Any = None, size: int | None = None) -> LawOfFields:
    """Return the law that a covariance and a mean describe.

    Args:
        covariance: Rows of entries (:meth:`Reader.entry`): a list, an array, a SymPy matrix.
        mean: Entries; None is zero.
        size: The required number of fields, if that is known.

    Raises:
        ShapeError: The covariance is not square, not of this size, or too large.
        InputError: An entry cannot be read, or the covariance is not symmetric.
    """
    reader = EntryReader()
    rows = _array(covariance, "covariance")
    n = len(rows)
    if size is not None and n != size:
        raise ShapeError(
            f"must be {size} x {size}, but has {n} row{'s' * (n != 1)}", argument="covariance"
        )
    entries = []
    for i, row in enumerate(rows):
        cells = _array(row, "covariance", f"[{i}]")
        if len(cells) != n:
            raise ShapeError(
                f"is not square: row {i} has {len(cells)} entries, but there are {n} rows",
                argument="covariance",
            )
        entries.append(
            [reader.entry(cell, "covariance", f"[{i}][{j}]") for j, cell in enumerate(cells)]
        )
    means = None
    if mean is not None:
        cells = _array(mean, "mean")
        if len(cells) != n:
            raise ShapeError(
                f"has length {len(cells)}, but the covariance is {n} x {n}", argument="mean"
            )
        means = [reader.entry(cell, "mean", f"[{i}]") for i, cell in enumerate(cells)]
    variances = {entries[i][i].name for i in range(n) if entries[i][i].is_Symbol}
    variances |= {name for name, symbol in reader.given.items() if symbol.is_positive}
    positive = {sp.Symbol(v, real=True): sp.Symbol(v, positive=True) for v in variances}
    matrix = sp.ImmutableMatrix(entries).xreplace(positive)
    _check_symmetric(matrix)
    vector = None if means is None else sp.ImmutableMatrix(means).xreplace(positive)
    real = {name: sp.Symbol(name, real=True) for name in reader.given}
    given = {positive.get(real[name], real[name]): s for name, s in reader.given.items()}
    return LawOfFields(matrix, vector, given)


def _check_symmetric(matrix: sp.MatrixBase) -> None:
    for i in range(matrix.rows):
        for j in range(i):
            if sp.expand(matrix[i, j] - matrix[j, i]) != 0:
                raise InputError(
                    f"is not symmetric: entry [{i}][{j}] is {matrix[i, j]}, "
                    f"entry [{j}][{i}] is {matrix[j, i]}",
                    argument="covariance",
                )


def _array(value: Any, argument: str, entry: str = "") -> list[Any]:
    """Return the entries along the first axis; a matrix of one column counts as a list."""
    if isinstance(value, sp.MatrixBase):
        value = value.tolist() if argument == "covariance" else list(value)
    elif hasattr(value, "__array__") and not isinstance(value, np.generic | np.ma.MaskedArray):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if value.ndim == 0 or value.ndim > 2:
            raise ShapeError(f"has {value.ndim} axes", argument=argument, entry=entry)
        if argument == "mean" and value.ndim == 2 and value.shape[1] == 1:
            value = value[:, 0]
        value = list(value)
    if not isinstance(value, list | tuple) or not value:
        what = "a non-empty list" if entry or argument == "mean" else "a list of rows"
        raise ShapeError(f"must be {what}", argument=argument, entry=entry)
    if len(value) > MAX_FIELDS:
        raise ShapeError(
            f"has {len(value)} entries, more than {MAX_FIELDS}", argument=argument, entry=entry
        )
    return list(value)


def read_expression(value: Any, size: int) -> tuple[sp.Expr, tuple[sp.Symbol, ...]]:
    """Return the function of the fields that is averaged.

    Args:
        value: Text, or a SymPy expression in symbols with the names of fields.
        size: The number of fields.

    Returns:
        The expression, and all ``size`` fields as real symbols x1, x2, ...

    Raises:
        FormulaError: The formula is not acceptable.
        ShapeError: A field is beyond the size of the covariance.
    """
    fields = tuple(sp.Symbol(f"x{i + 1}", real=True) for i in range(size))
    names = {f"x{i + 1}": i for i in range(size)} | {
        name: i for i, name in enumerate(FIRST_FIELDS[:size])
    }
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = sp.sympify(value)
    if isinstance(value, sp.Expr):
        return _fields_of(value, fields, names), fields
    if not isinstance(value, str):
        raise FormulaError("must be text or a SymPy expression", argument="expression")
    for name in names_in(value):
        _check_field(name, size)
    renaming = {sp.Symbol(name, real=True): fields[i] for name, i in names.items()}
    try:
        return parse_formula(value, names).xreplace(renaming), fields
    except FormulaError as error:
        raise error.renamed("expression") from None


def _fields_of(value: sp.Expr, fields: tuple[sp.Symbol, ...], names: Mapping[str, int]) -> sp.Expr:
    if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
        raise FormulaError(f"{quoted(str(value))} is not finite and real", argument="expression")
    renaming = {}
    for symbol in value.free_symbols:
        _check_field(symbol.name, len(fields))
        if symbol.name not in names:
            raise FormulaError(
                f"{quoted(symbol.name)} is not a field; fields are x1, x2, ... "
                f"(also {', '.join(FIRST_FIELDS)})",
                argument="expression",
            )
        renaming[symbol] = fields[names[symbol.name]]
    return without_floats(value).xreplace(renaming)


def _check_field(name: str, size: int) -> None:
    number = field_number(name)
    if number is not None and number > size:
        raise ShapeError(
            f"uses the field {name} (number {number}), but the covariance has only "
            f"{size} field{'s' * (size != 1)}",
            argument="expression",
        )


def read_activation(value: Any, argument: str) -> tuple[sp.Expr, str]:
    """Return the expression in the symbol x of an activation, and its formula as text.

    Args:
        value: A name ("erf", "relu", ...), a formula in x, a SymPy expression in one symbol, or a
            result of ``symderiv.activation``.
        argument: The name of the argument in errors.

    Raises:
        FormulaError: The value is none of these.
    """
    try:
        if isinstance(value, str):
            value = activation(value)
        if isinstance(value, Activation):
            return value.expression, value.text
    except FormulaError as error:
        raise error.renamed(argument) from None
    if not isinstance(value, sp.Expr):
        raise FormulaError(
            f"must be a name, a formula in x or a SymPy expression, not {type(value).__name__}",
            argument=argument,
        )
    if value.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
        raise FormulaError(f"{quoted(str(value))} is not finite and real", argument=argument)
    symbols = sorted(value.free_symbols, key=str)
    if len(symbols) > 1:
        listed = ", ".join(s.name for s in symbols)
        raise FormulaError(
            f"has the symbols {listed}; give numbers for all but x", argument=argument
        )
    expression = without_floats(value).xreplace(dict.fromkeys(symbols, _X))
    return expression, str(expression).replace(" ", "")
