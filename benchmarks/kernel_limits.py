"""The right-hand side at K = M = 4, L = 512 against NumPy with BLAS and against the machine.

python -m benchmarks.kernel_limits
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from symderiv_kernels.fast import erf

from benchmarks.numpy_baseline import ErfProblem, FastBaseline, power_law_problem
from symderiv.foundation.packing import Packing
from symderiv.problem.flat_layout import pack_parameters, pack_state, sizes_of

Array = NDArray[np.float64]

K, M, L = 4, 4, 512


def aligned(size: int) -> Array:
    """Zeros whose first element begins a line of the cache, as vector instructions like it."""
    room = np.zeros(size + 8)
    start = (-room.ctypes.data // 8) % 8
    return room[start : start + size]


@njit(error_model="numpy", fastmath={"reassoc", "contract"})
def _repeat(rhs, count, y, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
    for _ in range(count):
        rhs(0.0, y, sizes, parameters, derivative)


@njit(error_model="numpy", fastmath={"contract"})
def _triad(count, x, y, out):  # type: ignore[no-untyped-def]
    for _ in range(count):
        for k in range(out.size):
            out[k] = x[k] + 0.5 * y[k]


@njit(error_model="numpy", fastmath={"contract"})
def _multiply_add(count, x):  # type: ignore[no-untyped-def]
    # sixteen independent chains of vectors of eight keep both units of a core busy
    for _ in range(count):
        for k in range(128):
            x[k] = x[k] * 0.999 + 0.001


def seconds_per_call(calls: int, task: Callable[[int], Any], repeats: int = 40) -> float:
    """CPU seconds of one of ``calls`` calls made together; the least of the repeats."""
    task(2)
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        task(calls)
        best = min(best, time.process_time() - begin)
    return float(best) / calls


@dataclass(frozen=True)
class KernelTimes:
    """Seconds of one right-hand side and of the machine's limits for its loop over modes."""

    ours: float
    ours_full: float
    numpy: float
    numpy_full: float
    units_only: float
    bandwidth: float
    flops: float
    limit_bandwidth: float
    limit_flops: float

    @property
    def streaming(self) -> float:
        """What the modes add to a right-hand side of a single mode."""
        return self.ours - self.units_only

    @property
    def limit(self) -> float:
        return max(self.limit_bandwidth, self.limit_flops)


def compiled_call(problem: ErfProblem, state: Array, full: bool) -> Callable[[int], Any]:
    """The generated module's right-hand side on a baseline's problem, called so many times."""
    units, teachers, modes = problem.sizes
    y, parameters, derivative = compiled_arguments(problem, state, full)
    sizes = sizes_of(units, teachers, modes)
    return calls_of(erf.specialised(units, teachers), y, sizes, parameters, derivative)


def calls_of(rhs: Any, *arguments: Array) -> Callable[[int], Any]:
    """A compiled right-hand side, called so many times on its vectors."""
    from symderiv.compiled_code.for_numba import for_numba

    compiled = for_numba(rhs)
    return lambda count: _repeat(compiled, count, *arguments)


def packed(layout: Any, K: int, M: int, known: Mapping[str, Any]) -> tuple[Array, ...]:
    """State, sizes, parameters and room for the derivative of a generated module at L = 1.

    Fields that are not known are 0.
    """
    vectors = []
    for vector in ("state", "parameters"):
        packing = Packing.of(layout, vector, K=K, M=M, L=1)
        vectors.append(np.zeros(packing.size))
        for name, view in packing.views(vectors[-1]).items():
            view[...] = known.get(name, 0.0)
    state, parameters = vectors
    return state, np.array([K, M, 1]), parameters, np.zeros_like(state)


def compiled_arguments(problem: ErfProblem, state: Array, full: bool) -> tuple[Array, Array, Array]:
    """State, parameters and room for the derivative, in the layout of the generated modules."""
    units, teachers, modes = problem.sizes
    Q_k = state[: modes * units * units].reshape(modes, units, units)
    r_k = state[modes * units * units :].reshape(modes, units, teachers)
    packed = pack_state(Q_k, r_k, problem.v)
    y = aligned(packed.size)
    y[:] = packed
    rates = {"learning_rate": problem.learning_rate, "full_order": float(full)}
    constants = pack_parameters(
        problem.eigenvalue,
        problem.weight,
        problem.teacher_overlap,
        problem.teacher_covariance,
        problem.v_teacher,
        rates,
    )
    parameters = aligned(constants.size)
    parameters[:] = constants
    return y, parameters, aligned(packed.size)


