"""Readers for the keys of TOML tables, which check the type of each value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeVar

from pydantic import StrictBool, StrictStr, TypeAdapter, ValidationError

from symderiv.foundation.errors import InputError

_T = TypeVar("_T")
_Table = Mapping[str, Any]


def _reader(kind: Any, absent: _T, what: str) -> Callable[[_Table, str], _T]:
    """Return a function that reads a key of a table; a missing key has the value ``absent``."""
    adapter: TypeAdapter[_T] = TypeAdapter(kind)

    def read(table: _Table, key: str) -> _T:
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
table_of: Final = _reader(dict[str, Any], dict[str, Any](), "must be a table")
tables_of: Final = _reader(list[dict[str, Any]], list[dict[str, Any]](), "must be tables [[{}]]")


def text_of(table: _Table, key: str) -> str:
    """Return a text, empty if the key is missing; line breaks are kept in formulas only."""
    value = _text(table, key)
    return value if "formula" in key else " ".join(value.split())


def refuse_unknown(table: _Table, known: Collection[str], where: str = "") -> None:
    """Refuse a table with a key that is not known.

    Raises:
        InputError: A key is unknown; the message begins with ``where``.
    """
    for key in sorted(set(table) - set(known)):
        raise InputError(f"{where}unknown key {key!r}")
