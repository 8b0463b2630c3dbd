"""The forms in which results are shown: a short text, a table in a notebook, a JSON object.

A result states its content once as a :class:`Summary`, and as a whole as a document; the writers
make texts and tables of them. The module uses the standard library only, so that importing a result
is fast.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symderiv.foundation.documents.document import Node, Summary
from symderiv.foundation.named_arguments import public_methods

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["PrintedResult", "Shown", "Summary", "json_text", "plain", "whole_rows"]

# The columns that a short form has for a value.
_WIDE = 72


class Shown:
    """Base of results; a subclass gives :meth:`_summary` and :meth:`to_dict`."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        public_methods(cls)

    def _summary(self) -> Summary:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that the command of the same question prints with ``--json``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        from symderiv.foundation.documents.text_writer import brief

        return brief(self._summary())

    def _document(self) -> Node:
        """Return the document of the whole result."""
        return self._summary()

    def to_text(self) -> str:
        """Return everything in words, as the command prints it for people."""
        from symderiv.foundation.documents.text_writer import text

        return text(self._document())

    def _repr_html_(self) -> str:
        from symderiv.foundation.documents.html_writer import fragment

        return fragment(self._summary())


class PrintedResult(Shown):
    """A result that is printed in colours if the terminal has some."""

    def print(self, console: Console) -> None:
        """Print to a Rich console what the command prints."""
        from symderiv.foundation.terminal import show_document

        show_document(console, self._document())

    def to_text(self) -> str:
        """Return what :meth:`print` prints, as text of 100 columns."""
        from symderiv.foundation.documents.text_writer import text

        return text(self._document(), 100)


def whole_rows(name: str, listed: str) -> list[tuple[str, object]]:
    """Return rows that show ``a = 1, b = 2`` uncut, even in a short form, which cuts lines."""
    unbroken = listed.replace(" = ", "\xa0=\xa0")
    lines = textwrap.wrap(unbroken, _WIDE, break_long_words=False)
    return [(name if n == 0 else "", line.replace("\xa0", " ")) for n, line in enumerate(lines)]


def json_text(value: Mapping[str, Any]) -> str:
    """Return one JSON object on one line; infinities and NaN have no JSON form and become null."""
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def plain(value: Any, *, finite: bool = True) -> Any:
    """Return dictionaries, lists, texts and numbers in place of arrays and scalars.

    Args:
        value: The value that is converted.
        finite: Put None in place of infinities and NaN, which have no JSON form.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item, finite=finite) for key, item in value.items()}
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(item, finite=finite) for item in value]
    if finite and isinstance(value, float) and not math.isfinite(value):
        return None
    return value
