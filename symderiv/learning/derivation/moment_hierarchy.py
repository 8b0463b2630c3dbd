r"""The moments Q^(l), R^(l), T^(l) of the papers: their equations, their Cayley–Hamilton closure.

Q^(l) = Σ_k w_k ρ_k^l Q_k (= J Ω^l J / N), R^(l) = Σ_k w_k ρ_k^(l-1) r_k, T^(l) = Σ_k w_k ρ_k^(l-2)
t_k and ν_l = Σ_k w_k ρ_k^l. For a teacher that sees the inputs themselves R^(l) = J Ω^l B / N and
T^(l) = B Ω^l B / N. Q = Q^(1) and R = R^(1) hold always, T = T^(1) only for such a teacher.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Term, map_terms, spread

student_moment, cross_moment, teacher_moment, spectral_moment, closure = (
    sp.IndexedBase(sp.Symbol(name, real=True))
    for name in (
        "student_moment",
        "cross_moment",
        "teacher_moment",
        "spectral_moment",
        "closure",
    )
)

# Power of the eigenvalue in the definition of each moment, relative to l.
_OFFSETS = {"student_overlap": 0, "cross_overlap": 1, "teacher_overlap": 2}
_MOMENTS = {
    "student_overlap": student_moment,
    "cross_overlap": cross_moment,
    "teacher_overlap": teacher_moment,
}


@dataclass(frozen=True)
class MomentEquations:
    """dQ^(l)/dα and dR^(l)/dα, and the closure of the highest moments.

    Attributes:
        student_moment: dQ^(l)_ij/dα, in terms of moments up to l + 1.
        cross_moment: dR^(l)_in/dα.
        student_closure: Q^(L)_ij from the lower ones, with Σ_l c_l ρ^l = ∏_k (ρ - ρ_k), c_L = 1.
        cross_closure: R^(L)_in.
    """

    student_moment: sp.Expr
    cross_moment: sp.Expr
    student_closure: sp.Expr
    cross_closure: sp.Expr


def definition(moment: sp.Indexed) -> sp.Expr:
    """Return a moment as a sum over eigenvalues."""
    order, *units = moment.indices
    name = next(name for name, base in _MOMENTS.items() if base == moment.base)
    overlap = sp.IndexedBase(sp.Symbol(name, real=True))[(s.k, *units)]
    power = s.eigenvalue[s.k] ** (order - _OFFSETS[name])
    return sp.Sum(s.weight[s.k] * power * overlap, (s.k, 0, s.L - 1))


def _with_moments(expression: sp.Expr) -> sp.Expr:
    """Return an expression with sums over eigenvalues of w_k ρ_k^e times an overlap as moments."""
    return map_terms(expression, _moment)


def _moment(term: Term) -> Term:
    modes = [limit for limit in term.limits if limit[0] in s.MODES]
    if not modes:
        return term
    (limit,) = modes
    index = limit[0]
    power: Any = sp.Integer(0)
    rest, overlap = sp.Integer(1), None
    weighted = False
    for factor in sp.Mul.make_args(term.factor):
        base, exponent = factor.as_base_exp()
        name = str(base.base.label) if isinstance(base, sp.Indexed) else ""
        if name == "eigenvalue":
            power += exponent
        elif name == "weight" and exponent == 1:
            weighted = True
        elif name in _MOMENTS and exponent == 1:
            overlap = base
        else:
            rest *= factor
    if not weighted or rest.has(index):
        raise SymderivError(f"{term.factor} is not a moment of the spectrum")
    if overlap is None:
        named = spectral_moment[power]
    else:
        name = str(overlap.base.label)
        named = _MOMENTS[name][(power + _OFFSETS[name], *overlap.indices[1:])]
    return Term(rest * named, tuple(other for other in term.limits if other != limit))


def moment_equations(
    student_overlap_rate: sp.Expr, cross_overlap_rate: sp.Expr
) -> tuple[MomentEquations, tuple[steps.LearningStep, ...]]:
    """Return the moment hierarchy derived from the equations of the eigenspaces, and its steps.

    Args:
        student_overlap_rate: dQ_k,ij/dα.
        cross_overlap_rate: dr_k,in/dα.
    """
    told: list[steps.LearningStep] = []
    rates = []
    for moment, overlap_rate in (
        (student_moment[s.l, s.i, s.j], student_overlap_rate),
        (cross_moment[s.l, s.i, s.n], cross_overlap_rate),
    ):
        name = next(name for name, base in _MOMENTS.items() if base == moment.base)
        power = s.eigenvalue[s.k] ** (s.l - _OFFSETS[name])
        weighted = spread(sp.Sum(s.weight[s.k] * power * overlap_rate, (s.k, 0, s.L - 1)))
        rates.append(_with_moments(weighted))
        told += (
            steps.Defined(moment, definition(moment)),
            steps.MomentsSummed(s.Rate(moment), weighted),
            steps.Recognised(s.Rate(moment), rates[-1]),
        )
    told.append(steps.ClosureDefined(closure[s.l], s.eigenvalue[s.k]))
    highest = (student_moment[s.L, s.i, s.j], cross_moment[s.L, s.i, s.n])
    closures = [_closed(moment) for moment in highest]
    told += map(steps.LadderClosed, highest, closures)
    return MomentEquations(rates[0], rates[1], closures[0], closures[1]), tuple(told)


def _closed(moment: sp.Expr) -> sp.Expr:
    """Return a highest moment in terms of lower ones, by ∏_k (ρ - ρ_k) = 0 at every eigenvalue."""
    lower = -sp.Sum(closure[s.l] * s.eigenvalue[s.k] ** s.l, (s.l, 0, s.L - 1))
    return _with_moments(spread(_replace_highest_power(definition(moment), lower)))


def _replace_highest_power(value: sp.Expr, lower: sp.Expr) -> sp.Expr:
    power = next(p for p in value.atoms(sp.Pow) if p.base == s.eigenvalue[s.k])
    # rho^(L - offset) = rho^L rho^(-offset)
    return value.xreplace({power: power / s.eigenvalue[s.k] ** s.L * lower})


def closure_coefficients(eigenvalues: list[Any]) -> list[Any]:
    """Return the coefficients c_0 … c_(L-1) of ∏_k (ρ - ρ_k), for numbers of any kind (exact,
    mpmath).

    Args:
        eigenvalues: The L distinct eigenvalues.
    """
    coefficients: list[Any] = [1]
    for value in eigenvalues:
        shifted = [0, *coefficients]
        for place, coefficient in enumerate(coefficients):
            shifted[place] = shifted[place] - value * coefficient
        coefficients = shifted
    return coefficients[:-1]
