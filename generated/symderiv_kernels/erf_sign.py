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

Operations, each line of a loop counted once:
    student_activation 5, student_activation_derivative 9, teacher_activation 1, i2_11_ss 15,
    i2_11_st 14, i2_12_ss 12, i2_12_st 11, i2_ss 11, i2_st 10, i2_tt 3, i4_ss 48, i4_st 47, i4_tt
    46, i4_tt_aabb 8, i4_tt_aabc 28, i4_tt_abcc 12, generalization_error 21, first_layer_gradients
    45, second_layer_gradient 7, gradients 0, noise 30, order_parameters 5, observables 0,
    right_hand_side 34

Digests (SHA-256):
    program  e89c1d36f41fec6d1644c1330c259da3ea8e10666d62f92ae8d9d0b8c2d58772
    code     405814c39d772d688f6f5347999b2d370013ce5241bb956c72a1170bbbd56ab3
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

FORMAT = 2
STUDENT_ACTIVATION = "erf(x/sqrt(2))"
TEACHER_ACTIVATION = "sign(x)"
_SPECIALISED = {}
RECIPE = {
    "student activation": "erf(x/sqrt(2))",
    "teacher activation": "sign(x)",
    "SymPy": "1.14.0",
    "recipe digest": "83d8b072166c998b",
}

_compiled = njit(cache=True, error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_value = njit(cache=True, error_model="numpy", fastmath=False)
_compiled_sums = njit(cache=True, error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)
_compiled_many = njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)


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
def _two_product(a, b):
    """Product and its rounding error: a b = high + low exactly."""
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
    """(a_high + a_low) - (b_high + b_low) as a double and its remainder."""
    s = a_high - b_high
    t = s - a_high
    low = ((a_high - (s - t)) - (b_high + t)) + (a_low - b_low)
    high = s + low
    return high, low - (high - s)


@_compiled
def _minor(a, b, c, d):
    """a b - c d of doubles, in doubled precision."""
    p, p_low = _two_product(a, b)
    q, q_low = _two_product(c, d)
    return _two_difference(p, p_low, q, q_low)


