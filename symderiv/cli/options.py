"""Options that several commands share."""

from __future__ import annotations

from typing import Any

import typer


def option(
    name: str, help: str, metavar: str | None = None, *, short: str = "", **more: Any
) -> typer.models.OptionInfo:
    """Return an option of a command.

    Args:
        name: the name as it is typed, with its hyphens.
        help: its help text.
        metavar: the placeholder of its value; its type when left out.
        short: a second name.
        more: further arguments of ``typer.Option``.
    """
    names = (name, short) if short else (name,)
    info: typer.models.OptionInfo = typer.Option(*names, metavar=metavar, help=help, **more)
    return info
