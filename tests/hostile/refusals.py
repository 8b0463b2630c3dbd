"""``python -m hostile.refusals``: every option of every command with values nobody should give.

One option of a valid call is wrong, or a key of a study: empty, as long as a name of a file may be,
enormous, infinite, not a number, negative, a word of Python. A call that is refused must be refused
within a second of processor time, before it has written or made anything.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from hostile.calls import CALLS, LEFT_OUT, ONE_STEP, STUDY, HostileCall, options_of
from hostile.campaign import Ending, carry_out, run, warm_up

#: Processor seconds after which a refusal comes late.
SOON = 1.0
#: Processor seconds after which a call that was not refused is ended.
ENOUGH = 5

#: As long as a name of a file may be, and with what is put behind names.
LONG = "x" * 255
VALUES = (
    *("", LONG, "x" * 251 + ".svg", "x" * 252 + ".nc", "α" * 127, "1000000000", "1e9"),
    *("inf", "-inf", "nan", "-1", "0", "class", "match", "__init__", "json", "two words", "."),
)
#: The same for keys of studies.
KEY_VALUES = ('""', f'"{LONG}"', "1000000000", "1e300", "inf", "nan", "-1", "0", '"class"', "[]")


def calls() -> Iterator[HostileCall]:
    """All of them, in a fixed order: options of commands, their arguments, keys of studies."""
    for command, valid in CALLS.items():
        first = valid[0]
        for option in options_of(command):
            if option not in LEFT_OUT:
                for value in VALUES:
                    yield HostileCall((command, *first, f"{option}={value}"))
        for place, word in enumerate(first):
            if place == 0 or not (word.startswith("--") or first[place - 1].startswith("--")):
                for value in VALUES:
                    yield HostileCall((command, *first[:place], value, *first[place + 1 :]))
    yield from chain(_keys("s.toml", STUDY, "solve"), _keys("o.toml", ONE_STEP, "one-step"))


def _keys(name: str, text: str, command: str) -> Iterator[HostileCall]:
    lines = text.splitlines()
    for place, line in enumerate(lines):
        key, equals, _ = line.partition("=")
        for value in KEY_VALUES if equals else ():
            changed = "\n".join([*lines[:place], f"{key}= {value}", *lines[place + 1 :], ""])
            yield HostileCall((command, name), ((name, changed.encode()),))


def judged(ending: Ending) -> list[str]:
    """The faults of an ending, among them a refusal that comes late or leaves something."""
    found = list(ending.faults)
    if ending.code == 2 and ending.seconds > SOON:
        # the machine may have been busy: what is slow is slow twice
        again = carry_out(ending.call, ENOUGH)
        if again.seconds > SOON:
            found.append(f"refused after {ending.seconds:.1f} s")
    if ending.code == 2 and ending.left:
        found.append(f"refused and left {', '.join(ending.left)[:200]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="hostile.refusals", description=__doc__)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("K", "N"),
                        help="every N-th call, beginning with the K-th")  # fmt: skip
    parser.add_argument("--only", nargs="+", help="these commands")
    options = parser.parse_args()
    first, step = options.part
    warm_up()
    codes: Counter[str] = Counter()
    faults = 0
    chosen = (call for call in calls() if not options.only or call.words[0] in options.only)
    for ending in run(islice(chosen, first, None, step), ENOUGH):
        codes["at work" if ending.code < 0 else f"exit code {ending.code}"] += 1
        found = judged(ending)
        faults += bool(found)
        if found or ending.code < 0:
            words = " ".join(repr(word[:60]) for word in ending.call.words)
            print(f"{', '.join(found) or 'at work'}: {words}", flush=True)
            for _, content in ending.call.files:
                changed = set(content.decode().splitlines()) - set((STUDY + ONE_STEP).splitlines())
                print(f"    {changed}"[:200])
            print("    " + ending.err[-300:].replace("\n", "\n    "), flush=True)
    print(", ".join(f"{count} {code}" for code, count in sorted(codes.items())))
    print(f"{sum(codes.values())} calls; faults: {faults or 'none'}")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
