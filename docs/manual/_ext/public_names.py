"""What the reference has a page for: public names with their members, and commands."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import Any

import symderiv as sd


def names() -> list[str]:
    """What ``symderiv`` exports."""
    return [name for name in sd.__all__ if name != "__version__"]


# what checked tables and errors need among themselves
_INNER = {"build", "built", "copy", "idle", "inside", "model_construct", "model_copy"}
_INNER |= {"at_default", "of_component", "renamed"}


def members(found: Any) -> list[str]:
    """Methods and properties that symderiv itself defines for a class, in alphabetical order."""
    if not inspect.isclass(found):
        return []
    own = [c for c in found.__mro__ if c.__module__.split(".")[0] == "symderiv"]
    defined = {name: value for each in own for name, value in vars(each).items()}
    return sorted(
        name
        for name, value in defined.items()
        if not name.startswith("_") and name not in _INNER and _is_member(value)
    )


def _is_member(value: Any) -> bool:
    kinds = (property, cached_property, classmethod, staticmethod)
    return isinstance(value, kinds) or inspect.isfunction(value)


def commands() -> dict[str, Any]:
    """The command line's commands by name."""
    import typer

    from symderiv.cli import build_app

    group: Any = typer.main.get_command(build_app())
    return dict(group.commands)
