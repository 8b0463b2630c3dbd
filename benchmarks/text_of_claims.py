"""How much a person writes to state what papers claim, beside the commit before claims were data.

python -m benchmarks.text_of_claims

Two counts, of the papers that there were then, without the prints (LaTeX, number, section), which
are quoted, and without what was not said then: what claims use of each other, and which of them are
definitions:

* characters without white space of the texts of claims (statement, correction, ranges, regime,
  names explained, what is given, what it rests on, note), as they are written in the files: with
  everything that is said once for several claims, and with the names that stand for it. Beside
  them the same texts of all claims one by one at the commit BEFORE, in full, as they are shown and
  computed with, but for what a claim rests on, which most claims did not say yet.
* lines that are not blank. Beside them those at BEFORE: of the definitions in Python that made
  claims and of the texts they used, of the imports and docstrings of modules with little else, and
  of TOML.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

#: The commit before claims became data.
BEFORE: Final = "1e11cff9bc"
CHARACTERS_BEFORE: Final = 186_026
LINES_BEFORE: Final = 8_636
#: The papers that were there.
PAPERS: Final = ("bae_jeong", "goldt", "relu_localization", "saad_solla", "worschech_rosenow")

_TEXTS: Final = frozenset(
    {
        "statement", "formula", "corrected", "corrected_formula", "ranges", "indices", "shapes",
        "let", "words", "regime", "where", "given", "note", "rests_on", "not_checkable",
    }
)  # fmt: skip
_LEFT_OUT: Final = re.compile(
    r"\[\[equation\]\]|(number|section|reading|uses|definition|display|in_words) *="
)


#: Files about equations that were not claimed yet.
LATER: Final = (
    "relu_localization/7_gates.toml",
    "relu_localization/8_experiments.toml",
    "saad_solla/motion.toml",
)


def texts() -> list[str]:
    """The files of these papers."""
    root = Path(__file__).parents[1] / "papers" / "symderiv_papers"
    paths = [path for paper in PAPERS for path in sorted((root / paper).glob("*.toml"))]
    later = {root / name for name in LATER}
    return [path.read_text(encoding="utf-8") for path in paths if path not in later]


def characters(files: list[str]) -> int:
    """Characters of the texts of claims in files of TOML."""
    return sum(_length(text) for file in files for text in _texts(tomllib.loads(file)))


def lines(files: list[str]) -> int:
    """Lines beside prints, comments and blank ones."""
    return sum(1 for file in files for _ in _lines(file))


def _texts(value: Any, key: str = "") -> Iterator[Any]:
    if key in _TEXTS:
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            statement = key == "claim" and isinstance(part, str)
            yield from _texts(part, "statement" if statement else name)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part, key)


def _length(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_length(name) + _length(part) for name, part in value.items())
    return len("".join(str(value).split()))


def _lines(file: str) -> Iterator[str]:
    inside = False
    for line in map(str.strip, file.splitlines()):
        if inside:
            inside = line != "]"
        elif line.startswith("latex"):
            inside = line.endswith("[")
        elif line and not line.startswith("#") and not _LEFT_OUT.match(line):
            yield line


def main() -> None:
    """Print the table."""
    files = texts()
    print(f"{'':24}{'now':>8}{BEFORE:>12}{'ratio':>7}")
    for what, now, before in (
        ("characters of texts", characters(files), CHARACTERS_BEFORE),
        ("lines", lines(files), LINES_BEFORE),
    ):
        print(f"{what:24}{now:8}{before:12}{now / before:7.3f}")


if __name__ == "__main__":
    main()
