"""Rewriting sums before they become loops: halves, nesting, factors in front, merging.

Every rule here keeps the value of an expression exactly; they only change how often something is
evaluated. The rules, in the order in which they are applied to one sum:

- a sum over all pairs whose summand does not change when the two indices are exchanged runs over
  half of the pairs, with weight 2 off the diagonal;
- a sum over several indices is nested, innermost first;
- factors without the index move in front of the sum;
- a case distinction that does not depend on the index moves in front of the sum;
- sums over the same range that are added, with coefficients of a rational ratio, become one sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import Function
from symderiv_codegen.ir.walk import (
    Total,
    array_name,
    free_names,
    range_symbol,
    subexpressions,
    with_plain_indices,
)
from symderiv_codegen.passes.coincidence import chosen_case, partitions

Limit = tuple[sp.Symbol, sp.Expr, sp.Expr]


class SumRewriter:
    """A rewriter that applies these rules to expressions over given arrays and scalar functions."""

    def __init__(self, arrays: Mapping[str, Array], functions: Mapping[str, Function]) -> None:
        self._ranges = {size for array in arrays.values() for size in array.shape}
        self._symmetric = {name: array.pair for name, array in arrays.items() if array.symmetric}
        self._orders = {
            name: _closure(function.symmetries, len(function.arguments))
            for name, function in functions.items()
            if function.symmetries
        }
        self._ordered: dict[sp.Basic, sp.Basic] = {}

    def rewrite(self, expression: sp.Expr) -> sp.Expr:
        """Return an equal expression with plain indices and single-index sums, after applying the
        rules.
        """
        plain = with_plain_indices(expression)
        # Ranges are identified by name, whatever assumptions the given symbol has.
        ranges = {s: range_symbol(str(s)) for s in plain.atoms(sp.Symbol) if str(s) in self._ranges}
        return self._rewrite(plain.xreplace(ranges))

    def _rewrite(self, node: sp.Basic) -> sp.Basic:
        if isinstance(node, sp.KroneckerDelta):
            first, second = node.args
            return sp.Piecewise((1, sp.Eq(first, second)), (0, True))
        if isinstance(node, sp.Indexed) or not node.has(Total, sp.KroneckerDelta):
            return node
        if isinstance(node, Total):
            return self._sum(node.summand, [node.limit])
        changed = node.func(*(self._rewrite(argument) for argument in node.args))
        return _common_factors_in_front(_merged(changed))

    def _sum(self, summand: sp.Expr, limits: list[Limit]) -> sp.Expr:
        summand, limits = _flattened(summand, limits)
        summand, limits = self._halved(summand, limits)
        result = self._rewrite(summand)
        for limit in limits:
            result = _single(result, limit)
        return result

    def _halved(self, summand: sp.Expr, limits: list[Limit]) -> tuple[sp.Expr, list[Limit]]:
        """Return the sum over half of the pairs, for the first exchangeable pair of indices."""
        for second, (b, low, high) in enumerate(limits):
            for a, other_low, other_high in limits[second + 1 :]:
                if (low, high) != (other_low, other_high):
                    continue
                if any({str(a), str(b)} & free_names(sp.Tuple(*limit[1:])) for limit in limits):
                    continue
                if self.exchangeable(summand, a, b):
                    weight = sp.Piecewise((1, sp.Eq(a, b)), (2, True))
                    limits[second] = (b, low, a)
                    return sp.Mul(weight, summand), limits
        return summand, limits

    def exchangeable(self, expression: sp.Expr, a: sp.Symbol, b: sp.Symbol) -> bool:
        """Return whether an expression is invariant under the exchange of two indices.

        This follows from the declared symmetries of arrays and functions; case distinctions are
        compared case by case over all ways in which their indices can coincide.
        """
        if expression.has(Total):
            return False
        swapped = expression.xreplace({a: b, b: a})
        conditions = [
            condition
            for node in subexpressions(sp.Tuple(expression, swapped))
            if isinstance(node, sp.Piecewise)
            for _, condition in node.args
        ]
        if any(not _about_indices(condition) for condition in conditions):
            return False
        involved = {s for condition in conditions for s in condition.atoms(sp.Symbol)}
        for groups in partitions(sorted(involved, key=str)):
            chosen = {index: group[0] for group in groups for index in group}
            cases = (self._canonical(chosen_case(each, chosen)) for each in (expression, swapped))
            if next(cases) != next(cases):
                return False
        return True

    def _canonical(self, node: sp.Basic) -> sp.Basic:
        """Return a node with symmetric indices and arguments sorted, remembered for
        shared parts.
        """
        if node not in self._ordered:
            self._ordered[node] = self._put_in_order(node)
        return self._ordered[node]

    def _put_in_order(self, node: sp.Basic) -> sp.Basic:
        if isinstance(node, sp.Indexed):
            pair = self._symmetric.get(array_name(node))
            if pair is None:
                return node
            indices = list(node.indices)
            indices[pair : pair + 2] = sorted(indices[pair : pair + 2], key=sp.default_sort_key)
            return node.base[tuple(indices)]
        if not node.args:
            return node
        arguments = [self._canonical(argument) for argument in node.args]
        if isinstance(node, AppliedUndef) and node.func.__name__ in self._orders:
            orders = self._orders[node.func.__name__]
            candidates = [[arguments[p] for p in order] for order in orders]
            arguments = min(candidates, key=lambda c: [sp.default_sort_key(x) for x in c])
        return node.func(*arguments)


def _closure(generators: Sequence[tuple[int, ...]], size: int) -> list[tuple[int, ...]]:
    """Return all permutations that the given ones generate."""
    group = {tuple(range(size))}
    new = set(group)
    while new:
        new = {tuple(g[p] for p in h) for g in new for h in generators} - group
        group |= new
    return sorted(group)


def _about_indices(condition: sp.Basic) -> bool:
    return all(
        symbol.is_integer and isinstance(symbol, sp.Symbol) for symbol in condition.free_symbols
    ) and not condition.has(sp.Indexed)


def _flattened(summand: sp.Expr, limits: list[Limit]) -> tuple[sp.Expr, list[Limit]]:
    """Return nested sums as one sum over several indices, if only factors are in between."""
    while True:
        sums = [factor for factor in sp.Mul.make_args(summand) if isinstance(factor, Total)]
        if len(sums) != 1:
            return summand, limits
        rest = _without(summand, sums[0])
        if rest.has(Total):
            return summand, limits
        summand = rest * sums[0].summand
        limits = [sums[0].limit, *limits]


def _without(product: sp.Expr, *left_out: sp.Expr) -> sp.Expr:
    """Return the product of all factors but the given ones."""
    return sp.Mul(*(factor for factor in sp.Mul.make_args(product) if factor not in left_out))


def _single(summand: sp.Expr, limit: Limit) -> sp.Expr:
    """Return the sum over one index, with factors and cases without the index outside."""
    index, low, high = limit
    summand = _common_factors_in_front(summand)
    factors = [part for f in sp.Mul.make_args(summand) for part in _cases_apart(f)]
    outside = [factor for factor in factors if str(index) not in free_names(factor)]
    inside = [factor for factor in factors if factor not in outside]
    if not inside:
        return sp.Mul(*outside, high - low + 1)
    for case in inside:
        if isinstance(case, sp.Piecewise) and all(
            str(index) not in free_names(condition) for _, condition in case.args
        ):
            rest = _without(sp.Mul(*inside), case)
            cases = [(_single(rest * value, limit), c) for value, c in case.args]
            return sp.Mul(*outside, *_cases_apart(sp.Piecewise(*cases)))
    return sp.Mul(*outside, Total(sp.Mul(*inside), *limit))


def _cases_apart(factor: sp.Expr) -> list[sp.Expr]:
    """Return a case distinction as factors common to all cases, and the remaining cases."""
    if not isinstance(factor, sp.Piecewise):
        return [factor]
    first, *others = [sp.Mul.make_args(value) for value, _ in factor.args if value != 0]
    common = [f for f in first if not f.is_Number and all(f in other for other in others)]
    left = sp.Piecewise(*((_without(value, *common), c) for value, c in factor.args))
    return [*common, left]


def _common_factors_in_front(expression: sp.Expr) -> sp.Expr:
    """Return an expression with common factors outside: a*x + a*y becomes a*(x + y)."""
    if not isinstance(expression, sp.Add):
        return expression
    first, *others = (sp.Mul.make_args(term) for term in expression.args)
    common = [f for f in first if not f.is_Number and all(f in other for other in others)]
    if not common:
        return expression
    return sp.Mul(*common, sp.Add(*(_without(term, *common) for term in expression.args)))


def _merged(expression: sp.Expr) -> sp.Expr:
    """Merge sums over the same range with coefficients of a rational ratio into one sum."""
    if not isinstance(expression, sp.Add):
        return expression
    done: list[sp.Expr] = []
    sums: list[tuple[sp.Expr, Total]] = []
    for term in expression.as_ordered_terms():
        found = [factor for factor in sp.Mul.make_args(term) if isinstance(factor, Total)]
        if len(found) != 1:
            done.append(term)
            continue
        coefficient = _without(term, found[0])
        for position, (other, total) in enumerate(sums):
            joined = _joined_sum(total, found[0], coefficient / other)
            if joined is not None:
                sums[position] = (other, joined)
                break
        else:
            sums.append((coefficient, found[0]))
    return sp.Add(*done, *(coefficient * total for coefficient, total in sums))


def _joined_sum(first: Total, second: Total, ratio: sp.Expr) -> Total | None:
    index, low, high = first.limit
    other, other_low, other_high = second.limit
    if not ratio.is_Rational or (low, high) != (other_low, other_high):
        return None
    summand = second.summand
    if other != index:
        if str(index) in free_names(summand) or _binds(summand, index):
            return None
        summand = summand.xreplace({other: index})
    combined = _common_factors_in_front(sp.Add(first.summand, ratio * summand))
    combined = sp.Mul(*(_merged(factor) for factor in sp.Mul.make_args(combined)))
    return Total(combined, index, low, high)


def _binds(expression: sp.Expr, index: sp.Symbol) -> bool:
    return any(index == total.limit[0] for total in expression.atoms(Total))
