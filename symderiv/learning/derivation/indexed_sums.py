"""Sums of products under indexed sums: the algebra in which the update rule is expanded.

An expression is expanded into *terms*: products of factors with the indices they are summed over.
Rules work on terms (rename bound indices, contract a Kronecker delta, take constants out of a
mean), and terms are combined again as nested sums with everything constant outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any

import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation.symbols import (
    POOLS,
    SUMMED,
    Average,
    ComponentAverage,
    is_random,
)

Limit = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Term:
    """``factor`` summed over ``limits`` (outermost first; bounds may use earlier indices)."""

    factor: sp.Expr
    limits: tuple[Limit, ...] = ()

    @property
    def bound(self) -> tuple[Any, ...]:
        """The summation indices."""
        return tuple(limit[0] for limit in self.limits)

    def relettered(self, letters: dict[Any, Any]) -> Term:
        """Return the term with indices, free or summed over, replaced simultaneously."""
        limits = tuple(
            (letters.get(index, index), _swap(lower, letters), _swap(upper, letters))
            for index, lower, upper in self.limits
        )
        return Term(self.factor.xreplace(letters), limits)

    def renamed(self, taken: Iterable[Any]) -> Term:
        """Return an equal term with no summation index among ``taken``."""
        taken = set(taken)
        if taken.isdisjoint(self.bound):
            return self
        used = taken | set(self.bound) | _letters(self.factor)
        replaced: dict[Any, Any] = {}
        for index in self.bound:
            if index in taken:
                replaced[index] = free_letter(index, used)
                used.add(replaced[index])
        return self.relettered(replaced)

    def canonical(self) -> Term:
        """Return an equal term with its summation indices ordered and lettered canonically."""
        limits = sorted(self.limits, key=lambda limit: _pool_number(limit[0]))
        free = _letters(self.factor) - set(self.bound)
        letters = {
            number: [s for s in _preferred(pool) if s not in free]
            for number, pool in enumerate(POOLS)
        }
        candidates = []
        for order in permutations(limits):
            numbers = [_pool_number(limit[0]) for limit in order]
            if numbers != sorted(numbers):
                continue
            left = {number: iter(pool) for number, pool in letters.items()}
            replaced = {
                limit[0]: next(left[number], limit[0])
                for limit, number in zip(order, numbers, strict=True)
            }
            candidates.append(Term(self.factor, order).relettered(replaced))
        if len(candidates) == 1:
            return candidates[0]
        return min(candidates, key=lambda term: (_text(term.limits), _text(term.factor)))

    def expression(self) -> sp.Expr:
        """Return nested sums, each with its constant factors outside."""
        return _nested(self) if self.limits else self.factor


@lru_cache(maxsize=20_000)
def _nested(summed: Term) -> sp.Expr:
    term = summed.canonical()
    result = term.factor
    for index, lower, upper in reversed(term.limits):
        factors = sp.Mul.make_args(result)
        inside = sp.Mul(*(f for f in factors if f.has(index)))
        outside = sp.Mul(*(f for f in factors if not f.has(index)))
        total = sp.Sum(inside, (index, lower, upper)) if inside != 1 else upper - lower + 1
        result = outside * total
    return result


@lru_cache(maxsize=20_000)
def _letters(expression: sp.Expr) -> frozenset[sp.Expr]:
    return frozenset(expression.atoms(sp.Idx, sp.Symbol))


@lru_cache(maxsize=20_000)
def _text(written: Any) -> str:
    return str(written)


def _pool_number(index: Any) -> int:
    return next((number for number, pool in enumerate(POOLS) if index in pool), len(POOLS))


def _preferred(pool: tuple[Any, ...]) -> tuple[Any, ...]:
    return SUMMED.get(pool, pool)


def _swap(expression: Any, replaced: dict[Any, Any]) -> Any:
    return sp.sympify(expression).xreplace(replaced)


def free_letter(index: Any, used: set[Any]) -> Any:
    """Return the first letter of the index's kind that is not among ``used``."""
    pool = next((pool for pool in POOLS if index in pool), None)
    free = [other for other in _preferred(pool or ()) if other not in used]
    if not free:
        raise SymderivError(f"no index letter is left in place of {index}")
    return free[0]


