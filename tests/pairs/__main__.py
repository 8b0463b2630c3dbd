"""``make pairs``: all pairs, with the table and the count."""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from support.campaign import told

from pairs.activations import PAIRS, STUDENTS, TEACHERS
from pairs.campaign import Verdict, run, tenth


def main() -> None:
    parser = argparse.ArgumentParser(prog="pairs", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("pairs-results/results.jsonl"))
    parser.add_argument("--seed", type=int, default=0, help="of the sampling and of the tenth")
    parser.add_argument("--tenth", action="store_true", help="only the tenth of this seed")
    parser.add_argument("--pairs", nargs="*", default=[], metavar="STUDENT|TEACHER")
    parser.add_argument("--table", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    pairs = tenth(options.seed) if options.tenth else PAIRS
    if options.pairs:
        pairs = [tuple(each.split("|")) for each in options.pairs]
    found = run(pairs, options.results, options.seed, set(tenth(options.seed)))
    verdicts = told(found, _line)
    text = table(verdicts, options.seed)
    print(text)
    if options.table:
        options.table.write_text(text, encoding="utf-8")
    sys.exit(any(found.status == "wrong" for found in verdicts))


def _line(found: Verdict) -> str:
    line = f"{found.student}|{found.teacher}: {found.status}"
    if found.method:
        line += f" ({found.method}), {found.worst:.2g} of what is allowed at {found.at}"
        line += f", {found.precise:.1e} from nested quadrature"
    return f"{line} {found.reason} [{found.cpu_seconds:.1f} CPU s]"


def table(verdicts: list[Verdict], seed: int) -> str:
    """Markdown: what was found for every pair, then the counts."""
    signs = {"refused": "refused", "wrong": "**wrong**"}
    at = {(found.student, found.teacher): found for found in verdicts}
    lines = [
        "| student \\ teacher | " + " | ".join(TEACHERS) + " |",
        "|---" * (len(TEACHERS) + 1) + "|",
    ]
    for student in STUDENTS:
        cells = []
        for teacher in TEACHERS:
            found = at.get((student, teacher))
            cells.append("" if found is None else signs.get(found.status) or _cell(found))
        lines.append(f"| {student} | " + " | ".join(cells) + " |")
    tried = [found for found in verdicts if found.method]
    count = Counter(found.status for found in verdicts)
    methods = Counter(found.method for found in tried)
    resolutions = np.array([each for found in tried for each in found.resolution] or [np.nan])
    middle, high, top = np.quantile(resolutions, [0.5, 0.9, 1.0])
    closed = [found.precise for found in tried if found.method == "closed"]
    sgd = [found.trajectory for found in tried if found.trajectory is not None]
    lines += [
        "",
        f"right: {count['right']}, wrong: {count['wrong']}, refused: {count['refused']}"
        f" of {len(verdicts)} pairs; by method: "
        + ", ".join(f"{name} {number}" for name, number in sorted(methods.items())),
        f"sampling, {len(resolutions)} states: standard error over the size of the terms: "
        f"median {middle:.1e}, nine of ten below {high:.1e}, largest {top:.1e}",
        f"nested quadrature at K = M = 1: closed forms differ by at most {max(closed or [0]):.1e}",
        f"SGD trajectories: {len(sgd)}, largest deviation {max(sgd or [0]):.2f} of what is allowed",
        f"seed {seed}, {sum(found.cpu_seconds for found in verdicts) / 60:.1f} CPU minutes",
    ]
    for found in verdicts:
        if found.status != "right" and found.reason:
            lines.append(f"{found.student}|{found.teacher}: {found.status}: {found.reason}")
        elif found.status == "wrong":
            lines.append(
                f"{found.student}|{found.teacher}: {found.worst:.2g} of allowed: {found.at}"
            )
    return "\n".join(lines) + "\n"


def _cell(found: Verdict) -> str:
    """How far off at most, relative to what is allowed."""
    return f"{found.method[0]} {found.worst:.2f}"


if __name__ == "__main__":
    main()
