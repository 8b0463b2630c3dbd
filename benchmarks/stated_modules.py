"""``make stated-modules``: modules read off from statements against those of the rules.

For every rule whose means have closed forms: the largest difference of the right-hand sides on
inputs of three eigenvalues, and the time of one evaluation as a ratio (minimum of repeats, both
modules in turn).
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import symderiv as sd
from symderiv.dynamics.rules.solving import flow_of
from symderiv.dynamics.rules.stated_run import stated_flow
from symderiv.dynamics.stepping.study_flow import Flow
from symderiv.dynamics.storage.study_kernel import kernel_for
from symderiv.dynamics.studies.initial import initial

INPUTS = sd.Spectrum([2.0, 1.0, 0.3], weights=[0.2, 0.5, 0.3], dimension=600)
BIASES = {"student_biases": 0.2, "teacher_biases": -0.4}
RULES: dict[str, dict[str, Any]] = {
    "plain, K = M = 2": {"students": 2, "teachers": 2},
    "plain, K = 3, M = 2": {},
    "plain, K = M = 4": {"students": 4, "teachers": 4},
    "plain, K = M = 8": {"students": 8, "teachers": 8},
    "both layers, decays, label noise": {
        "weight_decay": 0.1,
        "label_noise": 0.3,
        "train_second_layer": True,
        "second_layer_weight_decay": 0.2,
    },
    "flips": {"label_flip": 0.2, "label_noise": 0.5},
    "dropout": {"keep": 0.7, "label_flip": 0.1},
    "noisy inputs and updates": {"input_noise": 0.4, "update_noise": 0.3},
    "biases": BIASES,
    "trained biases": {**BIASES, "train_biases": True, "bias_learning_rate": 0.3},
    "velocities": {"momentum_rate": 0.5},
    "polynomial": {"activation": "x + x**3/3"},
}
LARGEST, NUMBER, REPEATS = 1e-13, 1000, 7


def main() -> int:
    """Print a row for every rule; return 1 if modules differ."""
    print(f"{'rule':<36}{'difference':>12}{'time':>8}{'cold':>8}  (of today's; CPU s)")
    failed = False
    for name, given in RULES.items():
        apart, ratio, cold = _row(**given)
        failed |= not apart <= LARGEST
        print(f"{name:<36}{apart:>12.1e}{ratio:>8.2f}{cold:>8.1f}", flush=True)
    return int(failed)


def _row(activation: str = "erf", **given: Any) -> tuple[float, float, float]:
    fixed = {"students": 3, "teachers": 2, "learning_rate": 0.5, "seed": 1, "student_std": 0.8}
    time_ = {"end": 10.0}
    problem = sd.Problem(activation, **{**fixed, "inputs": INPUTS, "time": time_, **given})
    study = problem._study
    start = initial(study)
    if study.rule_keys:
        today = flow_of(study, start)(start.state)
    else:
        today = Flow(study, kernel_for(study), start.state)
    begun = time.process_time()
    stated = stated_flow(study, start.state)
    calls = [_call(flow) for flow in (stated, today)]
    slopes = [call() for call in calls]
    cold = time.process_time() - begun
    # overlaps of velocities stand transposed in the two
    size = start.state.flat().size if "momentum_rate" in given else min(s.size for s in slopes)
    apart = float(np.max(np.abs(slopes[0][:size] - slopes[1][:size])))
    times: list[list[float]] = [[], []]
    for _ in range(REPEATS):
        for call, found in zip(calls, times, strict=True):
            found.append(timeit.timeit(call, number=NUMBER))
    return apart, min(times[0]) / min(times[1]), cold


def _call(flow: Flow) -> Callable[[], np.ndarray]:
    """Return the right-hand side at the start, fields in the order of the flow."""
    rates = flow.kernel.right_hand_side_for(flow.state.K, flow.state.M)
    begin, sizes, parameters = flow.begin, flow.sizes, flow.parameters
    slope = np.empty_like(begin)

    def call() -> np.ndarray:
        rates(0.0, begin, sizes, parameters, slope)
        return slope

    return call


if __name__ == "__main__":
    sys.exit(main())
