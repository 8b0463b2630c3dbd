"""The result of a study in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from symderiv.show.pages.page import CRITERION, feature_table, labelled
from symderiv.show.plots.claims import Findings, claims
from symderiv.show.plots.features import Agreement

if TYPE_CHECKING:
    from rich.console import Console


def print_summary(console: Console, title: str, found: Sequence[Findings]) -> None:
    """The sentences and the table of plateaus and decays."""
    from rich.text import Text

    from symderiv.foundation.terminal import Rows, show

    show(console, Text(title, style="bold"))
    colours = {"holds": "green", "fails": "red", "open": "dim"}
    width = max(len(labelled(claim).label) for claim in claims(found))
    for claim in claims(found):
        shown = labelled(claim)
        line = Rows.grid(padding=(0, 2, 0, 0))
        line.add_column(width=width, no_wrap=True)
        line.add_column(ratio=1)
        line.add_row(Text(shown.label, style=colours[shown.css]), Text(shown.text))
        show(console, line)
    for one in found:
        for warning in one.case.curve.warnings:
            show(console, Text(f"warning  {warning}", style="yellow"))
    content = feature_table(found)
    lines = [content.heads, *content.rows]
    title = content.title
    for columns in _side_by_side(lines, console.width):
        table = Rows(title=title, title_justify="left", header_style="bold", box=None)
        for place in columns:
            justify: Any = "right" if place else "left"
            table.add_column(content.heads[place], justify=justify, overflow="fold")
        for row in content.rows:
            table.add_row(*(row[place] for place in columns))
        show(console)
        show(console, table)
        title = ""


def _side_by_side(lines: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Return the columns of as few tables as show every cell whole, the first column in each."""
    widths = [max(map(len, column)) + 2 for column in zip(*lines, strict=True)]
    tables = [[0]]
    for place in range(1, len(widths)):
        if len(tables[-1]) > 1 and sum(widths[n] for n in (*tables[-1], place)) > width:
            tables.append([0])
        tables[-1].append(place)
    return tables


def agreement_json(found: Sequence[Findings]) -> dict[str, Any]:
    """The comparison of equations and simulation as JSON types.

    ``agrees`` is null if nothing was compared.
    """
    compared = [one.agreement for one in found if one.agreement is not None]
    cases = [
        _case_json(one.case.label, one.agreement) for one in found if one.agreement is not None
    ]
    return {
        "criterion": CRITERION,
        "agrees": all(one.agrees for one in compared) if compared else None,
        "cases": cases,
    }


def _case_json(label: str, found: Agreement) -> dict[str, Any]:
    return {
        "case": label,
        "runs": found.runs,
        "alpha": list(found.alpha),
        "deviations": list(found.deviations),
        "bound": found.bound,
        "within": found.within,
        "within_three": found.within_three,
        "times": len(found.deviations),
        "largest": found.largest,
        "root_mean_square": found.root_mean_square,
        "agrees": found.agrees,
    }
