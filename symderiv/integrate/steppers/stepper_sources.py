"""Source files of the stepper, and the digest by which its compiled code is kept."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import symderiv_kernels.layout

_STEPPING = Path(__file__).parent
_ENGINE = _STEPPING.parents[1]
_KERNELS = Path(str(symderiv_kernels.layout.__file__)).parent
#: All that the stepper is compiled from, beside what a solver module brings.
SOURCES = (
    *(_STEPPING / f"{name}.py" for name in ("stepper", "memory", "one_or_eight", "between_steps")),
    *(_STEPPING / f"{name}.py" for name in ("cone", "explicit_steps", "dop853_table")),
    *(_STEPPING / f"implicit_{name}.py" for name in ("table", "work", "jacobian", "systems")),
    *(_STEPPING / f"{name}.py" for name in ("implicit_steps", "coupled_modes")),
    _ENGINE / "compiled_code" / "compiled.py",
    _ENGINE / "problem" / "flat_layout.py",
    *(_KERNELS / name for name in ("layout.py", "fast/runtime.py", "lanes/runtime.py")),
)


@cache
def stepper_digest() -> str:
    """Return the digest of the stepper's sources; numba alone looks at one file only."""
    digest = hashlib.sha256()
    for path in SOURCES:
        digest.update(path.read_bytes())
    return digest.hexdigest()
