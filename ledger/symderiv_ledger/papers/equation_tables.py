"""The tables of a paper's file: prints with the claims about them, each claim with all its keys.

An equation without ``[equation.claim]`` is a claim itself. Otherwise what it says beside its print
holds for all its claims, unless they say it themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Code, Printed
from symderiv_ledger.claims.tables import (
    Table,
    errors_in,
    one_of,
    refuse_unknown,
    required,
    tables_of,
    text_of,
)

#: Keys of an equation that is public code; then those of a table ``[repository.NAME]``.
_CODE_KEYS: Final = frozenset({"repository", "file", "lines"})
_KEYS: Final = ("address", "commit", "licence")
_PRINT_KEYS: Final = frozenset({"number", "latex", "section", "reading", *_CODE_KEYS})
#: Both forms of a statement, and of its correction.
_STATED: Final = frozenset({"statement", "formula"})
_CORRECTED: Final = frozenset({"corrected", "corrected_formula"})
#: Keys for where a claim is tried; then those that a claim with one of these does not inherit.
_TRIED: Final = frozenset({"points", "function", "reference"})
_PLACE: Final = _TRIED | {"indices", "symmetric", "equal", "diagonal", "rests_on"}
#: The key of the claim without a part's name, where an equation has several claims.
_ITSELF: Final = "itself"


def read_repository(name: str, table: Any) -> Code:
    """Return a table ``[repository.NAME]``: ``address`` (owner/name), ``commit``, ``licence``.

    An equation of public code names one, and its file. Nothing of the file is quoted: what is
    checked is the statement, in which the formula is stated anew.
    """
    where = f"repository {name}"
    if not isinstance(table, dict):
        raise InputError(f"{where} must be a table")
    read = required(table, _KEYS, where)
    refuse_unknown(table, _KEYS, f"{where}: ")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", read["address"]):
        raise InputError(f"{where}: address must be owner/name")
    if not re.fullmatch(r"[0-9a-f]{40}", read["commit"]):
        raise InputError(f"{where}: commit must be 40 hexadecimal digits")
    return Code(read["address"], read["commit"], read["licence"])


def _code(table: Table, repositories: Mapping[str, Code]) -> Code | None:
    """Return where the print of an equation stands if it is code; None if it is not."""
    if not _CODE_KEYS & set(table):
        return None
    name = text_of(table, "repository")
    if name not in repositories:
        raise InputError(f"there is no [repository.{name or 'NAME'}] before it")
    if not text_of(table, "file"):
        raise InputError("code needs file, a path in the repository")
    if "latex" in table:
        raise InputError("a print is latex or code, not both")
    return replace(repositories[name], file=text_of(table, "file"), lines=text_of(table, "lines"))


@dataclass(frozen=True)
class PrintedEquation:
    """All that a paper prints under one number."""

    number: str  # its number, or a text in place of one
    printed: Printed  # the print
    # the table of every claim about it, with the keys inherited from the equation
    claims: tuple[Table, ...]


def equations(
    content: Table, source: str, repositories: Mapping[str, Code]
) -> Iterator[PrintedEquation]:
    """Yield the equations of a paper's file, in the file's order.

    Args:
        content: The file's tables.
        source: The file's name, for errors.
        repositories: The repositories by the names that equations give them.
    """
    with errors_in(source):
        tables = [*tables_of(content, "equation"), *_alone(tables_of(content, "claim"))]
        if not tables:
            raise InputError("there is no [[equation]] and no [[claim]]")
    section = ""
    for table in tables:
        with errors_in(f"{source}: equation {table.get('number', '?')}"):
            equation = _equation({"section": section, **table}, repositories)
        section = equation.printed.section
        yield equation


def _equation(table: Table, repositories: Mapping[str, Code]) -> PrintedEquation:
    number = _number(table, "number", "the number of an equation")
    latex = table.get("latex", [])
    if isinstance(latex, str):
        latex = [latex]
    if not isinstance(latex, list) or not all(isinstance(piece, str) for piece in latex):
        raise InputError("latex must be a text or a list of texts")
    reading = one_of(table, "reading", ("printed", "reconstructed"), "printed")
    shared = {key: table[key] for key in table if key not in {*_PRINT_KEYS, "claim"}}
    claims = _claims(table, bool(shared))
    if isinstance(table.get("claim"), dict) and len(latex) == len(claims) > 1:
        claims = [{"display": place, **claim} for place, claim in enumerate(claims)]
    for claim in claims:
        display = claim.get("display", "all")
        if display != "all":
            if not isinstance(display, int) or isinstance(display, bool):
                raise InputError('display must be a number, 0 for the first, or "all"')
            if not 0 <= display < len(latex):
                raise InputError(f"it has no display {display}")
    whole = tuple(_inherited(shared, claim) for claim in claims)
    if "accusation" in table and not any("accusation" in claim for claim in whole):
        raise InputError("accusation is allowed only with a correction of public code")
    code, displays = _code(table, repositories), tuple(piece.strip() for piece in latex)
    return PrintedEquation(
        number, Printed(displays, reading, text_of(table, "section"), code), whole
    )


def _number(table: Table, key: str, what: str) -> str:
    """Return the number of an equation, which may be a text or an integer."""
    number = table.get(key)
    if not isinstance(number, str | int) or isinstance(number, bool) or number == "":
        raise InputError(f"{what} must be a text such as '18'")
    return str(number)


def _claims(table: Table, itself: bool) -> list[dict[str, Any]]:
    """Return the tables of an equation's claims: its parts by name, a list, or the equation."""
    claims = table.get("claim", [{}] if itself else [])
    if isinstance(claims, dict):
        return [
            ({} if part == _ITSELF else {"part": part})
            | (claim if isinstance(claim, dict) else {"statement": claim})
            for part, claim in claims.items()
        ]
    return tables_of({"claim": claims}, "claim")


def _inherited(equation: Table, claim: Table) -> dict[str, Any]:
    """Return a claim's table with the keys that its equation gives for all of its claims.

    A claim with its own statement inherits no correction, and one without a correction inherits no
    accusation. Where both have an accusation, the claim's parts replace those of the equation.
    """
    dropped: set[str] = set()
    if (_STATED | _CORRECTED) & set(claim):
        dropped |= _CORRECTED
    if _STATED & set(claim):
        dropped |= _STATED
    if _TRIED & set(claim):
        dropped |= _PLACE
    whole = {**{key: equation[key] for key in equation if key not in dropped}, **claim}
    if "accusation" in equation and "accusation" not in claim:
        if not _CORRECTED & set(whole):
            del whole["accusation"]
    elif isinstance(equation.get("accusation"), dict) and isinstance(claim["accusation"], dict):
        whole["accusation"] = {**equation["accusation"], **claim["accusation"]}
    return whole


def _alone(claims: Iterable[Table]) -> list[dict[str, Any]]:
    """Return tables ``[[claim]]`` with ``equation`` and ``printed`` as tables of equations."""
    tables: dict[str, dict[str, Any]] = {}
    for claim in claims:
        number = _number(claim, "equation", "the equation of a claim")
        table = tables.setdefault(number, {"number": number, "latex": [], "claim": []})
        if claim.get("printed"):
            table["latex"].append(claim["printed"])
            table["reading"] = claim.get("reading", "printed")
        rest = {key: value for key, value in claim.items() if key not in ("equation", "printed")}
        table["claim"].append(rest)
    return list(tables.values())
