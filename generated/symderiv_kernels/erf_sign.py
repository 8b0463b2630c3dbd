"""Order-parameter dynamics of a two-layer student and teacher, g(x) = erf(x/sqrt(2)), h(x) =
sign(x)

Generated, do not edit: change the recipe and generate again. The module stands alone; it needs
math, numpy and numba and nothing else.

Recipe:
    student activation  erf(x/sqrt(2))
    teacher activation  sign(x)
    SymPy               1.14.0
    recipe digest       83d8b072166c998b

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
    student_activation 5, student_activation_derivative 9, teacher_activation 1, i2_11_ss 16,
    i2_11_st 15, i2_12_ss 13, i2_12_st 12, i2_ss 11, i2_st 10, i2_tt 3, i4_ss 53, i4_st 52, i4_tt
    51, i4_tt_aabb 8, i4_tt_aabc 33, i4_tt_abcc 13, generalization_error 21, first_layer_gradients
    20, second_layer_gradient 7, gradients 0, noise 30, order_parameters 5, observables 0,
    right_hand_side 34

Digests (SHA-256):
    program  7187bee09dbbb07d5b31dae3eeb4f21eef02835417c52e6c12a28f8bb6ff4f7e
    code     7199ce41e69f1f366e0a9e9b96688ee021183270c4fb4774a9d2162a34f0e334
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit

FORMAT = 3
STUDENT_ACTIVATION = "erf(x/sqrt(2))"
TEACHER_ACTIVATION = "sign(x)"
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
    "student activation": "erf(x/sqrt(2))",
    "teacher activation": "sign(x)",
    "SymPy": "1.14.0",
    "recipe digest": "83d8b072166c998b",
}

_compiled = njit(cache=True, error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_value = njit(cache=True, error_model="numpy", fastmath=False)
_compiled_sums = njit(cache=True, error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)


@_compiled_value
def student_activation(x):
    """The student's activation g(x)."""
    return math.erf((0.5 * math.sqrt(2.0)) * x)


@_compiled_value
def student_activation_derivative(x):
    """Its derivative g'(x)."""
    return (math.sqrt(2.0) / math.sqrt(math.pi)) * math.exp(-0.5 * x * x)


@_compiled_value
def teacher_activation(x):
    """The teacher's activation."""
    return _sign(x)


@_compiled
def i2_11_ss(c11, c12, c22):
    """1/2 E[g''(a) g(b)] = dI2/dc11."""
    c_s2_1_given_s1 = c12 / (c11 + 1.0)
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    return -(1.0 / math.pi) * c_s2_1_given_s1 / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))


@_compiled
def i2_11_st(c11, c12, c22):
    """1/2 E[g''(a) h(b)] = dI2/dc11."""
    c_1_2_given_s1 = _ratio(c12, c11 + 1.0)
    c_2_2_given_s1 = c22 - _ratio(c12 * c12, c11 + 1.0)
    return (
        -(1.0 / math.pi)
        * _ratio(c_1_2_given_s1, _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(c11 + 1.0))
    )


@_compiled
def i2_12_ss(c11, c12, c22):
    """E[g'(a) g'(b)] = dI2/dc12."""
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    return (2.0 / math.pi) / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))


@_compiled
def i2_12_st(c11, c12, c22):
    """E[g'(a) h'(b)] = dI2/dc12."""
    c_2_2_given_s1 = c22 - _ratio(c12 * c12, c11 + 1.0)
    return _ratio((2.0 / math.pi), _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(c11 + 1.0))


@_compiled
def i2_ss(c11, c12, c22):
    """E[g(a) g(b)]."""
    return (2.0 / math.pi) * math.asin(c12 / math.sqrt((c11 + 1.0) * (c22 + 1.0)))


@_compiled
def i2_st(c11, c12, c22):
    """E[g(a) h(b)]."""
    return (
        (2.0 / math.pi) * _clipped_asin(_ratio(c12, _clipped_sqrt(c22) * _clipped_sqrt(c11 + 1.0)))
    )


@_compiled
def i2_tt(c11, c12, c22):
    """E[h(a) h(b)]."""
    volume_12 = _root_of_minor(c11, c12, c22)
    return (2.0 / math.pi) * _angle(c12, volume_12)


