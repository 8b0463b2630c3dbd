"""The checked-in erf module behind the compiled time stepper, on the baseline's own problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from symderiv_kernels.fast import erf
from symderiv_kernels.layout import LAYOUT

from benchmarks.numpy_baseline import ErfProblem
from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, integrate_flat
from symderiv.integrate.flows.study_flow import modes_of_layout
from symderiv.problem.flat_layout import pack_parameters, pack_state, sizes_of, split_flat
from symderiv.storage.kernels import load_kernel

Array = NDArray[np.float64]

OUTPUTS = 200


class CompiledSolver:
    """The problem of the baseline, packed as the generated modules want it."""

    def __init__(self, problem: ErfProblem) -> None:
        K, M, L = problem.sizes
        self.sizes = sizes_of(K, M, L)
        self._rhs = load_kernel("erf").right_hand_side_for(K, M)
        training = {"learning_rate": problem.learning_rate, "full_order": 1.0}
        self.parameters = pack_parameters(
            problem.eigenvalue,
            problem.weight,
            problem.teacher_overlap,
            problem.teacher_covariance,
            problem.v_teacher,
            training,
        )
        self.v = problem.v

    def solution(
        self,
        state: Array,
        end: float,
        rtol: float,
        *,
        kinds: tuple[str, ...] = ("explicit", "implicit"),
    ) -> tuple[Array, int]:
        """Return the overlaps at the last of 200 logarithmic times, and the evaluations used."""
        K, M, L = map(int, self.sizes)
        Q_k = state[: L * K * K].reshape(L, K, K)
        r_k = state[L * K * K :].reshape(L, K, M)
        start, asked = (
            pack_state(Q_k, r_k, self.v),
            np.geomspace(min(1e-2, end / 2), end, OUTPUTS),
        )
        modes = modes_of_layout(LAYOUT, self.sizes, self.parameters, start.size)
        problem = FlatProblem(self._rhs, start, self.sizes, self.parameters, asked, modes)
        result = integrate_flat(problem, StepLimits(rtol, 1e-14, 1e-6), kinds=kinds)
        if result.cause != "done":
            raise RuntimeError(f"integration ended early: {result.cause}")
        Q_k, r_k, _ = split_flat(result.results[-1], K, M, L)
        return np.concatenate([Q_k.ravel(), r_k.ravel()]), result.rhs_evaluations

    def scipy_solution(self, state: Array, end: float, rtol: float) -> Array:
        """The overlaps at the end by SciPy's DOP853 with the same compiled right-hand side."""
        from scipy.integrate import solve_ivp

        K, M, L = map(int, self.sizes)
        rhs = erf.specialised(K, M)
        Q_k = state[: L * K * K].reshape(L, K, K)
        r_k = state[L * K * K :].reshape(L, K, M)

        def slope(alpha: float, y: Array) -> Array:
            derivative = np.empty_like(y)
            rhs(alpha, y, self.sizes, self.parameters, derivative)
            return derivative

        y = pack_state(Q_k, r_k, self.v)
        result = solve_ivp(slope, (0.0, end), y, method="DOP853", rtol=rtol, atol=1e-14)
        return np.asarray(result.y[:, -1])
