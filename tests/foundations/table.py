"""The stored table: which perturbations of the engine each claim notices, or what it rests on."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.papers.known_papers import names, paper

from foundations.outcomes import Outcome, change, outcome
from foundations.perturbations import PERTURBATIONS, perturbed

Rows = dict[str, dict[str, Any]]

__all__ = ["KINDS", "TABLE", "computed", "counts", "defects", "read", "tried", "written"]

TABLE: Final = Path(__file__).parents[2] / "docs" / "claim-foundations.json"
#: How the words of a named foundation begin.
KINDS: Final = (
    *("data:", "data model:", "definition:", "exact algebra:", "first principles:", "simulation:"),
)


def tried(name: str) -> list[Claim]:
    """The claims of a paper that can be computed, but for those that take minutes."""
    return [claim for claim in paper(name).claims if claim.statement and not claim.thorough]


def computed(
    name: str,
    claims: Iterable[Claim],
    known: Mapping[str, Mapping[str, Any]],
    told: Callable[[str, Rows], None] = lambda words, rows: None,
    *,
    all_of_them: bool = False,
) -> Rows:
    """Rows of a paper: per claim what it did under each perturbation that was tried.

    Args:
        name: The paper.
        claims: Of it.
        known: Rows computed earlier, kept.
        told: Told of each perturbation that is done, with the rows as they are then.
        all_of_them: Every perturbation is tried on every claim; else only until one is noticed.
    """
    rows: Rows = {}
    for claim in claims:
        key = f"{name}: {claim.name}"
        noticed = dict(known.get(key, {}).get("noticed", {}))
        rows[key] = {"rests_on": claim.rests_on, "noticed": noticed}
    before: dict[str, Outcome] = {}
    for perturbation in PERTURBATIONS:
        waiting = []
        for claim in claims:
            noticed = rows[f"{name}: {claim.name}"]["noticed"]
            settled = any(noticed.values()) and not all_of_them
            if perturbation not in noticed and not settled:
                waiting.append(claim)
        for claim in waiting:
            if claim.name not in before:
                before[claim.name] = outcome(claim)
        if not waiting:
            continue
        with perturbed(perturbation):
            # claims may keep what they computed
            fresh = {claim.name: claim for claim in paper(name).claims}
            for claim in waiting:
                found = change(before[claim.name], outcome(fresh[claim.name]))
                rows[f"{name}: {claim.name}"]["noticed"][perturbation] = found
        told(f"{name}: {perturbation} tried on {len(waiting)} claims", rows)
    return rows


def defects(rows: Rows) -> list[str]:
    """Claims that noticed nothing and name nothing that they rest on."""
    return [
        key
        for key, row in rows.items()
        if not any(row["noticed"].values()) and not row["rests_on"].startswith(KINDS)
    ]


def counts(rows: Rows) -> list[str]:
    """A line per paper: how many claims notice which perturbation first, how many rest on what."""
    lines = []
    for name in names():
        own = [row for key, row in rows.items() if key.startswith(f"{name}: ")]
        first: dict[str, int] = {}
        for row in own:
            noticed = [key for key, words in row["noticed"].items() if words]
            kind = row["rests_on"].partition(":")[0] or "nothing"
            key = noticed[0] if noticed else f"rests on {kind}"
            first[key] = first.get(key, 0) + 1
        order = [*PERTURBATIONS, *sorted(set(first) - set(PERTURBATIONS))]
        parts = [f"{key} {first[key]}" for key in order if key in first]
        lines.append(f"{name}: {len(own)} claims; {', '.join(parts)}")
    return lines


def read(path: Path = TABLE) -> Rows:
    """The stored rows; none if there is no table."""
    if not path.exists():
        return {}
    rows: Rows = json.loads(path.read_text(encoding="utf-8"))["claims"]
    return rows


def written(rows: Rows, path: Path = TABLE) -> None:
    """Store the rows, one claim per line."""
    lines = (
        f"{json.dumps(key)}: {json.dumps(row, ensure_ascii=False)}" for key, row in rows.items()
    )
    path.write_text('{"claims": {\n' + ",\n".join(lines) + "\n}}\n", encoding="utf-8")
