"""The papers that are installed: found by entry point, so that a new one needs no change here.

A package announces a paper in its ``pyproject.toml``, under the name that ``symderiv verify``
takes::

    [project.entry-points."symderiv.papers"]
    "author-2024" = "package.author:SOURCE"

with a :class:`Source` behind it, which says where the paper's prints and claims are.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from symderiv.errors import InputError, NotYetError
from symderiv.files import read_file
from symderiv.verification.claim import Claim, Paper
from symderiv.verification.own import paper_from_toml
from symderiv.verification.prints import printed_equations

__all__ = ["GROUP", "Source", "load_paper", "names", "paper", "source"]

#: The entry points' group.
GROUP: Final = "symderiv.papers"


@dataclass(frozen=True)
class Source:
    """Where the parts of a paper are.

    Args:
        title: Authors, title, where it appeared.
        package: The package that the following are in.
        prints: Files of printed equations, without ``.toml``.
        modules: Modules with ``CLAIMS``, in the paper's order.
        file: Instead of both a file of claims, of the kind that users write.
        root: Folder of the package in its project's tree, for links to the claims.

    A source with neither modules nor file is one whose claims are still to come.
    """

    title: str
    package: str
    prints: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    file: str = ""
    root: str = ""


def names() -> tuple[str, ...]:
    """The papers that can be checked, in alphabetical order."""
    return tuple(name for name in sorted(_entries()) if not _is_later(source(name)))


def source(name: str) -> Source:
    """Where the parts of a paper are.

    Raises:
        InputError: There is no paper of that name, or no :class:`Source` behind its entry point.
    """
    entries = _entries()
    if name not in entries:
        known = ", ".join(names())
        raise InputError(f"PAPER: {name!r} is neither one of {known} nor a .toml file")
    found = entries[name].load()
    if not isinstance(found, Source):
        raise InputError(f"{name}: {entries[name].value} is not a Source of a paper")
    return found


def load_paper(name: str) -> Paper:
    """An installed paper, or the one in a file whose name ends in ``.toml``.

    Raises:
        InputError: There is no such paper or file, or the file is not as ``docs/own-papers.md``
            says.
        NotYetError: The paper's claims come with a later version.
    """
    path = Path(name)
    if path.suffix != ".toml":
        return paper(name)
    try:
        text = read_file(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text") from None
    return paper_from_toml(text, path.name)


def paper(name: str) -> Paper:
    """An installed paper with all its claims.

    Raises:
        InputError: There is no paper of that name.
        NotYetError: The paper's claims come with a later version.
    """
    found = source(name)
    if _is_later(found):
        raise NotYetError(f"PAPER: the claims of {name} are not there yet (see docs/scope.md)")
    folder = "/".join(filter(None, (found.root, found.package.replace(".", "/"))))
    if found.file:
        text = (files(found.package) / found.file).read_text(encoding="utf-8")
        own = paper_from_toml(text, found.file)
        return replace(own, sources=dict.fromkeys(own.sources, f"{folder}/{found.file}"))
    claims: list[Claim] = []
    sources: dict[str, str] = {}
    for module in found.modules:
        for claim in import_module(f"{found.package}.{module}").CLAIMS:
            if claim.name in sources:
                raise InputError(f"{name}: two claims are called {claim.name!r}")
            sources[claim.name] = f"{folder}/{module.replace('.', '/')}.py"
            claims.append(claim)
    printed = printed_equations(found.package, *found.prints)
    claims = _with_foundations(claims, found.package)
    return Paper(name, found.title, printed, tuple(_in_order(claims)), sources)


def _with_foundations(claims: list[Claim], package: str) -> list[Claim]:
    """Claims with what they rest on, from ``foundations.toml`` by the function of their points.

    A key is the last two parts of that function's name: ``"module.function"``.
    """
    file = files(package) / "foundations.toml"
    if not file.is_file():
        return claims
    words = tomllib.loads(file.read_text(encoding="utf-8"))["points"]
    unused = set(words)
    made = []
    for claim in claims:
        key = _points_name(claim.points)
        unused.discard(key)
        rests_on = claim.rests_on or words.get(key, "")
        made.append(replace(claim, rests_on=rests_on))
    if unused:
        raise InputError(f"{package}: foundations of unknown points {', '.join(sorted(unused))}")
    return made


def _points_name(points: Any) -> str:
    """``"module.function"`` of a function of points, also of one that another function made."""
    function = getattr(points, "func", points)
    module = str(getattr(function, "__module__", "")).rpartition(".")[2]
    return f"{module}.{getattr(function, '__qualname__', '').partition('.')[0]}"


@lru_cache(maxsize=1)
def _entries() -> Mapping[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _is_later(found: Source) -> bool:
    return not (found.modules or found.file)


def _in_order(claims: list[Claim]) -> list[Claim]:
    """By the first number in the equation's name, those of a supplement (S1, S2, ...) last.

    A name without such a number, or with one inside of another name (Lemma V.3), follows its
    predecessor.
    """
    order, last = [], (False, 0)
    for claim in claims:
        found = re.search(r"(?<!\.)(?:(?<!\w)(S))?(\d+)", claim.equation)
        last = (found[1] is not None, int(found[2])) if found else last
        order.append(last)
    return [claim for _, claim in sorted(zip(order, claims, strict=True), key=lambda pair: pair[0])]
