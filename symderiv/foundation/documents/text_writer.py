"""The tree of a document, written in lines of Unicode text for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from symderiv.foundation.documents import mathtext
from symderiv.foundation.documents.document import (
    Formula,
    Listing,
    Node,
    Paragraph,
    Part,
    Picture,
    Summary,
    Tabular,
    Tone,
    Verbatim,
)

#: Pieces of a line with their tones.
Line = list[tuple[str, Tone]]

#: Bounds on the lines and characters of a short form; below, on a line and on a value in it.
MOST_LINES, MOST_CHARACTERS = 10, 1000
_WIDEST, _WORTH = 110, 72

# The least width of a column of words.
_NARROWEST = 8
_GAP = "  "


def text(node: Node, width: int = 88) -> str:
    """Return a node as text in lines of at most ``width`` columns, where they can be broken."""
    return "".join("".join(piece for piece, _ in line) + "\n" for line in lines(node, width))


def lines(node: Node, width: int = 88) -> Iterator[Line]:
    """Yield the lines of a node as pieces with tones."""
    match node:
        case Part():
            yield from _part(node, width, "")
        case Paragraph():
            label = f"[{node.label}] " if node.label else ""
            yield from _plain(_wrapped(f"{label}{text_prose(node.text)}", width), node.tone)
        case Formula():
            if node.label:
                yield [(f"{node.label}:", "")]
            yield from _formula(node, width, "    " if node.label else "  ")
        case Listing():
            yield from _listing(node, width)
        case Summary():
            yield from _summary(node, width)
        case Tabular():
            yield from _tabular(node, width)
        case Picture():
            yield [(node.caption, "")]
        case Verbatim():
            yield from _plain(node.text.removesuffix("\n").split("\n"))


def brief(summary: Summary) -> str:
    """Return a summary in a few short lines."""
    shown = ["".join(piece for piece, _ in line) for line in _summary(summary, 0, most=_WORTH)]
    shown = [_cut(each, _WIDEST) for each in shown]
    if len(shown) > MOST_LINES:
        hidden = len(shown) - MOST_LINES + 1
        shown = [*shown[: MOST_LINES - 1], f"  … {hidden} more: .to_text()"]
    return _cut("\n".join(shown), MOST_CHARACTERS)


def text_prose(sentence: str) -> str:
    """Return a sentence with inline ``$...$`` formulas, as plain Unicode text."""
    return re.sub(r"\$([^$]+)\$", lambda match: mathtext.text_formula(match[1]), sentence)


def value_text(value: object) -> str:
    """Return a value as people read it."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {value_text(item)}" for name, item in value.items())
    return str(value)


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _plain(texts: Iterable[str], tone: Tone = "") -> Iterator[Line]:
    return ([(each, tone)] for each in texts)


def _wrapped(sentence: str, width: int) -> list[str]:
    return textwrap.wrap(sentence, width)


def _part(part: Part, width: int, number: str) -> Iterator[Line]:
    """Yield title and nodes; titles are underlined if they have parts or are numbered."""
    title = f"{number}{text_prose(part.title)}"
    if title:
        yield [(title, "bold")]
    if title and (number or part.parts):
        yield [(("-" if number else "=") * min(len(title), width), "")]
    elif title and not isinstance(part.nodes[0], Summary | Listing):
        yield [("", "")]
    count = 0
    for place, node in enumerate(part.nodes):
        if isinstance(node, Part):
            count += 1
            yield [("", "")]
            yield from _part(node, width, f"{count}. " if title else "")
            continue
        before = part.nodes[place - 1] if place else None
        if before is not None and not isinstance(node, Listing) and _apart(before, node):
            yield [("", "")]
        yield from lines(node, width)


def _apart(before: Node, node: Node) -> bool:
    """Return whether an empty line separates nodes; formulas without words stay together."""
    if isinstance(before, Paragraph) and isinstance(node, Paragraph):
        return not (before.tone and node.tone)
    return not (isinstance(before, Formula) and isinstance(node, Formula) and not node.label)


