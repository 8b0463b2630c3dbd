r"""LaTeX formulas as terminal text and as MathML, and where a long formula may break.

Only the LaTeX that SymPy and this package write is understood; anything else is passed on as it
stands. The formulas come from our own derivations, but names inside them may come from the user,
so everything that becomes HTML leaves through one XML serialiser and is escaped there.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from symderiv.foundation.documents import mathparse

LINE_LENGTH = 88
"""Visible characters of a displayed formula that fit on a page of text width 160 mm."""


def text_formula(latex: str) -> str:
    """Return the formula in Unicode characters on one line, for reading in a terminal."""
    text = mathparse.to_unicode(latex)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"(?<=[(\[∂⟨]) | (?=[)\]⟩,])", "", text)


def text_length(latex: str) -> int:
    """Return the number of characters of :func:`text_formula`."""
    return len(text_formula(latex))


def visible_length(latex: str) -> int:
    """Return the approximate width of the typeset formula (a fraction counts its wider half)."""
    return mathparse.width(latex)


def break_lines(
    latex: str, length: int = LINE_LENGTH, measure: Callable[[str], int] = visible_length
) -> list[str]:
    r"""Return the formula cut before ``=``, ``+``, ``-`` into lines of about ``length`` characters.

    Braces, matrices and roots are never cut. A bracketed sum or a numerator that is too long for
    one line is cut too, its brackets becoming brackets of a fixed size.
    """
    latex = latex.strip()
    if measure(latex) <= length or "\\begin{" in latex:
        return [latex]
    lines: list[str] = []
    for equation in mathparse.equations(latex):
        short = measure(equation) <= length
        pieces = [equation] if short else _short_terms(equation, length, measure, 4)
        for index, piece in enumerate(pieces):
            gap = r"\quad " if index == 0 else ""
            joined = f"{lines[-1]} {gap}{piece}" if lines else piece
            if lines and measure(joined) <= length and (index or short):
                lines[-1] = joined
            else:
                lines.append(piece)
    return lines


def display_lines(left: str, right: str) -> list[str]:
    """Return an equation in lines that fit on a page; a long left side has its own lines."""
    whole = f"{left} = {right}" if left else right
    wide = visible_length(left) > 0.3 * LINE_LENGTH
    if left and wide and visible_length(whole) > LINE_LENGTH:
        return [*break_lines(left), *break_lines(f"= {right}")]
    return break_lines(whole)


def _short_terms(
    latex: str, length: int, measure: Callable[[str], int], levels: int
) -> Iterator[str]:
    for piece in mathparse.top_level_terms(latex):
        opened = mathparse.open_brackets(mathparse.split_fractions(piece, length))
        if levels == 0 or measure(piece) <= length or opened == piece:
            yield piece
        else:
            yield from _short_terms(opened, length, measure, levels - 1)


# --- MathML -------------------------------------------------------------------------------------


def mathml(latex: str) -> str:
    """Return the inline formula as a ``<math>`` element."""
    return _mathml(latex, False)


def mathml_display(lines: Sequence[str]) -> str:
    """Return the lines of a displayed formula, a ``<math displaystyle="true">`` element each."""
    widest = max(map(visible_length, lines), default=0)
    style = "" if widest <= 1.25 * LINE_LENGTH else _shrink(widest)
    return "".join(
        f'<div class="line{" continued" if index else ""}"{style}>{_mathml(line, True)}</div>'
        for index, line in enumerate(lines)
    )


def _shrink(wide: int) -> str:
    """Return a smaller font size for a line that cannot be broken and would not fit on paper."""
    percent = max(60, round(100 * 1.25 * LINE_LENGTH / wide))
    return f' style="font-size:{percent}%"'


@lru_cache(maxsize=4096)
def _mathml(latex: str, display: bool) -> str:
    from xml.etree import ElementTree

    from latex2mathml.converter import convert_to_element

    mode = "block" if display else "inline"
    try:
        root = convert_to_element(_for_mathml(latex), display=mode)
    except Exception:
        # The converter's exceptions have no common base class. A formula that it cannot convert is
        # shown as LaTeX.
        return f"<code>{html.escape(latex)}</code>"
    # Browsers centre a block formula; an inline one in display style obeys the page's style.
    root.attrib.pop("display", None)
    if display:
        root.set("displaystyle", "true")
    _tidy(root)
    return ElementTree.tostring(root, encoding="unicode")


_FENCE = 'mo stretchy="true" fence="true"'
_DEFAULTS: Iterable[tuple[re.Pattern[str], str]] = (
    (re.compile(r' xmlns="http://www\.w3\.org/1998/Math/MathML"'), ""),
    (re.compile(r"<mrow>(<m[in](?: [^>]*)?>[^<]*</m[in]>)</mrow>"), r"\1"),
    (re.compile(rf'<mrow><{_FENCE} form="prefix">([(\[{{])'), r"<mrow><mo>\1"),
    (re.compile(rf'<{_FENCE} form="postfix">([)\]}}])</mo></mrow>'), r"<mo>\1</mo></mrow>"),
)


def without_defaults(fragment: str) -> str:
    """Return HTML with the same formulas in fewer characters, without what browsers assume anyway.

    In HTML the namespace is known, a row of one letter or number means the same as the letter or
    number alone, and brackets at the ends of a row are stretchy fences.
    """
    for pattern, replacement in _DEFAULTS:
        fragment = pattern.sub(replacement, fragment)
    return fragment


_REWRITES: Iterable[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\\begin\{(?:aligned|align|split|gathered)\}"), r"\\begin{align*}"),
    (re.compile(r"\\end\{(?:aligned|align|split|gathered)\}"), r"\\end{align*}"),
    (re.compile(r"\\mathrm\{([A-Za-z]{2,})\}"), r"\\operatorname{\1}"),
    (re.compile(r"\\(?:text|mathrm|operatorname)\{\}"), ""),
    (re.compile(r"\\operatorname\*"), r"\\operatorname"),
    (re.compile(r"\\arg\b"), r"\\operatorname{arg}"),
    (re.compile(r"\\lvert\b"), r"\\left|"),
    (re.compile(r"\\rvert\b"), r"\\right|"),
    (re.compile(r"\\(?:displaystyle|nonumber|notag|limits)\b"), ""),
    (re.compile(r"\\(?:d|t)frac\b"), r"\\frac"),
)


def _for_mathml(latex: str) -> str:
    for pattern, replacement in _REWRITES:
        latex = pattern.sub(replacement, latex)
    return latex


_ASCII_ENTITY = re.compile(r"&#x000([0-9A-Fa-f]{2});")
_ANGLES = {"⟨": "prefix", "⟩": "postfix"}
# delimiters of a fixed size that the converter leaves as they are written
_WRITTEN = {r"\langle": "⟨", r"\rangle": "⟩", r"\{": "{", r"\}": "}"}


def _tidy(root: Any) -> None:
    """Repair what browsers show badly in the converter's element tree, in place.

    The converter leaves character references as text, writes an upright single letter as a
    reference to an ASCII letter, operator names as ``mo`` (which puts relation spacing around
    them), and angle brackets as identifiers; MathML Core has no ``columnalign``.
    """
    for element in root.iter():
        text = element.text or ""
        if element.tag == "mi" and _ASCII_ENTITY.fullmatch(text):
            element.set("mathvariant", "normal")
        if element.text:
            element.text = _WRITTEN.get(text, html.unescape(text))
        if element.tail:
            element.tail = html.unescape(element.tail)
        text = element.text or ""
        variant = element.get("mathvariant", "")
        if variant.startswith("bold") and len(text) == 1:
            element.text = _bold(text, italic=variant == "bold-italic")
            del element.attrib["mathvariant"]
        if element.tag == "mi" and text in _ANGLES:
            element.tag = "mo"
            element.set("form", _ANGLES[text])
            element.set("stretchy", "false")
        elif element.tag == "mo" and len(text) > 1 and text.isalpha():
            element.tag = "mi"
        if element.tag == "mi" and len(text) == 1 and "Α" <= text <= "Ω":
            element.set("mathvariant", "normal")
        elif element.tag == "mo" and text == "/":
            element.set("lspace", "0")
            element.set("rspace", "0")
        align = element.attrib.pop("columnalign", None)
        if align:
            element.set("style", f"text-align:{align}")
        if element.get("width") == "negativethinmathspace":
            element.set("width", "-0.167em")
    for element in list(root.iter()):
        _space_function_names(element)
        _mark_signs(element)
        if element.tag == "msub" and element[0].text in ("lim", "max", "min"):
            element.tag = "munder"


def _bold(letter: str, *, italic: bool) -> str:
    """Return the bold form of a letter as a character; browsers ignore ``mathvariant="bold"``."""
    starts = {"A": (0x1D400, 0x1D468), "a": (0x1D41A, 0x1D482), "0": (0x1D7CE, 0x1D7CE)}
    starts |= {"Α": (0x1D6A8, 0x1D71C), "α": (0x1D6C2, 0x1D736)}
    for first, (upright, slanted) in starts.items():
        offset = ord(letter) - ord(first)
        if 0 <= offset < (10 if first == "0" else 26):
            return chr((slanted if italic else upright) + offset)
    return letter


def _space_function_names(parent: Any) -> None:
    """Put thin spaces between names of several letters and other factors, as TeX does."""
    children = list(parent)
    if parent.tag not in ("math", "mrow", "mtd", "mstyle"):
        return
    for index in range(len(children) - 1, 0, -1):
        before, after = children[index - 1], children[index]
        follows = _is_name(after) and before.tag not in ("mo", "mspace")
        if follows or (_is_name(before) and after.tag not in ("mo", "mspace", "mrow")):
            parent.insert(index, parent.makeelement("mspace", {"width": "0.167em"}))


def _mark_signs(parent: Any) -> None:
    """Mark signs after a relation, a comma or an opening bracket as prefixes, not operations."""
    children = list(parent)
    for before, sign in itertools.pairwise(children):
        opens = before.get("form") == "prefix" or (before.text or "") in _BEFORE_A_SIGN
        if sign.tag == "mo" and sign.text in ("−", "+") and before.tag == "mo" and opens:
            sign.set("form", "prefix")


_BEFORE_A_SIGN = frozenset("=<>≤≥≈∝→(,[+−")


def _is_name(element: Any) -> bool:
    if element.tag in ("msup", "msub", "msubsup") and len(element):
        return _is_name(element[0])
    return element.tag == "mi" and len(element.text or "") > 1
