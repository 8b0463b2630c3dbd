"""Keys of TOML tables, each of the kind that it must be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic import StrictBool, StrictStr, TypeAdapter, ValidationError

from symderiv.foundation.errors import InputError

_FLAG: Final = TypeAdapter(StrictBool)
_NAMES: Final = TypeAdapter(list[StrictStr])
_PAIRS: Final = TypeAdapter(list[tuple[StrictStr, StrictStr]])
_TABLE: Final = TypeAdapter(dict[str, Any])
_TABLES: Final = TypeAdapter(list[dict[str, Any]])
_TEXT: Final = TypeAdapter(StrictStr)
_TEXTS: Final = TypeAdapter(dict[str, StrictStr])


def _value(
    table: Mapping[str, Any], key: str, kind: TypeAdapter[Any], absent: Any, what: str
) -> Any:
    try:
        return kind.validate_python(table.get(key, absent))
    except ValidationError:
        raise InputError(f"{key} {what}") from None


def text_of(table: Mapping[str, Any], key: str) -> str:
    """Return a text, empty if it is not there; line breaks count in formulas only."""
    value: str = _value(table, key, _TEXT, "", "must be a text")
    return value if "formula" in key else " ".join(value.split())


def flag_of(table: Mapping[str, Any], key: str) -> bool:
    """Return whether a key is true, which it is not if it is not there."""
    return bool(_value(table, key, _FLAG, False, "is true or false"))


def names_of(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of names, empty if it is not there."""
    return tuple(_value(table, key, _NAMES, [], "must be a list of names"))


def pairs_of(table: Mapping[str, Any], key: str) -> tuple[tuple[str, str], ...]:
    """Return a list of pairs of names, empty if it is not there."""
    return tuple(_value(table, key, _PAIRS, [], "must be a list of pairs of names"))


def texts_of(table: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return a table of texts, empty if it is not there."""
    return dict(_value(table, key, _TEXTS, {}, "must be a table of texts"))


def table_of(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a table, empty if it is not there."""
    return dict(_value(table, key, _TABLE, {}, "must be a table"))


def tables_of(table: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of tables, empty if it is not there."""
    return list(_value(table, key, _TABLES, [], f"must be tables [[{key}]]"))


def refuse_unknown(table: Mapping[str, Any], known: Collection[str], where: str = "") -> None:
    """Refuse the first key, in the order of the alphabet, that is not known.

    Raises:
        InputError: There is one; ``where`` begins the message.
    """
    for key in sorted(set(table) - set(known)):
        raise InputError(f"{where}unknown key {key!r}")
