"""Ensembles of several rules against a loop of compiled single runs.

python -m benchmarks.lane_rows              512 runs of each rule; a loop over every eighth of them
python -m benchmarks.lane_rows --runs 1024 relu tanh

K = M = 2, isotropic inputs, drawn starts in 1000 dimensions, η spread over 0.1 to 1.5; to α = 20
with 20 outputs at a tolerance of 1e-6. Both get the starts ready made; compiling is not counted.
The gain of lanes is that of CPU seconds on one thread, and does not depend on how busy the machine
is; that of threads is one of wall time. "Two cores" is twice the gain of lanes, and should be 4.
The difference is the largest of the generalisation error, of the runs of the loop.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import symderiv as sd
from symderiv.integrate.ensemble import Chunk, integrate_chunk
from symderiv.integrate.rules.solving import flow_of, solver_module
from symderiv.problem.initial import initial

RULES: dict[str, dict[str, Any]] = {
    "erf": {"activation": "erf"},
    "relu": {"activation": "relu"},
    "gelu": {"activation": "gelu"},
    "tanh": {"activation": "tanh"},
    "erf-biases": {
        "activation": "erf",
        "student_biases": 0.1,
        "teacher_biases": 0.2,
        "train_biases": True,
    },
    "erf-momentum": {"activation": "erf", "momentum": 0.5},
    "erf-tasks": {
        "activation": "erf",
        "tasks": [{"teachers": [0], "until": 7.0}, {"teachers": [1]}],
    },
}
TOLERANCE, GOAL, REPEATS = 1e-6, 4.0, 3


def least(task: Callable[[], Any]) -> tuple[float, float, Any]:
    """The least CPU and wall seconds of a task, and what it gives."""
    cpu, wall, found = np.inf, np.inf, None
    for _ in range(REPEATS):
        began, begun = time.process_time(), time.perf_counter()
        found = task()
        cpu = min(cpu, time.process_time() - began)
        wall = min(wall, time.perf_counter() - begun)
    return cpu, wall, found


def row(name: str, runs: int, threads: int) -> bool:
    """Print the row of a rule; whether it reaches the goal on two cores."""
    rule = dict(RULES[name])
    time_table = {"end": 20.0, "points": 20, "relative_tolerance": TOLERANCE}
    problem = sd.Problem(
        rule.pop("activation"),
        students=2,
        teachers=2,
        learning_rate=1.0,
        inputs=sd.Isotropic(1000),
        time=time_table,
        **rule,
    )
    rates = np.random.default_rng(1).permutation(np.linspace(0.1, 1.5, runs))
    studies = [
        problem.replace(learning_rate=float(rate), seed=seed)._study
        for seed, rate in enumerate(rates)
    ]
    kernel, starts = solver_module(studies[0]), [initial(study) for study in studies]
    flows = [
        flow_of(study, start, kernel=kernel)(start.state)
        for study, start in zip(studies[::8], starts[::8], strict=True)
    ]

    def many(count: int) -> Chunk:
        return integrate_chunk(studies, starts=starts, threads=count)

    def loop() -> list[Any]:
        return [flow.run(TOLERANCE / 10, 10**8, None) for flow in flows]

    for flow in flows:
        _ = flow.begin, flow.parameters
    many(1)
    loop()
    one, _, single = least(loop)
    one /= len(flows)
    lanes, alone, found = least(lambda: many(1))
    _, together, _ = least(lambda: many(threads))
    errors = [flow.errors(run) for flow, run in zip(flows, single, strict=True)]
    difference = float(np.nanmax(np.abs(found.generalization_error[::8] - np.array(errors))))
    gain, by_threads = one * runs / lanes, alone / together
    print(
        f"{name:14}{one * 1e3:9.3f}{lanes / runs * 1e3:9.3f}{gain:8.1f}{by_threads:9.1f}"
        f"{2.0 * gain:11.1f}{difference:11.1e}",
        flush=True,
    )
    return 2.0 * gain >= GOAL


def main() -> int:
    """Print the table; 1 if two quiet cores would miss the goal for a rule."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rules", nargs="*", default=list(RULES), metavar="RULE")
    parser.add_argument("--runs", type=int, default=512, help="256 or more")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    print(f"{asked.runs} runs of each; CPU ms of one run, and gains")
    print(
        f"{'':14}{'single':>9}{'lanes':>9}{'lanes':>8}{'threads':>9}{'two cores':>11}{'differ':>11}"
    )
    kept = [row(name, asked.runs, asked.threads) for name in asked.rules]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
