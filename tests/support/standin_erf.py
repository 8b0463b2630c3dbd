"""A hand-written solver module for erf students and teachers, independent of the generator.

It follows the textbook integrals of Saad and Solla (1995) for g(x) = erf(x / sqrt 2): I2, I3, I4
as arcsines and square roots. It has the functions that ``symderiv.dynamics`` asks of a module.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

STUDENT_ACTIVATION = "erf(x/sqrt(2))"
TEACHER_ACTIVATION = "erf(x/sqrt(2))"
FORMAT = 1
RECIPE = {"student": STUDENT_ACTIVATION, "teacher": TEACHER_ACTIVATION}

_FLAT = "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])"


@njit("float64(float64)", cache=True, error_model="numpy")
def student_activation(x):
    return math.erf(x / math.sqrt(2.0))


@njit("float64(float64)", cache=True, error_model="numpy")
def student_activation_derivative(x):
    return math.sqrt(2.0 / math.pi) * math.exp(-0.5 * x * x)


@njit("float64(float64)", cache=True, error_model="numpy")
def teacher_activation(x):
    return math.erf(x / math.sqrt(2.0))


@njit(cache=True, error_model="numpy")
def _i2(c11, c22, c12):
    return 2.0 / math.pi * math.asin(c12 / math.sqrt((1.0 + c11) * (1.0 + c22)))


@njit(cache=True, error_model="numpy")
def _i4(c11, c12, c22, c13, c14, c23, c24, c33, c34, c44):
    l4 = (1.0 + c11) * (1.0 + c22) - c12 * c12
    l0 = (
        l4 * c34 - c23 * c24 * (1.0 + c11) - c13 * c14 * (1.0 + c22) + c12 * (c13 * c24 + c14 * c23)
    )
    l1 = l4 * (1.0 + c33) - c23 * c23 * (1.0 + c11) - c13 * c13 * (1.0 + c22)
    l1 += 2.0 * c12 * c13 * c23
    l2 = l4 * (1.0 + c44) - c24 * c24 * (1.0 + c11) - c14 * c14 * (1.0 + c22)
    l2 += 2.0 * c12 * c14 * c24
    return 4.0 / math.pi**2 / math.sqrt(l4) * math.asin(l0 / math.sqrt(l1 * l2))


@njit(cache=True, error_model="numpy")
def generalization_error(Q, R, T, v, v_teacher):
    K, M = R.shape
    total = 0.0
    for i in range(K):
        for j in range(K):
            total += v[i] * v[j] * _i2(Q[i, i], Q[j, j], Q[i, j])
        for n in range(M):
            total -= 2.0 * v[i] * v_teacher[n] * _i2(Q[i, i], T[n, n], R[i, n])
    for n in range(M):
        for m in range(M):
            total += v_teacher[n] * v_teacher[m] * _i2(T[n, n], T[m, m], T[n, m])
    return 0.5 * total


@njit(cache=True, error_model="numpy")
def gradients(Q, R, T, v, v_teacher, A, B, dv):
    K, M = R.shape
    two_pi = 2.0 / math.pi
    for i in range(K):
        diagonal = 0.0
        dv[i] = 0.0
        for j in range(K):
            root = math.sqrt((1.0 + Q[i, i]) * (1.0 + Q[j, j]) - Q[i, j] ** 2)
            A[i, j] = v[i] * v[j] * two_pi / root
            diagonal -= v[i] * v[j] * two_pi * Q[i, j] / ((1.0 + Q[i, i]) * root)
            dv[i] += v[j] * _i2(Q[i, i], Q[j, j], Q[i, j])
        for n in range(M):
            root = math.sqrt((1.0 + Q[i, i]) * (1.0 + T[n, n]) - R[i, n] ** 2)
            B[i, n] = -v[i] * v_teacher[n] * two_pi / root
            diagonal += v[i] * v_teacher[n] * two_pi * R[i, n] / ((1.0 + Q[i, i]) * root)
            dv[i] -= v_teacher[n] * _i2(Q[i, i], T[n, n], R[i, n])
        A[i, i] += diagonal


@njit(cache=True, error_model="numpy")
def noise(Q, R, T, v, v_teacher, label_noise, Gamma):
    K, M = R.shape
    P = K + M
    C = np.empty((P, P))
    w = np.empty(P)
    C[:K, :K] = Q
    C[:K, K:] = R
    C[K:, :K] = R.T
    C[K:, K:] = T
    w[:K] = v
    w[K:] = -v_teacher
    for i in range(K):
        for j in range(i + 1):
            total = label_noise**2 * 2.0 / math.pi
            total /= math.sqrt((1.0 + Q[i, i]) * (1.0 + Q[j, j]) - Q[i, j] ** 2)
            for a in range(P):
                for b in range(P):
                    total += (
                        w[a]
                        * w[b]
                        * _i4(
                            C[i, i],
                            C[i, j],
                            C[j, j],
                            C[i, a],
                            C[i, b],
                            C[j, a],
                            C[j, b],
                            C[a, a],
                            C[a, b],
                            C[b, b],
                        )
                    )
            Gamma[i, j] = v[i] * v[j] * total
            Gamma[j, i] = Gamma[i, j]


@njit(cache=True, error_model="numpy")
def order_parameters(student_overlap, cross_overlap, eigenvalue, weight, Q, R):
    Q[:] = 0.0
    R[:] = 0.0
    for k in range(eigenvalue.size):
        Q += weight[k] * eigenvalue[k] * student_overlap[k]
        R += weight[k] * cross_overlap[k]


@njit(_FLAT, cache=True, error_model="numpy", nogil=True)
def flat_right_hand_side(alpha, state, sizes, parameters, derivative):
    K, M, L = sizes[0], sizes[1], sizes[2]
    qk = state[: L * K * K].reshape(L, K, K)
    rk = state[L * K * K : L * K * (K + M)].reshape(L, K, M)
    v = state[L * K * (K + M) :]
    dqk = derivative[: L * K * K].reshape(L, K, K)
    drk = derivative[L * K * K : L * K * (K + M)].reshape(L, K, M)
    eigenvalue = parameters[:L]
    weight = parameters[L : 2 * L]
    at = 2 * L
    tk = parameters[at : at + L * M * M].reshape(L, M, M)
    at += L * M * M
    T = parameters[at : at + M * M].reshape(M, M)
    at += M * M
    v_teacher = parameters[at : at + M]
    at += M
    eta, eta_v = parameters[at], parameters[at + 1]
    kappa, kappa_v = parameters[at + 2], parameters[at + 3]
    sigma, full = parameters[at + 4], parameters[at + 5]
    Q = np.empty((K, K))
    R = np.empty((K, M))
    A = np.empty((K, K))
    B = np.empty((K, M))
    dv = np.empty(K)
    Gamma = np.zeros((K, K))
    order_parameters(qk, rk, eigenvalue, weight, Q, R)
    gradients(Q, R, T, v, v_teacher, A, B, dv)
    if full != 0.0:
        noise(Q, R, T, v, v_teacher, sigma, Gamma)
    for k in range(L):
        rho = eigenvalue[k]
        for i in range(K):
            for n in range(M):
                total = 0.0
                for j in range(K):
                    total += rho * A[i, j] * rk[k, j, n]
                for m in range(M):
                    total += B[i, m] * tk[k, m, n]
                drk[k, i, n] = -eta * total - kappa * rk[k, i, n]
            for j in range(K):
                total = 0.0
                for l in range(K):
                    total += rho * (A[i, l] * qk[k, l, j] + A[j, l] * qk[k, l, i])
                for m in range(M):
                    total += B[i, m] * rk[k, j, m] + B[j, m] * rk[k, i, m]
                dqk[k, i, j] = (
                    -eta * total + eta * eta * rho * Gamma[i, j] - 2.0 * kappa * qk[k, i, j]
                )
    for i in range(K):
        derivative[L * K * (K + M) + i] = -eta_v * dv[i] - kappa_v * v[i]


@njit(
    "float64(float64[::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1])",
    cache=True,
    error_model="numpy",
)
def flat_observables(state, sizes, parameters, Q, R):
    K, M, L = sizes[0], sizes[1], sizes[2]
    qk = state[: L * K * K].reshape(L, K, K)
    rk = state[L * K * K : L * K * (K + M)].reshape(L, K, M)
    order_parameters(qk, rk, parameters[:L], parameters[L : 2 * L], Q, R)
    at = 2 * L + L * M * M
    T = parameters[at : at + M * M].reshape(M, M)
    v_teacher = parameters[at + M * M : at + M * M + M]
    return generalization_error(Q, R, T, state[L * K * (K + M) :], v_teacher)
