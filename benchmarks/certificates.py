"""Coq checks exported enclosures of a right-hand side and of closed means, and fixed points, and
refuses wrong ones.

python -m benchmarks.certificates

It needs coqc with coq-interval; where they are not installed it says so, and nothing is checked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import symderiv as sd

_SECONDS = 1800.0


def exported(activation: str) -> str:
    """Return the Coq file of one teacher and two students, or one where there are no more."""
    problem = sd.Problem(
        activation,
        students=2 if activation == "erf" else 1,
        teachers=1,
        learning_rate=2.0,
        label_noise=0.25,
        student_std=1.0,
        inputs=sd.Isotropic(20),
        seed=1,
    )
    return problem.export("coq").to_source()


def fixed_point(activation: str, teachers: int = 2) -> str:
    """Return the Coq file of the fixed point of one student between teachers."""
    problem = sd.Problem(
        activation,
        students=1,
        teachers=teachers,
        learning_rate=0.5,
        label_noise=0.25,
        student_weights=1.0,
        teacher_weights=1.0,
        inputs=sd.Isotropic(100),
        seed=1,
    )
    return problem.export("coq", fixed_point=1).to_source()


def wrong_fixed_points(source: str) -> dict[str, str]:
    """Return files that claim something wrong of a fixed point."""
    middle = re.search(r"Definition middle .* 0%nat => \(?(\d+) / (\d+)", source)
    corrected = re.search(r"0%nat => y 0%nat - \((.*?) \* \(t", source)
    operations = list(
        re.finditer(r"(Definition t\d+ \(y .* := \(t\d+ y\) )\+( \(t\d+ y\)\.)", source)
    )
    assert middle is not None
    assert corrected is not None
    moved = str(int(middle[1]) + int(middle[2]) // 10**9)
    entry = corrected[1]
    turned = entry[3:-1] if entry.startswith("(- ") else f"(- {entry})"
    sign = operations[len(operations) // 2]
    return {
        "a box moved by 1e-9": source.replace(
            middle.group(0), middle.group(0).replace(middle[1], moved), 1
        ),
        "a sign of the matrix": source.replace(
            corrected.group(0), corrected.group(0).replace(entry, turned), 1
        ),
        "a sign of the equations": source.replace(sign[0], f"{sign[1]}-{sign[2]}", 1),
    }


def wrong(source: str) -> dict[str, str]:
    """Return files that claim something wrong."""
    definition = re.search(r"Definition (t0_\d+) : R := (t0_\d+) \+ (t0_\d+)\.", source)
    assert definition is not None
    changed = definition.group(0).replace(" + ", " - ")
    theorem = re.search(r"Theorem rate_of_\w+ : \(?-? ?\(?(\d+) / ", source)
    assert theorem is not None
    digits = theorem.group(1)
    moved = theorem.group(0).replace(digits, str(int(digits) * 101 // 100))
    other = theorem.group(0).replace(digits, str(int(digits) * 99 // 100))
    larger = moved if "- " not in theorem.group(0) else other
    return {
        "a sign changed": source.replace(definition.group(0), changed, 1),
        "a bound moved by one part in a hundred": source.replace(theorem.group(0), larger, 1),
    }


def accepted(source: str) -> bool:
    """Return whether Coq proves a file."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "claims.v").write_text(source, encoding="utf-8")
        done = subprocess.run(
            ["coqc", *_options(), "claims.v"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    if "Cannot find a physical path" in done.stderr:
        raise FileNotFoundError(done.stderr.strip().splitlines()[-1])
    return done.returncode == 0


def _options() -> list[str]:
    import os

    return os.environ.get("COQFLAGS", "").split()


def main() -> int:
    warnings.simplefilter("ignore")
    if shutil.which("coqc") is None:
        print("coqc is not installed (with coq-interval): no certificate was checked")
        return 0
    failed = False
    for activation in ("erf", "relu", "linear"):
        source = exported(activation)
        proved = accepted(source)
        failed |= not proved
        lemmas, theorems = source.count("\nLemma "), source.count("\nTheorem ")
        print(
            f"{activation}: {lemmas} lemmas and {theorems} theorems "
            f"{'proved' if proved else 'NOT PROVED'}",
            flush=True,
        )
    for activation in ("linear", "relu", "erf"):
        proved = accepted(fixed_point(activation))
        failed |= not proved
        print(f"fixed point, {activation}: {'proved' if proved else 'NOT PROVED'}", flush=True)
    planted = {**wrong(exported("erf")), **wrong_fixed_points(fixed_point("linear"))}
    for name, text in planted.items():
        refused = not accepted(text)
        failed |= not refused
        print(f"{name}: {'refused' if refused else 'NOT REFUSED'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
