"""What the System room costs: lines of the engine, files of a new rule, seconds of a derivation.

python -m benchmarks.system_budget           the rows that end the table of ``make systems``

Lines are all lines of the derivation and its lowering, of what integrates rules and simulates, and
of ``symderiv/statement`` and ``symderiv/system``; before these there were 10189 and about 4000 of
the first two. Behind them stands how many are code: neither blank nor comments, docstrings or
imports. The files of new rules are listed in ``new_rules.toml``. A derivation is cold in a
process of its own, which has imported what it needs and derived nothing.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterable
from pathlib import Path

PROJECT = Path(__file__).parents[1]
ROOMS = {
    "learning": ("symderiv/learning", "symderiv/lowering", "symderiv/checking"),
    "rules, experiment": ("symderiv/integrate/rules", "symderiv/experiment"),
    "system": ("symderiv/statement", "symderiv/system"),
}
LINES_BEFORE, MOST_SHARE = 10189 + 4000, 0.7
_NO_CODE = frozenset(
    {
        *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
        *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
    }
)
MOST_FILES, MOST_SECONDS = 6, 3.0
_COLD = """
import time
from benchmarks.systems import CASES
case = next(each for each in CASES if each.name == {name!r})
case.file
start = time.process_time()
case.statement().solver.closed
print(time.process_time() - start)
"""


def room_lines() -> dict[str, int]:
    """Return the lines of Python sources by room."""
    return {
        room: sum(len(path.read_text(encoding="utf-8").splitlines()) for path in room_files(room))
        for room in ROOMS
    }


def room_files(*rooms: str) -> list[Path]:
    """Return the Python sources of rooms; of all, if none is named."""
    folders = [PROJECT / folder for room in rooms or ROOMS for folder in ROOMS[room]]
    return [path for folder in folders for path in sorted(folder.rglob("*.py"))]


def code_lines(path: Path) -> int:
    """Return how many lines of a source are code: statements but imports and docstrings."""
    text = path.read_text(encoding="utf-8")
    beside: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        # a docstring, or a text behind what it describes
        said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if said or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.stmt)
            beside |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    own = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(own - beside)


def new_rules() -> dict[str, list[str]]:
    """Return the files that each of the new rules touched.

    Raises:
        ValueError: A file is listed that does not exist, or twice.
    """
    found = {}
    listed = tomllib.loads((PROJECT / "benchmarks/new_rules.toml").read_text(encoding="utf-8"))
    for rule in listed["rule"]:
        files = [str(file) for file in rule["files"]]
        lost = [file for file in files if not (PROJECT / file).is_file()]
        if lost or len(set(files)) != len(files):
            raise ValueError(f"new_rules.toml: {rule['name']} lists {lost or 'a file twice'}")
        found[str(rule["name"])] = files
    return found


def cold_seconds(name: str) -> float:
    """Return the CPU seconds that a case takes to be stated and derived in a new process."""
    command = [sys.executable, "-c", _COLD.format(name=name)]
    ended = subprocess.run(command, cwd=PROJECT, check=True, capture_output=True, text=True)
    return float(ended.stdout)


def rows(closed: Iterable[str]) -> tuple[list[str], int]:
    """Return the rows of the budget, and how many numbers are not what they must be.

    Args:
        closed: Names of the cases whose means have closed forms.
    """
    found, failed = [], 0

    def row(text: str, good: bool) -> None:
        nonlocal failed
        failed += not good
        found.append(text if good else f"{text}  FAILED")

    lines = room_lines()
    total, most = sum(lines.values()), int(MOST_SHARE * LINES_BEFORE)
    parts = ", ".join(f"{room} {number}" for room, number in lines.items())
    share = total / LINES_BEFORE
    budget = f"lines: {parts}: {total}, {share:.2f} of {LINES_BEFORE}, at most {most}"
    row(f"{budget}; {sum(map(code_lines, room_files()))} of them code", total <= most)
    for name, files in new_rules().items():
        count = f"{len(files)} files" if files else "not there yet"
        row(f"new rule, {name}: {count}, at most {MOST_FILES}", 0 < len(files) <= MOST_FILES)
    seconds = {name: cold_seconds(name) for name in closed}
    slowest = max(seconds, key=lambda name: seconds[name])
    text = f"cold derivation, slowest of {len(seconds)}: {slowest}, {seconds[slowest]:.2f} CPU s"
    row(f"{text}, less than {MOST_SECONDS:g}", seconds[slowest] < MOST_SECONDS)
    return found, failed


def main() -> int:
    """Print the rows; 1 if a number is not what it must be."""
    from benchmarks.systems import CASES

    found, failed = rows(case.name for case in CASES if case.closed)
    print("\n".join(found))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
