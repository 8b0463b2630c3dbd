"""A paper from a user's own TOML file of claims.

A file has ``name`` and ``title`` and a table ``[[claim]]`` per claim: ``equation``, ``printed``
(LaTeX), ``reference`` (where the true values come from, see
:data:`symderiv.verification.quantities.REFERENCES`), and the claim itself, either as ``statement``
in the statement language or, for an integral, as ``formula`` in LaTeX or SymPy text as in
``symderiv check``. ``corrected``, ``ranges``, ``where``, ``part``, ``note``, ``regime``,
``reading``, ``symmetric`` are optional, as are the parameters of the reference.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from symderiv.errors import InputError, SymderivError
from symderiv.verification.claim import Claim, Paper, Printed

__all__ = ["paper_from_toml"]

_TEXTS: Final = ("part", "ranges", "where", "regime", "note", "given", "reading", "not_checkable")
_KEYS: Final = {
    "equation", "printed", "statement", "formula", "corrected", "corrected_formula", "reference",
    "digits", "symmetric", "equal", "definition", *_TEXTS,
}  # fmt: skip


def paper_from_toml(text: str, source: str) -> Paper:
    """A paper from the text of a TOML file.

    Args:
        text: TOML.
        source: Its name, for errors.

    Raises:
        InputError: A key is missing, unknown or of the wrong type; a statement cannot be read.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: {error}") from None
    unknown = sorted(set(content) - {"name", "title", "claim"})
    if unknown:
        raise InputError(f"{source}: unknown key {unknown[0]!r}")
    tables = content.get("claim")
    if not isinstance(tables, list) or not tables:
        raise InputError(f"{source}: there is no [[claim]]")
    name = str(content.get("name") or Path(source).stem)
    claims: list[Claim] = []
    printed: dict[str, Printed] = {}
    for table in tables:
        try:
            claim, print_ = _claim(table)
        except SymderivError as error:
            where = table.get("equation", "?") if isinstance(table, dict) else "?"
            raise InputError(f"{source}: claim on equation {where}: {error}") from None
        if any(claim.name == other.name for other in claims):
            raise InputError(f"{source}: two claims are called {claim.name!r}; give each a part")
        before = printed.get(claim.equation)
        displays = (*before.latex, print_) if before else (print_,)
        if print_:
            printed[claim.equation] = Printed(displays, claim.reading or "printed")
        claims.append(claim)
    sources = {claim.name: source for claim in claims}
    return Paper(name, str(content.get("title", name)), printed, tuple(claims), sources)


def _claim(table: Any) -> tuple[Claim, str]:
    from symderiv.verification.quantities import read_reference

    if not isinstance(table, dict):
        raise InputError("a claim is a table")
    equation = table.get("equation")
    if not isinstance(equation, str | int) or isinstance(equation, bool):
        raise InputError("equation must be a text such as '18'")
    reference = read_reference(table, _KEYS)
    texts: Any = {key: _text(table, key) for key in _TEXTS if key in table}
    statement = _text(table, "statement") if "statement" in table else ""
    corrected = _text(table, "corrected") if "corrected" in table else ""
    if "formula" in table:
        statement = reference.statement_of(_text(table, "formula"))
    if "corrected_formula" in table:
        corrected = reference.statement_of(_text(table, "corrected_formula"))
    if not statement and "not_checkable" not in table and not table.get("definition"):
        raise InputError("a claim needs a statement or a formula")
    for text in filter(None, (statement, corrected)):
        reference.check(text, texts.get("ranges", ""))
    claim = Claim(
        str(equation),
        statement,
        reference.points,
        reference.rule,
        corrected=corrected,
        definition=bool(table.get("definition", False)),
        symmetric=tuple(_names(table, "symmetric")) or reference.symmetric,
        **texts,
    )
    return claim, _text(table, "printed").strip() if "printed" in table else ""


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table[key]
    if not isinstance(value, str):
        raise InputError(f"{key} must be a text")
    return value


def _names(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{key} must be a list of names")
    return value
