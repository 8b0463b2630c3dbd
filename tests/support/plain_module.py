"""Generated modules as plain Python: for a few calls compilation would take longer."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import symderiv_kernels

from symderiv.lowering.means.uncompiled import uncompiled


@cache
def checked_in(name: str) -> SimpleNamespace:
    """The functions of a module that is checked in, ``erf`` or ``fast/erf``, the flat ones too."""
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


def module_rates(
    module: Any, arrays: tuple[np.ndarray, ...], numbers: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a readable module's right-hand side gives for overlaps per mode and output weights.

    Arrays: those three, eigenvalues and weights, teachers' overlaps, T and weights. Numbers: both
    learning rates, both decays, label noise and order.
    """
    found = tuple(np.full(each.shape, np.nan) for each in arrays[:3])
    module.right_hand_side(*arrays, *numbers, *found)
    return found  # type: ignore[return-value]
