r"""The moment form as an indexed program, to be printed for any number of digits.

State: Q^(l), R^(l) for l = 0 … L-1, and v. The highest moments Q^(L), R^(L) follow from the
closure. Moments of a power-law spectrum explode with L and c_l alternate in sign, so this form is
meant for the mpmath printer; the solver in double precision is the spectral one.
"""

from __future__ import annotations

import sympy as sp
from symderiv_codegen import Array, Assignment, Call, Procedure, Program, Vector

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.derivation.moment_hierarchy import cross_moment, student_moment
from symderiv.lowering.programs.lowered_equations import activation_functions, lower
from symderiv.lowering.programs.module_header import (
    constants,
    header_equations,
    recipe,
    stated,
    title,
)
from symderiv.lowering.programs.program import WRITTEN_OUT, error_procedures
from symderiv.lowering.solver_arrays import (
    DV,
    ERROR,
    FIELDS,
    GAMMA,
    RATES,
    V_TEACHER,
    A,
    B,
    Q,
    R,
    T,
    V,
    arrays_of,
)
from symderiv.numerics import GAUSSIAN

_STUDENT = Array("student_moment", ("L", "K", "K"), "Q^(l) = sum_k w_k rho_k^l Q_k", True)
_CROSS = Array("cross_moment", ("L", "K", "M"), "R^(l) = sum_k w_k rho_k^(l-1) r_k")
_TEACHER = Array(
    "teacher_moment", ("L", "M", "M"), "T^(l+1) = sum_k w_k rho_k^(l-1) t_k, shifted by one", True
)
_CLOSURE = Array("closure", ("L",), "coefficients c_l of prod_k (rho - rho_k), c_L = 1")
_SPECTRAL = Array(
    "spectral_moment", ("L",), "nu_(l+1) = sum_k w_k rho_k^(l+1), shifted by one like T"
)
_STUDENT_TOP = Array("student_highest", ("K", "K"), "Q^(L)", True)
_CROSS_TOP = Array("cross_highest", ("K", "M"), "R^(L)")
_STUDENT_NEXT = Array("student_next", ("L", "K", "K"), "Q^(l+1)", True)
_CROSS_NEXT = Array("cross_next", ("L", "K", "M"), "R^(l+1)")
_D_STUDENT = Array("d_student_moment", ("L", "K", "K"), "time derivative", True)
_D_CROSS = Array("d_cross_moment", ("L", "K", "M"), "time derivative")
_D_V = Array("d_v", ("K",), "time derivative")


def _moment_equations(equations: LearningEquations) -> list[str]:
    moments = equations.moments
    named = (
        ("student_moment[L, i, j]", moments.student_closure),
        ("cross_moment[L, i, n]", moments.cross_closure),
        ("d student_moment[l, i, j]/d alpha", moments.student_moment),
        ("d cross_moment[l, i, n]/d alpha", moments.cross_moment),
        ("d v[i]/d alpha", equations.spectral.second_layer),
    )
    lines = ["Q = student_moment[1], R = cross_moment[1]."]
    return lines + [line for name, value in named for line in stated(name, value)]


def _stored(expression: sp.Expr) -> sp.Expr:
    """Return moments of order l + 1 read from the arrays that hold them at place l."""
    nexts = {"student_moment": _STUDENT_NEXT, "cross_moment": _CROSS_NEXT}
    shifted = {"teacher_moment": _TEACHER, "spectral_moment": _SPECTRAL}

    def place(element: sp.Indexed) -> sp.Expr:
        name = str(element.base.label)
        order, *units = element.indices
        array = {**nexts, **shifted}.get(name)
        if array is None or order == s.l:
            return element
        return sp.IndexedBase(array.name)[(order - 1, *units)]

    return expression.xreplace(
        {element: place(element) for element in expression.atoms(sp.Indexed)}
    )


def _next_moments() -> tuple[Assignment, ...]:
    """Return assignments of Q^(l+1), R^(l+1): from the state, at the highest order the closure."""
    result = []
    for base, top, following, units in (
        (student_moment, _STUDENT_TOP, _STUDENT_NEXT, (s.i, s.j)),
        (cross_moment, _CROSS_TOP, _CROSS_NEXT, (s.i, s.n)),
    ):
        value = sp.Piecewise(
            (base[(s.l + 1, *units)], sp.Lt(s.l + 1, s.L)),
            (sp.IndexedBase(top.name)[units], True),
        )
        target = sp.IndexedBase(following.name)[(s.l, *units)]
        result.append(Assignment(target, value, symmetric=following.symmetric))
    return tuple(result)


