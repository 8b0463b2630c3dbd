r"""Means over what is drawn for an example besides its input: label noise, a flip, kept units.

Each of them is independent of the input. Each noise has one function here, from a term to the terms
of its mean; :data:`NOISES` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import sympy as sp
from sympy.functions.combinatorial.factorials import factorial2
from sympy.functions.special.tensor_functions import KroneckerDelta

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Term, contract, spread, terms, together

Noise = Callable[[Term], list[Term]]


def label_noise(term: Term) -> list[Term]:
    """Average over ζ, which is standard normal: E ζ^n is (n - 1)!! for even n, 0 for odd n."""
    power, rest = _without(term, s.zeta)
    return [] if power % 2 else [Term(factorial2(power - 1) * rest, term.limits)]


def flips(term: Term) -> list[Term]:
    """Average over f, which is -1 or 1: even powers are 1, odd ones have the mean of f.

    If the term contains a slope of the loss, which depends on f as well, f stays in the mean.
    """
    if sp.sympify(term.factor).has(s.LossSlope):
        return [term]
    power, rest = _without(term, s.flip)
    return [Term(rest * (s.mean_flip if power % 2 else 1), term.limits)]


def kept_units(term: Term) -> list[Term]:
    r"""Average over masks θ_i, which are independent, 1 with probability p and 0 otherwise.

    A mean is a sum over all partitions of its factors of products of joint cumulants; that of a
    group is κ_n(p) if all of its units coincide, and 0 otherwise. If there are two free units i and
    j besides those summed over, it is ⟨θ_i θ_j⟩ times a mean given that both are kept, in which
    unit p is kept with the probability π_ijp. If the term contains a slope of the loss, which
    depends on θ as well, masks stay in the mean.
    """
    if sp.sympify(term.factor).has(s.LossSlope):
        return [term]
    units: list[Any] = []
    rest = sp.Integer(1)
    for factor in sp.Mul.make_args(term.factor):
        base, _power = factor.as_base_exp()
        if isinstance(base, sp.Indexed) and base.base == s.mask:
            units += [base.indices[0]]  # θ² = θ
        else:
            rest *= factor
    if not units:
        return [term]
    _named_once(term)
    given = sorted({unit for unit in units if unit not in term.bound}, key=str)
    if len(given) == 2:
        rest *= s.kept_pair[tuple(given)]
        units = [unit for unit in units if unit not in given]
    else:
        given = []
    return [
        Term(rest * sp.Mul(*(_joint(group, given) for group in groups)), term.limits)
        for groups in _groupings(units)
    ]


NOISES: tuple[Noise, ...] = (label_noise, flips, kept_units)


def without_noise(term: Term) -> list[Term]:
    """Return the mean of a term over all noises."""
    parts = [term]
    for noise in NOISES:
        parts = [part for each in parts for part in noise(each)]
    return parts


def mean_over_example(expression: sp.Expr) -> sp.Expr:
    """Return the mean over an example: over its input and over all noises drawn for it."""
    parts = (part for term in terms(expression) for part in without_noise(term))
    return contract(spread(s.Average(together(parts))))


def cumulant(order: int) -> sp.Expr:
    """Return κ_n of a variable that is 1 with probability p, else 0."""
    return s.keep if order == 1 else s.kept_cumulants[order - 2]


def _of_kept(order: int) -> sp.Expr:
    """Return κ_n(p) by the recursion κ_1 = p, κ_(n+1) = p (1 - p) dκ_n/dp."""
    value: sp.Expr = s.keep
    for _ in range(order - 1):
        value = sp.expand(s.keep * (1 - s.keep) * sp.diff(value, s.keep))
    return sp.factor(value)


MOMENTS: Mapping[sp.Symbol, sp.Expr] = MappingProxyType(
    {
        s.mean_flip: 1 - 2 * s.label_flip,
        **{cumulant(order): _of_kept(order) for order in (2, 3, 4)},
    }
)
"""The definitions of the names of moments and cumulants."""


def _joint(group: Sequence[Any], given: Sequence[Any] = ()) -> sp.Expr:
    first, *others = group
    same = sp.Mul(*(KroneckerDelta(first, other) for other in others))
    if not given:
        return cumulant(len(group)) * same
    return _of_kept(len(group)).xreplace({s.keep: s.third_kept[(*given, first)]}).expand() * same


def pair_written_out(expression: sp.Expr) -> sp.Expr:
    """Return an expression with ⟨θ_i θ_j⟩ written in terms of cumulants."""
    pairs = {e for e in expression.atoms(sp.Indexed) if e.base == s.kept_pair}
    return spread(expression.xreplace({pair: _mean_of(pair.indices) for pair in pairs}))


def kept_definitions() -> tuple[tuple[sp.Expr, sp.Expr], tuple[sp.Expr, sp.Expr]]:
    """Return the names ⟨θ_i θ_j⟩ and π_ijp = ⟨θ_i θ_j θ_p⟩/⟨θ_i θ_j⟩, each with its value.

    Raises:
        SymderivError: Means of three and four masks do not follow from these.
    """
    i, j, p, q = s.i, s.j, s.p, s.q

    def given(unit: Any) -> sp.Expr:
        one_of_both = 1 - (1 - KroneckerDelta(i, unit)) * (1 - KroneckerDelta(j, unit))
        return s.keep + (1 - s.keep) * one_of_both

    pair = _mean_of((i, j))
    both = given(p) * given(q) + KroneckerDelta(p, q) * given(p) * (1 - given(p))
    for units, value in (((i, j, p), pair * given(p)), ((i, j, p, q), pair * both)):
        apart = (_mean_of(units) - value).xreplace(MOMENTS)
        for groups in _groupings(units):
            alike = {unit: group[0] for group in groups for unit in group}
            at = {
                delta: sp.Integer(alike[delta.args[0]] == alike[delta.args[1]])
                for delta in apart.atoms(KroneckerDelta)
            }
            if sp.expand(apart.xreplace(at)) != 0:
                raise SymderivError(f"the mean of the masks of {units} differs by {apart}")
    return (s.kept_pair[i, j], pair), (s.third_kept[i, j, p], given(p))


def _mean_of(units: Sequence[Any]) -> sp.Expr:
    """Return the mean of the product of some units' masks, by cumulants."""
    return sp.Add(*(sp.Mul(*map(_joint, groups)) for groups in _groupings(units)))


def _groupings(units: Sequence[Any]) -> Iterator[list[list[Any]]]:
    if not units:
        yield []
        return
    first, *rest = units
    for groups in _groupings(rest):
        yield [[first], *groups]
        for place, group in enumerate(groups):
            yield [*groups[:place], [first, *group], *groups[place + 1 :]]


def _without(term: Term, noise: sp.Symbol) -> tuple[int, sp.Expr]:
    """Return the power of a noise in a term, and the other factors."""
    power = sum(
        int(factor.as_base_exp()[1])
        for factor in sp.Mul.make_args(term.factor)
        if factor.as_base_exp()[0] == noise
    )
    if power:
        _named_once(term)
    return power, term.factor / noise**power


def _named_once(term: Term) -> None:
    if sp.sympify(term.factor).has(s.LossSlope):
        raise SymderivError(f"{term.factor} depends on the noise of an example in two ways")
