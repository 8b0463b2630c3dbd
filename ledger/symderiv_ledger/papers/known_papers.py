"""The papers that are installed: found by entry point, so that a new one needs no change here.

A package announces a :class:`Source`, which says where the paper's files are, in its
``pyproject.toml``, under the name that ``symderiv verify`` takes; see ``docs/own-papers.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Final

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import read_file
from symderiv_ledger.claims.claim import Claim, Paper
from symderiv_ledger.papers.paper_file import paper_from_files, paper_from_toml

#: The entry points' group.
GROUP: Final = "symderiv.papers"


@dataclass(frozen=True)
class Source:
    """Places of the parts of a paper."""

    title: str  # authors, title, where it appeared
    package: str  # the package that the following are in
    files: tuple[str, ...]  # its TOML files, in the paper's order
    root: str = ""  # folder of the package in its project's tree, for links to the claims
    # whether claims are listed by the numbers of their equations, because the files follow the
    # argument, which goes to and fro between main text and appendix
    by_number: bool = False


def names() -> tuple[str, ...]:
    """Return the papers that can be checked, in alphabetical order."""
    return tuple(sorted(_entries()))


def source(name: str) -> Source:
    """Return where the parts of a paper are."""
    entries = _entries()
    if name not in entries:
        known = ", ".join(names())
        raise InputError(f"PAPER: {name!r} is neither one of {known} nor a .toml file")
    loaded = entries[name].load()
    if not isinstance(loaded, Source):
        raise InputError(f"{name}: {entries[name].value} is not a Source of a paper")
    return loaded


def load_paper(name: str) -> Paper:
    """Return an installed paper, or the one in a file whose name ends in ``.toml``."""
    path = Path(name)
    if path.suffix != ".toml":
        return paper(name)
    try:
        text = read_file(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text") from None
    return paper_from_toml(text, path.name)


@lru_cache(maxsize=16)
def paper(name: str) -> Paper:
    """Return an installed paper with all its claims, read once: its points may keep results."""
    own = source(name)
    folder = "/".join(filter(None, (own.root, own.package.replace(".", "/"))))
    texts = [
        (f"{folder}/{file}", (files(own.package) / file).read_text(encoding="utf-8"))
        for file in own.files
    ]
    whole = paper_from_files(texts, own.package, name, own.title)
    return replace(whole, claims=tuple(_by_number(whole.claims))) if own.by_number else whole


@lru_cache(maxsize=1)
def _entries() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _by_number(claims: Sequence[Claim]) -> list[Claim]:
    """Sort claims by the first number in the equation's name, those of a supplement (S1) last.

    A name without such a number, or with one inside of another name (Lemma V.3), follows its
    predecessor.
    """
    order, last = [], (False, 0)
    for claim in claims:
        match = re.search(r"(?<!\.)(?:(?<!\w)(S))?(\d+)", claim.equation)
        last = (match[1] is not None, int(match[2])) if match else last
        order.append(last)
    return [claim for _, claim in sorted(zip(order, claims, strict=True), key=lambda pair: pair[0])]
