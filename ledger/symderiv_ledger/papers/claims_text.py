"""Records of verified claims in words: a table, or one equation in full."""

from __future__ import annotations

from collections.abc import Sequence
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
    verdicts = [standing(record) for record in records]
    counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    text = f"{len(records)} claims: {counted}"
    reports = [record["mutants"] for record in records if record["mutants"]]
    if reports:
        caught = sum(report["caught"] for report in reports)
        total = sum(report["wanted"] for report in reports)
        text += f"; {caught} of {total} mutants caught"
    return text


def explain(records: Sequence[dict[str, Any]]) -> Part:
    """Return the full text of each record."""
    return Part("", [_explained(record) for record in records])


def _explained(record: dict[str, Any]) -> Summary:
    tier = record.get("tier", "")  # records of an older ledger have none
    code, computed = record.get("code"), record["arithmetic"] and record["evidence"]
    rows = [("code", code["text"] if code else "")]
    rows += [("printed", " ".join(one.split())) for one in (() if code else record["printed"])]
    reading = "the print had to be reconstructed; the verdict is on that reading"
    rows += [
        ("reading", "" if record["reading"] == "printed" else reading),
        ("statement", record["statement"]),
        ("  for all", record["ranges"]),
        ("  where", record["where"]),
        ("regime", record["regime"]),
        ("given", record["given"]),
        ("rests on", record["rests_on"]),
    ]
    for use in record.get("uses", ()):
        paper = "" if use["paper"] == record["paper"] else f"{use['paper']}, "
        rows.append(("uses", f"{paper}{use['equation']} ({use['reason']})"))
    rows += [
        ("verdict", record["verdict"]),
        ("tier", f"{tier} ({TIERS[tier]})" if tier in TIERS else tier),
        ("error", record.get("error", "")),
        ("corrected", record["corrected"] or ""),
        ("note", record["note"]),
        *_accusation(record.get("accusation")),
    ]
    for entry in record["evidence"]:
        rows.append(("evidence", f"{entry['of']} form ({entry['kind']}): {entry['summary']}"))
        example = entry["counterexample"]
        if example:
            rows += [
                ("  at", example["point"]),
                ("  left side", example["left"]),
                ("  right side", example["right"]),
            ]
    rows += [
        ("overturned by", record.get("overturned_by", "")),
        ("arithmetic", f"{record['arithmetic']}, {record['digits']} digits" if computed else ""),
        *_mutants(record["mutants"]),
        ("hash", record.get("hash", "")),
        ("source", record["source"]),
    ]
    title = f"{record['paper']}, equation {record['name']}"
    return Summary(title, [(name, words) for name, words in rows if words])


def _accusation(accusation: dict[str, str] | None) -> list[tuple[str, str]]:
    if not accusation:
        return []
    noted = accusation["noted"]
    said = [(name, accusation[name]) for name in ("reached", "meant", "changes")]
    return [*said, ("counted", f"no, noted: {noted}" if noted else "yes")]


def _mutants(report: dict[str, Any] | None) -> list[tuple[str, str]]:
    if not report:
        return []
    stillborn = f", {report['stillborn']} without a value" if report["stillborn"] else ""
    equal = f", {len(report['equivalent'])} proved equivalent" if report["equivalent"] else ""
    caught = f"{report['caught']} of {report['wanted']} caught{equal}{stillborn}"
    return [("mutants", caught), *(("  not caught", one) for one in report["survivors"])]
