"""Functions with which Gaussian means keep their digits in solver modules, for the printers.

The texts beside this file hold plain Python functions that numba compiles as they stand, or
functions of an mpmath context; ``conditionals`` rewrites closed forms so that they keep their
digits where fields align. :data:`GAUSSIAN` hands both to the code generator, which knows neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.numerics.extension import GAUSSIAN

__all__ = ["GAUSSIAN"]


def __getattr__(name: str) -> Any:
    if name == "GAUSSIAN":
        # loaded on first use: callers that need only the quadrature nodes do not load SymPy
        from symderiv.numerics.extension import GAUSSIAN

        return GAUSSIAN
    raise AttributeError(f"module 'symderiv.numerics' has no attribute {name!r}")
