"""Order-parameter dynamics of a two-layer student and teacher, g(x) = x/2*(1+erf(x/sqrt(2)))

Generated, do not edit: change the recipe and generate again. The module stands alone; it needs
math, numpy and numba and nothing else.

Recipe:
    student activation  x/2*(1+erf(x/sqrt(2)))
    teacher activation  x/2*(1+erf(x/sqrt(2)))
    SymPy               1.14.0
    recipe digest       0e4d3391c74ce11f

Equations:
    x[i] and y[n] are the fields of student and teacher, g and h their activations, E[..] is
    a mean over the inputs; sums run over all values of their index.
    error = sum_p(v[p]*sum_q(E[g(x[p])*g(x[q])]*v[q]))/2 -
        sum_p(v[p]*sum_m(E[g(x[p])*h(y[m])]*v_teacher[m])) +
        sum_m(v_teacher[m]*sum_n(E[h(y[m])*h(y[n])]*v_teacher[n]))/2
    A[i, j] = E[g'(x[i])*g'(x[j])]*v[i]*v[j] + delta(i, j)*v[i]*sum_p(E[g(x[p])*g''(x[i])]*v[p])
        - delta(i, j)*v[i]*sum_m(E[g''(x[i])*h(y[m])]*v_teacher[m])
    B[i, n] = -E[g'(x[i])*h'(y[n])]*v[i]*v_teacher[n]
    dv[i] = sum_p(E[g(x[i])*g(x[p])]*v[p]) - sum_m(E[g(x[i])*h(y[m])]*v_teacher[m])
    Gamma[i, j] = label_noise**2*E[g'(x[i])*g'(x[j])]*v[i]*v[j] +
        v[i]*v[j]*sum_p(v[p]*sum_q(E[g(x[p])*g(x[q])*g'(x[i])*g'(x[j])]*v[q])) -
        2*v[i]*v[j]*sum_p(v[p]*sum_m(E[g(x[p])*g'(x[i])*g'(x[j])*h(y[m])]*v_teacher[m])) +
        v[i]*v[j]*sum_m(v_teacher[m]*sum_n(E[g'(x[i])*g'(x[j])*h(y[m])*h(y[n])]*v_teacher[n]))
    Q[i, j] = sum_k(eigenvalue[k]*student_overlap[i, j, k]*weight[k])
    R[i, n] = sum_k(cross_overlap[i, n, k]*weight[k])
    d student_overlap[i, j, k]/d alpha = learning_rate**2*Gamma[i, j]*eigenvalue[k] -
        learning_rate*eigenvalue[k]*sum_p(A[i, p]*student_overlap[j, p, k]) -
        learning_rate*eigenvalue[k]*sum_p(A[j, p]*student_overlap[i, p, k]) -
        learning_rate*sum_m(B[i, m]*cross_overlap[j, m, k]) -
        learning_rate*sum_m(B[j, m]*cross_overlap[i, m, k]) -
        2*weight_decay*student_overlap[i, j, k]
    d cross_overlap[i, n, k]/d alpha =
        -learning_rate*eigenvalue[k]*sum_p(A[i, p]*cross_overlap[p, n, k]) -
        learning_rate*sum_m(B[i, m]*teacher_overlap[n, m, k]) -
        weight_decay*cross_overlap[i, n, k]
    d v[i]/d alpha = -second_layer_learning_rate*dv[i] - second_layer_weight_decay*v[i]

Arrays and numbers:
    Q                           (K, K)     covariance E[x_i x_j] of the student fields
    R                           (K, M)     covariance E[x_i y_n] of student and teacher fields
    T                           (M, M)     covariance E[y_n y_m] of the teacher fields
    v                           (K)        output weights of the student
    v_teacher                   (M)        output weights of the teacher
    error                                  the generalisation error
    A                           (K, K)     (1 + delta_ij) d error / d Q_ij
    B                           (K, M)     d error / d R_in
    dv                          (K)        d error / d v_i
    label_noise                            standard deviation of the label noise
    Gamma                       (K, K)     coefficient of learning_rate**2 eigenvalue in dQ_k
    student_overlap             (K, K, L)  overlaps Q_k of the students per eigenvalue
    cross_overlap               (K, M, L)  overlaps r_k of students and teachers
    eigenvalue                  (L)        distinct eigenvalues of the inputs
    weight                      (L)        their multiplicities over the input dimension
    teacher_overlap             (M, M, L)  overlaps t_k of the teachers
    learning_rate                          of the first layer
    second_layer_learning_rate             0 keeps the output weights
    weight_decay                           of the first layer
    second_layer_weight_decay              of the output weights
    full_order                             1 with the terms of order learning_rate**2, 0 without
    d_student_overlap           (K, K, L)  time derivative
    d_cross_overlap             (K, M, L)  time derivative
    d_v                         (K)        time derivative

Operations, each line of a loop counted once:
    student_activation 8, student_activation_derivative 20, teacher_activation 1, i2 38, i2_11 30,
    i2_12 35, i4 735, generalization_error 21, first_layer_gradients 20, second_layer_gradient 7,
    gradients 0, noise 27, order_parameters 5, observables 0, right_hand_side 34

Digests (SHA-256):
    program  604a328134633bd377ac1a9125c42d179dfe28735e6855d1d8b5e5ac33c147c5
    code     097b23468ef0740f87cef24617e716b3b14f42a22e763cf67094b500c7d8f269
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit

FORMAT = 3
STUDENT_ACTIVATION = "x/2*(1+erf(x/sqrt(2)))"
TEACHER_ACTIVATION = "x/2*(1+erf(x/sqrt(2)))"
# How arrays are packed into vectors: one after the other, the last index runs fastest.
LAYOUT = {
    "sizes": ("K", "M", "L"),
    "state": {"student_overlap": ("K", "K", "L"), "cross_overlap": ("K", "M", "L"), "v": ("K",)},
    "parameters": {
        "eigenvalue": ("L",), "weight": ("L",), "teacher_overlap": ("M", "M", "L"), "T": ("M", "M"),
        "v_teacher": ("M",), "learning_rate": (), "second_layer_learning_rate": (), "weight_decay":
        (), "second_layer_weight_decay": (), "label_noise": (), "full_order": (),
    },
}
RECIPE = {
    "student activation": "x/2*(1+erf(x/sqrt(2)))",
    "teacher activation": "x/2*(1+erf(x/sqrt(2)))",
    "SymPy": "1.14.0",
    "recipe digest": "0e4d3391c74ce11f",
}

_compiled = njit(cache=True, error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_value = njit(cache=True, error_model="numpy", fastmath=False)
_compiled_sums = njit(cache=True, error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)


@_compiled_value
def student_activation(x):
    """The student's activation g(x)."""
    return 0.5 * x * (math.erf((0.5 * math.sqrt(2.0)) * x) + 1.0)


