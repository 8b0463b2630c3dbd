"""Generated modules as plain Python: for a few calls compilation would take longer."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import symderiv_kernels

from symderiv.lowering.means.uncompiled import uncompiled


@cache
def checked_in(name: str) -> SimpleNamespace:
    """The functions of a readable module that is checked in, the flat ones too."""
    return uncompiled(Path(symderiv_kernels.__path__[0], f"{name}.py").read_text("utf-8"))


def _njit(*signature: Any, **options: Any) -> Any:
    return lambda function: function


def plain_module(text: str) -> SimpleNamespace:
    """The functions of a generated module, not compiled; the flat ones do not work."""
    # Python's root refuses what may lie behind the last number of an array; compiled, it gives NaN.
    filled = text.replace("np.empty(", "np.zeros(")
    lines = [line for line in filled.splitlines() if not line.startswith("from numba import")]
    namespace: dict[str, Any] = {"njit": _njit}
    exec(compile("\n".join(lines), "generated", "exec"), namespace)
    return SimpleNamespace(**namespace)
