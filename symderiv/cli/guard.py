"""Failures in the words of the command line: options by their names, defects in one line."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import ParamSpec

import typer

from symderiv.errors import SymderivError

__all__ = ["guarded", "internal"]

P = ParamSpec("P")


def internal(error: Exception) -> str:
    """A defect of ours, or an expression too deep for SymPy, in one line."""
    return f"internal error: {type(error).__name__}: {' '.join(str(error).split())}"[:300]


def guarded(
    names: Mapping[str, str] | None = None,
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """A command whose errors name what was typed, and whose defects are one line, no traceback.

    Args:
        names: Per argument of the public call, what it is called on the command line; an argument
            with the name of an option is the option also without being listed.
    """

    def decorated(command: Callable[P, None]) -> Callable[P, None]:
        # annotations are texts here; every parameter but a positional one has a default or is an
        # Annotated with the option's own name
        options = {
            name: f"--{name.replace('_', '-')}"
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
            except (OSError, typer.Exit):
                raise
            except Exception as error:
                if type(error).__module__.partition(".")[0] in ("click", "typer"):
                    raise
                logging.getLogger(__name__).debug("internal error", exc_info=True)
                raise SymderivError(internal(error)) from error

        return wrapped

    return decorated
