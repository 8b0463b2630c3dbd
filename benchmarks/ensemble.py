"""Many runs at a time: lanes against the compiled scalar loop and against heyoka's batches.

python -m benchmarks.ensemble               10 000 runs, about three CPU minutes
python -m benchmarks.ensemble --runs 1000   fewer

K = M = 2, isotropic inputs, erf, with the terms of order η²; drawn starts in 1000 dimensions, η
spread evenly over 0.1 to 2; to α = 1000, 50 logarithmic outputs, on all processors. All get the
starts ready made and give the states at the outputs; compiling is not counted. Each is timed three
times in turn; the least wall time counts, CPU seconds of all threads are those of the same time.

The tolerance is what is asked for; our steps keep a tenth of it, those one by one too. The error is
the largest of any order parameter at any output, relative to the largest of the same kind there,
against lanes at 1e-12, over every tenth run. "lanes, finer" has the tolerance at which its worst
run, too, is right to 1e-8, as heyoka's is.

heyoka (optional; it is not used by symderiv) gets the equations of Saad and Solla (1995), written
out by hand for K = M = 2 in seven variables; that they are ours is checked by the states.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

import symderiv as sd
from symderiv.integrate.ensemble.lane_pieces import step_tolerance
from symderiv.integrate.ensemble.lane_run import run_in_lanes
from symderiv.integrate.flows.study_flow import Flow
from symderiv.problem.flat_layout import split_flat
from symderiv.problem.initial import initial
from symderiv.storage.study_kernel import kernel_for

END, POINTS = 1000.0, 50
TOLERANCE, FINER = 1e-8, 1e-9
LARGEST_ERROR = 1e-8
MUST_BE = {"scalar": ("lanes", 4.0), "heyoka": ("lanes, finer", 2.0)}
"""What is to be slower than what, and how many times."""


def flows(runs: int) -> list[Flow]:
    """The flows of all runs, learning rates in an order that says nothing."""
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        learning_rate=1.0,
        inputs=sd.Isotropic(1000),
        time={"end": END, "points": POINTS, "relative_tolerance": TOLERANCE},
    )
    rates = np.random.default_rng(1).permutation(np.linspace(0.1, 2.0, runs))
    studies = [
        problem.replace(learning_rate=float(rate), seed=seed)._study
        for seed, rate in enumerate(rates)
    ]
    kernel = kernel_for(studies[0])
    return [Flow(study, kernel, initial(study).state) for study in studies]


def at_tolerance(given: Sequence[Flow], tolerance: float) -> list[Flow]:
    """The same flows at another tolerance."""
    return [
        Flow(flow.study.changed({"time.relative_tolerance": tolerance}), flow.kernel, flow.state)
        for flow in given
    ]


def order_parameters(states: np.ndarray) -> np.ndarray:
    """Q_11, Q_12, Q_22, then R row by row, of flat states (…, 10)."""
    Q, R, _ = split_flat(states, 2, 2, 1)
    Q, R = Q[..., 0, :, :], R[..., 0, :, :]
    found: np.ndarray = np.concatenate(
        [Q[..., [0, 0, 1], [0, 1, 1]], R.reshape((*R.shape[:-2], 4))], axis=-1
    )
    return found


def in_lanes(given: Sequence[Flow], threads: int) -> np.ndarray:
    """All runs in lanes; order parameters, shape (n, A, 7)."""
    tolerances = [step_tolerance(flow, False) for flow in given]
    return order_parameters(run_in_lanes(given, threads=threads, tolerances=tolerances).states)


def one_by_one(
    given: Sequence[Flow], threads: int, tolerance: float = TOLERANCE / 10
) -> np.ndarray:
    """All runs by the scalar stepper, a share of them on each thread."""
    found = np.empty((len(given), POINTS, 10))

    def work(first: int) -> None:
        for number in range(first, len(given), threads):
            found[number] = given[number].run(tolerance, 10**8, None).results

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    return order_parameters(found)


def rates_of(hy: ModuleType, Q: Any, R: Any, T: Any, eta: Any, v: float) -> tuple[Any, Any]:
    """dQ/dα and dR/dα of Saad and Solla for K = M = 2 with all output weights v, symbolically."""
    fields = [("x", 0), ("x", 1), ("y", 0), ("y", 1)]

    def C(a: tuple[str, int], b: tuple[str, int]) -> Any:
        if a[0] == "y" and b[0] == "y":
            return T[a[1]][b[1]]
        if a[0] == "y":
            return R[b[1]][a[1]]
        return R[a[1]][b[1]] if b[0] == "y" else Q[a[1]][b[1]]

    def i3(a: Any, b: Any, c: Any) -> Any:
        one = 1.0 + C(a, a)
        determinant = one * (1.0 + C(c, c)) - C(a, c) * C(a, c)
        return (2.0 / np.pi) * (C(b, c) * one - C(a, b) * C(a, c)) / (one * hy.sqrt(determinant))

    def i4(a: Any, b: Any, c: Any, d: Any) -> Any:
        one, two = 1.0 + C(a, a), 1.0 + C(b, b)
        L4 = one * two - C(a, b) * C(a, b)

        def minor(c: Any, d: Any, own: float) -> Any:
            cross = C(a, b) * (C(a, c) * C(b, d) + C(a, d) * C(b, c))
            return L4 * (own + C(c, d)) - C(b, c) * C(b, d) * one - C(a, c) * C(a, d) * two + cross

        ratio = minor(c, d, 0.0) / hy.sqrt(minor(c, c, 1.0) * minor(d, d, 1.0))
        return (4.0 / np.pi**2) * hy.asin(ratio) / hy.sqrt(L4)

    def sign(field: tuple[str, int]) -> float:
        return -v if field[0] == "x" else v

    def force(i: int, other: tuple[str, int]) -> Any:
        return v * sum(sign(field) * i3(("x", i), other, field) for field in fields)

    def noise(i: int, k: int) -> Any:
        total = 0.0
        for n, first in enumerate(fields):
            for m, second in enumerate(fields[: n + 1]):
                share = (1.0 if n == m else 2.0) * sign(first) * sign(second)
                total = total + share * i4(("x", i), ("x", k), first, second)
        return v * v * total

    dR = [[eta * force(i, ("y", n)) for n in range(2)] for i in range(2)]
    dQ = [
        [
            eta * (force(i, ("x", k)) + force(k, ("x", i))) + eta * eta * noise(i, k)
            for k in range(2)
        ]
        for i in range(2)
    ]
    return dQ, dR


def by_heyoka(hy: ModuleType, given: Sequence[Flow]) -> Callable[[int], np.ndarray]:
    """All runs by heyoka's batched ensembles: compiled here, integrated by what is returned."""
    names = ("Q11", "Q12", "Q22", "R11", "R12", "R21", "R22")
    Q11, Q12, Q22, R11, R12, R21, R22 = variables = hy.make_vars(*names)
    Q, R = [[Q11, Q12], [Q12, Q22]], [[R11, R12], [R21, R22]]
    T = [[hy.par[1], hy.par[2]], [hy.par[2], hy.par[3]]]
    dQ, dR = rates_of(hy, Q, R, T, hy.par[0], float(given[0].state.student_weights[0]))
    slopes = [dQ[0][0], dQ[0][1], dQ[1][1], *(dR[i][n] for i, n in product(range(2), range(2)))]
    width = hy.recommended_simd_size()
    begins = order_parameters(np.array([flow.begin for flow in given])).T
    constants = np.array(
        [[flow.study.training.learning_rate, *flow.state.T[[0, 0, 1], [0, 1, 1]]] for flow in given]
    ).T
    stepper = hy.taylor_adaptive_batch(
        list(zip(variables, slopes, strict=True)),
        np.ascontiguousarray(begins[:, :width]),
        pars=np.ascontiguousarray(constants[:, :width]),
        tol=TOLERANCE,
    )
    grid = given[0].study.alpha

    def start(each: Any, number: int) -> Any:
        part = slice(number * width, (number + 1) * width)
        each.state[:] = begins[:, part]
        each.pars[:] = constants[:, part]
        each.set_time(0.0)
        return each

    def integrate(threads: int) -> np.ndarray:
        found = hy.ensemble_propagate_grid_batch(
            stepper, grid, len(given) // width, start, algorithm="thread", max_workers=threads
        )
        # (batches, A, 7, width) to (n, A, 7)
        states = np.array([each[-1] for each in found])
        return np.moveaxis(states, 3, 1).reshape((len(given), POINTS, 7))

    return integrate


