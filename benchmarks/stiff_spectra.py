"""Power-law spectra: the steps that runs choose against explicit ones alone.

python -m benchmarks.stiff_spectra              K = M = 2, L = 10 to 10^4, learning rules with
                                                L = 100, and 1000 runs at random
python -m benchmarks.stiff_spectra --runs 100   so many runs at random

What is counted is evaluations of the right-hand side, beside computing times; steps keep a
twentieth of the tolerance, as those of a study. Explicit steps to the end would take minutes for
many eigenvalues: there they are made to an earlier time, and the rest is counted at the pace that
they have there, which stability sets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

import numpy as np

from benchmarks.numpy_baseline import power_law_problem
from benchmarks.symderiv_solver import CompiledSolver
from symderiv.api.problem import Problem
from symderiv.integrate.flows.flat_run import FlatProblem, StepLimits, integrate_flat
from symderiv.integrate.rules.solving import flow_of
from symderiv.problem.initial import initial
from symderiv.problem.input_models import PowerLaw

_END, _TOLERANCE, _PART = 1e4, 1e-8, 20.0
_FEWER, _OFF, _RUNS = 3.0, 10.0, 1000
_RULE_END = 1e3
_RULES: tuple[dict[str, object], ...] = (
    {"momentum": 0.5},
    {"momentum_rate": 2.0},
    {"weight_decay": 1e-3, "train_second_layer": True},
    {"train_biases": True, "bias_learning_rate": 0.5, "student_biases": 0.1},
    {"input_noise": 0.4},
    {"keep": 0.7},
    {"update_noise": 0.3},
    {"averaging_rate": 0.5, "consistency_weight": 0.5},
)
# L, the exponent, and up to which part of the end explicit steps are made
_SPECTRA = ((10, 1.0, 1.0), (10, 1.5, 1.0), (100, 1.0, 1.0), (1000, 1.5, 0.01), (10000, 1.5, 0.002))


def spectrum(L: int, exponent: float, part: float) -> tuple[float, float, str]:
    """Return how many times fewer evaluations, how much faster, and a line that says it."""
    problem, state = power_law_problem(2, 2, L, learning_rate=0.3, exponent=exponent)
    solver = CompiledSolver(problem)
    solver.solution(state, 1.0, _TOLERANCE)  # compiles or loads
    started = time.process_time()
    found, evaluations = solver.solution(state, _END, _TOLERANCE / _PART)
    seconds = time.process_time() - started
    started = time.process_time()
    plain, more = solver.solution(state, part * _END, _TOLERANCE / _PART, kinds=("explicit",))
    plain_seconds = time.process_time() - started
    if part == 1.0:
        said = f"differ by {_apart(found, plain):.0e}"
    else:
        _, half = solver.solution(state, 0.5 * part * _END, _TOLERANCE / _PART, kinds=("explicit",))
        left = 2.0 * (more - half) / part * (1.0 - part)
        plain_seconds *= (more + left) / more
        more += round(left)
        said = f"explicit ones counted from alpha <= {part * _END:g}"
    return (
        more / evaluations,
        plain_seconds / seconds,
        (
            f"L = {L:5}, exponent {exponent}: {more / evaluations:.1f}x fewer evaluations "
            f"({evaluations} against {more}), {plain_seconds / seconds:.1f}x faster "
            f"({seconds:.3f} s); {said}"
        ),
    )


def of_rule(keys: Mapping[str, object]) -> tuple[float, float, str]:
    """Return how far runs of a learning rule are off at any time, in the tolerance: with the steps
    that they choose, and with implicit ones; and a line that says it.
    """
    inputs = PowerLaw(100, exponent=1.0, dimension=1000)
    given = {"students": 2, "teachers": 2, "learning_rate": 0.3, "inputs": inputs, **keys}
    problem = Problem("erf", **given)
    start = initial(problem._study)
    flow = flow_of(problem._study, start)(start.state)
    rhs, begin = flow.kernel.right_hand_side_for(2, 2), flow.begin
    asked = np.geomspace(1e-2, _RULE_END, 200)
    modes = flow.modes(begin, flow.parameters)
    flat = FlatProblem(rhs, begin, flow.sizes, flow.parameters, asked, modes)
    exact, plain, chosen, implicit = (
        integrate_flat(flat, StepLimits(tolerance, 1e-14, 1e-6), kinds=kinds)
        for tolerance, kinds in (
            (1e-12, ("explicit",)),
            (_TOLERANCE / _PART, ("explicit",)),
            (_TOLERANCE / _PART, ("explicit", "implicit")),
            (_TOLERANCE / _PART, ("implicit",)),
        )
    )
    off, alone = (
        max(map(_apart, each.results, exact.results)) / _TOLERANCE for each in (chosen, implicit)
    )
    counts = [each.rhs_evaluations for each in (plain, chosen, implicit)]
    return (
        off,
        alone,
        (
            f"{', '.join(keys)}: {counts[0]} evaluations of explicit steps, {counts[1]} "
            f"({chosen.method}, off by {off:.2g} tolerances at most), {counts[2]} of implicit "
            f"ones alone (off by {alone:.2g})"
        ),
    )


def _apart(found: np.ndarray, other: np.ndarray) -> float:
    return float(np.max(np.abs(found - other)) / np.max(np.abs(other)))


def worst_of(runs: int) -> tuple[float, int, int]:
    """Return the largest error at the end of runs drawn at random, in the tolerance, how many of
    them are beyond what is allowed, and how many explicit steps cannot follow to the end.
    """
    worst, beyond, left = 0.0, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([5, seed])
        K, M = (int(each) for each in rng.integers(1, 4, 2))
        L, end = int(rng.integers(5, 41)), float(10.0 ** rng.uniform(2.5, 4.0))
        problem, state = power_law_problem(
            K,
            M,
            L,
            learning_rate=float(rng.uniform(0.05, 1.0)),
            exponent=float(rng.uniform(0.25, 1.5)),
            seed=seed,
        )
        solver = CompiledSolver(problem)
        try:
            exact, _ = solver.solution(state, end, 2e-13, kinds=("explicit",))
        except RuntimeError as error:
            if "cone-left" not in str(error):
                raise
            left += 1
            continue
        found, _ = solver.solution(state, end, _TOLERANCE / _PART, kinds=("implicit",))
        off = _apart(found, exact) / _TOLERANCE
        worst, beyond = max(worst, off), beyond + (off > _OFF)
    return worst, beyond, left


def rows() -> list[tuple[str, str, str, bool]]:
    """For ``python -m benchmarks``."""
    found = []
    for L, exponent, part in _SPECTRA[:3]:
        fewer, _, line = spectrum(L, exponent, part)
        what = f"evaluations against explicit steps, power law, tolerance {_TOLERANCE:.0e}"
        found.append((what, line, f">= {_FEWER:g}x", fewer >= _FEWER))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.stiff_spectra", description=__doc__)
    parser.add_argument("--runs", type=int, default=_RUNS)
    options = parser.parse_args()
    met = True
    for given in _SPECTRA:
        fewer, _, line = spectrum(*given)
        met &= fewer >= _FEWER
        print(line, flush=True)
    for keys in _RULES:
        off, alone, line = of_rule(keys)
        met &= max(off, alone) <= _OFF
        print(line, flush=True)
    worst, beyond, left = worst_of(options.runs)
    print(
        f"{options.runs} runs of implicit steps: off by {worst:.2g} tolerances at the end at most, "
        f"{beyond} by more than {_OFF:g}; {left} not compared, whose explicit steps leave the cone"
    )
    return not (met and beyond == 0)


if __name__ == "__main__":
    sys.exit(main())
