"""A realistic program for the tests: erf student and teacher, integrals written down by hand."""

from __future__ import annotations

import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    Call,
    Procedure,
    Program,
    ScalarFunction,
    Vector,
)

K, M, L = sp.symbols("K M L", integer=True, positive=True)
i, j, a, b = (sp.Idx(name, K) for name in "ijab")
n, m = (sp.Idx(name, M) for name in "nm")
k = sp.Idx("k", L)

Q, R, T, v, v_teacher, A, B, dv, Gamma = map(
    sp.IndexedBase, ["Q", "R", "T", "v", "v_teacher", "A", "B", "dv", "Gamma"]
)
Qk, Rk, Tk = map(sp.IndexedBase, ["student_overlap", "cross_overlap", "teacher_overlap"])
dQk, dRk, d_v = map(sp.IndexedBase, ["d_student_overlap", "d_cross_overlap", "d_v"])
rho, w = map(sp.IndexedBase, ["eigenvalue", "weight"])
eta, eta_v = sp.symbols("learning_rate second_layer_learning_rate", real=True)
kappa, kappa_v, sigma, full_order = sp.symbols(
    "weight_decay second_layer_weight_decay label_noise full_order", real=True
)

i2, i2_11, i2_12, i2_diagonal, slopes, i4 = map(
    sp.Function, ["i2", "i2_11", "i2_12", "i2_diagonal", "slopes", "i4"]
)


def scalar_functions() -> tuple[ScalarFunction, ...]:
    c = {(p, q): sp.Symbol(f"c{p}{q}", real=True) for p in range(1, 5) for q in range(p, 5)}
    c11, c12, c13, c14 = c[1, 1], c[1, 2], c[1, 3], c[1, 4]
    c22, c23, c24, c33, c34, c44 = c[2, 2], c[2, 3], c[2, 4], c[3, 3], c[3, 4], c[4, 4]
    d = sp.Symbol("determinant", positive=True)
    define = ((d, (1 + c11) * (1 + c22) - c12**2),)
    l0, l1, l2 = sp.symbols("overlap variance_w variance_z", real=True)
    definitions = (
        *define,
        (
            l0,
            d * c34
            - c23 * c24 * (1 + c11)
            - c13 * c14 * (1 + c22)
            + c12 * c13 * c24
            + c12 * c14 * c23,
        ),
        (l1, d * (1 + c33) - c23**2 * (1 + c11) - c13**2 * (1 + c22) + 2 * c12 * c13 * c23),
        (l2, d * (1 + c44) - c24**2 * (1 + c11) - c14**2 * (1 + c22) + 2 * c12 * c14 * c24),
    )
    three = (c11, c12, c22)
    exchange = ((2, 1, 0),)
    x = sp.Symbol("x", real=True)
    return (
        ScalarFunction("student_activation", (x,), (), sp.erf(x / sp.sqrt(2)), "g(x)."),
        ScalarFunction(
            "i2",
            three,
            (),
            2 / sp.pi * sp.asin(c12 / sp.sqrt((1 + c11) * (1 + c22))),
            "E[g(u) g(v)].",
            latex="I_2",
            guarded=True,
            symmetries=exchange,
        ),
        ScalarFunction(
            "i2_11",
            three,
            define,
            -c12 / (sp.pi * (1 + c11) * sp.sqrt(d)),
            "Derivative of E[g(u) g(v)] with respect to the variance of u.",
        ),
        ScalarFunction(
            "i2_12",
            three,
            define,
            2 / (sp.pi * sp.sqrt(d)),
            "Derivative of E[g(u) g(v)] with respect to the covariance of u and v.",
            symmetries=exchange,
        ),
        ScalarFunction(
            "i2_diagonal",
            (c11,),
            (),
            2 / (sp.pi * (1 + c11) * sp.sqrt(1 + 2 * c11)),
            "Derivative of E[g(u)^2] with respect to the variance of u.",
        ),
        ScalarFunction(
            "slopes",
            three,
            define,
            2 / (sp.pi * sp.sqrt(d)),
            "E[g'(u) g'(v)].",
            symmetries=exchange,
        ),
        ScalarFunction(
            "i4",
            tuple(c.values()),
            definitions,
            4 / sp.pi**2 / sp.sqrt(d) * sp.asin(l0 / sp.sqrt(l1 * l2)),
            "E[g'(u) g'(v) g(w) g(z)] for centred Gaussian fields with covariances c11, c12, ...",
            latex="I_4",
            guarded=True,
            symmetries=((0, 1, 3, 2, 4, 6, 5, 9, 8, 7), (4, 1, 5, 6, 0, 2, 3, 7, 8, 9)),
        ),
    )


