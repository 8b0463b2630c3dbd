"""``make stated-errors``: what runs state of their errors against what is true; exits 1 at a lie,
and where stating one takes more work than the run itself.

cd tests; python -m stated_errors [--studies N] [--families N] [--first N] [--seed N]

First single studies, then families of 16 runs in lanes, each followed by a worse run in lanes.

Studies that `--results` has are not run again; remove the file when the engine has changed.
"""

import argparse
import math
import statistics
import sys
from collections import Counter
from pathlib import Path

from support.campaign import told

from stated_errors import lanes
from stated_errors.campaign import PLATEAU, Verdict, campaign
from stated_errors.drawing import METHODS

#: The studies whose verdicts are kept with the tests, and how many there are.
_SEED, _STUDIES = 31, 300
#: Families of runs in lanes.
_FAMILIES = 20
#: How many times the true error what is stated may be in the median, and what it may cost beside
#: any run.
_RATIO, _COST = 30.0, 1.0
#: The same in lanes, where more runs are limited by stability and more accurate than their steps.
_RATIO_OF_LANES = 40.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="stated_errors", description=__doc__)
    parser.add_argument("--studies", type=int, default=_STUDIES)
    parser.add_argument("--first", type=int, default=0, help="number of the first study")
    parser.add_argument("--step", type=int, default=1, help="take every so many studies")
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--families", type=int, default=_FAMILIES)
    results = Path(__file__).with_name("studies.jsonl")
    parser.add_argument("--results", type=Path, default=results)
    options = parser.parse_args()
    numbers = range(options.first, options.studies, options.step)
    verdicts = told(campaign(numbers, options.seed, options.results), _line)
    families = range(options.first, options.families, options.step)
    kept = options.results.with_name(f"lanes-{options.results.name}")
    verdicts += told(lanes.campaign(families, options.seed, kept), _line)
    print(table(verdicts))
    sys.exit(not met(verdicts))


def met(verdicts: list[Verdict]) -> bool:
    """Whether no error is stated too small, and the ratios and costs are as they must be."""
    single, many = (
        [each.ratio for each in verdicts if (each.method == "lanes") is lanes]
        for lanes in (False, True)
    )
    wrong = any(each.outcome == "below" or each.cost > _COST for each in verdicts)
    return not (wrong or _middle(single) > _RATIO or _middle(many) > _RATIO_OF_LANES)


def _line(found: Verdict) -> str:
    return (
        f"{found.number:4} {found.outcome:15} {found.method:10} asked {found.asked:.0e} "
        f"stated {found.stated:.1e} true {found.true:.1e} known {found.known:.0e} "
        f"of the error: stated {found.accuracy:.1e} true {found.error_true:.1e} "
        f"growth {found.growth:.0e} cost {found.cost:.2f} {found.cause} {found.how} {found.made} "
        f"[{found.ran:.1f}, {found.referred:.1f} s]"
    )


def table(verdicts: list[Verdict]) -> str:
    """Counts by method, with medians of stated over true and of the cost."""
    lines = [
        f"{'method':12}{'studies':>9}{'plateaus':>10}{'holds':>7}{'more than asked':>17}"
        f"{'below':>7}{'unknown':>9}{'stated/true':>13}{'cost':>7}{'above 1':>9}{'largest':>9}"
    ]
    for method in (*METHODS, "lanes", "together"):
        own = [each for each in verdicts if method in (each.method, "together")]
        counts = Counter(each.outcome for each in own)
        plateaus = sum(each.growth >= PLATEAU for each in own)
        costs = [each.cost for each in own]
        lines.append(
            f"{method:12}{len(own):9}{plateaus:10}{counts['holds']:7}"
            f"{counts['more than asked']:17}{counts['below']:7}{counts['unknown']:9}"
            f"{_middle([each.ratio for each in own]):13.1f}{_middle(costs):7.2f}"
            f"{sum(each > _COST for each in costs):9}{max(costs, default=math.nan):9.2f}"
        )
    return "\n".join(lines)


def _middle(values: list[float]) -> float:
    finite = [each for each in values if math.isfinite(each)]
    return statistics.median(finite) if finite else math.nan


if __name__ == "__main__":
    main()
