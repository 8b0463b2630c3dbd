"""``make rule-pairs``: pairs of keys of rules, and a sample of triples, each solved or refused.

With ``--sgd`` runs of SGD are compared with the equations of each.
"""

import argparse
import random
import sys
from pathlib import Path

from support.campaign import Kept, apart, counted, told

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
    way = {"activation": options.activation}
    kept = Kept(options.results, Found, sgd=options.sgd, state=options.state, **way)

    def found(features: tuple[str, ...]) -> Found:
        if options.sgd:
            return followed(features, **way)
        if options.state:
            return tried(features, solve=False, **way)
        return apart(tried, features, solve=True, **way)

    def line(each: Found) -> str:
        if options.state and each.ending != "wrong":
            return ""
        name = " + ".join(each.features)
        return f"{name}\t{each.ending}\t{each.seconds:.2f} s\t{each.reason}"

    made = (kept.of(features, lambda features=features: found(features)) for features in chosen)
    counts = counted(each.ending for each in told(made, line))
    sys.exit(counts["wrong"] > 0)


if __name__ == "__main__":
    main()