@_compiled
def i4_ss(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) g(c) g(d)]."""
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    c_s2_s3_given_s1 = c23 - c12 * c13 / (c11 + 1.0)
    c_s3_s3_given_s1 = c33 - c13 * c13 / (c11 + 1.0) + 1.0
    c_s3_s3_given_s1_s2 = c_s3_s3_given_s1 - c_s2_s3_given_s1 * c_s2_s3_given_s1 / c_s2_s2_given_s1
    c_s2_s4_given_s1 = c24 - c12 * c14 / (c11 + 1.0)
    c_s3_s4_given_s1 = c34 - c13 * c14 / (c11 + 1.0)
    c_s3_s4_given_s1_s2 = c_s3_s4_given_s1 - c_s2_s3_given_s1 * c_s2_s4_given_s1 / c_s2_s2_given_s1
    c_s4_s4_given_s1 = c44 - c14 * c14 / (c11 + 1.0) + 1.0
    c_s4_s4_given_s1_s2 = c_s4_s4_given_s1 - c_s2_s4_given_s1 * c_s2_s4_given_s1 / c_s2_s2_given_s1
    return (
        (4.0 / math.pi**2)
        * math.asin(c_s3_s4_given_s1_s2 / math.sqrt(c_s3_s3_given_s1_s2 * c_s4_s4_given_s1_s2))
        / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))
    )


@_compiled
def i4_st(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) g(c) h(d)]."""
    c_4_4_given_s1 = c44 - _ratio(c14 * c14, c11 + 1.0)
    c_s2_4_given_s1 = c24 - _ratio(c12 * c14, c11 + 1.0)
    c_s2_s2_given_s1 = c22 - _ratio(c12 * c12, c11 + 1.0) + 1.0
    c_4_4_given_s1_s2 = c_4_4_given_s1 - _ratio(c_s2_4_given_s1 * c_s2_4_given_s1, c_s2_s2_given_s1)
    c_s2_s3_given_s1 = c23 - _ratio(c12 * c13, c11 + 1.0)
    c_s3_4_given_s1 = c34 - _ratio(c13 * c14, c11 + 1.0)
    c_s3_4_given_s1_s2 = (
        c_s3_4_given_s1 - _ratio(c_s2_4_given_s1 * c_s2_s3_given_s1, c_s2_s2_given_s1)
    )
    c_s3_s3_given_s1 = c33 - _ratio(c13 * c13, c11 + 1.0) + 1.0
    c_s3_s3_given_s1_s2 = (
        c_s3_s3_given_s1 - _ratio(c_s2_s3_given_s1 * c_s2_s3_given_s1, c_s2_s2_given_s1)
    )
    return (
        (4.0 / math.pi**2)
        * _ratio(
            _clipped_asin(
                _ratio(
                    c_s3_4_given_s1_s2,
                    _clipped_sqrt(c_4_4_given_s1_s2) * _clipped_sqrt(c_s3_s3_given_s1_s2),
                )
            ),
            _clipped_sqrt(c_s2_s2_given_s1) * _clipped_sqrt(c11 + 1.0),
        )
    )


@_compiled
def i4_tt(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) h(c) h(d)]."""
    c_3_3_given_s1 = c33 - _ratio(c13 * c13, c11 + 1.0)
    c_s2_3_given_s1 = c23 - _ratio(c12 * c13, c11 + 1.0)
    c_s2_s2_given_s1 = c22 - _ratio(c12 * c12, c11 + 1.0) + 1.0
    c_3_3_given_s1_s2 = c_3_3_given_s1 - _ratio(c_s2_3_given_s1 * c_s2_3_given_s1, c_s2_s2_given_s1)
    c_3_4_given_s1 = c34 - _ratio(c13 * c14, c11 + 1.0)
    c_s2_4_given_s1 = c24 - _ratio(c12 * c14, c11 + 1.0)
    c_3_4_given_s1_s2 = c_3_4_given_s1 - _ratio(c_s2_3_given_s1 * c_s2_4_given_s1, c_s2_s2_given_s1)
    c_4_4_given_s1 = c44 - _ratio(c14 * c14, c11 + 1.0)
    c_4_4_given_s1_s2 = c_4_4_given_s1 - _ratio(c_s2_4_given_s1 * c_s2_4_given_s1, c_s2_s2_given_s1)
    return (
        (4.0 / math.pi**2)
        * _ratio(
            _clipped_asin(
                _ratio(
                    c_3_4_given_s1_s2,
                    _clipped_sqrt(c_3_3_given_s1_s2) * _clipped_sqrt(c_4_4_given_s1_s2),
                )
            ),
            _clipped_sqrt(c_s2_s2_given_s1) * _clipped_sqrt(c11 + 1.0),
        )
    )


@_compiled
def i4_tt_aabb(c11, c12, c22):
    """E[g'(a) g'(a) h(b) h(b)]."""
    return (math.sqrt(2.0) / math.pi) / math.sqrt(c11 + 0.5)


@_compiled
def i4_tt_aabc(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(a) h(b) h(c)]."""
    c_2_2_given_s1 = c22 - _ratio(c12 * c12, c11 + 0.5)
    c_2_3_given_s1 = c23 - _ratio(c12 * c13, c11 + 0.5)
    c_3_3_given_s1 = c33 - _ratio(c13 * c13, c11 + 0.5)
    return (
        (2.0 * math.sqrt(2.0) / math.pi**2)
        * _ratio(
            _clipped_asin(
                _ratio(
                    c_2_3_given_s1, _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(c_3_3_given_s1)
                )
            ),
            _clipped_sqrt(c11 + 0.5),
        )
    )


