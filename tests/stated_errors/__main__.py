"""``make stated-errors``: what runs state of their errors against what is true; exits 1 at a lie.

cd tests; python -m stated_errors [--studies N] [--first N] [--seed N] [--results FILE]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from stated_errors.campaign import Verdict, campaign
from stated_errors.drawing import METHODS


def main() -> None:
    parser = argparse.ArgumentParser(prog="stated_errors", description=__doc__)
    parser.add_argument("--studies", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="number of the first study")
    parser.add_argument("--step", type=int, default=1, help="take every so many studies")
    parser.add_argument("--seed", type=int, default=1)
    results = Path("../stated-errors-results/results.jsonl")
    parser.add_argument("--results", type=Path, default=results)
    options = parser.parse_args()
    verdicts = []
    numbers = range(options.first, options.studies, options.step)
    for found in campaign(numbers, options.seed, options.results):
        verdicts.append(found)
        print(_line(found), file=sys.stderr, flush=True)
    print(table(verdicts))
    sys.exit(any(found.outcome == "below" for found in verdicts))


def _line(found: Verdict) -> str:
    return (
        f"{found.number:4} {found.outcome:11} {found.method:10} asked {found.asked:.0e} "
        f"stated {found.stated:.1e} true {found.true:.1e} known {found.known:.0e} "
        f"{found.cause} {found.how} {found.made} [{found.seconds[0]:.1f}, {found.seconds[1]:.1f} s]"
    )


def table(verdicts: list[Verdict]) -> str:
    """Counts by method: what was stated, and the median of stated over true."""
    lines = [
        f"{'method':12}{'studies':>9}{'holds':>7}{'below':>7}{'not reached':>13}{'unknown':>9}"
        f"{'too small though not reached':>30}{'stated/true':>13}"
    ]
    for method in (*METHODS, "together"):
        own = [each for each in verdicts if method in (each.method, "together")]
        counts = Counter(each.outcome for each in own)
        ratios = sorted(
            each.stated / max(each.true, each.known) for each in own if each.outcome == "holds"
        )
        small = sum(each.outcome == "not reached" and each.stated_below for each in own)
        middle = f"{ratios[len(ratios) // 2]:.0f}" if ratios else "-"
        lines.append(
            f"{method:12}{len(own):9}{counts['holds']:7}{counts['below']:7}"
            f"{counts['not reached']:13}{counts['unknown']:9}{small:30}{middle:>13}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