def kernel_times() -> KernelTimes:
    """Measure everything in turn, in one process."""
    problem, state = power_law_problem(K, M, L, learning_rate=0.3)
    single, single_state = power_law_problem(K, M, 1, learning_rate=0.3)
    y, _, derivative = compiled_arguments(problem, state, True)
    baseline = FastBaseline(problem)

    def numpy_call(full: bool) -> Callable[[int], Any]:
        def run(count: int) -> None:
            for _ in range(count):
                baseline.right_hand_side(y, derivative, full)

        return run

    # what the loop over modes must move: the state twice (for Q and R first), the teacher's part,
    # the derivative
    moved = 8 * L * (3 * K * (K + M) + M * M + 4)
    # and multiply and add: A Q_k, B r_k, A r_k, B t_k, and the sums Q, R
    products = L * (K * K * (K + M) + K * M * (K + M) + K * (K + 1) // 2 * 2 + 2 * K * M)
    size = moved // 24
    x, z, out = aligned(size), aligned(size), aligned(size)
    bandwidth = 24 * size / seconds_per_call(50, lambda n: _triad(n, x, z, out))
    chains = aligned(128)
    flops = 128 / seconds_per_call(20000, lambda n: _multiply_add(n, chains))
    return KernelTimes(
        ours=seconds_per_call(50, compiled_call(problem, state, False)),
        ours_full=seconds_per_call(50, compiled_call(problem, state, True)),
        numpy=seconds_per_call(10, numpy_call(False)),
        numpy_full=seconds_per_call(10, numpy_call(True)),
        units_only=seconds_per_call(500, compiled_call(single, single_state, False)),
        bandwidth=bandwidth,
        flops=flops,
        limit_bandwidth=moved / bandwidth,
        limit_flops=products / flops,
    )


def many_units(units: int) -> tuple[float, float]:
    """Seconds of the right-hand side of order eta with many units: NumPy with BLAS, and ours."""
    problem, state = power_law_problem(units, units, L, learning_rate=0.3)
    y, _, derivative = compiled_arguments(problem, state, False)
    baseline = FastBaseline(problem)

    def products(count: int) -> None:
        for _ in range(count):
            baseline.right_hand_side(y, derivative, False)

    return (
        seconds_per_call(5, products, 20),
        seconds_per_call(5, compiled_call(problem, state, False), 20),
    )


def lines() -> list[tuple[str, str, str, bool]]:
    """Rows of the table of numbers: what, measured, must be, met."""
    many = []
    for units in (8, 16):
        products, ours = many_units(units)
        many.append(
            (
                f"right-hand side K=M={units}, L=512 against matrix products of BLAS, order eta",
                f"{products / ours:.1f}x ({1e6 * products:.0f} us / {1e6 * ours:.0f} us)",
                ">= 1x",
                products >= ours,
            )
        )
    t = kernel_times()
    small, full = t.numpy / t.ours, t.numpy_full / t.ours_full
    what = "right-hand side K=M=4, L=512 against NumPy with BLAS"
    micro = [1e6 * seconds for seconds in (t.numpy, t.ours, t.numpy_full, t.ours_full)]
    return [
        (
            f"{what}, order eta",
            f"{small:.1f}x ({micro[0]:.1f} us / {micro[1]:.1f} us)",
            ">= 8x",
            small >= 8,
        ),
        (
            f"{what}, with eta^2",
            f"{full:.1f}x ({micro[2]:.1f} us / {micro[3]:.1f} us)",
            ">= 15x",
            full >= 15,
        ),
        (
            "its loop over modes against the machine",
            f"{t.streaming / t.limit:.1f}x ({1e6 * t.streaming:.1f} us; limits "
            f"{1e6 * t.limit_bandwidth:.1f} us at {t.bandwidth / 1e9:.0f} GB/s, "
            f"{1e6 * t.limit_flops:.1f} us at {t.flops / 1e9:.0f} G multiply-adds/s)",
            "<= 2x",
            t.streaming <= 2 * t.limit,
        ),
        *many,
    ]


if __name__ == "__main__":
    for row in lines():
        print(*row, sep=" | ")
