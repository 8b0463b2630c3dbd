"""Equations of the symmetric plateau with the terms of order η², from those of the engine."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv.analysis.plateau.closed_plateau import FullFlow
from symderiv.analysis.symmetric import reduced_equations
from symderiv.analysis.symmetric_names import (
    A_OTHER,
    A_SAME,
    B_SAME,
    GAMMA_OTHER,
    GAMMA_SAME,
    V_TEACHER,
    C,
    D,
    Q,
    R,
    T,
    V,
)
from symderiv.formula.as_function import as_function, function_text
from symderiv.learning.derivation import sizes_and_rates as s
from symderiv.learning.derivation.learning_equations import LearningEquations

__all__ = ["ETA", "NU", "full_flow", "text_of"]

ETA = sp.Symbol("eta", positive=True)
NU = sp.Symbol("nu", positive=True)


def text_of(equations: Sequence[sp.Expr]) -> str:
    """Return equations as a function of doubles: of Q, C, R, η, M, T, D and ν_1."""
    symbols = [Q, C, R, ETA, s.M, T, D, NU]
    return function_text(as_function(symbols, list(equations), "floats", {"SignMean4": float}))


def full_flow(equations: LearningEquations, *, noise: bool = True) -> FullFlow:
    """Return the equations of the symmetric state, from the engine's.

    Args:
        equations: What :func:`~symderiv.learning.derive_equations` gives.
        noise: True keeps the terms of order η².
    """
    reduced = reduced_equations(equations, paired=False, noise=noise)
    weight = 1 / sp.sqrt(s.M)
    here = {V: weight, V_TEACHER: weight, s.K: s.M, s.sigma: sp.Integer(0)}
    value = {
        name: expression.xreplace(here)
        for name, expression in {**reduced.gradients, **reduced.noise}.items()
    }
    stiffness = value[A_SAME] + (s.M - 1) * value[A_OTHER]
    difference = value[A_SAME] - value[A_OTHER]
    pull = value[B_SAME]
    same, other = (value.get(x, sp.Integer(0)) for x in (GAMMA_SAME, GAMMA_OTHER))
    half = ETA * NU / 2
    return FullFlow(
        (
            R * stiffness + (T + D) * pull,
            stiffness * (Q + (s.M - 1) * C) + s.M**2 * pull * R - half * (same + (s.M - 1) * other),
            difference * (Q - C) - half * (same - other),
        ),
        reduced.generalization_error.xreplace(here),
        difference,
        sp.diff(pull, R),
        noise,
    )


