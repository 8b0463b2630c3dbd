"""Keys of rules, what becomes of some of them together, and which there are."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import symderiv as sd
from symderiv.checking.checked_module import GeneratedError
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.keys.study_tables import STATED_KEYS

DIMENSION = 1000
"""Of inputs, where runs are compared with equations."""
TIMES = [0.1, 0.2, 0.4, 0.8]
"""Examples over dimension, where they are compared."""
MOST_GROWTH = 10.0
"""Of overlaps since the start; beyond, what N leaves out grows as fast as they do."""
MOST_SECONDS = 2.0
"""Of CPU time, to state a problem or to refuse it."""

TASKS = [{"until": 0.01, "teachers": [0]}, {"teachers": [1]}]
OTHER_INPUTS = [
    {"until": 0.01, "teachers": [0, 1], "head": "shared", "data": {"model": "isotropic"}},
    {"teachers": [0, 1], "head": "shared"},
]
MIXED = [
    {"until": 0.01, "teachers": [0]},
    {"until": 0.01, "teachers": [1]},
    {"mixture": {"0": 0.3, "1": 0.7}},
]
CLASSES = sd.GaussianMixture(
    eigenvalues=[[1.0, 2.0], [2.0, 1.0]], probabilities=[0.4, 0.6], dimension=40
)

FEATURES: dict[str, dict[str, Any]] = {
    "logistic": {"loss": "logistic"},
    "exponential": {"loss": "exponential"},
    "hinge": {"loss": "hinge"},
    "huber": {"loss": "huber"},
    "quartic": {"loss": "(s-t)**4/4"},
    "bilinear": {"loss": "-s*t"},
    "signs": {"target": "sign"},
    "flips": {"label_flip": 0.2},
    "label noise": {"label_noise": 0.3},
    "dropout": {"keep": 0.7},
    "dropout, judged": {"keep": 0.7, "evaluation_scale": 0.9},
    "input noise": {"input_noise": 0.4},
    "update noise": {"update_noise": 0.3},
    "batch": {"batch": 3},
    "batches of N": {"batch_ratio": 0.005},
    "momentum": {"momentum": 0.5},
    "momentum 1/N": {"momentum_rate": 2.0},
    "divided steps": {"normalise": "gradient"},
    "sphere": {"normalise": "sphere"},
    "schedule": {"schedule": "1/(1+alpha)"},
    "table": {"schedule": {"times": [0.0, 0.01], "rates": [1.0, 0.5]}},
    "biases": {"student_biases": 0.3, "teacher_biases": -0.2},
    "trained biases": {"train_biases": True, "bias_learning_rate": 0.5},
    "second layer": {"train_second_layer": True},
    "weight decay": {"weight_decay": 0.2},
    "decay of v": {"second_layer_weight_decay": 0.2},
    "small rates": {"order": "small-learning-rate"},
    "tasks": {"tasks": TASKS},
    "mixed tasks": {"tasks": MIXED},
    "inputs of tasks": {"tasks": OTHER_INPUTS},
    "implicit": {"time": {"method": "implicit"}},
    "classes": {"inputs": CLASSES},
    "many teachers": {"students": 2, "teachers": 3},
    **{key: dict.fromkeys((key, *others), 0.5) for key, others in STATED_KEYS.items()},
}
"""Arguments of a problem, each a key of a rule or what rules have to go together with."""

WORDS = {"tasks": ("task",), "time": ("method",), "inputs": ("classes", "inputs")}
"""By what a message names an argument, where that is not its own name."""

_COMMON = {"students": 2, "teachers": 2, "learning_rate": 0.5, "student_std": 0.6}


@dataclass(frozen=True)
class Found:
    """What became of some features together.

    Attributes:
        ending: "refused", "solved", "stated" (where nothing was solved), "followed" (by SGD),
            "diverged" (before anything could be compared with SGD), or "wrong".
        reason: of a refusal, or of what is wrong.
        seconds: of CPU time to state it.
    """

    features: tuple[str, ...]
    ending: str
    reason: str
    seconds: float


def together(size: int) -> Iterator[tuple[str, ...]]:
    """All choices of so many features that are no two values of one argument."""
    for chosen in itertools.combinations(FEATURES, size):
        names = [name for feature in chosen for name in FEATURES[feature]]
        if len(set(names)) == len(names):
            yield chosen


def tried(
    features: tuple[str, ...], *, solve: bool, state: bool = True, activation: str = "erf"
) -> Found:
    """State a problem with these features, and derive and integrate it if that is not refused.

    Its statement is written only if ``state`` says so, or something is solved.

    What is wrong: a refusal that takes long or does not name the keys of two of them, and a problem
    that can be stated but has no statement of its rule, or cannot be solved.
    """
    arguments: dict[str, Any] = {**_COMMON, "inputs": sd.Spectrum([1.6, 0.4], dimension=40)}
    for feature in features:
        arguments |= FEATURES[feature]
    begin = time.process_time()
    try:
        problem = sd.Problem(activation, **arguments)
    except InputError as error:
        seconds = time.process_time() - begin
        wrong = [] if seconds < MOST_SECONDS else [f"took {seconds:.1f} CPU seconds"]
        if sum(_named(feature, str(error)) for feature in features) < 2:
            wrong.append("does not name two of the keys")
        if "\n" in str(error):
            wrong.append("has several lines")
        reason = "; ".join([str(error), *wrong])
        return Found(features, "wrong" if wrong else "refused", reason, seconds)
    seconds = time.process_time() - begin
    if seconds > MOST_SECONDS:
        return Found(features, "wrong", f"stating took {seconds:.1f} CPU seconds", seconds)
    try:
        if state or solve:
            _ = problem.system
        if not solve:
            return Found(features, "stated", "", seconds)
        run = problem.solve(alpha=[0.0, 0.02], relative_tolerance=1e-4)
    except Exception as error:
        reason = f"stated, then {type(error).__name__}: {error}"
        return Found(features, "wrong", reason, seconds)
    if run.cause != "done":
        return Found(features, "wrong", f"stated, then {run.cause}", seconds)
    return Found(features, "solved", "", seconds)


def followed(features: tuple[str, ...], *, activation: str = "erf", seed: int = 1) -> Found:
    """Compare runs of SGD with the equations where both take a problem with these features.

    What diverges is compared while the equations stay below ``MOST_GROWTH`` times their start.

    What is wrong: runs that diverge where the equations do not, and a mean of overlaps, output
    weights or biases that is further from the equations than three standard errors and 0.5/√N of
    the largest.
    """
    sizes = {"students": 3, "teachers": 2, "seed": seed}
    arguments: dict[str, Any] = {**_COMMON, **sizes, "inputs": sd.Spectrum([1.6, 0.4])}
    for feature in features:
        arguments |= FEATURES[feature]
    arguments["inputs"] = arguments["inputs"].model_copy(update={"dimension": DIMENSION})
    begin = time.process_time()
    try:
        problem = sd.Problem(activation, **arguments)
        run = problem.solve(alpha=[0.0, *TIMES])
        sgd = problem.simulate(alpha=[0.0, *TIMES], runs=24)
    except SymderivError as error:
        # what fails its own check is no refusal
        ending = "wrong" if isinstance(error, GeneratedError) else "refused"
        return Found(features, ending, str(error), time.process_time() - begin)
    ending, reason = compared(run, sgd)
    return Found(features, ending, reason, time.process_time() - begin)


def compared(run: Any, sgd: Any) -> tuple[str, str]:
    """An ending and its reason, of equations and of runs recorded at the same times."""
    largest = np.max(np.abs(run.Q), axis=(1, 2))
    # the equations may end early; the start itself is compared with nothing
    bounded = int(np.sum(np.logical_and.accumulate(largest <= MOST_GROWTH * largest[0])))
    if bounded == 1:
        return "diverged", f"the equations grow {MOST_GROWTH:g} times before {TIMES[0]:g}"
    if sgd.Q.shape[1] < bounded:
        return "wrong", f"{sgd.message}; the equations do not"
    pairs = {name: (getattr(run, name), getattr(sgd, name)) for name in ("Q", "R", "v")}
    # what is made of the same numbers by both follows from these
    further = {name for name in run.further if name == "b" or "." in name}
    pairs |= {name: (run.further[name], sgd.further[name]) for name in further & {*sgd.further}}
    worst = "nothing", 0.0
    for name, (wanted, found) in pairs.items():
        wanted, found = wanted[1:bounded], found[:, 1:bounded]
        mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
        gap = np.max(np.abs(mean - wanted) - 3 * error) * np.sqrt(DIMENSION)
        share = float(gap / max(np.max(np.abs(wanted)), 0.1))
        worst = max(worst, (name, share), key=lambda each: each[1])
    reason = f"{worst[0]} is off by {worst[1]:.2f}/sqrt(N) of the largest"
    if bounded <= len(TIMES):
        reason += f" up to {TIMES[bounded - 2]:g}, then the equations diverge"
    return "wrong" if worst[1] > 0.5 else "followed", reason


def _named(feature: str, message: str) -> bool:
    words = [word for name in FEATURES[feature] for word in WORDS.get(name, (name,))]
    return any(word in message for word in words)
