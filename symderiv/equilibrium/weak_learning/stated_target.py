"""A target y = f(z1, …, zr, noise) of independent standard normal fields, parsed and analysed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import brentq

from symderiv.formula import parse_formula
from symderiv.formula.as_function import as_function
from symderiv.formula.exact_entries import names_in
from symderiv.formula.reader import quoted
from symderiv.foundation.errors import FormulaError, NotYetError

MOST_FIELDS = 4
_FIELD = re.compile(r"z([1-9]\d?)?")
_NOISE = sp.Symbol("noise", real=True)
_INCREASING = (sp.exp, sp.tanh, sp.erf, sp.sinh, sp.atan)


@dataclass(frozen=True)
class FewFieldTarget:
    """A target of r fields.

    Attributes:
        expression: y, with signs and absolute values of products expanded into products.
        fields: z1, …, zr.
        noisy: Whether y contains the noise, a further standard normal variable.
    """

    expression: sp.Expr
    fields: tuple[sp.Symbol, ...]
    noisy: bool

    @property
    def variables(self) -> tuple[sp.Symbol, ...]:
        """All normal variables of y, noise last."""
        return (*self.fields, _NOISE) if self.noisy else self.fields

    @cached_property
    def level_form(self) -> sp.Expr:
        """An expression with the same level sets, with outer increasing functions removed."""
        form = self.expression
        while True:
            _, inner = form.as_independent(*self.variables, as_Add=form.is_Add)
            if inner.func in _INCREASING:
                inner = inner.args[0]
            elif inner.is_Pow and inner.exp.is_Integer and inner.exp % 2 == 1 and inner.exp > 0:
                inner = inner.base
            if inner == form:
                return form
            form = inner

    @cached_property
    def additive(self) -> tuple[sp.Expr, float] | None:
        """The part without noise and the size of the noise, if y is their sum; else None."""
        if not self.noisy:
            return None
        size = sp.diff(self.expression, _NOISE)
        if size.free_symbols or size == 0:
            return None
        return sp.expand(self.expression - size * _NOISE), abs(float(size))

    @cached_property
    def in_signs(self) -> tuple[sp.Expr, tuple[sp.Expr, ...]] | None:
        """y in terms of symbols s0, s1, …, and the signs that these stand for, if y is a function
        of signs.
        """
        signs = sorted(
            (each for each in self.expression.atoms(sp.sign) if not each.args[0].has(sp.sign)),
            key=str,
        )
        names = sp.symbols(f"s:{len(signs)}")
        in_names = self.expression.xreplace(dict(zip(signs, names, strict=True)))
        return (in_names, tuple(signs)) if signs and in_names.free_symbols <= set(names) else None

    @cached_property
    def patterns(self) -> tuple[list[tuple[int, ...]], dict[sp.Expr, list[sp.Rational]]]:
        """Subsets of the signs in y and, for each value of y, the coefficients of the products over
        these subsets in the indicator of the value.
        """
        assert self.in_signs is not None
        in_signs, count = self.in_signs[0], len(self.in_signs[1])
        names, sets = sp.symbols(f"s:{count}"), list(itertools.product((0, 1), repeat=count))
        values: dict[sp.Expr, list[sp.Rational]] = {}
        for signs in itertools.product((sp.S.One, sp.S.NegativeOne), repeat=count):
            y = sp.nsimplify(in_signs.xreplace(dict(zip(names, signs, strict=True))))
            before = values.get(y, [sp.S.Zero] * len(sets))
            products = (sp.prod(map(pow, signs, powers)) for powers in sets)
            values[y] = [a + b / 2**count for a, b in zip(before, products, strict=True)]
        return sets, values

    @cached_property
    def flips(self) -> list[tuple[int, ...]]:
        """All sign changes of fields, and of the noise, that leave y invariant, as signs of the
        fields.
        """
        sets = []
        for signs in itertools.product((1, -1), repeat=len(self.variables)):
            flipped = {z: s * z for z, s in zip(self.variables, signs, strict=True) if s < 0}
            if not flipped:
                continue
            other = _separated(self.expression.xreplace(flipped))
            if other == self.expression or sp.expand(other - self.expression) == 0:
                sets.append(signs[: len(self.fields)])
        return sets

    def vanishes(self, orders: tuple[int, ...]) -> bool:
        """Return whether a sign change turns the sign of ∏ He(z), so that its means given
        y vanish.
        """
        return any(np.prod(np.power(signs, orders)) < 0 for signs in self.flips)

    def values(self, points: np.ndarray, expression: sp.Expr | None = None) -> np.ndarray:
        """Return y, or an expression, at points (variables, …)."""
        function = as_function(
            self.variables, self.expression if expression is None else expression
        )
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(function(*points), dtype=float), points[0].shape)


def read_target(value: Any) -> FewFieldTarget:
    """Return the target for a text or an expression in z1, z2, … and noise.

    Raises:
        FormulaError: It is not such a formula.
        NotYetError: It has too many fields.
    """
    if isinstance(value, sp.Expr):
        names = {each.name for each in value.free_symbols}
        expression = value
    elif isinstance(value, str):
        names = set(names_in(value))
    else:
        raise FormulaError("must be text or a SymPy expression", argument="target")
    numbers = {name: _number(name) for name in sorted(names)}
    r = max(numbers.values(), default=0)
    if r == 0:
        raise FormulaError("has no field; fields are z1, z2, …", argument="target")
    if r > MOST_FIELDS:
        raise NotYetError(
            f"has {r} fields; exponents are known for at most {MOST_FIELDS}", argument="target"
        )
    if isinstance(value, str):
        try:
            expression = parse_formula(value, sorted(names))
        except FormulaError as error:
            raise error.renamed("target") from None
    fields = tuple(sp.Symbol(f"z{n}", real=True) for n in range(1, r + 1))
    renaming = {
        each: _NOISE if each.name == "noise" else fields[numbers[each.name] - 1]
        for each in expression.free_symbols
    }
    expression = _separated(sp.nsimplify(expression.xreplace(renaming), rational=True))
    return FewFieldTarget(expression, fields, "noise" in names)


def _number(name: str) -> int:
    """Return the number of a field, 0 for noise."""
    if name == "noise":
        return 0
    parts = _FIELD.fullmatch(name)
    if not parts:
        raise FormulaError(
            f"{quoted(name)} is not a field; fields are z1, z2, …, and noise is a standard normal "
            "variable beside them",
            argument="target",
        )
    return int(parts[1] or 1)


def _separated(expression: sp.Expr) -> sp.Expr:
    """Return an expression without Max, Min and Heaviside, whose signs are of single factors."""
    a, b = sp.Wild("a"), sp.Wild("b")
    written = expression.replace(sp.Heaviside, lambda x, *_: (1 + sp.sign(x)) / 2)
    written = written.replace(sp.Max(a, b), (a + b + sp.Abs(a - b)) / 2)
    written = written.replace(sp.Min(a, b), (a + b - sp.Abs(a - b)) / 2)
    written = written.replace(sp.sign, lambda x: sp.Mul(*map(_sign, _factors(x))))
    written = written.replace(sp.Abs, lambda x: sp.Mul(*map(sp.Abs, sp.Mul.make_args(x))))
    return written.replace(  # sign(a)^n is sign(a) or 1 almost everywhere
        lambda e: e.is_Pow and isinstance(e.base, sp.sign) and e.exp.is_Integer and e.exp > 0,
        lambda e: e.base if e.exp % 2 else sp.S.One,
    )


def _sign(factor: sp.Expr) -> sp.Expr:
    if factor.is_Pow and factor.exp.is_Integer:
        return sp.S.One if factor.exp % 2 == 0 else sp.sign(factor.base)
    if factor.could_extract_minus_sign():
        return -sp.sign(-factor)
    return sp.sign(factor)


def _factors(x: sp.Expr) -> Iterator[sp.Expr]:
    """Yield factors of an expression; a quadratic polynomial of one variable is split at its real
    roots.
    """
    for factor in sp.Mul.make_args(sp.factor(x) if x.is_polynomial() else x):
        symbols = factor.free_symbols
        if len(symbols) == 1 and factor.is_polynomial() and sp.degree(factor) == 2:
            (symbol,) = symbols
            yield sp.LC(factor)
            roots = sp.real_roots(sp.Poly(factor, symbol))
            yield from (symbol - root for root in roots)
        else:
            yield factor


def zeros(
    function: Callable[[np.ndarray], np.ndarray], low: float, high: float, points: int = 4001
) -> list[float]:
    """Return where a function of one variable changes its sign; zeros at sample points count."""
    grid = np.linspace(low, high, points)
    values = function(grid)
    places = [float(each) for each in grid[1:-1][values[1:-1] == 0.0]]
    for n in np.flatnonzero(values[:-1] * values[1:] < 0.0):
        root = brentq(lambda x: float(function(np.array([x]))[0]), grid[n], grid[n + 1], xtol=1e-15)
        places.append(float(root))
    return sorted(places)
