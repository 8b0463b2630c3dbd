"""Time of a step of a statement against a loop written for it, and against what a core can.

The loop is the one that plain learning was simulated with before statements were, on NumPy's normal
numbers. The limit is what no simulation on vectors does without: N normal numbers of the same
generator, drawn as statements draw them, the inner products with all vectors, and the sums that
move the students. Times are CPU seconds of one thread, taken in
turn; the smallest of many, as another process only ever adds to them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit, types

import symderiv as sd
from symderiv.compiled_code.compiled import MATRIX, VECTOR
from symderiv.experiment.steps.step_chain import MarkovChain, space_of
from symderiv.experiment.steps.step_form import program_of
from symderiv.experiment.steps.step_normals import draw_normals

_FREE = {"reassoc", "contract"}


@njit(types.void(MATRIX, MATRIX, MATRIX, VECTOR, types.float64), fastmath=_FREE)
def plain_erf(
    J: np.ndarray, B: np.ndarray, z: np.ndarray, variance: np.ndarray, rate: float
) -> None:
    """Learn examples z by sums of erf units with output weights 1/√M."""
    K, N = J.shape
    M = B.shape[0]
    root, weight = math.sqrt(N), 1 / math.sqrt(M)
    slope = np.empty(K)
    for e in range(z.shape[0]):
        delta = 0.0
        for n in range(M):
            field = 0.0
            for a in range(N):
                field += B[n, a] * z[e, a]
            delta -= weight * math.erf(field / root / math.sqrt(2.0))
        for i in range(K):
            field = 0.0
            for a in range(N):
                field += J[i, a] * z[e, a]
            field /= root
            slope[i] = math.sqrt(2 / math.pi) * math.exp(-0.5 * field * field)
            delta += weight * math.erf(field / math.sqrt(2.0))
        for i in range(K):
            change = rate / root * weight * slope[i] * delta
            for a in range(N):
                J[i, a] -= change * variance[a] * z[e, a]


@njit(types.void(MATRIX, MATRIX, MATRIX, VECTOR), fastmath=_FREE)
def multiply_adds(J: np.ndarray, B: np.ndarray, z: np.ndarray, fields: np.ndarray) -> None:
    """Make the inner products and sums of steps, with coefficients that need no functions."""
    K, N = J.shape
    M = B.shape[0]
    for e in range(z.shape[0]):
        for n in range(M):
            total = 0.0
            for a in range(N):
                total += B[n, a] * z[e, a]
            fields[K + n] = total
        for i in range(K):
            total = 0.0
            for a in range(N):
                total += J[i, a] * z[e, a]
            fields[i] = total
        for i in range(K):
            change = 1e-9 * fields[i]
            for a in range(N):
                J[i, a] -= change * z[e, a]


def seconds(works: dict[str, Callable[[], int]], repeats: int = 40) -> dict[str, float]:
    """Return the smallest CPU time of a step of each; a work returns how many it made."""
    best = dict.fromkeys(works, math.inf)
    for _ in range(repeats):
        for name, work in works.items():
            work()  # after another work the caches are those of the other
            begin = time.thread_time()
            made = sum(work() for _ in range(4))
            best[name] = min(best[name], (time.thread_time() - begin) / made)
    return best


def step_times(N: int = 1024, K: int = 2, M: int = 2) -> dict[str, float]:
    """Return seconds of a step: of the statement, of the loop written for it, of the limit."""
    P = sd.System()
    x, J, B = P.inputs("x"), P.vectors("J", K), P.vectors("B", M, fixed=True)
    g = sd.activation("erf")
    gap = (g(J @ x).sum() - g(B @ x).sum()) / math.sqrt(M)
    P.descend(gap**2 / 2, {J: P.parameter("eta", 0.5)})
    program = program_of(P.statement)
    random = np.random.Generator(np.random.SFC64(1))
    vectors = random.standard_normal((K + M, N))
    space = replace(space_of(program, np.array([N])), together=0)
    start = vectors, np.zeros(0)
    chain = MarkovChain(program, space, start, np.zeros((0, 0)), {"eta": 0.5}, (1,), 10**9)
    # one room for the inputs of all, so that none finds it colder than another
    own = [vectors[:K].copy(), vectors[K:].copy(), chain._inputs]
    fields = np.zeros(K + M)

    def stated() -> int:
        chain.draw()
        chain.learn(0, chain.block)
        return chain.block

    def drawn(
        draw: Callable[[np.ndarray], Any], work: Callable[..., None], *more: Any
    ) -> Callable[[], int]:
        def made() -> int:
            draw(own[2])
            work(*own, *more)
            return chain.block

        return made

    return seconds(
        {
            "statement": stated,
            "written": drawn(
                lambda out: random.standard_normal(out=out), plain_erf, np.ones(N), 0.5
            ),
            "limit": drawn(lambda out: draw_normals(random, out), multiply_adds, fields),
        }
    )


def rows() -> list[tuple[str, str, str, bool]]:
    """For ``python -m benchmarks``: the statement's step against drawing its normal numbers."""
    N = 1024
    random = np.random.Generator(np.random.SFC64(1))
    numbers = np.empty((64, N))

    def drawn() -> int:
        draw_normals(random, numbers)
        return numbers.shape[0]

    drawing, step = seconds({"drawn": drawn})["drawn"], step_times(N)["statement"]
    return [
        (
            f"step of SGD, erf, K = M = 2, N = {N}, against drawing its normal numbers",
            f"{step / drawing:.2f}x ({1e6 * step:.2f} / {1e6 * drawing:.2f} µs)",
            "<= 2x",
            step <= 2 * drawing,
        )
    ]
