"""Find out what the claims of all papers rest on, store it, and print the counts.

    python -m foundations [--anew] [--all] [--paper NAME]

The engine's Gaussian means, its flow, its error, its plateau, its linear theory and its data models
are changed by parts in a million, one after the other; a claim notices if its verdict or its
measured numbers change. One that notices nothing has to name what it rests on. Without --anew only
claims that are not in the table yet are tried; with --all every perturbation on every claim, else
each claim until it notices one. The exit code is 1 if a claim neither notices nor names anything.
"""

from __future__ import annotations

import argparse
import sys

from foundations.table import computed, counts, defects, read, tried, written
from symderiv.verification.library import names


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--anew", action="store_true", help="forget what is stored")
    parser.add_argument("--all", action="store_true", help="every perturbation on every claim")
    parser.add_argument("--paper", help="only this paper")
    options = parser.parse_args()
    stored = read()
    rows = {}
    for name in names():
        own = {key: row for key, row in stored.items() if key.startswith(f"{name}: ")}
        if options.paper not in (None, name):
            rows |= own
            continue
        known = {} if options.anew else own
        rows |= computed(name, tried(name), known, lambda words: print(words, flush=True),
                         all_of_them=options.all)  # fmt: skip
        written(rows | {key: row for key, row in stored.items() if key not in rows})
    written(rows)
    for line in counts(rows):
        print(line)
    wrong = defects(rows)
    for key in wrong:
        print(f"{key} notices nothing and rests on nothing that is named")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
