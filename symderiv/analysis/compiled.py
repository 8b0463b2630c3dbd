"""A typed way to ask numba for a compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Numba's decorator, kept on disk, with divisions by zero giving infinities."""
    decorator: Callable[[Function], Function] = njit(cache=True, error_model="numpy", **options)
    return decorator
