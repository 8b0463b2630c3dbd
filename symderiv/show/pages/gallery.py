"""A page of figures, each with its parameters and with judged statements beside it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symderiv.foundation.mathparse import GREEK
from symderiv.show.pages.page import Labelled, _data_uri, _render, _with_scripts, svg_bytes
from symderiv.show.plots.claims import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Statement:
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
    statements: Sequence[Statement]
    seconds: float = 0.0


def compared(
    what: str, measured: float, expected: float, tolerance: float, digits: int = 4
) -> Statement:
    """Agreement of two numbers within a relative tolerance, with both and their difference.

    A number that is not finite never agrees.
    """
    difference = abs(measured / expected - 1.0) if expected else abs(measured)
    agrees = math.isfinite(difference) and difference <= tolerance
    return Statement(
        f"{what}: {number(measured, digits)} against {number(expected, digits)}, relative "
        f"difference {number(difference, 2)} (agrees up to {number(tolerance, 2)})",
        agrees,
    )


def ordered(what: str, values: Sequence[float], *, falling: bool, strictly: bool = True) -> bool:
    """Whether values fall (or grow) from each one to the next; ``what`` names them in errors."""
    if len(values) < 2:
        raise ValueError(f"{what}: an order needs at least two values")
    pairs = list(itertools.pairwise(values))
    if not falling:
        pairs = [(b, a) for a, b in pairs]
    return all(a > b if strictly else a >= b for a, b in pairs)


def gallery_page(
    title: str, subtitle: str, entries: Sequence[Entry], missing: Sequence[tuple[str, str]]
) -> str:
    """One HTML page, figures inside.

    Args:
        title, subtitle: of the page.
        entries: the figures in order.
        missing: names of what cannot be made, and why.
    """
    shown = [
        {
            "entry": entry,
            "uri": None
            if entry.figure is None
            else _data_uri(svg_bytes(entry.figure), "image/svg+xml"),
            "claims": [_labelled(statement) for statement in entry.statements],
        }
        for entry in entries
    ]
    words = [statement.word for entry in entries for statement in entry.statements]
    counts = {word: words.count(word) for word in ("agrees", "differs", "noted")}
    return _render(
        "gallery.html.j2",
        set_indices=with_indices,
        title=title,
        subtitle=subtitle,
        shown=shown,
        missing=list(missing),
        counts=counts,
    )


def _labelled(statement: Statement) -> Labelled:
    label, css = {
        True: ("✓ agrees", "holds"),
        False: ("✗ differs", "fails"),
        None: ("noted", "open"),
    }[statement.agrees]
    return Labelled(statement.text, label, css)


# one letter, then _x, _{…}, ^x, ^(…) or ^{…}
_SUBSCRIPT = re.compile(
    r"(?<![A-Za-z0-9_])([A-Za-zα-ωΑ-Ω])_(?:\{([^}]*)\}|([A-Za-z0-9]+(?!\w)|\+))"
)
_POWER = re.compile(r"\^(?:\{([^}]*)\}|(\([^)]*\)|[A-Za-z0-9]))")


def _subscript(found: re.Match[str]) -> str:
    index = found[2] or found[3]
    shown = GREEK.get("\\" + index, index)
    return f"{found[1]}<sub>{shown}</sub>"


def with_indices(text: str) -> Any:
    """A sentence as HTML, with indices, powers and minus signs set."""
    from markupsafe import Markup

    safe = re.sub(r"(?<!\w)-(?=\d)", "−", str(_with_scripts(text)))
    safe = _SUBSCRIPT.sub(_subscript, safe)
    return Markup(_POWER.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", safe))
