"""The tree of a document, written in HTML with native MathML and no script; texts are escaped."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from symderiv.foundation.documents import mathtext
from symderiv.foundation.documents.document import (
    Formula,
    Listing,
    Markup,
    Node,
    Paragraph,
    Part,
    Picture,
    Summary,
    Tabular,
    Verbatim,
)
from symderiv.foundation.documents.mathparse import GREEK
from symderiv.foundation.documents.text_writer import value_text


def fragment(node: Node, level: int = 2) -> str:
    """Return a node as HTML.

    Args:
        node: the node.
        level: the level of its heading, 1 to 6.
    """
    return "\n".join(_elements(node, level)) + "\n"


def html_prose(sentence: str) -> str:
    """Return a sentence, escaped, with inline ``$...$`` formulas as MathML and indices typeset."""
    parts = re.split(r"\$([^$]+)\$", sentence)
    return "".join(
        mathtext.mathml(part) if index % 2 else with_indices(part)
        for index, part in enumerate(parts)
    )


# one letter, then _x, _{…}, ^x, ^(…) or ^{…}
_SUBSCRIPT = re.compile(
    r"(?<![A-Za-z0-9_])([A-Za-zα-ωΑ-Ω])_(?:\{([^}]*)\}|([A-Za-z0-9]+(?!\w)|\+))"
)
# an index of one of these letters ends after one letter, as in σ_J²
_LETTER = re.compile(r"([εησκ])_([A-Za-z])(?![A-Za-z])")
_POWER = re.compile(r"\^(?:\{([^}]*)\}|(\([^)]*\)|[A-Za-z0-9]))")
_POWER_OF_TEN = re.compile(r"×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_RAISED = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
# the same escapes as in templates
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"})


def with_indices(sentence: str) -> str:
    """Return a sentence, escaped, with indices (ε_g), powers and minus signs typeset."""
    plain = str.maketrans(_RAISED, "−0123456789")
    safe = re.sub(r"(?<!\w)-(?=\d)", "−", sentence.translate(_ESCAPED))
    safe = _POWER_OF_TEN.sub(lambda m: f"×10<sup>{m[1].translate(plain)}</sup>", safe)
    safe = _LETTER.sub(r"\1<sub>\2</sub>", safe)
    safe = _SUBSCRIPT.sub(_subscript, safe)
    return _POWER.sub(lambda m: f"<sup>{m[1] or m[2]}</sup>", safe)


def _subscript(match: re.Match[str]) -> str:
    index = match[2] or match[3]
    return f"{match[1]}<sub>{GREEK.get(chr(92) + index, index)}</sub>"


def plain_cell(cell: str) -> str:
    """Return a cell as other programs read it: ``−9.75×10⁻⁴`` becomes -9.75e-4.

    A cell that says that there is no number becomes empty.
    """
    plain = str.maketrans(_RAISED + "−", "-0123456789-")
    read = _POWER_OF_TEN.sub(lambda found: "e" + found[1], cell).translate(plain)
    return "" if read == "—" else read


def csv_uri(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as a CSV file in UTF-8, in a data URI."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return data_uri(buffer.getvalue().encode("utf-8"), "text/csv;charset=utf-8")


def data_uri(content: bytes, kind: str) -> str:
    """Return a data URI that contains a file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _elements(node: Node, level: int) -> Iterator[str]:
    match node:
        case Part():
            yield from _part(node, level)
        case Paragraph():
            label = f'<span class="rule">{html.escape(node.label)}</span> ' if node.label else ""
            kind = ' class="warnings"' if node.tone == "warning" else ""
            yield f"<p{kind}>{label}{html_prose(node.text)}</p>"
        case Formula():
            lines = mathtext.mathml_display(mathtext.display_lines(node.left, node.right))
            yield f'<div class="{"result " if node.label else ""}formula">{lines}</div>'
        case Listing():
            stepwise = any(len(item) > 1 for item in node.items)
            yield '<ol class="steps">' if stepwise else "<ul>"
            for item in node.items:
                yield f"<li>{''.join(each for one in item for each in _elements(one, level))}</li>"
            yield "</ol>" if stepwise else "</ul>"
        case Summary():
            yield from _claims(node) if node.tones else _names_and_values(node)
        case Tabular():
            yield from _table(node, level + 1)
        case Picture():
            yield from _figure(node)
        case Verbatim():
            yield f"<pre><code>{html.escape(node.text)}</code></pre>"


