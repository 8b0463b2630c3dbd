"""The arguments of Python calls and the keys of a study file: one name, two spellings.

A key ``training.learning_rate`` is the argument ``learning_rate``, a key ``data.exponent`` the
argument ``inputs.exponent``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from symderiv.foundation.errors import InputError
from symderiv.foundation.showing import plain
from symderiv.keys.study_tables import Time
from symderiv.keys.toml_text import typed_value
from symderiv.problem.key_names import STATED, by_key, key_of
from symderiv.problem.study import Study

_RENAMED = {"time.values": "alpha", "data": "inputs", "task": "tasks"}


def argument_of(key: str) -> str:
    """Return the name of the argument that corresponds to a key of a study."""
    key, bracket, entry = key.partition("[")
    if key in _RENAMED:
        return f"{_RENAMED[key]}{bracket}{entry}"
    key += bracket + entry
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


def timed(study: Study, arguments: Mapping[str, Any]) -> Study:
    """Return a study with the times that the arguments of a call ask for."""
    keys = {key: arguments.get(argument_of(f"time.{key}")) for key in Time.model_fields}
    times = given(keys)
    if not times:
        return study
    own = study.time.model_dump(exclude_unset=True)
    replaced = Time.RECORDS["values"].instead_of
    if set(replaced) & set(times):
        own.pop("values", None)
    if "values" in times:
        own = {key: value for key, value in own.items() if key not in replaced}
    with naming_arguments():
        return study.changed({"time": {**own, **plain(times, finite=False)}})


def typed_changes(texts: Sequence[str], end: float | None = None) -> dict[str, Any]:
    """Return the values of keys that texts ``key=value`` give.

    Args:
        texts: a key of the study file, with its table or by its last word, and a value as TOML
            writes it, or any other text.
        end: the time α at which integration and simulation end.

    Raises:
        InputError: a text has no equals sign, or there is no such key; the message has the nearest
            name.
    """
    typed: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not (name and equals and value.strip()):
            raise InputError(f"{text!r} must have the form key=value", argument="set")
        if name in typed:
            raise InputError("is set twice; remove one", argument=name)
        typed[name] = typed_value(value)
    changes = by_key(typed)
    for name in typed:
        if (table := key_of(name)) in changes and "." not in table:
            raise InputError(f"is a table; set one of its keys, {table}.…", argument=name)
    if end is not None:
        if "time.end" in changes:
            raise InputError("is given twice, as --end and with --set; remove one", argument="end")
        changes |= {"time.end": end, "simulation.end": None}
    return changes
