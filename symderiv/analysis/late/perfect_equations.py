"""Derivation of the linearisation around perfect learning, from the engine's equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import sympy as sp

from symderiv.analysis import symmetric
from symderiv.analysis.symmetric import V_TEACHER, C, D, Q, R, ReducedEquations, S, T, V, linearised
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.gaussian.forms.evaluate import number
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.derivation.symbols import M, sigma
from symderiv.learning.rule.learning_problem import learning_problem

_STATE = (R, S, Q, C)
_AT_TEACHER = {Q: T, R: T, C: D / (M - 1), S: D / (M - 1)}
_WEIGHTS = {V: 1 / sp.sqrt(M), V_TEACHER: 1 / sp.sqrt(M)}


def derived_linearisation(activation: str) -> dict[str, Any]:
    """Return the fields of a :class:`~symderiv.analysis.late.perfect_learning.PerfectLearning`."""
    problem = learning_problem(activation)
    reduced = symmetric.reduced_equations(derive_equations(problem), paired=True)
    gradients = {key: value.xreplace(_WEIGHTS) for key, value in reduced.gradients.items()}
    # Label noise keeps students away from the teachers; to first order it only adds to Γ.
    without = {**_WEIGHTS, sigma: sp.Integer(0)}
    noise = {key: value.xreplace(without) for key, value in reduced.noise.items()}
    noisy = {
        key: _at_teacher(value.xreplace({**_WEIGHTS, sigma: sp.Integer(1)}) - noise[key])
        for key, value in reduced.noise.items()
    }
    fixed = {key: _at_teacher(value) for key, value in gradients.items()}
    slopes, noise_slopes = _slopes(gradients), _slopes(noise)
    pairs = (symmetric.A_SAME, symmetric.B_SAME), (symmetric.A_OTHER, symmetric.B_OTHER)
    for students, teachers in pairs:
        # The gradient vanishes at perfect learning; otherwise it would not be a fixed point.
        _must_vanish(fixed[students] + fixed[teachers], f"{students} + {teachers}")
    noises = symmetric.GAMMA_SAME, symmetric.GAMMA_OTHER
    error = reduced.generalization_error.xreplace(_WEIGHTS)
    forces = [_towards_teachers(slopes[ours], slopes[theirs]) for ours, theirs in pairs]
    return {
        "activation": problem.student.text,
        "stiffness": _told_apart(*(fixed[students] for students, _ in pairs)),
        "response": _in_basis(sp.Matrix(forces)),
        "noise_slope": _in_basis(sp.Matrix([noise_slopes[key][2:] for key in noises])),
        "label_noise": _told_apart(*(noisy[key] for key in noises)),
        **_matrices(reduced, fixed, slopes, noise_slopes),
        "error": sp.Matrix([[_at_teacher(sp.diff(error, by)) for by in _STATE]]),
        "noise": tuple(noise[key] for key in noises),
    }


def _at_teacher(expression: sp.Expr) -> sp.Expr:
    value = expression.xreplace(_AT_TEACHER)
    if value.has(sp.zoo, sp.nan, sp.oo):
        raise InputError(
            "the generalisation error has no second derivatives at Q = R = T (the "
            "activation has a kink), so there is no linearisation around perfect learning",
            argument="activation",
        )
    return value


def _must_vanish(value: sp.Expr, what: str) -> None:
    sample = {M: sp.Integer(4), T: sp.Rational(6, 5), D: sp.Rational(3, 10)}
    if abs(number(value.xreplace(sample), 30)) > mpmath.mpf(10) ** -25:
        raise SymderivError(f"{what} does not vanish at Q = R = T, so this is not a fixed point")


def _slopes(values: Mapping[Any, sp.Expr]) -> dict[Any, list[sp.Expr]]:
    """Return the derivatives of each expression by r, s, q, c at perfect learning."""
    return {key: [_at_teacher(sp.diff(v, by)) for by in _STATE] for key, v in values.items()}


def _towards_teachers(*slopes: Sequence[sp.Expr]) -> list[sp.Expr]:
    """Return the derivatives of a sum along r (with q = 2r) and along s (with c = 2s)."""
    by_r, by_s, by_q, by_c = (sp.Add(*terms) for terms in zip(*slopes, strict=True))
    return [by_r + 2 * by_q, by_s + 2 * by_c]


def _told_apart(same: sp.Expr, other: sp.Expr) -> sp.Matrix:
    """Return a matrix in the basis (uniform, differing), from its two kinds of entries."""
    return sp.Matrix([same + (M - 1) * other, same - other])


def _in_basis(table: sp.Matrix) -> sp.Matrix:
    """Return a map of pairs of entries (same, other) in the basis (uniform, differing)."""
    change = sp.Matrix([[1, M - 1], [1, -1]])
    return change * table * change.inv()


def _matrices(
    reduced: ReducedEquations,
    fixed: Mapping[Any, sp.Expr],
    slopes: Mapping[Any, Sequence[sp.Expr]],
    noise_slopes: Mapping[Any, Sequence[sp.Expr]],
) -> dict[str, sp.Matrix]:
    """Return G, H and F from the equations of one eigenspace, for overlaps of weights."""
    rho = sp.Symbol("rho", positive=True)
    r, ss, q, c = sp.symbols("r s q c", real=True)
    teachers = {"T": rho**2 * T, "D": rho**2 * D, "eigenvalue": rho}
    places = {"R": rho * r, "S": rho * ss, "Q": q, "C": c, **teachers}
    units = {"R": rho**-2, "S": rho**-2, "Q": 1 / rho, "C": 1 / rho}
    drift = reduced.mode_rates(places, 1, {x: -unit for x, unit in units.items()})
    noise = reduced.mode_rates(places, 2, units)
    at_teacher = {r: T, ss: D / (M - 1), q: T, c: D / (M - 1)}
    local, forced = linearised(drift, at_teacher, fixed, slopes)
    _, driven = linearised(noise, at_teacher, {}, noise_slopes)
    return {"G": local, "H": forced, "F": driven}


def tidied(matrix: sp.Matrix) -> sp.Matrix:
    """Return a matrix at T = 1 and D = 0 with simplified entries, symbolic in M."""
    values = {T: sp.Integer(1), D: sp.Integer(0)}
    return matrix.xreplace(values).applyfunc(lambda e: sp.factor(sp.radsimp(sp.simplify(e))))


def written(matrices: Mapping[str, sp.Matrix], T1: Any, D1: Any) -> dict[str, list[list[str]]]:
    """Return matrices at given T and D as texts."""
    values = {T: sp.sympify(T1), D: sp.sympify(D1)}
    texts = {}
    for name, matrix in matrices.items():
        at = tidied(matrix) if (T1, D1) == (1, 0) else matrix.xreplace(values)
        texts[name] = [[str(entry) for entry in row] for row in at.tolist()]
    return texts
