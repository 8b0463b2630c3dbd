r"""A displayed equation as in a paper's source, split into single formulas.

Environments, labels, tags, comments, spacing and alignment marks are removed; rows that continue a
formula are joined, rows and ``\text{where}`` that begin another one separate. Removed parts are
replaced by blanks, so that positions in messages are those in the text that was pasted (macros
apart). Nothing is guessed: matrices, cases and unknown commands are left for the parser to refuse.
"""

from __future__ import annotations

import re
from typing import Final

_ENVIRONMENTS: Final = (
    *("equation", "align", "aligned", "alignat", "alignedat", "flalign", "gather", "gathered"),
    *("multline", "multlined", "eqnarray", "split", "displaymath", "math", "subequations"),
    "document",
)

#: Parts of a text that have no meaning in a formula.
_NOTHING: Final = re.compile(
    r"(?<!\\)%[^\n]*"
    r"|\\(?:begin|end)\s*\{(?:" + "|".join(_ENVIRONMENTS) + r")\*?\}(?:\{[0-9]*\}|\[[a-z]*\])?"
    r"|\\(?:label|tag\*?|hspace\*?|vspace\*?|phantom|hphantom|vphantom|cite|footnote|ref|eqref)"
    r"\s*\{[^{}]*\}"
    r"|\\l?eqno\s*(?:\([^()]*\)|\{[^{}]*\})"
    r"|\\(?:nonumber|notag|allowbreak|nobreak|hfill|strut|mathstrut|displaybreak|noindent|left\."
    r"|right\.|middle|mathrel|mathbin|limits|nolimits|displaystyle|textstyle|scriptstyle"
    r"|par|centering|ensuremath|medspace|thickspace|thinspace|negthinspace|enspace|relax)"
    r"(?![A-Za-z])"
    r"|(?<!\\)\\[\[\]()]|\$"
    # punctuation in text commands
    r"|\\(?:text|mbox|mathrm|textrm)\s*\{[\s,.;:]*\}"
)
#: Function names set upright by font commands.
_OPERATOR: Final = re.compile(
    r"\\mathop\s*\{\s*(?:\\(?:mathrm|rm|operatorname|text)\s*)?\{?\s*([A-Za-z]+)\s*\}?\s*\}"
    r"|\{\s*\\(?:rm|sf|it)\s+([A-Za-z]+)\s*\}"
)
#: Signs that are read as an equals sign.
_EQUALS: Final = re.compile(
    r":=|\\coloneqq(?![A-Za-z])|\\equiv(?![A-Za-z])|\\triangleq(?![A-Za-z])|\\doteq(?![A-Za-z])"
    r"|\\(?:stackrel|overset)\s*\{[^{}]*\}\s*\{=\}|\\eqqcolon(?![A-Za-z])"
)
#: Words between formulas.
_BETWEEN: Final = re.compile(
    r"\\(?:text|mbox|mathrm|textrm|intertext)\s*\{[\s,.;:]*(?:where|with|and|for which|in which|"
    r"using|here|where we defined)[\s,.;:]*\}"
)
_ROW: Final = re.compile(r"\\\\\*?(?:\s*\[[^\[\]]*(?:pt|em|ex|mm|cm)\s*\])?|\\newline(?![A-Za-z])")
_WIDE: Final = re.compile(r"[,;.]?\s*\\q?quad(?![A-Za-z])")
#: A comma before the next definition.
_LISTED: Final = re.compile(
    r",(?=(?:[\s~]|\\[,;:! ])*\\?[A-Za-z][A-Za-z0-9]*(?:_(?:\{[^{}]*\}|\w))?\s*=)"
)
_CONTINUES: Final = re.compile(r"\s*(?:[-+*/=)\]}^_]|\\(?:cdot|times|ast|right|over)(?![A-Za-z]))")
_UNFINISHED: Final = re.compile(r"(?:[-+*/=([{^_]|\\(?:cdot|times|ast|left))\s*$")
_TRAILING: Final = re.compile(r"(?:[\s.,;:~]|\\[,;:! ])+$")
_LEADING: Final = re.compile(r"^(?:[\s,;:~]|\\[,;:! ]|\\q?quad(?![A-Za-z]))+")


def formulas(text: str) -> list[str]:
    """Return the formulas of a displayed equation, in order, each in one line."""
    text = _OPERATOR.sub(lambda m: rf"\mathrm{{{m[1] or m[2]}}}", text)
    text = _EQUALS.sub(lambda m: "=".ljust(len(m.group())), text)
    text = _NOTHING.sub(_blank, text)
    text = _outside_braces(text, "&")
    parts: list[str] = []
    for row in _ROW.split(text):
        pieces = [piece for part in _BETWEEN.split(row) for piece in _split(part)]
        for index, piece in enumerate(pieces):
            joined = index == 0 and parts and _belongs(parts[-1], piece)
            if joined:
                parts[-1] += f" {piece}"
            else:
                parts.append(piece)
    trimmed = [_TRAILING.sub("", _LEADING.sub(_blank, part)) for part in parts]
    return [part for part in trimmed if part.strip()]


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _split(text: str) -> list[str]:
    """Return the parts at semicolons, commas between definitions, and wide spaces.

    Wide spaces beside an operator do not split.
    """
    ends = [m.start() for m in _LISTED.finditer(text) if _depth(text[: m.start()]) == 0]
    for end in reversed(ends):
        text = f"{text[:end]};{text[end + 1 :]}"
    parts = re.split(r"(?<!\\);", text)
    rows: list[str] = []
    for part in parts:
        pieces = _WIDE.split(part)
        row = pieces[0]
        for piece in pieces[1:]:
            # the pieces are two formulas, or one and its number, and not factors of a product
            if _belongs(row, piece) and not ("=" in row and "=" in piece):
                row += f" {piece}"
            else:
                rows.append(row)
                row = piece
        rows.append(row)
    return rows


def _belongs(before: str, row: str) -> bool:
    """Return whether a row continues the formula of the row before."""
    before = _TRAILING.sub("", before) if not before.rstrip().endswith((",", ".")) else before
    row = _LEADING.sub("", row)
    if not row.strip() or not before.strip():
        return True
    if _CONTINUES.match(row) or _UNFINISHED.search(before):
        return True
    return _depth(before) > 0


def _depth(text: str) -> int:
    return sum(text.count(c) for c in "({[") - sum(text.count(c) for c in ")}]")


def _outside_braces(text: str, mark: str) -> str:
    """Return the text with a mark outside of braces (alignment) replaced by blanks."""
    depth, out = 0, []
    for place, character in enumerate(text):
        escaped = place > 0 and text[place - 1] == "\\"
        if not escaped:
            depth += (character == "{") - (character == "}")
        out.append(" " if character == mark and not escaped and depth == 0 else character)
    return "".join(out)
