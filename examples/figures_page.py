"""A page of figures, each with its parameters and with judged statements beside it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symderiv.foundation.documents.document import Paragraph, Part, Picture, Summary, Tone
from symderiv.show.pages.page import (
    page,
    svg_bytes,
    version_line,
)
from symderiv.show.plots.claims import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureRemark:
    """One line beside a figure; ``agrees`` is None for a plain observation."""

    text: str
    agrees: bool | None = None

    @property
    def word(self) -> str:
        """The verdict in one word."""
        return {True: "agrees", False: "differs", None: "noted"}[self.agrees]


@dataclass(frozen=True)
class Entry:
    """A figure of the gallery.

    Attributes:
        name: short and unique, e.g. "17".
        title: what is drawn.
        parameters: one line each; reductions are said here.
        figure: drawn, or None where it cannot be made.
        caption: what lines and marks mean.
        statements: what agrees and what does not.
        seconds: CPU seconds that it took.
    """

    name: str
    title: str
    parameters: Sequence[str]
    figure: Figure | None
    caption: str
    statements: Sequence[FigureRemark]
    seconds: float = 0.0


def compared(
    what: str, measured: float, expected: float, tolerance: float, digits: int = 4
) -> FigureRemark:
    """Agreement of two numbers within a relative tolerance, with both and their difference.

    A number that is not finite never agrees.
    """
    difference = abs(measured / expected - 1.0) if expected else abs(measured)
    agrees = math.isfinite(difference) and difference <= tolerance
    return FigureRemark(
        f"{what}: {number(measured, digits)} against {number(expected, digits)}, relative "
        f"difference {number(difference, 2)} (agrees up to {number(tolerance, 2)})",
        agrees,
    )


def ordered(what: str, values: Sequence[float], *, falling: bool, strictly: bool = True) -> bool:
    """Return whether values fall (or grow) from each one to the next; ``what`` names them in
    errors.
    """
    if len(values) < 2:
        raise ValueError(f"{what}: an order of convergence needs at least two values")
    pairs = list(itertools.pairwise(values))
    if not falling:
        pairs = [(b, a) for a, b in pairs]
    return all(a > b if strictly else a >= b for a, b in pairs)


def gallery_page(
    title: str, subtitle: str, entries: Sequence[Entry], missing: Sequence[tuple[str, str]]
) -> str:
    """Return one HTML page, figures inside.

    Args:
        title, subtitle: the title and subtitle of the page.
        entries: the figures in order.
        missing: names of what cannot be made, and why.
    """
    words = [statement.word for entry in entries for statement in entry.statements]
    counts = {word: words.count(word) for word in ("agrees", "differs", "noted")}
    said = (
        f"{counts['agrees']} statements agree, {counts['differs']} differ, {counts['noted']} are "
        "observations without a verdict. All numbers are computed in the run that wrote this page, "
        "except those called printed or read off."
    )
    parts = [_part(entry) for entry in entries]
    if missing:
        reasons = Summary(rows=missing, tones=["open"] * len(missing))
        parts.append(Part("Not made here", (reasons,), "missing"))
    document = Part(title, (Paragraph(said), *parts), subtitle=subtitle, links=True)
    seconds = [(f" · figure {entry.name} {entry.seconds:.0f} CPU s", "") for entry in entries]
    return page(document, version_line(*seconds))


def _part(entry: Entry) -> Part:
    """Return a figure with its caption and its verdict."""
    kind = "" if entry.name.startswith("Table") else "Figure "
    marks: dict[bool | None, tuple[str, Tone]] = {
        True: ("✓ agrees", "holds"),
        False: ("✗ differs", "fails"),
        None: ("noted", "open"),
    }
    said = Summary(
        rows=[(marks[each.agrees][0], each.text) for each in entry.statements],
        tones=[marks[each.agrees][1] for each in entry.statements],
    )
    drawn = [] if entry.figure is None else [Picture(svg_bytes(entry.figure), entry.caption)]
    return Part(
        f"{kind}{entry.name}. {entry.title}",
        (*drawn, said),
        f"figure-{entry.name}",
        entry.name,
        "\n".join(entry.parameters),
    )
