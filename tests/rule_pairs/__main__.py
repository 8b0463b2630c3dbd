"""``make rule-pairs``: pairs of keys of rules, and a sample of triples, each solved or refused.

With ``--sgd`` runs of SGD are compared with the equations of each.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from multiprocessing import get_context
from pathlib import Path

from rule_pairs.campaign import Found, followed, together, tried


def main() -> None:
    parser = argparse.ArgumentParser(prog="rule_pairs", description=__doc__)
    parser.add_argument("--activation", default="erf")
    parser.add_argument("--pairs", type=int, help="only so many, at random")
    parser.add_argument("--triples", type=int, default=100, help="at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", action="store_true", help="state them all, solve nothing")
    parser.add_argument("--sgd", action="store_true", help="compare SGD with the equations")
    parser.add_argument("--results", type=Path, help="lines of what is done; goes on behind them")
    options = parser.parse_args()
    source = random.Random(options.seed)
    pairs, triples = list(together(2)), list(together(3))
    if options.sgd:
        # equations without noise of steps are those of small rates
        pairs, triples = ([f for f in each if "small rates" not in f] for each in (pairs, triples))
    if options.pairs is not None:
        pairs = source.sample(pairs, options.pairs)
    chosen = [*pairs, *source.sample(triples, min(options.triples, len(triples)))]
    done: dict[str, str] = {}
    if options.results and options.results.exists():
        lines = options.results.read_text(encoding="utf-8").splitlines()
        done = {line.split("\t")[0]: line.split("\t")[1] for line in lines}
    counts: Counter[str] = Counter()
    for features in chosen:
        name = " + ".join(features)
        if name in done:
            counts[done[name]] += 1
            continue
        if options.sgd:
            found = followed(features, activation=options.activation)
        else:
            found = _apart(features, not options.state, options.activation)
        counts[found.ending] += 1
        line = f"{name}\t{found.ending}\t{found.seconds:.2f} s\t{found.reason}"
        if options.results:
            with options.results.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        if found.ending == "wrong" or not options.state:
            print(line, file=sys.stderr, flush=True)
    print(", ".join(f"{ending}: {count}" for ending, count in sorted(counts.items())))
    sys.exit(counts["wrong"] > 0)


def _apart(features: tuple[str, ...], solve: bool, activation: str) -> Found:
    """In a process of its own where something is compiled, which is not needed any more then."""
    if not solve:
        return tried(features, solve=False, activation=activation)
    with get_context("fork").Pool(1) as pool:
        return pool.apply(tried, (features,), {"solve": True, "activation": activation})


if __name__ == "__main__":
    main()
