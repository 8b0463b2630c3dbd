"""The search finds what readers ask for: ``python check_search.py build/manual``.

The index that the browser searches is read; a page is found if it has all words of the question,
in its text or its title, by the stems that Sphinx keeps.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sphinx.search.en import SearchEnglish

ASKED = {
    "phase diagram": "how-to/phase-diagrams",
    "heat map": "how-to/phase-diagrams",
    "task similarity": "how-to/continual-learning",
    "continual learning": "how-to/continual-learning",
    "forgetting": "how-to/continual-learning",
    "restart": "how-to/long-runs",
    "resume": "how-to/long-runs",
    "troubleshooting": "how-to/trouble",
    "error message": "how-to/trouble",
    "limits": "how-to/limits",
    "installation": "installation",
    "own data": "how-to/data-at-hand",
    "trained network": "how-to/network-at-hand",
    "PyTorch": "how-to/network-at-hand",
    "CSV": "tasks",
    "Jacobian": "tasks",
    "plateau length": "how-to/plateau",
    "dropout": "how-to/learning-rules",
}
"""What is asked, and a page that has to be among those found."""


def found(question: str, index: dict[str, object]) -> set[str]:
    """Find the pages that have all words of a question."""
    language = SearchEnglish({})
    pages = None
    for word in question.lower().split():
        if word in language.stopwords:
            continue
        stem = language.stem(word)
        places: set[int] = set()
        for table in ("terms", "titleterms"):
            hits = index[table].get(stem, [])  # type: ignore[attr-defined]
            places |= set(hits if isinstance(hits, list) else [hits])
        pages = places if pages is None else pages & places
    return {index["docnames"][place] for place in pages or ()}  # type: ignore[index]


def main() -> None:
    text = (Path(sys.argv[1]) / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    missing = [each for each, page in ASKED.items() if page not in found(each, index)]
    for question in missing:
        print(f"the search for {question!r} does not find {ASKED[question]}")
    print(f"{len(ASKED)} questions, {len(missing)} not found")
    sys.exit(bool(missing))


if __name__ == "__main__":
    main()
