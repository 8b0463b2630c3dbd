"""``make hostile``: generated calls of all commands, and how they ended."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from support.campaign import Kept

from hostile.calls import HostileCall, calls
from hostile.campaign import Ending, carry_out, warm_up


@dataclass(frozen=True)
class Row:
    """How a call ended."""

    command: str
    code: int
    faults: list[str]
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--calls", type=int, default=2600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="leave out the calls before this")
    parser.add_argument(
        "--results", type=Path, help="keep endings there, a line each, and go on behind them"
    )
    options = parser.parse_args()
    codes: Counter[tuple[str, int]] = Counter()
    faults: Counter[str] = Counter()
    longest = 0.0
    for row in _rows(options):
        codes[row.command, row.code] += 1
        faults.update(row.faults)
        longest = max(longest, row.seconds)
    commands = sorted({name for name, _ in codes})
    print(f"{'command':<14}{'calls':>7}{'exit 0':>8}{'exit 1':>8}{'exit 2':>8}{'at work':>9}")
    for name in commands:
        if sum(n for (c, _), n in codes.items() if c == name) >= 10:
            counts = [codes[name, code] for code in (0, 1, 2)]
            ended = sum(n for (c, code), n in codes.items() if c == name and code < 0)
            cells = "".join(f"{count:>8}" for count in counts)
            print(f"{name:<14}{sum(counts) + ended:>7}{cells}{ended:>9}")
    total = sum(codes.values())
    print(f"{total} calls, longest {longest:.1f} CPU s; faults: {dict(faults) or 'none'}")
    sys.exit(bool(faults))


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    """The endings of all calls, those that are kept and those that are left."""
    kept = Kept(options.results, Row, seed=options.seed)
    warm_up()
    each = enumerate(calls(options.seed, options.calls))
    for index, call in islice(each, options.first, None):
        yield kept.of(index, lambda index=index, call=call: _row(index, call))


def _row(index: int, call: HostileCall) -> Row:
    ending = carry_out(call)
    if ending.faults:
        _tell(index, ending)
    name = call.words[0] if call.words else ""
    return Row(name, ending.code, list(ending.faults), ending.seconds)


def _tell(index: int, ending: Ending) -> None:
    words = " ".join(repr(word[:80]) for word in ending.call.words)
    print(f"{index}: {', '.join(ending.faults)}: {words}", flush=True)
    for _, content in ending.call.files:
        print(f"    study: {content!r}", flush=True)
    print("    " + "\n    ".join(ending.err.splitlines()[-6:])[:1500], flush=True)


if __name__ == "__main__":
    main()
