"""Find sentences that a reader stumbles over (``make lint``).

Ruff's rule D401 asks for a verb in front of docstrings. What it does not see is listed here: first
words that make a docstring a riddle or a fragment, and turns of phrase that have been misread
before. A list cannot find all bad sentences; it keeps those out that were found once.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
CODE = ("symderiv", "codegen", "ledger", "models", "papers")
PROSE = ("README.md", "CONTRIBUTING.md", "docs/manual")

# A function does something: a docstring that begins so does not say what.
NO_VERB = frozenset(
    [
        "What",
        "Whether",
        "How",
        "Which",
        "Where",
        "When",
        "Of",
        "On",
        "By",
        "As",
        "For",
        "From",
        "In",
        "At",
        "With",
        "Without",
        "Over",
        "Per",
        "About",
        "The",
        "A",
        "An",
        "One",
        "That",
        "Those",
        "It",
        "Its",
        "Is",
        "Are",
        "Does",
        "Not",
        "Nothing",
        "True",
        "False",
        "Always",
    ]
)

# A class, module or property is something: a docstring that begins so does not name it.
NO_NOUN = frozenset(
    [
        "What",
        "Whether",
        "How",
        "Which",
        "When",
        "Where",
        "Of",
        "By",
        "Per",
        "It",
        "Its",
        "Is",
        "Are",
    ]
) | {"Those", "From", "At", "On", "In", "Something"}

# An argument is something: "seed: Of the numbers" leaves out what.
_BARE = re.compile(r"^ +\*{0,2}([A-Za-z]\w+)(?:, \w+)*: (?:[Oo]f|[Oo]n|[Pp]er) ", re.MULTILINE)

# Files whose digests are kept, in compiled code or in the hashes of claims: their nouns wait.
_KEPT = ("integrate/steppers", "compiled_code/compiled.py", "problem/flat_layout.py", "papers/")

# Turns of phrase, and what is meant by them.
TURNS = {
    r"\bdear(er|est)?\b": "slow, expensive",
    r"\bthat is none\b": "name the thing that is missing",
    r"\bthere (?:is|are) that\b": "say who does what",
    r"\bwithout a word\b": "say that there is no message",
    r"\bmake it lie\b": "give a wrong number",
    r"\bone that is there goes on\b": "an existing one is continued",
    r"\bgive it, or\b": "say which argument to give",
    r"\bwhat (?:its|their) steps left\b": "the error of the steps",
    r"\bas it were\b": "say what it is",
    r"\bthe same again\b": "name the thing",
    r"\bin the place of\b": "in place of",
    r"\b(?:file|store|array|study|sweep)s? that (?:is|are) there\b": "existing",
    r"\bnone of this name\b": "nothing has this name",
    r"(?<!there )(?<!and )\bis no (?:argument|covariance|function|key|vector)\b": "is not a",
    r"\b(?:said|told) of (?:it|them|each)\b": "say who says what about it",
}
_TURNS = {re.compile(pattern, re.IGNORECASE): mend for pattern, mend in TURNS.items()}


class Fault(NamedTuple):
    """A sentence to be written anew: where it stands, what is wrong, and what is meant instead."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(TOP)}:{self.line}: {self.text}"


def turns_of(text: str) -> Iterator[tuple[int, str]]:
    """Yield line (from 0) and complaint for each turn of phrase on the list."""
    for row, line in enumerate(text.splitlines()):
        for pattern, mend in _TURNS.items():
            if found := pattern.search(line):
                yield row, f"“{found.group()}” is misread: {mend}"


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def docstring_faults(source: str, *, nouns: bool = True) -> Iterator[tuple[int, str]]:
    """Yield line (from 1) and complaint for docstrings and texts of a module.

    Args:
        source: The text of the module.
        nouns: True asks for nouns in docstrings of classes, modules, properties and arguments too.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for row, complaint in turns_of(node.value):
                yield node.lineno + row, complaint
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if not isinstance(node, kinds) or not (text := ast.get_docstring(node)):
            continue
        acts = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_property(node)
        first, line = text.split(maxsplit=1)[0].rstrip(",:"), node.body[0].lineno
        if first in (NO_VERB if acts else NO_NOUN) and (acts or nouns):
            name = getattr(node, "name", "the module")
            yield line, f"the docstring of {name} begins with “{first}”"
        for argument in _BARE.findall(text) if nouns else ():
            yield line, f"the argument {argument} is described by a fragment"


def faults() -> list[Fault]:
    """Return all faults of code and prose, sorted by place."""
    result = []
    for folder in CODE:
        for path in (TOP / folder).rglob("*.py"):
            if path == Path(__file__).resolve():
                continue
            source = path.read_text(encoding="utf-8")
            kept = any(place in str(path.relative_to(TOP)) for place in _KEPT)
            result += [Fault(path, *fault) for fault in docstring_faults(source, nouns=not kept)]
    for name in PROSE:
        pages = [TOP / name] if name.endswith(".md") else (TOP / name).rglob("*.md")
        for path in pages:
            text = path.read_text(encoding="utf-8")
            result += [Fault(path, row + 1, complaint) for row, complaint in turns_of(text)]
    return sorted(result)


def main() -> None:
    """Print all faults; exit with 1 if there are any."""
    result = faults()
    for fault in result:
        print(fault)
    print(f"{len(result)} sentences to be written anew" if result else "no sentence on the list")
    sys.exit(1 if result else 0)


if __name__ == "__main__":
    main()