@_compiled
def _unit_scale(variance):
    """The power of two that brings a standard deviation near 1 without rounding."""
    return math.ldexp(1.0, -(math.frexp(variance)[1] // 2))


@_compiled
def _angle(along, across):
    """The angle between -pi/2 and pi/2 with this tangent; 0 where both vanish."""
    return math.atan2(along, across)


@_compiled
def _root_of_minor(c11, c12, c22):
    """Root of c11 c22 - c12**2, the area that two fields span; 0 outside the positive cone."""
    s1, s2 = _unit_scale(c11), _unit_scale(c22)
    minor = _minor(c11 * s1 * s1, c22 * s2 * s2, c12 * s1 * s2, c12 * s1 * s2)[0]
    return math.sqrt(max(minor, 0.0)) / (s1 * s2)


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
    one_plus_c11 = c11 + 1.0
    inverse_one_plus_c11 = 1.0 / one_plus_c11
    c_s2_1_given_s1 = c12 * inverse_one_plus_c11
    c_s2_s2_given_s1 = c22 - inverse_one_plus_c11 * c12 * c12 + 1.0
    return -(1.0 / math.pi) * c_s2_1_given_s1 / math.sqrt(c_s2_s2_given_s1 * one_plus_c11)


@_compiled
def i2_11_st(c11, c12, c22):
    """1/2 E[g''(a) h(b)] = dI2/dc11."""
    one_plus_c11 = c11 + 1.0
    inverse_one_plus_c11 = _ratio(1.0, one_plus_c11)
    c_1_2_given_s1 = c12 * inverse_one_plus_c11
    c_2_2_given_s1 = c22 - inverse_one_plus_c11 * c12 * c12
    return (
        -(1.0 / math.pi)
        * _ratio(c_1_2_given_s1, _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(one_plus_c11))
    )


@_compiled
def i2_12_ss(c11, c12, c22):
    """E[g'(a) g'(b)] = dI2/dc12."""
    one_plus_c11 = c11 + 1.0
    c_s2_s2_given_s1 = c22 - c12 * c12 / one_plus_c11 + 1.0
    return (2.0 / math.pi) / math.sqrt(c_s2_s2_given_s1 * one_plus_c11)


@_compiled
def i2_12_st(c11, c12, c22):
    """E[g'(a) h'(b)] = dI2/dc12."""
    one_plus_c11 = c11 + 1.0
    c_2_2_given_s1 = c22 - _ratio(c12 * c12, one_plus_c11)
    return _ratio((2.0 / math.pi), _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(one_plus_c11))


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
    one_plus_c11 = c11 + 1.0
    inverse_one_plus_c11 = 1.0 / one_plus_c11
    c_s2_s2_given_s1 = c22 - inverse_one_plus_c11 * c12 * c12 + 1.0
    c12_inverse_one_plus_c11 = c12 * inverse_one_plus_c11
    c_s2_s3_given_s1 = c23 - c12_inverse_one_plus_c11 * c13
    c_s3_s3_given_s1 = c33 - inverse_one_plus_c11 * c13 * c13 + 1.0
    inverse_c_s2_s2_given_s1 = 1.0 / c_s2_s2_given_s1
    c_s3_s3_given_s1_s2 = (
        c_s3_s3_given_s1 - inverse_c_s2_s2_given_s1 * c_s2_s3_given_s1 * c_s2_s3_given_s1
    )
    c_s2_s4_given_s1 = c24 - c12_inverse_one_plus_c11 * c14
    c_s3_s4_given_s1 = c34 - c13 * c14 * inverse_one_plus_c11
    c_s3_s4_given_s1_s2 = (
        c_s3_s4_given_s1 - c_s2_s3_given_s1 * c_s2_s4_given_s1 * inverse_c_s2_s2_given_s1
    )
    c_s4_s4_given_s1 = c44 - inverse_one_plus_c11 * c14 * c14 + 1.0
    c_s4_s4_given_s1_s2 = (
        c_s4_s4_given_s1 - inverse_c_s2_s2_given_s1 * c_s2_s4_given_s1 * c_s2_s4_given_s1
    )
    return (
        (4.0 / math.pi**2)
        * math.asin(c_s3_s4_given_s1_s2 / math.sqrt(c_s3_s3_given_s1_s2 * c_s4_s4_given_s1_s2))
        / math.sqrt(c_s2_s2_given_s1 * one_plus_c11)
    )


@_compiled
def i4_st(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) g(c) h(d)]."""
    one_plus_c11 = c11 + 1.0
    inverse_one_plus_c11 = _ratio(1.0, one_plus_c11)
    c_4_4_given_s1 = c44 - inverse_one_plus_c11 * c14 * c14
    c12_inverse_one_plus_c11 = c12 * inverse_one_plus_c11
    c_s2_4_given_s1 = c24 - c12_inverse_one_plus_c11 * c14
    c_s2_s2_given_s1 = c22 - inverse_one_plus_c11 * c12 * c12 + 1.0
    inverse_c_s2_s2_given_s1 = _ratio(1.0, c_s2_s2_given_s1)
    c_4_4_given_s1_s2 = (
        c_4_4_given_s1 - inverse_c_s2_s2_given_s1 * c_s2_4_given_s1 * c_s2_4_given_s1
    )
    c_s2_s3_given_s1 = c23 - c12_inverse_one_plus_c11 * c13
    c_s3_4_given_s1 = c34 - c13 * c14 * inverse_one_plus_c11
    c_s3_4_given_s1_s2 = (
        c_s3_4_given_s1 - c_s2_4_given_s1 * c_s2_s3_given_s1 * inverse_c_s2_s2_given_s1
    )
    c_s3_s3_given_s1 = c33 - inverse_one_plus_c11 * c13 * c13 + 1.0
    c_s3_s3_given_s1_s2 = (
        c_s3_s3_given_s1 - inverse_c_s2_s2_given_s1 * c_s2_s3_given_s1 * c_s2_s3_given_s1
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
            _clipped_sqrt(c_s2_s2_given_s1) * _clipped_sqrt(one_plus_c11),
        )
    )


@_compiled
def i4_tt(c11, c12, c13, c14, c22, c23, c24, c33, c34, c44):
    """E[g'(a) g'(b) h(c) h(d)]."""
    one_plus_c11 = c11 + 1.0
    inverse_one_plus_c11 = _ratio(1.0, one_plus_c11)
    c_3_3_given_s1 = c33 - inverse_one_plus_c11 * c13 * c13
    c13_inverse_one_plus_c11 = c13 * inverse_one_plus_c11
    c_s2_3_given_s1 = c23 - c12 * c13_inverse_one_plus_c11
    c_s2_s2_given_s1 = c22 - inverse_one_plus_c11 * c12 * c12 + 1.0
    inverse_c_s2_s2_given_s1 = _ratio(1.0, c_s2_s2_given_s1)
    c_3_3_given_s1_s2 = (
        c_3_3_given_s1 - inverse_c_s2_s2_given_s1 * c_s2_3_given_s1 * c_s2_3_given_s1
    )
    c_3_4_given_s1 = c34 - c13_inverse_one_plus_c11 * c14
    c_s2_4_given_s1 = c24 - c12 * c14 * inverse_one_plus_c11
    c_3_4_given_s1_s2 = (
        c_3_4_given_s1 - c_s2_3_given_s1 * c_s2_4_given_s1 * inverse_c_s2_s2_given_s1
    )
    c_4_4_given_s1 = c44 - inverse_one_plus_c11 * c14 * c14
    c_4_4_given_s1_s2 = (
        c_4_4_given_s1 - inverse_c_s2_s2_given_s1 * c_s2_4_given_s1 * c_s2_4_given_s1
    )
    return (
        (4.0 / math.pi**2)
        * _ratio(
            _clipped_asin(
                _ratio(
                    c_3_4_given_s1_s2,
                    _clipped_sqrt(c_3_3_given_s1_s2) * _clipped_sqrt(c_4_4_given_s1_s2),
                )
            ),
            _clipped_sqrt(c_s2_s2_given_s1) * _clipped_sqrt(one_plus_c11),
        )
    )


@_compiled
def i4_tt_aabb(c11, c12, c22):
    """E[g'(a) g'(a) h(b) h(b)]."""
    return (math.sqrt(2.0) / math.pi) / math.sqrt(c11 + 0.5)


@_compiled
def i4_tt_aabc(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(a) h(b) h(c)]."""
    total = c11 + 0.5
    inverse_total = _ratio(1.0, total)
    c_2_2_given_s1 = c22 - inverse_total * c12 * c12
    c_2_3_given_s1 = c23 - c12 * c13 * inverse_total
    c_3_3_given_s1 = c33 - inverse_total * c13 * c13
    return (
        (2.0 * math.sqrt(2.0) / math.pi**2)
        * _ratio(
            _clipped_asin(
                _ratio(
                    c_2_3_given_s1, _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(c_3_3_given_s1)
                )
            ),
            _clipped_sqrt(total),
        )
    )


@_compiled
def i4_tt_abcc(c11, c12, c13, c22, c23, c33):
    """E[g'(a) g'(b) h(c) h(c)]."""
    one_plus_c11 = c11 + 1.0
    c_s2_s2_given_s1 = c22 - c12 * c12 / one_plus_c11 + 1.0
    return (2.0 / math.pi) / math.sqrt(c_s2_s2_given_s1 * one_plus_c11)


@_compiled
def generalization_error(Q, R, T, v, v_teacher):
    """Mean of (student - teacher)**2 / 2 over the inputs, without label noise.

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Returns:
        error      scalar  the generalisation error
    """
    K = Q.shape[0]
    M = T.shape[0]
    sum_over_m = 0.0
    for m in range(M):
        sum_over_n = 0.0
        for n in range(m + 1):
            if m == n:
                case = 1.0
            else:
                case = i2_tt(T[m, m], T[m, n], T[n, n])
            sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * case
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

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Outputs, in place:
        A          (K, K)  (1 + delta_ij) d error / d Q_ij
        B          (K, M)  d error / d R_in
    """
    K = Q.shape[0]
    M = T.shape[0]
    for i in range(K):
        sum_over_m = 0.0
        for m in range(M):
            sum_over_m += v_teacher[m] * i2_11_st(Q[i, i], R[i, m], T[m, m])
        sum_over_p = 0.0
        inverse_one_plus_Q_ii = 1.0 / (Q[i, i] + 1.0)
        for p in range(K):
            sum_over_p += (
                Q[i, p]
                * v[p]
                / math.sqrt(Q[p, p] - inverse_one_plus_Q_ii * Q[i, p] * Q[i, p] + 1.0)
            )
        curvature = (
            v[i]
            * (
                -2.0 * sum_over_m
                - (2.0 / math.pi) * sum_over_p / ((Q[i, i] + 1.0) * math.sqrt(Q[i, i] + 1.0))
            )
        )
        inverse_root_one_plus_Q_ii_v_i = v[i] / math.sqrt(Q[i, i] + 1.0)
        for j in range(i + 1):
            A[i, j] = (
                (1.0 if i == j else 0.0) * curvature
                + (2.0 / math.pi)
                * inverse_root_one_plus_Q_ii_v_i
                * v[j]
                / math.sqrt(Q[j, j] - inverse_one_plus_Q_ii * Q[i, j] * Q[i, j] + 1.0)
            )
            A[j, i] = A[i, j]
        for n in range(M):
            B[i, n] = -v[i] * v_teacher[n] * i2_12_st(Q[i, i], R[i, n], T[n, n])


@_compiled
def second_layer_gradient(Q, R, T, v, v_teacher, dv):
    """Derivatives of the generalisation error by v.

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Outputs, in place:
        dv         (K)     d error / d v_i
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

    Inputs:
        Q          (K, K)  covariance E[x_i x_j] of the student fields
        R          (K, M)  covariance E[x_i y_n] of student and teacher fields
        T          (M, M)  covariance E[y_n y_m] of the teacher fields
        v          (K)     output weights of the student
        v_teacher  (M)     output weights of the teacher

    Outputs, in place:
        A          (K, K)  (1 + delta_ij) d error / d Q_ij
        B          (K, M)  d error / d R_in
        dv         (K)     d error / d v_i
    """
    first_layer_gradients(Q, R, T, v, v_teacher, A, B)
    second_layer_gradient(Q, R, T, v, v_teacher, dv)


@_compiled
def noise(Q, R, T, v, v_teacher, label_noise, Gamma):
    """Mean of the product of two students' forces, with label noise.

    Inputs:
        Q            (K, K)  covariance E[x_i x_j] of the student fields
        R            (K, M)  covariance E[x_i y_n] of student and teacher fields
        T            (M, M)  covariance E[y_n y_m] of the teacher fields
        v            (K)     output weights of the student
        v_teacher    (M)     output weights of the teacher
        label_noise  scalar  standard deviation of the label noise

    Outputs, in place:
        Gamma        (K, K)  coefficient of learning_rate**2 eigenvalue in dQ_k
    """
    K = Q.shape[0]
    M = T.shape[0]
    label_noise_squared = label_noise * label_noise
    for i in range(K):
        for j in range(i + 1):
            sum_over_p = 0.0
            for p in range(K):
                sum_over_q = 0.0
                for q in range(p + 1):
                    sum_over_q += (
                        (1.0 if p == q else 2.0)
                        * v[q]
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
                v[i]
                * v[j]
                * (
                    label_noise_squared * i2_12_ss(Q[i, i], Q[i, j], Q[j, j])
                    + sum_over_m_2
                    - 2.0 * sum_over_p
                )
            )
            Gamma[j, i] = Gamma[i, j]


@_compiled_sums
def order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R):
    """Covariances of the fields from the overlaps per eigenvalue.

    Inputs:
        student_overlap  (K, K, L)  overlaps Q_k of the students per eigenvalue
        cross_overlap    (K, M, L)  overlaps r_k of students and teachers
        eigenvalue       (L)        distinct eigenvalues of the inputs
        weight           (L)        their multiplicities over the input dimension

    Outputs, in place:
        Q                (K, K)     covariance E[x_i x_j] of the student fields
        R                (K, M)     covariance E[x_i y_n] of student and teacher fields
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

    Inputs:
        student_overlap  (K, K, L)  overlaps Q_k of the students per eigenvalue
        cross_overlap    (K, M, L)  overlaps r_k of students and teachers
        eigenvalue       (L)        distinct eigenvalues of the inputs
        weight           (L)        their multiplicities over the input dimension
        T                (M, M)     covariance E[y_n y_m] of the teacher fields
        v                (K)        output weights of the student
        v_teacher        (M)        output weights of the teacher

    Outputs, in place:
        Q                (K, K)     covariance E[x_i x_j] of the student fields
        R                (K, M)     covariance E[x_i y_n] of student and teacher fields

    Returns:
        error            scalar     the generalisation error
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

    Inputs:
        student_overlap             (K, K, L)  overlaps Q_k of the students per eigenvalue
        cross_overlap               (K, M, L)  overlaps r_k of students and teachers
        v                           (K)        output weights of the student
        eigenvalue                  (L)        distinct eigenvalues of the inputs
        weight                      (L)        their multiplicities over the input dimension
        teacher_overlap             (M, M, L)  overlaps t_k of the teachers
        T                           (M, M)     covariance E[y_n y_m] of the teacher fields
        v_teacher                   (M)        output weights of the teacher
        learning_rate               scalar     of the first layer
        second_layer_learning_rate  scalar     0 keeps the output weights
        weight_decay                scalar     of the first layer
        second_layer_weight_decay   scalar     of the output weights
        label_noise                 scalar     standard deviation of the label noise
        full_order                  scalar     1 with the terms of order learning_rate**2, 0 without

    Outputs, in place:
        d_student_overlap           (K, K, L)  time derivative
        d_cross_overlap             (K, M, L)  time derivative
        d_v                         (K)        time derivative
    """
    K = student_overlap.shape[0]
    M = teacher_overlap.shape[0]
    L = eigenvalue.shape[0]
    block_K_K = np.empty((3, K, K))
    Q = block_K_K[0]
    A = block_K_K[1]
    Gamma = block_K_K[2]
    block_K_M = np.empty((2, K, M))
    R = block_K_M[0]
    B = block_K_M[1]
    dv = np.empty(K)
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
    learning_rate_squared = learning_rate * learning_rate
    for i in range(K):
        for j in range(i + 1):
            learning_rate_squared_Gamma_ij = learning_rate_squared * Gamma[i, j]
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
                    learning_rate_squared_Gamma_ij * eigenvalue[k]
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
                    -learning_rate * sum_over_m_2
                    - learning_rate * eigenvalue[k] * sum_over_p_2
                    - weight_decay * cross_overlap[i, n, k]
                )
        d_v[i] = -second_layer_learning_rate * dv[i] - second_layer_weight_decay * v[i]


def _array_at(context, builder, address, shape, sizes):
    """An array of floats that begins at an address, as compiled code has it."""
    array = arrayobj.make_array(_array_of(shape))(context, builder)
    parts = cgutils.unpack_tuple(builder, sizes)
    lengths = [context.cast(builder, n, t, types.intp) for n, t in zip(parts, shape, strict=True)]
    steps = [context.get_constant(types.intp, 8)]
    for length in lengths[:0:-1]:
        steps.insert(0, builder.mul(steps[0], length))
    arrayobj.populate_array(
        array, data=address, shape=lengths, strides=steps, itemsize=steps[-1], meminfo=None
    )
    return array._getvalue()


def _array_of(shape):
    return types.Array(types.float64, len(shape), "C")


@intrinsic
def _view(typing_context, vector, start, shape):
    """The numbers of a vector from ``start`` on as an array of that shape, not copied."""

    def view(context, builder, signature, arguments):
        vector, start, sizes = arguments
        numbers = arrayobj.make_array(signature.args[0])(context, builder, vector).data
        return _array_at(context, builder, builder.gep(numbers, [start]), shape, sizes)

    return _array_of(shape)(vector, types.intp, shape), view


@intrinsic(prefer_literal=True)
def _room(typing_context, count, shape):
    """An array on the stack, of a number of floats known at compile time."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    number = count.literal_value

    def allocate(context, builder, signature, arguments):
        address = cgutils.alloca_once(builder, context.get_data_type(types.float64), number)
        # a whole line of the cache, which is what the widest vector instructions want
        address.align = 64
        return _array_at(context, builder, address, signature.args[1], arguments[1])

    return _array_of(shape)(count, shape), allocate


@intrinsic
def _derivative_apart(typing_context):
    """Tell the compiler that the argument ``derivative`` of the function overlaps with no other
    array, so that it may read others and write there many numbers at a time.
    """

    def mark(context, builder, signature, arguments):
        for argument in builder.function.args:
            if argument.name.startswith("arg.derivative.") and argument.type == numbers:
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    numbers = cgutils.ir.DoubleType().as_pointer()
    return types.void(), mark


@intrinsic
def _eight_inverse_roots(typing_context, values, first):
    """Replace eight numbers of an array by their inverse square roots."""

    def evaluate(context, builder, signature, arguments):
        ir = cgutils.ir
        eight = ir.VectorType(ir.DoubleType(), 8)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), eight.as_pointer())
        kind = ir.FunctionType(eight, [eight])
        root = cgutils.get_or_insert_function(builder.module, kind, "llvm.sqrt.v8f64")
        roots = builder.call(root, [builder.load(place, align=8)])
        inverse = builder.fdiv(ir.Constant(eight, [1.0] * 8), roots)
        builder.store(inverse, place, align=8)
        return context.get_dummy_value()

    return types.none(values, types.intp), evaluate


