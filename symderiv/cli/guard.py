"""Failures in the words of the command line: options by their names."""

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
    """Return a command whose errors name what was typed.

    Args:
        names: The name on the command line of each argument of the public call; an argument with
            the name of an option need not be listed.
    """

    def decorated(command: Callable[P, None]) -> Callable[P, None]:
        # annotations are texts here; every parameter but a positional one has a default or is an
        # Annotated with the option's own name
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