@_compiled_value
def student_activation_derivative(x):
    """Its derivative g'(x)."""
    return (
        (0.5 * math.sqrt(2.0) / math.sqrt(math.pi)) * x * math.exp(-0.5 * x * x)
        + 0.5 * math.erf((0.5 * math.sqrt(2.0)) * x)
        + 0.5
    )


@_compiled_value
def teacher_activation(x):
    """The teacher's activation."""
    return student_activation(x)


@_compiled
def i2(c11, c12, c22):
    """E[g(a) g(b)]."""
    c_s1_2_given_s2 = c12 / (c22 + 1.0)
    c_s2_2_given_s1 = c22 - c12 * c12 / (c11 + 1.0)
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    return (
        (0.5 / math.pi) * c12 * math.asin(c12 / math.sqrt((c11 + 1.0) * (c22 + 1.0)))
        + 0.25 * c12
        + (0.5 / math.pi) * (c11 * c_s2_2_given_s1 + c12 * c_s1_2_given_s2)
        / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))
    )


@_compiled
def i2_11(c11, c12, c22):
    """1/2 E[g''(a) g(b)] = dI2/dc11."""
    c_1_1_given_s1 = c11 / (c11 + 1.0)
    c_s2_1_given_s1 = c12 / (c11 + 1.0)
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    c_1_2_given_s1_s2 = c_s2_1_given_s1 / c_s2_s2_given_s1
    c_s2_2_given_s1 = c22 - c12 * c12 / (c11 + 1.0)
    return (
        (0.25 / math.pi)
        * (
            2.0 * c_s2_2_given_s1 - c_1_1_given_s1 * c_s2_2_given_s1
            - c_1_2_given_s1_s2 * c_s2_1_given_s1 - c_s2_1_given_s1 * c_s2_1_given_s1
        ) / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))
    )


@_compiled
def i2_12(c11, c12, c22):
    """E[g'(a) g'(b)] = dI2/dc12."""
    c_s2_1_given_s1 = c12 / (c11 + 1.0)
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    c_1_2_given_s1_s2 = c_s2_1_given_s1 / c_s2_s2_given_s1
    c_s1_2_given_s2 = c12 / (c22 + 1.0)
    return (
        (0.5 / math.pi) * math.asin(c12 / math.sqrt((c11 + 1.0) * (c22 + 1.0)))
        + 0.25
        + (0.5 / math.pi) * (c_1_2_given_s1_s2 + c_s1_2_given_s2 + c_s2_1_given_s1)
        / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))
    )


