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

from typing import Any

import sympy as sp

from symderiv.analysis.plateau.closed_plateau import LinearisedMatrices, PlateauForms
from symderiv.analysis.plateau.plateau_algebra import FRAME, SYMBOLS
from symderiv.analysis.symmetric import V_TEACHER, C, Q, R, ReducedEquations, S, T, V, linearised
from symderiv.analysis.symmetric import D as ROW
from symderiv.gaussian.forms.surds import AlgebraFrame, tidy
from symderiv.learning.derivation import symbols as s

_M, _T, _D = SYMBOLS


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
    mode = sp.symbols("R_mode S_mode Q_mode C_mode", real=True)
    diagonal = (tau + (_M - 1) * theta) / _M
    places = dict(zip("RS", mode, strict=False)) | {"Q": mode[2] / rho, "C": mode[3] / rho}
    places |= {"T": diagonal, "D": tau - diagonal, "eigenvalue": rho}
    one = sp.Integer(1)
    rates = [
        rate.xreplace({s.M: _M})
        for rate in reduced.mode_rates(places, 1, {"R": one, "S": one, "Q": rho, "C": rho})
    ]
    short = _PlateauLetters(forms.length)
    state = short.state()
    gradients = {name: value.xreplace({s.M: _M}) for name, value in reduced.gradients.items()}
    overlaps = (R, S, Q, C)
    try:
        values = {name: short.tidy(value.xreplace(state)) for name, value in gradients.items()}
        slopes = {
            name: [short.tidy(sp.diff(value, z).xreplace(state)) for z in overlaps]
            for name, value in gradients.items()
        }
    except ZeroDivisionError:
        return None
    if any(slope.has(sp.zoo, sp.nan, sp.oo) for row in slopes.values() for slope in row):
        return None
    along, square = short.length * tau / rho, short.length**2 * _M * tau / rho
    on_modes = dict(zip(mode, (along, along, square, square), strict=True))
    local, forced = linearised(rates, on_modes, values, slopes)
    parts = (
        -local / rho,
        forced.xreplace({tau: sp.Integer(1), theta: sp.Integer(0)}),
        forced.xreplace({tau: sp.Integer(0), theta: sp.Integer(1)}),
    )
    matrices = [part.applyfunc(short.tidy) for part in parts]
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
