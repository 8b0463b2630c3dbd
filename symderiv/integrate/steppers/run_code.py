"""The compiled code of a run: from the file that an earlier run left, or from numba.

The file (:mod:`symderiv.compiled_code.machine_code`) belongs to one solver module and one pair (K,
M); numba and the solver module are not imported where it is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import symderiv_kernels.layout

import symderiv
from symderiv.compiled_code.machine_code import MachineCode, code_path, is_possible, load
from symderiv.storage.kernels import Kernel

#: All that ``advance`` is compiled from, beside what a solver module brings.
_SOURCES = (
    "compiled_code/compiled.py",
    "integrate/steppers",
    "integrate/flows",
    "problem/flat_layout.py",
)


@dataclass(frozen=True)
class RunCode:
    """What a run of plain descent calls.

    Attributes:
        right_hand_side: on flat vectors, for K students and M teachers.
        generalization_error: of Q, R, T, v and the teacher's weights.
        advance: the stepper; None for numba's.
    """

    right_hand_side: Callable[..., None]
    generalization_error: Callable[..., float]
    advance: Callable[..., int] | None = None


# Files that were read or written in this process, and those that could not be written.
_known: dict[Path, RunCode | None] = {}


def run_code(kernel: Kernel, K: int, M: int) -> RunCode:
    """The compiled code of a run, without numba where an earlier one left it."""
    path = _path(kernel, K, M)
    if path is not None:
        found = _known.get(path) or _read(path)
        if found is not None:
            _known[path] = found
            return found
    return RunCode(kernel.right_hand_side_for(K, M), kernel.module.generalization_error)


def keep_code(kernel: Kernel, K: int, M: int, code: RunCode) -> None:
    """Keep the code of a run that was made, for the next process; once in each."""
    path = _path(kernel, K, M)
    if path is None or path in _known or code.advance is not None:
        return
    from symderiv.compiled_code import object_code
    from symderiv.integrate.steppers.stepper import advance

    _known[path] = None
    object_code.keep(
        path,
        {
            "advance": advance,
            "right_hand_side": code.right_hand_side,
            "generalization_error": code.generalization_error,
        },
    )


def _read(path: Path) -> RunCode | None:
    found: dict[str, MachineCode] | None = load(path)
    if found is None:
        return None
    names = ("right_hand_side", "generalization_error", "advance")
    parts: list[Any] = [found.get(name) for name in names]
    return None if None in parts else RunCode(*parts)


def _path(kernel: Kernel, K: int, M: int) -> Path | None:
    # modules without a digest of their text are made in memory
    if not kernel.fast_sha256 or not is_possible():
        return None
    return code_path(f"run {K} {M}", (kernel.digests, stepper_digest()))


@cache
def stepper_digest() -> str:
    digest = hashlib.sha256(Path(str(symderiv_kernels.layout.__file__)).read_bytes())
    engine = Path(str(symderiv.__file__)).parent
    for source in _SOURCES:
        place = engine / source
        for path in sorted(place.glob("*.py")) if place.is_dir() else [place]:
            digest.update(path.read_bytes())
    return digest.hexdigest()
