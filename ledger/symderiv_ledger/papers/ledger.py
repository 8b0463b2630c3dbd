"""The ledger's file: records of all papers, and a test of whether they are current.

Evidence is kept with few digits, and being current means the same claims, statements, verdicts and
mutants: the last digits of a measured error depend on the machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Paper
from symderiv_ledger.claims.claim_hash import claim_hash
from symderiv_ledger.papers.paper_run import refreshed

#: Keys of a record whose values are the same in a current ledger.
_COMPARED: Final = (
    *("printed", "reading", "code", "statement", "ranges", "where", "verdict", "corrected"),
    *("regime", "given", "note", "accusation", "rests_on", "tier", "uses", "hash", "source"),
)


def written(records: Sequence[dict[str, Any]]) -> str:
    """Return the text of the file, one claim per line."""
    lines = (json.dumps(_rounded(record), ensure_ascii=False) for record in records)
    return '{"claims": [\n' + ",\n".join(lines) + "\n]}\n"


def read_ledger(text: str) -> list[dict[str, Any]]:
    """Return the records of a ledger's file.

    Raises:
        InputError: It is not such a file.
    """
    try:
        claims = json.loads(text)["claims"]
    except (ValueError, KeyError, TypeError):
        claims = None
    if not isinstance(claims, list):
        raise InputError("the ledger is not a file of claims; write it anew")
    return claims


def is_ledger(content: bytes) -> bool:
    """Return whether this is a ledger's file, of whatever version."""
    try:
        claims = read_ledger(content.decode())
        return all({"paper", "name", "statement", "verdict"} <= set(claim) for claim in claims)
    except (InputError, UnicodeDecodeError, TypeError):
        return False


def unchanged(paper: Paper, before: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by name the updated records of an earlier ledger whose claims have the same hash."""
    known = {record["name"]: record for record in before if record["paper"] == paper.name}
    return {
        claim.name: refreshed(paper, claim, known[claim.name])
        for claim in paper.claims
        if claim.name in known and known[claim.name].get("hash") == claim_hash(paper, claim)
    }


def merged(
    paper: Paper, records: Sequence[dict[str, Any]], earlier: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the records of a paper, in its order: the new ones, and earlier ones of other claims.

    Raises:
        InputError: A claim has neither; it needs minutes and has changed.
    """
    by_name = {**earlier, **{r["name"]: r for r in records if r["paper"] == paper.name}}
    for claim in paper.claims:
        if claim.name not in by_name:
            raise InputError(
                f"{paper.name}, equation {claim.name} has changed, and testing it takes minutes; "
                "add --thorough (--changed skips claims that have not changed)"
            )
    return [by_name[claim.name] for claim in paper.claims]


def differences(
    records: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """Yield a sentence for each difference of two ledgers; thorough claims may be missing."""
    old = {(record["paper"], record["name"]): record for record in before}
    new = {(record["paper"], record["name"]): record for record in records}
    for key in old:
        if key not in new and not old[key]["thorough"]:
            yield f"{key[0]}, equation {key[1]} is not claimed any more"
    for key, record in new.items():
        where = f"{key[0]}, equation {key[1]}"
        if key not in old:
            yield f"{where} is missing"
            continue
        for name in _COMPARED:
            if record.get(name) != old[key].get(name):
                yield f"{where}: the {name} has changed"
        reports = [one["mutants"] or {} for one in (record, old[key])]
        new_counts, old_counts = ([one.get("caught"), one.get("wanted")] for one in reports)
        if new_counts != old_counts:
            yield f"{where}: other mutants are caught"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.2g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return value
