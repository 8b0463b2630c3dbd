"""``make hostile``: generated calls of all commands, and how they ended."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from hostile.calls import calls
from hostile.campaign import run, warm_up


def main() -> None:
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--calls", type=int, default=2600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="leave out the calls before this")
    options = parser.parse_args()
    warm_up()
    codes: Counter[tuple[str, int]] = Counter()
    faults: Counter[str] = Counter()
    longest = 0.0
    chosen = list(calls(options.seed, options.calls))[options.first :]
    for index, ending in enumerate(run(chosen), start=options.first):
        codes[ending.call.words[0] if ending.call.words else "", ending.code] += 1
        faults.update(ending.faults)
        longest = max(longest, ending.seconds)
        if ending.faults:
            words = " ".join(repr(word[:80]) for word in ending.call.words)
            print(f"{index}: {', '.join(ending.faults)}: {words}", flush=True)
            for _, content in ending.call.files:
                print(f"    study: {content!r}", flush=True)
            print("    " + "\n    ".join(ending.err.splitlines()[-6:])[:1500], flush=True)
    commands = sorted({name for name, _ in codes})
    print(f"{'command':<14}{'calls':>7}{'exit 0':>8}{'exit 1':>8}{'exit 2':>8}")
    for name in commands:
        if sum(n for (c, _), n in codes.items() if c == name) >= 10:
            counts = [codes[name, code] for code in (0, 1, 2)]
            print(f"{name:<14}{sum(counts):>7}" + "".join(f"{count:>8}" for count in counts))
    total = sum(codes.values())
    print(f"{total} calls, longest {longest:.1f} CPU s; faults: {dict(faults) or 'none'}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
