"""The ledger as one page: which printed equations of papers hold, and with what evidence."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from symderiv.foundation.documents.html_writer import html_prose, with_indices
from symderiv.foundation.documents.mathtext import break_lines, mathml_display, without_defaults
from symderiv.show.pages.page import rendered, trusted
from symderiv_ledger.claims.claim import TIERS
from symderiv_ledger.papers.accusations import standing, summary
from symderiv_ledger.papers.claims_text import finding

_TITLE: Final = "Printed equations, checked"
_ORDER: Final = (
    *("false", "misprint", "noted", "approximate", "holds", "definition", "not-checkable"),
)
#: Values for keys that records of an older ledger, or of settled claims, lack.
_LACKING: Final = dict.fromkeys(("tier", "overturned_by", "tried_at", "hash", "error"), "")
_WORDS: Final = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")
_MEANING: Final = {
    "holds": "true as printed",
    "approximate": "true as an approximation, with the measured error",
    "misprint": "true after a small correction (an index, a sign, a factor, a range)",
    "false": "not true; the true statement is given",
    "definition": "defines something; compared with the engine's own quantity where it has one",
    "not-checkable": "nothing that can be computed; the reason is given",
    "noted": "wrong as it stands in public code and not counted: it is not reached, is right "
    "where it is meant, or repeats an error that is counted",
    "unsettled": "neither the print nor a correction passed",
}


def is_ledger_page(content: bytes) -> bool:
    """Return whether this is a page of :func:`ledger_page`, of whatever version."""
    return b'<meta name="generator" content="symderiv' in content[:1000] and (
        f"<title>{_TITLE}</title>".encode() in content[:1000]
    )


def ledger_page(records: Sequence[dict[str, Any]], beside: Path | None = None) -> str:
    """Return one HTML page from the records of
    :func:`symderiv_ledger.papers.paper_run.verify_paper`.

    It needs nothing from elsewhere, and its script only filters: all is there without it.

    Args:
        records: The records of one paper or several, also of an older ledger without tiers and
            edges.
        beside: Folder of the page, from which the claims' sources are linked; None: no links.
    """
    links = _Links(records)
    papers = []
    for name in dict.fromkeys(record["paper"] for record in records):
        own = [record for record in records if record["paper"] == name]
        firsts = {record["equation"]: record for record in reversed(own)}
        papers.append(
            {
                "name": name,
                "anchor": _anchor(name),
                "title": _title(name),
                "counts": _counts(own),
                "mutants": _mutants(own),
                "accusations": summary(own),
                "claims": [
                    _claim(record, firsts[record["equation"]] is record, links, beside)
                    for record in own
                ],
            }
        )
    reached = [record.get("tier", "") for record in records]
    return rendered(
        "ledger.html.j2",
        title=_TITLE,
        papers=papers,
        counts=_counts(records),
        meaning=[(verdict, _MEANING[verdict]) for verdict in _ORDER],
        tiers=[(tier, words, reached.count(tier)) for tier, words in TIERS.items()],
        text=lambda words: trusted(with_indices(words)),
    )


class _Links:
    """Anchors of claims and equations, and which claims use which."""

    def __init__(self, records: Sequence[dict[str, Any]]) -> None:
        self._claims = dict.fromkeys((record["paper"], record["name"]) for record in records)
        equations = dict.fromkeys((record["paper"], record["equation"]) for record in records)
        taken = {_anchor(record["paper"]) for record in records}
        places = self._claims | equations
        self._anchors = {at: _free(_anchor(" ".join(at)), taken) for at in places}
        self._used: dict[tuple[str, str], list[dict[str, str]]] = {}
        for record in records:
            for use in record.get("uses", ()):
                links = self._used.setdefault((use["paper"], use["equation"]), [])
                links.append(self._link(record["paper"], record["name"], use["paper"]))

    def of_claim(self, record: dict[str, Any]) -> str:
        """Return the anchor of a claim."""
        return self._anchors[record["paper"], record["name"]]

    def of_equation(self, record: dict[str, Any]) -> str:
        """Return the anchor of an equation, empty if one of its claims has the same name."""
        at = record["paper"], record["equation"]
        return "" if at in self._claims else self._anchors[at]

    def uses(self, record: dict[str, Any]) -> list[dict[str, str]]:
        """Return links to what a claim uses, with reasons; anchors off the page are empty."""
        paper = record["paper"]
        return [
            {**self._link(use["paper"], use["equation"], paper), "reason": use["reason"]}
            for use in record.get("uses", ())
        ]

    def used_by(self, record: dict[str, Any]) -> list[dict[str, str]]:
        """Return links to the claims that use a claim, or all claims about its equation."""
        paper = record["paper"]
        keys = dict.fromkeys(((paper, record["name"]), (paper, record["equation"])))
        own = self.of_claim(record)
        links = [link for key in keys for link in self._used.get(key, ())]
        return [link for link in links if link["anchor"] != own]

    def _link(self, paper: str, name: str, seen_from: str) -> dict[str, str]:
        words = name if paper == seen_from else f"{paper}, {name}"
        return {"words": words, "anchor": self._anchors.get((paper, name), "")}


def _free(anchor: str, taken: set[str]) -> str:
    """Return an anchor that is not taken yet, and mark it as taken."""
    names = (anchor, *(f"{anchor}-{count}" for count in range(2, len(taken) + 3)))
    free = next(name for name in names if name not in taken)
    taken.add(free)
    return free


def _title(name: str) -> str:
    from symderiv_ledger.papers.known_papers import names, source

    return source(name).title if name in names() else name


def _anchor(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def _counts(records: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    verdicts = [standing(record) for record in records]
    return [(one, verdicts.count(one)) for one in (*_ORDER, "unsettled") if one in verdicts]


def _mutants(records: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    reports = {record["name"]: record["mutants"] for record in records if record["mutants"]}
    if not reports:
        return None
    return {
        "caught": sum(report["caught"] for report in reports.values()),
        "wanted": sum(report["wanted"] for report in reports.values()),
        "equivalent": sum(len(report["equivalent"]) for report in reports.values()),
        "survivors": [f"{name}: {one}" for name in reports for one in reports[name]["survivors"]],
    }


def _claim(
    record: dict[str, Any], first: bool, links: _Links, beside: Path | None
) -> dict[str, Any]:
    """Return the values that the template shows of a claim; ``first`` is true once per equation."""
    source, code = record["source"], record.get("code")
    return {
        **_LACKING,
        **record,
        "anchor": links.of_claim(record),
        "equation_anchor": links.of_equation(record) if first else "",
        "uses": links.uses(record),
        "used_by": links.used_by(record),
        "heading": _heading(record),
        "standing": standing(record),
        "accusation": record.get("accusation"),
        "finding": finding(record),
        "code": code,
        "printed_math": [] if code else [_printed(display) for display in record["printed"]],
        "statement_math": _statement(record["statement_latex"]),
        "corrected_math": _statement(record["corrected_latex"] or ""),
        "link": os.path.relpath(source, beside) if source and beside is not None else "",
    }


def _printed(display: str) -> Any:
    """Return a print as HTML: a display, or words (with formulas between dollars)."""
    words = "$" in display or ("\\" not in display and _WORDS.search(display))
    return trusted(without_defaults(html_prose(display))) if words else _math(display)


def _heading(record: dict[str, Any]) -> str:
    """Return the claim's name with a capital first letter, except for names in code."""
    name = str(record["name"])
    return name if record.get("code") else name[:1].upper() + name[1:]


def _statement(latex: str) -> Any:
    """Return a statement as MathML, on several lines where it is long."""
    return trusted(without_defaults(mathml_display(break_lines(latex)))) if latex else ""


def _math(latex: str) -> Any:
    """Return a formula of a paper as MathML; what the converter does not know stays LaTeX."""
    plain = re.sub(r"\\tag\{[^}]*\}|\\label\{[^}]*\}", "", " ".join(latex.split()))
    return trusted(without_defaults(mathml_display([plain])))
