"""Records of verified claims in words: a table, or one equation in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from symderiv.foundation.documents.document import Node, Paragraph, Part, Summary, Tabular, Tone
from symderiv_ledger.claims.claim import TIERS
from symderiv_ledger.papers.accusations import standing, summary

_TONES: Final[dict[str, Tone]] = {
    "holds": "holds",
    "approximate": "holds",
    "definition": "open",
    "not-checkable": "open",
    "misprint": "warning",
    "false": "fails",
    "unsettled": "fails",
}
#: Keys of what is claimed, by which they are shown.
_KEYS: Final = {
    "statement": "statement",
    "ranges": "  for all",
    "where": "  where",
    "regime": "regime",
    "given": "given",
    "rests_on": "rests on",
}
_HEADS: Final = ("equation", "verdict", "tier", "hash", "finding")


def table(records: Sequence[dict[str, Any]]) -> Part:
    """Return tables with equation, verdict and finding of every record, one for each paper."""
    nodes: list[Node] = []
    for paper in dict.fromkeys(record["paper"] for record in records):
        own = [record for record in records if record["paper"] == paper]
        rows = [
            (one["name"], one["verdict"], one.get("tier", ""), one.get("hash", ""), finding(one))
            for one in own
        ]
        nodes.append(Tabular(_HEADS, rows, paper, sides="ll", tones=_TONES))
        nodes += [Paragraph(words) for words in (counts(own), summary(own)) if words]
    return Part("", nodes)


def finding(record: dict[str, Any]) -> str:
    """Return the sentence of a record that explains its verdict best."""
    if "error" in record:
        return str(record["error"])
    if record["verdict"] in ("misprint", "false", "not-checkable"):
        return str(record["note"] or f"right: {record['corrected']}")
    if record["evidence"]:
        return str(record["evidence"][0]["summary"])
    return str(record["regime"])


def counts(records: Sequence[dict[str, Any]]) -> str:
    """Return a sentence with the number of claims of each verdict, and of mutants caught."""
    verdicts = Counter(standing(record) for record in records)
    counted = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items())
    mutants = mutants_of(records)
    caught = f"; {mutants['caught']} of {mutants['wanted']} mutants caught" if mutants else ""
    return f"{len(records)} claims: {counted}{caught}"


def mutants_of(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return how many mutants were caught, had to be, and are equivalent; empty without any."""
    reports = [record["mutants"] for record in records if record["mutants"]]
    if not reports:
        return {}
    return {
        "caught": sum(report["caught"] for report in reports),
        "wanted": sum(report["wanted"] for report in reports),
        "equivalent": sum(len(report["equivalent"]) for report in reports),
    }


def explain(records: Sequence[dict[str, Any]]) -> Part:
    """Return the full text of each record."""
    return Part("", [_explained(record) for record in records])


def _explained(record: dict[str, Any]) -> Summary:
    rows = [row for group in (_claimed(record), _found(record)) for row in group if row[1]]
    return Summary(f"{record['paper']}, equation {record['name']}", rows)


def _claimed(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if code := record.get("code"):
        yield "code", code["text"]
    else:
        yield from (("printed", " ".join(one.split())) for one in record["printed"])
    if record["reading"] != "printed":
        yield "reading", "the print had to be reconstructed; the verdict is on that reading"
    for key, name in _KEYS.items():
        yield name, record[key]
    for use in record.get("uses", ()):
        paper = "" if use["paper"] == record["paper"] else f"{use['paper']}, "
        yield "uses", f"{paper}{use['equation']} ({use['reason']})"


def _found(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tier = record.get("tier", "")  # records of an older ledger have none
    yield "verdict", record["verdict"]
    yield "tier", f"{tier} ({TIERS[tier]})" if tier in TIERS else tier
    yield "error", record.get("error", "")
    yield "corrected", record["corrected"] or ""
    yield "note", record["note"]
    if accusation := record.get("accusation"):
        yield from ((name, accusation[name]) for name in ("reached", "meant", "changes"))
        noted = accusation["noted"]
        yield "counted", f"no, noted: {noted}" if noted else "yes"
    for entry in record["evidence"]:
        yield "evidence", f"{entry['of']} form ({entry['kind']}): {entry['summary']}"
        if example := entry["counterexample"]:
            yield "  at", example["point"]
            yield "  left side", example["left"]
            yield "  right side", example["right"]
    yield "overturned by", record.get("overturned_by", "")
    if record["arithmetic"] and record["evidence"]:
        yield "arithmetic", f"{record['arithmetic']}, {record['digits']} digits"
    if report := record["mutants"]:
        stillborn = f", {report['stillborn']} without a value" if report["stillborn"] else ""
        equal = f", {len(report['equivalent'])} proved equivalent" if report["equivalent"] else ""
        yield "mutants", f"{report['caught']} of {report['wanted']} caught{equal}{stillborn}"
        yield from (("  not caught", one) for one in report["survivors"])
    yield "hash", record.get("hash", "")
    yield "source", record["source"]
