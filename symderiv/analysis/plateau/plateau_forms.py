r"""The symmetric plateau of the O(η) flow: its state, its height and its stability, in closed form.

At a site-symmetric fixed point, A_ij takes two values and B_in one, B. Write a_s = A_ii +
(K-1) A_ij for the stiffness of a common change of all students and κ = A_ii - A_ij for that of a
difference of two students. dr_k = 0 gives r_k = c τ_k/ρ_k with c = -B/a_s and the row sums
τ_k = t_k,nn + (M-1) t_k,nm; dQ_k = 0 gives Q_k,ij = c² M τ_k/ρ_k² for all i, j. Hence R = c P and
Q = C = c² M P with P = T + D: every student is c times the sum of the teachers, and the length c
is the only unknown, for any number of modes. It is a root of φ(c) = c a_s + B, which is dε_g/dc
along this line of states, divided by K M P.

Linearised around it, with q_k = ρ_k δQ_k and vectors over modes, the flow falls into the symmetry
sectors of permutations of students and of teachers:

====================================== ================== ==================================
sector                                 multiplicity       matrix over the modes, times η
====================================== ================== ==================================
length of all students                 1                  -a_s Λ - f_s τ wᵀ
Q off the line Q = |J|², all students  1                  -2 a_s Λ
all students alike, teachers differ    M-1                -a_s Λ - B' θ wᵀ
specialisation, students to teachers   (K-1)(M-1)         -κ Λ - B' θ wᵀ
lengths of the students differ         K-1                -κ Λ - f_d τ wᵀ
Q off its line, one student            K-1                -(a_s + κ) Λ
Q of student differences               K(K-1)/2           -2 κ Λ
====================================== ================== ==================================

with Λ = diag ρ_k, θ_k = t_k,nn - t_k,nm, w the weights, B' = ∂B_in/∂R_in = -v ṽ E[g''(x) h''(y)],
f_s and f_d the responses c δa + δB to a change of R of all students or of one of them. The table is
checked against the Jacobian of the full equations, all eigenvalues with their multiplicities.
"""

from __future__ import annotations

import sympy as sp

from symderiv.analysis import symmetric
from symderiv.analysis.plateau.closed_plateau import FullFlow, PlateauForms
from symderiv.analysis.plateau.collinear import FIRST, LENGTH, CollinearState
from symderiv.analysis.plateau.plateau_algebra import ETA, FRAME, NU, TEACHER, M, c
from symderiv.analysis.symmetric import V_TEACHER, C, D, Q, R, T, V
from symderiv.gaussian.forms.surds import along, positive_root
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations


def plateau_forms(equations: LearningEquations) -> PlateauForms:
    """Return the plateau of a problem, derived from its equations.

    Args:
        equations: What :func:`~symderiv.learning.derive_equations` gives.

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
        """Return the expression in c, with equal output weights."""
        weights = {V: 1 / sp.sqrt(M), V_TEACHER: 1 / sp.sqrt(M), s.K: M, s.M: M, T: TEACHER}
        states = {Q: c**2 * M * (TEACHER + D), R: c * (TEACHER + D)}
        return along(expression.xreplace(states).xreplace(weights), FRAME)

    # Students 1 and 2 are two of the equal ones, student 0 is the one of another length.
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
    """Return the equations of the symmetric state, from the engine's.

    Args:
        equations: What :func:`~symderiv.learning.derive_equations` gives.
        noise: True keeps the terms of order η².
        units: M, if it is to be put in. Terms of four different units are then left out where there
            are fewer; their means need not exist at the overlaps of two or three.
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
