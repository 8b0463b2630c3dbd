"""Errors in terms of the command line: options by their names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import ParamSpec

from symderiv.foundation.errors import SymderivError

P = ParamSpec("P")


def guarded(
    names: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Return a decorator for commands, by which errors name options instead of arguments.

    Args:
        names: The option of each argument of the public call; arguments with the name of their
            option need not be listed.
    """

    def decorated(command: Callable[P, None]) -> Callable[P, None]:
        # annotations are texts here; positional parameters are recognised by typer.Argument
        options = {
            name.rstrip("_"): f"--{name.rstrip('_').replace('_', '-')}"
            for name, parameter in inspect.signature(command).parameters.items()
            if "typer.Argument" not in str(parameter.annotation)
        }
        known = {**options, **(names or {})}

        @functools.wraps(command)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                command(*args, **kwargs)
            except SymderivError as error:
                raise error.renamed(known.get(error.argument or "", error.argument)) from None

        return wrapped

    return decorated
