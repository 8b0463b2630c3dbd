"""Order-parameter dynamics of a two-layer student and teacher, g(x) = erf(x/sqrt(2)): fast

Generated, do not edit: change the recipe and generate again. The equations and what computes them
one by one stand in erf.py, from the same program; here is the right-hand side on vectors, compiled
for given numbers of units. The module needs math, numpy, numba and the runtime.py beside it.

Digests (SHA-256):
    program  caeceffa4b9996c5e44dbd0880d55ce867af922d59c5387e777dd67b6268dd93
    code     9adb54b1db88265ed726038b3459656bc2e605f31cd67c85fdee73d867eefe41
Ordered by SymPy 1.14.
"""

import math

import numpy as np
from numba import njit

from .runtime import derivative_apart, DIGEST, stack_array, to_inverse_roots, view

_SPECIALISED = {}

_compiled = njit(cache=True, error_model="numpy", fastmath=False, no_cfunc_wrapper=True)
_compiled_sums = njit(cache=True, error_model="numpy", fastmath={"reassoc"}, no_cfunc_wrapper=True)
_compiled_many = njit(cache=True, error_model="numpy", fastmath={"contract"}, no_cfunc_wrapper=True)


_ARCSINE = (
    0.16666666666666669,
    0.07499999999998433,
    0.04464285714635543,
    0.030381944138531247,
    0.02237217294214989,
    0.017352392720869973,
    0.013971212973552933,
    0.011479177415184906,
    0.01032281435018578,
    0.005457506718640358,
    0.01740087944269402,
    -0.014851887071247204,
    0.028757851367421566,
)
_HALF_PI = 1.5707963267948966
_HALF_PI_REST = 6.123233995736766e-17


@_compiled_many
def _arcsines(values, count):
    """Replace the first numbers of an array by their arcsines, with an error below 2 ulp.

    asin(s) = s + s^3 P(s^2) up to 1/2, beyond it pi/2 - 2 asin(sqrt((1 - s)/2)). Numbers outside of
    [-1, 1] give NaN. The array must have room for a multiple of 16 numbers.
    """
    for first in range(0, count, 16):
        # Sixteen at a time leave no rest to a slower loop. Indices without sign: for others numba
        # asks whether they count from the end, which no vector instruction can.
        for k in range(np.uint64(first), np.uint64(first + 16)):
            x = abs(values[k])
            large = x > 0.5
            z = 0.5 - 0.5 * x if large else x * x
            s = math.sqrt(z) if large else x
            # Two chains of products: the fewest operations that do not all wait for each other.
            z2 = z * z
            even = _ARCSINE[8] + (_ARCSINE[10] + _ARCSINE[12] * z2) * z2
            even = _ARCSINE[2] + (_ARCSINE[4] + (_ARCSINE[6] + even * z2) * z2) * z2
            odd = _ARCSINE[7] + (_ARCSINE[9] + _ARCSINE[11] * z2) * z2
            odd = _ARCSINE[1] + (_ARCSINE[3] + (_ARCSINE[5] + odd * z2) * z2) * z2
            p = (_ARCSINE[0] + even * z2) + odd * z
            rest = s * z * p
            head = _HALF_PI - 2.0 * s if large else s
            tail = _HALF_PI_REST - 2.0 * rest if large else rest
            values[k] = math.copysign(head + tail, values[k])


