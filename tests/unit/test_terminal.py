"""Texts on a terminal: nothing of what a user wrote is taken for markup, whatever prints it."""

import ast
import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
import typer
from rich.console import Console
from rich.text import Text
from support.commands import symderiv
from symderiv_ledger.papers import known_papers as library
from unit.report.synthetic import case, plateau_curve

from symderiv.cli import build_app
from symderiv.foundation.documents.document import Tabular
from symderiv.foundation.terminal import bars, show, show_document, terminal
from symderiv.show.pages.job import StudyResult, study_summary
from symderiv.show.pages.page import feature_table
from symderiv.show.plots.claims import findings

SOURCES = Path(__file__).parents[2] / "symderiv"

#: Brackets that Rich takes for markup, for a picture, and for tags that nothing opened.
HOSTILE = "half of E[g(u) g(v)] [bold]R[i, n][/bold] :smile: [/] [red]"

#: Every text that a file of claims can hold.
CLAIMS = f"""
name = "ours {HOSTILE}"
[repository.code]
address = "owner/name"
commit = "{"0123456789" * 4}"
licence = "licence {HOSTILE}"
[[equation]]
number = "1 {HOSTILE}"
repository = "code"
file = "file {HOSTILE}"
lines = "cell {HOSTILE}"
reference = "i2"
activation = "linear"
statement = "I == 2*C[1, 2]"
corrected = {{"2*C" = "C"}}
note = "note {HOSTILE}"
where = "where {HOSTILE}"
regime = "regime {HOSTILE}"
given = "given {HOSTILE}"
rests_on = "rests {HOSTILE}"
accusation.reached = "reached {HOSTILE}"
accusation.meant = "meant {HOSTILE}"
accusation.changes = "changes {HOSTILE}"
[[equation]]
number = "2"
latex = '2 {HOSTILE}'
[equation.claim."part {HOSTILE}"]
reference = "i2"
activation = "linear"
statement = "I == C[1, 2]"
uses = {{"1 {HOSTILE}" = "reason {HOSTILE}"}}
[equation.claim.open]
not_checkable = "why {HOSTILE}"
"""


def _python() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCES.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in ("rich", "console", "from_markup")):
            yield path.relative_to(SOURCES).as_posix(), ast.parse(text)


def _for_types(tree: ast.Module) -> set[ast.AST]:
    """All that stands under ``if TYPE_CHECKING``."""
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {inner for block in blocks for inner in ast.walk(block)}


def test_only_one_module_prints_with_rich() -> None:
    """Whatever command a text comes from, it goes through the module that makes texts literal."""
    others = []
    for name, tree in _python():
        skipped = _for_types(tree)
        for node in ast.walk(tree):
            if name == "foundation/terminal.py" or node in skipped:
                continue
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rich"):
                others += [name] if node.module != "rich.text" else []
            if isinstance(node, ast.Import):
                others += [name for one in node.names if one.name.startswith("rich")]
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "console.print":
                others.append(name)
            if isinstance(node, ast.Attribute) and node.attr == "from_markup":
                others.append(name)
    assert others == []


@pytest.mark.parametrize("console", [Console, terminal])
def test_texts_titles_heads_and_cells_are_printed_as_they_are(console: type[Console]) -> None:
    written = io.StringIO()
    wide = console(file=written, width=600)
    heads, cells = (
        [f"first {HOSTILE}", f"second {HOSTILE}"],
        [f"left {HOSTILE}", f"right {HOSTILE}"],
    )
    show(wide, f"text {HOSTILE}")
    show_document(wide, Tabular(heads, [cells], f"title {HOSTILE}"))
    for place in ("text", "title", "first", "second", "left", "right"):
        assert f"{place} {HOSTILE}" in written.getvalue()


def test_names_of_tasks_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    progress = bars()
    progress.add_task(HOSTILE)
    terminal(file=written, width=600).print(progress.make_tasks_table(progress.tasks))
    assert HOSTILE in written.getvalue()


def _verify(*arguments: str) -> str:
    with mock.patch.dict("os.environ", {"COLUMNS": "1200"}):
        return symderiv("verify", *arguments).stdout


@pytest.fixture(scope="module")
def claims(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("claims") / "ours.toml"
    path.write_text(CLAIMS)
    return str(path)


def test_a_table_of_claims_keeps_brackets(claims: str) -> None:
    shown = _verify(claims)
    for text in ("ours", "1", "2 part", "note", "why"):
        assert f"{text} {HOSTILE}" in shown


@pytest.mark.parametrize(
    ("equation", "texts"),
    [
        (
            f"1 {HOSTILE}",
            "1|file|cell|where|regime|given|rests|note|reached|meant|changes|(licence",
        ),
        ("2", "2|part|1|(reason|why"),
    ],
)
def test_an_equation_in_full_keeps_brackets(claims: str, equation: str, texts: str) -> None:
    shown = _verify(claims, "--equation", equation)
    for text in texts.split("|"):
        assert f"{text} {HOSTILE}" in shown


def test_what_falls_with_an_equation_keeps_brackets(
    claims: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # claims of other papers, which take seconds to read, do not rest on it
    monkeypatch.setattr(library, "names", tuple)
    assert f"part {HOSTILE}" in _verify(claims, "--impact", f"1 {HOSTILE}")


def test_a_study_keeps_brackets_in_its_name_and_paths() -> None:
    path = (Path("f" + HOSTILE),)
    result = StudyResult(HOSTILE, (findings(case("", {}, plateau_curve())),), path[0], path, (), ())
    assert result.to_text().count(HOSTILE) == 3


def test_findings_of_a_study_keep_brackets() -> None:
    written = io.StringIO()
    curve = replace(plateau_curve(), warnings=("warned " + HOSTILE,))
    cases = [case(f"{k} {HOSTILE}", {"data.exponent": k}, curve) for k in (1.0, 2.0)]
    console = Console(file=written, width=600)
    show_document(console, study_summary("title " + HOSTILE, [findings(one) for one in cases]))
    for text in ("title", "warned", "1.0", "2.0"):
        assert f"{text} {HOSTILE}" in written.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_every_number_of_a_study_stands_whole_in_the_terminal(width: int) -> None:
    found = [findings(case(f"L = {k}", {"L": k}, plateau_curve(50.0 / k))) for k in (1, 16)]
    written = io.StringIO()
    show_document(Console(file=written, width=width), study_summary("title", found))
    words = written.getvalue().split()
    content = feature_table(found)
    assert all(
        part in words for row in (content.heads, *content.rows) for part in " ".join(row).split()
    )
    assert "…" not in written.getvalue()


def test_helps_hold_nothing_that_would_be_taken_for_markup() -> None:
    commands = typer.main.get_command(build_app()).commands  # type: ignore[attr-defined]
    assert len(commands) > 15
    for command in commands.values():
        helps = [command.help or "", *(getattr(one, "help", "") or "" for one in command.params)]
        assert [Text.from_markup(text).plain for text in helps] == helps
