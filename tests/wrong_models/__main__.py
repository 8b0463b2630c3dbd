"""Put wrong models in the place of the right one in the central claim of every paper.

    python -m wrong_models [--paper NAME]

The central claims are named in ``wrong_models/central``, one module per paper, each with at least
ten models that are wrong on purpose: a term left out, another factor, another degree. For each of
them the claim is tried by its own rule at its own points. The table says which are rejected and by
what; the exit code is 1 if a wrong model passes or stops with an error, or the right one fails.
"""

import argparse
import sys
from time import process_time

from wrong_models.trial import Found, central_claims, tried, tried_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paper", help="only the claims of this paper")
    options = parser.parse_args()
    chosen = [one for one in central_claims() if options.paper in (None, one.paper)]
    if not chosen:
        parser.error(f"no central claim of {options.paper or 'any paper'} is registered")
    count = rejected = failed = 0
    for central in chosen:
        start = process_time()
        print(f"\n{central.paper}: {central.claim}\n  {central.why}", flush=True)
        right = tried_right(central)
        failed += right.rejected or not right.computed
        print(_line("the right model", right), flush=True)
        for wrong in central.wrong:
            found = tried(central, wrong)
            count += 1
            rejected += found.rejected
            print(_line(wrong.words, found), flush=True)
        print(f"  {process_time() - start:.0f} CPU s", flush=True)
    print(f"\n{len(chosen)} central claims, {failed} of them reject their own model;", end=" ")
    print(f"{rejected} of {count} wrong models rejected")
    return int(failed > 0 or rejected < count)


def _line(words: str, found: Found) -> str:
    verdict = "rejected" if found.rejected else "accepted" if found.computed else "error"
    return f"  {words:<56} {verdict:<9} {found.summary}"


if __name__ == "__main__":
    sys.exit(main())
