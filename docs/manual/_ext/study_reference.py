"""Every key of the study file, from the tables that check it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import symderiv as sd
from symderiv.foundation.nearest import OTHER_NAMES
from symderiv.keys.key_records import accepted, default_text
from symderiv.keys.study_tables import RULE_KEYS, TABLES
from symderiv.problem.task_table import Task

_HEAD = """# Keys of the study file

Every table and key, with what it accepts and its default, from the tables that check it.
[The study file](../study-file.md) is one with comments. Unknown keys, wrong types and impossible
values are refused with the key's name.

"""

_ELSEWHERE = """## Names that things have elsewhere

Papers and other libraries have names of their own. symderiv offers its word for them when you type
one: `--set lr=0.3` is answered with "did you mean learning_rate?".

"""


def study_tables() -> str:
    """The page."""
    parts = [_HEAD]
    tables = {f"[{name}]": table for name, table in TABLES.items()}
    tables |= {"[[task]]": Task}
    tables |= {f'[data] model = "{m.model_fields["model"].default}"': m for m in _models()}
    for title, table in tables.items():
        lines = [f"## {title}", "", "| key | accepts | default | meaning |", "|---|---|---|---|"]
        parts.append("\n".join([*lines, *_rows(table, table.model_fields)]) + "\n")
    parts.append(
        '## [sweep]\n\nKeys of the other tables, `"data.exponent"`, each with a list of values: one'
        " study per combination.\n"
    )
    return "\n".join([*parts, _other_names()])


def rule_keys() -> str:
    """The table of the keys of learning rules, for the page about them."""
    rows = []
    for name, keys in RULE_KEYS.items():
        records = TABLES[name].RECORDS
        also = {n for n, record in records.items() if record.complement_of in keys}
        rows += _rows(TABLES[name], [n for n in records if n in keys or n in also])
    head = ["| key | accepts | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def _other_names() -> str:
    """The section on names that keys and quantities have elsewhere."""
    by_name: dict[str, list[str]] = {}
    for other, name in OTHER_NAMES.items():
        by_name.setdefault(name, []).append(f"`{other}`")
    rows = [f"| `{name}` | {', '.join(others)} |" for name, others in sorted(by_name.items())]
    return _ELSEWHERE + "\n".join(["| here | elsewhere |", "|---|---|", *rows]) + "\n"


def _models() -> list[Any]:
    classes = (getattr(sd, name) for name in sd.__all__ if name != "__version__")
    inputs = sd.Isotropic.__mro__[1]
    return [c for c in classes if inspect.isclass(c) and issubclass(c, inputs)]


def _rows(table: Any, keys: Iterable[str]) -> list[str]:
    rows = []
    for key in keys:
        field = table.model_fields[key]
        default = "required" if field.is_required() else _code(default_text(field))
        record = table.RECORDS.get(key)
        words = "which input model" if record is None else _escaped(record.words)
        facts = re.sub(r'"[^"]+"', r"`\g<0>`", accepted(field.annotation, field.metadata))
        rows.append(f"| `{key}` | {facts} | {default} | {words} |")
    return rows


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _escaped(words: str) -> str:
    """Nothing in the words is markup but what stands between double backticks."""
    parts = words.split("``")
    parts[::2] = [re.sub(r"([|*_<>])", r"\\\1", part) for part in parts[::2]]
    return "``".join(parts)