@_compiled
def i4(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) g(c) g(d)]."""
    c_s2_1_given_s1 = c12 / (c11 + 1.0)
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    c_1_2_given_s1_s2 = c_s2_1_given_s1 / c_s2_s2_given_s1
    c_1_3_given_s1 = c13 / (c11 + 1.0)
    c_s2_3_given_s1 = c23 - c12 * c13 / (c11 + 1.0)
    c_1_3_given_s1_s2 = c_1_3_given_s1 - c_s2_1_given_s1 * c_s2_3_given_s1 / c_s2_s2_given_s1
    c_1_4_given_s1 = c14 / (c11 + 1.0)
    c_s2_4_given_s1 = c24 - c12 * c14 / (c11 + 1.0)
    c_1_4_given_s1_s2 = c_1_4_given_s1 - c_s2_1_given_s1 * c_s2_4_given_s1 / c_s2_s2_given_s1
    c_2_3_given_s1_s2 = c_s2_3_given_s1 / c_s2_s2_given_s1
    c_s3_s3_given_s1 = c33 - c13 * c13 / (c11 + 1.0) + 1.0
    c_s3_s3_given_s1_s2 = c_s3_s3_given_s1 - c_s2_3_given_s1 * c_s2_3_given_s1 / c_s2_s2_given_s1
    c_2_3_given_s1_s2_s3 = c_2_3_given_s1_s2 / c_s3_s3_given_s1_s2
    c_2_4_given_s1_s2 = c_s2_4_given_s1 / c_s2_s2_given_s1
    c_3_4_given_s1 = c34 - c13 * c14 / (c11 + 1.0)
    c_3_4_given_s1_s2 = c_3_4_given_s1 - c_s2_3_given_s1 * c_s2_4_given_s1 / c_s2_s2_given_s1
    c_s4_s4_given_s1 = c44 - c14 * c14 / (c11 + 1.0) + 1.0
    c_s4_s4_given_s1_s2 = c_s4_s4_given_s1 - c_s2_4_given_s1 * c_s2_4_given_s1 / c_s2_s2_given_s1
    c_2_3_given_s1_s2_s4 = (
        c_2_3_given_s1_s2 - c_2_4_given_s1_s2 * c_3_4_given_s1_s2 / c_s4_s4_given_s1_s2
    )
    c_2_3_given_s2 = c23 / (c22 + 1.0)
    c_2_4_given_s1_s2_s3 = (
        c_2_4_given_s1_s2 - c_2_3_given_s1_s2 * c_3_4_given_s1_s2 / c_s3_s3_given_s1_s2
    )
    c_2_4_given_s1_s2_s4 = c_2_4_given_s1_s2 / c_s4_s4_given_s1_s2
    c_2_4_given_s2 = c24 / (c22 + 1.0)
    c_s4_3_given_s1_s2_s3 = c_3_4_given_s1_s2 / c_s3_s3_given_s1_s2
    c_s4_s4_given_s1_s2_s3 = (
        c_s4_s4_given_s1_s2 - c_3_4_given_s1_s2 * c_3_4_given_s1_s2 / c_s3_s3_given_s1_s2
    )
    c_3_4_given_s1_s2_s3_s4 = c_s4_3_given_s1_s2_s3 / c_s4_s4_given_s1_s2_s3
    c_3_4_given_s1_s4 = c_3_4_given_s1 / c_s4_s4_given_s1
    c_s4_3_given_s2 = c34 - c23 * c24 / (c22 + 1.0)
    c_s4_s4_given_s2 = c44 - c24 * c24 / (c22 + 1.0) + 1.0
    c_3_4_given_s2_s4 = c_s4_3_given_s2 / c_s4_s4_given_s2
    c_s1_2_given_s2 = c12 / (c22 + 1.0)
    c_s1_3_given_s2 = c13 - c12 * c23 / (c22 + 1.0)
    c_s3_s3_given_s2 = c33 - c23 * c23 / (c22 + 1.0) + 1.0
    c_s1_3_given_s2_s3 = c_s1_3_given_s2 / c_s3_s3_given_s2
    c_s1_4_given_s2 = c14 - c12 * c24 / (c22 + 1.0)
    c_s1_3_given_s2_s4 = c_s1_3_given_s2 - c_s1_4_given_s2 * c_s4_3_given_s2 / c_s4_s4_given_s2
    c_s1_4_given_s2_s3 = c_s1_4_given_s2 - c_s1_3_given_s2 * c_s4_3_given_s2 / c_s3_s3_given_s2
    c_s4_s4_given_s2_s3 = c_s4_s4_given_s2 - c_s4_3_given_s2 * c_s4_3_given_s2 / c_s3_s3_given_s2
    c_s1_4_given_s2_s3_s4 = c_s1_4_given_s2_s3 / c_s4_s4_given_s2_s3
    c_s1_4_given_s3 = c14 - c13 * c34 / (c33 + 1.0)
    c_s1_4_given_s4 = c14 / (c44 + 1.0)
    c_s1_s1_given_s2 = c11 - c12 * c12 / (c22 + 1.0) + 1.0
    c_s1_s1_given_s2_s3 = c_s1_s1_given_s2 - c_s1_3_given_s2 * c_s1_3_given_s2 / c_s3_s3_given_s2
    c_s1_s1_given_s2_s4 = c_s1_s1_given_s2 - c_s1_4_given_s2 * c_s1_4_given_s2 / c_s4_s4_given_s2
    c_s1_s1_given_s3 = c11 - c13 * c13 / (c33 + 1.0) + 1.0
    c_s4_s4_given_s3 = c44 - c34 * c34 / (c33 + 1.0) + 1.0
    c_s1_s1_given_s3_s4 = c_s1_s1_given_s3 - c_s1_4_given_s3 * c_s1_4_given_s3 / c_s4_s4_given_s3
    c_s1_s2_given_s3 = c12 - c13 * c23 / (c33 + 1.0)
    c_s2_4_given_s3 = c24 - c23 * c34 / (c33 + 1.0)
    c_s1_s2_given_s3_s4 = c_s1_s2_given_s3 - c_s1_4_given_s3 * c_s2_4_given_s3 / c_s4_s4_given_s3
    c_s2_3_given_s1_s3 = c_s2_3_given_s1 / c_s3_s3_given_s1
    c_s2_3_given_s1_s4 = c_s2_3_given_s1 - c_3_4_given_s1 * c_s2_4_given_s1 / c_s4_s4_given_s1
    c_s2_4_given_s1_s3 = c_s2_4_given_s1 - c_3_4_given_s1 * c_s2_3_given_s1 / c_s3_s3_given_s1
    c_s4_s4_given_s1_s3 = c_s4_s4_given_s1 - c_3_4_given_s1 * c_3_4_given_s1 / c_s3_s3_given_s1
    c_s2_4_given_s1_s3_s4 = c_s2_4_given_s1_s3 / c_s4_s4_given_s1_s3
    c_s2_4_given_s4 = c24 / (c44 + 1.0)
    c_s2_s2_given_s1_s3 = c_s2_s2_given_s1 - c_s2_3_given_s1 * c_s2_3_given_s1 / c_s3_s3_given_s1
    c_s2_s2_given_s1_s4 = c_s2_s2_given_s1 - c_s2_4_given_s1 * c_s2_4_given_s1 / c_s4_s4_given_s1
    c_s2_s2_given_s3 = c22 - c23 * c23 / (c33 + 1.0) + 1.0
    c_s2_s2_given_s3_s4 = c_s2_s2_given_s3 - c_s2_4_given_s3 * c_s2_4_given_s3 / c_s4_s4_given_s3
    c_s3_3_given_s1 = c33 - c13 * c13 / (c11 + 1.0)
    c_s3_3_given_s1_s2 = c_s3_3_given_s1 - c_s2_3_given_s1 * c_s2_3_given_s1 / c_s2_s2_given_s1
    c_s3_3_given_s1_s2_s4 = (
        c_s3_3_given_s1_s2 - c_3_4_given_s1_s2 * c_3_4_given_s1_s2 / c_s4_s4_given_s1_s2
    )
    c_s3_3_given_s1_s4 = c_s3_3_given_s1 - c_3_4_given_s1 * c_3_4_given_s1 / c_s4_s4_given_s1
    c_s3_3_given_s2 = c33 - c23 * c23 / (c22 + 1.0)
    c_s3_3_given_s2_s4 = c_s3_3_given_s2 - c_s4_3_given_s2 * c_s4_3_given_s2 / c_s4_s4_given_s2
    c_s3_4_given_s1_s2_s4 = c_3_4_given_s1_s2 / c_s4_s4_given_s1_s2
    c_s3_4_given_s4 = c34 / (c44 + 1.0)
    c_s3_s3_given_s1_s4 = c_s3_s3_given_s1 - c_3_4_given_s1 * c_3_4_given_s1 / c_s4_s4_given_s1
    c_s3_s3_given_s2_s4 = c_s3_s3_given_s2 - c_s4_3_given_s2 * c_s4_3_given_s2 / c_s4_s4_given_s2
    c_s4_3_given_s1_s3 = c_3_4_given_s1 / c_s3_s3_given_s1
    c_s4_3_given_s2_s3 = c_s4_3_given_s2 / c_s3_s3_given_s2
    c_s4_4_given_s1 = c44 - c14 * c14 / (c11 + 1.0)
    c_s4_4_given_s1_s2 = c_s4_4_given_s1 - c_s2_4_given_s1 * c_s2_4_given_s1 / c_s2_s2_given_s1
    c_s4_4_given_s1_s2_s3 = (
        c_s4_4_given_s1_s2 - c_3_4_given_s1_s2 * c_3_4_given_s1_s2 / c_s3_s3_given_s1_s2
    )
    c_s4_4_given_s2 = c44 - c24 * c24 / (c22 + 1.0)
    c_s4_4_given_s3 = c44 - c34 * c34 / (c33 + 1.0)
    return (
        0.0625 * c34
        * sign_mean4(
            c12 / math.sqrt((c11 + 1.0) * (c22 + 1.0)),
            c13 / math.sqrt((c11 + 1.0) * (c33 + 1.0)),
            c14 / math.sqrt((c11 + 1.0) * (c44 + 1.0)),
            c23 / math.sqrt((c22 + 1.0) * (c33 + 1.0)),
            c24 / math.sqrt((c22 + 1.0) * (c44 + 1.0)),
            c34 / math.sqrt((c33 + 1.0) * (c44 + 1.0)),
        )
        + (0.125 / math.pi) * c34 * math.asin(c12 / math.sqrt((c11 + 1.0) * (c22 + 1.0)))
        + (0.125 / math.pi) * c34 * math.asin(c13 / math.sqrt((c11 + 1.0) * (c33 + 1.0)))
        + (0.125 / math.pi) * c34 * math.asin(c14 / math.sqrt((c11 + 1.0) * (c44 + 1.0)))
        + (0.125 / math.pi) * c34 * math.asin(c23 / math.sqrt((c22 + 1.0) * (c33 + 1.0)))
        + (0.125 / math.pi) * c34 * math.asin(c24 / math.sqrt((c22 + 1.0) * (c44 + 1.0)))
        + (0.125 / math.pi) * c34 * math.asin(c34 / math.sqrt((c33 + 1.0) * (c44 + 1.0)))
        + 0.0625 * c34
        + (0.25 / math.pi**2) * (c33 * c_s4_4_given_s3 + c34 * c_s3_4_given_s4)
        * math.asin(c_s1_s2_given_s3_s4 / math.sqrt(c_s1_s1_given_s3_s4 * c_s2_s2_given_s3_s4))
        / math.sqrt(c_s4_s4_given_s3 * (c33 + 1.0))
        + (0.125 / math.pi) * (c33 * c_s4_4_given_s3 + c34 * c_s3_4_given_s4)
        / math.sqrt(c_s4_s4_given_s3 * (c33 + 1.0))
        + (0.25 / math.pi**2)
        * (
            c23 * c_s4_4_given_s2 + c34 * c_s2_4_given_s4 + c_2_3_given_s2 * c_s4_4_given_s2
            + c_2_4_given_s2 * c_3_4_given_s2_s4 + c_2_4_given_s2 * c_s4_3_given_s2
        ) * math.asin(c_s1_3_given_s2_s4 / math.sqrt(c_s1_s1_given_s2_s4 * c_s3_s3_given_s2_s4))
        / math.sqrt(c_s4_s4_given_s2 * (c22 + 1.0))
        + (0.125 / math.pi)
        * (
            c23 * c_s4_4_given_s2 + c34 * c_s2_4_given_s4 + c_2_3_given_s2 * c_s4_4_given_s2
            + c_2_4_given_s2 * c_3_4_given_s2_s4 + c_2_4_given_s2 * c_s4_3_given_s2
        ) / math.sqrt(c_s4_s4_given_s2 * (c22 + 1.0))
        + (0.25 / math.pi**2)
        * (
            c13 * c_s4_4_given_s1 + c34 * c_s1_4_given_s4 + c_1_3_given_s1 * c_s4_4_given_s1
            + c_1_4_given_s1 * c_3_4_given_s1 + c_1_4_given_s1 * c_3_4_given_s1_s4
        ) * math.asin(c_s2_3_given_s1_s4 / math.sqrt(c_s2_s2_given_s1_s4 * c_s3_s3_given_s1_s4))
        / math.sqrt(c_s4_s4_given_s1 * (c11 + 1.0))
        + (0.125 / math.pi)
        * (
            c13 * c_s4_4_given_s1 + c34 * c_s1_4_given_s4 + c_1_3_given_s1 * c_s4_4_given_s1
            + c_1_4_given_s1 * c_3_4_given_s1 + c_1_4_given_s1 * c_3_4_given_s1_s4
        ) / math.sqrt(c_s4_s4_given_s1 * (c11 + 1.0))
        + (0.25 / math.pi**2)
        * (
            c23 * c_s4_3_given_s2 + c33 * c_s2_4_given_s3 + c_2_3_given_s2 * c_s4_3_given_s2
            + c_2_3_given_s2 * c_s4_3_given_s2_s3 + c_2_4_given_s2 * c_s3_3_given_s2
        ) * math.asin(c_s1_4_given_s2_s3 / math.sqrt(c_s1_s1_given_s2_s3 * c_s4_s4_given_s2_s3))
        / math.sqrt(c_s3_s3_given_s2 * (c22 + 1.0))
        + (0.125 / math.pi)
        * (
            c23 * c_s4_3_given_s2 + c33 * c_s2_4_given_s3 + c_2_3_given_s2 * c_s4_3_given_s2
            + c_2_3_given_s2 * c_s4_3_given_s2_s3 + c_2_4_given_s2 * c_s3_3_given_s2
        ) / math.sqrt(c_s3_s3_given_s2 * (c22 + 1.0))
        + (0.25 / math.pi**2)
        * (
            c13 * c_3_4_given_s1 + c33 * c_s1_4_given_s3 + c_1_3_given_s1 * c_3_4_given_s1
            + c_1_3_given_s1 * c_s4_3_given_s1_s3 + c_1_4_given_s1 * c_s3_3_given_s1
        ) * math.asin(c_s2_4_given_s1_s3 / math.sqrt(c_s2_s2_given_s1_s3 * c_s4_s4_given_s1_s3))
        / math.sqrt(c_s3_s3_given_s1 * (c11 + 1.0))
        + (0.125 / math.pi)
        * (
            c13 * c_3_4_given_s1 + c33 * c_s1_4_given_s3 + c_1_3_given_s1 * c_3_4_given_s1
            + c_1_3_given_s1 * c_s4_3_given_s1_s3 + c_1_4_given_s1 * c_s3_3_given_s1
        ) / math.sqrt(c_s3_s3_given_s1 * (c11 + 1.0))
        + (0.25 / math.pi**2)
        * (
            c13 * c_s2_4_given_s1 + c23 * c_s1_4_given_s2 + c_1_2_given_s1_s2 * c_3_4_given_s1_s2
            + c_1_3_given_s1 * c_s2_4_given_s1 + c_1_3_given_s1_s2 * c_2_4_given_s1_s2
            + c_1_4_given_s1 * c_s2_3_given_s1 + c_1_4_given_s1_s2 * c_2_3_given_s1_s2
            + c_2_3_given_s2 * c_s1_4_given_s2 + c_2_4_given_s2 * c_s1_3_given_s2
            + c_3_4_given_s1_s2 * c_s1_2_given_s2 + c_3_4_given_s1_s2 * c_s2_1_given_s1
        ) * math.asin(c_3_4_given_s1_s2 / math.sqrt(c_s3_s3_given_s1_s2 * c_s4_s4_given_s1_s2))
        / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))
        + (0.125 / math.pi)
        * (
            c13 * c_s2_4_given_s1 + c23 * c_s1_4_given_s2 + c_1_2_given_s1_s2 * c_3_4_given_s1_s2
            + c_1_3_given_s1 * c_s2_4_given_s1 + c_1_3_given_s1_s2 * c_2_4_given_s1_s2
            + c_1_4_given_s1 * c_s2_3_given_s1 + c_1_4_given_s1_s2 * c_2_3_given_s1_s2
            + c_2_3_given_s2 * c_s1_4_given_s2 + c_2_4_given_s2 * c_s1_3_given_s2
            + c_3_4_given_s1_s2 * c_s1_2_given_s2 + c_3_4_given_s1_s2 * c_s2_1_given_s1
        ) / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))
        + (0.25 / math.pi**2)
        * (
            c_1_2_given_s1_s2 * c_3_4_given_s1_s2 * c_s3_4_given_s1_s2_s4
            + c_1_2_given_s1_s2 * c_s3_3_given_s1_s2 * c_s4_4_given_s1_s2_s3
            + c_1_3_given_s1 * c_s2_3_given_s1_s3 * c_s4_4_given_s1_s2_s3
            + c_1_3_given_s1 * c_s2_4_given_s1_s3_s4 * c_s4_3_given_s1_s3
            + c_1_3_given_s1_s2 * c_2_3_given_s1_s2 * c_s4_4_given_s1_s2_s3
            + c_1_3_given_s1_s2 * c_2_3_given_s1_s2_s3 * c_s4_4_given_s1_s2_s3
            + c_1_3_given_s1_s2 * c_2_4_given_s1_s2 * c_s3_4_given_s1_s2_s4
            + c_1_3_given_s1_s2 * c_2_4_given_s1_s2_s3 * c_3_4_given_s1_s2_s3_s4
            + c_1_3_given_s1_s2 * c_2_4_given_s1_s2_s3 * c_s4_3_given_s1_s2_s3
            + c_1_4_given_s1 * c_s2_3_given_s1_s4 * c_s3_4_given_s1_s2_s4
            + c_1_4_given_s1 * c_s2_4_given_s1_s3_s4 * c_s3_3_given_s1_s4
            + c_1_4_given_s1_s2 * c_2_3_given_s1_s2 * c_s4_3_given_s1_s2_s3
            + c_1_4_given_s1_s2 * c_2_3_given_s1_s2_s4 * c_3_4_given_s1_s2_s3_s4
            + c_1_4_given_s1_s2 * c_2_3_given_s1_s2_s4 * c_s3_4_given_s1_s2_s4
            + c_1_4_given_s1_s2 * c_2_4_given_s1_s2 * c_s3_3_given_s1_s2_s4
            + c_1_4_given_s1_s2 * c_2_4_given_s1_s2_s4 * c_s3_3_given_s1_s2_s4
            + c_2_3_given_s2 * c_s1_3_given_s2_s3 * c_s4_4_given_s1_s2_s3
            + c_2_3_given_s2 * c_s1_4_given_s2_s3_s4 * c_s4_3_given_s2_s3
            + c_2_4_given_s2 * c_s1_3_given_s2_s4 * c_s3_4_given_s1_s2_s4
            + c_2_4_given_s2 * c_s1_4_given_s2_s3_s4 * c_s3_3_given_s2_s4
            + c_3_4_given_s1_s2 * c_s1_2_given_s2 * c_s3_4_given_s1_s2_s4
            + c_3_4_given_s1_s2 * c_s2_1_given_s1 * c_s3_4_given_s1_s2_s4
            + c_s1_2_given_s2 * c_s3_3_given_s1_s2 * c_s4_4_given_s1_s2_s3
            + c_s2_1_given_s1 * c_s3_3_given_s1_s2 * c_s4_4_given_s1_s2_s3
        ) / math.sqrt(c_s2_s2_given_s1 * c_s3_s3_given_s1_s2 * c_s4_s4_given_s1_s2_s3 * (c11 + 1.0))
    )


@_compiled
def generalization_error(Q, R, T, v, v_teacher):
    """Mean of (student - teacher)**2 / 2 over the inputs, without label noise.

    Inputs: Q (K, K), R (K, M), T (M, M), v (K), v_teacher (M).
    Returns error.
    """
    K = Q.shape[0]
    M = T.shape[0]
    sum_over_m = 0.0
    for m in range(M):
        sum_over_n = 0.0
        for n in range(m + 1):
            sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * i2(T[m, m], T[m, n], T[n, n])
        sum_over_m += v_teacher[m] * sum_over_n
    sum_over_p = 0.0
    for p in range(K):
        sum_over_q = 0.0
        for q in range(p + 1):
            sum_over_q += (1.0 if p == q else 2.0) * v[q] * i2(Q[p, p], Q[p, q], Q[q, q])
        sum_over_m_2 = 0.0
        for m in range(M):
            sum_over_m_2 += v_teacher[m] * i2(Q[p, p], R[p, m], T[m, m])
        sum_over_p += v[p] * (sum_over_m_2 - 0.5 * sum_over_q)
    error = 0.5 * sum_over_m - sum_over_p
    return error


@_compiled
def first_layer_gradients(Q, R, T, v, v_teacher, A, B):
    """Derivatives of the generalisation error by Q (one variable for Q_ij and Q_ji) and R.

    Inputs: Q (K, K), R (K, M), T (M, M), v (K), v_teacher (M).
    Outputs, in place: A (K, K), B (K, M).
    """
    K = Q.shape[0]
    M = T.shape[0]
    for i in range(K):
        sum_over_m = 0.0
        for m in range(M):
            sum_over_m += v_teacher[m] * i2_11(Q[i, i], R[i, m], T[m, m])
        sum_over_p = 0.0
        for p in range(K):
            sum_over_p += v[p] * i2_11(Q[i, i], Q[i, p], Q[p, p])
        curvature = v[i] * (2.0 * sum_over_p - 2.0 * sum_over_m)
        for j in range(i + 1):
            A[i, j] = (
                (1.0 if i == j else 0.0) * curvature
                + v[i] * v[j] * i2_12(Q[i, i], Q[i, j], Q[j, j])
            )
            A[j, i] = A[i, j]
        for n in range(M):
            B[i, n] = -v[i] * v_teacher[n] * i2_12(Q[i, i], R[i, n], T[n, n])


@_compiled
def second_layer_gradient(Q, R, T, v, v_teacher, dv):
    """Derivatives of the generalisation error by v.

    Inputs: Q (K, K), R (K, M), T (M, M), v (K), v_teacher (M).
    Outputs, in place: dv (K).
    """
    K = Q.shape[0]
    M = T.shape[0]
    for i in range(K):
        sum_over_m = 0.0
        for m in range(M):
            sum_over_m += v_teacher[m] * i2(Q[i, i], R[i, m], T[m, m])
        sum_over_p = 0.0
        for p in range(K):
            sum_over_p += v[p] * i2(Q[i, i], Q[i, p], Q[p, p])
        dv[i] = sum_over_p - sum_over_m


@_compiled
def gradients(Q, R, T, v, v_teacher, A, B, dv):
    """Derivatives of the generalisation error by Q (one variable for Q_ij and Q_ji), R, v.

    Inputs: Q (K, K), R (K, M), T (M, M), v (K), v_teacher (M).
    Outputs, in place: A (K, K), B (K, M), dv (K).
    """
    first_layer_gradients(Q, R, T, v, v_teacher, A, B)
    second_layer_gradient(Q, R, T, v, v_teacher, dv)


@_compiled
def noise(Q, R, T, v, v_teacher, label_noise, Gamma):
    """Mean of the product of two students' forces, with label noise.

    Inputs: Q (K, K), R (K, M), T (M, M), v (K), v_teacher (M), label_noise.
    Outputs, in place: Gamma (K, K).
    """
    K = Q.shape[0]
    M = T.shape[0]
    for i in range(K):
        for j in range(i + 1):
            sum_over_p = 0.0
            for p in range(K):
                sum_over_q = 0.0
                for q in range(p + 1):
                    sum_over_q += (
                        (1.0 if p == q else 2.0) * v[q]
                        * i4(
                            Q[i, i], Q[i, j], Q[i, p], Q[i, q], Q[j, j], Q[j, p], Q[j, q], Q[p, p],
                            Q[p, q], Q[q, q],
                        )
                    )
                sum_over_m = 0.0
                for m in range(M):
                    sum_over_m += (
                        v_teacher[m]
                        * i4(
                            Q[i, i], Q[i, j], Q[i, p], R[i, m], Q[j, j], Q[j, p], R[j, m], Q[p, p],
                            R[p, m], T[m, m],
                        )
                    )
                sum_over_p += v[p] * (sum_over_m - 0.5 * sum_over_q)
            sum_over_m_2 = 0.0
            for m in range(M):
                sum_over_n = 0.0
                for n in range(m + 1):
                    sum_over_n += (
                        (1.0 if m == n else 2.0) * v_teacher[n]
                        * i4(
                            Q[i, i], Q[i, j], R[i, m], R[i, n], Q[j, j], R[j, m], R[j, n], T[m, m],
                            T[m, n], T[n, n],
                        )
                    )
                sum_over_m_2 += v_teacher[m] * sum_over_n
            Gamma[i, j] = (
                v[i] * v[j]
                * (
                    label_noise * label_noise * i2_12(Q[i, i], Q[i, j], Q[j, j])
                    + sum_over_m_2
                    - 2.0 * sum_over_p
                )
            )
            Gamma[j, i] = Gamma[i, j]


@_compiled_sums
def order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R):
    """Covariances of the fields from the overlaps per eigenvalue.

    Inputs: student_overlap (K, K, L), cross_overlap (K, M, L), eigenvalue (L), weight (L).
    Outputs, in place: Q (K, K), R (K, M).
    """
    K = student_overlap.shape[0]
    M = cross_overlap.shape[1]
    L = eigenvalue.shape[0]
    for i in range(K):
        for j in range(i + 1):
            sum_over_k = 0.0
            for k in range(L):
                sum_over_k += eigenvalue[k] * student_overlap[i, j, k] * weight[k]
            Q[i, j] = sum_over_k
            Q[j, i] = Q[i, j]
        for n in range(M):
            sum_over_k_2 = 0.0
            for k in range(L):
                sum_over_k_2 += cross_overlap[i, n, k] * weight[k]
            R[i, n] = sum_over_k_2


@_compiled
def observables(student_overlap, cross_overlap, eigenvalue, weight, T, v, v_teacher, Q, R):
    """Covariances of the fields and, returned, the generalisation error of a state.

    Inputs: student_overlap (K, K, L), cross_overlap (K, M, L), eigenvalue (L), weight (L),
    T (M, M), v (K), v_teacher (M).
    Outputs, in place: Q (K, K), R (K, M).
    Returns error.
    """
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    error = generalization_error(Q, R, T, v, v_teacher)
    return error


@_compiled
def right_hand_side(
    student_overlap, cross_overlap, v, eigenvalue, weight, teacher_overlap, T, v_teacher,
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order, d_student_overlap, d_cross_overlap, d_v,
):
    """Time derivatives of a state; time is examples over input dimension.

    Inputs: student_overlap (K, K, L), cross_overlap (K, M, L), v (K), eigenvalue (L), weight (L),
    teacher_overlap (M, M, L), T (M, M), v_teacher (M), learning_rate, second_layer_learning_rate,
    weight_decay, second_layer_weight_decay, label_noise, full_order.
    Outputs, in place: d_student_overlap (K, K, L), d_cross_overlap (K, M, L), d_v (K).
    """
    K = student_overlap.shape[0]
    M = teacher_overlap.shape[0]
    L = eigenvalue.shape[0]
    Q = np.empty((K, K))
    R = np.empty((K, M))
    A = np.empty((K, K))
    B = np.empty((K, M))
    dv = np.empty(K)
    Gamma = np.empty((K, K))
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    first_layer_gradients(Q, R, T, v, v_teacher, A, B)
    if second_layer_learning_rate != 0.0:
        second_layer_gradient(Q, R, T, v, v_teacher, dv)
    else:
        for i0 in range(K):
            dv[i0] = 0.0
    if full_order != 0.0:
        noise(Q, R, T, v, v_teacher, label_noise, Gamma)
    else:
        for i0 in range(K):
            for i1 in range(K):
                Gamma[i0, i1] = 0.0
    for i in range(K):
        for j in range(i + 1):
            for k in range(L):
                sum_over_m = 0.0
                for m in range(M):
                    sum_over_m += (
                        B[i, m] * cross_overlap[j, m, k] + B[j, m] * cross_overlap[i, m, k]
                    )
                sum_over_p = 0.0
                for p in range(K):
                    sum_over_p += (
                        A[i, p] * student_overlap[j, p, k] + A[j, p] * student_overlap[i, p, k]
                    )
                d_student_overlap[i, j, k] = (
                    Gamma[i, j] * eigenvalue[k] * learning_rate * learning_rate
                    - learning_rate * sum_over_m
                    - learning_rate * eigenvalue[k] * sum_over_p
                    - 2.0 * weight_decay * student_overlap[i, j, k]
                )
                d_student_overlap[j, i, k] = d_student_overlap[i, j, k]
        for n in range(M):
            for k in range(L):
                sum_over_m_2 = 0.0
                for m in range(M):
                    sum_over_m_2 += B[i, m] * teacher_overlap[n, m, k]
                sum_over_p_2 = 0.0
                for p in range(K):
                    sum_over_p_2 += A[i, p] * cross_overlap[p, n, k]
                d_cross_overlap[i, n, k] = (
                    -learning_rate * sum_over_m_2 - learning_rate * eigenvalue[k] * sum_over_p_2
                    - weight_decay * cross_overlap[i, n, k]
                )
        d_v[i] = -second_layer_learning_rate * dv[i] - second_layer_weight_decay * v[i]


def _unpacked(vector, which, sizes):
    """The arrays that are packed in a vector, by name; not copied. See ``LAYOUT``."""
    lengths = dict(zip(LAYOUT["sizes"], (int(size) for size in sizes), strict=True))
    arrays, start = {}, 0
    for name, axes in LAYOUT[which].items():
        shape = tuple(lengths[axis] for axis in axes)
        stop = start + math.prod(shape)
        arrays[name] = vector[start:stop].reshape(shape) if shape else vector[start]
        start = stop
    if start != vector.size:
        raise ValueError(f"{which}: its length does not agree with sizes")
    return arrays


def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
    """right_hand_side on vectors, to be called from Python; see ``LAYOUT``.

    derivative, written in place, is packed like state. alpha is the time.
    """
    arrays = _unpacked(state, "state", sizes)
    [student_overlap, cross_overlap, v] = arrays.values()
    arrays = _unpacked(parameters, "parameters", sizes)
    [
        eigenvalue, weight, teacher_overlap, T, v_teacher, learning_rate,
        second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
        full_order,
    ] = arrays.values()
    rates = list(_unpacked(derivative, "state", sizes).values())
    right_hand_side(
        student_overlap, cross_overlap, v, eigenvalue, weight, teacher_overlap, T, v_teacher,
        learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay,
        label_noise, full_order, *rates,
    )


def flat_observables(state, sizes, parameters, Q, R):
    """observables on vectors, to be called from Python; see ``LAYOUT``."""
    arrays = _unpacked(state, "state", sizes)
    [student_overlap, cross_overlap, v] = arrays.values()
    arrays = _unpacked(parameters, "parameters", sizes)
    eigenvalue = arrays["eigenvalue"]
    weight = arrays["weight"]
    T = arrays["T"]
    v_teacher = arrays["v_teacher"]
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    error = generalization_error(Q, R, T, v, v_teacher)
    return error


# How the functions above are evaluated without loss of digits.


_LEGENDRE_12 = np.array(np.polynomial.legendre.leggauss(12))
_LEGENDRE_24 = np.array(np.polynomial.legendre.leggauss(24))
_EVEN_NODES = _LEGENDRE_24[0][12:].copy()
_EVEN_WEIGHTS = _LEGENDRE_24[1][12:].copy()
_NODES = _LEGENDRE_12[0]
_WEIGHTS = _LEGENDRE_12[1]
_ROOM = 96
_STRETCH = 1.3
_BEGIN = math.log(1.3)


@_compiled
def _unit_scale(variance):
    """Return the power of two that brings a standard deviation near 1 without rounding."""
    return math.ldexp(1.0, -(math.frexp(variance)[1] // 2))


@_compiled
def _two_product(a, b):
    """Return a product and its rounding error: a b = high + low exactly."""
    t = 134217729.0 * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = 134217729.0 * b
    b_high = t - (t - b)
    b_low = b - b_high
    high = a * b
    low = ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low
    return high, low


@_compiled
def _two_difference(a_high, a_low, b_high, b_low):
    """Return (a_high + a_low) - (b_high + b_low) as a double and its remainder."""
    s = a_high - b_high
    t = s - a_high
    low = ((a_high - (s - t)) - (b_high + t)) + (a_low - b_low)
    high = s + low
    return high, low - (high - s)


@_compiled
def _minor(a, b, c, d):
    """Return a b - c d of doubles, in doubled precision."""
    p, p_low = _two_product(a, b)
    q, q_low = _two_product(c, d)
    return _two_difference(p, p_low, q, q_low)


@_compiled
def _minor_of_doubled(a, b, c, d):
    """Return a b - c d of doubled-precision numbers, in doubled precision."""
    p, p_low = _two_product(a[0], b[0])
    q, q_low = _two_product(c[0], d[0])
    p_low += a[0] * b[1] + a[1] * b[0]
    q_low += c[0] * d[1] + c[1] * d[0]
    return _two_difference(p, p_low, q, q_low)


@_compiled
def _arcsine(variance_product_minus_square, covariance):
    """Return asin of a correlation, from the covariance and the 2 x 2 determinant."""
    return math.atan2(covariance, math.sqrt(max(variance_product_minus_square, 0.0)))


@_compiled
def _determinant3(a, b, c, ab, ac, bc):
    """Return the 3 x 3 determinant over a in doubles, only to choose which field to scale."""
    return (a * b - ab * ab) * (a * c - ac * ac) / a - (a * bc - ab * ac) ** 2 / a


@_compiled
def _summed_angles(nodes, count, path):
    """Return the integrand summed over nodes (squared cosines, squared sines, weights)."""
    d, r, p, start, end = path
    total = 0.0
    for n in range(count):
        cc, ss, weight = nodes[n], nodes[_ROOM + n], nodes[2 * _ROOM + n]
        root = math.sqrt(max(d[0] * cc + d[1] * ss, 1e-300))
        for j in range(3):
            width = math.sqrt(max(cc + p[j] * ss, 1e-300))
            angle = math.atan((start[j] * cc + end[j] * ss) / width / root)
            total += weight * r[j] / width * angle
    return total


@_compiled
def _scaled4(c):
    """Scale four fields by powers of two, without rounding, so that no product over- or underflows.

    Returned are their covariances and the powers.
    """
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    s1, s2, s3, s4 = _unit_scale(c11), _unit_scale(c22), _unit_scale(c33), _unit_scale(c44)
    c11, c12, c13, c14 = c11 * s1 * s1, c12 * s1 * s2, c13 * s1 * s3, c14 * s1 * s4
    c22, c23, c24 = c22 * s2 * s2, c23 * s2 * s3, c24 * s2 * s4
    c33, c34, c44 = c33 * s3 * s3, c34 * s3 * s4, c44 * s4 * s4
    return (c11, c12, c13, c14, c22, c23, c24, c33, c34, c44), (s1, s2, s3, s4)


@_compiled
def _least_determined_last(c):
    """Put the field that the others determine least last: its path is the shortest."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    without1 = _determinant3(c22, c33, c44, c23, c24, c34) * c11
    without2 = _determinant3(c11, c33, c44, c13, c14, c34) * c22
    without3 = _determinant3(c11, c22, c44, c12, c14, c24) * c33
    without4 = _determinant3(c11, c22, c33, c12, c13, c23) * c44
    smallest = min(without1, without2, without3, without4)
    if smallest < without4:
        if smallest == without1:
            c11, c44, c12, c24, c13, c34 = c44, c11, c24, c12, c34, c13
        elif smallest == without2:
            c22, c44, c12, c14, c23, c34 = c44, c22, c14, c12, c34, c23
        else:
            c33, c44, c13, c14, c23, c24 = c44, c33, c14, c13, c24, c23
    return c11, c12, c13, c14, c22, c23, c24, c33, c34, c44


