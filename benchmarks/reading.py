"""Draw one in five of the sentences that people read, for a reader to mark.

``python -m benchmarks.reading SHEET.txt --seed 1`` gathers the sentences of README, manual, help,
messages, docstrings and developers' notes, draws one in five of each room, and writes them to a
sheet with their places. A reader puts ``x`` between the brackets of each sentence that is unclear,
a fragment, or wrong English; ``python -m benchmarks.reading SHEET.txt --count`` counts the marks.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

import symderiv

TOP = Path(__file__).resolve().parent.parent
MANUAL = TOP / "docs" / "manual"
NOTES = ("CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md", "docs/notes/*.md")
HELP = ("option", "argument", "Option", "Argument", "Key")  # calls with texts
MESSAGES = re.compile(r"(Error|NotClosed|Warning|_refusal|warn|notice)$")
ENDS = re.compile(r"(?<=[.!?])[)”\"]?\s+(?=[A-Z`“\[(*{])")
SECTIONS = re.compile(r"\n *(?:Args|Returns|Raises|Attributes|Yields|Source|Example|Examples):")
CODE = re.compile(r"^(`{3,}|\${2})(.*?)^\1", re.MULTILINE | re.DOTALL)

Place = tuple[str, str]  # where the sentence stands, and the sentence


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of running text that have at least three words."""
    for sentence in ENDS.split(" ".join(text.split())):
        if len(re.findall(r"[A-Za-z]{2,}", sentence)) >= 3:
            yield sentence


def of_markdown(path: Path) -> Iterator[Place]:
    """Yield the sentences of a page, without its code blocks and directives."""
    text = re.sub(r"\A---\n.*?\n---\n", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*#|:]|\d+\.) )", CODE.sub("", text)):
        for part in block.split("|") if block.lstrip().startswith("|") else [block]:
            for sentence in sentences(part.strip().lstrip("#-*: ")):
                yield str(path.relative_to(TOP)), sentence


def _literal(node: ast.expr) -> str:
    """Return the text of a string, with the values of an f-string named in braces."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return _literal(node.left) + _literal(node.right)
    return f"{{{ast.unparse(node.value)}}}" if isinstance(node, ast.FormattedValue) else ""


def _docstring(node: ast.AST) -> str:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    text = ast.get_docstring(node) if isinstance(node, kinds) else None
    return re.sub(r"\n +(?=\*?\w+: )", ".\n ", SECTIONS.sub(". ", text or ""))


def of_module(path: Path) -> Iterator[tuple[str, Place]]:
    """Yield room and sentence for each docstring, help text and message of a module."""
    name = str(path.relative_to(TOP))
    public = {getattr(getattr(symderiv, call), "__name__", "") for call in symderiv.__all__}
    within: set[ast.AST] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if getattr(node, "name", None) in public or node in within:
            within |= {node, *getattr(node, "body", ())}
        room = "public calls" if node in within else "docstrings"
        texts = [("help" if "/cli/" in name else room, _docstring(node))]
        if isinstance(node, ast.Call):
            call = ast.unparse(node.func).rsplit(".", 1)[-1]
            room = "help" if call in HELP else "messages" if MESSAGES.search(call) else ""
            given = [*node.args, *(pair.value for pair in node.keywords)] if room else []
            texts += [(room, _literal(text)) for text in given]
        for room, text in texts:
            for sentence in sentences(text):
                yield room, (f"{name}:{getattr(node, 'lineno', 1)}", sentence)


def rooms() -> dict[str, list[Place]]:
    """Return all sentences by the room they stand in."""
    found: dict[str, list[Place]] = {"readme": list(of_markdown(TOP / "README.md"))}
    for page in sorted(MANUAL.rglob("*.md")):
        folder = page.relative_to(MANUAL).parts[:-1]
        found.setdefault("/".join(("manual", *folder[:1])), []).extend(of_markdown(page))
    for page in (page for pattern in NOTES for page in sorted(TOP.glob(pattern))):
        found.setdefault("notes", []).extend(of_markdown(page))
    for module in sorted((TOP / "symderiv").rglob("*.py")):
        for room, place in of_module(module):
            found.setdefault(room, []).append(place)
    return found


def main() -> None:
    """Draw a sheet, or count the marks of one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sheet", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--count", action="store_true", help="count the marks of a sheet")
    given = parser.parse_args()
    if given.count:
        lines = [row for row in given.sheet.read_text("utf-8").splitlines() if row[:1] == "["]
        print(f"{sum(row[:3] == '[x]' for row in lines)} of {len(lines)} sentences flagged")
        return
    chance, rows = random.Random(given.seed), []
    for room, places in sorted(rooms().items()):
        drawn = chance.sample(places, -(-len(places) // 5))
        print(f"{room:18} {len(drawn):5} of {len(places):5} sentences")
        rows += ["", f"# {room}", *(f"[ ] {place}  {text}" for place, text in sorted(drawn))]
    given.sheet.write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