def _listing(listing: Listing, width: int) -> Iterator[Line]:
    for item in listing.items:
        yield [("", "")]
        for node in item:
            formula = _formula(node, width, "    ") if isinstance(node, Formula) else None
            yield from formula or lines(node, width)


def _formula(formula: Formula, width: int, indent: str) -> Iterator[Line]:
    """Yield a formula in indented lines; a long left side has its own lines."""
    wide = mathtext.text_length(formula.left) > 0.3 * width
    parts = wide and mathtext.text_length(formula.latex) > width - 4
    for latex in (formula.left, f"= {formula.right}") if parts else (formula.latex,):
        yield from _plain(formula_lines(latex, width, indent))


def formula_lines(latex: str, width: int, indent: str = "    ") -> Iterator[str]:
    """Yield LaTeX as indented lines; a term that is still too long is wrapped between factors."""
    broken = mathtext.break_lines(latex, width - 6, mathtext.text_length)
    for index, line in enumerate(broken):
        yield from textwrap.wrap(
            mathtext.text_formula(line),
            width,
            initial_indent=indent if index == 0 else "      ",
            subsequent_indent="        ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _summary(summary: Summary, width: int, most: int | None = None) -> Iterator[Line]:
    """Yield title, then names and values, indented below a title; claims are wrapped.

    Args:
        summary: names and values.
        width: the width of claims.
        most: the most characters of a value, which is then one line.
    """
    indent = "  " if summary.title else ""
    if summary.title:
        yield [(summary.title, "bold")]
    wide = max((len(name) for name, _ in summary.rows), default=0)
    for place, (name, value) in enumerate(summary.rows):
        shown = value_text(value)
        if most is not None:
            shown = _cut(" ".join(shown.split()), most)
        head = f"{indent}{name:<{wide}}{_GAP}"
        if summary.tones:
            first, *rest = _wrapped(shown, max(width - len(head), 20)) or [""]
            yield [(head, summary.tones[place]), (first, "")]
            yield from _plain(" " * len(head) + each for each in rest)
        else:
            yield [(f"{head}{shown}".rstrip(), "")]
    yield from _plain(f"{indent}{note}" for note in summary.notes)


def _tabular(table: Tabular, width: int) -> Iterator[Line]:
    """Yield a table; if it is too wide, yield several, each with the first column."""
    if table.title:
        yield [(table.title, "bold")]
    cells = [list(table.heads), *(list(row) for row in table.rows)]
    sides = [table.sides[min(place, 1)] for place in range(len(table.heads))]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    while "l" in sides[1:] and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=lambda place: widths[place])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    for index, columns in enumerate(_side_by_side(widths, width)):
        if index:
            yield [("", "")]
        for row, texts in enumerate(cells):
            tones: Mapping[str, Tone] = table.tones if row else dict.fromkeys(texts, "bold")
            yield from _row([(texts[n], widths[n], sides[n]) for n in columns], tones)


def _row(cells: Sequence[tuple[str, int, str]], tones: Mapping[str, Tone]) -> Iterator[Line]:
    """Yield the lines of a row, with cells broken to their widths."""
    broken = [textwrap.wrap(cell, wide) or [""] for cell, wide, _ in cells]
    for index in range(max(map(len, broken))):
        line: Line = []
        for part, (cell, wide, side) in zip(broken, cells, strict=True):
            piece = part[index] if index < len(part) else ""
            shown = piece.rjust(wide) if side == "r" else piece.ljust(wide)
            line += [(_GAP, ""), (shown, tones.get(cell, ""))]
        last, tone = line[-1]
        yield [*line[1:-1], (last.rstrip(), tone)]


def _side_by_side(widths: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of the tables that are needed, each with the first column."""
    tables = [[0]]
    for place in range(1, len(widths)):
        wide = sum(widths[n] + len(_GAP) for n in (*tables[-1], place)) - len(_GAP)
        if len(tables[-1]) > 1 and wide > width:
            tables.append([0])
        tables[-1].append(place)
    return tables