@_compiled
def _minors_of_pairs(c):
    """Return the minors of 12, 13, 14, 23, 24 and 34 in doubled precision."""
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    d12, d34 = _minor(c11, c22, c12, c12), _minor(c33, c44, c34, c34)
    d13, d24 = _minor(c11, c33, c13, c13), _minor(c22, c44, c24, c24)
    d14, d23 = _minor(c11, c44, c14, c14), _minor(c22, c33, c23, c23)
    return d12, d13, d14, d23, d24, d34


@_compiled
def _mean_of_merged(c, minors):
    """Return the mean where two fields are equal or opposite, so that two others remain."""
    _, c12, c13, c14, _, c23, c24, _, c34, _ = c
    d12, d13, d14, d23, d24, d34 = minors
    side = 0.6366197723675814  # 2/pi
    mean = math.copysign(side, c34) * _arcsine(d12[0], c12)
    if d24[0] <= 0.0:
        mean = math.copysign(side, c24) * _arcsine(d13[0], c13)
    if d23[0] <= 0.0:
        mean = math.copysign(side, c23) * _arcsine(d14[0], c14)
    if d14[0] <= 0.0:
        mean = math.copysign(side, c14) * _arcsine(d23[0], c23)
    if d13[0] <= 0.0:
        mean = math.copysign(side, c13) * _arcsine(d24[0], c24)
    if d12[0] <= 0.0:
        mean = math.copysign(side, c12) * _arcsine(d34[0], c34)
    return mean


