"""The result of a study in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from symderiv.report.claims import Findings, claims
from symderiv.report.features import Agreement
from symderiv.report.page import CRITERION, feature_table, labelled

if TYPE_CHECKING:
    from rich.console import Console


def print_summary(console: Console, title: str, found: Sequence[Findings]) -> None:
    """The sentences and the table of plateaus and decays."""
    from rich.text import Text

    from symderiv.terminal import Rows, show

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
    table = Rows(
        title=content.title, title_justify="left", header_style="bold", box=None, padding=(0, 1)
    )
    for index, head in enumerate(content.heads):
        table.add_column(head, justify="left" if index == 0 else "right")
    for row in content.rows:
        table.add_row(*row)
    show(console)
    show(console, table)


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
