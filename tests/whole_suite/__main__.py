"""``make test-all``: every test, also those dealt to other days; exits 1 if a file did not pass.

cd tests; python -m whole_suite [--only FOLDER ...] [--processes N] [--anew] [--results FOLDER]

A stopped run goes on where it was. Files that failed, or whose own text has changed, are run again;
what passed with another engine is run again once everything has passed, and named until then.
"""

import argparse
import shutil
import sys
from pathlib import Path

from whole_suite.campaign import TOP, Campaign


def main() -> None:
    parser = argparse.ArgumentParser(prog="whole_suite", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="FOLDER", help="of tests/")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--anew", action="store_true", help="forget what has passed")
    parser.add_argument("--results", type=Path, default=TOP / "build" / "whole-suite")
    options = parser.parse_args()
    if options.anew:
        shutil.rmtree(options.results, ignore_errors=True)
    campaign = Campaign(TOP / "tests", options.results, tuple(options.only))
    campaign.run(options.processes)
    print(campaign.summary())
    sys.exit(not campaign.passed)


if __name__ == "__main__":
    main()
