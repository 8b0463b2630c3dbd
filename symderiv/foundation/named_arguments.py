"""Calls with wrong arguments are answered by an InputError that suggests the right name.

Python itself raises a TypeError. Whether it comes from the call or from the function's body is
found by binding the arguments again, so that right calls cost no extra time.

A function may take arguments that are declared elsewhere as ``**keys``. Its signature then shows
them, and other names are refused.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.nearest import did_you_mean

#: The name of a ``**`` argument that takes only the arguments that the signature shows.
SHOWN = "keys"

Called = TypeVar("Called", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)
Record = TypeVar("Record")


def public(function: Called) -> Called:
    """Make a function or method answer wrong arguments with an InputError.

    A call that fails although its names are right is answered so, too, if an argument has not the
    plain type of its annotation.
    """

    @functools.wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        shown = called.__dict__.get("__signature__")
        if shown is not None and not (
            _takes_more(shown) or named.keys() <= shown.parameters.keys()
        ):
            raise _explained(called, values, named, "")
        try:
            return function(*values, **named)
        except SymderivError:
            raise
        except Exception as error:
            if not _bound(called, values, named):
                raise _explained(called, values, named, str(error)) from None
            wrong = _of_another_type(called, values, named)
            if wrong is None:
                raise
            raise wrong from None

    return called  # type: ignore[return-value]


def show_arguments(
    function: Callable[..., Any], more: Sequence[inspect.Parameter], *, last: bool = False
) -> None:
    """Add arguments that a function takes as ``**`` to its signature, before or after its own.

    They are keyword-only. The ``**`` itself stays in the signature unless it is ``**keys``.
    """
    signature = inspect.signature(function)
    own = list(signature.parameters.values())
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    before = [each for each in own if each.kind not in by_name]
    after = [each for each in own if each.kind is inspect.Parameter.KEYWORD_ONLY]
    rest = [each for each in own if each.kind is each.VAR_KEYWORD and each.name != SHOWN]
    named = (*after, *more) if last else (*more, *after)
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*before, *named, *rest]
    )


def taking(other: Callable[..., Any], *names: str) -> Callable[[Called], Called]:
    """Show in the signature the arguments of another call, to which a function passes its ``**``.

    A line ``[taken]`` of the docstring is replaced by what the other docstring says of its
    arguments.

    Args:
        other: the call, or a record of arguments.
        names: the names of the arguments; all of them by default.
    """

    def decorated(function: Called) -> Called:
        known = inspect.signature(other).parameters
        by_name = inspect.Parameter.KEYWORD_ONLY
        more = [known[name].replace(kind=by_name) for name in names or known]
        show_arguments(function, more, last=True)
        said = (other.__doc__ or "").partition("Args:\n")[2].partition("\n\n")[0].rstrip()
        plain = textwrap.dedent(said)
        function.__doc__ = re.sub(
            r"^( *)\[taken\]$",
            lambda match: textwrap.indent(plain, match[1]),
            function.__doc__ or "",
            flags=re.M,
        )
        return function

    return decorated


def taken(record: type[Record], given: dict[str, Any]) -> Record:
    """Make a record from those arguments that are its fields, and remove them from ``given``."""
    names = inspect.signature(record).parameters.keys() & given.keys()
    return record(**{name: given.pop(name) for name in names})


def _takes_more(signature: inspect.Signature) -> bool:
    """Return whether a call takes names that its signature does not show."""
    return any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())


def _bound(function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether a function accepts these arguments, also through decorators."""
    try:
        inspect.signature(function).bind(*values, **named)
    except TypeError:
        return False
    return True


_PLAIN: dict[str, tuple[type, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool, "True or False"),
    "str": (str, "a text"),
    "None": (type(None), "None"),
    "Sequence": (Iterable, "a list"),
    "Mapping": (Mapping, "a dictionary"),
    "PathLike": (PathLike, "a path"),
}
"""Types that are checked where a call failed, by their annotations, and their words."""
_BRACKETS = re.compile(r"\[[^\[\]]*\]")


def _of_another_type(
    function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]
) -> InputError | None:
    """Return an error about the first argument whose type is not that of its annotation, if it is
    plain; None without one.
    """
    bound = inspect.signature(function).bind(*values, **named)
    for name, parameter in bound.signature.parameters.items():
        annotation = str(parameter.annotation)
        while _BRACKETS.search(annotation):
            annotation = _BRACKETS.sub("", annotation)
        kinds = [each.strip() for each in annotation.split("|")]
        if name not in bound.arguments or not _PLAIN.keys() >= {*kinds}:
            continue
        value: Any = bound.arguments[name]
        types = tuple(_PLAIN[each][0] for each in kinds)
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            words = " or ".join(_PLAIN[each][1] for each in kinds)
        elif "Sequence[str]" in str(parameter.annotation) and not _are_texts(value):
            words = "a list of texts"
        else:
            continue
        return InputError(f"must be {words}, not {_shortened(value)}", argument=name)
    return None


def _are_texts(value: Any) -> bool:
    return value is None or all(isinstance(each, str) for each in value)


def _shortened(value: Any) -> str:
    """Return a value in a short text."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def public_methods(cls: Class) -> Class:
    """Apply :func:`public` to the constructor and all public methods that a class defines."""
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
    """Return an InputError that explains which arguments of a call are wrong."""
    parameters = inspect.signature(function).parameters
    call = function.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
    if values and "self" in parameters:
        # the class that the user knows may have the method from a base
        cls = type(values[0]).__name__
        call = cls if function.__name__ == "__init__" else f"{cls}.{function.__name__}"
    names = [name for name in parameters if name not in ("self", "cls")]
    own = getattr(function, "__globals__", {}).get(call)
    listed = getattr(own, "__signature__", None) if isinstance(own, type) else None
    for name in named:
        if name not in parameters:
            said = did_you_mean(name, names if listed is None else listed.parameters)
            said = said or f"; it takes {', '.join(names) or 'none'}"
            return InputError(f"is not an argument of {call}{said}", argument=name)
    positional = [
        name
        for name, each in parameters.items()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if len(values) > len(positional):
        by_name = [
            "NAME" if each.kind is each.VAR_KEYWORD else name
            for name, each in parameters.items()
            if name not in positional
        ]
        count = len([n for n in positional if n in names])
        taken = f"{count or 'no'} argument{'s' * (count != 1)}"
        if not by_name:
            return InputError(f"{call} takes {taken}, not {len(values) - len(positional) + count}")
        others = "the others" if count else "them"
        return InputError(
            f"{call} takes {taken} without a name; write {others} by name, as {by_name[0]}=…"
        )
    given = {*positional[: len(values)], *named}
    for name, each in parameters.items():
        if each.default is each.empty and name not in given and "VAR" not in each.kind.name:
            return InputError(f"is missing; {call} needs it: {name}=…", argument=name)
    return InputError(" ".join(reason.split()))