def _i4(w_field: tuple[str, sp.Idx], z_field: tuple[str, sp.Idx]) -> sp.Expr:
    def overlap(p: tuple[str, sp.Idx], q: tuple[str, sp.Idx]) -> sp.Expr:
        if p[0] == q[0]:
            return (Q if p[0] == "student" else T)[p[1], q[1]]
        student, teacher = (p, q) if p[0] == "student" else (q, p)
        return R[student[1], teacher[1]]

    fields = [("student", i), ("student", j), w_field, z_field]
    return i4(*(overlap(fields[p], fields[q]) for p in range(4) for q in range(p, 4)))


ORDER_PARAMETERS = (
    Array("Q", ("K", "K"), "student overlaps", symmetric=True),
    Array("R", ("K", "M"), "student-teacher overlaps"),
    Array("T", ("M", "M"), "teacher overlaps", symmetric=True),
    Array("v", ("K",), "student output weights"),
    Array("v_teacher", ("M",), "teacher output weights"),
)
STUDENT = Array("student_overlap", ("L", "K", "K"), "Q_k", symmetric=True)
CROSS = Array("cross_overlap", ("L", "K", "M"), "r_k")
TEACHER = Array("teacher_overlap", ("L", "M", "M"), "t_k", symmetric=True)
MODES = (Array("eigenvalue", ("L",), "rho_k"), Array("weight", ("L",), "w_k"))
RATES = tuple(
    Array(name)
    for name in (
        "learning_rate",
        "second_layer_learning_rate",
        "weight_decay",
        "second_layer_weight_decay",
        "label_noise",
        "full_order",
    )
)


def _generalization_error() -> Procedure:
    eps = sp.Symbol("epsilon", real=True)
    value = (
        sp.Sum(v[i] * v[j] * i2(Q[i, i], Q[i, j], Q[j, j]), i, j) / 2
        - sp.Sum(v[i] * v_teacher[n] * i2(Q[i, i], R[i, n], T[n, n]), n, i)
        + sp.Sum(v_teacher[n] * v_teacher[m] * i2(T[n, n], T[n, m], T[m, m]), n, m) / 2
    )
    return Procedure(
        "generalization_error",
        "Half the mean squared difference of student and teacher.",
        ORDER_PARAMETERS,
        (Array("epsilon", (), "the error"),),
        (),
        (Assignment(eps, value),),
    )


def _gradients() -> Procedure:
    others = sp.Sum(
        sp.Piecewise((v[a] * i2_11(Q[i, i], Q[i, a], Q[a, a]), sp.Ne(a, i)), (0, True)), a
    )
    teachers = sp.Sum(v_teacher[n] * i2_11(Q[i, i], R[i, n], T[n, n]), n)
    diagonal = v[i] ** 2 * i2_diagonal(Q[i, i]) + 2 * v[i] * others - 2 * v[i] * teachers
    off_diagonal = v[i] * v[j] * i2_12(Q[i, i], Q[i, j], Q[j, j])
    return Procedure(
        "gradients",
        "Derivatives of the generalization error with respect to Q, R and v.",
        ORDER_PARAMETERS,
        (
            Array("A", ("K", "K"), "(1 + delta_ij) d epsilon / d Q_ij", symmetric=True),
            Array("B", ("K", "M"), "d epsilon / d R_in"),
            Array("dv", ("K",), "d epsilon / d v_i"),
        ),
        (),
        (
            Assignment(
                A[i, j],
                sp.Piecewise((diagonal, sp.Eq(i, j)), (off_diagonal, True)),
                symmetric=True,
                comment="with respect to the overlaps of students",
            ),
            Assignment(B[i, n], -v[i] * v_teacher[n] * i2_12(Q[i, i], R[i, n], T[n, n])),
            Assignment(
                dv[i],
                sp.Sum(v[j] * i2(Q[i, i], Q[i, j], Q[j, j]), j)
                - sp.Sum(v_teacher[n] * i2(Q[i, i], R[i, n], T[n, n]), n),
            ),
        ),
    )


def _noise() -> Procedure:
    students = sp.Sum(v[a] * v[b] * _i4(("student", a), ("student", b)), a, b)
    mixed = sp.Sum(v[a] * v_teacher[n] * _i4(("student", a), ("teacher", n)), n, a)
    teachers = sp.Sum(v_teacher[n] * v_teacher[m] * _i4(("teacher", n), ("teacher", m)), n, m)
    return Procedure(
        "noise",
        "Mean of the squared error signal times the slopes of two students.",
        (*ORDER_PARAMETERS, Array("label_noise")),
        (Array("Gamma", ("K", "K"), "v_i v_j E[delta^2 g'(x_i) g'(x_j)]", symmetric=True),),
        (),
        (
            Assignment(
                Gamma[i, j],
                v[i]
                * v[j]
                * (students - 2 * mixed + teachers + sigma**2 * slopes(Q[i, i], Q[i, j], Q[j, j])),
                symmetric=True,
            ),
        ),
    )


