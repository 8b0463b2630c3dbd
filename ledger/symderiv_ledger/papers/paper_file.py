"""A paper from its TOML files, one of the library as well as a user's own.

Tables ``[[equation]]`` hold the print and what is claimed of it; other tables say once what claims
share. ``docs/own-papers.md`` describes all keys. What one file of a paper defines, the ones after
it may use.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv.keys.toml_text import read_toml
from symderiv_ledger.claims.abbreviations import (
    Abbreviations,
    free_ranges,
    quantities,
    read_indices,
    replaced,
)
from symderiv_ledger.claims.claim import Claim, Code, Paper, Printed
from symderiv_ledger.claims.claim_graph import Spoken, read_uses, with_uses
from symderiv_ledger.claims.statement import parse_ranges, parse_statement
from symderiv_ledger.claims.tables import (
    Table,
    errors_in,
    flag_of,
    refuse_unknown,
    table_of,
    text_of,
)
from symderiv_ledger.papers.accusations import check_repeats, read_accusation
from symderiv_ledger.papers.equation_tables import PrintedEquation, equations, read_repository
from symderiv_ledger.papers.point_sets import FACTS, SET_KEYS, PointSet, module_of, read_rule

#: Keys that only a claim has; a claim without ``points`` also has the keys of a set of points.
_CLAIM_KEYS: Final[Mapping[str, Callable[[Table, str], Any]]] = {
    **dict.fromkeys(("part", "note", "given", "reading", "not_checkable"), text_of),
    **dict.fromkeys(("definition", "thorough", "in_words"), flag_of),
}
_OTHER_KEYS: Final = (
    *("points", "statement", "formula", "corrected", "corrected_formula", "ranges", "display"),
    *("uses", "accusation"),
)
#: Keys whose texts a claim adds to those of its named set; then keys that replace the set's.
_ADDED: Final = ("regime", "where")
_INSTEAD: Final[Mapping[str, Callable[[Table, str], Any]]] = {
    **{key: FACTS[key] for key in ("symmetric", "equal", "diagonal", "rests_on")},
    "rule": lambda table, key: read_rule(text_of(table, key)),
}
#: Stands for == in a statement by which the paper defines something.
_DEFINES: Final = ":="
_FILE_KEYS: Final = {
    *("name", "title", "indices", "shapes", "let", "words", "module", "points", "equation"),
    *("claim", "repository"),
}
#: Texts in which ``$name`` stands for words that are given once.
_PROSE: Final = frozenset({"regime", "where", "rests_on", "given", "note", "not_checkable"})


def paper_from_toml(text: str, source: str) -> Paper:
    """Return a paper from the TOML text of a user's file, with its name for errors.

    Raises:
        InputError: A key is missing, unknown or of the wrong type; a statement cannot be read.
    """
    return paper_from_files([(source, text)])


def paper_from_files(
    files: Sequence[tuple[str, str]], package: str = "", name: str = "", title: str = ""
) -> Paper:
    """Return a paper from the names and TOML texts of its files, in their order.

    Its functions of points are in ``package``, if there are any; ``name`` and ``title`` hold if the
    files give none.
    """
    reader = _PaperReader(package)
    for source, text in files:
        with errors_in(source):
            content = read_toml(text)
            refuse_unknown(content, _FILE_KEYS)
        name = str(content.get("name") or name or Path(source).stem)
        title = str(content.get("title") or title)
        reader.read(content, source)
    with errors_in(name):
        claims = with_uses(reader.claims, reader.spoken)
        check_repeats(claims)
    return Paper(name, title or name, reader.printed, claims, reader.sources)


@dataclass
class _PaperReader:
    """The parts of a paper that were read so far."""

    package: str
    indices: dict[str, Any] = field(default_factory=dict)
    abbreviations: Abbreviations = field(default_factory=Abbreviations)
    words: dict[str, str] = field(default_factory=dict)
    modules: dict[str, Table] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    sets: dict[str, PointSet] = field(default_factory=dict)
    repositories: dict[str, Code] = field(default_factory=dict)
    printed: dict[str, Printed] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    spoken: dict[str, Spoken] = field(default_factory=dict)

    def read(self, content: Table, source: str) -> None:
        """Read one file of the paper."""
        with errors_in(source):
            self._definitions(content)
        for equation in equations(content, source, self.repositories):
            with errors_in(f"{source}: equation {equation.number}"):
                self._equation(equation, source)

    def _definitions(self, content: Table) -> None:
        self.indices |= read_indices(table_of(content, "indices"))
        self.abbreviations.shapes.clear()  # names may have other shapes in another file
        for names, entry in table_of(content, "shapes").items():
            for name in names.split(","):
                self.abbreviations.shape(name.strip(), entry)
        for name, body in table_of(content, "let").items():
            if not isinstance(body, str):
                raise InputError(f"let {name} must be a text")
            self.abbreviations.define(name, body, self.indices)
        for name, table in table_of(content, "repository").items():
            self.repositories[name] = read_repository(name, table)
        words = table_of(content, "words")
        self.words |= {name: text_of(words, name) for name in words}
        for name, table in table_of(content, "module").items():
            refuse_unknown(table, SET_KEYS - {"function"}, f"module {name}: ")
            self.modules[name] = self._spelled(table)
        for name, table in table_of(content, "points").items():
            if name in self.sets:
                raise InputError(f"the points {name} are given twice")
            with errors_in(f"points {name}"):
                own = dict(self._spelled(table))
                if "like" in own:  # the name of a set whose keys hold here, too
                    other = text_of(own, "like")
                    if other not in self.tables:
                        raise InputError(f"there are no points {other!r} before it")
                    own = {**self.tables[other], **own}
                    del own["like"]
                self.tables[name] = own
                self.sets[name] = self._set(own)

    def _set(self, table: Table) -> PointSet:
        """Return a set of points, with the keys that its module gives for all its functions."""
        whole = {**self.modules.get(module_of(table), {}), **table}
        return PointSet.read(whole, self.package, self.indices)

    def _spelled(self, table: Table) -> Table:
        """Return a table with the paper's words in place of ``$name`` in its texts."""

        def word(found: re.Match[str]) -> str:
            if found[1] not in self.words:
                raise InputError(f"there are no words ${found[1]}")
            return self.words[found[1]]

        def spelled(key: str, value: Any) -> Any:
            if key == "accusation" and isinstance(value, dict):
                return {part: spelled("note", text) for part, text in value.items()}
            prose = key in _PROSE and isinstance(value, str)
            return re.sub(r"\$(\w+)", word, value) if prose else value

        if not self.words or not isinstance(table, dict):
            return table
        return {key: spelled(key, value) for key, value in table.items()}

    def _equation(self, equation: PrintedEquation, source: str) -> None:
        if equation.number in self.printed:
            raise InputError("it is given twice")
        self.printed[equation.number] = equation.printed
        for table in equation.claims:
            claim = self._claim(equation.number, self._spelled(table))
            if claim.name in self.sources:
                raise InputError(f"two claims are called {claim.name!r}; give each a part")
            self.sources[claim.name] = source
            self.spoken[claim.name] = self._spoken(claim, table)
            self.claims.append(claim)

    def _claim(self, number: str, table: Table) -> Claim:
        tried = self._tried(table)
        own = {key: read(table, key) for key, read in _CLAIM_KEYS.items()}
        own["definition"] |= _DEFINES in str(table.get("statement"))
        statement, corrected = self._statements(table, tried)
        if not statement and not own["not_checkable"] and not own["definition"]:
            raise InputError("a claim needs a statement or a formula")
        if statement and tried.claim.points is None:
            raise InputError("a statement needs points or a reference")
        stated = [text for text in (statement, corrected) if text]
        named = (quantities(parse_statement(text).tree) for text in stated)
        tried = tried.meant(frozenset().union(*named))
        ranges = text_of(table, "ranges")
        if statement and "ranges" not in table:
            ranges = free_ranges(statement, tried.indices)
        if tried.reference is not None:
            for text in stated:
                tried.reference.check(text, ranges)
        accuses = bool(corrected) and self.printed[number].code is not None
        claim = replace(
            tried.claim,
            equation=number,
            statement=statement,
            ranges=ranges,
            printed=None if table.get("display") == "all" else table.get("display"),
            corrected=corrected,
            uses=(*read_uses(table), *tried.claim.uses),
            accusation=read_accusation(table, accuses),
            **own,
        )
        if statement:
            return claim
        return replace(claim, points=None, rule=None, tried_at="", conventions=None)

    def _spoken(self, claim: Claim, table: Table) -> Spoken:
        """Return the names in a claim's statement, as it is written and in full."""
        text = table.get("statement")
        if not claim.statement or not isinstance(text, str):
            return Spoken()
        calls, states = self.abbreviations.called(text.replace(_DEFINES, "==", 1))
        statement = parse_statement(claim.statement)
        head = statement.sides[0]
        named = head.value if isinstance(head, ast.Subscript) else head
        defines = named.id if _DEFINES in text and isinstance(named, ast.Name) else ""
        free = {index.name for index in parse_ranges(claim.ranges)}
        return Spoken(calls, states, defines, frozenset(quantities(statement.tree) - free))

    def _statements(self, table: Table, tried: PointSet) -> tuple[str, str]:
        """Return the printed and the corrected statement in full; without one it is empty."""
        given: list[str] = []
        for key, formula in (("statement", "formula"), ("corrected", "corrected_formula")):
            text = ""
            if formula in table:
                if tried.reference is None:
                    raise InputError(f"{formula} goes with a reference; write a {key}")
                text = tried.reference.statement_of(text_of(table, formula))
            elif isinstance(table.get(key), dict) and given:
                text = replaced(given[0], table_of(table, key))
            elif key in table:
                text = text_of(table, key).replace(_DEFINES, "==", 1)
            given.append(text)
        full = self.abbreviations.statement
        statement, corrected = (full(text, tried.indices) if text else "" for text in given)
        return statement, corrected

    def _tried(self, table: Table) -> PointSet:
        """Return the points of a claim: a named set with its changes, or one of its own."""
        rest = {k: table[k] for k in table if k not in _CLAIM_KEYS and k not in _OTHER_KEYS}
        if "points" not in table and {"function", "reference"} & set(table):
            return self._set(rest)
        named = PointSet()
        if "points" in table:
            name = text_of(table, "points")
            if name not in self.sets:
                raise InputError(f"there are no points {name!r}; there are {', '.join(self.sets)}")
            named = self.sets[name]
        refuse_unknown(rest, {*_ADDED, *_INSTEAD})
        changes = {key: read(rest, key) for key, read in _INSTEAD.items() if key in rest}
        for key in _ADDED:
            # first the text of the set, then that of the claim
            both = [text for text in (getattr(named.claim, key), text_of(rest, key)) if text]
            changes[key] = (" " if both and both[0].endswith(".") else "; ").join(both)
        return replace(named, claim=replace(named.claim, **changes))
