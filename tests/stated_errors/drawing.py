"""Studies drawn at random: K and M that differ, spectra, plateaus, starts with little asymmetry."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symderiv.problem.initial import Initial, initial
from symderiv.problem.study import Study, study_from_mapping

METHODS = ("explicit", "auto", "implicit", "components", "phases", "ensemble")
_PAIRS = (("erf", "erf"),) * 6 + (("linear", "linear"), ("relu", "relu"), ("erf", "relu"))


@dataclass(frozen=True)
class Drawn:
    """A study, its start, and what says how it is to be run."""

    number: int
    method: str
    study: Study
    start: Initial


def draw(number: int, seed: int) -> Drawn:
    """The study of a number.

    Args:
        number: methods come in turns.
        seed: of all studies.
    """
    rng = np.random.default_rng([seed, number])
    method = METHODS[number % len(METHODS)]
    K, M = (int(each) for each in rng.integers(1, 4, 2))
    if K == M and rng.random() < 0.7:
        K = M % 3 + 1
    student, teacher = _PAIRS[int(rng.integers(len(_PAIRS)))]
    if method == "phases":
        student = teacher = "erf"
    eta = float(10.0 ** rng.uniform(-1.5, 0.2))
    if student != "erf":
        eta = min(eta, 0.4)
    training: dict[str, Any] = {"learning_rate": eta}
    network: dict[str, Any] = {"activation": student, "students": K, "teachers": M}
    if teacher != student:
        network["teacher_activation"] = teacher
    kind = rng.random()
    if kind < 0.4:
        network |= {"student_weights": 1.0, "teacher_weights": 1.0}
    elif kind < 0.7:
        network |= {
            "student_weights": [float(x) for x in rng.uniform(0.3, 1.0, K)],
            "teacher_weights": [float(x) for x in rng.uniform(-1.0, 1.0, M)],
        }
    if rng.random() < 0.25:
        network["train_second_layer"] = True
    if rng.random() < 0.25:
        training["label_noise"] = float(rng.uniform(0.05, 0.4))
    if rng.random() < 0.2:
        training["weight_decay"] = float(10.0 ** rng.uniform(-4, -2))
    plateau = rng.random() < 0.6
    end = float(10.0 ** (rng.uniform(2.0, 3.5) if plateau else rng.uniform(0.7, 2.5)))
    raw: dict[str, Any] = {
        "network": network,
        "training": training,
        "data": _inputs(method, rng),
        "initial": {
            "student_std": float(10.0 ** rng.uniform(-4, 0)),
            "teacher": "orthogonal" if rng.random() < 0.5 else "random",
            "seed": int(rng.integers(1000)),
        },
        "time": {
            "end": end,
            "points": 25,
            "spacing": "linear" if rng.random() < 0.5 else "log",
            "relative_tolerance": float(10.0 ** rng.uniform(-12, -4)),
            "method": {"explicit": "explicit", "implicit": "implicit"}.get(method, "auto"),
        },
    }
    if method == "phases":
        _PHASES[int(rng.integers(len(_PHASES)))](raw, rng)
    study = study_from_mapping(raw)
    start = initial(study)
    if plateau:
        start = less_asymmetric(start, float(10.0 ** -rng.uniform(1, 13)))
    return Drawn(number, method, study, start)


def less_asymmetric(start: Initial, part: float) -> Initial:
    """The start with all overlaps of different vectors times a small number, except teachers'."""
    state = start.state
    Q, diagonal = np.array(state.student_overlap), np.arange(state.K)
    own = Q[:, diagonal, diagonal].copy()
    Q *= part
    Q[:, diagonal, diagonal] = own
    return replace(
        start,
        state=replace(state, student_overlap=Q, cross_overlap=part * state.cross_overlap),
        vectors=None,
    )


def _inputs(method: str, rng: np.random.Generator) -> dict[str, Any]:
    L = int(rng.integers(2, 5))
    eigenvalues = [float(x) for x in np.sort(10.0 ** rng.uniform(-1.5, 0.6, L))[::-1]]
    if method == "components":
        p = float(rng.uniform(0.2, 0.8))
        other = [float(x) for x in 10.0 ** rng.uniform(-1.0, 0.4, L)]
        return {
            "model": "gaussian-mixture",
            "dimension": 60 * L,
            "probabilities": [p, 1.0 - p],
            "eigenvalues": [eigenvalues, other],
        }
    if rng.random() < 0.4:
        return {"model": "isotropic", "dimension": 200}
    return {"model": "spectrum", "dimension": 60 * L, "eigenvalues": eigenvalues}


def _steps(raw: dict[str, Any], rng: np.random.Generator) -> None:
    """Rates that jump."""
    jump = float(rng.uniform(0.2, 0.8)) * raw["time"]["end"]
    rates = [1.0, float(rng.uniform(0.3, 1.5))]
    raw["training"]["schedule"] = {"times": [0.0, jump], "rates": rates}


def _tasks(raw: dict[str, Any], rng: np.random.Generator) -> None:
    """One teacher after the other, with a head each or a shared one."""
    M = raw["network"]["teachers"] = max(2, raw["network"]["teachers"])
    if "teacher_weights" in raw["network"]:
        raw["network"]["teacher_weights"] = [float(x) for x in rng.uniform(0.4, 1.0, M)]
    until = float(rng.uniform(0.2, 0.8)) * raw["time"]["end"]
    shared = {"head": "shared"} if rng.random() < 0.5 else {}
    raw["task"] = [{"until": until, "teachers": [0], **shared}, {"teachers": [1], **shared}]


def _dropped(raw: dict[str, Any], rng: np.random.Generator) -> None:
    raw["training"]["keep"] = float(rng.uniform(0.6, 0.95))
    _steps(raw, rng)


def _flipped(raw: dict[str, Any], rng: np.random.Generator) -> None:
    raw["training"]["label_flip"] = float(rng.uniform(0.02, 0.2))


def _noisy(raw: dict[str, Any], rng: np.random.Generator) -> None:
    raw["training"]["input_noise"] = float(rng.uniform(0.05, 0.5))
    _tasks(raw, rng)


def _batches(raw: dict[str, Any], rng: np.random.Generator) -> None:
    raw["training"] |= {"batch": int(rng.integers(2, 8)), "momentum": float(rng.uniform(0, 0.5))}


_PHASES: tuple[Callable[[dict[str, Any], np.random.Generator], None], ...] = (
    *(_steps, _tasks, _dropped, _flipped, _noisy, _batches),
)
