"""Draw one in five of the sentences that people read, for a reader to mark.

``python -m benchmarks.reading SHEET.txt --seed 1`` gathers the sentences of README, manual, help,
messages, docstrings and developers' notes, draws one in five of each room, and writes them to a
sheet with their places. A reader puts ``x`` between the brackets of each sentence that is unclear,
a fragment, or wrong English. ``python -m benchmarks.reading SHEET.txt --keep 2026-01-31`` adds the
marks to ``reading_marks.csv``, and ``python -m benchmarks.reading`` prints the rate of each draw.
"""

from __future__ import annotations

import argparse
import ast
import csv
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import symderiv

TOP = Path(__file__).resolve().parent.parent
MANUAL = TOP / "docs" / "manual"
NOTES = ("CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md", "docs/notes/*.md")
HELP = ("option", "argument", "Option", "Argument", "Key")  # calls with texts
MESSAGES = re.compile(r"(Error|NotClosed|Warning|_refusal|warn|notice)$")
ENDS = re.compile(r"(?<=[.!?])[)”\"]?\s+(?=[A-Z`“\[(*{])")
SECTIONS = re.compile(r"\n *(?:Args|Returns|Raises|Attributes|Yields|Source|Example|Examples):")
CODE = re.compile(r"^(`{3,}|\${2})(.*?)^\1", re.MULTILINE | re.DOTALL)

MARKS = Path(__file__).with_name("reading_marks.csv")
GOAL = ("help", "messages", "readme", "manual/tutorials")  # at most 1 in 50 of these is flagged

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
    for package in ("symderiv", "ledger/symderiv_ledger", "models/symderiv_models"):
        for module in sorted((TOP / package).rglob("*.py")):
            for room, place in of_module(module):
                found.setdefault(room, []).append(place)
    return found


class Draw(NamedTuple):
    """The marks of a reader on the sentences of one room, as a row of ``MARKS``."""

    date: str
    seed: str
    room: str
    drawn: int
    flagged: int
    sentences: str  # those that were flagged


def draw(sheet: Path, seed: int) -> None:
    """Write one in five sentences of each room to a sheet, and print how many."""
    chance, rows = random.Random(seed), [f"seed {seed}"]
    for room, places in sorted(rooms().items()):
        drawn = chance.sample(places, -(-len(places) // 5))
        print(f"{room:18} {len(drawn):5} of {len(places):5} sentences")
        rows += ["", f"# {room}", *(f"[ ] {place}  {text}" for place, text in sorted(drawn))]
    sheet.write_text("\n".join(rows) + "\n", encoding="utf-8")


def marks_of(sheet: Path, date: str) -> Iterator[Draw]:
    """Yield the marks on a sheet, room by room."""
    head, *parts = sheet.read_text(encoding="utf-8").split("\n# ")
    for part in parts:
        room, *lines = part.strip().splitlines()
        flagged = [line[4:] for line in lines if line.startswith("[x]")]
        yield Draw(date, head.split()[1], room, len(lines), len(flagged), " | ".join(flagged))


def keep(sheet: Path, date: str) -> None:
    """Add the marks of a sheet to ``MARKS``, in place of earlier marks of the same draw."""
    made = list(marks_of(sheet, date))
    kept = [each for each in kept_marks() if (each.date, each.seed) != (date, made[0].seed)]
    with MARKS.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([Draw._fields, *kept, *made])


def kept_marks() -> list[Draw]:
    """Return the marks of all draws that were kept, in the order in which they were made."""
    with MARKS.open(encoding="utf-8", newline="") as file:
        return [
            Draw(**(row | {"drawn": int(row["drawn"]), "flagged": int(row["flagged"])}))
            for row in csv.DictReader(file)
        ]


def rates() -> Iterator[str]:
    """Yield a line for each draw: flagged and drawn sentences, and the rooms that were read."""
    marks = kept_marks()
    for date, seed in dict.fromkeys((each.date, each.seed) for each in marks):
        own = [each for each in marks if (each.date, each.seed) == (date, seed)]
        flagged, drawn = sum(each.flagged for each in own), sum(each.drawn for each in own)
        share = f"{flagged} of {drawn} flagged ({100 * flagged / max(drawn, 1):.1f} %)"
        yield f"{date}, seed {seed}: {share} in {', '.join(each.room for each in own)}"
    yield f"The goal is 2 % in {', '.join(GOAL)}."


def main() -> None:
    """Draw a sheet, keep its marks, or print the rates of all draws."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sheet", type=Path, nargs="?", help="without a sheet, print all rates")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument("--keep", metavar="DATE", help="keep the marks that a reader made")
    given = parser.parse_args()
    if given.sheet is None:
        print("\n".join(rates()))
    elif given.keep:
        keep(given.sheet, given.keep)
        print("\n".join(rates()))
    else:
        draw(given.sheet, given.seed)


if __name__ == "__main__":
    main()