@_compiled
def _path_of(c, minors):
    """Return d, r, p, N and N' of the path, and the least variance that a field keeps on it.

    The nearest and farthest singularities are at 1 and 1/sqrt(variance).
    """
    c11, c12, c13, c14, c22, c23, c24, c33, c34, c44 = c
    d12, d13, d14, d23, d24, d34 = minors
    # Minors: a_jk given 1, b_jk given 2, e_jk given 3.
    a23, a24 = _minor(c11, c23, c12, c13), _minor(c11, c24, c12, c14)
    b13, b14 = _minor(c22, c13, c12, c23), _minor(c22, c14, c12, c24)
    e12, e14 = _minor(c33, c12, c13, c23), _minor(c33, c14, c13, c34)
    a34, b34 = _minor(c11, c34, c13, c14), _minor(c22, c34, c23, c24)
    e24 = _minor(c33, c24, c23, c34)
    end1 = _minor_of_doubled(a23, d14, a24, a34)
    end2 = _minor_of_doubled(b13, d24, b14, b34)
    end3 = _minor_of_doubled(e12, d34, e14, e24)
    given12 = _minor_of_doubled(d12, d14, a24, a24)
    given13 = _minor_of_doubled(d13, d14, a34, a34)
    given23 = _minor_of_doubled(d23, d24, b34, b34)
    d3 = max(_minor_of_doubled(d12, d13, a23, a23)[0], 0.0) / c11
    d4 = max(_minor_of_doubled(given12, given13, end1, end1)[0], 0.0) / (d14[0] * c11 * c11 * c44)
    q1, q2, q3, q4 = math.sqrt(c11), math.sqrt(c22), math.sqrt(c33), math.sqrt(c44)
    r = c14 / (q1 * q4), c24 / (q2 * q4), c34 / (q3 * q4)
    p1, p2, p3 = d14[0] / (c11 * c44), d24[0] / (c22 * c44), d34[0] / (c33 * c44)
    # Dividing by the standard deviation of the partner completes the arctangents' arguments.
    start = a23[0] / q1, b13[0] / q2, e12[0] / q3
    end2_, end3_ = end2[0] / (q2 * c22 * c44), end3[0] / (q3 * c33 * c44)
    end = end1[0] / (q1 * c11 * c44), end2_, end3_
    least1 = min(given12[0] / (c11 * c44 * d12[0]), given13[0] / (c11 * c44 * d13[0]))
    variance = min(p1, p2, p3, least1, given23[0] / (c22 * c44 * d23[0]))
    if d4 < variance * d3:
        variance = d4 / d3
    return ((d3, d4), r, (p1, p2, p3), start, end), variance


