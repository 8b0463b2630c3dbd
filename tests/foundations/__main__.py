"""Find out what the claims of all papers rest on, store it, and print the counts.

    python -m foundations [--anew] [--all] [--paper NAME]

The engine's Gaussian means, its flow, its error, its plateau, its linear theory and its data models
are changed by parts in a million, one after the other; a claim notices if its verdict or its
measured numbers change. One that notices nothing has to name what it rests on. Without --anew only
claims that are not in the table yet are tried; with --all every perturbation on every claim, else
each claim until it notices one. The exit code is 1 if a claim neither notices nor names anything.
"""

import argparse
import sys

from symderiv_ledger.papers.known_papers import names

from foundations.table import Rows, computed, counts, defects, read, tried, written
from symderiv.foundation import derivation_cache


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anew", action="store_true", help="forget what is stored")
    parser.add_argument("--all", action="store_true", help="every perturbation on every claim")
    parser.add_argument("--paper", help="only this paper")
    parser.add_argument("--unnamed", action="store_true", help="only claims that name nothing")
    options = parser.parse_args()
    derivation_cache.enabled = False  # what a changed engine derives is nobody else's
    stored = {} if options.anew else read()

    def keep(words: str, rows: Rows) -> None:
        """What is known is stored after every perturbation, so that a run can be continued."""
        print(words, flush=True)
        written(stored | rows)

    for name in names():
        claims = tried(name)
        rows = {f"{name}: {claim.name}": claim for claim in claims}
        for key in [key for key in stored if key.startswith(f"{name}: ") and key not in rows]:
            del stored[key]
        if options.paper in (None, name):
            chosen = [one for one in claims if not (options.unnamed and one.rests_on)]
            stored |= computed(name, chosen, stored, keep, all_of_them=options.all)
    written(stored)
    for line in counts(stored):
        print(line)
    wrong = defects(stored)
    for key in wrong:
        print(f"{key} notices nothing and rests on nothing that is named")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
