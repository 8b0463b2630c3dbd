"""Order-parameter dynamics of a two-layer student and teacher, g(x) = erf(x/sqrt(2)), h(x) =
sign(x): 8 runs at a time

Generated, do not edit: change the recipe and generate again. The equations stand in erf_sign.py,
from the same program; here is the right-hand side for 8 runs at a time, compiled for given numbers
of units. The module needs math, numpy, numba and the runtime.py beside it.

Digests (SHA-256):
    program  7187bee09dbbb07d5b31dae3eeb4f21eef02835417c52e6c12a28f8bb6ff4f7e
    code     3ca259f3e4f66790db5427c27ec7ef20797372b208c6a2223946aa2e6808346e
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit

from .runtime import (
    DIGEST,
    any_lane,
    chosen,
    derivative_apart,
    inverse_root,
    lanes_at,
    put_lanes,
    stack_array,
    to_inverse_roots,
    unit_scale,
    view,
)

_SPECIALISED = {}
_OBSERVABLES = {}

_compiled = njit(error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_sums = njit(error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)


@_compiled
def _clipped_sqrt(x):
    """Square root; a negative rounding error is taken for 0."""
    return chosen(x < 0.0, 0.0, math.sqrt(x))


@_compiled
def _clipped_asin(x):
    """Arcsine; a rounding error beyond -1 or 1 is taken for the edge."""
    when = x > 1.0
    found = 0.5 * math.pi
    found_there = found
    found = chosen(x < -1.0, -0.5 * math.pi, math.asin(x))
    found = chosen(when, found_there, found)
    return found


@_compiled
def _ratio(numerator, denominator):
    """Quotient, 0 where the denominator vanishes: the limit at a field without variance."""
    return chosen(denominator == 0.0, 0.0, numerator / denominator)


@_compiled
def _unit_scale(variance):
    """Return the power of two that brings a standard deviation near 1 without rounding."""
    return unit_scale(variance)


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
    return (2.0 / math.pi) * inverse_root(c_s2_s2_given_s1 * one_plus_c11)


@_compiled
def i2_12_st(c11, c12, c22):
    """E[g'(a) h'(b)] = dI2/dc12."""
    one_plus_c11 = c11 + 1.0
    c_2_2_given_s1 = c22 - _ratio(c12 * c12, one_plus_c11)
    return _ratio((2.0 / math.pi), _clipped_sqrt(c_2_2_given_s1) * _clipped_sqrt(one_plus_c11))


@_compiled
def i2_ss(c11, c12, c22):
    """E[g(a) g(b)]."""
    return (2.0 / math.pi) * math.asin(c12 * inverse_root((c11 + 1.0) * (c22 + 1.0)))


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
        * math.asin(c_s3_s4_given_s1_s2 * inverse_root(c_s3_s3_given_s1_s2 * c_s4_s4_given_s1_s2))
        * inverse_root(c_s2_s2_given_s1 * one_plus_c11)
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
    return (math.sqrt(2.0) / math.pi) * inverse_root(c11 + 0.5)


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
    return (2.0 / math.pi) * inverse_root(c_s2_s2_given_s1 * one_plus_c11)


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


def specialised(K, M):
    """flat_right_hand_side for one set of sizes, compiled for them, with the signature that time
    steppers expect.

    sizes = [K, M, L]

    state = student_overlap (K, K, L), cross_overlap (K, M, L), v (K)

    parameters = eigenvalue (L), weight (L), teacher_overlap (M, M, L), T (M, M), v_teacher (M),
    learning_rate, second_layer_learning_rate, weight_decay, second_layer_weight_decay, label_noise,
    full_order

    Every number stands for 8 runs, whose numbers are neighbours.

    derivative is packed like state and must not overlap with any other. alpha is the time.
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
        room_Q + room_R + room_A + room_B + room_dv + room_Gamma + room_inverse_roots
        + room_scaled_B + room_scaled_A
    )
    if room > 32768:
        raise ValueError("the arrays of so many units do not fit on the stack")
    digest = DIGEST

    def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
        digest  # compiled code is kept by what the function mentions
        number_K = min(K, sizes[0])
        number_M = min(M, sizes[1])
        L = sizes[2]
        start = 0
        student_overlap = view(state, start, (K, K, L))
        start += K * K * L
        cross_overlap = view(state, start, (K, M, L))
        start += K * M * L
        v = view(state, start, (K,))
        start += K
        if 8 * start != state.size:
            raise ValueError("state: its length does not agree with sizes")
        start = 0
        eigenvalue = view(parameters, start, (L,))
        start += L
        weight = view(parameters, start, (L,))
        start += L
        teacher_overlap = view(parameters, start, (M, M, L))
        start += M * M * L
        T = view(parameters, start, (M, M))
        start += M * M
        v_teacher = view(parameters, start, (M,))
        start += M
        learning_rate = lanes_at(parameters, start)
        start += 1
        second_layer_learning_rate = lanes_at(parameters, start)
        start += 1
        weight_decay = lanes_at(parameters, start)
        start += 1
        second_layer_weight_decay = lanes_at(parameters, start)
        start += 1
        label_noise = lanes_at(parameters, start)
        start += 1
        full_order = lanes_at(parameters, start)
        start += 1
        if 8 * start != parameters.size:
            raise ValueError("parameters: its length does not agree with sizes")
        derivative_apart()
        start = 0
        d_student_overlap = view(derivative, start, (K, K, L))
        start += K * K * L
        d_cross_overlap = view(derivative, start, (K, M, L))
        start += K * M * L
        d_v = view(derivative, start, (K,))
        start += K
        if 8 * start != derivative.size:
            raise ValueError("derivative: its length does not agree with sizes")
        Q = stack_array(room_Q, (K, K))
        R = stack_array(room_R, (K, M))
        A = stack_array(room_A, (K, K))
        B = stack_array(room_B, (K, M))
        dv = stack_array(room_dv, (room_dv,))
        Gamma = stack_array(room_Gamma, (K, K))
        inverse_roots = stack_array(room_inverse_roots, (room_inverse_roots,))
        scaled_B = stack_array(room_scaled_B, (K, padded_M))
        scaled_A = stack_array(room_scaled_A, (K, padded_K))
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
            to_inverse_roots(inverse_roots, K)
            for p in range(K):
                sum_over_p += Q[i, p] * inverse_roots[p] * v[p]
            curvature = (
                v_i
                * (
                    -2.0 * sum_over_m
                    - (2.0 / math.pi) * sum_over_p / ((Q_ii + 1.0) * math.sqrt(Q_ii + 1.0))
                )
            )
            inverse_root_one_plus_Q_ii_v_i = v_i * inverse_root(Q_ii + 1.0)
            for j in range(i + 1):
                A[i, j] = (
                    (1.0 if i == j else 0.0) * curvature
                    + (2.0 / math.pi) * inverse_root_one_plus_Q_ii_v_i * inverse_roots[j] * v[j]
                )
                A[j, i] = A[i, j]
            for n in range(M):
                B[i, n] = -v_i * v_teacher[n] * i2_12_st(Q_ii, R[i, n], T[n, n])
        if any_lane(second_layer_learning_rate != 0.0):
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
            for i0 in range(K):
                dv[i0] = chosen(second_layer_learning_rate != 0.0, dv[i0], 0.0)
        else:
            for i0 in range(K):
                dv[i0] = 0.0
        if any_lane(full_order != 0.0):
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
                                (1.0 if p == q else 2.0) * v[q]
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
                        v[i] * v[j]
                        * (
                            label_noise_squared * i2_12_ss(Q_ii_3, Q_ij, Q_jj)
                            + sum_over_m_4
                            - 2.0 * sum_over_p_3
                        )
                    )
                    Gamma[j, i] = Gamma[i, j]
            for i0 in range(K):
                for i1 in range(K):
                    Gamma[i0, i1] = chosen(full_order != 0.0, Gamma[i0, i1], 0.0)
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
            if any_lane(weight_decay != 0.0):
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
            if any_lane(weight_decay != 0.0):
                for i in range(number_K):
                    for n in range(number_M):
                        for k in range(first, last):
                            d_cross_overlap[i, n, k] = (
                                d_cross_overlap[i, n, k] - weight_decay * cross_overlap[i, n, k]
                            )

    flat_right_hand_side.__qualname__ += f"_{K}_{M}"
    _SPECIALISED[K, M] = njit(
        "void(float64[::1], float64[::1], int64[::1], float64[::1], float64[::1])",
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "contract"},
    )(flat_right_hand_side)
    return _SPECIALISED[K, M]


