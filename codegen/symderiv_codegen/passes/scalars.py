"""Scalar functions as straight-line code: shared roots, common subexpressions, readable names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.loops import Node, Set
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.walk import rebuilt

Definition = tuple[sp.Symbol, sp.Expr]


@dataclass(frozen=True)
class StraightLine:
    """Definitions in the order of computation, and the value in terms of them."""

    definitions: tuple[Definition, ...]
    value: sp.Expr

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The definitions as nodes."""
        return tuple(Set(symbol, expression) for symbol, expression in self.definitions)

    @property
    def operations(self) -> int:
        """The number of operations and function calls in the text, each counted once."""
        expressions = [e for _, e in self.definitions] + [self.value]
        return int(sum(sp.count_ops(expression) for expression in expressions))


def as_defined(function: ScalarFunction) -> StraightLine:
    """Return the function as stated: with its own definitions and value."""
    return StraightLine(function.definitions, function.value)


def straight_line(function: ScalarFunction, names: NamePool) -> StraightLine:
    """Return the function with every repeated subexpression computed once.

    The function's own definitions keep their names and order; new ones get descriptive names.
    Half-integer powers share one root.

    Args:
        function: The function.
        names: Its register of names, which contains those of its arguments and definitions.
    """
    expressions = [e for _, e in function.definitions] + [function.value]
    rooted, roots = _shared_roots(expressions)
    found, reduced = sp.cse(
        [*roots.values(), *rooted], symbols=_provisional(), order="canonical", list=True
    )
    extra: list[Definition] = list(found)
    extra += list(zip(roots, reduced[: len(roots)], strict=True))
    targets: list[sp.Symbol | None] = [symbol for symbol, _ in function.definitions] + [None]
    ordered = _in_order(extra, list(zip(targets, reduced[len(roots) :], strict=True)))
    return _renamed(ordered, {symbol for symbol, _ in extra}, names)


def _provisional() -> sp.utilities.iterables.NumberedSymbols:
    # The dollar sign keeps provisional names apart from everything a user can declare.
    return sp.numbered_symbols("$", real=True)


def _shared_roots(
    expressions: Sequence[sp.Expr],
) -> tuple[list[sp.Expr], dict[sp.Symbol, sp.Expr]]:
    """Return expressions with x**(3/2), 1/sqrt(x), ... in terms of one symbol for each repeated
    sqrt(x).
    """
    powers: Counter[sp.Expr] = Counter()
    for expression in expressions:
        for node in sp.preorder_traversal(expression):
            if _is_half_integer_power(node):
                powers[node.base] += 1
    repeated = sorted((b for b, n in powers.items() if n > 1), key=sp.default_sort_key)
    if not repeated:
        return list(expressions), {}
    roots = {base: sp.Symbol(f"$root{n}", positive=True) for n, base in enumerate(repeated)}

    def with_roots(node: sp.Basic) -> sp.Basic:
        if not node.args:
            return node
        if _is_half_integer_power(node) and node.base in roots:
            base = with_roots(node.base)
            half = node.exp - sp.Rational(1, 2) if node.exp > 0 else node.exp + sp.Rational(1, 2)
            sign = 1 if node.exp > 0 else -1
            return base**half * roots[node.base] ** sign
        return rebuilt(node, [with_roots(argument) for argument in node.args])

    definitions = {symbol: sp.sqrt(with_roots(base)) for base, symbol in roots.items()}
    return [with_roots(expression) for expression in expressions], definitions


def _is_half_integer_power(node: sp.Basic) -> bool:
    return isinstance(node, sp.Pow) and node.exp.is_Rational and node.exp.q == 2


def _in_order(
    extra: Sequence[Definition], outputs: Sequence[tuple[sp.Symbol | None, sp.Expr]]
) -> list[tuple[sp.Symbol | None, sp.Expr]]:
    """Return definitions before their first use, with the function's own ones in their order."""
    pending = dict(extra)
    ordered: list[tuple[sp.Symbol | None, sp.Expr]] = []

    def emit(symbol: sp.Symbol | None, expression: sp.Expr) -> None:
        for needed in sorted(expression.free_symbols & set(pending), key=str):
            if needed in pending:
                emit(needed, pending.pop(needed))
        ordered.append((symbol, expression))

    for symbol, expression in outputs:
        emit(symbol, expression)
    return ordered


def _renamed(
    ordered: Sequence[tuple[sp.Symbol | None, sp.Expr]],
    provisional: set[sp.Symbol],
    names: NamePool,
) -> StraightLine:
    """Replace provisional names by final ones; inline definitions that are neither clearer nor
    cheaper.
    """
    # A subexpression equal to one of the function's own definitions takes its name.
    own: dict[sp.Expr, sp.Symbol] = {}
    for symbol, expression in ordered:
        if symbol is not None and symbol not in provisional and expression in provisional:
            own.setdefault(expression, symbol)
    final: dict[sp.Symbol, sp.Expr] = {}
    definitions: list[Definition] = []
    value: sp.Expr = sp.Integer(0)
    for symbol, expression in ordered:
        clear = expression.xreplace(final)
        if symbol is None:
            value = clear
        elif symbol in provisional:
            if symbol in own:
                final[symbol] = own[symbol]
            elif _scaled_name(clear):
                final[symbol] = clear
                continue
            else:
                final[symbol] = names.symbol_for(clear)
            definitions.append((final[symbol], clear))
        elif clear != symbol:
            definitions.append((symbol, clear))
    return StraightLine(tuple(definitions), value)


def _scaled_name(expression: sp.Expr) -> bool:
    """Return whether an expression is too simple for a name: a number, a multiple of a name, a
    condition.
    """
    if not isinstance(expression, sp.Expr):
        return True
    _, rest = expression.as_independent(*expression.free_symbols, as_Add=False)
    return bool(expression.is_number or rest.is_Symbol)
