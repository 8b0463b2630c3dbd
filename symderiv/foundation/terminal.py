"""Printing on a terminal: texts appear as they are, including square brackets and colons.

Rich takes ``[i, n]`` in a text for markup and ``:smile:`` for a picture. All that this package
prints through Rich goes through here, where texts are made literal.
"""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from symderiv.foundation.documents.document import Node, Tone
from symderiv.foundation.documents.text_writer import lines


def terminal(**options: Any) -> Console:
    """Return a console that adds no colours of its own.

    Args:
        options: The options of Rich's console: ``file``, ``width``, ``stderr``, ``color_system``.
    """
    return Console(highlight=False, markup=False, emoji=False, **options)


def show(console: Console, *things: Any, **options: Any) -> None:
    """Print on a console, the user's or one of :func:`terminal`.

    Args:
        console: The console.
        things: Texts, or objects that Rich can draw.
        options: The options of Rich's ``print``.
    """
    console.print(*map(_as_it_is, things), highlight=False, **options)


_STYLES: Final[dict[Tone, str]] = {
    "": "",
    "bold": "bold",
    "holds": "green",
    "fails": "red",
    "open": "dim",
    "warning": "yellow",
}


def show_document(console: Console, node: Node) -> None:
    """Print a document, in colours if the console has some."""
    for line in lines(node, console.width):
        pieces = Text.assemble(*((piece, _STYLES[tone]) for piece, tone in line))
        show(console, pieces, soft_wrap=True)


def bars() -> Progress:
    """Return a progress bar on standard error, with the remaining time; it pulses while none is
    known.
    """
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=terminal(stderr=True),
    )


def _as_it_is(thing: Any) -> Any:
    return Text(thing) if isinstance(thing, str) else thing
