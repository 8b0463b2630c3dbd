"""The pages, and the blocks in them that are run.

What a page promises by its fences:

* ``python``: runs after those before it on the page; ``print(…)  # text`` prints that text
  (``...`` at its end: a text that begins so);
* ``pycon``: a session, as doctest compares it;
* ``{code-cell}``: the same in a notebook, whose outputs are made when the manual is built;
* ``console``: lines ``$ command`` for a shell; the lines after each are printed, except those that
  begin with ``...``; ``line...`` stands for any line that begins so; a command ends well unless
  the page shows ``symderiv: error: …``;
* ``toml`` can be read; one that begins with ``# NAME.toml`` is a file of that name afterwards;
* ``text`` and all others are read only.
"""

import re
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[2]
MANUAL = TOP / "docs" / "manual"
# made from other files at every build
_MADE = ("background", "generated")

RUN = ("python", "{code-cell}", "pycon", "console", "toml")
"""Languages of blocks that are run or read; no error in one passes."""

_FENCE = re.compile(
    r"^(?P<ticks>`{3,})(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^(?P=ticks)$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is written in, its text, and the page's line of its fence."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Page:
    """A page, its name relative to the manual, and its blocks in order."""

    path: Path
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        return str(self.path.relative_to(MANUAL if MANUAL in self.path.parents else TOP))

    @property
    def runs(self) -> bool:
        return any(block.language in RUN for block in self.blocks)


def blocks_of(text: str) -> tuple[Block, ...]:
    """All fenced blocks, also those that are only read: else an end would be taken for a start."""
    return tuple(
        Block(match["language"], match["text"], text.count("\n", 0, match.start()) + 1)
        for match in _FENCE.finditer(text)
    )


def pages() -> list[Page]:
    """README.md and every page of the manual that is written by hand and has something to run."""
    files = [TOP / "README.md", *sorted(MANUAL.rglob("*.md"))]
    found = (
        Page(path, blocks_of(path.read_text(encoding="utf-8")))
        for path in files
        if not set(_MADE) & set(path.parts)
    )
    return [page for page in found if page.runs]
