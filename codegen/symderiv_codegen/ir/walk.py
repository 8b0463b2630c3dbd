"""Queries of expressions with indices: the names, arrays and calls in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TypeVar

import sympy as sp
from sympy.core.function import AppliedUndef


def plain_index(index: sp.Symbol | sp.Idx) -> sp.Symbol:
    """Return the integer symbol that stands for an index inside the generator.

    ``sp.Idx`` carries its range, which makes it awkward to compare and substitute; ranges come from
    the declared arrays and the limits of the sums, so that the name alone is enough.
    """
    return sp.Symbol(index.name, integer=True)


def range_symbol(name: str) -> sp.Symbol:
    """Return the symbol that stands for the extent of a range inside the generator."""
    return sp.Symbol(name, integer=True, positive=True)


class Temporary(sp.Symbol):  # type: ignore[misc]
    """A quantity that the generator itself introduced: the value of a sum or of a case."""


class Total(sp.Expr):  # type: ignore[misc]
    """Sum over one index from ``low`` to ``high``, both included: the generator's own node.

    ``sp.Sum`` folds case distinctions out of its summand whenever it is rebuilt, even those that
    depend on the index of a sum further inside; this node does not.
    """

    is_commutative = True

    @property
    def summand(self) -> sp.Expr:
        return self.args[0]

    @property
    def limit(self) -> tuple[sp.Symbol, sp.Expr, sp.Expr]:
        index, low, high = self.args[1:]
        return index, low, high


def with_plain_indices(expression: sp.Basic) -> sp.Basic:
    """Return the expression with every index replaced by :func:`plain_index`, every sum by
    ``Total``.
    """
    if isinstance(expression, sp.Idx):
        return plain_index(expression)
    if isinstance(expression, sp.Indexed):
        return expression.base[tuple(with_plain_indices(index) for index in expression.indices)]
    if isinstance(expression, sp.Sum):
        result = with_plain_indices(expression.function)
        for index, low, high in expression.limits:
            bounds = (with_plain_indices(low), with_plain_indices(high))
            # Indices given as bare symbols become integers, too.
            result = Total(
                result.xreplace({index: plain_index(index)}), plain_index(index), *bounds
            )
        return result
    return rebuilt(expression, [with_plain_indices(argument) for argument in expression.args])


def rebuilt(expression: sp.Basic, arguments: Sequence[sp.Basic]) -> sp.Basic:
    """Return an expression with other arguments, or the same object if they are unchanged.

    Functions such as arcsines are not evaluated again, because SymPy would slowly examine the signs
    of their arguments, which other names or indices do not change.
    """
    if all(new is old for new, old in zip(arguments, expression.args, strict=True)):
        return expression
    if isinstance(expression, sp.Function) and not isinstance(
        expression, AppliedUndef | sp.Piecewise
    ):
        return expression.func(*arguments, evaluate=False)
    return expression.func(*arguments)


def subexpressions(expression: sp.Basic) -> Iterator[sp.Basic]:
    """Yield all nodes, parents first; does not descend into an ``Idx`` or the base of an
    ``Indexed``.
    """
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, sp.Idx):
            waiting += reversed(node.indices if isinstance(node, sp.Indexed) else node.args)


Names = frozenset[str]
Found = TypeVar("Found")

#: The number of expressions whose names are remembered.
_MOST = 1 << 15


def _once_for_each(found: Callable[[sp.Basic], Found]) -> Callable[[sp.Basic], Found]:
    """Remember a function's results for expressions; passes ask for each part many times.

    Expressions are compared by identity: comparing equal ones takes longer than the answer.
    """
    known: dict[int, tuple[sp.Basic, Found]] = {}

    @wraps(found)
    def remembered(expression: sp.Basic) -> Found:
        entry = known.get(id(expression))
        if entry is None:
            if len(known) >= _MOST:
                known.clear()
            # keeping the expression keeps its id from being used again
            entry = known[id(expression)] = expression, found(expression)
        return entry[1]

    return remembered


def free_names(expression: sp.Basic) -> Names:
    """Return names of free symbols and indices (array names are left out, bound indices too)."""
    if isinstance(expression, sp.Symbol | sp.Idx):
        return frozenset((expression.name,))
    return _free_names(expression) if expression.args else frozenset()


@_once_for_each
def _free_names(expression: sp.Basic) -> Names:
    """Return the free names of an expression with arguments."""
    if isinstance(expression, sp.Sum):
        names = free_names(expression.function)
        # The first limit is the innermost one: its bounds may use the indices of later limits.
        for index, lower, upper in expression.limits:
            names = (names - {str(index)}) | free_names(lower) | free_names(upper)
        return names
    if isinstance(expression, Total):
        index, low, high = expression.limit
        return (free_names(expression.summand) - {str(index)}) | free_names(low) | free_names(high)
    children = expression.indices if isinstance(expression, sp.Indexed) else expression.args
    return frozenset().union(*(free_names(child) for child in children))


def inexact_numbers(expression: sp.Basic) -> Names:
    """Return the floating-point numbers of an expression, as text."""
    if isinstance(expression, sp.Float):
        return frozenset((str(expression),))
    return _inexact_numbers(expression) if expression.args else frozenset()


@_once_for_each
def _inexact_numbers(expression: sp.Basic) -> Names:
    """Return the floating-point numbers of an expression with arguments."""
    return frozenset().union(*(inexact_numbers(each) for each in expression.args))


def array_name(element: sp.Indexed) -> str:
    """Return the name of the array an element belongs to."""
    return str(element.base.name)


def arrays_in(expression: sp.Basic) -> Names:
    """Return the names of all arrays of which elements occur."""
    return _arrays_in(expression) if expression.args else frozenset()


@_once_for_each
def _arrays_in(expression: sp.Basic) -> Names:
    """Return the names of the arrays in an expression with arguments."""
    if isinstance(expression, sp.Idx):
        return frozenset()
    if isinstance(expression, sp.Indexed):
        return frozenset({array_name(expression)}).union(*map(arrays_in, expression.indices))
    return frozenset().union(*map(arrays_in, expression.args))


def calls_of(expression: sp.Basic) -> frozenset[AppliedUndef]:
    """Return every applied undefined function: the calls of the program's scalar functions."""
    return _calls_of(expression) if expression.args else frozenset()


@_once_for_each
def _calls_of(expression: sp.Basic) -> frozenset[AppliedUndef]:
    """Return the calls in an expression with arguments."""
    if isinstance(expression, sp.Idx):
        return frozenset()
    parts = expression.indices if isinstance(expression, sp.Indexed) else expression.args
    own = {expression} if isinstance(expression, AppliedUndef) else set()
    return frozenset(own).union(*map(calls_of, parts))


def rebound_indices(expression: sp.Basic, in_use: set[str]) -> list[str]:
    """Return indices of sums that hide a name in use around them, sorted."""
    found: set[str] = set()
    inner = set(in_use)
    if isinstance(expression, sp.Sum):
        own = [str(limit[0]) for limit in expression.limits]
        found.update(name for name in own if name in in_use or own.count(name) > 1)
        inner.update(own)
    children = expression.args
    if isinstance(expression, sp.Sum):
        children = (expression.function,)
    elif isinstance(expression, sp.Indexed | sp.Idx):
        children = ()
    for child in children:
        found.update(rebound_indices(child, inner))
    return sorted(found)
