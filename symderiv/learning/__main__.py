"""``python -m symderiv.learning DIRECTORY [--check]``: writes or compares the kept modules."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from symderiv.errors import SymderivError
from symderiv.learning.recipes import write_checked_in


def main() -> int:
    """0 when everything was written or agrees, 1 when a module differs or is missing."""
    parser = argparse.ArgumentParser(prog="python -m symderiv.learning", description=__doc__)
    parser.add_argument("directory", type=Path, help="e.g. generated/symderiv_kernels")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    try:
        for path in write_checked_in(arguments.directory, arguments.check):
            print(path)
    except SymderivError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
