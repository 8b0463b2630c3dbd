"""Symbols of the closed forms of plateaus, and functions that simplify and print these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy as sp

from symderiv.analysis.symmetric import C, D, Q, R, T
from symderiv.formula.as_function import as_function, function_text
from symderiv.gaussian.forms.surds import AlgebraFrame, tidy
from symderiv.learning.derivation import symbols as s

c = sp.Symbol("c", positive=True)
"""The length c of the students: J_i = c times the sum of the teachers."""

M = sp.Symbol("M", positive=True)
"""The number of units, K = M, in closed forms."""

TEACHER = sp.Symbol("T", positive=True)
"""The variance T of a teacher's field in closed forms."""

SYMBOLS = (M, TEACHER, D)

ETA, NU = sp.symbols("eta nu", positive=True)
"""η and the mean eigenvalue ν_1 in equations of the full flow."""

FRAME = AlgebraFrame(
    SYMBOLS,
    (
        (sp.Integer(2), sp.Rational(7, 8), sp.Rational(1, 9)),
        (sp.Integer(3), sp.Rational(13, 10), sp.Rational(1, 5)),
        (sp.Integer(5), sp.Rational(7, 10), -sp.Rational(1, 10)),
        (sp.Integer(9), sp.Integer(3), sp.Integer(2)),
    ),
)
"""The symbols M, T, D of closed forms, with values of admissible teachers for numerical checks."""


def closed_expressions(parts: Mapping[str, sp.Expr], length: sp.Expr) -> dict[str, sp.Expr]:
    """Return R, Q and other parts of the plateau with the closed form of c, simplified."""
    # A length with arcsines is not substituted: the expressions would not be readable.
    known = {} if length.has(sp.asin) else {c: length}
    whole = {"R": c * (TEACHER + D), "Q": c**2 * M * (TEACHER + D), **parts}
    tidied = {name: tidy(value.xreplace(known), FRAME) for name, value in whole.items()}
    return {"c": length, **tidied}


def escape_forms(closed: Mapping[str, sp.Expr]) -> dict[str, sp.Expr]:
    """Return the escape rate and time by name: for κ = 0, or else for a single mode."""
    second, rest, eta = sp.symbols("T2 D2 eta", real=True)
    difference, response = closed["difference_stiffness"], closed["teacher_response"]
    if difference == 0:
        rate, inputs = -eta * response * (second - rest / (M - 1)), ""
    else:
        # One mode: the secular equation of the specialisation sector is linear.
        rate = sp.together(-eta * (difference + response * (TEACHER - D / (M - 1))))
        inputs = "_isotropic"
    forms = {f"unstable_eigenvalue{inputs}": rate}
    return forms if rate == 0 else {**forms, f"escape_time{inputs}": 1 / rate}


def text_of(equations: Sequence[sp.Expr]) -> str:
    """Return expressions as a function of doubles: of Q, C, R, η, M, T, D and ν_1."""
    symbols = [Q, C, R, ETA, s.M, T, D, NU]
    return function_text(as_function(symbols, list(equations), "floats", {"SignMean4": float}))
