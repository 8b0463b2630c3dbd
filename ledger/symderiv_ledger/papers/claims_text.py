"""Records of verified claims in words: a table, or one equation in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from symderiv_ledger.claims.claim import TIERS
from symderiv_ledger.papers.accusations import standing, summary

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["counts", "explain", "finding", "table"]

_COLOURS: Final = {
    "holds": "green",
    "approximate": "green",
    "definition": "dim",
    "not-checkable": "dim",
    "misprint": "yellow",
    "false": "red",
    "unsettled": "bold red",
}


def table(records: Sequence[dict[str, Any]], console: Console) -> None:
    """Equation, verdict and finding of every record, paper by paper."""
    from rich.text import Text

    from symderiv.foundation.terminal import Rows, show

    for paper in dict.fromkeys(record["paper"] for record in records):
        own = [record for record in records if record["paper"] == paper]
        rows = Rows(title=paper, title_justify="left", box=None, pad_edge=False)
        for head in ("equation", "verdict", "tier", "hash", "finding"):
            rows.add_column(head, overflow="fold", no_wrap=head in ("verdict", "hash"))
        for record in own:
            rows.add_row(
                record["name"],
                Text(record["verdict"], style=_COLOURS[record["verdict"]]),
                record.get("tier", ""),
                record.get("hash", ""),
                finding(record),
            )
        show(console, rows)
        show(console, counts(own))
        if accused := summary(own):
            show(console, accused, soft_wrap=True)


def finding(record: dict[str, Any]) -> str:
    """The most telling sentence of a record."""
    if "error" in record:
        return str(record["error"])
    if record["verdict"] in ("misprint", "false", "not-checkable"):
        return str(record["note"] or f"right: {record['corrected']}")
    if record["evidence"]:
        return str(record["evidence"][0]["summary"])
    return str(record["regime"])


def counts(records: Sequence[dict[str, Any]]) -> str:
    """How many claims have which verdict, those apart that accuse and do not count."""
    verdicts = [standing(record) for record in records]
    counted = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    text = f"{len(records)} claims: {counted}"
    reports = [record["mutants"] for record in records if record["mutants"]]
    if reports:
        caught = sum(report["caught"] for report in reports)
        total = sum(report["wanted"] for report in reports)
        text += f"; {caught} of {total} mutants caught"
    return text


def explain(records: Sequence[dict[str, Any]], console: Console) -> None:
    """Everything that is known of each record."""
    from rich.text import Text

    from symderiv.foundation.terminal import show

    def line(label: str, text: str, style: str = "") -> None:
        if text:
            show(console, Text.assemble((f"{label:<14}", "bold"), (text, style)), soft_wrap=True)

    for record in records:
        show(console, Text(f"{record['paper']}, equation {record['name']}", style="bold"))
        code = record.get("code")
        line("code", code["text"] if code else "")
        for display in () if code else record["printed"]:
            line("printed", " ".join(display.split()))
        if record["reading"] != "printed":
            line("reading", "the print had to be reconstructed; the verdict is on that reading")
        line("statement", record["statement"])
        line("  for all", record["ranges"])
        line("  where", record["where"])
        line("regime", record["regime"])
        line("given", record["given"])
        line("rests on", record["rests_on"])
        for use in record.get("uses", ()):
            paper = "" if use["paper"] == record["paper"] else f"{use['paper']}, "
            line("uses", f"{paper}{use['equation']} ({use['reason']})")
        line("verdict", record["verdict"], _COLOURS[record["verdict"]])
        line("tier", _tier(record))
        line("error", record.get("error", ""))
        line("corrected", record["corrected"] or "")
        line("note", record["note"])
        _explain_accusation(record.get("accusation"), line)
        for entry in record["evidence"]:
            line("evidence", f"{entry['of']} form ({entry['kind']}): {entry['summary']}")
            example = entry["counterexample"]
            if example:
                line("  at", example["point"])
                line("  left side", example["left"])
                line("  right side", example["right"])
        line("overturned by", record.get("overturned_by", ""))
        line("arithmetic", _arithmetic(record))
        _explain_mutants(record, line)
        line("hash", record.get("hash", ""))
        line("source", record["source"])
        show(console)


def _explain_accusation(accusation: dict[str, str] | None, line: Any) -> None:
    if accusation:
        line("reached", accusation["reached"])
        line("meant", accusation["meant"])
        line("changes", accusation["changes"])
        noted = accusation["noted"]
        line("counted", f"no, noted: {noted}" if noted else "yes")


def _tier(record: dict[str, Any]) -> str:
    """The tier with its meaning; an older ledger has none."""
    tier = record.get("tier", "")
    return f"{tier} ({TIERS[tier]})" if tier in TIERS else tier


def _arithmetic(record: dict[str, Any]) -> str:
    if not record["arithmetic"] or not record["evidence"]:
        return ""
    return f"{record['arithmetic']}, {record['digits']} digits"


def _explain_mutants(record: dict[str, Any], line: Any) -> None:
    report = record["mutants"]
    if not report:
        return
    stillborn = f", {report['stillborn']} without a value" if report["stillborn"] else ""
    equal = f", {len(report['equivalent'])} proved equivalent" if report["equivalent"] else ""
    line("mutants", f"{report['caught']} of {report['wanted']} caught{equal}{stillborn}")
    for survivor in report["survivors"]:
        line("  not caught", survivor)
