"""Calls with wrong arguments are answered by an InputError that suggests the right name.

Python itself raises a TypeError. Whether it comes from the call or from the function's body is
found by binding the arguments again, so that right calls cost no extra time.

Values are compared with the annotations of the signature, as far as these are plain: before the
call where nothing else can be meant, so that nothing is evaluated (a text for a flag, 2.5 for a
whole number, NaN for a number, a dictionary for a list), and after a call that failed.

A function may take arguments that are declared elsewhere as ``**keys``. Its signature then shows
them, and other names are refused.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from os import PathLike
from typing import Any, TypeVar

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.nearest import did_you_mean, nearest

#: The name of a ``**`` argument that takes only the arguments that the signature shows.
SHOWN = "keys"

Called = TypeVar("Called", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)
Record = TypeVar("Record")


def public(function: Called) -> Called:
    """Make a function or method answer wrong arguments with an InputError.

    A value that cannot be meant for its annotation is refused before the call. A call that fails
    although its names are right is answered so, too, if an argument has not the plain type of its
    annotation.
    """

    @functools.wraps(function)
    def called(*values: Any, **named: Any) -> Any:
        shown = called.__dict__.get("__signature__")
        if shown is not None and not named.keys() <= shown.parameters.keys():
            kinds = {each.kind for each in shown.parameters.values()}
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                raise _explained(called, values, named, "")
        for name, value in _given(called, values, named):
            if (wrong := _of_another_type(called, name, value, certain=True)) is not None:
                raise wrong
        try:
            return function(*values, **named)
        except SymderivError:
            raise
        except Exception as error:
            if not _bound(called, values, named):
                raise _explained(called, values, named, str(error)) from None
            for name, value in _given(called, values, named):
                if (wrong := _of_another_type(called, name, value)) is not None:
                    raise wrong from None
            raise

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
    "Literal": (str, "a text"),
    "lines": (str, '"lines"'),
    "None": (type(None), "None"),
    "Sequence": (Iterable, "a list"),
    "Iterable": (Iterable, "a list"),
    "Collection": (Iterable, "a list"),
    "Mapping": (Mapping, "a dictionary"),
    "PathLike": (PathLike, "a path"),
    "Callable": (Callable, "a function"),  # type: ignore[dict-item]
}
"""Types that values are compared with, by their annotations, and their words."""
_PLAIN_GROUPS = {"Progress": "bool | lines | Callable | None"}
_NAMED = {"Axes": "axes of Matplotlib", "Checkpoint": "a Checkpoint"}
"""Classes that are known by their names alone, so that nothing is imported for them."""
_NUMBERS = frozenset({"int", "float", "bool", "None"})
_ALONE = frozenset({"bool", "lines", "Callable", "None", *_NAMED})
"""Kinds of values that nothing else can be made into."""
_NEVER = bool, complex, bytes
_BUILT_IN = (bool, int, float, complex, str, bytes, list, tuple, set, dict)
"""Types of values that are never anything but themselves: no formula, array or overlap."""
_BRACKETS = re.compile(r"\[[^\[\]]*\]")


def _given(
    function: Callable[..., Any], values: tuple[Any, ...], named: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the arguments of a call by name, as far as their annotations are plain."""
    kinds, positional = _kinds_of(function), _positional(function)
    for name, value in (*zip(positional, values, strict=False), *named.items()):
        if kinds.get(name):
            yield name, value


@functools.cache
def _positional(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that may be given without a name, in order."""
    parameters = inspect.signature(function).parameters.items()
    return tuple(name for name, each in parameters if "POSITIONAL_O" in each.kind.name)


@functools.cache
def _kinds_of(function: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of values that each argument takes; none if they are not plain."""
    kinds = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = str(parameter.annotation)
        texts = "Sequence[str]" in annotation or "Collection[str]" in annotation
        while _BRACKETS.search(annotation):
            annotation = _BRACKETS.sub("", annotation)
        for group, members in _PLAIN_GROUPS.items():
            annotation = annotation.replace(group, members)
        each = tuple(kind.strip() for kind in annotation.split("|"))
        plain = _PLAIN.keys() | _NAMED.keys() >= {*each} and "VAR" not in parameter.kind.name
        kinds[name] = (*each, *["texts"] * texts) if plain else ()
    return kinds


def _of_another_type(
    function: Callable[..., Any], name: str, value: Any, *, certain: bool = False
) -> InputError | None:
    """Return an error about an argument whose type is not that of its annotation, None if it is.

    Args:
        function: the function that is called.
        name: the argument.
        value: its value.
        certain: return an error only where nothing can be made of the value.
    """
    kinds = _kinds_of(function)[name]
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # an array of one number is this number
    if value is None and certain:
        return None
    plain = [kind for kind in kinds if kind != "texts"]
    if not any(_is_of(value, kind, certain) for kind in plain):
        if certain and not _is_clear(value, kinds):
            return None
        words = " or ".join(_NAMED[k] if k in _NAMED else _PLAIN[k][1] for k in plain)
    elif "texts" in kinds and not _are_texts(value):
        words = "a list of texts"
    else:
        return None
    return InputError(f"must be {words}, not {_shortened(value)}", argument=name)


def _is_clear(value: Any, kinds: tuple[str, ...]) -> bool:
    """Return whether nothing can be made of a value that is of none of the kinds.

    Most calls say better themselves what they take; but an empty value may be mistaken for None,
    and what is no number stops a computation late.
    """
    if "texts" in kinds or _ALONE.issuperset(kinds):
        return True
    if not isinstance(value, _BUILT_IN):
        return _NUMBERS.issuperset(kinds) and not hasattr(value, "__float__")
    if not value or isinstance(value, _NEVER):
        return True
    return _NUMBERS.issuperset(kinds) and not _reads_as_number(value)


def _reads_as_number(value: Any) -> bool:
    """Return whether a value is a text that is a number, which some calls read."""
    with suppress(ValueError):
        return isinstance(value, str) and bool(float(value) or True)
    return False


def _is_of(value: Any, kind: str, certain: bool) -> bool:
    """Return whether a value is of a kind; in doubt it is, unless the call failed."""
    if kind in _NAMED:
        return any(each.__name__ == kind for each in type(value).__mro__)
    if isinstance(value, bool) and kind in ("int", "float"):
        return False
    if kind == "bool" and certain and isinstance(value, int):
        return value in (0, 1)
    if kind == "int" and certain and isinstance(value, float):
        return value.is_integer()
    if kind == "float" and isinstance(value, float):
        return value == value
    if kind in ("Sequence", "Iterable", "Collection") and isinstance(value, str | bytes | Mapping):
        return False
    return isinstance(value, _PLAIN[kind][0])


def _are_texts(value: Any) -> bool:
    """Return whether there are only texts in a list or an array; others are left alone."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    return not isinstance(listed, list | tuple) or all(isinstance(each, str) for each in listed)


def _shortened(value: Any) -> str:
    """Return a value in a short text of one line."""
    text = " ".join(repr(value).split())
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
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for name in named:
        if name not in parameters and not takes_any:
            said = did_you_mean(name, names if listed is None else listed.parameters)
            said = said or f"; it takes {', '.join(names) or 'none'}"
            return InputError(f"is not an argument of {call}{said}", argument=name)
    positional = _positional(function)
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
            for typed in given - parameters.keys():
                if nearest(typed, [name]) == name:
                    return InputError(
                        f"is not an argument of {call}; did you mean {name}?", argument=typed
                    )
            return InputError(f"is missing; {call} needs it: {name}=…", argument=name)
    return InputError(" ".join(reason.split()))