def specialised_observables(K, M):
    """flat_observables for one set of sizes: the generalisation error, for each run, in ``found``.
    """
    if (K, M) in _OBSERVABLES:
        return _OBSERVABLES[K, M]
    room_Q = K * K
    room_R = K * M
    room = room_Q + room_R
    if room > 32768:
        raise ValueError("the arrays of so many units do not fit on the stack")
    digest = DIGEST

    def flat_observables(state, sizes, parameters, found):
        digest  # compiled code is kept by what the function mentions
        L = sizes[2]
        start = 0
        student_overlap = view(state, start, (K, K, L))
        start += K * K * L
        cross_overlap = view(state, start, (K, M, L))
        start += K * M * L
        v = view(state, start, (K,))
        start += K
        if 8 * start != state.size:
            raise ValueError("state: its length does not agree with sizes")
        start = 0
        eigenvalue = view(parameters, start, (L,))
        start += L
        weight = view(parameters, start, (L,))
        start += L
        start += M * M * L
        T = view(parameters, start, (M, M))
        start += M * M
        v_teacher = view(parameters, start, (M,))
        start += M
        start += 6
        if 8 * start != parameters.size:
            raise ValueError("parameters: its length does not agree with sizes")
        Q = stack_array(room_Q, (K, K))
        R = stack_array(room_R, (K, M))
        order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
        # generalization_error: mean of (student - teacher)**2 / 2 over the inputs, without label
        # noise
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
            Q_pp = Q[p, p]
            sum_over_q = 0.0
            for q in range(p + 1):
                sum_over_q += (1.0 if p == q else 2.0) * v[q] * i2_ss(Q_pp, Q[p, q], Q[q, q])
            sum_over_m_2 = 0.0
            for m in range(M):
                sum_over_m_2 += v_teacher[m] * i2_st(Q_pp, R[p, m], T[m, m])
            sum_over_p += v[p] * (sum_over_m_2 - 0.5 * sum_over_q)
        error = 0.5 * sum_over_m - sum_over_p
        put_lanes(found, 0, error)

    flat_observables.__qualname__ += f"_{K}_{M}"
    _OBSERVABLES[K, M] = njit(
        "void(float64[::1], int64[::1], float64[::1], float64[::1])",
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "contract"},
    )(flat_observables)
    return _OBSERVABLES[K, M]
