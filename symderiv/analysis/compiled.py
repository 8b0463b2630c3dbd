"""A typed way to ask numba for a compiled function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Numba's decorator, kept on disk, with divisions by zero giving infinities.

    Without ``fastmath`` the order of sums is kept; numba would take it from whoever calls first.
    """
    given = {"error_model": "numpy", "fastmath": False, **options}
    decorator: Callable[[Function], Function] = njit(cache=True, **given)
    return decorator
