"""What size of error the check of generated modules notices; prints the tables of its note.

    python benchmarks/generation_check.py [STUDENT|TEACHER ...]

Every scalar function of a module is made wrong by e in parts of its value in turn (by e itself
where it is 0); then single signs, numbers and indices of the text are changed at random places
(some of these changes change no value).
"""

from __future__ import annotations

import random
import re
import sys
import time
from bisect import bisect
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from symderiv.checking.generated_check import GeneratedError, check_generated
from symderiv.checking.recipes import unchecked
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.solver_files import SolverText

PAIRS = (
    *("erf|erf", "relu|relu", "quadratic|erf", "relu|tanh", "relu|x/(1+Abs(x))"),
    *("Max(x,x/10)|x/(1+Abs(x))", "x/(1+Abs(x))|x/(1+Abs(x))", "silu|atan(x)"),
)
SIZES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
CHANGES = ((" + ", " - "), (" - ", " + "), (" * ", " / "), ("0.5", "0.6"), ("2.0", "3.0"))
CHANGES += (("[i, j]", "[j, j]"), ("[i, n]", "[j, n]"), ("c12", "c11"), ("c13", "c12"))


def noticed(check: Callable[[SolverText], None], text: SolverText) -> bool:
    """Whether a text is refused."""
    try:
        check(text)
    except (GeneratedError, ArithmeticError, LookupError, NameError, SyntaxError, TypeError):
        return True
    return False


def off(text: SolverText, name: str, size: float) -> SolverText:
    """The texts with a function wrong by a relative ``size`` wherever they have it."""
    lines = (
        f"\n_right = {name}",
        "def _wrong(*a):",
        "    value = _right(*a)",
        f"    return value + {size!r} * (abs(value) if abs(value) > 1e-12 else 1.0)",
        "_wrong.__doc__ = _right.__doc__",
        f"{name} = _wrong\n",
    )
    wrong = {
        module: getattr(text, module) + "\n".join(lines)
        for module in ("readable", "fast")
        if f"\ndef {name}(" in getattr(text, module)
    }
    return replace(text, **wrong)


def main() -> None:
    """Both tables."""
    for pair in sys.argv[1:] or PAIRS:
        student, teacher = pair.split("|")
        problem = learning_problem(student, teacher)
        text, compiled = unchecked("module", problem)

        check = partial(check_generated, problem=problem, compiled=compiled)
        start = time.process_time()
        check(text)
        print(f"{pair}: {time.process_time() - start:.2f} CPU s", flush=True)
        for name in re.findall(r"^def (i\d\w*)\(", text.readable, re.M):
            found = bisect(SIZES, False, key=lambda size: noticed(check, off(text, name, size)))
            print(f"    {name:14} {SIZES[found] if found < len(SIZES) else 'nothing up to 1'}")
        for module in ("readable", "fast"):
            changed(check, text, module)


def changed(check: Callable[[SolverText], None], solver: SolverText, module: str) -> None:
    """How many of forty random changes of one of the texts are noticed."""
    text = getattr(solver, module)
    rng, found, body = random.Random(1), [], text.index("\n@_compiled")
    while len(found) < 40:
        old, new = rng.choice(CHANGES)
        places = [m.start() for m in re.finditer(re.escape(old), text) if m.start() > body]
        if not places:
            continue
        place = rng.choice(places)
        line = text[text.rfind("\n", 0, place) + 1 : text.find("\n", place)]
        if '"""' in line or line.lstrip().startswith("#"):
            continue
        wrong = text[:place] + new + text[place + len(old) :]
        found.append(noticed(check, replace(solver, **{module: wrong})))
        if not found[-1]:
            print(f"      not noticed: {old.strip()!r} -> {new.strip()!r}: {line.strip()[:70]}")
    print(f"    changes of the {module} text noticed: {sum(found)} of {len(found)}")


if __name__ == "__main__":
    main()