@_compiled
def _ends_of(variance, least):
    """Return the log(sigma) at which panels end, and the one beyond which the integrand is
    negligible.

    Args:
        variance: The least variance that a field keeps on the path.
        least: The smallest p.
    """
    reach = 1e3
    if variance > 1e-80:
        reach = -0.5 * math.log(variance) - _BEGIN
    # The integrand falls as 1/sigma^2 at least, as 1/sigma^3 beyond 1/sqrt(p).
    return reach, 17.5 - 0.25 * math.log(least)


@_compiled
def _integrated_angles(path, variance):
    """Return the integral over sigma, from 0 to infinity."""
    p = path[2]
    reach, farthest = _ends_of(variance, min(p[0], p[1], p[2]))
    finish = max(min(reach, farthest), _BEGIN)
    nodes = np.ones(10 * _ROOM)
    for n in range(_EVEN_NODES.size):
        ss = (_STRETCH * _EVEN_NODES[n]) ** 2
        nodes[n], nodes[_ROOM + n] = 1.0, ss
        nodes[2 * _ROOM + n] = _STRETCH * _EVEN_WEIGHTS[n] / (1.0 + ss)
    count = _EVEN_NODES.size
    total = 0.0
    at = _BEGIN
    while at < finish:
        if count + 2 * _NODES.size > _ROOM:
            total += _summed_angles(nodes, count, path)
            count = 0
        # Panels may grow where the integrand is already small.
        half = 0.5 * min(1.6 + 0.1 * at, finish - at)
        for n in range(_NODES.size):
            sigma = math.exp(at + half * (1.0 + _NODES[n]))
            ss = sigma * sigma
            nodes[count], nodes[_ROOM + count] = 1.0, ss
            nodes[2 * _ROOM + count] = half * _WEIGHTS[n] * sigma / (1.0 + ss)
            count += 1
        at += 2.0 * half
    if reach < farthest:
        half = 0.5 * math.exp(-2.0 * finish)
        for n in range(_NODES.size):
            cc = half * (1.0 + _NODES[n])
            nodes[count], nodes[_ROOM + count] = cc, 1.0
            nodes[2 * _ROOM + count] = 0.5 * half * _WEIGHTS[n] / (1.0 + cc)
            count += 1
    return total + _summed_angles(nodes, count, path)


