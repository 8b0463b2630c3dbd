"""The HTML report and its figures."""

import io
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from unit.report.synthetic import case, curve, plateau_curve, simulated

from symderiv.foundation.documents.written_derivation import Derivation, Section, Step
from symderiv.foundation.errors import InputError
from symderiv.foundation.terminal import show_document
from symderiv.show.pages.job import agreement_json, study_summary
from symderiv.show.pages.page import derivation_page, study_page, svg_bytes
from symderiv.show.plots import plots
from symderiv.show.plots.claims import Findings, findings
from symderiv.show.plots.features import StudyCase

pytestmark = pytest.mark.days(6)

DERIVATION = Derivation("D", (Section("S", "s", (Step("rule", "Words.", "a", r"\frac{b}{c}"),)),))


class _Elements(HTMLParser):
    """Names and attributes of all elements, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _found() -> list[Findings]:
    cases = [
        case(f"L = {L}", {"data.distinct_eigenvalues": L}, plateau_curve(length))
        for L, length in ((1, 100.0), (4, 10.0))
    ]
    return [findings(one) for one in cases]


@cache
def _figure() -> bytes:
    return svg_bytes(plots.error_figure([one.case for one in _found()]))


def _page(found: list[Findings], **changes: object) -> str:
    values: dict[str, object] = {
        "title": "A study",
        "subtitle": "who learns what",
        "found": found,
        "figures": {"error": _figure()},
        "derivation": DERIVATION,
        "study_text": '[network]\nactivation = "erf"',
        "files": ["run.nc"],
    }
    return study_page(**(values | changes))  # type: ignore[arg-type]


def test_the_report_is_one_file_without_script_or_links_elsewhere() -> None:
    page = _page(_found())
    elements = _Elements(page)
    tags = {tag for tag, _ in elements.found}
    assert {"math", "mfrac", "table", "img", "figure"} <= tags
    assert not tags & {"script", "link", "iframe", "object", "embed"}
    for _, attributes in elements.found:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href"):
            target = attributes.get(name)
            assert target is None or target.startswith(("data:", "#"))
    assert not re.search(r"url\((?!data:)", page)


def test_the_report_shows_claims_numbers_comparison_and_study() -> None:
    text = _Elements(_page(_found())).text
    for words in (
        *("gets shorter as L grows", "✓ holds", "agree", "Plateau and final decay"),
        *("Equations and simulation", 'activation = "erf"', "run.nc"),
    ):
        assert words in text


def test_words_of_the_user_are_escaped() -> None:
    hostile = '<script>alert("x")</script>'
    one = findings(StudyCase(hostile, {"a.b": 1}, plateau_curve()))
    words = {"title": hostile, "subtitle": hostile, "study_text": hostile, "files": [hostile]}
    figures = {"error": svg_bytes(plots.error_figure([one.case]))}
    page = _page([one], **words, figures=figures)
    assert not [tag for tag, _ in _Elements(page).found if tag == "script"]


def test_a_study_without_simulation_sweep_or_derivation_has_a_report() -> None:
    one = findings(case("", {}, plateau_curve(), compared=False))
    text = _Elements(_page([one], derivation=None)).text
    assert "Equations and simulation" not in text
    assert "this study" in text


@pytest.mark.parametrize("size", [0, 1, 3])
def test_a_study_that_ended_at_once_has_a_report(size: int) -> None:
    alpha = np.linspace(0.0, 0.1, size)
    cases = [StudyCase("", {}, curve(alpha, np.full(size, 0.2)))]
    figures = {
        "error": svg_bytes(plots.error_figure(cases)),
        "overlaps": svg_bytes(plots.overlap_figure(cases)),
        "exponent": svg_bytes(plots.exponent_figure(cases)),
    }
    assert "Findings" in _page([findings(cases[0])], figures=figures)


def test_a_derivation_has_a_page_of_its_own() -> None:
    page = derivation_page(DERIVATION)
    assert page.startswith("<!doctype html>")
    assert "<math" in page


@pytest.mark.parametrize("name", ["figure.svg", "figure.png", "figure.pdf"])
def test_figures_are_written_in_the_format_of_their_ending(tmp_path: Path, name: str) -> None:
    cases = [one.case for one in _found()]
    plots.save(plots.error_figure(cases), tmp_path / name)
    starts = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    path = tmp_path / name
    assert path.read_bytes().startswith(starts[path.suffix])
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_figure_of_unknown_format_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"figure\.doc"):
        plots.save(plots.error_figure([]), tmp_path / "figure.doc")


def test_the_same_study_gives_the_same_figure_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        plots.save(plots.overlap_figure([one.case for one in _found()]), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_terminal_summary_shows_each_claim_once() -> None:
    console = Console(record=True, width=100, file=io.StringIO())
    show_document(console, study_summary("A study", _found()))
    text = console.export_text()
    assert text.count("gets shorter as L grows") == 1
    assert "Plateau and final decay" in text


def test_agreement_as_json_counts_and_names_its_criterion() -> None:
    data = agreement_json(_found())
    assert data["agrees"] is True
    assert [one["case"] for one in data["cases"]] == ["L = 1", "L = 4"]
    assert data["cases"][0]["within"] == data["cases"][0]["times"] == 10
    assert "standard error" in data["criterion"]


def test_agreement_is_open_when_nothing_was_compared() -> None:
    off = StudyCase("", {}, plateau_curve())
    assert agreement_json([findings(off)])["agrees"] is None
    wrong = StudyCase("", {}, off.curve, simulated(off.curve, np.array([40.0])))
    assert agreement_json([findings(wrong)])["agrees"] is False
