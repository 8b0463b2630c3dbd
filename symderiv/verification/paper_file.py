"""A paper from its TOML files, one of the library as well as a user's own.

Tables ``[[equation]]`` with the print (``number``, ``latex``, ``section``, ``reading``) hold what
is claimed of it in ``[[equation.claim]]``; ``[points.NAME]``, ``[indices]``, ``[let]`` and
``[words]`` say once what claims share. ``docs/own-papers.md`` describes all keys. What one file of
a paper defines, the ones after it may use.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from symderiv.errors import InputError, SymderivError
from symderiv.verification.abbreviations import (
    Abbreviations,
    free_ranges,
    read_indices,
    replaced,
)
from symderiv.verification.claim import Claim, Paper, Printed
from symderiv.verification.point_sets import (
    PointSet,
    names_of,
    pairs_of,
    read_rule,
    text_of,
)

__all__ = ["paper_from_files", "paper_from_toml"]

_TEXTS: Final = ("part", "note", "given", "reading", "not_checkable")
_FLAGS: Final = ("definition", "thorough", "in_words")
_OTHERS: Final = (
    "points", "statement", "formula", "corrected", "corrected_formula", "ranges", "display",
)  # fmt: skip
#: Keys of a claim beside those of a set of points, which a claim without ``points`` carries too.
_CLAIM_KEYS: Final = frozenset({*_TEXTS, *_FLAGS, *_OTHERS})
#: Keys that a claim of a named set adds to the set's, or says instead.
_ADDED: Final = frozenset({"regime", "where", "rests_on", "rule"})
_INSTEAD: Final = frozenset({"symmetric", "equal", "diagonal"})
_FILE_KEYS: Final = {"name", "title", "indices", "let", "words", "points", "equation", "claim"}
#: Texts in which ``$name`` stands for words that are given once.
_PROSE: Final = frozenset({"regime", "where", "rests_on", "given", "note", "not_checkable"})
_EQUATION_KEYS: Final = {"number", "latex", "section", "reading", "claim"}
#: What an equation says for all of its claims that do not say it themselves.
_SHARED: Final = (
    "points", "statement", "corrected", "rule", "regime", "where", "given", "note", "definition",
)  # fmt: skip
_READINGS: Final = ("printed", "reconstructed")


def paper_from_toml(text: str, source: str) -> Paper:
    """A paper from the text of a user's file.

    Args:
        text: TOML.
        source: The file's name, for errors.

    Raises:
        InputError: A key is missing, unknown or of the wrong type; a statement cannot be read.
    """
    return paper_from_files([(source, text)])


def paper_from_files(
    files: Sequence[tuple[str, str]], package: str = "", name: str = "", title: str = ""
) -> Paper:
    """A paper from the texts of its files, in their order.

    Args:
        files: Name and TOML text of each.
        package: Where its functions of points are; empty: there are none.
        name: Of the paper, where the files do not give it.
        title: The same.

    Raises:
        InputError: See :func:`paper_from_toml`.
    """
    found = _Reader(package)
    for source, text in files:
        content = _content(text, source)
        name = str(content.get("name") or name or Path(source).stem)
        title = str(content.get("title") or title)
        found.read(content, source)
    return Paper(name, title or name, found.printed, tuple(found.claims), found.sources)


def _content(text: str, source: str) -> dict[str, Any]:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: {error}") from None
    unknown = sorted(set(content) - _FILE_KEYS)
    if unknown:
        raise InputError(f"{source}: unknown key {unknown[0]!r}")
    return content


@dataclass
class _Reader:
    """What was read so far."""

    package: str
    indices: dict[str, Any] = field(default_factory=dict)
    abbreviations: Abbreviations = field(default_factory=Abbreviations)
    words: dict[str, str] = field(default_factory=dict)
    sets: dict[str, PointSet] = field(default_factory=dict)
    printed: dict[str, Printed] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)

    def read(self, content: Mapping[str, Any], source: str) -> None:
        """One file."""
        try:
            self._definitions(content)
        except SymderivError as error:
            raise InputError(f"{source}: {error}") from None
        equations = [*_tables(content, "equation", source), *_alone(content, source)]
        if not equations:
            raise InputError(f"{source}: there is no [[equation]] and no [[claim]]")
        for table in equations:
            try:
                self._equation(table, source)
            except SymderivError as error:
                number = table.get("number", "?")
                raise InputError(f"{source}: equation {number}: {error}") from None

    def _definitions(self, content: Mapping[str, Any]) -> None:
        self.indices |= read_indices(_table(content, "indices"))
        for name, body in _table(content, "let").items():
            if not isinstance(body, str):
                raise InputError(f"let {name} must be a text")
            self.abbreviations.define(name, body, self.indices)
        self.words |= {
            name: text_of(_table(content, "words"), name) for name in _table(content, "words")
        }
        for name, table in _table(content, "points").items():
            if name in self.sets:
                raise InputError(f"the points {name} are given twice")
            try:
                self.sets[name] = PointSet.read(self._spelled(table), self.package, self.indices)
            except SymderivError as error:
                raise InputError(f"points {name}: {error}") from None

    def _spelled(self, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """A table with the words that its texts name by ``$name``, if the paper gives any."""

        def word(found: re.Match[str]) -> str:
            if found[1] not in self.words:
                raise InputError(f"there are no words ${found[1]}")
            return self.words[found[1]]

        if not self.words or not isinstance(table, dict):
            return table
        return {
            key: re.sub(r"\$(\w+)", word, value)
            if key in _PROSE and isinstance(value, str)
            else value
            for key, value in table.items()
        }

    def _equation(self, table: Mapping[str, Any], source: str) -> None:
        number, print_ = _print(table)
        if number in self.printed:
            raise InputError("it was given before")
        self.printed[number] = print_
        for one in _tables(table, "claim", source):
            claim = self._claim(number, self._spelled(_inherited(table, one)))
            if claim.name in self.sources:
                raise InputError(f"two claims are called {claim.name!r}; give each a part")
            if claim.printed is not None and not 0 <= claim.printed < len(print_.latex):
                raise InputError(f"it has no display {claim.printed}")
            self.sources[claim.name] = source
            self.claims.append(claim)

    def _claim(self, number: str, table: Mapping[str, Any]) -> Claim:
        tried = self._tried(table)
        texts: dict[str, Any] = {key: text_of(table, key) for key in _TEXTS}
        flags: dict[str, Any] = {key: _flag(table, key) for key in _FLAGS}
        statement, corrected = self._statements(table, tried)
        if not statement and not texts["not_checkable"] and not flags["definition"]:
            raise InputError("a claim needs a statement or a formula")
        if statement and tried.points is None:
            raise InputError("a statement needs points or a reference")
        ranges = text_of(table, "ranges")
        if statement and "ranges" not in table:
            ranges = free_ranges(statement, tried.indices)
        if tried.reference is not None:
            for text in filter(None, (statement, corrected)):
                tried.reference.check(text, ranges)
        return Claim(
            number,
            statement,
            tried.points if statement else None,
            tried.rule if statement else None,
            ranges,
            printed=_display(table),
            corrected=corrected,
            regime=tried.regime,
            where=tried.where,
            rests_on=tried.rests_on,
            symmetric=tried.symmetric,
            equal=tried.equal,
            diagonal=tried.diagonal,
            **texts,
            **flags,
        )

    def _statements(self, table: Mapping[str, Any], tried: PointSet) -> tuple[str, str]:
        """The printed and the true statement in full; the second is empty if the first is true."""
        given: list[str] = []
        for key, formula in (("statement", "formula"), ("corrected", "corrected_formula")):
            text = ""
            if formula in table:
                if tried.reference is None:
                    raise InputError(f"{formula} goes with a reference; write a {key}")
                text = tried.reference.statement_of(text_of(table, formula))
            elif isinstance(table.get(key), dict) and given:
                text = replaced(given[0], _table(table, key))
            elif key in table:
                text = text_of(table, key)
            given.append(text)
        full = self.abbreviations.statement
        statement, corrected = (full(text, tried.indices) if text else "" for text in given)
        return statement, corrected

    def _tried(self, table: Mapping[str, Any]) -> PointSet:
        """The set that a claim names, with what it adds, or the one whose keys it carries."""
        rest = {key: value for key, value in table.items() if key not in _CLAIM_KEYS}
        if "points" not in table and {"function", "reference"} & set(table):
            return PointSet.read(rest, self.package, self.indices)
        named = PointSet()
        if "points" in table:
            name = text_of(table, "points")
            if name not in self.sets:
                raise InputError(f"there are no points {name!r}; there are {', '.join(self.sets)}")
            named = self.sets[name]
        unknown = sorted(set(rest) - _ADDED - _INSTEAD)
        if unknown:
            raise InputError(f"unknown key {unknown[0]!r}")
        changes: dict[str, Any] = {
            key: _joined(getattr(named, key), text_of(rest, key)) for key in ("regime", "where")
        }
        if "rests_on" in rest:
            changes["rests_on"] = text_of(rest, "rests_on")
        if "rule" in rest:
            changes["rule"] = read_rule(text_of(rest, "rule"))
        for key, read in (("symmetric", names_of), ("equal", pairs_of), ("diagonal", names_of)):
            if key in rest:
                changes[key] = read(rest, key)
        return replace(named, **changes)


def _joined(first: str, second: str) -> str:
    """What is true of all points, then what a claim adds."""
    if not first or not second:
        return first or second
    return f"{first}{' ' if first.endswith('.') else '; '}{second}"


def _print(table: Mapping[str, Any]) -> tuple[str, Printed]:
    unknown = sorted(set(table) - _EQUATION_KEYS - set(_SHARED))
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}")
    number = table.get("number")
    if not isinstance(number, str | int) or isinstance(number, bool) or number == "":
        raise InputError("the number of an equation must be a text such as '18'")
    latex = table.get("latex", [])
    if isinstance(latex, str):
        latex = [latex]
    if not isinstance(latex, list) or not all(isinstance(piece, str) for piece in latex):
        raise InputError("latex must be a text or a list of texts")
    reading = text_of(table, "reading") or "printed"
    if reading not in _READINGS:
        raise InputError("reading is printed or reconstructed")
    displays = tuple(piece.strip() for piece in latex)
    return str(number), Printed(displays, reading, text_of(table, "section"))


def _inherited(equation: Mapping[str, Any], claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim with what its equation says for all; a correction goes with the statement."""
    shared = {key: equation[key] for key in _SHARED if key in equation}
    if {"statement", "formula", "corrected"} & set(claim):
        shared.pop("corrected", None)
    if "formula" in claim:
        shared.pop("statement", None)
    return {**shared, **claim}


def _alone(content: Mapping[str, Any], source: str) -> list[dict[str, Any]]:
    """Tables ``[[claim]]`` with ``equation`` and ``printed`` as tables of equations."""
    found: dict[Any, dict[str, Any]] = {}
    for claim in _tables(content, "claim", source):
        number = claim.get("equation")
        if not isinstance(number, str | int) or isinstance(number, bool):
            raise InputError(f"{source}: the equation of a claim must be a text such as '18'")
        table = found.setdefault(str(number), {"number": str(number), "latex": [], "claim": []})
        if claim.get("printed"):
            table["latex"].append(claim["printed"])
            table["reading"] = claim.get("reading", "printed")
        rest = {key: value for key, value in claim.items() if key not in ("equation", "printed")}
        table["claim"].append(rest)
    return list(found.values())


def _tables(table: Mapping[str, Any], key: str, source: str) -> list[Mapping[str, Any]]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InputError(f"{source}: {key} must be tables [[{key}]]")
    return value


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"{key} must be a table")
    return value


def _flag(table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise InputError(f"{key} is true or false")
    return value


def _display(table: Mapping[str, Any]) -> int | None:
    value = table.get("display")
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise InputError("display is a number, 0 for the first")
    return value
