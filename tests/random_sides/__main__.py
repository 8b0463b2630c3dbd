"""Find claims that are true by construction, with random functions in place of their sides.

    python -m random_sides [--paper NAME] [--all]

A claim that is counted as verified has to depend on something. Four ways find those that do not.
Every quantity of the true statement, on whichever side, is replaced by a function of the same
arguments, drawn at random: numbers, entries with indices, functions, matrices, symmetric where the
claim says so, with the claim's own rule (``draws``). Where a statement is about random variables,
their law and they themselves are drawn, and what the points make of them is made of those
(``laws``). Sides that are one formula up to the order of terms need no numbers (``texts``), and
two names whose values agree to the last bit at every point are one number.

What holds in all sixteen draws is a definition and must say so in its file. Two kinds stay claims,
and --all lists them: a step between two prints that are written differently, where it is the
algebra that is claimed, and a print that fails although its correction is an identity. Equations,
inequalities and chains are all tried, with each kind of side: sums, products, integrals,
derivatives, matrices, cases. Nothing can be drawn for a claim without a statement (a definition in
words, a claim that is not checkable). What points compute of one another in code of their own is
seen where it is about laws, and else only as one number under two names. The exit code is 1 if a
claim is true by construction and counted, or if no draw has a value.
"""

import argparse
import sys

from symderiv_ledger.papers.known_papers import names, paper

from random_sides.search import answer, counted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", choices=names(), help="only this paper")
    parser.add_argument("--all", action="store_true", help="also list steps between prints")
    options = parser.parse_args()
    tried = wrong = 0
    kinds: dict[str, int] = {}
    for name in [options.paper] if options.paper else names():
        for claim in counted(paper(name).claims):
            found = answer(name, claim)
            tried += 1
            kinds[found.kind] = kinds.get(found.kind, 0) + 1
            wrong += found.is_construction
            if found.is_construction or found.kind == "no value" or (options.all and found.words):
                print(f"{name}: {claim.name}: {found.kind}; {found.words}".rstrip("; "), flush=True)
    print(", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    print(
        "claims that hold for a random function in place of a side, counted as verified: "
        f"{wrong} of {tried}"
    )
    return int(wrong > 0 or "no value" in kinds)


if __name__ == "__main__":
    sys.exit(main())
