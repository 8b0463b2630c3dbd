"""The hash of a claim: whether its verdict is still one on the same claim.

It is a digest of

* the print: the displays that the claim is about, and whether they had to be reconstructed, or
  where it stands in public code;
* the claim: the statement in full, its correction, the ranges of its indices, which names are
  symmetric, equal or diagonal, and whether it is a definition, said in words or not checkable;
* the points: the reference with its keys, or the function with its arguments and the code that it
  and what it uses of its own package consist of, without comments and docstrings;
* the rule with its tolerances;
* the engine's version.

It changes when one of these does, and only then: names, notes, regimes and the order of claims are
no part of it, nor are the sources of the engine between two versions.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any, Final

from symderiv import __version__
from symderiv_ledger.claims.claim import Claim, ComparisonRule, Paper, Printed
from symderiv_ledger.claims.point_code import code_digest

LENGTH: Final = 12


def claim_hash(paper: Paper, claim: Claim) -> str:
    """Return the first 12 hexadecimal digits of the digest.

    Raises:
        InputError: The points' module has no source.
    """
    parts = _parts(paper, claim)
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=asdict)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _parts(paper: Paper, claim: Claim) -> dict[str, Any]:
    return {
        "engine": __version__,
        "print": _print(paper.printed.get(claim.equation), claim),
        "statement": claim.statement,
        "corrected": claim.corrected,
        "ranges": claim.ranges,
        "names": [claim.symmetric, claim.equal, claim.diagonal],
        "kind": [claim.definition, claim.in_words, bool(claim.not_checkable)],
        "points": claim.tried_at,
        "code": _code(claim.tried_at),
        "rule": _rule(claim.rule),
    }


def _print(printed: Printed | None, claim: Claim) -> dict[str, Any]:
    """Return all that a print consists of but its place in the paper, the display chosen."""
    if printed is None:
        return {}
    fields = _set_fields(printed, but=("section",))
    if claim.printed is not None:
        fields["latex"] = [printed.latex[claim.printed]]
    return fields | ({"reading": claim.reading} if claim.reading else {})


def _code(tried_at: str) -> str:
    """Return a digest of the points' code; empty for a reference, which is the engine's."""
    function = tried_at.partition("(")[0]
    return "" if not function or " = " in function else code_digest(function)


def _rule(rule: ComparisonRule | None) -> list[Any]:
    """Return a rule by its name and what was set in it; a reference chooses its own from its
    keys.
    """
    if rule is None or not is_dataclass(rule):
        return []
    return [type(rule).__name__, _set_fields(rule)]


def _set_fields(value: Any, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return fields that are not at their defaults, so that a new field changes no hash."""
    return {
        one.name: getattr(value, one.name)
        for one in fields(value)
        if one.name not in but
        and (one.default is MISSING or getattr(value, one.name) != one.default)
    }
