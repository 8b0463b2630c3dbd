"""What is printed on a terminal: texts stand there as they are, square brackets and colons too.

Rich takes ``[i, n]`` in a text for markup and ``:smile:`` for a picture. All that this package
prints through Rich goes through here, where every text is made one that says nothing but itself.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

__all__ = ["Rows", "bars", "show", "spinner", "terminal"]


def terminal(**options: Any) -> Console:
    """A console that colours nothing on its own.

    Args:
        options: Of Rich's console: ``file``, ``width``, ``stderr``, ``color_system``.
    """
    return Console(highlight=False, markup=False, emoji=False, **options)


def show(console: Console, *things: Any, **options: Any) -> None:
    """Print on a console, the user's or one of :func:`terminal`.

    Args:
        console: Where.
        things: Texts, or what Rich draws.
        options: Of Rich's ``print``.
    """
    console.print(*map(_as_it_is, things), highlight=False, **options)


class Rows(Table):
    """A table whose title, heads and cells are printed as they are."""

    def __init__(self, *heads: str, title: str = "", **options: Any) -> None:
        shown = Text(title, style="table.title") if title else None
        super().__init__(*heads, title=shown, **options)

    def add_column(self, header: Any = "", *values: Any, **options: Any) -> None:
        """See Rich's table."""
        super().add_column(_as_it_is(header), *values, **options)

    def add_row(self, *cells: Any, **options: Any) -> None:
        """See Rich's table."""
        super().add_row(*map(_as_it_is, cells), **options)


def bars() -> Progress:
    """Bars on standard error, one per task."""
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=terminal(stderr=True),
    )


def spinner(message: str) -> Any:
    """A message on standard error that moves as long as the context lasts."""
    return terminal(stderr=True).status(Text(message))


def _as_it_is(thing: Any) -> Any:
    return Text(thing) if isinstance(thing, str) else thing
