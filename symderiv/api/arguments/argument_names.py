"""The arguments of Python calls and the keys of a study file: one name, two spellings.

A key ``training.learning_rate`` is the argument ``learning_rate``, a key ``data.exponent`` the
argument ``inputs.exponent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from symderiv.foundation.errors import InputError
from symderiv.problem.key_names import STATED

_RENAMED = {"time.values": "alpha", "data": "inputs", "task": "tasks"}


def argument_of(key: str) -> str:
    """Return the argument that a study's key is."""
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
    """Turn errors about keys of a study into errors about arguments."""
    try:
        yield
    except InputError as error:
        if error.argument is None:
            raise
        name = others.get(error.argument) or argument_of(error.argument)
        raise error.renamed(name) from None


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that were given, that is, are not None."""
    return {name: value for name, value in values.items() if value is not None}
