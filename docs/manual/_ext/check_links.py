"""No dead link, and no TeX in formulas, in the built pages: ``python check_links.py build/manual``.

Every ``href`` and ``src`` is looked up in the folder, anchors in the page that they point into.
Addresses elsewhere are not fetched; what a page would load from elsewhere when it is read (scripts,
styles, pictures) is an error, because the manual works from disk.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class _Page(HTMLParser):
    path: Path
    links: list[tuple[str, bool]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    """Commands of TeX that stand in MathML as they were written."""
    _tag: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        loads = tag in ("script", "img", "iframe", "source") or (
            tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload")
        )
        self.links += [(given[name], loads) for name in ("href", "src") if name in given]

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag in ("mi", "mo", "mn", "mtext") and data.startswith("\\"):
            self.unread.append(data)


def pages_of(folder: Path) -> list[Path]:
    """The pages; the theme keeps templates among its files."""
    return sorted(set(folder.rglob("*.html")) - set((folder / "_static").rglob("*")))


def dead_links(folder: Path) -> list[str]:
    """One line per link that leads nowhere, thing loaded from elsewhere, or command of TeX."""
    pages = {path: _Page(path) for path in pages_of(folder)}
    found = []
    for path, page in pages.items():
        for link, loads in dict.fromkeys(page.links):
            problem = _problem(link, loads, path, pages)
            if problem:
                found.append(f"{path.relative_to(folder)}: {link}: {problem}")
        unread = dict.fromkeys(page.unread)
        found += [f"{path.relative_to(folder)}: {each} in a formula" for each in unread]
    return found


def _problem(link: str, loads: bool, path: Path, pages: dict[Path, _Page]) -> str:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return "loaded from elsewhere" if loads and parts.scheme != "data" else ""
    target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    # the search page's own script makes its anchors; a ledger row opens what its name says
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such anchor"
    return ""


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    found = dead_links(folder)
    pages = len(pages_of(folder))
    print("\n".join([*found, f"{pages} pages, {len(found)} faults"]))
    sys.exit(bool(found) or not pages)


if __name__ == "__main__":
    main()
