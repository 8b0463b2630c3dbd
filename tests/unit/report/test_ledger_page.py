"""The ledger's page: links that lead somewhere, nothing from elsewhere, all there unscripted."""

import json
import re
from pathlib import Path
from typing import Any

from symderiv_ledger.papers.ledger_page import is_ledger_page, ledger_page

from symderiv.foundation.documents.mathtext import mathml, without_defaults

DOCS = Path(__file__).parents[3] / "docs"

HOLDS: dict[str, Any] = {
    "paper": "ours-2024",
    "equation": "1",
    "name": "1 rate",
    "part": "rate",
    "printed": [r"a_1=\left(b+c\right)"],
    "reading": "printed",
    "statement": "a[1] == b + c",
    "statement_latex": "a_{1} = b + c",
    "ranges": "",
    "where": "",
    "verdict": "holds",
    "corrected": None,
    "corrected_latex": None,
    "regime": "all of it & more",
    "given": "",
    "note": "",
    "rests_on": "",
    "thorough": False,
    "evidence": [],
    "digits": 30,
    "arithmetic": "mpmath 1.3.0",
    "mutants": None,
    "source": "",
    "code": None,
    "tier": "digits",
    "overturned_by": "one point",
    "tried_at": "ours.points",
    "uses": [],
    "hash": "0123456789ab",
}
USES = [
    {"paper": "ours-2024", "equation": "1", "reason": "given: equation 1"},
    {"paper": "other-2020", "equation": "7", "reason": "uses"},
]
#: Names whose anchors would be the same, and a claim that is not the first of its equation.
RECORDS: list[dict[str, Any]] = [
    HOLDS,
    {**HOLDS, "name": "1 Rate!"},
    {**HOLDS, "equation": "2", "name": "2 first", "uses": USES, "verdict": "misprint"},
    {**HOLDS, "equation": "2", "name": "2", "tier": "", "verdict": "definition"},
    {**HOLDS, "paper": "other-2020", "equation": "2", "name": "2", "uses": [USES[0]]},
]


def _claim(page: str, anchor: str) -> str:
    (found,) = re.findall(rf'<details class="claim" id="{anchor}".*?</details>', page, re.DOTALL)
    return str(found)


def test_every_link_has_one_place_that_it_leads_to() -> None:
    page = ledger_page(RECORDS)
    anchors = re.findall(r' id="([^"]*)"', page)
    assert len(anchors) == len(set(anchors)) == 8  # papers, claims, equation 1
    links = re.findall(r'href="#([^"]*)"', page)
    assert links
    assert set(links) <= set(anchors)
    used = _claim(page, "ours-2024-1-rate")
    assert 'id="ours-2024-1"' in used
    assert '<a href="#ours-2024-2-first">2 first</a>' in used
    assert '<a href="#other-2020-2">other-2020, 2</a>' in used
    uses = _claim(page, "ours-2024-2-first")
    assert '<a href="#ours-2024-1">1</a> (given: equation 1)' in uses
    assert "other-2020, 7 (uses)" in uses


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = ledger_page(RECORDS)
    assert is_ledger_page(page.encode())
    assert not re.findall(r'(?:src|href)="(?!#)[^"]*"', page)
    assert set(re.findall(r"url\((.{5})", page)) == {"data:"}
    assert "@import" not in page


def test_what_is_folded_is_there_without_a_script() -> None:
    page = ledger_page(RECORDS)
    assert page.count("<noscript>") == page.count("</noscript>") == len(RECORDS)
    body = _claim(page, "ours-2024-2").partition("<noscript>")[2]
    assert "all of it &amp; more" in body
    assert "0123456789ab" in body
    assert '<div class="tools" hidden>' in page


def test_records_of_an_older_ledger_have_a_page() -> None:
    new = ("tier", "overturned_by", "tried_at", "uses", "hash", "code")
    older = [{key: one[key] for key in one if key not in new} for one in RECORDS[:1]]
    assert "a[1] == b + c" in ledger_page(older)


def test_what_browsers_assume_is_left_out() -> None:
    whole = mathml(r"x_{1} \left(a - \mathrm{Sw}\right) \left[-b\right]")
    short = without_defaults(whole)
    assert len(short) < 0.6 * len(whole)
    dropped = re.sub(r' (?:xmlns|stretchy|fence|form)="[^"]*"', "", whole)
    rows = re.compile(r"<mrow>(<m[in][^>]*>[^<]*</m[in]>)</mrow>")
    assert rows.sub(r"\1", dropped) == re.sub(r' form="prefix"', "", short)


def test_no_command_of_a_print_or_statement_is_left_as_it_is_typed() -> None:
    """A command that the converter does not know would stand in the page with its backslash.

    The page that is kept has all claims, and is compared with one that is made anew elsewhere.
    """
    page = (DOCS / "ledger.html").read_text(encoding="utf-8")
    claims = len(json.loads((DOCS / "ledger.json").read_text(encoding="utf-8"))["claims"])
    assert page.count('<details class="claim"') == claims
    assert page.count("<math") > 1.5 * claims
    assert re.findall(r">(\\\w+)<", page) == []