@_compiled
def _mean_of_signs(c):
    """Return E[sgn z1 sgn z2 sgn z3 sgn z4] of centred Gaussian fields from their covariances.

    Fields of zero variance give 0; fields that are equal or opposite are merged; a matrix slightly
    outside the positive cone is taken at its edge. Never NaN for finite arguments. Absolute error
    below 1e-14 for the covariances as given, also as correlations approach 1 (1 - r = 1e-12).
    """
    if not (c[0] > 0.0 and c[4] > 0.0 and c[7] > 0.0 and c[9] > 0.0):
        return 0.0 * (c[0] + c[4] + c[7] + c[9])
    ordered = _least_determined_last(_scaled4(c)[0])
    minors = _minors_of_pairs(ordered)
    d12, d13, d14, d23, d24, d34 = minors
    if min(d12[0], d13[0], d14[0], d23[0], d24[0], d34[0]) <= 0.0:
        return _mean_of_merged(ordered, minors)
    path, variance = _path_of(ordered, minors)
    return 0.4052847345693511 * _integrated_angles(path, variance)  # 4/pi^2


@_compiled
def sign_mean4(r12, r13, r14, r23, r24, r34):
    """Return E[sgn z1 sgn z2 sgn z3 sgn z4] of centred Gaussian fields from their correlations."""
    return _mean_of_signs((1.0, r12, r13, r14, 1.0, r23, r24, 1.0, r34, 1.0))
