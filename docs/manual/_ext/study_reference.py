"""Every key of the study file, from the tables that check it."""

from __future__ import annotations

import inspect
import re
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import symderiv as sd
from symderiv.dynamics.studies.study import Study
from symderiv.dynamics.studies.study_tables import Task

_HEAD = """# Keys of the study file

Every table and key, with what it accepts and its default, from the tables that check it.
[The study file](../study-file.md) is one with comments. Unknown keys, wrong types and impossible
values are refused with the key's name.

"""

# what no argument of Python's interface says
_OWN = {
    "model": "which input model",
    "file": "a file beside the study",
    "until": "α at which the next task begins; 0 for a task that is only named in a mixture",
    "teachers": "M; in a task the numbers, from 0, of those whose sum is taught",
    "head": 'output weights: a number, or "shared" for the first; its own when left out',
    "mixture": "probability of each task, drawn per example",
    "values": "times at which results are wanted, instead of end, points and spacing",
}


def study_tables() -> str:
    """The page."""
    said = _arguments(sd.Problem) | _arguments(sd.Problem.solve) | _arguments(sd.Problem.simulate)
    parts = [_HEAD]
    for name, field in Study.model_fields.items():
        if name in ("data", "sweep"):
            continue
        table = Task if name == "task" else field.annotation
        title = "[[task]]" if name == "task" else f"[{name}]"
        parts.append(_table(title, table, said | _OWN if name == "task" else _OWN | said))
    for model in _models():
        title = f'[data] model = "{model.model_fields["model"].default}"'
        parts.append(_table(title, model, _OWN | _arguments(model)))
    parts.append(
        '## [sweep]\n\nKeys of the other tables, `"data.exponent"`, each with a list of values: one'
        " study per combination.\n"
    )
    return "\n".join(parts)


def _models() -> list[Any]:
    classes = (getattr(sd, name) for name in sd.__all__ if name != "__version__")
    inputs = sd.Isotropic.__mro__[1]
    return [c for c in classes if inspect.isclass(c) and issubclass(c, inputs)]


def _table(title: str, table: Any, said: dict[str, str]) -> str:
    lines = [f"## {title}", "", "| key | accepts | default | meaning |", "|---|---|---|---|"]
    for key, field in table.model_fields.items():
        default = "required" if field.is_required() else _default(field.default)
        accepts = _accepts(field.annotation, field.metadata)
        words = said.get(key, "").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
        lines.append(f"| `{key}` | {accepts} | {default} | {words} |")
    return "\n".join(lines) + "\n"


def _default(value: Any) -> str:
    return "" if value is None else f"`{value!r}`".replace("True", "true").replace("False", "false")


_WORDS = {int: "integer", float: "number", str: "text", bool: "true or false"}


def _accepts(annotation: Any, metadata: Any = ()) -> str:
    if annotation in _WORDS:
        return _WORDS[annotation] + _range(metadata)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _accepts(inner[0], inner[1:])
    if origin is Literal:
        return ", ".join(f'`"{value}"`' for value in inner)
    if origin in (Union, types.UnionType):
        each = (_accepts(a, metadata) for a in inner if a is not type(None))
        return " or ".join(dict.fromkeys(each))
    if origin is list:
        return f"list of: {_accepts(inner[0])}"
    if origin is dict:
        return "table"
    return "arrays" if getattr(annotation, "__name__", "") == "Given" else "text"


def _range(metadata: Any) -> str:
    bounds = []
    for each in (m for item in metadata for m in (item, *getattr(item, "metadata", ()))):
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
            limit = getattr(each, name, None)
            if limit is not None:
                bounds.append(f"{sign} {limit:g}" if abs(limit) < 1e12 else f"{sign} 2¹²⁸")
    return f" {', '.join(dict.fromkeys(bounds))}" if bounds else ""


def _arguments(found: Any) -> dict[str, str]:
    """What the section Args of a docstring says of each argument."""
    text = inspect.getdoc(found) or ""
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", text + "\n", re.M)
    said: dict[str, str] = {}
    for match in re.finditer(
        r"^    (\S[^:\n]*): (.*(?:\n     +.*)*)", section[1] if section else "", re.M
    ):
        words = " ".join(re.sub(r":\w+:`~?[\w.]*?(\w+)`", r"`\1`", match[2]).split())
        said |= dict.fromkeys(match[1].split(", "), words)
    return said