def moment_program(equations: LearningEquations, name: str) -> Program:
    """Return the equations in moment form; arguments and errors as for ``solver_program``."""
    problem = equations.problem
    lowered = lower(equations)
    return Program(
        name=name,
        title=title(problem) + ", moment form",
        recipe=recipe(problem),
        equations=(*header_equations(equations), *_moment_equations(equations)),
        ranges=("K", "M", "L"),
        functions=(*activation_functions(problem), *lowered.functions),
        procedures=(*error_procedures(lowered, arrays_of()), *_procedures(equations)),
        state=Vector("state", (_STUDENT, _CROSS, V)),
        parameters=Vector("parameters", (_CLOSURE, _SPECTRAL, _TEACHER, T, V_TEACHER, *RATES)),
        constants=constants(problem),
        written_out=WRITTEN_OUT,
        extension=GAUSSIAN,
    )


_STATE = (_STUDENT, _CROSS, _CLOSURE)
_HIGHEST = (_STUDENT_TOP, _CROSS_TOP)
_FIELD_NAMES = tuple(array.name for array in FIELDS)


def _procedures(equations: LearningEquations) -> tuple[Procedure, ...]:
    names = tuple(array.name for array in (*_STATE, Q, R, *_HIGHEST))
    overlaps = Call("order_parameters", names)
    return (
        _order_parameters(equations),
        Procedure(
            "observables",
            "Covariances of the fields and, returned, the generalisation error of a state.",
            (*_STATE, T, V, V_TEACHER),
            (Q, R, ERROR),
            _HIGHEST,
            (overlaps, Call("generalization_error", (*_FIELD_NAMES, ERROR.name))),
        ),
        _right_hand_side(equations, overlaps),
    )


def _order_parameters(equations: LearningEquations) -> Procedure:
    moments = equations.moments
    student_top, cross_top = (sp.IndexedBase(array.name) for array in _HIGHEST)
    # with a single eigenvalue the first moments are the highest
    student, cross = (
        sp.Piecewise((base[1, *units], sp.Lt(1, s.L)), (top[units], True))
        for base, top, units in (
            (student_moment, student_top, (s.i, s.j)),
            (cross_moment, cross_top, (s.i, s.n)),
        )
    )
    return Procedure(
        "order_parameters",
        "Covariances of the fields and the highest moments.",
        _STATE,
        (Q, R, *_HIGHEST),
        (),
        (
            Assignment(student_top[s.i, s.j], moments.student_closure, symmetric=True),
            Assignment(cross_top[s.i, s.n], moments.cross_closure),
            Assignment(s.Q[s.i, s.j], student, symmetric=True),
            Assignment(s.R[s.i, s.n], cross),
        ),
    )


def _right_hand_side(equations: LearningEquations, overlaps: Call) -> Procedure:
    moments = equations.moments
    d_student, d_cross, d_v = (sp.IndexedBase(a.name) for a in (_D_STUDENT, _D_CROSS, _D_V))
    return Procedure(
        "right_hand_side",
        "Time derivatives of the moments and the output weights.",
        (_STUDENT, _CROSS, V, _CLOSURE, _SPECTRAL, _TEACHER, T, V_TEACHER, *RATES),
        (_D_STUDENT, _D_CROSS, _D_V),
        (Q, R, *_HIGHEST, _STUDENT_NEXT, _CROSS_NEXT, A, B, DV, GAMMA),
        (
            overlaps,
            Call("gradients", (*_FIELD_NAMES, "A", "B", "dv")),
            Call("noise", (*_FIELD_NAMES, "label_noise", "Gamma"), when=sp.Ne(s.full_order, 0)),
            *_next_moments(),
            Assignment(d_student[s.l, s.i, s.j], _stored(moments.student_moment), symmetric=True),
            Assignment(d_cross[s.l, s.i, s.n], _stored(moments.cross_moment)),
            Assignment(d_v[s.i], equations.spectral.second_layer),
        ),
    )