@_compiled
def i4_tt_abcc(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(b) h(c) h(c)]."""
    c_s2_s2_given_s1 = c22 - c12 * c12 / (c11 + 1.0) + 1.0
    return (2.0 / math.pi) / math.sqrt(c_s2_s2_given_s1 * (c11 + 1.0))


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
            sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * i2_tt(T[m, m], T[m, n], T[n, n])
        sum_over_m += v_teacher[m] * sum_over_n
    sum_over_p = 0.0
    for p in range(K):
        sum_over_q = 0.0
        for q in range(p + 1):
            sum_over_q += (1.0 if p == q else 2.0) * v[q] * i2_ss(Q[p, p], Q[p, q], Q[q, q])
        sum_over_m_2 = 0.0
        for m in range(M):
            sum_over_m_2 += v_teacher[m] * i2_st(Q[p, p], R[p, m], T[m, m])
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
            sum_over_m += v_teacher[m] * i2_11_st(Q[i, i], R[i, m], T[m, m])
        sum_over_p = 0.0
        for p in range(K):
            sum_over_p += v[p] * i2_11_ss(Q[i, i], Q[i, p], Q[p, p])
        curvature = v[i] * (2.0 * sum_over_p - 2.0 * sum_over_m)
        for j in range(i + 1):
            A[i, j] = (
                (1.0 if i == j else 0.0) * curvature
                + v[i] * v[j] * i2_12_ss(Q[i, i], Q[i, j], Q[j, j])
            )
            A[j, i] = A[i, j]
        for n in range(M):
            B[i, n] = -v[i] * v_teacher[n] * i2_12_st(Q[i, i], R[i, n], T[n, n])


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
            sum_over_m += v_teacher[m] * i2_st(Q[i, i], R[i, m], T[m, m])
        sum_over_p = 0.0
        for p in range(K):
            sum_over_p += v[p] * i2_ss(Q[i, i], Q[i, p], Q[p, p])
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
                        * i4_ss(
                            Q[i, i], Q[i, j], Q[i, p], Q[i, q], Q[j, j], Q[j, p], Q[j, q], Q[p, p],
                            Q[p, q], Q[q, q],
                        )
                    )
                sum_over_m = 0.0
                for m in range(M):
                    sum_over_m += (
                        v_teacher[m]
                        * i4_st(
                            Q[i, i], Q[i, j], Q[i, p], R[i, m], Q[j, j], Q[j, p], R[j, m], Q[p, p],
                            R[p, m], T[m, m],
                        )
                    )
                sum_over_p += v[p] * (sum_over_m - 0.5 * sum_over_q)
            sum_over_m_2 = 0.0
            for m in range(M):
                sum_over_n = 0.0
                for n in range(m + 1):
                    if i == j and m == n:
                        case = i4_tt_aabb(Q[i, i], R[i, m], T[m, m])
                    elif i == j:
                        case = i4_tt_aabc(Q[i, i], R[i, m], R[i, n], T[m, m], T[m, n], T[n, n])
                    elif m == n:
                        case = i4_tt_abcc(Q[i, i], Q[i, j], R[i, m], Q[j, j], R[j, m], T[m, m])
                    else:
                        case = i4_tt(
                            Q[i, i], Q[i, j], R[i, m], R[i, n], Q[j, j], R[j, m], R[j, n], T[m, m],
                            T[m, n], T[n, n],
                        )
                    sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * case
                sum_over_m_2 += v_teacher[m] * sum_over_n
            Gamma[i, j] = (
                v[i] * v[j]
                * (
                    label_noise * label_noise * i2_12_ss(Q[i, i], Q[i, j], Q[j, j])
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


@_compiled
def _sign(x):
    """1 for positive x, -1 for negative x, 0 at 0."""
    if x > 0.0:
        return 1.0
    return -1.0 if x < 0.0 else 0.0


@_compiled
def _clipped_sqrt(x):
    """Square root; a negative rounding error is taken for 0."""
    return 0.0 if x < 0.0 else math.sqrt(x)


@_compiled
def _clipped_asin(x):
    """Arcsine; a rounding error beyond -1 or 1 is taken for the edge."""
    if x > 1.0:
        return 0.5 * math.pi
    return -0.5 * math.pi if x < -1.0 else math.asin(x)


@_compiled
def _ratio(numerator, denominator):
    """Quotient, 0 where the denominator vanishes: the limit at a field without variance."""
    return 0.0 if denominator == 0.0 else numerator / denominator


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
def _angle(along, across):
    """Return the angle between -pi/2 and pi/2 with this tangent; 0 where both vanish."""
    return math.atan2(along, across)


@_compiled
def _root_of_minor(c11, c12, c22):
    """Return sqrt(c11 c22 - c12**2), the area that two fields span; 0 outside the positive cone."""
    s1, s2 = _unit_scale(c11), _unit_scale(c22)
    minor = _minor(c11 * s1 * s1, c22 * s2 * s2, c12 * s1 * s2, c12 * s1 * s2)[0]
    return math.sqrt(max(minor, 0.0)) / (s1 * s2)
