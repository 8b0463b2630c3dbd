"""Names of the keys of a study: ``learning_rate`` is ``training.learning_rate``.

One resolution for calls, sweeps, maps, files and commands. A name without its table is looked for
among the arguments of a problem first, [network], [training] and [initial]; other tables follow,
and a name that two of them have needs its table. ``inputs`` and ``tasks`` are what Python calls the
tables ``data`` and ``task``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean, nearest
from symderiv.keys.checked import known_keys
from symderiv.keys.study_tables import TABLES
from symderiv.problem.input_models import Data

STATED: Final = ("network", "training", "initial")
"""Tables whose keys are arguments of a Problem."""

_CALLED: Final = {"inputs": "data", "tasks": "task"}
_TABLES: Final = (*TABLES, "data")
_WHOLE: Final = {
    **_CALLED,
    **{name: name for name in ("data", "task", "time", "simulation")},
}
# the end of the equations; [simulation] end follows it
_FIRST: Final = {"end": "time.end"}
# imported so that its classes have registered their keys
assert Data


@cache
def _tables_with(name: str) -> tuple[str, ...]:
    tables = tuple(table for table in _TABLES if name in known_keys([table]))
    stated = [table for table in tables if table in STATED]
    return (stated[0],) if stated else tables


@cache
def _known_names() -> tuple[str, ...]:
    """Return possible names: without their tables if these are unique, else the full keys."""
    names = [
        name if len(_tables_with(name)) == 1 or name in _FIRST else f"{table}.{name}"
        for table in _TABLES
        for name in known_keys([table])
        if name != "model"
    ]
    return (*names, "inputs", "tasks")


def study_key(name: str) -> str:
    """Return the full key that a name stands for.

    >>> study_key("learning_rate"), study_key("inputs.exponent"), study_key("time.end")
    ('training.learning_rate', 'data.exponent', 'time.end')

    Args:
        name: The name, with its table or without.

    Raises:
        InputError: No key goes by this name, or several do; the message offers the nearest.
    """
    if not isinstance(name, str):
        raise InputError(
            f"{name!r} is not the name of a key, which is a text such as 'learning_rate'",
            argument="key",
        )
    table, dot, key = name.rpartition(".")
    table = _CALLED.get(table, table)
    if dot:
        if key in known_keys([table]):
            return f"{table}.{key}"
    elif name in _FIRST:
        return _FIRST[name]
    else:
        tables = _tables_with(name)
        if len(tables) == 1:
            return f"{tables[0]}.{name}"
        if tables:
            several = " and ".join(f"{each}.{name}" for each in tables)
            raise InputError(f"could mean {several}; write the full name", argument=name)
    raise InputError(f"is not the name of a key{did_you_mean(name, _known_names())}", argument=name)


def nearest_key(name: str) -> str:
    """Return the nearest name of a key to an unknown one; empty if none is near."""
    return nearest(name, _known_names())


def key_of(name: str) -> str:
    """Return the full key as :func:`study_key` does; also ``inputs``, ``tasks`` and whole
    tables.
    """
    return _WHOLE[name] if name in _WHOLE else study_key(name)


def by_key(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by their full keys.

    Args:
        named: Values by names of keys or of whole tables.

    Raises:
        InputError: See :func:`key_of`; or one key is given under two names.
    """
    values_by_key: dict[str, Any] = {}
    for name, value in named.items():
        key = key_of(name)
        if key in values_by_key:
            raise InputError(f"is given twice, also as {key}; remove one", argument=name)
        values_by_key[key] = value
    return values_by_key