def terms(expression: sp.Expr) -> list[Term]:
    """Return the expression as a list of terms; products of sums get distinct summation indices."""
    if isinstance(expression, sp.Add):
        return [term for argument in expression.args for term in terms(argument)]
    if isinstance(expression, sp.Mul):
        result = [Term(sp.Integer(1))]
        for argument in expression.args:
            result = [_product(first, second) for first in result for second in terms(argument)]
        return result
    if isinstance(expression, sp.Pow) and expression.exp.is_Integer and expression.exp > 1:
        if expression.base.is_Add or expression.base.has(sp.Sum):
            result = [Term(sp.Integer(1))]
            for _ in range(int(expression.exp)):
                factor = terms(expression.base)
                result = [_product(first, second) for first in result for second in factor]
            return result
        return [Term(expression)]
    if isinstance(expression, sp.Sum):
        limits = tuple(tuple(limit) for limit in reversed(expression.limits))
        taken = [limit[0] for limit in limits]
        inner = [term.renamed(taken) for term in terms(expression.function)]
        return [Term(term.factor, limits + term.limits) for term in inner]
    if isinstance(expression, Average | ComponentAverage):
        return [_averaged(term, expression) for term in terms(expression.args[0])]
    return [Term(expression)]


def _product(first: Term, second: Term) -> Term:
    # new letters must differ from those of the other factor, free or summed over
    if second.limits:
        second = second.renamed(_letters(first.factor) | set(first.bound))
    if first.limits:
        first = first.renamed(_letters(second.factor) | set(second.bound))
    return Term(first.factor * second.factor, first.limits + second.limits)


def _averaged(term: Term, mean: sp.Expr) -> Term:
    """Return a term with the mean taken of its random factors only; sums and constant factors go
    outside.
    """
    factors = sp.Mul.make_args(term.factor)
    constant = sp.Mul(*(f for f in factors if not is_random(f)))
    random = sp.Mul(*(f for f in factors if is_random(f)))
    if random == 1:
        return Term(constant, term.limits)
    return Term(constant * mean.func(random, *mean.args[1:]), term.limits)


def together(parts: Iterable[Term]) -> sp.Expr:
    """Return the terms added up as one expression."""
    return sp.Add(*(term.expression() for term in parts))


def spread(expression: sp.Expr) -> sp.Expr:
    """Return an expression expanded into terms, with sums and means taken term by term and
    constants outside.
    """
    return together(terms(expression))


def derivative(expression: sp.Expr, variable: sp.Indexed) -> sp.Expr:
    """Return the derivative by one array element, with sums over Kronecker deltas carried out.

    Summation indices that are also indices of ``variable`` are renamed first.
    """
    parts = [term.renamed(variable.indices) for term in terms(expression)]
    return together(
        _contracted(piece)
        for part in parts
        for summand in sp.Add.make_args(sp.diff(part.factor, variable))
        for piece in [Term(summand, part.limits)]
    )


def at(expression: sp.Expr, indices: dict[Any, Any]) -> sp.Expr:
    """Return the expression at other free indices; conflicting summation indices are renamed."""
    taken = list(indices.values())
    return together(term.renamed(taken).relettered(indices) for term in terms(expression))


def contract(expression: sp.Expr) -> sp.Expr:
    """Return the expression with sums over an index that a Kronecker delta fixes carried out."""
    return together(_contracted(term) for term in terms(expression))


def _contracted(term: Term) -> Term:
    for factor in sp.Mul.make_args(term.factor):
        if not isinstance(factor, KroneckerDelta):
            continue
        first, second = factor.args
        for bound, other in ((second, first), (first, second)):
            if bound in term.bound:
                limits = tuple(
                    (s, _swap(u, {bound: other}), _swap(w, {bound: other}))
                    for s, u, w in term.limits
                    if s != bound
                )
                rest = (term.factor / factor).xreplace({bound: other})
                return _contracted(Term(rest, limits))
    return term


def map_terms(expression: sp.Expr, rule: Callable[[Term], Term]) -> sp.Expr:
    """Return the expression with a rule applied to every term."""
    return together(rule(term) for term in terms(expression))
