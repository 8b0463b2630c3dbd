"""``python -m hostile.refusals``: what can be refused is refused first.

* options: one option of a valid call of any command, or a key of a study, is empty, as long as a
  name of a file may be, enormous, infinite, not a number, negative, a word of Python.
* formulas: what is no formula, or grows beyond bounds, wherever a formula may stand.
* studies: those of ``examples/`` with lines changed, left out, cut off.

A call that is refused must be refused within a second of processor time, in one line, before it has
written or made anything.
"""

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from support.hostile_formulas import NOT_FORMULAS, TOO_LARGE

from hostile.calls import (
    CALLS,
    LEFT_OUT,
    ONE_STEP,
    STUDY,
    HostileCall,
    broken_study,
    options_of,
)
from hostile.campaign import Ending, carry_out, warm_up

#: Processor seconds after which a refusal comes late, where nothing else is said.
SOON = 1.0
#: Processor seconds after which a call that was not refused is ended.
ENOUGH = 5
#: What a refusal says that only a computation can find out.
FOUND_OUT = ("the full flow has a stationary symmetric plateau only up to",)
#: The longest word that a system takes on a command line is longer.
_LONGEST_WORD = 120_000

LONG = "x" * 255
VALUES = (
    *("", LONG, "x" * 251 + ".svg", "x" * 252 + ".nc", "α" * 127, "1000000000", "1e9"),
    *("inf", "-inf", "nan", "-1", "0", "class", "match", "__init__", "json", "two words", "."),
)
#: The same for keys of studies.
KEY_VALUES = ('""', f'"{LONG}"', "1000000000", "1e300", "inf", "nan", "-1", "0", '"class"', "[]")

#: Calls with a place for a formula.
FORMULAS = (
    ("expect", "{}", "--covariance", "[[1,0,0],[0,1,0],[0,0,1]]"),
    ("integral", "i2", "--activation", "{}", "--covariance", "[[1,0.2],[0.2,1]]"),
    ("check", "i2", "--activation", "erf", "--formula", "{}"),
    ("derive", "--activation", "{}"),
    ("derive", "--activation", "linear", "--loss", "{}"),
    ("generate", "--activation", "{}", "--name", "own_module"),
    ("plateau", "--units", "2", "--T1", "{}", "--D1", "0", "--T2", "1", "--D2", "0"),
)
STUDY_FORMULAS = ('activation = "erf"', 'student_weights = "1/sqrt(M)"')


def options() -> Iterator[HostileCall]:
    """Every option of every command, every argument, keys of studies, with every value."""
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
    for name, text, command in (("s.toml", STUDY, "solve"), ("o.toml", ONE_STEP, "one-step")):
        for line in text.splitlines():
            key, equals, _ = line.partition("=")
            for value in KEY_VALUES if equals else ():
                changed = text.replace(line, f"{key}= {value}")
                yield HostileCall((command, name), ((name, changed.encode()),))


def formulas() -> Iterator[HostileCall]:
    """Every hostile formula at every place for one."""
    for formula in (*NOT_FORMULAS, *TOO_LARGE):
        if _is_word(formula):
            for words in FORMULAS:
                if words[0] == "check" and "=" in formula:
                    continue  # the left side of an equation is a name there
                yield HostileCall(tuple(formula if word == "{}" else word for word in words))
        for line in STUDY_FORMULAS:
            key = line.partition("=")[0]
            quoted = formula.replace("\\", "\\\\").replace('"', '\\"')
            changed = STUDY.replace(line, f'{key}= "{quoted}"')
            content = changed.encode("utf-8", "surrogatepass")
            yield HostileCall(("solve", "s.toml"), (("s.toml", content),))


def _is_word(text: str) -> bool:
    """Whether a system takes a text on a command line."""
    try:
        return len(os.fsencode(text)) < _LONGEST_WORD and "\0" not in text
    except UnicodeEncodeError:
        return False


def studies() -> Iterator[HostileCall]:
    """Studies of ``examples/``, each broken in several ways."""
    source = random.Random(0)
    texts = [path.read_text() for path in sorted(_examples().rglob("*.toml"))]
    for _ in range(20):
        for text in texts:
            content = broken_study(source, text)
            yield HostileCall(("solve", "s.toml"), (("s.toml", content),))


def _examples() -> Path:
    return Path(__file__).parents[2] / "examples"


KINDS = {"options": options, "formulas": formulas, "studies": studies}


def judged(ending: Ending, kind: str, soon: float = SOON) -> list[str]:
    """Return the faults of an ending: also a refusal that is late, or that leaves something."""
    found = list(ending.faults)
    late = ending.code == 2 and ending.seconds > soon
    late = late and not any(words in ending.err for words in FOUND_OUT)
    # the machine may have been busy: what is slow is slow twice
    if late and carry_out(ending.call, ENOUGH).seconds > soon:
        found.append(f"refused after {ending.seconds:.1f} s")
    if ending.code == 2 and ending.left:
        found.append(f"refused and left {', '.join(ending.left)[:200]}")
    if kind == "formulas" and ending.code != 2:
        found.append(f"a hostile formula ends with {ending.code}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="hostile.refusals", description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("K", "N"),
                        help="every N-th call, beginning with the K-th")  # fmt: skip
    parser.add_argument("--only", nargs="+", help="these commands")
    parser.add_argument("--soon", type=float, default=SOON, metavar="SECONDS",
                        help=f"processor time of a refusal ({SOON:g})")  # fmt: skip
    asked = parser.parse_args()
    warm_up()
    faults = 0
    for kind in asked.kinds:
        codes: Counter[str] = Counter()
        calls = (c for c in KINDS[kind]() if not asked.only or c.words[0] in asked.only)
        first, step = asked.part
        for call in islice(calls, first, None, step):
            ending = carry_out(call, ENOUGH)
            codes["at work" if ending.code < 0 else f"exit code {ending.code}"] += 1
            found = judged(ending, kind, asked.soon)
            faults += bool(found)
            if found:
                _tell(ending, found)
        ends = ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
        print(f"{kind:<10}{sum(codes.values()):>6} calls: {ends}", flush=True)
    print(f"faults: {faults or 'none'}")
    sys.exit(bool(faults))


def _tell(ending: Ending, faults: list[str]) -> None:
    words = " ".join(repr(word[:60]) for word in ending.call.words)
    print(f"{', '.join(faults)}: {words}", flush=True)
    for _, content in ending.call.files:
        known = set((STUDY + ONE_STEP).splitlines())
        lines = content.decode("utf-8", "replace").splitlines()
        print(f"    {[line for line in lines if line not in known]}"[:300])
    print("    " + ending.err[-300:].replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    main()
