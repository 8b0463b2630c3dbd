"""The known name that somebody meant by an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

OTHER_NAMES: Final = {
    "lr": "learning_rate",
    "eta": "learning_rate",
    "step_size": "learning_rate",
    "rate": "learning_rate",
    "decay": "weight_decay",
    "wd": "weight_decay",
    "optimizer": "momentum",
    "optimiser": "momentum",
    "spectrum": "inputs",
    "input_model": "inputs",
    "t": "teacher",
    "l2_reg": "weight_decay",
    "noise_std": "label_noise",
    "dropout_rate": "dropout",
    "teacher_units": "teachers",
    "v": "student_weights",
    "output_weights": "student_weights",
    "bias": "student_biases",
    "biases": "student_biases",
    "tmax": "end",
    "error": "generalization_error",
    "test_error": "generalization_error",
    "eg": "generalization_error",
    "epsilon_g": "generalization_error",
    "loss": "generalization_error",
    "hidden": "students",
    "hidden_units": "students",
    "k": "students",
    "m": "teachers",
    "n": "dimension",
    "dim": "dimension",
    "n_features": "dimension",
    "input_dim": "dimension",
    "noise": "label_noise",
    "sigma": "label_noise",
    "random_state": "seed",
    "rng": "seed",
    "batch_size": "batch",
    "steps": "end",
    "epochs": "end",
    "time_end": "end",
    "alpha_max": "end",
    "t_end": "end",
    "t_max": "end",
    "times": "alpha",
    "t_eval": "alpha",
    "nonlinearity": "activation",
    "cov": "covariance",
    "sigma_j": "student_std",
    "init_std": "student_std",
    "l2": "weight_decay",
    "rtol": "relative_tolerance",
    "atol": "absolute_tolerance",
    "eps": "label_noise",
    "precision": "digits",
    "n_runs": "runs",
    "y0": "initial",
    "init": "initial",
    "overwrite": "force",
    "filename": "path",
    "beta": "exponent",
    "data": "inputs",
    "covariance": "inputs",
    "out": "output",
    "epsilon": "tolerance",
    "tol": "tolerance",
    "run": "solve",
    "integrate": "solve",
    "simulation": "simulate",
    "train": "simulate",
    "sgd": "simulate",
    "mean": "expect",
    "expectation": "expect",
    "average": "expect",
    "new": "init",
    "bibtex": "cite",
    "late": "asymptotics",
    "phase_diagram": "map",
    "codegen": "generate",
}
"""Names used by other libraries or papers, with symderiv's names for the same things."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that was meant by an unknown one; empty if none is close.

    Args:
        name: The name as it was typed; options with their hyphens.
        known: The known names; of dotted ones the last part counts too.
    """
    parts: dict[str, str] = {}
    for each in dict.fromkeys(known):
        for part in (each.rpartition(".")[2], each):
            parts.setdefault(_plain(part), each)
    typed = _plain(name[:80])
    last = typed.rpartition(".")[2]
    for meant in (typed, OTHER_NAMES.get(last, "")):
        if meant in parts:
            return parts[meant]
    beginning = [part for part in parts if len(last) > 2 and part.startswith(last)]
    close = (
        beginning[:1]
        or difflib.get_close_matches(typed, list(parts), n=1)
        or difflib.get_close_matches(last, list(parts), n=1)
    )
    return parts[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name, which suggests :func:`nearest` if any."""
    meant = nearest(name, known)
    return f"; did you mean {meant}?" if meant else ""


def _plain(name: str) -> str:
    return name.lower().lstrip("-").replace("-", "_")