@_compiled
def i2(c11, c12, c22):
    """E[g(a) g(b)]."""
    return (2.0 / math.pi) * math.asin(c12 / math.sqrt((c11 + 1.0) * (c22 + 1.0)))


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
    room_inverse_roots = (K + M + 7) // 8 * 8
    room_each_total = K
    room_each_total_2 = M
    room_inverse_roots_2 = (K + M + 7) // 8 * 8
    room_arcsines = ((K + M) * (K + M + 1) // 2 + 15) // 16 * 16
    room_scaled_B = K * padded_M
    room_scaled_A = K * padded_K
    room = (
        room_Q + room_R + room_A + room_B + room_dv + room_Gamma + room_inverse_roots
        + room_each_total + room_each_total_2 + room_inverse_roots_2 + room_arcsines + room_scaled_B
        + room_scaled_A
    )
    if room > 262144:
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
        v = state[start : start + K]
        start += K
        if start != state.size:
            raise ValueError("state: its length does not agree with sizes")
        start = 0
        eigenvalue = parameters[start : start + L]
        start += L
        weight = parameters[start : start + L]
        start += L
        teacher_overlap = view(parameters, start, (M, M, L))
        start += M * M * L
        T = view(parameters, start, (M, M))
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
        derivative_apart()
        start = 0
        d_student_overlap = view(derivative, start, (K, K, L))
        start += K * K * L
        d_cross_overlap = view(derivative, start, (K, M, L))
        start += K * M * L
        d_v = derivative[start : start + K]
        start += K
        if start != derivative.size:
            raise ValueError("derivative: its length does not agree with sizes")
        Q = stack_array(room_Q, (K, K))
        R = stack_array(room_R, (K, M))
        A = stack_array(room_A, (K, K))
        B = stack_array(room_B, (K, M))
        dv = stack_array(room_dv, (room_dv,))
        Gamma = stack_array(room_Gamma, (K, K))
        inverse_roots = stack_array(room_inverse_roots, (room_inverse_roots,))
        each_total = stack_array(room_each_total, (room_each_total,))
        each_total_2 = stack_array(room_each_total_2, (room_each_total_2,))
        inverse_roots_2 = stack_array(room_inverse_roots_2, (room_inverse_roots_2,))
        arcsines = stack_array(room_arcsines, (room_arcsines,))
        scaled_B = stack_array(room_scaled_B, (K, padded_M))
        scaled_A = stack_array(room_scaled_A, (K, padded_K))
        order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R)
        # first_layer_gradients: derivatives of the generalisation error by Q (one variable for Q_ij
        # and Q_ji) and R
        for i in range(K):
            Q_ii = Q[i, i]
            v_i = v[i]
            sum_over_p = 0.0
            inverse_one_plus_Q_ii = 1.0 / (Q_ii + 1.0)
            for p in range(K):
                inverse_roots[p] = Q[p, p] - inverse_one_plus_Q_ii * Q[i, p] * Q[i, p] + 1.0
            for m in range(M):
                inverse_roots[K + m] = T[m, m] - inverse_one_plus_Q_ii * R[i, m] * R[i, m] + 1.0
            to_inverse_roots(inverse_roots, K + M)
            for p in range(K):
                sum_over_p += Q[i, p] * inverse_roots[p] * v[p]
            sum_over_m = 0.0
            for m in range(M):
                sum_over_m += R[i, m] * inverse_roots[K + m] * v_teacher[m]
            curvature = (
                (1.0 / math.pi) * v_i * (2.0 * sum_over_m - 2.0 * sum_over_p)
                / ((Q_ii + 1.0) * math.sqrt(Q_ii + 1.0))
            )
            inverse_root_one_plus_Q_ii_v_i = v_i / math.sqrt(Q_ii + 1.0)
            for j in range(i + 1):
                A[i, j] = (
                    (1.0 if i == j else 0.0) * curvature
                    + (2.0 / math.pi) * inverse_root_one_plus_Q_ii_v_i * inverse_roots[j] * v[j]
                )
                A[j, i] = A[i, j]
            for n in range(M):
                B[i, n] = (
                    -(2.0 / math.pi) * inverse_root_one_plus_Q_ii_v_i * inverse_roots[K + n]
                    * v_teacher[n]
                )
        if second_layer_learning_rate != 0.0:
            # second_layer_gradient: derivatives of the generalisation error by v
            for i in range(K):
                Q_ii_2 = Q[i, i]
                sum_over_m_2 = 0.0
                for m in range(M):
                    sum_over_m_2 += v_teacher[m] * i2(Q_ii_2, R[i, m], T[m, m])
                sum_over_p_2 = 0.0
                for p in range(K):
                    sum_over_p_2 += v[p] * i2(Q_ii_2, Q[i, p], Q[p, p])
                dv[i] = sum_over_p_2 - sum_over_m_2
        else:
            for i0 in range(K):
                dv[i0] = 0.0
        if full_order != 0.0:
            # noise: mean of the product of two students' forces, with label noise
            quotient = (2.0 / math.pi) * label_noise * label_noise
            for i in range(K):
                Q_ii_3 = Q[i, i]
                inverse_one_plus_Q_ii_2 = 1.0 / (Q_ii_3 + 1.0)
                inverse_root_one_plus_Q_ii_v_i_2 = v[i] / math.sqrt(Q_ii_3 + 1.0)
                for j in range(i + 1):
                    Q_ij = Q[i, j]
                    Q_jj = Q[j, j]
                    sum_over_p_3 = 0.0
                    inverse_one_plus_Q_ii_2_Q_ij = Q_ij * inverse_one_plus_Q_ii_2
                    inverse = 1.0 / (Q_jj - inverse_one_plus_Q_ii_2 * Q_ij * Q_ij + 1.0)
                    for p in range(K):
                        Q_ip = Q[i, p]
                        each_total[p] = Q[j, p] - Q_ip * inverse_one_plus_Q_ii_2_Q_ij
                        inverse_roots_2[p] = (
                            Q[p, p] - inverse_one_plus_Q_ii_2 * Q_ip * Q_ip
                            - inverse * each_total[p] * each_total[p] + 1.0
                        )
                    for m in range(M):
                        R_im = R[i, m]
                        each_total_2[m] = R[j, m] - R_im * inverse_one_plus_Q_ii_2_Q_ij
                        inverse_roots_2[K + m] = (
                            T[m, m] - inverse_one_plus_Q_ii_2 * R_im * R_im
                            - inverse * each_total_2[m] * each_total_2[m] + 1.0
                        )
                    to_inverse_roots(inverse_roots_2, K + M)
                    count = 0
                    for p in range(K):
                        inverse_roots_2_p = inverse_roots_2[p]
                        product = inverse * each_total[p]
                        inverse_one_plus_Q_ii_2_Q_ip = inverse_one_plus_Q_ii_2 * Q[i, p]
                        for q in range(p + 1):
                            arcsines[count] = (
                                inverse_roots_2_p * inverse_roots_2[q]
                                * (
                                    Q[p, q] - inverse_one_plus_Q_ii_2_Q_ip * Q[i, q]
                                    - product * each_total[q]
                                )
                            )
                            count += 1
                        for m in range(M):
                            arcsines[count] = (
                                inverse_roots_2_p * inverse_roots_2[K + m]
                                * (
                                    R[p, m] - inverse_one_plus_Q_ii_2_Q_ip * R[i, m]
                                    - product * each_total_2[m]
                                )
                            )
                            count += 1
                    for m in range(M):
                        product_2 = inverse * each_total_2[m]
                        inverse_one_plus_Q_ii_2_R_im = inverse_one_plus_Q_ii_2 * R[i, m]
                        for n in range(m + 1):
                            arcsines[count] = (
                                inverse_roots_2[K + m] * inverse_roots_2[K + n]
                                * (
                                    T[m, n] - inverse_one_plus_Q_ii_2_R_im * R[i, n]
                                    - product_2 * each_total_2[n]
                                )
                            )
                            count += 1
                    _arcsines(arcsines, count)
                    count = 0
                    for p in range(K):
                        sum_over_q = 0.0
                        for q in range(p + 1):
                            sum_over_q += (1.0 if p == q else 2.0) * arcsines[count] * v[q]
                            count += 1
                        sum_over_m_3 = 0.0
                        for m in range(M):
                            sum_over_m_3 += arcsines[count] * v_teacher[m]
                            count += 1
                        sum_over_p_3 += v[p] * (sum_over_m_3 - 0.5 * sum_over_q)
                    sum_over_m_4 = 0.0
                    for m in range(M):
                        sum_over_n = 0.0
                        for n in range(m + 1):
                            sum_over_n += (1.0 if m == n else 2.0) * arcsines[count] * v_teacher[n]
                            count += 1
                        sum_over_m_4 += v_teacher[m] * sum_over_n
                    Gamma[i, j] = (
                        inverse_root_one_plus_Q_ii_v_i_2 * v[j]
                        * (
                            quotient + (4.0 / math.pi**2) * sum_over_m_4
                            - (8.0 / math.pi**2) * sum_over_p_3
                        ) / math.sqrt(Q_jj - inverse_one_plus_Q_ii_2 * Q_ij * Q_ij + 1.0)
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

    flat_right_hand_side.__qualname__ += f"_{K}_{M}"
    _SPECIALISED[K, M] = njit(
        "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])",
        cache=True,
        error_model="numpy",
        fastmath={"reassoc", "contract"},
    )(flat_right_hand_side)
    return _SPECIALISED[K, M]


def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
    """What ``specialised`` makes for these sizes; to be called from Python."""
    specialised(int(sizes[0]), int(sizes[1]))(alpha, state, sizes, parameters, derivative)
