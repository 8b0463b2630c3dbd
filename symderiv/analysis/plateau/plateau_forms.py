r"""The symmetric plateau of the O(η) flow: its state, its height and its stability, in closed form.

At a site-symmetric fixed point, A_ij takes two values and B_in one, B. Write a_s = A_ii +
(K-1) A_ij for the stiffness of a common change of all students and κ = A_ii - A_ij for that of a
difference of two students. dr_k = 0 gives r_k = c τ_k/ρ_k with c = -B/a_s and the row sums
τ_k = t_k,nn + (M-1) t_k,nm; dQ_k = 0 gives Q_k,ij = c² M τ_k/ρ_k² for all i, j. Hence R = c P and
Q = C = c² M P with P = T + D: every student is c times the sum of the teachers, and the length c
is the only unknown, for any number of modes. It is a root of φ(c) = c a_s + B, which is dε_g/dc
along this line of states, divided by K M P.

Linearised around it, with q_k = ρ_k δQ_k and vectors over modes, the flow decomposes into the
symmetry sectors of permutations of students and of teachers that
:data:`~symderiv.analysis.plateau.stability.SECTORS` lists, with Λ = diag ρ_k, θ_k = t_k,nn -
t_k,nm, w the weights, B' = ∂B_in/∂R_in = -v ṽ E[g''(x) h''(y)], f_s and f_d the responses c δa + δB
to a change of R of all students or of one of them. They are checked against the Jacobian of the
full equations, all eigenvalues with their multiplicities.

The matrices of the specialising ansatz are Kronecker products. With x = (r, s, q, c), the
deviations of R_ii, R_in, ρ Q_ii, ρ Q_ij from the plateau, each a vector over the modes, the O(η)
flow is

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

from symderiv.analysis import symmetric
from symderiv.analysis.plateau.closed_plateau import FullFlow, LinearisedMatrices, PlateauForms
from symderiv.analysis.plateau.plateau_algebra import ETA, FRAME, NU, TEACHER, M, c
from symderiv.analysis.symmetric import (
    FIRST,
    LENGTH,
    V_TEACHER,
    C,
    CollinearState,
    D,
    Q,
    R,
    ReducedEquations,
    S,
    T,
    V,
    linearised,
)
from symderiv.gaussian.forms.surds import AlgebraFrame, positive_root, tidy, with_split_roots
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations


def plateau_forms(equations: LearningEquations) -> PlateauForms:
    """Return the plateau of a problem in closed form, derived from its equations.

    Args:
        equations: The result of :func:`~symderiv.learning.derive_equations`.

    Raises:
        DivergentError: A mean does not exist for these activations.
        NotYetError: A mean has no closed form with the present rules.
    """
    state = CollinearState(equations)
    one = {LENGTH: sp.Integer(1)}

    def gradient(first: int, second: int) -> sp.Expr:
        units = {s.i: symmetric.Unit(False, first), s.j: symmetric.Unit(False, second)}
        return state.collapsed(equations.student_gradient, units)

    def pull(first: int) -> sp.Expr:
        units = {s.i: symmetric.Unit(False, first), s.n: symmetric.Unit(True, 0)}
        return state.collapsed(equations.teacher_gradient, units)

    def line(expression: sp.Expr) -> sp.Expr:
        """Return an expression on the line of states with length c, with equal output weights."""
        weights = {V: 1 / sp.sqrt(M), V_TEACHER: 1 / sp.sqrt(M), s.K: M, s.M: M, T: TEACHER}
        states = {Q: c**2 * M * (TEACHER + D), R: c * (TEACHER + D)}
        return with_split_roots(expression.xreplace(states).xreplace(weights), FRAME)

    # Students 1 and 2 are two of the equal ones, student 0 is the longer one.
    same, other = gradient(1, 1).xreplace(one), gradient(1, 2).xreplace(one)
    stiffness = line(same + (s.K - 1) * other)
    teacher = line(pull(1))
    stationarity = c * stiffness + teacher
    row = TEACHER + D
    difference = (
        gradient(0, 0)
        + (s.K - 1) * gradient(0, 1)
        - gradient(1, 0)
        - gradient(1, 1)
        - (s.K - 2) * gradient(1, 2)
    )
    one_response = c * line(sp.diff(difference, LENGTH).xreplace(one)) + line(
        sp.diff(pull(FIRST.site), LENGTH).xreplace(one)
    )
    error = line(state.collapsed(equations.generalization_error, {}).xreplace(one))
    return PlateauForms(
        stationarity=stationarity,
        symmetric_stiffness=stiffness,
        difference_stiffness=line(same - other),
        teacher_response=line(sp.diff(pull(1), R)),
        length_response=(sp.diff(stationarity, c) - stiffness) / row,
        one_length_response=one_response / (c * row),
        generalization_error=error,
        length=positive_root(stationarity, c, FRAME, error),
    )


def full_flow(
    equations: LearningEquations, *, noise: bool = True, units: int | None = None
) -> FullFlow:
    """Return the equations of the symmetric state, reduced from those of the engine.

    Args:
        equations: The result of :func:`~symderiv.learning.derive_equations`.
        noise: True keeps the terms of order η².
        units: M, if it is to be substituted. With fewer than four units, terms of four different
            units are then left out; their means need not exist at the overlaps of two or three.
    """
    reduced = symmetric.reduced_equations(equations, paired=False, noise=noise)
    weight = 1 / sp.sqrt(s.M)
    here = {V: weight, V_TEACHER: weight, s.K: s.M, s.sigma: sp.Integer(0)}
    count = {} if units is None else {s.M: sp.Integer(units)}

    def put(expression: sp.Expr) -> sp.Expr:
        return expression.xreplace(here).xreplace(count)

    value = {name: put(each) for name, each in {**reduced.gradients, **reduced.noise}.items()}
    stiffness = value[symmetric.A_SAME] + (s.M - 1) * value[symmetric.A_OTHER]
    difference = value[symmetric.A_SAME] - value[symmetric.A_OTHER]
    pull = value[symmetric.B_SAME]
    gammas = symmetric.GAMMA_SAME, symmetric.GAMMA_OTHER
    same, other = (value.get(x, sp.Integer(0)) for x in gammas)
    half = ETA * NU / 2
    return FullFlow(
        (
            R * stiffness + (T + D) * pull,
            stiffness * (Q + (s.M - 1) * C) + s.M**2 * pull * R - half * (same + (s.M - 1) * other),
            difference * (Q - C) - half * (same - other),
        ),
        put(reduced.generalization_error),
        difference,
        sp.diff(pull, R),
        noise,
    )


def linearised_matrices(
    reduced: ReducedEquations, forms: PlateauForms
) -> LinearisedMatrices | None:
    """Return the matrices of a problem at its plateau.

    Args:
        reduced: The equations of the specialising ansatz.
        forms: The plateau.

    Returns:
        The matrices, or None if a derivative does not exist (the gradients of an activation with a
        kink depend on the root of Q_ii Q_jj - Q_ij², which is zero on the plateau) or c is not
        algebraic.
    """
    if forms.length is None or forms.length.has(sp.asin):
        return None
    rho, tau, theta = sp.symbols("rho tau theta", real=True)
    mode = sp.symbols("R_mode S_mode Q_mode C_mode", real=True)
    diagonal = (tau + (M - 1) * theta) / M
    places = dict(zip("RS", mode, strict=False)) | {"Q": mode[2] / rho, "C": mode[3] / rho}
    places |= {"T": diagonal, "D": tau - diagonal, "eigenvalue": rho}
    one = sp.Integer(1)
    rates = [
        rate.xreplace({s.M: M})
        for rate in reduced.mode_rates(places, 1, {"R": one, "S": one, "Q": rho, "C": rho})
    ]
    short = _PlateauLetters(forms.length)
    state = short.state()
    gradients = {name: value.xreplace({s.M: M}) for name, value in reduced.gradients.items()}
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
    along, square = short.length * tau / rho, short.length**2 * M * tau / rho
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

    They are P = T + D, and one more letter for the sum under the root in the length c; T and D are
    expressed by them. The closed forms are the same without them, but reducing fractions of three
    variables and several roots to lowest terms would take minutes.
    """

    def __init__(self, length: sp.Expr) -> None:
        row, sum_ = sp.Symbol("row", positive=True), sp.Symbol("root_sum", positive=True)
        inside = sp.expand(length.xreplace({D: row - TEACHER}))
        bases = {e.base for e in inside.atoms(sp.Pow) if e.exp.q == 2 and e.base.has(TEACHER)}
        symbols: tuple[sp.Symbol, ...] = (M, TEACHER, row)
        self._back = {row: TEACHER + D}
        self._teacher = {TEACHER: TEACHER, D: row - TEACHER}
        samples = [(m, t, t + d) for m, t, d in FRAME.points]
        base = bases.pop() if len(bases) == 1 else None
        if base is not None and sp.degree(base, TEACHER) == 1:
            (solution,) = sp.solve(base - sum_, TEACHER)
            symbols = (M, row, sum_)
            self._teacher = {TEACHER: solution, D: row - solution}
            self._back[sum_] = sp.expand(base.xreplace({row: TEACHER + D}))
            samples = [(m, p, base.xreplace({M: m, TEACHER: t, row: p})) for m, t, p in samples]
        self.frame = AlgebraFrame(symbols, tuple(samples))
        self._row = row
        self._known: dict[sp.Expr, sp.Expr] = {}
        self.length = self.tidy(length.xreplace(self._teacher))

    def state(self) -> dict[sp.Symbol, sp.Expr]:
        """Return the plateau's covariances and weights."""
        R_, Q_ = self.length * self._row, self.length**2 * M * self._row
        weight = 1 / sp.sqrt(M)
        overlaps: dict[Any, Any] = {R: R_, S: R_, Q: Q_, C: Q_}
        teacher: dict[Any, Any] = {T: self._teacher[TEACHER], D: self._teacher[D]}
        return {**overlaps, **teacher, V: weight, V_TEACHER: weight}

    def tidy(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression in lowest terms in these variables."""
        if expression not in self._known:
            self._known[expression] = tidy(expression, self.frame)
        return self._known[expression]

    def back(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression in these variables in terms of M, T, D."""
        return expression.xreplace(self._back)
