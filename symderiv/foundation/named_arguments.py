"""Calls with wrong arguments are answered by an InputError that offers the right name.

Python itself raises a TypeError. It is told from one of the function's own body by binding the
arguments again, so that a call with the right arguments costs nothing more.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean

__all__ = ["public", "public_methods"]

Called = TypeVar("Called", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def public(function: Called) -> Called:
    """Make a function or method refuse wrong arguments by an InputError."""

    @functools.wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except TypeError as error:
            if _bound(function, values, named):
                raise
            raise _explained(function, values, named, str(error)) from None

    return called  # type: ignore[return-value]


def _bound(function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a function takes these arguments, also through decorators."""
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError:
        return False
    return True


def public_methods(cls: Class) -> Class:
    """Do the same for the constructor and every public method that a class defines itself."""
    for name, member in list(vars(cls).items()):
        if name != "__init__" and name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(cls, name, public(member))
        elif isinstance(member, classmethod):
            setattr(cls, name, classmethod(public(member.__func__)))
    return cls


def _explained(
    function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any], reason: str
) -> InputError:
    """Return the error in the arguments of a call that Python refused."""
    found = inspect.signature(function).parameters
    call = function.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
    names = [name for name in found if name not in ("self", "cls")]
    own = getattr(function, "__globals__", {}).get(call)
    listed = getattr(own, "__signature__", None) if isinstance(own, type) else None
    for name in named:
        if name not in found:
            said = did_you_mean(name, names if listed is None else listed.parameters)
            said = said or f"; it takes {', '.join(names) or 'none'}"
            return InputError(f"is not an argument of {call}{said}", argument=name)
    positional = [
        name
        for name, each in found.items()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(values) > len(positional):
        by_name = [name for name in names if name not in positional]
        return InputError(
            f"{call} takes {len([n for n in positional if n in names])} argument(s) without a "
            f"name; write the others as {by_name[0] if by_name else 'name'}=…"
        )
    given = {*positional[: len(values)], *named}
    for name, each in found.items():
        if each.default is each.empty and name not in given and "VAR" not in each.kind.name:
            return InputError(f"is missing; {call} needs it: {name}=…", argument=name)
    return InputError(" ".join(reason.split()))
