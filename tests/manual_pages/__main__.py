"""``make manual-examples``: every example of the README and of the manual, run page by page."""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from manual_pages.pages import RUN, TOP, Page, pages
from manual_pages.running import MOST_SECONDS, MOST_WAIT, run_page

#: Line of the block, CPU seconds, faults.
Row = tuple[int, float, list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="manual_pages", description=__doc__)
    parser.add_argument("names", nargs="*", help="pages whose names contain one of these; all")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    chosen = [
        page
        for page in pages()
        if not options.names or any(name in page.name for name in options.names)
    ]
    if options.into:
        options.into.write_text(json.dumps(_ran(chosen[0])), encoding="utf-8")
        return
    bad, blocks, total = 0, 0, 0.0
    for page in chosen:
        rows = _ran_apart(page)
        seconds = sum(row[1] for row in rows)
        wrong = [row for row in rows if row[2]]
        print(
            f"{page.name:<48}{len(rows):>4} blocks {seconds:>7.1f} CPU s  {_word(wrong)}",
            flush=True,
        )
        for line, used, faults in rows:
            for fault in faults:
                print(f"    line {line}: {fault}")
            if used > MOST_SECONDS:
                print(f"    line {line}: {used:.1f} CPU s")
        bad, blocks, total = bad + len(wrong), blocks + len(rows), total + seconds
    print(f"{len(chosen)} pages, {blocks} blocks, {bad} not as printed, {total:.0f} CPU s")
    sys.exit(bool(bad) or not chosen)


def _word(wrong: list[Row]) -> str:
    return f"{len(wrong)} not as printed" if wrong else "as printed"


def _ran_apart(page: Page) -> list[Row]:
    """In a process of its own: a page leaves nothing to the next one."""
    with tempfile.TemporaryDirectory() as name:
        result = Path(name) / "rows.json"
        words = [sys.executable, "-m", "manual_pages", page.name, "--into", str(result)]
        try:
            subprocess.run(words, stdin=subprocess.DEVNULL, check=True, timeout=MOST_WAIT)
        except subprocess.SubprocessError as error:
            return [(1, 0.0, [str(error)])]
        rows: list[Row] = json.loads(result.read_text(encoding="utf-8"))
    return rows


def _ran(page: Page) -> list[Row]:
    # what the manual's own build sets for its notebooks
    os.environ |= {"SYMDERIV_TOP": str(TOP), "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        return [
            (block.line, used, faults)
            for block, used, faults in run_page(page, Path(name))
            if block.language in RUN
        ]


if __name__ == "__main__":
    main()
