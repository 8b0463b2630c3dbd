"""What size of error the check of generated modules notices; prints the tables of its note.

    python benchmarks/generation_check.py

Every scalar function of a module is multiplied by 1 + e in turn; then single signs, numbers and
indices of the text are changed at random places (some of these changes change no value).
"""

from __future__ import annotations

import random
import re
import time

from symderiv.learning.generated_check import GeneratedError, check_generated
from symderiv.learning.problem import LearningProblem, learning_problem
from symderiv.learning.recipes import generate

PAIRS = (("erf", "erf"), ("relu", "relu"), ("quadratic", "erf"), ("relu", "tanh"))
SIZES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
CHANGES = ((" + ", " - "), (" - ", " + "), (" * ", " / "), ("0.5", "0.6"), ("2.0", "3.0"))
CHANGES += (("[i, j]", "[j, j]"), ("[i, n]", "[j, n]"), ("c12", "c11"), ("c13", "c12"))


def noticed(text: str, problem: LearningProblem) -> bool:
    """Whether a text is refused."""
    try:
        check_generated(text, problem)
    except (GeneratedError, ArithmeticError, LookupError, NameError, SyntaxError, TypeError):
        return True
    return False


def scaled(text: str, name: str, size: float) -> str:
    """The text with one of its functions multiplied by ``1 + size``."""
    lines = (
        f"\n_right = {name}",
        f"def _wrong(*a): return {1 + size!r} * _right(*a)",
        "_wrong.__doc__ = _right.__doc__",
        f"{name} = _wrong\n",
    )
    return text + "\n".join(lines)


def main() -> None:
    """Both tables."""
    for student, teacher in PAIRS:
        problem = learning_problem(student, teacher)
        text = generate("module", student, teacher)
        start = time.process_time()
        check_generated(text, problem)
        print(f"{student}|{teacher}: {time.process_time() - start:.2f} s")
        for name in re.findall(r"^def (i\d\w*)\(", text, re.M):
            least = next((s for s in SIZES if noticed(scaled(text, name, s), problem)), None)
            print(f"    {name:14} {least if least is not None else 'nothing up to 1'}")
        rng, found, body = random.Random(1), [], text.index("\ndef i2")
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
            found.append(noticed(wrong, problem))
            if not found[-1]:
                print(f"      not noticed: {old.strip()!r} -> {new.strip()!r}: {line.strip()[:70]}")
        print(f"    changes of the text noticed: {sum(found)} of {len(found)}")


if __name__ == "__main__":
    main()
