"""The arguments of Python calls and the keys of a study file: one name, two spellings.

A key ``training.learning_rate`` is the argument ``learning_rate``, a key ``data.exponent`` the
argument ``inputs.exponent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from symderiv.foundation.errors import InputError

# the second and the third because they state which tables there are
from symderiv.problem.checked import known_keys

__all__ = ["argument_of", "key_of", "naming_arguments"]

# Tables whose keys are arguments of a Problem.
STATED = ("network", "training", "initial")

_RENAMED = {"time.values": "alpha", "data": "inputs", "task": "tasks"}


@cache
def _keys() -> dict[str, str]:
    return {name: f"{table}.{name}" for table in STATED for name in known_keys([table])}


def key_of(argument: str) -> str:
    """The study's key that an argument of :meth:`Problem.replace` is.

    Raises:
        InputError: there is no such argument.
    """
    table, dot, name = argument.partition(".")
    if argument == "inputs":
        return "data"
    if dot and table == "inputs" and name in known_keys(["data"]):
        return f"data.{name}"
    if dot and table in ("time", "simulation") and name in known_keys([table]):
        return argument
    if argument in ("time", "simulation"):
        return argument
    if argument == "tasks":
        return "task"
    if argument not in _keys():
        import difflib

        close = difflib.get_close_matches(argument, [*_keys(), "inputs"], n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise InputError(f"is no argument of a Problem{hint}", argument=argument)
    return _keys()[argument]


def argument_of(key: str) -> str:
    """The argument that a study's key is."""
    if key in _RENAMED:
        return _RENAMED[key]
    table, dot, name = key.partition(".")
    if table == "data":
        return f"inputs.{name}"
    if dot and table in (*STATED, "time", "simulation"):
        return name
    return key


@contextmanager
def naming_arguments(**others: str) -> Iterator[None]:
    """Errors about keys of a study become errors about arguments."""
    try:
        yield
    except InputError as error:
        if error.argument is None:
            raise
        name = others.get(error.argument) or argument_of(error.argument)
        raise error.renamed(name) from None


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """What was given: None means not."""
    return {name: value for name, value in values.items() if value is not None}
