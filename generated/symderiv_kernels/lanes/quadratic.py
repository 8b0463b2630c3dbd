"""Order-parameter dynamics of a two-layer student and teacher, g(x) = x**2: 8 runs at a time

Generated, do not edit: change the recipe and generate again. The equations stand in quadratic.py,
from the same program; here is the right-hand side for 8 runs at a time, compiled for given numbers
of units. The module needs math, numpy, numba and the runtime.py beside it.

Digests (SHA-256):
    program  3a7a11daf7e8f85bbbef0612757f47c44c2083187be22b778c7cce707039a645
    code     f17375db8a9dbb41b003cea76568300858371343b8483243e90be35759e3a568
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
    lanes_at,
    put_lanes,
    stack_array,
    view,
)

_SPECIALISED = {}
_OBSERVABLES = {}

_compiled = njit(error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_sums = njit(error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)


@_compiled
def i2(c11, c12, c22):
    """E[g(a) g(b)]."""
    return c11 * c22 + 2.0 * c12 * c12


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
    room_scaled_B = K * padded_M
    room_scaled_A = K * padded_K
    room = room_Q + room_R + room_A + room_B + room_dv + room_Gamma + room_scaled_B + room_scaled_A
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
        scaled_B = stack_array(room_scaled_B, (K, padded_M))
        scaled_A = stack_array(room_scaled_A, (K, padded_K))
        order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
        # first_layer_gradients: derivatives of the generalisation error by Q (one variable for Q_ij
        # and Q_ji) and R
        for i in range(K):
            v_i = v[i]
            sum_over_m = 0.0
            for m in range(M):
                sum_over_m += T[m, m] * v_teacher[m]
            sum_over_p = 0.0
            for p in range(K):
                sum_over_p += Q[p, p] * v[p]
            curvature = v_i * (2.0 * sum_over_p - 2.0 * sum_over_m)
            for j in range(i + 1):
                A[i, j] = (1.0 if i == j else 0.0) * curvature + 4.0 * v_i * Q[i, j] * v[j]
                A[j, i] = A[i, j]
            for n in range(M):
                B[i, n] = -4.0 * v_i * R[i, n] * v_teacher[n]
        if any_lane(second_layer_learning_rate != 0.0):
            # second_layer_gradient: derivatives of the generalisation error by v
            for i in range(K):
                Q_ii = Q[i, i]
                sum_over_m_2 = 0.0
                for m in range(M):
                    sum_over_m_2 += v_teacher[m] * i2(Q_ii, R[i, m], T[m, m])
                sum_over_p_2 = 0.0
                for p in range(K):
                    sum_over_p_2 += v[p] * i2(Q_ii, Q[i, p], Q[p, p])
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
                for j in range(i + 1):
                    Q_ij = Q[i, j]
                    sum_over_p_3 = 0.0
                    for p in range(K):
                        Q_pp = Q[p, p]
                        Q_ip = Q[i, p]
                        Q_jp = Q[j, p]
                        sum_over_q = 0.0
                        Q_ij_Q_pp = Q_ij * Q_pp
                        Q_ip_Q_jp = Q_ip * Q_jp
                        for q in range(p + 1):
                            Q_qq = Q[q, q]
                            Q_pq = Q[p, q]
                            Q_iq = Q[i, q]
                            Q_jq = Q[j, q]
                            sum_over_q += (
                                (1.0 if p == q else 2.0) * v[q]
                                * (
                                    8.0 * Q_ij * Q_pq * Q_pq + 4.0 * Q_ij_Q_pp * Q_qq
                                    + 16.0 * Q_ip * Q_jq * Q_pq + 8.0 * Q_ip_Q_jp * Q_qq
                                    + 16.0 * Q_iq * Q_jp * Q_pq + 8.0 * Q_iq * Q_jq * Q_pp
                                )
                            )
                        sum_over_m_3 = 0.0
                        for m in range(M):
                            T_mm = T[m, m]
                            R_pm = R[p, m]
                            R_im = R[i, m]
                            R_jm = R[j, m]
                            sum_over_m_3 += (
                                v_teacher[m]
                                * (
                                    8.0 * Q_ij * R_pm * R_pm + 4.0 * Q_ij_Q_pp * T_mm
                                    + 16.0 * Q_ip * R_jm * R_pm + 8.0 * Q_ip_Q_jp * T_mm
                                    + 16.0 * Q_jp * R_im * R_pm + 8.0 * Q_pp * R_im * R_jm
                                )
                            )
                        sum_over_p_3 += v[p] * (sum_over_m_3 - 0.5 * sum_over_q)
                    sum_over_m_4 = 0.0
                    for m in range(M):
                        T_mm_2 = T[m, m]
                        R_im_2 = R[i, m]
                        R_jm_2 = R[j, m]
                        sum_over_n = 0.0
                        Q_ij_T_mm = Q_ij * T_mm_2
                        R_im_R_jm = R_im_2 * R_jm_2
                        for n in range(m + 1):
                            T_nn = T[n, n]
                            T_mn = T[m, n]
                            R_in = R[i, n]
                            R_jn = R[j, n]
                            sum_over_n += (
                                (1.0 if m == n else 2.0) * v_teacher[n]
                                * (
                                    8.0 * Q_ij * T_mn * T_mn + 4.0 * Q_ij_T_mm * T_nn
                                    + 16.0 * R_im_2 * R_jn * T_mn + 8.0 * R_im_R_jm * T_nn
                                    + 16.0 * R_in * R_jm_2 * T_mn + 8.0 * R_in * R_jn * T_mm_2
                                )
                            )
                        sum_over_m_4 += v_teacher[m] * sum_over_n
                    Gamma[i, j] = (
                        v[i] * v[j]
                        * (4.0 * Q_ij * label_noise_squared + sum_over_m_4 - 2.0 * sum_over_p_3)
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
                sum_over_n += (
                    (1.0 if m == n else 2.0) * v_teacher[n] * i2(T[m, m], T[m, n], T[n, n])
                )
            sum_over_m += v_teacher[m] * sum_over_n
        sum_over_p = 0.0
        for p in range(K):
            Q_pp = Q[p, p]
            sum_over_q = 0.0
            for q in range(p + 1):
                sum_over_q += (1.0 if p == q else 2.0) * v[q] * i2(Q_pp, Q[p, q], Q[q, q])
            sum_over_m_2 = 0.0
            for m in range(M):
                sum_over_m_2 += v_teacher[m] * i2(Q_pp, R[p, m], T[m, m])
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
