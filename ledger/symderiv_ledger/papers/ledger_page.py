"""The ledger as one page: which printed equations of papers hold, and with what evidence."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from symderiv.foundation.documents.html_writer import html_prose, with_indices
from symderiv.foundation.documents.mathtext import break_lines, mathml_display, without_defaults
from symderiv.show.pages.page import rendered, trusted
from symderiv_ledger.claims.claim import TIERS
from symderiv_ledger.papers.accusations import standing, summary
from symderiv_ledger.papers.claims_text import finding, mutants_of

_TITLE: Final = "Printed equations, checked"
_ORDER: Final = (
    *("false", "misprint", "noted", "approximate", "holds", "definition", "not-checkable"),
)
#: Values for keys that records of an older ledger, or of settled claims, lack.
_LACKING: Final = {
    **dict.fromkeys(("tier", "overturned_by", "tried_at", "hash", "error"), ""),
    **dict.fromkeys(("code", "accusation")),
}
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
    """Return one HTML page from the records of one paper or several, also of an older ledger.

    It needs nothing from elsewhere, and its script only filters: all is there without it. Claims'
    sources are linked from the folder ``beside``, if there is one.
    """
    links = _Links(records)
    papers = []
    for name in dict.fromkeys(record["paper"] for record in records):
        own = [record for record in records if record["paper"] == name]
        papers.append(
            {
                "name": name,
                "anchor": _anchor(name),
                "title": _title(name),
                "counts": _counts(own),
                "mutants": mutants_of(own),
                "accusations": summary(own),
                "claims": [_claim(record, links, beside) for record in own],
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
        self._claims = {(record["paper"], record["name"]): record for record in records}
        self._firsts = {(one["paper"], one["equation"]): one for one in reversed(records)}
        equations = dict.fromkeys((record["paper"], record["equation"]) for record in records)
        taken = {_anchor(record["paper"]) for record in records}
        self._anchors: dict[tuple[str, str], str] = {}
        for at in dict.fromkeys((*self._claims, *equations)):
            anchor = _anchor(" ".join(at))
            names = (anchor, *(f"{anchor}-{count}" for count in range(2, len(taken) + 3)))
            self._anchors[at] = next(name for name in names if name not in taken)
            taken.add(self._anchors[at])
        self._used: dict[tuple[str, str], list[dict[str, str]]] = {}
        for record in records:
            for use in record.get("uses", ()):
                links = self._used.setdefault((use["paper"], use["equation"]), [])
                links.append(self._link(record["paper"], record["name"], use["paper"]))

    def of(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the anchors of a claim, and links to what it uses and to what uses it.

        Its equation has an anchor at the first claim on it, if none of them has the same name.
        Anchors off the page are empty.
        """
        paper = record["paper"]
        at, equation = (paper, record["name"]), (paper, record["equation"])
        first = equation not in self._claims and self._firsts[equation] is record
        used_by = [
            link for key in dict.fromkeys((at, equation)) for link in self._used.get(key, ())
        ]
        return {
            "anchor": self._anchors[at],
            "equation_anchor": self._anchors[equation] if first else "",
            "uses": [
                {**self._link(use["paper"], use["equation"], paper), "reason": use["reason"]}
                for use in record.get("uses", ())
            ],
            "used_by": [link for link in used_by if link["anchor"] != self._anchors[at]],
        }

    def _link(self, paper: str, name: str, seen_from: str) -> dict[str, str]:
        words = name if paper == seen_from else f"{paper}, {name}"
        return {"words": words, "anchor": self._anchors.get((paper, name), "")}


def _title(name: str) -> str:
    from symderiv_ledger.papers.known_papers import names, source

    return source(name).title if name in names() else name


def _anchor(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def _counts(records: Sequence[dict[str, Any]]) -> list[tuple[str, int]]:
    verdicts = Counter(standing(record) for record in records)
    return [(one, verdicts[one]) for one in (*_ORDER, "unsettled") if one in verdicts]


def _claim(record: dict[str, Any], links: _Links, beside: Path | None) -> dict[str, Any]:
    """Return the values that the template shows of a claim."""
    source, code, name = record["source"], record.get("code"), str(record["name"])
    statements = record["statement_latex"], record["corrected_latex"]
    statement, corrected = (_math(break_lines(latex)) if latex else "" for latex in statements)
    return {
        **_LACKING,
        **record,
        **links.of(record),
        "heading": name if code else name[:1].upper() + name[1:],
        "standing": standing(record),
        "finding": finding(record),
        "printed_math": [] if code else [_printed(display) for display in record["printed"]],
        "statement_math": statement,
        "corrected_math": corrected,
        "link": os.path.relpath(source, beside) if source and beside is not None else "",
    }


def _printed(display: str) -> Any:
    """Return a print as HTML: a display, or words (with formulas between dollars)."""
    if "$" in display or ("\\" not in display and _WORDS.search(display)):
        return trusted(without_defaults(html_prose(display)))
    return _math([re.sub(r"\\tag\{[^}]*\}|\\label\{[^}]*\}", "", " ".join(display.split()))])


def _math(lines: list[str]) -> Any:
    """Return lines of LaTeX as MathML; what the converter does not know stays LaTeX."""
    return trusted(without_defaults(mathml_display(lines)))
