"""Recompute points of the ledger in a second arithmetic, and print how many agree.

    python -m recomputation [--points 600] [--each 4] [--seed 1] [--first 0]

Claims are taken in random order, some points of each, until there are enough. The exit code is 1 if
anything disagrees.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator

from recomputation.second import Recomputed, recomputed, suits
from symderiv.verification.claim import Claim
from symderiv.verification.library import names, paper
from symderiv.verification.run import arithmetic

Sample = Iterator[tuple[str, Claim, list[Recomputed]]]


def sample(points: int, each: int, seed: int, first: int = 0) -> Sample:
    """Paper, claim and its recomputed points, until there are ``points`` of them.

    ``first`` claims of the random order are left out: they were tried before.
    """
    claims = [(name, claim) for name in names() for claim in paper(name).claims if suits(claim)]
    random.Random(seed).shuffle(claims)
    done = 0
    for name, claim in claims[first:]:
        if done >= points:
            return
        found = recomputed(claim, each)
        done += len(found)
        yield name, claim, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=600)
    parser.add_argument("--each", type=int, default=4, help="points of a claim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="leave out so many claims")
    options = parser.parse_args()
    print(f"first: {arithmetic('mpmath')}; second: {arithmetic('arb')}; seed {options.seed}")
    counts: Counter[tuple[str, str]] = Counter()
    claims, without, values, wrong = 0, 0, 0, 0
    for name, claim, found in sample(options.points, options.each, options.seed, options.first):
        claims += bool(found)
        without += not found
        for point in found:
            counts[name, point.how] += 1
            values += point.values
            for sentence in point.disagreements:
                wrong += 1
                print(f"{name}, equation {claim.name}: {sentence}")
    for (name, how), count in sorted(counts.items()):
        print(f"{name:28} {how:18} {count:5d} points")
    print(
        f"{sum(counts.values())} points of {claims} claims recomputed ({values} values), "
        f"{wrong} disagreements; {without} claims use what the second arithmetic has not"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
