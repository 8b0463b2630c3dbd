"""Print true errors of means by quadrature beside the stated ones; exits 1 at a violation.

cd tests; python -m quadrature_errors [--twos N] [--fours N] [--adaptive N] [--closed N]
    [--tolerance T] [--seed S] [PAIR ...]
"""

import argparse
import sys
import time

from quadrature_errors.campaign import (
    ACTIVATIONS,
    CLOSED,
    Row,
    campaign,
    closed_campaign,
    rules_of,
)

parser = argparse.ArgumentParser(prog="quadrature_errors")
parser.add_argument("--twos", type=int, default=100_000)
parser.add_argument("--fours", type=int, default=2_000)
parser.add_argument("--adaptive", type=int, default=60)
parser.add_argument("--closed", type=int, default=100_000)
parser.add_argument("--tolerance", type=float, help="of means; default: one for each pair")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("pairs", nargs="*", help="default: all of the list; others need a tolerance")
options = parser.parse_args()
violations = 0


def show(row: Row) -> None:
    """One line of the table, at once."""
    print(
        f"{row.activation:28} {row.what:22} {row.tried:7d} {row.stated:9.1e} {row.largest:9.1e} "
        f"{row.largest / row.stated:8.3f}{'' if row.holds else '  VIOLATED'}",
        flush=True,
    )
    if not row.holds and row.where is not None:
        print(f"    {row.where[0]} at {row.where[1].tolist()}", flush=True)


print(
    f"{'student|teacher':28} {'means, reference':22} {'tried':>7} {'stated':>9} {'true':>9} "
    "   ratio"
)
listed = {**CLOSED, **ACTIVATIONS}
for pair in options.pairs or listed:
    tolerance = options.tolerance or listed.get(pair)
    if tolerance is None:
        parser.error(f"{pair} is not in the list; give its --tolerance")
    start = time.process_time()
    if pair in CLOSED:
        rows = [closed_campaign(rules_of(pair, tolerance), pair, options.closed, options.seed)]
    else:
        rows = campaign(
            pair, tolerance, options.twos, options.fours, options.adaptive, options.seed
        )
    for row in rows:
        show(row)
        violations += not row.holds
    print(f"    {time.process_time() - start:.0f} CPU s", file=sys.stderr, flush=True)
print(f"{violations} violations")
sys.exit(1 if violations else 0)
