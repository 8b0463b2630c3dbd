r"""The linearised matrices of the specialising ansatz as Kronecker products.

With x = (r, s, q, c), the deviations of R_ii, R_in, ρ Q_ii, ρ Q_ij from the plateau, each a vector
over the modes, the O(η) flow is

.. math:: \frac{dx}{d\alpha} = \eta\left(-G\otimes\Lambda + H_\tau\otimes\tau w^T
          + H_\theta\otimes\theta w^T\right) x ,

with τ_k the row sums and θ_k the differences of the teacher's overlaps. In the moments of order
l = 0 … L-1 of the papers (x^(l) = Σ_k w_k ρ_k^(l-1) x_k) Λ becomes the companion matrix of the
spectrum's polynomial, and τ wᵀ, θ wᵀ become u e_1ᵀ with u^(l) = T^(l+1) + D^(l+1), respectively
T^(l+1) - D^(l+1)/(M-1), and e_1 the place of order 1. Without D both are the same and only
H = H_τ + H_θ matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symderiv.analysis.plateau.plateau_forms import FRAME, SYMBOLS, PlateauForms
from symderiv.analysis.plateau.surds import AlgebraFrame, tidy
from symderiv.analysis.symmetric import (
    V_TEACHER,
    C,
    Q,
    R,
    ReducedEquations,
    S,
    T,
    V,
)
from symderiv.analysis.symmetric import D as ROW
from symderiv.learning.derivation import symbols as s

BASIS = ("r", "s", "q", "c")
"""Deviations of R_ii, R_in, ρ Q_ii, ρ Q_ij."""

_M, _T, _D = SYMBOLS


@dataclass(frozen=True)
class LinearisedMatrices:
    """The matrices in M, T, D, each 4 × 4 in the basis r, s, q, c.

    Attributes:
        G: Coefficient of -Λ.
        H_row: H_τ.
        H_difference: H_θ.
        H: Their sum, which alone matters where teachers are uncorrelated in all orders.
    """

    G: sp.Matrix
    H_row: sp.Matrix
    H_difference: sp.Matrix
    H: sp.Matrix


def linearised_matrices(
    reduced: ReducedEquations, forms: PlateauForms
) -> LinearisedMatrices | None:
    """Return the matrices of a problem at its plateau.

    Args:
        reduced: The specialising ansatz.
        forms: The plateau.

    Returns:
        None where a derivative does not exist (the gradients of an activation with a kink depend on
        the root of Q_ii Q_jj - Q_ij², which is zero on the plateau) or c is not algebraic.
    """
    if forms.length is None or forms.length.has(sp.asin):
        return None
    rho, tau, theta = sp.symbols("rho tau theta", real=True)
    mode = {letter: sp.Symbol(f"{letter}_mode", real=True) for letter in "RSQC"}
    rates = _mode_rates(reduced, mode, rho, tau, theta)
    short = _PlateauLetters(forms.length)
    state = short.state()
    gradients = {name: value.xreplace({s.M: _M}) for name, value in reduced.gradients.items()}
    overlaps = (R, S, Q, C)
    try:
        values = {name: short.tidy(value.xreplace(state)) for name, value in gradients.items()}
        slopes = {
            (name, z): short.tidy(sp.diff(value, z).xreplace(state))
            for name, value in gradients.items()
            for z in overlaps
        }
    except ZeroDivisionError:
        return None
    if any(slope.has(sp.zoo, sp.nan, sp.oo) for slope in slopes.values()):
        return None
    on_modes = {
        mode["R"]: short.length * tau / rho,
        mode["S"]: short.length * tau / rho,
        mode["Q"]: short.length**2 * _M * tau / rho,
        mode["C"]: short.length**2 * _M * tau / rho,
    }
    matrices = [sp.zeros(4, 4) for _ in range(3)]
    for a, letter in enumerate("RSQC"):
        rate = rates[letter]
        for b, other in enumerate("RSQC"):
            local = -sp.diff(rate, mode[other]).xreplace(values) / rho
            forced = sp.Add(
                *(
                    sp.expand(sp.diff(rate, name).xreplace(on_modes)) * slopes[name, overlaps[b]]
                    for name in gradients
                )
            )
            parts = (
                local,
                forced.xreplace({tau: sp.Integer(1), theta: sp.Integer(0)}),
                forced.xreplace({tau: sp.Integer(0), theta: sp.Integer(1)}),
            )
            for matrix, part in zip(matrices, parts, strict=True):
                matrix[a, b] = short.tidy(part)
    whole = (matrices[1] + matrices[2]).applyfunc(short.tidy)
    return LinearisedMatrices(*(matrix.applyfunc(short.back) for matrix in (*matrices, whole)))


class _PlateauLetters:
    """Variables in which the plateau is rational but for roots of single letters.

    P = T + D, and one more letter for the sum that stands under the root in the length c; T and D
    are expressed by them. Without this the closed forms are the same, but bringing fractions of
    three variables and several roots to lowest terms takes minutes.
    """

    def __init__(self, length: sp.Expr) -> None:
        row, sum_ = sp.Symbol("row", positive=True), sp.Symbol("root_sum", positive=True)
        inside = sp.expand(length.xreplace({_D: row - _T}))
        bases = {e.base for e in inside.atoms(sp.Pow) if e.exp.q == 2 and e.base.has(_T)}
        symbols: tuple[sp.Symbol, ...] = (_M, _T, row)
        self._back = {row: _T + _D}
        self._teacher = {_T: _T, _D: row - _T}
        samples = [(m, t, t + d) for m, t, d in FRAME.points]
        base = bases.pop() if len(bases) == 1 else None
        if base is not None and sp.degree(base, _T) == 1:
            (solution,) = sp.solve(base - sum_, _T)
            symbols = (_M, row, sum_)
            self._teacher = {_T: solution, _D: row - solution}
            self._back[sum_] = sp.expand(base.xreplace({row: _T + _D}))
            samples = [(m, p, base.xreplace({_M: m, _T: t, row: p})) for m, t, p in samples]
        self.frame = AlgebraFrame(symbols, tuple(samples))
        self._row = row
        self._known: dict[sp.Expr, sp.Expr] = {}
        self.length = self.tidy(length.xreplace(self._teacher))

    def state(self) -> dict[sp.Symbol, sp.Expr]:
        """Return the plateau's covariances and weights."""
        R_, Q_ = self.length * self._row, self.length**2 * _M * self._row
        weight = 1 / sp.sqrt(_M)
        overlaps: dict[Any, Any] = {R: R_, S: R_, Q: Q_, C: Q_}
        teacher: dict[Any, Any] = {T: self._teacher[_T], ROW: self._teacher[_D]}
        return {**overlaps, **teacher, V: weight, V_TEACHER: weight}

    def tidy(self, expression: sp.Expr) -> sp.Expr:
        """Lowest terms in these variables."""
        if expression not in self._known:
            self._known[expression] = tidy(expression, self.frame)
        return self._known[expression]

    def back(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression in M, T, D again."""
        return expression.xreplace(self._back)


def _mode_rates(
    reduced: ReducedEquations, mode: Mapping[str, sp.Symbol], rho: Any, tau: Any, theta: Any
) -> dict[str, sp.Expr]:
    """Return rates of R, S, ρQ, ρC of one mode per ηα, without noise and weight decay."""
    diagonal = (tau + (_M - 1) * theta) / _M
    places: dict[sp.Expr, sp.Expr] = {}
    for rate in reduced.spectral.values():
        for element in rate.atoms(sp.Indexed):
            name = str(element.base.label)
            places[element] = {
                "eigenvalue": rho,
                "T": diagonal,
                "D": tau - diagonal,
                "R": mode["R"],
                "S": mode["S"],
                "Q": mode["Q"] / rho,
                "C": mode["C"] / rho,
            }[name]
    found = {}
    for letter, rate in reduced.spectral.items():
        plain = rate.xreplace({s.kappa: sp.Integer(0)}).xreplace(places).xreplace({s.M: _M})
        first = sp.expand(plain).coeff(s.eta, 1)
        found[letter] = sp.expand(first * (rho if letter in "QC" else 1))
    return found
