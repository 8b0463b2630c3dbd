"""Formulas as native MathML, made by symderiv itself: no script, nothing to load."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from symderiv.foundation.documents import mathtext

_LOG = logging.getLogger(__name__)
_ROWS = re.compile(r"\\\\|\\begin|\\left(?!\\langle)[^|(\[]")

# characters of a line beside the two sidebars
_LINE = 72


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(_shown(mathtext.mathml(node.astext()), node))
    raise nodes.SkipNode


def _display(writer: HTML5Translator, node: nodes.math_block) -> None:
    identifier = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    rows = _rows(node.astext())
    formula = _shown(mathtext.mathml_display(rows), node)
    writer.body.append(f'<div class="formula"{identifier}>{number}<div>{formula}</div></div>\n')
    raise nodes.SkipNode


def _rows(latex: str) -> list[str]:
    """Rows of an align block one by one, else the lines that fit on a page."""
    block = re.fullmatch(
        r"\s*\\begin\{(align|aligned|gather|split)(\*?)\}(.*)\\end\{\1\2\}\s*", latex, re.S
    )
    if block and r"\begin" not in block[3]:
        rows = re.split(r"\\\\(?:\[[^\]]*\])?", block[3])
        texts = (re.sub(r"(?<!\\)&|\\nonumber|\\notag", " ", row).strip() for row in rows)
        return [text for text in texts if text]
    if _ROWS.search(latex):
        return [latex.strip()]
    return mathtext.break_lines(" ".join(latex.split()), _LINE)


def _shown(html: str, node: nodes.Node) -> str:
    if "<code>" in html:
        _LOG.warning("no MathML for the formula %s", node.astext(), location=node)
    return html


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))  # type: ignore[arg-type]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
