r"""The tree of a document, written in LaTeX: articles, and fragments for papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from symderiv.foundation.documents import mathtext
from symderiv.foundation.documents.document import Formula, Listing, Node, Paragraph, Part
from symderiv.foundation.documents.mathparse import GREEK

_PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[a4paper,margin=25mm]{geometry}
\usepackage{amsmath,amssymb}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
"""

_SPECIAL = {
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "→": r"$\to$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≠": r"$\ne$",
    "∞": r"$\infty$",
    "−": r"$-$",
    "×": r"$\times$",
    "√": r"$\surd$",
    "²": r"$^2$",
    **{letter: f"${name}$" for name, letter in GREEK.items()},
}


def article(part: Part) -> str:
    """Return a complete article that needs only amsmath and amssymb."""
    body = [r"\begin{document}", *_lines(part, "section"), r"\end{document}"]
    return "\n".join([_PREAMBLE, *body]) + "\n"


def align(
    equations: Sequence[tuple[str, str, str | None]],
) -> str:
    r"""Return an ``align`` block for a paper, which needs amsmath only.

    Args:
        equations: left and right sides, each with the text behind it: a ``\label``, or nothing;
            None for an equation without a number.
    """
    unnumbered = r" \nonumber"
    rows = []
    for left, right, mark in equations:
        first, *rest = mathtext.break_lines(right)
        rows.append(rf"{left} &= {first}{unnumbered if mark is None else mark}")
        # continued lines carry no number
        rows += [rf"&\quad {line}{unnumbered}" for line in rest]
    body = " \\\\\n  ".join(rows)
    return f"\\begin{{align}}\n  {body}\n\\end{{align}}\n"


def latex_prose(sentence: str) -> str:
    """Return a sentence with inline ``$...$`` formulas and escaped words."""
    parts = re.split(r"\$([^$]+)\$", sentence)
    return "".join(
        f"${part}$" if index % 2 else "".join(_SPECIAL.get(c, c) for c in part)
        for index, part in enumerate(parts)
    )


def _lines(node: Node, heading: str) -> Iterator[str]:
    match node:
        case Part():
            yield rf"\{heading}*{{{latex_prose(node.title)}}}"
            for each in node.nodes:
                yield from _lines(each, f"sub{heading}")
        case Listing():
            for item in node.items:
                for each in item:
                    yield from _lines(each, heading)
        case Paragraph():
            label = rf"\textbf{{{latex_prose(node.label)}.}} " if node.label else ""
            yield label + latex_prose(node.text)
        case Formula():
            if node.label:
                yield rf"\textbf{{{node.label}.}}"
            yield _display(mathtext.display_lines(node.left, node.right))
        case _:
            raise TypeError(f"the LaTeX writer knows no {type(node).__name__}")


def _display(lines: Sequence[str]) -> str:
    """Return the lines of one formula as a displayed formula (amsmath)."""
    if len(lines) == 1:
        return f"\\[\n{lines[0]}\n\\]"
    first, *rest = lines
    # multline cannot break across pages, align* can.
    body = " \\\\\n".join([f"& {first}", *(f"& \\quad {line}" for line in rest)])
    return f"\\begin{{align*}}\n{body}\n\\end{{align*}}"


def starred(text: str) -> str:
    """Return an ``align`` block without numbers, as notebooks typeset it."""
    return text.replace("{align}", "{align*}").replace(r" \nonumber", "")
