"""Kept results, proved equivalents, and the table by room."""

from __future__ import annotations

import json
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from mutation.operators import Mutant
from mutation.rooms import ROOMS
from mutation.trial import Outcome

__all__ = [
    *("Excused", "Record", "equivalents", "noticed_by_none_left", "survivors_text", "table"),
    "unnoticed",
]

_EQUIVALENT: Final = Path(__file__).with_name("equivalent.toml")


class Record:
    """Results as lines of a JSON file; of several for one mutant the last counts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, room: str, seed: str, mutant: Mutant, outcome: Outcome) -> None:
        """Append a result; whole lines, so that a stopped run leaves no half of one."""
        entry = {"room": room, "seed": seed, **mutant.as_dict(), **asdict(outcome)}
        entry["seconds"] = round(outcome.seconds, 2)
        with self.path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def seconds(self) -> float:
        """CPU seconds of all trials."""
        return sum(e["spent"] for e in self.read().values())

    def read(self) -> dict[str, dict[str, Any]]:
        """The last result of each mutant by its identity; ``spent`` sums CPU seconds of all."""
        found: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                spent = found.get(entry["id"], {}).get("spent", 0.0) + entry["seconds"]
                found[entry["id"]] = {**entry, "spent": spent}
        return found


@dataclass(frozen=True)
class Excused:
    """Why a change that nothing noticed is none of what is computed.

    Args:
        proof: A sentence that proves it.
        effort: It changes how much is computed (nodes, steps, time), and what is promised of the
            result holds as before; otherwise nothing changes at all.
        occurrence: Of which place among equal ones in the function; None for every one.
    """

    proof: str
    effort: bool
    occurrence: int | None = None


_Known = dict[tuple[str, str, str, str], list[Excused]]


def equivalents(path: Path = _EQUIVALENT) -> _Known:
    """By file, function, text before and text after.

    Raises:
        ValueError: An entry has no proof.
    """
    found: _Known = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        if len(entry["proof"]) < 20:
            raise ValueError(f"{path}: {entry} has no proof")
        excused = Excused(entry["proof"], entry.get("effort", False), entry.get("occurrence"))
        for change in entry["changes"]:
            before, _, after = change.partition(" -> ")
            key = entry["file"], entry["function"], before.strip(), after.strip()
            found.setdefault(key, []).append(excused)
    return found


def _excused(entry: dict[str, Any], known: _Known) -> Excused | None:
    places = known.get((entry["file"], entry["function"], entry["before"], entry["after"]), [])
    here = (p for p in places if p.occurrence in (None, entry["occurrence"]))
    return next(here, None)


def table(record: Record) -> str:
    """Rows by room: sampled, noticed, of these by time, equivalent, survivors, share, CPU minutes.

    The share is of the mutants that are neither proved equivalent nor a matter of effort.
    """
    known = equivalents()
    heads = (
        *("room", "sampled", "noticed", "(by time)", "equivalent", "effort", "survived"),
        *("share", "CPU min"),
    )
    rows = [heads]
    for room in (*ROOMS, "all"):
        entries = [e for e in record.read().values() if room in (e["room"], "all")]
        if not entries:
            continue
        left = [e for e in entries if e["verdict"] == "survived"]
        excused = [found for e in left if (found := _excused(e, known)) is not None]
        effort = sum(e.effort for e in excused)
        noticed, alive = len(entries) - len(left), len(left) - len(excused)
        share = 100 * noticed / max(1, noticed + alive)
        late = sum(e["verdict"] == "time" for e in entries)
        minutes = sum(e["spent"] for e in entries) / 60
        numbers = len(entries), noticed, late, len(excused) - effort, effort, alive
        rows.append((room, *map(str, numbers), f"{share:.1f} %", f"{minutes:.1f}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    lines = []
    for row in rows:
        cells = zip(row[1:], widths[1:], strict=True)
        lines.append("  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in cells)]))
    return "\n".join(lines)


def unnoticed(record: Record, room: str = "") -> list[dict[str, Any]]:
    """Survivors that are not proved equivalent."""
    known = equivalents()
    return [
        e
        for e in record.read().values()
        if e["verdict"] == "survived" and room in ("", e["room"]) and _excused(e, known) is None
    ]


def noticed_by_none_left(record: Record, room: str, project: Path) -> list[dict[str, Any]]:
    """Changes of a room that were noticed by a test of a name that its file no longer has."""
    found = []
    for e in record.read().values():
        file, _, test = e["by"].partition("[")[0].partition("::")
        if e["room"] == room and e["verdict"] == "noticed" and test:
            path = project / file
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            if f"def {test}(" not in text:
                found.append(e)
    return found


def survivors_text(record: Record, room: str = "") -> str:
    """Each survivor that is not proved equivalent: place, change, tests that reach it."""
    lines = []
    for e in unnoticed(record, room):
        where = f"{e['file']}:{e['line']} {e['function']} place {e['occurrence']}"
        tests = f"{e['tests']} tests reach it, {e['left']} not run"
        lines += [f"{e['id']} {where} [{e['operator']}]", f"    {e['before']}"]
        lines += [f" -> {e['after']}", f"    {tests}"]
    return "\n".join(lines)
