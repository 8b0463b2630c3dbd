"""Coq checks exported enclosures of a right-hand side and of closed means, and refuses wrong ones.

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

_SECONDS = 600.0


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
    if "Cannot find" in done.stderr:
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
    for name, text in wrong(exported("erf")).items():
        refused = not accepted(text)
        failed |= not refused
        print(f"{name}: {'refused' if refused else 'NOT REFUSED'}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
