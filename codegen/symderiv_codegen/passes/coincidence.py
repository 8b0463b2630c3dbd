"""Conditions on which indices coincide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import sympy as sp
from sympy.core.function import AppliedUndef


def partitions(items: Sequence[sp.Symbol]) -> Iterator[list[list[sp.Symbol]]]:
    """Yield all ways to split the items into groups (of coinciding indices)."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for groups in partitions(rest):
        yield [[first], *groups]
        for position, group in enumerate(groups):
            yield [*groups[:position], [first, *group], *groups[position + 1 :]]


def resolved(expression: sp.Basic, chosen: Mapping[sp.Symbol, sp.Symbol]) -> sp.Expr:
    """Return the expression for indices that coincide exactly as chosen; other names differ."""
    represented = expression.xreplace(dict(chosen))
    decided = {
        relation: sp.true if isinstance(relation, sp.Ne) else sp.false
        for relation in represented.atoms(sp.Eq, sp.Ne)
        if relation.free_symbols <= set(chosen.values())
    }
    return represented.xreplace(decided)


def chosen_case(expression: sp.Basic, chosen: Mapping[sp.Symbol, sp.Symbol]) -> sp.Basic:
    """Return :func:`resolved` without constructing the cases that do not hold.

    Args:
        expression: The expression.
        chosen: For every index in a condition, the first of those that it coincides with.
    """
    if isinstance(expression, sp.Piecewise):
        for value, condition in expression.args:
            holds = resolved(condition, chosen)
            if holds == sp.true:
                return chosen_case(value, chosen)
            if holds != sp.false:
                return resolved(expression, chosen)
    if not expression.args:
        return chosen.get(expression, expression)
    arguments = [chosen_case(each, chosen) for each in expression.args]
    same = all(new is old for new, old in zip(arguments, expression.args, strict=True))
    return expression if same else expression.func(*arguments)


def tidy_condition(condition: sp.Basic) -> sp.Basic:
    """Return a condition on equalities of indices as alternatives, each as weak as possible.

    SymPy multiplies alternatives out when it merges cases, so that "i = p and j = q, or i = q and j
    = p" becomes four clauses. The alternatives are recovered from the ways in which the indices can
    coincide.
    """
    equalities_only = all(
        isinstance(part, sp.Eq | sp.And | sp.Or | sp.Symbol)
        for part in sp.preorder_traversal(condition)
    )
    if not equalities_only or not isinstance(condition, sp.And) or not condition.has(sp.Or):
        return condition
    indices = sorted(condition.free_symbols, key=str)
    holding = []
    for groups in partitions(indices):
        chosen = {index: group[0] for group in groups for index in group}
        if resolved(condition, chosen) == sp.true:
            holding.append({frozenset(pair) for pair in _pairs(groups)})
    weakest = [pairs for pairs in holding if not any(other < pairs for other in holding)]
    return sp.Or(*(sp.And(*(_equality(pair) for pair in pairs)) for pairs in weakest))


def without_cases(expression: sp.Expr, continuous: Collection[str]) -> sp.Expr:
    """Return the expression with the general value in place of cases for coinciding indices.

    Args:
        expression: The expression with cases over indices, the last one general.
        continuous: Names of functions whose value is also right where indices coincide; cases stay
            if the general value calls another function.
    """

    def general(cases: sp.Piecewise) -> sp.Expr:
        value, otherwise = cases.args[-1]
        conditions = (condition for _, condition in cases.args[:-1])
        known = otherwise == sp.true and all(map(_of_indices, conditions))
        called = {call.func.__name__ for call in value.atoms(AppliedUndef)}
        return value if known and called and called <= set(continuous) else cases

    return expression.replace(lambda e: isinstance(e, sp.Piecewise), general)


def _of_indices(condition: sp.Basic) -> bool:
    """Return whether a condition consists of equalities of indices."""
    return all(
        isinstance(part, sp.Eq | sp.And | sp.Or | sp.Idx) or part.is_integer
        for part in sp.preorder_traversal(condition)
        if not isinstance(part, sp.Tuple)
    )


def _pairs(groups: list[list[sp.Symbol]]) -> Iterator[tuple[sp.Symbol, sp.Symbol]]:
    """Yield all pairs of coinciding indices."""
    for group in groups:
        for position, first in enumerate(group):
            for second in group[position + 1 :]:
                yield first, second


def _equality(pair: frozenset[sp.Symbol]) -> sp.Basic:
    return sp.Eq(*sorted(pair, key=str))
