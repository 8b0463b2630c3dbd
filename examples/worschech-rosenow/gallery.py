"""The figures of arXiv:2410.09005, made anew, with what agrees and what does not.

    python examples/worschech-rosenow/gallery.py --output gallery-results       # the whole page
    python examples/worschech-rosenow/gallery.py --figure 17 --output gallery-results

Writes one self-contained page, gallery.html. With --quick there are fewer seeds and sizes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from symderiv.foundation.outputs import Output

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import gallery_late
import gallery_linear
import gallery_plateau
from figures_page import Entry, gallery_page

FIGURES: dict[int, Callable[[bool], Entry]] = dict(
    sorted((gallery_plateau.FIGURES | gallery_late.FIGURES | gallery_linear.FIGURES).items())
)
MISSING = gallery_linear.MISSING


def main(arguments: Sequence[str] | None = None) -> Path:
    """Make the figures and write the page; its path."""
    parser = argparse.ArgumentParser(description="Figures of arXiv:2410.09005, made anew.")
    parser.add_argument(
        "--figure", type=int, action="append", choices=sorted(FIGURES), metavar="N",
        help="only this figure (may be repeated)",
    )  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="fewer seeds and sizes")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder")
    options = parser.parse_args(arguments)
    entries = []
    for name in options.figure or FIGURES:
        started = time.process_time()
        entry = FIGURES[name](options.quick)
        entries.append(replace(entry, seconds=time.process_time() - started))
        words = [statement.word for statement in entry.statements]
        print(
            f"figure {name}: {words.count('agrees')} agree, {words.count('differs')} differ "
            f"({entries[-1].seconds:.0f} CPU s)",
            flush=True,
        )
    page = gallery_page(
        "Scaling laws of two-layer networks: the figures, made anew",
        "Worschech and Rosenow, arXiv:2410.09005, figures 1 to 20, from the engine's own equations"
        + (" (quick)" if options.quick else ""),
        entries,
        [] if options.figure else MISSING,
    )
    target: Path = options.output / "gallery.html"
    Output(target, "html").write_text(page)
    print(target)
    return target


if __name__ == "__main__":
    main()
