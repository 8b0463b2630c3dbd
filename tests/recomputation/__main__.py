"""Recompute points of the ledger in a second arithmetic, and print how many agree.

    python -m recomputation [--points 600] [--each 4] [--seconds 12] [--seed 1] [--first 0]

Claims are taken in random order, some points of each, until there are enough; one that takes more
CPU seconds than a claim may is left, and counted. The exit code is 1 if anything disagrees.
"""

import argparse
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.papers.known_papers import names, paper
from symderiv_ledger.papers.paper_run import arithmetic

from recomputation.second import Recomputed, recomputed, suits

Sample = Iterator[tuple[str, Claim, list[Recomputed] | None]]


#: CPU time for a claim.
SECONDS = 12.0


class _TooLongError(BaseException):
    """A claim has taken its time; nothing on the way up may take this for an error of its own."""


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def sample(points: int, each: int, seed: int, first: int = 0, seconds: float = SECONDS) -> Sample:
    """Paper, claim and its recomputed points (None: too long), until there are ``points``.

    ``first`` claims of the random order are left out: they were tried before.
    """
    claims = [(name, claim) for name in names() for claim in paper(name).claims if suits(claim)]
    random.Random(seed).shuffle(claims)
    done = 0
    for name, claim in claims[first:]:
        if done >= points:
            return
        found: list[Recomputed] | None = None
        try:
            with _at_most(seconds):
                found = recomputed(claim, each)
        except _TooLongError:
            pass
        done += len(found or ())
        yield name, claim, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=600)
    parser.add_argument("--each", type=int, default=4, help="points of a claim")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of CPU time for a claim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="leave out so many claims")
    options = parser.parse_args()
    print(f"first: {arithmetic('mpmath')}; second: {arithmetic('arb')}; seed {options.seed}")
    counts: Counter[tuple[str, str]] = Counter()
    claims, without, long, values, wrong = 0, 0, 0, 0, 0
    chosen = (options.points, options.each, options.seed, options.first, options.seconds)
    for name, claim, found in sample(*chosen):
        claims += bool(found)
        long += found is None
        without += found == []
        for point in found or ():
            counts[name, point.how] += 1
            values += point.values
            for sentence in point.disagreements:
                wrong += 1
                print(f"{name}, equation {claim.name}: {sentence}")
    for (name, how), count in sorted(counts.items()):
        print(f"{name:28} {how:18} {count:5d} points")
    print(
        f"{sum(counts.values())} points of {claims} claims recomputed ({values} values), "
        f"{wrong} disagreements; {without} claims use what the second arithmetic has not, {long} "
        f"take more than {options.seconds:g} CPU s; {time.process_time():.0f} CPU s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