def timed(task: Callable[[], np.ndarray]) -> tuple[np.ndarray, float, float]:
    """What a task gives, its wall time and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = task()
    return found, time.perf_counter() - wall, time.process_time() - cpu


def largest_error(found: np.ndarray, exact: np.ndarray) -> float:
    """Over all runs and outputs, relative to the largest of the same kind at the output."""
    worst = 0.0
    for kind in (slice(0, 3), slice(3, 7)):
        size = np.abs(exact[..., kind]).max(axis=-1, keepdims=True)
        worst = max(worst, float(np.max(np.abs(found[..., kind] - exact[..., kind]) / size)))
    return worst


def main() -> int:
    """Print the table; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000, help="a multiple of eight")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--without-heyoka", action="store_true")
    asked = parser.parse_args()
    threads = asked.threads
    given = flows(asked.runs - asked.runs % 8)
    finer = at_tolerance(given, FINER)
    for flow in (*given, *finer):
        _ = flow.begin, flow.parameters
    tasks: dict[str, Callable[[], np.ndarray]] = {
        "lanes": lambda: in_lanes(given, threads),
        "lanes, finer": lambda: in_lanes(finer, threads),
        "scalar": lambda: one_by_one(given, threads),
    }
    in_lanes(given[:8], 1)
    one_by_one(given[:2], 1)
    if not asked.without_heyoka:
        try:
            import heyoka as hy
        except ImportError:
            print("heyoka is not installed: pip install heyoka", file=sys.stderr)
        else:
            begun = time.perf_counter()
            integrate = by_heyoka(hy, given)
            print(f"heyoka compiled in {time.perf_counter() - begun:.1f} s", file=sys.stderr)
            tasks["heyoka"] = lambda: integrate(threads)
    least: dict[str, tuple[float, float]] = {}
    states: dict[str, np.ndarray] = {}
    for _ in range(3):
        for name, task in tasks.items():
            states[name], wall, cpu = timed(task)
            if name not in least or wall < least[name][0]:
                least[name] = wall, cpu
    exact = in_lanes(at_tolerance(given[::10], 1e-12), threads)
    print(f"{len(given)} runs on {threads} threads")
    print(f"{'':14}{'tolerance':>10}{'wall s':>9}{'CPU s':>9}{'µs/run':>9}{'error':>10}")
    missed = False
    for name, (wall, cpu) in least.items():
        error = largest_error(states[name][::10], exact)
        tolerance = FINER if name == "lanes, finer" else TOLERANCE
        line = f"{name:14}{tolerance:10.0e}{wall:9.3f}{cpu:9.3f}{wall / len(given) * 1e6:9.1f}"
        if name in MUST_BE:
            faster, most = MUST_BE[name]
            ratio, of_cpu = wall / least[faster][0], cpu / least[faster][1]
            line += f"{error:10.1e}  {ratio:.1f} × {faster} ({of_cpu:.1f} × CPU; at least {most:g})"
            missed |= ratio < most
        else:
            line += f"{error:10.1e}"
        missed |= name in ("lanes, finer", "heyoka") and error > LARGEST_ERROR
        print(line)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
