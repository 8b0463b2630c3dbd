"""Breaking long expressions into lines, the way a formatter would.

A printed expression is a small tree of pieces. It stays on one line if it fits; otherwise chains
break before their operators and calls after their commas, inside brackets. Factors and short terms
fill their lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WIDTH = 100
INDENT = 4
# Terms of a sum up to this length may share a line.
SHORT = 44


@dataclass(frozen=True)
class Text:
    """Text that cannot be broken."""

    text: str

    def flat(self) -> str:
        return self.text


@dataclass(frozen=True)
class Chain:
    """Operands, each with its operator before it, e.g. ``("", a), (" + ", b)``."""

    links: tuple[tuple[str, Piece], ...]

    @property
    def is_filled(self) -> bool:
        """True if each line takes as many operands as fit: factors, and terms that are
        all short.
        """
        factors = all(operator.strip() in ("*", "/") for operator, _ in self.links[1:])
        return factors or all(len(operand.flat()) <= SHORT for _, operand in self.links)

    def flat(self) -> str:
        return "".join(operator + piece.flat() for operator, piece in self.links)


@dataclass(frozen=True)
class Bracket:
    """Items in brackets, separated by commas: a call, a tuple, or one parenthesised piece."""

    opening: str
    items: tuple[Piece, ...]
    closing: str = ")"

    def flat(self) -> str:
        return self.opening + ", ".join(item.flat() for item in self.items) + self.closing


Piece = Text | Chain | Bracket


def parenthesised(piece: Piece) -> Bracket:
    """Return the piece in round brackets."""
    return Bracket("(", (piece,))


def render(piece: Piece, indent: int, used: int) -> str:
    """Return the text of a piece that starts in column ``used`` of a line with this ``indent``."""
    flat = piece.flat()
    if used + len(flat) <= WIDTH or isinstance(piece, Text):
        return flat
    if isinstance(piece, Chain) and piece.is_filled:
        return _filled_chain(piece, indent, used)
    if isinstance(piece, Chain):
        lines = []
        for operator, operand in piece.links:
            shown = operator.lstrip()
            lines.append(shown + render(operand, indent, indent + len(shown)))
        return ("\n" + " " * indent).join(lines)
    inner = indent + INDENT
    pad = "\n" + " " * inner
    together = ", ".join(item.flat() for item in piece.items)
    if inner + len(together) <= WIDTH:
        body = together
    elif all(isinstance(item, Text) for item in piece.items):
        body = filled(together + ",", inner).lstrip()
    else:
        last = len(piece.items) > 1
        body = pad.join(render(item, inner, inner) + "," * last for item in piece.items)
    return piece.opening + pad + body + "\n" + " " * indent + piece.closing


def _filled_chain(chain: Chain, indent: int, used: int) -> str:
    """Return operands one after the other, with a new line where the next one does not fit."""
    text, column = "", used
    for operator, operand in chain.links:
        if text and column + len(operator + operand.flat()) > WIDTH:
            text += "\n" + " " * indent
            column, operator = indent, operator.lstrip()
        shown = operator + render(operand, indent, column + len(operator))
        text += shown
        column = len(shown.rpartition("\n")[2]) if "\n" in shown else column + len(shown)
    return text


def statement(head: str, piece: Piece, indent: int) -> str:
    """Return ``head`` followed by the piece as one indented statement, broken if it is too long."""
    used = indent + len(head)
    if isinstance(piece, Chain) and used + len(piece.flat()) > WIDTH:
        piece = parenthesised(piece)
    return " " * indent + head + render(piece, indent, used)


def filled(text: str, indent: int, width: int = WIDTH) -> str:
    """Return the words of a paragraph in indented lines of the given width; brackets stay whole."""
    lines: list[str] = []
    for word in re.split(r"\s+(?![^\[]*\])", text.strip()):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(" " * indent + word)
    return "\n".join(lines)
