"""Readers for the keys of TOML tables, which check the type of each value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from pydantic import StrictBool, StrictStr, TypeAdapter, ValidationError

from symderiv.foundation.errors import InputError, SymderivError

_T = TypeVar("_T")
Table = Mapping[str, Any]


def _reader(kind: Any, absent: _T, what: str) -> Callable[[Table, str], _T]:
    """Return a function that reads a key of a table; a missing key has the value ``absent``."""
    adapter: TypeAdapter[_T] = TypeAdapter(kind)

    def read(table: Table, key: str) -> _T:
        try:
            return adapter.validate_python(table.get(key, absent))
        except ValidationError:
            raise InputError(f"{key} {what.format(key)}") from None

    return read


_text: Final = _reader(StrictStr, "", "must be a text")
flag_of: Final = _reader(StrictBool, False, "is true or false")
names_of: Final = _reader(tuple[StrictStr, ...], tuple[str, ...](), "must be a list of names")
pairs_of: Final = _reader(
    tuple[tuple[StrictStr, StrictStr], ...],
    tuple[tuple[str, str], ...](),
    "must be a list of pairs of names",
)
texts_of: Final = _reader(dict[str, StrictStr], dict[str, str](), "must be a table of texts")
uses_of: Final = _reader(
    list[StrictStr] | dict[str, StrictStr],
    list[str](),
    'is a list of equations, or a table such as {{"112" = "A_r"}}',
)
table_of: Final = _reader(dict[str, Any], dict[str, Any](), "must be a table")
tables_of: Final = _reader(list[dict[str, Any]], list[dict[str, Any]](), "must be tables [[{}]]")


@contextmanager
def errors_in(where: str) -> Iterator[None]:
    """Name the place of a table in the messages of errors."""
    try:
        yield
    except SymderivError as error:
        raise InputError(f"{where}: {error}") from None


def text_of(table: Table, key: str) -> str:
    """Return a text, empty if the key is missing; line breaks are kept in formulas only."""
    value = _text(table, key)
    return value if "formula" in key else " ".join(value.split())


def required(table: Table, keys: Iterable[str], who: str) -> dict[str, str]:
    """Return the texts of keys, none of which may be missing or empty."""
    for key in keys:
        if not text_of(table, key):
            raise InputError(f"{who} needs {key}, a text")
    return {key: text_of(table, key) for key in keys}


def one_of(table: Table, key: str, known: Collection[str], absent: str = "") -> str:
    """Return a text that is one of those known; ``absent`` if the key is missing."""
    value = text_of(table, key) if key in table else absent
    if value not in known and value != absent:
        raise InputError(f"{key} must be one of {', '.join(known)}, not {value!r}")
    return value


def refuse_unknown(table: Table, known: Collection[str], where: str = "") -> None:
    """Refuse a table with a key that is not known, with a message that begins with ``where``."""
    for key in sorted(set(table) - set(known)):
        raise InputError(f"{where}unknown key {key!r}")
