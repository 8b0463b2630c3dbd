"""The linear system's coefficients for numbers, without SymPy once they were derived.

What :func:`symderiv.analysis.linear.system.linear_system` finds are four short polynomials; here
they are kept as Python text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from symderiv.foundation.derivation_cache import derived_once

__all__ = ["LinearCoefficients", "linear_coefficients"]


@dataclass(frozen=True)
class LinearCoefficients:
    """Coefficients of dD_k/dα = -d_k D_k + b_k Σ_h c_h D_h.

    Attributes:
        numbers: (η, ρ_k, w_k) → (d_k, b_k, c_k), for numbers of any kind: arrays, balls, fractions.
        factor: ε_g / E[δ²] as a double.
    """

    numbers: Callable[[Any, Any, Any], tuple[Any, Any, Any]]
    factor: float


@cache
def linear_coefficients() -> LinearCoefficients:
    """Return the coefficients of the engine's linear system."""
    texts, factor = _texts()
    source = f"lambda learning_rate, rho, weight: ({', '.join(texts)})"
    return LinearCoefficients(eval(source, {"__builtins__": {}}), factor)


@derived_once("formula", "gaussian", "numerics", "learning", "lowering", "analysis")
def _texts() -> tuple[tuple[str, ...], float]:
    """d, b, c in ``learning_rate``, ``rho`` and ``weight``, and the factor."""
    from sympy import pycode

    from symderiv.analysis.linear.system import linear_system

    system = linear_system()
    texts = tuple(pycode(each) for each in (system.decay, system.source, system.readout))
    return texts, system.factor