def _order_parameters() -> Procedure:
    return Procedure(
        "order_parameters",
        "Overlaps summed over the modes.",
        (STUDENT, CROSS, *MODES),
        ORDER_PARAMETERS[:2],
        (),
        (
            Assignment(Q[i, j], sp.Sum(w[k] * rho[k] * Qk[k, i, j], k), symmetric=True),
            Assignment(R[i, n], sp.Sum(w[k] * Rk[k, i, n], k)),
        ),
    )


def _right_hand_side() -> Procedure:
    drift_r = -eta * (rho[k] * sp.Sum(A[i, a] * Rk[k, a, n], a) + sp.Sum(B[i, m] * Tk[k, m, n], m))
    drift_q = -eta * (
        rho[k] * (sp.Sum(A[i, a] * Qk[k, a, j], a) + sp.Sum(A[j, a] * Qk[k, a, i], a))
        + sp.Sum(B[i, n] * Rk[k, j, n], n)
        + sp.Sum(B[j, n] * Rk[k, i, n], n)
    )
    gradients = Call(
        "gradients", ("Q", "R", "T", "v", "v_teacher", "A", "B", "dv"), comment="the drift"
    )
    noise = Call(
        "noise",
        ("Q", "R", "T", "v", "v_teacher", "label_noise", "Gamma"),
        when=sp.Ne(full_order, 0),
    )
    return Procedure(
        "right_hand_side",
        "Derivatives of the overlaps per mode and of the output weights.",
        (STUDENT, CROSS, ORDER_PARAMETERS[3], *MODES, TEACHER, *ORDER_PARAMETERS[2::2], *RATES),
        (
            Array("d_student_overlap", ("L", "K", "K"), "dQ_k / d alpha", symmetric=True),
            Array("d_cross_overlap", ("L", "K", "M"), "dr_k / d alpha"),
            Array("d_v", ("K",), "dv / d alpha"),
        ),
        (
            *ORDER_PARAMETERS[:2],
            *_gradients().outputs,
            *_noise().outputs,
        ),
        (
            Call(
                "order_parameters",
                ("student_overlap", "cross_overlap", "eigenvalue", "weight", "Q", "R"),
            ),
            gradients,
            noise,
            Assignment(
                dRk[k, i, n], drift_r - kappa * Rk[k, i, n], comment="student-teacher overlaps"
            ),
            Assignment(
                dQk[k, i, j],
                drift_q + eta**2 * rho[k] * Gamma[i, j] - 2 * kappa * Qk[k, i, j],
                symmetric=True,
                comment="student overlaps",
            ),
            Assignment(d_v[i], -eta_v * dv[i] - kappa_v * v[i]),
        ),
    )


def _observables() -> Procedure:
    return Procedure(
        "observables",
        "Order parameters and generalization error of a state.",
        (STUDENT, CROSS, ORDER_PARAMETERS[3], *MODES, *ORDER_PARAMETERS[2::2]),
        (*ORDER_PARAMETERS[:2], Array("epsilon", (), "the error")),
        (),
        (
            Call(
                "order_parameters",
                ("student_overlap", "cross_overlap", "eigenvalue", "weight", "Q", "R"),
            ),
            Call("generalization_error", ("Q", "R", "T", "v", "v_teacher", "epsilon")),
        ),
    )


def erf_program() -> Program:
    """The order-parameter dynamics of an erf network, K students and M teachers."""
    return Program(
        name="erf_by_hand",
        title="Order-parameter dynamics of a two-layer erf network.",
        recipe={"student activation": "erf(x/sqrt(2))", "teacher activation": "erf(x/sqrt(2))"},
        equations=("Q = sum_k w_k rho_k Q_k,   R = sum_k w_k r_k",),
        ranges=("K", "M", "L"),
        functions=scalar_functions(),
        procedures=(
            _generalization_error(),
            _gradients(),
            _noise(),
            _order_parameters(),
            _right_hand_side(),
            _observables(),
        ),
        state=Vector("state", (STUDENT, CROSS, ORDER_PARAMETERS[3])),
        parameters=Vector("parameters", (*MODES, TEACHER, *ORDER_PARAMETERS[2::2], *RATES)),
        constants={"FORMAT": 1},
    )
