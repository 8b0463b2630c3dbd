"""Small right-hand sides with known solutions, in the layout of a solver module (K = M = L = 1).

The state is Q_1, r_1, v; eigenvalue and weight are 1, so Q = Q_1 and R = r_1.
"""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numba import njit

from symderiv.storage.kernels import Kernel

_FLAT = "void(float64, float64[::1], int64[::1], float64[::1], float64[::1])"


@njit(_FLAT, cache=True)
def oscillation(alpha, y, sizes, parameters, derivative):
    """Q = 2 + sin, v = cos of alpha, R = 0."""
    derivative[0] = y[2]
    derivative[1] = 0.0
    derivative[2] = 2.0 - y[0]


@njit(_FLAT, cache=True)
def decay(alpha, y, sizes, parameters, derivative):
    """All numbers decay with the first constant as rate."""
    for c in range(3):
        derivative[c] = -parameters[0] * y[c]


@njit(_FLAT, cache=True, error_model="numpy")
def not_a_number_at_one(alpha, y, sizes, parameters, derivative):
    """Q' = sqrt(1 - alpha), which is real up to alpha = 1."""
    derivative[0] = math.sqrt(1.0 - alpha) if alpha <= 1.0 else math.nan
    derivative[1] = 0.0
    derivative[2] = 0.0


@njit(_FLAT, cache=True, error_model="numpy")
def never_a_number(alpha, y, sizes, parameters, derivative):
    derivative[:] = math.nan


@njit(_FLAT, cache=True, error_model="numpy")
def explosion(alpha, y, sizes, parameters, derivative):
    """Q' = Q^2 from Q = 1: Q = 1 / (1 - alpha)."""
    derivative[0] = y[0] * y[0]
    derivative[1] = 0.0
    derivative[2] = 0.0


@njit(_FLAT, cache=True)
def out_of_the_cone(alpha, y, sizes, parameters, derivative):
    """R grows at rate 1/2 with Q = T = 1: no Gaussian fields have such a covariance from 2 on."""
    derivative[0] = 0.0
    derivative[1] = 0.5
    derivative[2] = 0.0


@njit(_FLAT, cache=True, error_model="numpy")
def noisy(alpha, y, sizes, parameters, derivative):
    """Q' = -Q with errors of relative size 1e-7 that no smooth function has."""
    derivative[0] = -y[0] * (1.0 + 1e-7 * math.sin(1e15 * y[0]))
    derivative[1] = 0.0
    derivative[2] = 0.0


def error(Q, R, T, v, v_teacher):
    return Q[0, 0] + R[0, 0]


def as_kernel(rhs) -> Kernel:
    module = SimpleNamespace(flat_right_hand_side=rhs, generalization_error=error)
    return Kernel(module, Path("small_systems.py"), "0" * 64, "x", "x", False)


SIZES = np.array([1, 1, 1])
# eigenvalue, weight, t, T, teacher weight, five rates, order
PARAMETERS = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])

STUDY = """
[network]
activation = "linear"
students = 1
teachers = 1
[training]
learning_rate = 1.0
[initial]
state = "state.npz"
[time]
values = {values}
"""
