"""Coefficients for all numbers of units, from those of a few units that stand for any.

A statement that treats the units of a family alike gives coefficients that only change their names
when units are exchanged. So a coefficient of units i and j is a sum over how many further units its
terms contain: terms of none, of one, of two, … Each of these is read off once, from equations
written out for a few units, and summed over all units. Sums run over coinciding units too where the
functions stay regular there and give the same numbers, which is decided by computation with thirty
digits; elsewhere they leave coinciding units out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
import sympy as sp
from symderiv_codegen import print_mpmath
from sympy.core.function import AppliedUndef

from symderiv.errors import NotClosed, NotYetError
from symderiv.statement.register import Overlap
from symderiv.system.closed_motion import Closed

__all__ = ["AllSizes", "Unit", "index"]

Unit = tuple[str, int]
"""The range of a unit, "K" or "M", and its number from 0."""

LETTERS = {"K": ("i", "j", "p", "q", "u"), "M": ("n", "m", "o", "s")}
_DIGITS = 30
_EQUAL = mpmath.mpf(10) ** (-_DIGITS // 2)


def index(unit_range: str, letter: str) -> sp.Idx:
    """Return an index over a range."""
    return sp.Idx(letter, sp.Symbol(unit_range, integer=True, positive=True))


@dataclass(frozen=True)
class Arrays:
    """What the symbols of a statement are entries of.

    Args:
        closed: The equations for a few units.
        sizes: How many units each range has there, all different.
    """

    closed: Closed
    sizes: Mapping[str, int]

    def range_of(self, count: int) -> str | None:
        """Return the range of so many members, None for one that stands alone."""
        return next((name for name, size in self.sizes.items() if size == count), None)

    @cached_property
    def units(self) -> dict[str, Unit | None]:
        """The units of vectors, slow scalars and parameters by name."""
        found: dict[str, Unit | None] = {}
        families: dict[str, list[str]] = {}
        for vector in self.closed.equations.statement.vectors:
            families.setdefault(vector.family, []).append(vector.name)
        symbols = self.closed.equations.law.symbols
        for symbol, name in symbols.scalars.items():
            families.setdefault(name, []).append(str(symbol))
        for symbol in symbols.parameters:
            families.setdefault(str(symbol).rstrip("0123456789"), []).append(str(symbol))
        for members in families.values():
            unit_range = self.range_of(len(members))
            for place, member in enumerate(members):
                found[member] = None if unit_range is None else (unit_range, place)
        return found

    def head(self, name: str) -> str:
        """Return the name of the family of a member."""
        return name if self.units.get(name) is None else name.rstrip("0123456789")

    @cached_property
    def entries(self) -> dict[sp.Symbol, sp.Expr]:
        """The symbols of the equations as entries of arrays with numbers as indices."""
        law = self.closed.equations.law
        found: dict[sp.Symbol, sp.Expr] = {}
        for symbol, meaning in law.symbols.meaning.items():
            if isinstance(meaning, Overlap):
                found[symbol] = self._pair("o", meaning.first, meaning.second)
        for symbol, covariance in law.covariances.items():
            head = "c__" + "__".join(covariance.inputs)
            found[symbol] = self._pair(head, covariance.first, covariance.second)
        for symbol in (*law.symbols.scalars, *law.symbols.parameters):
            unit = self.units[str(symbol)]
            if unit is not None:
                found[symbol] = sp.IndexedBase(self.head(str(symbol)), real=True)[unit[1]]
        return found

    def _pair(self, head: str, first: Any, second: Any) -> sp.Expr:
        places = [self.units[first.name], self.units[second.name]]
        families = [first.family, second.family]
        base = sp.IndexedBase(f"{head}__{families[0]}__{families[1]}", real=True)
        numbers = [place[1] for place in places if place is not None]
        if families[0] == families[1]:
            numbers = sorted(numbers)
        return base[tuple(numbers)] if numbers else sp.Symbol(str(base.label), real=True)

    @cached_property
    def ranges(self) -> dict[str, tuple[str, ...]]:
        """The ranges of the indices of arrays by name."""
        law = self.closed.equations.law
        names: dict[sp.Symbol, tuple[str, ...]] = {}
        for symbol, meaning in law.symbols.meaning.items():
            if isinstance(meaning, Overlap):
                names[symbol] = meaning.first.name, meaning.second.name
        for symbol, covariance in law.covariances.items():
            names[symbol] = covariance.first.name, covariance.second.name
        names |= {s: (str(s),) for s in (*law.symbols.scalars, *law.symbols.parameters)}
        found: dict[str, tuple[str, ...]] = {}
        for symbol, members in names.items():
            entry = self.entries.get(symbol)
            if isinstance(entry, sp.Indexed):
                places = (self.units[name] for name in members)
                found[str(entry.base.label)] = tuple(p[0] for p in places if p is not None)
        return found

    def symmetric(self, name: str) -> bool:
        """Return whether an array does not change when its indices are exchanged."""
        return len(self.ranges[name]) == 2 and len(set(name.split("__")[-2:])) == 1


class AllSizes:
    """Reads off coefficients for all numbers of units.

    Args:
        closed: The equations for a few units.
        sizes: How many units each range has there, all different.
    """

    def __init__(self, closed: Closed, sizes: Mapping[str, int]) -> None:
        if closed.means.joints.functions:
            raise NotYetError("modules for all numbers of units need means in closed form")
        self.arrays = Arrays(closed, sizes)
        self.sizes = dict(sizes)
        self._samples = [_Sample(self.arrays, _functions_of(closed), seed) for seed in (1, 2, 3)]

    def lifted(self, expression: sp.Expr, free: Sequence[Unit]) -> sp.Expr:
        """Return a coefficient of some units with index letters, summed over all others.

        Args:
            expression: Written out for a few units.
            free: The units that it is a coefficient of, in the order of their letters.

        Raises:
            NotClosed: The units of a family are not treated alike.
        """
        left = self._merged(sp.expand(expression.xreplace(self.arrays.entries)))
        found = sp.S.Zero
        last: frozenset[Unit] | None = None
        while left != 0:
            groups = self._by_units(left, free)
            most = max(groups, key=len)
            chosen = self._first(most, free)
            if chosen not in groups or chosen == last:
                raise _not_alike(expression)
            last = chosen
            summand = self._one_of_each(groups[chosen], chosen)
            for apart in (False, True):
                rest = self._merged(
                    sp.expand(left - self._everywhere(summand, chosen, free, apart))
                )
                if rest is not sp.nan:
                    break
            else:
                raise _not_alike(expression)
            found += self._summed(summand, chosen, free, apart)
            left = rest
        return found

    def pair(
        self, different: sp.Expr, same: sp.Expr, free: Sequence[Unit]
    ) -> tuple[sp.Expr, sp.Expr, bool]:
        """Return a coefficient of two units of one range.

        Args:
            different: For two units, written out for a few.
            same: For one unit twice.
            free: The two units.

        Returns:
            The coefficient of i and j, what is added where they are one unit, and whether the first
            is symmetric. Where the first is not regular at one unit it is zero there.
        """
        formula = self.lifted(different, free)
        first, second = self._letters(free)
        turned = self._at(formula, {first: free[1][1], second: free[0][1]})
        straight = self._at(formula, {first: free[0][1], second: free[1][1]})
        symmetric = self._merged(sp.expand(turned - straight)) == 0
        there = self._at(formula, {first: free[0][1], second: free[0][1]})
        added = self._merged(sp.expand(same.xreplace(self.arrays.entries) - there))
        if added is sp.nan:
            formula = sp.Piecewise((formula, sp.Ne(first, second)), (0, True))
            return formula, self.lifted(same, free[:1]), symmetric
        return formula, self.lifted(added, free[:1]), symmetric

    # units

    def _by_units(
        self, expression: sp.Expr, free: Sequence[Unit]
    ) -> dict[frozenset[Unit], list[sp.Expr]]:
        found: dict[frozenset[Unit], list[sp.Expr]] = {}
        for term in sp.Add.make_args(expression):
            found.setdefault(frozenset(self._units(term) - set(free)), []).append(term)
        return found

    def _units(self, expression: sp.Expr) -> set[Unit]:
        return {
            (unit_range, int(number))
            for element in expression.atoms(sp.Indexed)
            for unit_range, number in zip(
                self.arrays.ranges[str(element.base.label)], element.indices, strict=True
            )
        }

    def _first(self, units: frozenset[Unit], free: Sequence[Unit]) -> frozenset[Unit]:
        """Return as many units of each range, the first that are not free."""
        chosen: list[Unit] = []
        for name, size in self.sizes.items():
            places = [(name, n) for n in range(size) if (name, n) not in free]
            chosen += places[: sum(unit[0] == name for unit in units)]
        return frozenset(chosen)

    def _renamed(self, expression: sp.Expr, renamed: Mapping[Unit, Any]) -> sp.Expr:
        """Return an expression with other units, or letters, in the place of some."""
        replaced = {}
        for element in expression.atoms(sp.Indexed):
            name = str(element.base.label)
            ranges = self.arrays.ranges[name]
            places = zip(ranges, element.indices, strict=True)
            indices = [renamed.get((r, int(n)), n) for r, n in places]
            if self.arrays.symmetric(name):
                indices = sorted(indices, key=_order)
            replaced[element] = element.base[tuple(indices)]
        return expression.xreplace(replaced)

    def _one_of_each(self, terms: Iterable[sp.Expr], units: frozenset[Unit]) -> sp.Expr:
        """Return one of the terms that differ by exchanges of units, with its share."""
        exchanges = list(self._exchanges(units))
        waiting = [(term, self._values(term)) for term in terms]
        found = sp.S.Zero
        while waiting:
            term, _ = waiting.pop(0)
            images = [self._values(self._renamed(term, exchange)) for exchange in exchanges]
            alike = [n for n, each in enumerate(waiting) if any(_equal(each[1], i) for i in images)]
            waiting = [each for n, each in enumerate(waiting) if n not in alike]
            found += sp.Rational(1 + len(alike), len(exchanges)) * term
        return found

    def _exchanges(self, units: frozenset[Unit]) -> Iterator[dict[Unit, int]]:
        by_range = [sorted(u for u in units if u[0] == name) for name in self.sizes]
        for orders in itertools.product(*(itertools.permutations(part) for part in by_range)):
            pairs = zip(itertools.chain(*by_range), itertools.chain(*orders), strict=True)
            yield {unit: other[1] for unit, other in pairs}

    def _everywhere(
        self, summand: sp.Expr, units: frozenset[Unit], free: Sequence[Unit], apart: bool
    ) -> sp.Expr:
        """Return a summand added up over all units, written out."""
        ordered = sorted(units)
        total = []
        for numbers in itertools.product(*(range(self.sizes[unit[0]]) for unit in ordered)):
            placed = [(unit[0], n) for unit, n in zip(ordered, numbers, strict=True)]
            if apart and len({*placed, *free}) < len(placed) + len(set(free)):
                continue
            total.append(self._renamed(summand, dict(zip(ordered, numbers, strict=True))))
        return sp.Add(*total)

    # letters

    def _letters(self, free: Sequence[Unit]) -> list[sp.Idx]:
        count = dict.fromkeys(self.sizes, 0)
        found = []
        for unit_range, _ in free:
            found.append(index(unit_range, LETTERS[unit_range][count[unit_range]]))
            count[unit_range] += 1
        return found

    def _summed(
        self, summand: sp.Expr, units: frozenset[Unit], free: Sequence[Unit], apart: bool
    ) -> sp.Expr:
        """Return the sum over units with letters in the place of numbers."""
        ordered = [*free, *sorted(units)]
        letters = self._letters(ordered)
        places = dict(zip(ordered, letters, strict=True))
        bound = letters[len(free) :]
        found = sp.S.Zero
        for term in sp.Add.make_args(self._renamed(summand, places)):
            inside = term
            if apart:
                pairs = [
                    sp.Ne(a, b)
                    for n, a in enumerate(bound)
                    for b in (*bound[:n], *letters[: len(free)])
                    if a.upper == b.upper
                ]
                inside = sp.Piecewise((term, sp.And(*pairs)), (0, True)) if pairs else term
            for letter in reversed(bound):
                factors = sp.Mul.make_args(inside)
                own = sp.Mul(*(f for f in factors if f.has(letter)))
                inside = sp.Mul(*(f for f in factors if not f.has(letter))) * sp.Sum(own, letter)
            found += inside
        return found

    def _at(self, formula: sp.Expr, places: Mapping[sp.Idx, int]) -> sp.Expr:
        """Return a formula at units, sums written out for a few."""

        def written(total: sp.Sum) -> sp.Expr:
            letter = total.limits[0][0]
            size = self.sizes[str(letter.upper + 1)]
            inner = self._at(total.function, places)
            return sp.Add(
                *(self._sorted(inner.xreplace({letter: sp.Integer(n)})) for n in range(size))
            )

        found = formula.xreplace({total: written(total) for total in _outer_sums(formula)})
        return self._sorted(found.xreplace({k: sp.Integer(v) for k, v in places.items()}))

    def _sorted(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with the indices of symmetric arrays in order."""
        replaced = {
            element: element.base[tuple(sorted(element.indices, key=_order))]
            for element in expression.atoms(sp.Indexed)
            if self.arrays.symmetric(str(element.base.label))
        }
        return expression.xreplace(replaced)

    # numbers

    def _values(self, term: sp.Expr) -> list[mpmath.mpf]:
        return [sample.value(term) for sample in self._samples]

    def _merged(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with terms of equal value put together; nan if one is not finite."""
        kinds: list[_Kind] = []
        for term in sp.Add.make_args(expression):
            if term == 0:
                continue
            values = self._values(term)
            if not all(mpmath.isfinite(value) for value in values):
                return sp.nan
            if all(value == 0 for value in values):
                continue
            for kind in kinds:
                share = _share(values, kind.values)
                if share is not None:
                    kind.count += share
                    break
            else:
                kinds.append(_Kind(values, term))
        return sp.Add(*(kind.count * kind.term for kind in kinds))


@dataclass
class _Kind:
    """Terms that are multiples of one term."""

    values: list[mpmath.mpf]
    term: sp.Expr
    count: sp.Expr = sp.S.One


def _share(values: Sequence[mpmath.mpf], others: Sequence[mpmath.mpf]) -> sp.Rational | None:
    """Return the rational number by which values are multiples of others, None for no such."""
    first = values[0] / others[0]
    if any(abs(v / o - first) > _EQUAL * abs(first) for v, o in zip(values, others, strict=True)):
        return None
    found = sp.Rational(str(mpmath.nstr(first, 20))).limit_denominator(10**6)
    return found if abs(mpmath.mpf(found.p) / found.q - first) <= _EQUAL * abs(first) else None


def _equal(values: Sequence[mpmath.mpf], others: Sequence[mpmath.mpf]) -> bool:
    pairs = zip(values, others, strict=True)
    return all(abs(v - o) <= _EQUAL * abs(o) for v, o in pairs)


def _order(place: Any) -> tuple[bool, str]:
    """Sort numbers in front of letters."""
    return not isinstance(place, int | sp.Integer), str(place)


def _outer_sums(expression: sp.Expr) -> set[sp.Sum]:
    """Return the sums of an expression that are in no other sum."""
    if isinstance(expression, sp.Sum):
        return {expression}
    return set().union(*map(_outer_sums, expression.args)) if expression.args else set()


def _not_alike(expression: sp.Expr) -> NotClosed:
    return NotClosed(
        "the units of a family are not treated alike, so that the equations are for these numbers "
        "of units only",
        average=str(expression)[:200],
    )


def _functions_of(closed: Closed) -> dict[str, Callable[..., mpmath.mpf]]:
    """Return the means of equations for arguments of many digits."""
    space: dict[str, Any] = {"__name__": "means"}
    text = print_mpmath(closed.program)  # printed by this process
    exec(compile(text, "<means of a statement>", "exec"), space)
    return space


class _Sample:
    """Numbers for all symbols, of vectors that exist in two eigenspaces.

    Args:
        arrays: What symbols are entries of.
        functions: Of many digits, by name.
        seed: Of the numbers.
    """

    def __init__(
        self, arrays: Arrays, functions: Mapping[str, Callable[..., mpmath.mpf]], seed: int
    ) -> None:
        self._functions = functions
        self._known: dict[sp.Expr, mpmath.mpf] = {}
        law = arrays.closed.equations.law
        random = np.random.default_rng([seed, 7])
        vectors = arrays.closed.equations.statement.vectors
        place = {vector.name: n for n, vector in enumerate(vectors)}
        rows = random.standard_normal((2, len(vectors), len(vectors) + 2))
        grams = [row @ row.T / (len(vectors) + 2) for row in rows]
        rho = {each.name: random.uniform(0.5, 1.5, 2) for each in law.gaussian_inputs}
        self.numbers: dict[sp.Expr, sp.Expr] = {}
        for symbol, meaning in law.symbols.meaning.items():
            if isinstance(meaning, Overlap):
                weights = np.array([0.4, 0.6])
                self._set(arrays, symbol, meaning, weights, grams, place)
        for symbol, covariance in law.covariances.items():
            weights = np.array([0.4, 0.6])
            for inputs in covariance.inputs:
                weights = weights * rho[inputs]
            self._set(arrays, symbol, covariance, weights, grams, place)
        for symbol in (*law.symbols.scalars, *law.symbols.parameters):
            value = random.uniform(0.4, 1.6)
            self.numbers[arrays.entries.get(symbol, symbol)] = sp.Float(value, _DIGITS)
        self._random = random

    def _set(
        self,
        arrays: Arrays,
        symbol: sp.Symbol,
        pair: Any,
        weights: np.ndarray,
        grams: Sequence[np.ndarray],
        place: Mapping[str, int],
    ) -> None:
        i, j = place[pair.first.name], place[pair.second.name]
        value = math.fsum(w * gram[i, j] for w, gram in zip(weights, grams, strict=True))
        self.numbers[arrays.entries[symbol]] = sp.Float(value, _DIGITS)

    def value(self, expression: sp.Expr) -> mpmath.mpf:
        """Return the value of a term; nan where a function has none."""
        with mpmath.workdps(_DIGITS):
            return self._value(expression)

    def _value(self, expression: sp.Expr) -> mpmath.mpf:
        for symbol in expression.free_symbols:
            if symbol not in self.numbers and not isinstance(symbol, sp.IndexedBase):
                self._further(symbol)
        calls = {}
        for call in expression.atoms(AppliedUndef):
            if call not in self._known:
                arguments = [self._number(a) for a in call.args]
                try:
                    self._known[call] = self._functions[str(call.func)](mpmath.mp, *arguments)
                except (ZeroDivisionError, ValueError):
                    self._known[call] = mpmath.nan
            calls[call] = sp.Float(str(self._known[call]), _DIGITS)
        return self._number(expression.xreplace(calls))

    def _number(self, expression: sp.Expr) -> mpmath.mpf:
        return mpmath.mpf(str(sp.N(expression.xreplace(self.numbers), _DIGITS)))

    def _further(self, symbol: sp.Basic) -> None:
        """Give a number to a symbol that has none yet: a trace, the time."""
        self.numbers[symbol] = sp.Float(self._random.uniform(0.5, 1.5), _DIGITS)
