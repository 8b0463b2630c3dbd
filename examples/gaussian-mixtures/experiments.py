"""Learning from inputs that are built on Gaussian mixtures: what agrees with the normal equations.

    python examples/gaussian-mixtures/experiments.py --output mixture-results           # whole
    python examples/gaussian-mixtures/experiments.py --quick --output mixture-results   # first look
    python examples/gaussian-mixtures/experiments.py --kept --output mixture-results    # seconds

The experiments of Bae and Jeong 2024 (arXiv:2405.00642), figures 2 to 5, S1 to S4, tables 1 and 2:
D = 500, N = 1000, K = M = 2, both layers trained, learning rate 0.2, f = sgn, up to 100 N examples.
Runs are kept in runs.jsonl, and the command goes on where it was killed. Writes experiments.html,
a PNG per figure, tables.txt, tables.csv and summary.json; ``--kept`` draws from the summary.json
beside this file.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from figures_page import Entry, gallery_page
from judged_entries import makers
from kept_runs import FIRST_LOOK, Runs, cores, laws, wanted
from learning_runs import ACTIVATIONS, Setting
from printed_tables import csv_text, table_lines
from run_summary import Summary, read, summarise, write

from symderiv.foundation.files import replace_file
from symderiv.foundation.outputs import Output

SUMMARY = Path(__file__).with_name("summary.json")


def main(arguments: Sequence[str] | None = None) -> Path:
    """Compute what is missing and write the page; its path."""
    options = _options(arguments)
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)

    @lru_cache(maxsize=1)
    def summary() -> Summary:
        if options.kept:
            return read(SUMMARY)
        setting = Setting(dimension=options.dimension, latent=options.dimension // 2)
        runs = Runs(folder / "runs.jsonl", setting)
        if not options.shown:
            points = wanted(options.repetitions or (2 if options.quick else 20))
            first = {None, *laws()[:FIRST_LOOK]}
            chosen = [point for point in points if point[1] in first] if options.quick else points
            runs.run(chosen, options.processes)
        found = summarise(runs)
        write(found, folder / "summary.json")
        return read(folder / "summary.json")

    entries = []
    every = makers(summary)
    for name in options.only or every:
        started = time.process_time()
        entry = every[name]()
        entries.append(replace(entry, seconds=time.process_time() - started))
        _report(entries[-1], folder)
    if any(name not in ("S1", "S2") for name in options.only or every):
        _write_tables(summary(), folder)
    page = gallery_page(
        "Inputs built on Gaussian mixtures",
        "Bae and Jeong, arXiv:2405.00642, figures 2 to 5, S1 to S4, tables 1 and 2"
        + (" (quick)" if options.quick else ""),
        entries,
        [] if options.only else [("Figure 1", "a scheme, nothing to compute")],
    )
    target = folder / "experiments.html"
    Output(target, "html").write_text(page)
    print(target)
    return target


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Inputs built on Gaussian mixtures.")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder")
    parser.add_argument("--quick", action="store_true", help="few laws")
    parser.add_argument("--repetitions", type=int, help="20, or 2 with --quick")
    parser.add_argument("--dimension", type=int, default=1000, help="N = 2 D (1000)")
    parser.add_argument("--processes", type=int, default=cores(), help="one per processor")
    parser.add_argument("--only", action="append", metavar="NAME", help="e.g. S1, 2, 'Table 1'")
    parser.add_argument("--shown", action="store_true", help="draw what there is in DIR")
    parser.add_argument("--kept", action="store_true", help="draw the summary of a whole run")
    return parser.parse_args(arguments)


def _report(entry: Entry, folder: Path) -> None:
    if entry.figure is not None:
        name = entry.name.lower().replace(" ", "-")
        name = name if name.startswith("table") else f"figure-{entry.name}"
        entry.figure.savefig(folder / f"{name}.png", dpi=130)
    words = [statement.word for statement in entry.statements]
    counts = f"{words.count('agrees')} agree, {words.count('differs')} differ"
    print(f"{entry.name}: {counts} ({entry.seconds:.0f} CPU s)")
    for statement in entry.statements:
        print(f"  {statement.word:8} {statement.text}", flush=True)


def _write_tables(summary: Summary, folder: Path) -> None:
    lines = [line for name in ACTIVATIONS for line in (*table_lines(summary, name), "")]
    Output(folder / "tables.txt", "txt", force=True).write_text("\n".join(lines))
    replace_file(folder / "tables.csv", csv_text(summary).encode())


if __name__ == "__main__":
    main()
