"""TOML: writing tables one level deep and lists of them, and reading single values as typed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from symderiv.foundation.errors import InputError

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: Advice for errors of the TOML reader.
_MENDS: Final = {
    "Invalid value": "write texts in quotation marks and decimals with a point",
    "Expected '='": "write key = value in a line, below its [table]",
    "Cannot overwrite": "the key is there twice, remove one",
    "Cannot declare": "the table is there twice, remove one",
}


def read_toml(text: str) -> dict[str, Any]:
    """Return the tables of a text.

    Raises:
        InputError: it is not TOML; the message has the line and what to do.
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError(f"is not a TOML file: {error}") from None
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        at = re.search(r"at line (\d+)", reason)
        line = f", {short_text(text.splitlines()[int(at[1]) - 1].strip())}" if at else ""
        mend = next((f"; {words}" for begins, words in _MENDS.items() if begins in reason), "")
        raise InputError(f"is not a TOML file: {reason}{line}{mend}") from None


def to_toml(tables: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for title, table in tables.items():
        several = isinstance(table, list)
        for each in table if several else [table]:
            if not each:
                continue
            lines += ([""] if lines else []) + [f"[[{title}]]" if several else f"[{title}]"]
            for key, value in each.items():
                lines.append(f"{_key(key)} = {value_to_toml(value)}")
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else value_to_toml(name)


def value_to_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        escaped = re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m.group()):04x}", escaped)
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(value_to_toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        entries = ", ".join(f"{_key(name)} = {value_to_toml(item)}" for name, item in value.items())
        return f"{{ {entries} }}"
    return repr(value)


def short_text(value: Any) -> str:
    text = value_to_toml(value) if not isinstance(value, Mapping) else "a table"
    return text if len(text) <= 40 else text[:37] + "..."


def typed_value(text: str) -> Any:
    """Return the value of a text in TOML; a text that is not TOML is returned as it is."""
    try:
        return tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
