"""The name that was meant by one that is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

__all__ = ["did_you_mean"]

_COMMON: Final = {
    "lr": "learning_rate",
    "eta": "learning_rate",
    "step_size": "learning_rate",
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
    "dropout": "keep",
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
}
"""Names of other libraries and letters of papers, with the words that symderiv has for them."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or nothing.

    Args:
        name: As it was typed.
        known: Names that there are; of dotted ones the last part counts too.
    """
    names = list(dict.fromkeys(known))
    typed = name[:80]
    lower, last = typed.lower(), typed.lower().rpartition(".")[2]
    parts: dict[str, str] = {}
    for each in names:
        for part in (each.rpartition(".")[2], each):
            parts.setdefault(part.lower(), each)
    common = _COMMON.get(last, "")
    close = (
        [parts[lower]]
        if lower in parts
        else [parts[common]]
        if common in parts
        else difflib.get_close_matches(typed, names, n=1)
        or [parts[part] for part in difflib.get_close_matches(last, list(parts), n=1)]
    )
    return f"; did you mean {close[0]}?" if close else ""
