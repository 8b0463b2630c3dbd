r"""Schur complements of a matrix, recognised and handed to functions that know their cancellations.

A function of the upper triangle of a symmetric matrix c often contains its Schur complements,

    c_ij|Sk = c_ij|S - c_ik|S c_jk|S / c_kk|S,

one defined from the other, and arcsines of c_ij|S / sqrt(c_ii|S c_jj|S). In floating-point numbers
both lose their digits where the matrix loses rank. :func:`through_vectors` finds them by their
shape (names do not matter) and replaces them by inner products and volumes of exterior products of
vectors x_i with x_i . x_j = c_ij; ``fields.py`` does the arithmetic:

    c_ij|S = <x_S ^ x_i, x_S ^ x_j> / V_S**2,      c_ii|S = V_Si**2 / V_S**2,
    asin(c_ij|S / sqrt(c_ii|S c_jj|S)) = atan2(<x_S ^ x_i, x_S ^ x_j>, V_S V_Sij),

V the volume that vectors span. Expressions of any other shape stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isqrt

import sympy as sp
from symderiv_codegen import NamePool, Restated, ScalarFunction

Entry = tuple[int, int, frozenset[int]]
"""Row, column (row <= column) and the rows and columns that have been eliminated."""

LARGEST = 4

# SymPy function -> name of the function of ``fields.py`` or ``sign_mean4.py`` that computes it.
FUNCTIONS_OF_VECTORS = {
    "Angle": "_angle",
    "RootOfMinor": "_root_of_minor",
    "Fields3": "_fields3",
    "Fields4": "_fields4",
    "Plane3": "_plane3",
    "Plane4": "_plane4",
    "Space4": "_space4",
    "Inner3": "_inner3",
    "Inner4": "_inner4",
    "Inner6": "_inner6",
    "SignMean4OfCovariances": "sign_mean4_cov",
}
_FUNCTIONS = {name: type(name, (sp.Function,), {}) for name in FUNCTIONS_OF_VECTORS}


def through_vectors(function: ScalarFunction, names: NamePool) -> Restated:
    """Return the function with its Schur complements and their arcsines computed from vectors.

    Functions that are not guarded, or contain no Schur complement, are returned unchanged.
    """
    size = (isqrt(8 * len(function.arguments) + 1) - 1) // 2
    triangle = size * (size + 1) // 2 == len(function.arguments)
    if not (function.guarded and triangle and 1 < size <= LARGEST):
        return Restated(function)
    return _Rewriter(function, size, names).rewritten()


class _Rewriter:
    """Rewrites the definitions of one function in terms of vectors and their exterior products."""

    def __init__(self, function: ScalarFunction, size: int, names: NamePool) -> None:
        self._function = function
        self._size = size
        pairs = [(i, j) for i in range(size) for j in range(i, size)]
        self._covariances = dict(zip(pairs, function.arguments, strict=True))
        self._entries: dict[sp.Expr, Entry] = {
            symbol: (i, j, frozenset()) for (i, j), symbol in self._covariances.items()
        }
        self._names = names
        self._symbols: dict[str, sp.Symbol] = {}
        self._new: dict[sp.Symbol, sp.Expr] = {}
        self._everything = self._symbol("volume", range(size), positive=True)

    def rewritten(self) -> Restated:
        """Return the rewritten function without the definitions that its new value does not use."""
        given: dict[sp.Symbol, sp.Expr] = {}
        for symbol, expression in self._function.definitions:
            entry = self._schur_complement(expression)
            if entry is not None:
                self._entries[symbol] = entry
            given[symbol] = expression if entry is not None else self._changed(expression)
        value = self._changed(self._function.value)
        definitions: dict[sp.Symbol, sp.Expr] = {}

        def need(expression: sp.Expr) -> None:
            for symbol in sorted(expression.free_symbols, key=str):
                if symbol in definitions or symbol not in {*given, *self._new}:
                    continue
                if symbol in given and symbol in self._entries:
                    form = self._conditional(self._entries[symbol])
                else:
                    form = self._new[symbol] if symbol in self._new else given[symbol]
                need(form)
                definitions[symbol] = form

        need(value)
        used = value.free_symbols.union(*(e.free_symbols for e in definitions.values()))
        targets = (*self._vectors(), self._everything)
        if not used & set(targets):
            targets = ()
        call = f"Fields{self._size}" if self._size > 2 else "RootOfMinor"
        function = replace(
            self._function,
            arguments=(*self._function.arguments, *targets),
            definitions=tuple(definitions.items()),
            value=value,
            symmetries=(),
        )
        recognised = all(symbol in self._entries for symbol, _ in self._function.definitions)
        left = (value, *definitions.values())
        complete = recognised and not any(e.has(sp.asin, sp.acos) for e in left)
        return Restated(function, targets, _FUNCTIONS[call](*self._function.arguments), complete)

    # Recognition of Schur complements and correlations.

    def _schur_complement(self, expression: sp.Expr) -> Entry | None:
        """Return the entry c_ij|Sk if this is c_ij|S - c_ik|S c_jk|S / c_kk|S, else None."""
        if not (isinstance(expression, sp.Add) and len(expression.args) == 2):
            return None
        for whole, rest in (expression.args, expression.args[::-1]):
            if whole not in self._entries:
                continue
            i, j, given = self._entries[whole]
            for k in range(self._size):
                if k in given or k in (i, j):
                    continue
                pivot = self._known(k, k, given)
                first, second = self._known(i, k, given), self._known(j, k, given)
                if pivot is None or first is None or second is None:
                    continue
                if rest == -first * second / pivot:
                    return i, j, given | {k}
        return None

    def _known(self, i: int, j: int, given: frozenset[int]) -> sp.Symbol | None:
        wanted = (min(i, j), max(i, j), given)
        return next((s for s, entry in self._entries.items() if entry == wanted), None)

    def _correlation(self, expression: sp.Expr) -> Entry | None:
        """Return the entry c_ij|S of an expression c_ij|S / sqrt(c_ii|S c_jj|S)."""
        for factor in sp.Mul.make_args(expression):
            if factor not in self._entries:
                continue
            i, j, given = self._entries[factor]
            first, second = self._known(i, i, given), self._known(j, j, given)
            if i == j or first is None or second is None:
                continue
            if expression == factor / sp.sqrt(first * second):
                return i, j, given
        return None

    def _changed(self, expression: sp.Expr) -> sp.Expr:
        """Return the expression with arcsines as angles of vectors and four-sign means of
        covariances.
        """
        forms: dict[sp.Expr, sp.Expr] = {}
        for node in expression.atoms(sp.Function):
            if isinstance(node, sp.asin):
                entry = self._correlation(node.args[0])
                if entry is not None:
                    forms[node] = self._angle(entry)
            elif type(node).__name__ == "SignMean4" and self._size == LARGEST:
                order: list[Entry | None] = [
                    (i, j, frozenset()) for i in range(4) for j in range(i + 1, 4)
                ]
                if [self._correlation(a) for a in node.args] == order:
                    name = "SignMean4OfCovariances"
                    forms[node] = _FUNCTIONS[name](*self._function.arguments)
        return expression.xreplace(forms)

    # The expressions in vectors that replace them.

    def _angle(self, entry: Entry) -> sp.Expr:
        i, j, given = entry
        height = self._volume(given) * self._volume(given | {i, j})
        return _FUNCTIONS["Angle"](self._numerator(entry), height)

    def _conditional(self, entry: Entry) -> sp.Expr:
        i, j, given = entry
        if i == j:
            return self._squared_volume(given | {i}) / self._squared_volume(given)
        return self._numerator(entry) / self._squared_volume(given)

    def _numerator(self, entry: Entry) -> sp.Expr:
        """Return the inner product <x_S ^ x_i, x_S ^ x_j>."""
        i, j, given = entry
        if not given:
            return self._covariances[i, j]
        # The factors of a product stand in ascending order; each exchange changes its sign.
        exchanges = sum((k > i) + (k > j) for k in given)
        left, right = self._product(given | {i}), self._product(given | {j})
        return (-1) ** exchanges * self._inner(len(given) + 1, left, right)

    def _inner(self, degree: int, left: sp.Symbol, right: sp.Symbol) -> sp.Expr:
        name = "Inner3" if self._size == 3 else ("Inner6" if degree == 2 else "Inner4")
        return _FUNCTIONS[name](left, right)

    def _squared_volume(self, members: frozenset[int]) -> sp.Expr:
        if len(members) == 1:
            (i,) = members
            return self._covariances[i, i]
        return self._volume(members) ** 2

    def _volume(self, members: frozenset[int]) -> sp.Expr:
        if not members:
            return sp.S.One
        if len(members) == 1:
            return sp.sqrt(self._squared_volume(members))
        if len(members) == self._size:
            return self._everything
        symbol = self._symbol("volume", members, positive=True)
        if symbol not in self._new:
            product = self._product(members)
            self._new[symbol] = sp.sqrt(self._inner(len(members), product, product))
        return symbol

    def _product(self, members: frozenset[int]) -> sp.Symbol:
        """Return the exterior product of the vectors with these indices, in ascending order."""
        symbol = self._symbol("x", members)
        if len(members) > 1 and symbol not in self._new:
            *before, last = sorted(members)
            name = {2: f"Plane{self._size}", 3: f"Space{self._size}"}[len(members)]
            left, right = self._product(frozenset(before)), self._product(frozenset({last}))
            self._new[symbol] = _FUNCTIONS[name](left, right)
        return symbol

    def _vectors(self) -> tuple[sp.Symbol, ...]:
        if self._size == 2:
            return ()
        return tuple(self._symbol("x", [i]) for i in range(self._size))

    def _symbol(self, kind: str, members: Iterable[int], positive: bool = False) -> sp.Symbol:
        label = "".join(str(i + 1) for i in sorted(members))
        name = f"x{label}" if kind == "x" else f"{kind}_{label}"
        if name not in self._symbols:
            taken = self._names.take(name)
            self._symbols[name] = sp.Symbol(taken, real=True, positive=positive or None)
        return self._symbols[name]
