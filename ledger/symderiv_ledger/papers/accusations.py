"""Accusations: claims by which public code is wrong, and the remarks that fairness demands.

A formula that is wrong on paper may never run, may be meant for a limit in which it is right, or
may repeat an error that another claim has stated already. A claim on public code with a correction
therefore has a table ``accusation`` with the keys of
:class:`~symderiv_ledger.claims.claim.Accusation`. It counts unless ``noted`` is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Accusation, Claim
from symderiv_ledger.claims.tables import refuse_unknown, required, text_of

#: Why an accusation is noted and not counted.
NOTED: Final = ("not reached", "right where it is meant")
#: A third reason, followed by the name of the claim that counts the same error.
SAME_AS: Final = "same as "
_SAID: Final = ("reached", "meant", "changes")
#: Verdicts by which public code is wrong.
_WRONG: Final = ("misprint", "false")


def read_accusation(table: Mapping[str, Any], accuses: bool) -> Accusation | None:
    """Return the accusation of a claim's table, which only a correction of public code has."""
    if not accuses:
        if "accusation" in table:
            raise InputError("accusation is allowed only with a correction of public code")
        return None
    accusation = table.get("accusation")
    if not isinstance(accusation, dict):
        raise InputError(
            f"a correction of public code needs accusation, with {', '.join(_SAID)}: "
            "how the formula is reached, in which limit it is meant, what changes"
        )
    refuse_unknown(accusation, (*_SAID, "noted"), "accusation: ")
    said = required(accusation, _SAID, "accusation")
    noted = text_of(accusation, "noted")
    if noted and noted not in NOTED and not noted.startswith(SAME_AS):
        known = ", ".join(map(repr, NOTED))
        raise InputError(f"accusation: noted is {known} or '{SAME_AS}NAME', not {noted!r}")
    return Accusation(**said, noted=noted)


def check_repeats(claims: Sequence[Claim]) -> None:
    """Refuse an accusation noted as the same as another that does not count or exist."""
    counted = {claim.name for claim in claims if claim.accusation and not claim.accusation.noted}
    for claim in claims:
        noted = claim.accusation.noted if claim.accusation else ""
        name = noted.removeprefix(SAME_AS)
        if name != noted and name not in counted:
            raise InputError(f"equation {claim.name}: no accusation that counts is {name!r}")


def standing(record: Mapping[str, Any]) -> str:
    """Return what a record is counted as: its verdict, or ``"noted"``."""
    accusation = record.get("accusation")
    return "noted" if accusation and accusation["noted"] else str(record["verdict"])


def summary(records: Iterable[Mapping[str, Any]]) -> str:
    """Return a sentence on how many accusations there are, are complete, and count.

    It is empty if there are none.
    """
    accused = [
        record.get("accusation") or {}
        for record in records
        if record.get("code") and record["verdict"] in _WRONG
    ]
    if not accused:
        return ""
    said = sum(all(one.get(key) for key in _SAID) for one in accused)
    noted = [str(one["noted"]) for one in accused if one.get("noted")]
    repeats = sum(reason.startswith(SAME_AS) for reason in noted)
    reasons = {reason: noted.count(reason) for reason in NOTED} | {"said before": repeats}
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)
    return (
        "accusations with reachability, limit and consequence said: "
        f"{'all' if said == len(accused) else said} of {len(accused)}; "
        f"{len(accused) - len(noted)} count, {len(noted)} are noted"
        f"{f' ({listed})' if listed else ''}"
    )
