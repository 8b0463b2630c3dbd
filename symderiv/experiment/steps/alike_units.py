"""Expressions about exchangeable units, as formulas for one unit and sums over units.

A statement writes its steps out for every unit. Here families of units are recovered: terms that
differ only by the number of a unit become a named sum, and changes that differ only by it one
formula. The formulas hold for the stated units, and for any other number of them if all units of a
family are treated alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import sympy as sp

Unit = tuple[str, int | str]
"""A unit: the letter of its family, and its number from 1 or a label."""

_ANY = "any"


class NotAlikeError(Exception):
    """Units of a letter are not treated alike."""

    def __init__(self, letter: str) -> None:
        super().__init__(letter)
        self.letter = letter


@dataclass(frozen=True)
class Place:
    """A number in a step: its array, and its units as indices.

    Args:
        array: Parts of the array's name.
        units: The units, one for each axis.
        symmetric: Whether the order of units does not matter.
    """

    array: tuple[str, ...]
    units: tuple[Unit, ...] = ()
    symmetric: bool = False

    def relabelled(self, labels: Mapping[Unit, Unit]) -> Place:
        """Return the number with other units."""
        units = [labels.get(unit, unit) for unit in self.units]
        if self.symmetric:
            units.sort(key=str)
        return replace(self, units=tuple(units))


@dataclass(frozen=True)
class UnitTotal:
    """A sum over the units of a letter.

    Args:
        name: The name of the array of its values, which has axes for the other units.
        body: The summand for the unit ("K", "i"), with other units ("K", "j"), ….
        over: The letter of the units that are summed over.
        apart: Other units that the sum leaves out.
        others: The other units, on which the sum depends.
    """

    name: str
    body: sp.Expr
    over: str
    apart: tuple[Unit, ...]
    others: tuple[Unit, ...]


class Units:
    """Symbols with the units that they are indexed by.

    Args:
        counts: The number of units, by letter.
        places: The numbers that symbols stand for; other symbols have no unit.

    Attributes:
        totals: Sums in the order in which they can be computed.
    """

    def __init__(self, counts: Mapping[str, int], places: Mapping[sp.Symbol, Place]) -> None:
        self.counts = dict(counts)
        self.place = dict(places)
        self._symbols = {place: symbol for symbol, place in places.items()}
        self.totals: list[UnitTotal] = []
        self._named: dict[tuple[sp.Expr, str, tuple[Unit, ...]], UnitTotal] = {}
        self._gathered: dict[sp.Expr, sp.Expr] = {}

    def symbol(self, place: Place) -> sp.Symbol:
        """Return the symbol for a number."""
        if place not in self._symbols:
            units = ",".join(f"{letter}{label}" for letter, label in place.units)
            symbol = sp.Symbol(f"{'.'.join(place.array)}[{units}]", real=True)
            self.place[symbol], self._symbols[place] = place, symbol
        return self._symbols[place]

    def units(self, expression: sp.Expr) -> list[Unit]:
        """Return the units in an expression."""
        known = (self.place.get(symbol) for symbol in expression.free_symbols)
        return sorted({unit for place in known if place for unit in place.units}, key=str)

    def relabelled(self, expression: sp.Expr, labels: Mapping[Unit, Unit]) -> sp.Expr:
        """Return the expression with other units."""
        moved: dict[sp.Symbol, sp.Symbol] = {}
        for symbol in expression.free_symbols:
            place = self.place.get(symbol)
            if place and any(unit in labels for unit in place.units):
                moved[symbol] = self.symbol(place.relabelled(labels))
        return expression.xreplace(moved)

    def formula(self, members: Mapping[tuple[Unit, ...], sp.Expr]) -> sp.Expr:
        """Return the common formula of changes that differ by their units only.

        Args:
            members: The changes as stated, by their units; all units must be present.

        Returns:
            The formula for the unit ("K", "i") and, as a second one of the same letter, ("K", "j").

        Raises:
            NotAlikeError: They differ by more than their units.
        """
        units = next(iter(members))
        axes = labels_of(units)
        formula = None
        for own, expression in members.items():
            labels = dict(zip(own, axes, strict=True))
            one = self.relabelled(self.gathered(expression), labels)
            numbered = [unit for unit in self.units(one) if isinstance(unit[1], int)]
            if numbered or formula not in (None, one):
                raise NotAlikeError(numbered[0][0] if numbered else units[0][0])
            formula = one
        letters = [letter for letter, _ in units]
        ranges = product(*(range(1, self.counts[letter] + 1) for letter in letters))
        wanted = [each for each in ranges if len({*zip(letters, each, strict=True)}) == len(each)]
        if len(members) != len(wanted):
            raise NotAlikeError(letters[0])
        assert formula is not None
        return formula

    def gathered(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with its sums over units replaced by names."""
        if not expression.args or not self.units(expression):
            return expression
        if expression not in self._gathered:
            args = [self.gathered(each) for each in expression.args]
            changed = any(a is not b for a, b in zip(args, expression.args, strict=True))
            rebuilt = expression.func(*args) if changed else expression
            self._gathered[expression] = self._with_totals(rebuilt) if rebuilt.is_Add else rebuilt
        return self._gathered[expression]

    def _with_totals(self, total: sp.Expr) -> sp.Expr:
        terms = set(total.args)
        while (made := self._one_total(terms)) is not None:
            members, symbol = made
            terms = (terms - members) | {symbol}
        return sp.Add(*terms)

    def _one_total(self, terms: set[sp.Expr]) -> tuple[set[sp.Expr], sp.Expr] | None:
        """Return terms that form a sum over units, and the name of the sum; None if there
        are none.
        """
        alike: dict[tuple[str, sp.Expr], dict[int, sp.Expr]] = {}
        for term in sorted(terms, key=sp.default_sort_key):
            for letter, number in self.units(term):
                assert isinstance(number, int)
                body = self.relabelled(term, {(letter, number): (letter, _ANY)})
                alike.setdefault((letter, body), {})[number] = term
        for (letter, body), members in alike.items():
            count = self.counts[letter]
            units = self.units(body)
            others = [n for own, n in units if own == letter and isinstance(n, int)]
            for n in others:
                one = self.relabelled(body, {(letter, _ANY): (letter, n)})
                if n not in members and one in terms:
                    members[n] = one
            missing = {*range(1, count + 1)} - set(members)
            if len(members) > 1 and len(missing - set(others)) < 2:
                return set(members.values()), self._total(letter, body, missing)
        return None

    def _total(self, letter: str, body: sp.Expr, missing: set[int]) -> sp.Symbol:
        left_out = {(letter, n) for n in missing}
        units = {unit for unit in self.units(body) if unit[1] != _ANY} | left_out
        others = tuple(sorted(units, key=str))
        labels = dict(zip(others, labels_of(others, letter), strict=True))
        labelled = self.relabelled(body, {**labels, (letter, _ANY): (letter, "i")})
        apart = tuple(labels[unit] for unit in others if unit in left_out)
        key = labelled, letter, apart
        if key not in self._named:
            name = f"sum{len(self.totals)}"
            self._named[key] = UnitTotal(name, labelled, letter, apart, tuple(labels.values()))
            self.totals.append(self._named[key])
        return self.symbol(Place((self._named[key].name,), others))


def labels_of(units: tuple[Unit, ...], summed: str = "") -> tuple[Unit, ...]:
    """Return labels for units: i, then j; if the letter is summed over, j, then k."""
    seen: dict[str, list[Unit]] = {}
    labels: list[Unit] = []
    for unit in units:
        own = seen.setdefault(unit[0], [])
        if unit not in own:
            own.append(unit)
        names = "jk" if unit[0] == summed else "ij"
        if len(own) > len(names):
            raise NotAlikeError(unit[0])
        labels.append((unit[0], names[own.index(unit)]))
    return tuple(labels)
