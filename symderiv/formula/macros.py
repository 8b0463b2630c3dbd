r"""LaTeX macros as people define them in their papers: read, and put in, within bounds.

``\newcommand{\cov}[1]{C_{#1}}``, ``\renewcommand``, ``\providecommand``, ``\def\erf{...}``,
``\DeclareMathOperator{\erf}{erf}``, and the short form of the command line, ``\erf=...``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from symderiv.formula.reader import quoted
from symderiv.foundation.errors import FormulaError

MAX_MACROS: Final = 100
MAX_EXPANSIONS: Final = 1000
MAX_EXPANDED: Final = 8000

_BEGIN: Final = re.compile(
    r"\\(?P<how>(?:re)?newcommand|providecommand|DeclareMathOperator|def)(?P<star>\*?)\s*"
    r"(?:\{\s*(?P<braced>\\[A-Za-z]+)\s*\}|(?P<plain>\\[A-Za-z]+))"
    r"\s*(?:\[(?P<count>[0-9])\])?"
)
_COMMAND: Final = re.compile(r"\\[A-Za-z]+")


@dataclass(frozen=True)
class Macro:
    r"""A LaTeX command and the text that replaces it.

    Args:
        name: With its backslash, ``\erf``.
        arguments: The number of arguments.
        meaning: LaTeX, with ``#1``, ``#2``, ... for the arguments.
    """

    name: str
    arguments: int
    meaning: str


def read_macro(text: str) -> Macro:
    r"""Return a macro from ``\name=meaning``, or from any of the commands that define one.

    Raises:
        FormulaError: It is none of these.
    """
    rest, macros = taken_out(text)
    if len(macros) == 1 and not rest.strip():
        return macros[0]
    name, sign, meaning = text.partition("=")
    name = name.strip()
    if not macros and sign and _COMMAND.fullmatch(name) and meaning.strip():
        count = max((int(n) for n in re.findall(r"#([1-9])", meaning)), default=0)
        return Macro(name, count, meaning.strip())
    raise FormulaError(
        f"{quoted(text)} is not a macro; write it as \\erf=\\operatorname{{erf}} or as "
        r"\newcommand{\erf}{...}"
    )


def taken_out(text: str) -> tuple[str, list[Macro]]:
    """Return the text with definitions of macros replaced by blanks, and the macros."""
    macros: list[Macro] = []
    position = 0
    while match := _BEGIN.search(text, position):
        start = match.end()
        while start < len(text) and text[start].isspace():
            start += 1
        name = match["braced"] or match["plain"]
        meaning, end = braced(text, start, name)
        if match["how"] == "DeclareMathOperator":
            meaning = rf"\operatorname{{{meaning}}}"
        macros.append(Macro(name, int(match["count"] or 0), meaning))
        text = text[: match.start()] + " " * (end - match.start()) + text[end:]
        position = end
    return text, macros


def braced(text: str, start: int, owner: str) -> tuple[str, int]:
    """Return the text between the brace at a place and its closing one, and the place behind it."""
    if start >= len(text) or text[start] != "{":
        raise FormulaError(f"an argument in braces is missing after {quoted(owner)}")
    depth = 0
    for place in range(start, len(text)):
        escaped = place > 0 and text[place - 1] == "\\"
        if text[place] == "{" and not escaped:
            depth += 1
        elif text[place] == "}" and not escaped:
            depth -= 1
            if not depth:
                return text[start + 1 : place], place + 1
    raise FormulaError(f"a brace is not closed after {quoted(owner)}")


def expanded_macros(text: str, macros: Iterable[Macro]) -> str:
    """Return the text with all macros expanded, also those that other macros contain.

    Raises:
        FormulaError: A macro stands for itself, has too few arguments, or the text becomes too
            long.
    """
    known = {macro.name: macro for macro in macros}
    if len(known) > MAX_MACROS:
        raise FormulaError(f"there are {len(known)} macros, more than {MAX_MACROS}")
    count = position = 0
    while match := _COMMAND.search(text, position):
        macro = known.get(match.group())
        if macro is None:
            position = match.end()
            continue
        count += 1
        meaning, end = _put_in(text, match.end(), macro)
        # blanks keep apart the names before and after the macro
        text = f"{text[: match.start()]} {meaning} {text[end:]}"
        position = match.start()
        if count > MAX_EXPANSIONS or len(text) > MAX_EXPANDED:
            raise FormulaError(
                f"with macros put in, the formula is longer than {MAX_EXPANDED} characters; does "
                f"{quoted(macro.name)} stand for itself?"
            )
    return text


def _put_in(text: str, start: int, macro: Macro) -> tuple[str, int]:
    meaning = macro.meaning
    for number in range(1, macro.arguments + 1):
        while start < len(text) and text[start].isspace():
            start += 1
        if start < len(text) and text[start] == "{":
            argument, start = braced(text, start, macro.name)
        else:
            argument, start = text[start : start + 1], start + 1
        if not argument:
            raise FormulaError(f"{quoted(macro.name)} takes {macro.arguments} arguments")
        meaning = meaning.replace(f"#{number}", argument)
    return meaning, start
