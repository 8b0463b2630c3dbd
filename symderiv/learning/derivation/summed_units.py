"""Expressions that are written out for a few units, as sums over all units.

A rule treats the units of a family alike, so that its equations are invariant under exchanges of
units. Terms of an expression are sorted by the number of further units in them: those with most
units are summed over all units, coinciding ones included, and the surplus is subtracted from the
terms with fewer. All of this is symbolic: functions are symbols, and a product of two of them at
one unit is the product at two units with both set equal.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import sympy as sp

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Term, free_letter, together

Unit = tuple[str, int]
"""A unit: its range, "K" or "M", and its number from 0."""

_OF_TEACHERS = {"y", "v_teacher", "teacher_biases"}
_RANGE = {"B": "M"}
_PREFERRED = {"K": s.p, "M": s.m}


@dataclass(frozen=True)
class Summed:
    """A sum over units as a list of pieces.

    Args:
        pieces: Summands, each with the units that represent summation indices.
        sizes: The number of units of each range for which expressions are written out.
    """

    pieces: tuple[tuple[sp.Expr, tuple[Unit, ...]], ...]
    sizes: Mapping[str, int]

    def written(self, renamed: Mapping[Unit, int] | None = None) -> sp.Expr:
        """Return the sum written out for a few units, with some units renumbered."""
        return sp.expand(
            sp.Add(
                *(
                    _renamed(summand, {**(renamed or {}), **dict(zip(bound, numbers, strict=True))})
                    for summand, bound in self.pieces
                    for numbers in itertools.product(*(range(self.sizes[u[0]]) for u in bound))
                )
            )
        )

    def lettered(self, free: Mapping[Unit, sp.Idx]) -> sp.Expr:
        """Return the sum with indices in place of units."""
        lettered = []
        for summand, bound in self.pieces:
            letters: dict[Unit, sp.Idx] = dict(free)
            for unit in bound:
                used = set(letters.values()) | {s.i, s.j} - {_PREFERRED["K"]}
                letters[unit] = free_letter(_PREFERRED[unit[0]], used)
            limits = tuple(
                (letters[unit], 0, (s.K if unit[0] == "K" else s.M) - 1) for unit in bound
            )
            for term in sp.Add.make_args(_renamed(summand, letters)):
                lettered.append(Term(term, limits))
        return together(lettered)


def summed(expression: sp.Expr, free: Iterable[Unit], sizes: Mapping[str, int]) -> Summed:
    """Return an expression with some free units as a sum over all others.

    Args:
        expression: An expression written out for a few units, expanded.
        free: The units that are not summed over.
        sizes: The number of units of each range for which it is written out.

    Raises:
        SymderivError: Units are not exchangeable, or a term needs more units than are written out.
    """
    own, left = set(free), sp.expand(expression)
    pieces: list[tuple[sp.Expr, tuple[Unit, ...]]] = []
    known: set[tuple[Unit, ...]] = set()
    while left != 0:
        groups: dict[frozenset[Unit], list[sp.Expr]] = {}
        for term in sp.Add.make_args(left):
            groups.setdefault(frozenset(_units(term) - own), []).append(term)
        most = Counter(unit[0] for unit in max(groups, key=len))
        chosen = tuple(unit for name in most for unit in _first(name, most[name], own, sizes))
        if frozenset(chosen) not in groups or chosen in known:
            raise SymderivError(f"units are not treated alike in {expression}")
        known.add(chosen)
        piece = _one_of_each(groups[frozenset(chosen)], chosen), chosen
        pieces.append(piece)
        left = sp.expand(left - Summed((piece,), sizes).written())
    return Summed(tuple(pieces), sizes)


def paired(different: sp.Expr, same: sp.Expr, sizes: Mapping[str, int]) -> sp.Expr:
    """Return a coefficient of the units i and j, with the additional diagonal term as a factor of
    δ_ij.

    Args:
        different: The coefficient for units 0 and 1, written out for a few units.
        same: The coefficient for unit 0 with itself.
        sizes: The number of units of each range for which these are written out.
    """
    first, second = ("K", 0), ("K", 1)
    general = summed(different, (first, second), sizes)
    rest = summed(same - general.written({second: 0}), (first,), sizes)
    delta = sp.KroneckerDelta(s.i, s.j)
    alone = sp.expand(delta * rest.lettered({first: s.i}))
    return general.lettered({first: s.i, second: s.j}) + alone


def _units(expression: sp.Expr) -> set[Unit]:
    return {unit for element in expression.atoms(sp.Indexed) for unit in _units_of(element)}


@lru_cache(maxsize=20_000)
def _units_of(element: sp.Indexed) -> tuple[Unit, ...]:
    families = s.families_of(element.base)
    if not families:
        families = ("B",) if str(element.base.label) in _OF_TEACHERS else ("J",)
    return tuple(
        (_RANGE.get(family, "K"), int(place))
        for family, place in zip(families, element.indices, strict=True)
    )


def _first(name: str, count: int, own: set[Unit], sizes: Mapping[str, int]) -> list[Unit]:
    return [(name, n) for n in range(sizes[name]) if (name, n) not in own][:count]


def _renamed(expression: sp.Expr, renamed: Mapping[Unit, object]) -> sp.Expr:
    return expression.xreplace(
        {element: _element(element, renamed) for element in expression.atoms(sp.Indexed)}
    )


def _element(element: sp.Indexed, renamed: Mapping[Unit, object]) -> sp.Indexed:
    places = [renamed.get(unit, unit[1]) for unit in _units_of(element)]
    if len(set(s.families_of(element.base))) == 1:
        places.sort(key=lambda each: (isinstance(each, sp.Idx), str(each)))
    return _entry(element.base, tuple(places))


@lru_cache(maxsize=20_000)
def _entry(base: sp.IndexedBase, places: tuple[object, ...]) -> sp.Indexed:
    return base[places]


def _one_of_each(terms: list[sp.Expr], units: tuple[Unit, ...]) -> sp.Expr:
    """Return one representative of the terms that differ by exchanges of units, suitably
    weighted.
    """
    exchanges = list(_exchanges(units))
    waiting, total = list(terms), sp.S.Zero
    while waiting:
        term = waiting.pop(0)
        images = {_renamed(term, exchange) for exchange in exchanges}
        alike = [each for each in waiting if each in images]
        waiting = [each for each in waiting if each not in images]
        total += sp.Rational(1 + len(alike), len(exchanges)) * term
    return total


def _exchanges(units: tuple[Unit, ...]) -> Iterator[dict[Unit, int]]:
    by_range = [[u for u in units if u[0] == name] for name in dict.fromkeys(u[0] for u in units)]
    for orders in itertools.product(*(itertools.permutations(part) for part in by_range)):
        pairs = zip(itertools.chain(*by_range), itertools.chain(*orders), strict=True)
        yield {unit: other[1] for unit, other in pairs}
