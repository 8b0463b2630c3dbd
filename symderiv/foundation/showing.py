"""How results show themselves: a short text, a table in a notebook, one JSON object.

A result says what there is to see once, as a :class:`Summary`; texts and tables are made from it
here. Standard library only, so that importing a result costs nothing.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["MOST_CHARACTERS", "MOST_LINES", "Markup", "Shown", "Summary", "json_text", "plain"]

#: Bounds on every ``repr``.
MOST_LINES, MOST_CHARACTERS = 10, 1000

# What of a value still is one word among others.
_WORTH = 72


class Markup(str):
    """A text with a typeset form for notebooks: MathML or other HTML, put in as it is."""

    markup: str

    def __new__(cls, text: str, markup: str) -> Markup:
        made = super().__new__(cls, text)
        made.markup = markup
        return made

    def __reduce__(self) -> tuple[type[Markup], tuple[str, str]]:
        return Markup, (str(self), self.markup)


@dataclass(frozen=True)
class Summary:
    """What a person would ask first.

    Args:
        title: what the result is, in a few words.
        rows: names and values, the most asked for first; values are texts, numbers or arrays.
        notes: whole sentences, such as warnings.
    """

    title: str
    rows: Sequence[tuple[str, object]] = ()
    notes: Sequence[str] = ()


class Shown:
    """Base of results; a subclass gives :meth:`_summary` and :meth:`to_dict`."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that the command of the same question prints with ``--json``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        lines = [_cut(line, 110) for line in _lines(self._summary())]
        if len(lines) > MOST_LINES:
            hidden = len(lines) - MOST_LINES + 1
            lines = [*lines[: MOST_LINES - 1], f"  … {hidden} more: .to_text()"]
        text = "\n".join(lines)
        return _cut(text, MOST_CHARACTERS)

    def to_text(self) -> str:
        """Everything in words, as the command prints it for people."""
        return "\n".join(_lines(self._summary(), whole=True)) + "\n"

    def _repr_html_(self) -> str:
        summary = self._summary()
        rows = "".join(
            f'<tr><th style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{_cell(value)}</td></tr>'
            for name, value in summary.rows
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in summary.notes)
        return f"<div><p><b>{html.escape(summary.title)}</b></p><table>{rows}</table>{notes}</div>"


def _lines(summary: Summary, *, whole: bool = False) -> Iterator[str]:
    yield summary.title
    width = max((len(name) for name, _ in summary.rows), default=0)
    for name, value in summary.rows:
        text = _text(value) if whole else _cut(" ".join(_text(value).split()), _WORTH)
        yield f"  {name:<{width}}  {text}".rstrip()
    yield from (f"  {note}" for note in summary.notes)


def _cell(value: object) -> str:
    if isinstance(value, Markup):
        return value.markup
    return html.escape(_text(value)).replace("\n", "<br>")


def _text(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
        if isinstance(value, float):
            return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(item) for item in value)}]"
    return str(value)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def json_text(value: Mapping[str, Any]) -> str:
    """One JSON object on one line; infinities and NaN have no JSON form and become null."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """Dictionaries, lists, texts and finite numbers, from whatever has arrays and scalars in it."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
