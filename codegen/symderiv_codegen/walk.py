"""Small questions about expressions with indices: which names, arrays and calls occur in them."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp
from sympy.core.function import AppliedUndef


def plain_index(index: sp.Basic) -> sp.Symbol:
    """The integer symbol that stands for an index inside the generator.

    ``sp.Idx`` carries its range, which makes it awkward to compare and substitute; ranges come from
    the declared arrays and the limits of the sums, so that the name alone is enough.
    """
    return sp.Symbol(str(index), integer=True)


def with_plain_indices(expression: sp.Basic) -> sp.Basic:
    """The expression with every ``sp.Idx`` replaced by :func:`plain_index`."""
    replaced = {index: plain_index(index) for index in indices_of(expression)}
    return expression.xreplace(replaced) if replaced else expression


def indices_of(expression: sp.Basic) -> set[sp.Idx]:
    """Every ``sp.Idx`` of the expression."""
    return {node for node in subexpressions(expression) if isinstance(node, sp.Idx)}


def subexpressions(expression: sp.Basic) -> Iterator[sp.Basic]:
    """All nodes, parents first; does not descend into an ``Idx`` or the base of an ``Indexed``."""
    yield expression
    if isinstance(expression, sp.Idx):
        return
    children = expression.indices if isinstance(expression, sp.Indexed) else expression.args
    for child in children:
        yield from subexpressions(child)


def free_names(expression: sp.Basic) -> set[str]:
    """Names of free symbols and indices (array names are left out, bound indices too)."""
    if isinstance(expression, sp.Symbol | sp.Idx):
        return {str(expression)}
    if isinstance(expression, sp.Sum):
        names = free_names(expression.function)
        # The first limit is the innermost one: its bounds may use the indices of later limits.
        for index, lower, upper in expression.limits:
            names = (names - {str(index)}) | free_names(lower) | free_names(upper)
        return names
    children = expression.indices if isinstance(expression, sp.Indexed) else expression.args
    return set().union(*(free_names(child) for child in children))


def arrays_read(expression: sp.Basic) -> set[sp.Indexed]:
    """Every array element that occurs in the expression."""
    return {node for node in subexpressions(expression) if isinstance(node, sp.Indexed)}


def array_name(element: sp.Indexed) -> str:
    """The name of the array an element belongs to."""
    return str(element.base.label)


def calls_of(expression: sp.Basic) -> set[AppliedUndef]:
    """Every applied undefined function: the calls of the program's scalar functions."""
    return {node for node in subexpressions(expression) if isinstance(node, AppliedUndef)}
