"""Families of studies that share a solver module, as runs in lanes do: what differs is drawn."""

from typing import Any

import numpy as np

from stated_errors.drawing import Drawn, less_asymmetric
from symderiv.problem.initial import initial
from symderiv.problem.study import study_from_mapping

#: Runs of a family: two rounds of eight lanes.
MEMBERS = 16
_PAIRS = (
    *(("erf", "erf"), ("erf", "erf"), ("erf", "relu"), ("linear", "linear"), ("relu", "relu")),
    *(("gelu", "gelu"), ("tanh", "tanh"), ("relu", "erf")),
)
_RULES = ("", "biases", "momentum", "", "rates", "tasks", "batches", "dropout")


def family(number: int, seed: int) -> list[Drawn]:
    """The runs of a family; pairs of activations and rules come in turns."""
    rng = np.random.default_rng([seed, number, 8])
    student, teacher = _PAIRS[number % len(_PAIRS)]
    rule = _RULES[(number // len(_PAIRS) + number) % len(_RULES)]
    K, M = (int(each) for each in rng.integers(1, 4, 2))
    if K == M and rng.random() < 0.7:
        K = M % 3 + 1
    if rule == "tasks":
        M = max(M, 2)
    plateau = rng.random() < 0.6
    shared: dict[str, Any] = {
        "L": int(rng.integers(1, 4)),
        "plateau": plateau,
        "time": {
            "end": float(10.0 ** (rng.uniform(2.0, 3.0) if plateau else rng.uniform(0.7, 2.3))),
            "points": 25,
            "spacing": "linear" if rng.random() < 0.5 else "log",
            "relative_tolerance": float(10.0 ** rng.uniform(-11, -5)),
        },
        "network": {
            "activation": student,
            "teacher_activation": teacher,
            "students": K,
            "teachers": M,
            "train_second_layer": bool(rng.random() < 0.25),
        },
        "cut": float(rng.uniform(0.2, 0.8)),
    }
    return [_member(number * MEMBERS + n, rule, shared, rng) for n in range(MEMBERS)]


def _member(number: int, rule: str, shared: dict[str, Any], rng: np.random.Generator) -> Drawn:
    """A run with its own rates, weights, inputs and start."""
    network, L = dict(shared["network"]), shared["L"]
    K, M = network["students"], network["teachers"]
    eta = float(10.0 ** rng.uniform(-1.5, 0.2 if network["activation"] == "erf" else -0.4))
    network["student_weights"] = [float(x) for x in rng.uniform(0.3, 1.0, K)]
    network["teacher_weights"] = [float(x) for x in rng.uniform(0.4, 1.0, M)]
    training: dict[str, Any] = {"learning_rate": eta, "label_noise": float(rng.uniform(0, 0.3))}
    if rng.random() < 0.3:
        training["weight_decay"] = float(10.0 ** rng.uniform(-4, -2))
    eigenvalues = [float(x) for x in np.sort(10.0 ** rng.uniform(-1.5, 0.6, L))[::-1]]
    raw: dict[str, Any] = {
        "network": network,
        "training": training,
        "data": {"model": "spectrum", "dimension": 60 * L, "eigenvalues": eigenvalues},
        "initial": {
            "student_std": float(10.0 ** rng.uniform(-4, 0)),
            "teacher": "orthogonal" if number % 2 else "random",
            "seed": int(rng.integers(1000)),
        },
        "time": shared["time"],
    }
    _ruled(raw, rule, shared["cut"] * raw["time"]["end"], rng)
    study = study_from_mapping(raw)
    start = initial(study)
    if shared["plateau"]:
        start = less_asymmetric(start, float(10.0 ** -rng.uniform(1, 13)))
    return Drawn(number, "lanes", study, start)


def _ruled(raw: dict[str, Any], rule: str, cut: float, rng: np.random.Generator) -> None:
    """Add the keys of a learning rule."""
    network, training = raw["network"], raw["training"]
    if rule == "biases":
        network["student_biases"] = [float(x) for x in rng.uniform(-0.5, 0.5, network["students"])]
        network["teacher_biases"] = [float(x) for x in rng.uniform(-0.5, 0.5, network["teachers"])]
        network["train_biases"] = True
    elif rule == "momentum":
        training["momentum_rate"] = float(rng.uniform(0.5, 2.0))
    elif rule == "rates":
        factors = [1.0, float(rng.uniform(0.3, 1.5))]
        training["schedule"] = {"times": [0.0, cut], "rates": factors}
    elif rule == "tasks":
        raw["task"] = [{"until": cut, "teachers": [0]}, {"teachers": [1]}]
    elif rule == "batches":
        training |= {"batch": int(rng.integers(2, 8)), "momentum": float(rng.uniform(0, 0.5))}
    elif rule == "dropout":
        training["keep"] = float(rng.uniform(0.6, 0.95))
