"""Losses by name, as formulas in ``s`` and ``t``: for studies, which are read without SymPy."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

NAMED: Final = MappingProxyType(
    {
        "squared": "(s - t)**2/2",
        "logistic": "log(1 + exp(-s*t))",
        "exponential": "exp(-s*t)",
        "hinge": "Max(0, 1 - s*t)",
        "huber": "Min(Abs(s - t), 1)**2/2 + Max(Abs(s - t) - 1, 0)",
    }
)
