"""Pages that stand elsewhere in docs/ and are pages of the manual as well.

They are copied into ``background/`` (untracked) before the build, with their links made those of
the manual: to a page that is here, or else to the words alone with the file's name.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_DOCS = Path(__file__).parents[2]
_PAGES = ("scope", "trust", "own-papers", "pairs", "architecture")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def sources() -> list[Path]:
    return [
        *(_DOCS / f"{name}.md" for name in _PAGES),
        *sorted((_DOCS / "notes").glob("*.md")),
    ]


def _in_manual(text: str, page: Path, here: dict[Path, str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        found = (page.parent / target).resolve()
        if found in here:
            return f"[{words}]({here[found]}{anchor})"
        if found == _DOCS / "ledger.html":
            return f"[{words}](../papers.md)"
        if found.exists():
            return f"{words} (`{found.relative_to(_DOCS.parent)}`)"
        return match[0]

    return _LINK.sub(replacement, text)


def write_pages(app: Sphinx, _config: object) -> None:
    folder = Path(app.srcdir) / "background"
    folder.mkdir(exist_ok=True)
    here = {source: source.name for source in sources()}
    for source in sources():
        text = _in_manual(source.read_text(encoding="utf-8"), source, here)
        page = folder / source.name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for page in set(folder.glob("*.md")) - {folder / "index.md"}:
        if page.name not in here.values():
            page.unlink()
    index = folder / "index.md"
    text = _INDEX
    if not index.exists() or index.read_text(encoding="utf-8") != text:
        index.write_text(text, encoding="utf-8")


_INDEX = """# Background

How symderiv is built, what is tried to make it fail, and the notes behind single parts of it.

```{toctree}
:maxdepth: 1
:glob:

architecture
trust
scope
own-papers
pairs
*
```
"""


def copy_ledger(app: Sphinx, exception: Exception | None) -> None:
    """The ledger as one page beside the files of claims that it links to."""
    if exception is not None:
        return
    top, out = _DOCS.parent, Path(app.outdir)
    claims = (top / "papers").rglob("*.toml")
    for source in (_DOCS / "ledger.html", _DOCS / "ledger.json", *claims):
        target = out / "ledger" / source.relative_to(top)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", write_pages)
    app.connect("build-finished", copy_ledger)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