def _part(part: Part, level: int) -> Iterator[str]:
    """Yield a part: the whole page with a header, other parts as sections."""
    title, subtitle = html_prose(part.title), html_prose(part.subtitle).replace("\n", "<br>")
    heading = f"<h{level}>{title}</h{level}>" if title else ""
    below = f'<p class="subtitle">{subtitle}</p>' if subtitle else ""
    if level == 1:
        yield f"<header>\n{heading}\n{below}\n</header>"
        if part.links:
            shown = ((each.key, html_prose(each.name or each.title)) for each in part.parts)
            links = "".join(f'<a href="#{html.escape(key)}">{words}</a>' for key, words in shown)
            yield f"<nav>{links}</nav>"
    else:
        yield f'<section id="{html.escape(part.key)}">' if part.key else "<section>"
        yield from filter(None, (heading, below))
    for node in part.nodes:
        yield from _elements(node, level + 1 if isinstance(node, Part) else level)
    if level > 1:
        yield "</section>"


def _claims(claims: Summary) -> Iterator[str]:
    yield '<ul class="claims">'
    for (label, words), tone in zip(claims.rows, claims.tones, strict=True):
        yield (
            f'<li class="{tone}"><span class="label">{html.escape(label)}</span>'
            f"<span>{html_prose(value_text(words))}</span></li>"
        )
    yield "</ul>"


def _names_and_values(summary: Summary) -> Iterator[str]:
    """Yield a summary as one line of HTML, with the style that notebooks need."""
    title = f"<p><b>{html_prose(summary.title)}</b></p>" if summary.title else ""
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{_value(value)}</td></tr>'
        for name, value in summary.rows
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in summary.notes)
    yield f"<div>{title}<table>{rows}</table>{notes}</div>"


def _value(value: object) -> str:
    if isinstance(value, Markup):
        return value.markup
    return html.escape(value_text(value)).replace("\n", "<br>")


def _table(table: Tabular, level: int) -> Iterator[str]:
    copy = ""
    if table.export:
        rows = [list(table.heads), *([plain_cell(cell) for cell in row] for row in table.rows)]
        name = html.escape(f"{table.title.lower().replace(' ', '-')}.csv")
        copy = f' <a class="copy" href="{csv_uri(rows)}" download="{name}">CSV</a>'
    if table.title:
        yield f"<h{level}>{html_prose(table.title)}{copy}</h{level}>"
    yield '<div class="scroll"><table>'
    yield f"<thead><tr>{''.join(f'<th>{html_prose(h)}</th>' for h in table.heads)}</tr></thead>"
    yield "<tbody>"
    for place, row in enumerate(table.rows):
        kind = ' class="outside"' if place in table.marked else ""
        yield f"<tr{kind}>{''.join(f'<td>{html_prose(cell)}</td>' for cell in row)}</tr>"
    yield "</tbody></table></div>"


def _figure(picture: Picture) -> Iterator[str]:
    uri, caption = data_uri(picture.svg, "image/svg+xml"), html_prose(picture.caption)
    if picture.number:
        name = f"figure-{picture.number}"
        links = [f'<a href="{uri}" download="{name}.svg">SVG</a>']
        if picture.numbers:
            numbers = csv_uri(picture.numbers)
            links.insert(0, f'<a href="{numbers}" download="{name}.csv">numbers (CSV)</a>')
        caption = f"<strong>Figure {picture.number}.</strong> {caption}\n{' · '.join(links)}"
    yield "<figure>"
    yield f'<img src="{uri}" alt="{html.escape(picture.caption)}">'
    yield f"<figcaption>{caption}</figcaption>"
    yield "</figure>"