@_compiled_many
def _inverse_roots(values, count):
    """Replace the first numbers of an array, in eights, by their inverse square roots."""
    for first in range(0, count, 8):
        _eight_inverse_roots(values, first)


def specialised(K, M):
    """flat_right_hand_side for one set of sizes, compiled for them, with the signature that time
    steppers expect.

    sizes = [K, M, L]

    state = student_overlap (K, K, L), cross_overlap (K, M, L), v (K)

    parameters = eigenvalue (L), weight (L), teacher_overlap (M, M, L), T (M, M), v_teacher (M),
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order

    derivative is packed like the first vector and must not overlap with any other. alpha is the
    time.
    """
    if (K, M) in _SPECIALISED:
        return _SPECIALISED[K, M]
    parts = -(-(K + M) // 10)
    width_K = -(-K // parts)
    padded_K = parts * width_K
    width_M = -(-M // parts)
    padded_M = parts * width_M
    most = max(1, 56 // (width_K + width_M))
    groups_K = -(-K // most)
    rows_K = -(-K // groups_K)
    room_Q = K * K
    room_R = K * M
    room_A = K * K
    room_B = K * M
    room_dv = K
    room_Gamma = K * K
    room_inverse_roots = (K + 7) // 8 * 8
    room_scaled_B = K * padded_M
    room_scaled_A = K * padded_K
    room = (
        room_Q
        + room_R
        + room_A
        + room_B
        + room_dv
        + room_Gamma
        + room_inverse_roots
        + room_scaled_B
        + room_scaled_A
    )
    if room > 262144:
        raise ValueError("the arrays of so many units do not fit on the stack")

    @njit(
        "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])",
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "contract"},
    )
    def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
        number_K = min(K, sizes[0])
        number_M = min(M, sizes[1])
        L = sizes[2]
        start = 0
        student_overlap = _view(state, start, (K, K, L))
        start += K * K * L
        cross_overlap = _view(state, start, (K, M, L))
        start += K * M * L
        v = state[start : start + K]
        start += K
        if start != state.size:
            raise ValueError("state: its length does not agree with sizes")
        start = 0
        eigenvalue = parameters[start : start + L]
        start += L
        weight = parameters[start : start + L]
        start += L
        teacher_overlap = _view(parameters, start, (M, M, L))
        start += M * M * L
        T = _view(parameters, start, (M, M))
        start += M * M
        v_teacher = parameters[start : start + M]
        start += M
        learning_rate = parameters[start]
        start += 1
        second_layer_learning_rate = parameters[start]
        start += 1
        weight_decay = parameters[start]
        start += 1
        second_layer_weight_decay = parameters[start]
        start += 1
        label_noise = parameters[start]
        start += 1
        full_order = parameters[start]
        start += 1
        if start != parameters.size:
            raise ValueError("parameters: its length does not agree with sizes")
        _derivative_apart()
        start = 0
        d_student_overlap = _view(derivative, start, (K, K, L))
        start += K * K * L
        d_cross_overlap = _view(derivative, start, (K, M, L))
        start += K * M * L
        d_v = derivative[start : start + K]
        start += K
        if start != derivative.size:
            raise ValueError("derivative: its length does not agree with sizes")
        Q = _room(room_Q, (K, K))
        R = _room(room_R, (K, M))
        A = _room(room_A, (K, K))
        B = _room(room_B, (K, M))
        dv = _room(room_dv, (room_dv,))
        Gamma = _room(room_Gamma, (K, K))
        inverse_roots = _room(room_inverse_roots, (room_inverse_roots,))
        scaled_B = _room(room_scaled_B, (K, padded_M))
        scaled_A = _room(room_scaled_A, (K, padded_K))
        order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
        # first_layer_gradients: derivatives of the generalisation error by Q (one variable for Q_ij
        # and Q_ji) and R
        for i in range(K):
            Q_ii = Q[i, i]
            v_i = v[i]
            sum_over_m = 0.0
            for m in range(M):
                sum_over_m += v_teacher[m] * i2_11_st(Q_ii, R[i, m], T[m, m])
            sum_over_p = 0.0
            inverse_one_plus_Q_ii = 1.0 / (Q_ii + 1.0)
            for p in range(K):
                inverse_roots[p] = Q[p, p] - inverse_one_plus_Q_ii * Q[i, p] * Q[i, p] + 1.0
            _inverse_roots(inverse_roots, K)
            for p in range(K):
                sum_over_p += Q[i, p] * inverse_roots[p] * v[p]
            curvature = (
                v_i
                * (
                    -2.0 * sum_over_m
                    - (2.0 / math.pi) * sum_over_p / ((Q_ii + 1.0) * math.sqrt(Q_ii + 1.0))
                )
            )
            inverse_root_one_plus_Q_ii_v_i = v_i / math.sqrt(Q_ii + 1.0)
            for j in range(i + 1):
                A[i, j] = (
                    (1.0 if i == j else 0.0) * curvature
                    + (2.0 / math.pi) * inverse_root_one_plus_Q_ii_v_i * inverse_roots[j] * v[j]
                )
                A[j, i] = A[i, j]
            for n in range(M):
                B[i, n] = -v_i * v_teacher[n] * i2_12_st(Q_ii, R[i, n], T[n, n])
        if second_layer_learning_rate != 0.0:
            # second_layer_gradient: derivatives of the generalisation error by v
            for i in range(K):
                Q_ii_2 = Q[i, i]
                sum_over_m_2 = 0.0
                for m in range(M):
                    sum_over_m_2 += v_teacher[m] * i2_st(Q_ii_2, R[i, m], T[m, m])
                sum_over_p_2 = 0.0
                for p in range(K):
                    sum_over_p_2 += v[p] * i2_ss(Q_ii_2, Q[i, p], Q[p, p])
                dv[i] = sum_over_p_2 - sum_over_m_2
        else:
            for i0 in range(K):
                dv[i0] = 0.0
        if full_order != 0.0:
            # noise: mean of the product of two students' forces, with label noise
            label_noise_squared = label_noise * label_noise
            for i in range(K):
                Q_ii_3 = Q[i, i]
                for j in range(i + 1):
                    Q_ij = Q[i, j]
                    Q_jj = Q[j, j]
                    sum_over_p_3 = 0.0
                    for p in range(K):
                        Q_ip = Q[i, p]
                        Q_jp = Q[j, p]
                        Q_pp = Q[p, p]
                        sum_over_q = 0.0
                        for q in range(p + 1):
                            sum_over_q += (
                                (1.0 if p == q else 2.0)
                                * v[q]
                                * i4_ss(
                                    Q_ii_3, Q_ij, Q_ip, Q[i, q], Q_jj, Q_jp, Q[j, q], Q_pp, Q[p, q],
                                    Q[q, q],
                                )
                            )
                        sum_over_m_3 = 0.0
                        for m in range(M):
                            sum_over_m_3 += (
                                v_teacher[m]
                                * i4_st(
                                    Q_ii_3, Q_ij, Q_ip, R[i, m], Q_jj, Q_jp, R[j, m], Q_pp, R[p, m],
                                    T[m, m],
                                )
                            )
                        sum_over_p_3 += v[p] * (sum_over_m_3 - 0.5 * sum_over_q)
                    sum_over_m_4 = 0.0
                    for m in range(M):
                        R_im = R[i, m]
                        T_mm = T[m, m]
                        R_jm = R[j, m]
                        sum_over_n = 0.0
                        for n in range(m + 1):
                            R_in = R[i, n]
                            T_mn = T[m, n]
                            T_nn = T[n, n]
                            if i == j and m == n:
                                case = i4_tt_aabb(Q_ii_3, R_im, T_mm)
                            elif i == j:
                                case = i4_tt_aabc(Q_ii_3, R_im, R_in, T_mm, T_mn, T_nn)
                            elif m == n:
                                case = i4_tt_abcc(Q_ii_3, Q_ij, R_im, Q_jj, R_jm, T_mm)
                            else:
                                case = i4_tt(
                                    Q_ii_3, Q_ij, R_im, R_in, Q_jj, R_jm, R[j, n], T_mm, T_mn, T_nn
                                )
                            sum_over_n += (1.0 if m == n else 2.0) * v_teacher[n] * case
                        sum_over_m_4 += v_teacher[m] * sum_over_n
                    Gamma[i, j] = (
                        v[i]
                        * v[j]
                        * (
                            label_noise_squared * i2_12_ss(Q_ii_3, Q_ij, Q_jj)
                            + sum_over_m_4
                            - 2.0 * sum_over_p_3
                        )
                    )
                    Gamma[j, i] = Gamma[i, j]
        else:
            for i0 in range(K):
                for i1 in range(K):
                    Gamma[i0, i1] = 0.0
        for i in range(K):
            d_v[i] = -second_layer_learning_rate * dv[i] - second_layer_weight_decay * v[i]
        for i in range(K):
            for m in range(M):
                scaled_B[i, m] = -learning_rate * B[i, m]
            for m in range(M, padded_M):
                scaled_B[i, m] = 0.0
            for p in range(K):
                scaled_A[i, p] = -learning_rate * A[i, p]
            for p in range(K, padded_K):
                scaled_A[i, p] = 0.0
        for first in range(np.uint64(0), np.uint64(L), np.uint64(1024)):
            last = min(first + np.uint64(1024), np.uint64(L))
            for j in range(K):
                for group in range(groups_K):
                    begin = min(group * rows_K, K - rows_K)
                    for part in range(parts):
                        for k in range(first, last):
                            for row in range(rows_K):
                                if part == 0:
                                    before = 0.0
                                else:
                                    before = d_student_overlap[begin + row, j, k]
                                sum_over_p_4 = 0.0
                                for p in range(width_K):
                                    sum_over_p_4 += (
                                        scaled_A[begin + row, p + part * width_K]
                                        * student_overlap[j, min(K - 1, p + part * width_K), k]
                                    )
                                sum_over_m_5 = 0.0
                                for m in range(width_M):
                                    sum_over_m_5 += (
                                        cross_overlap[j, min(M - 1, m + part * width_M), k]
                                        * scaled_B[begin + row, m + part * width_M]
                                    )
                                d_student_overlap[begin + row, j, k] = (
                                    before + sum_over_m_5 + eigenvalue[k] * sum_over_p_4
                                )
            learning_rate_squared = learning_rate * learning_rate
            for i in range(K):
                for j in range(i + 1):
                    learning_rate_squared_Gamma_ij = learning_rate_squared * Gamma[i, j]
                    for k in range(first, last):
                        d_student_overlap[i, j, k] = (
                            learning_rate_squared_Gamma_ij * eigenvalue[k]
                            + d_student_overlap[i, j, k]
                            + d_student_overlap[j, i, k]
                        )
                        d_student_overlap[j, i, k] = d_student_overlap[i, j, k]
            if weight_decay != 0.0:
                for i in range(number_K):
                    for j in range(number_K):
                        for k in range(first, last):
                            d_student_overlap[i, j, k] = (
                                d_student_overlap[i, j, k]
                                - 2.0 * weight_decay * student_overlap[i, j, k]
                            )
            for n in range(M):
                for group in range(groups_K):
                    begin = min(group * rows_K, K - rows_K)
                    for part in range(parts):
                        for k in range(first, last):
                            for row in range(rows_K):
                                if part == 0:
                                    before = 0.0
                                else:
                                    before = d_cross_overlap[begin + row, n, k]
                                sum_over_p_5 = 0.0
                                for p in range(width_K):
                                    sum_over_p_5 += (
                                        cross_overlap[min(K - 1, p + part * width_K), n, k]
                                        * scaled_A[begin + row, p + part * width_K]
                                    )
                                sum_over_m_6 = 0.0
                                for m in range(width_M):
                                    sum_over_m_6 += (
                                        scaled_B[begin + row, m + part * width_M]
                                        * teacher_overlap[n, min(M - 1, m + part * width_M), k]
                                    )
                                d_cross_overlap[begin + row, n, k] = (
                                    before + sum_over_m_6 + eigenvalue[k] * sum_over_p_5
                                )
            if weight_decay != 0.0:
                for i in range(number_K):
                    for n in range(number_M):
                        for k in range(first, last):
                            d_cross_overlap[i, n, k] = (
                                d_cross_overlap[i, n, k] - weight_decay * cross_overlap[i, n, k]
                            )

    _SPECIALISED[K, M] = flat_right_hand_side
    return flat_right_hand_side


def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
    """The function that ``specialised`` makes for these sizes; to be called from Python."""
    specialised(int(sizes[0]), int(sizes[1]))(alpha, state, sizes, parameters, derivative)


def flat_observables(state, sizes, parameters, Q, R):
    """observables on flat vectors, to be called from Python.

    sizes = [K, M, L]

    state = student_overlap (K, K, L), cross_overlap (K, M, L), v (K)

    parameters = eigenvalue (L), weight (L), teacher_overlap (M, M, L), T (M, M), v_teacher (M),
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order
    """
    [K, M, L] = (int(size) for size in sizes)
    start = 0
    student_overlap = state[start : start + K * K * L].reshape(K, K, L)
    start += K * K * L
    cross_overlap = state[start : start + K * M * L].reshape(K, M, L)
    start += K * M * L
    v = state[start : start + K]
    start += K
    if start != state.size:
        raise ValueError("state: its length does not agree with sizes")
    start = 0
    eigenvalue = parameters[start : start + L]
    start += L
    weight = parameters[start : start + L]
    start += L
    start += M * M * L
    T = parameters[start : start + M * M].reshape(M, M)
    start += M * M
    v_teacher = parameters[start : start + M]
    start += M
    start += 6
    if start != parameters.size:
        raise ValueError("parameters: its length does not agree with sizes")
    order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
    error = generalization_error(Q, R, T, v, v_teacher)
    return error
