"""Memory that nothing was written to holds "not a number": tests that read it always fail.

Elsewhere it holds what lay there before, which is a number nearly always.
"""

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

#: Bits of a "signalling" not-a-number: arithmetic with it warns, even where no result keeps it.
_SIGNALLING = 0x7FF4000000000000


class _Strict(ModuleType):
    """NumPy, but new arrays are filled with what no result can be made of."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def empty(shape: int | tuple[int, ...], dtype: Any = float) -> np.ndarray:
        if np.dtype(dtype) == float:
            return np.full(shape, _SIGNALLING, np.uint64).view(float)
        return np.full(shape, np.iinfo(dtype).max // 2, dtype)


@pytest.fixture(autouse=True)
def _strict_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace NumPy in all modules of numerics, as plain Python."""
    for name, module in list(sys.modules.items()):
        if name.startswith("symderiv.numerics.") and getattr(module, "np", None) is np:
            monkeypatch.setattr(module, "np", _Strict("strict_numpy"))
