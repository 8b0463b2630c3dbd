"""Where an integration starts: a state, a file with one, or order parameters."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from symderiv.foundation.errors import InputError
from symderiv.problem.given_weights import WEIGHTS, real_array, start_of_weights
from symderiv.problem.initial import Initial, initial, start_from
from symderiv.problem.state import State, load_state
from symderiv.problem.study import Study

__all__ = ["start_of"]

_ORDER = ("Q", "R", "T", "v")


def start_of(
    study: Study, given: State | str | PathLike[str] | Mapping[str, Any] | None
) -> Initial:
    """Return the start of a study: its own (None), or what was given instead.

    Raises:
        InputError: the given state is not one of this study.
    """
    if given is None:
        return initial(study)
    if isinstance(given, str | PathLike):
        given = load_state(Path(given))
    if isinstance(given, Mapping) and {"J", "B"} & set(given):
        for name in given:
            if name not in WEIGHTS:
                raise InputError(f"is not one of {', '.join(WEIGHTS)}", argument=str(name))
        return start_of_weights(study, given)
    if isinstance(given, Mapping):
        given = _state(study, given)
    if not isinstance(given, State):
        raise InputError(
            f"{type(given).__name__} is neither a State, a file, nor a dictionary of Q and R or of "
            "J and B",
            argument="initial",
        )
    return start_from(study, given)


def _state(study: Study, order: Mapping[str, Any]) -> State:
    """Order parameters as a state of isotropic inputs."""
    for name in order:
        if name not in _ORDER:
            raise InputError(f"is not one of {', '.join(_ORDER)}", argument=str(name))
    data = study.data_model
    alone = data is not None and data.latent is None and len(data.components) == 1
    spectrum = data.single() if alone and data is not None else None
    if data is None or spectrum is None or spectrum.eigenvalue.size != 1:
        raise InputError(
            "Q and R fix a state of isotropic inputs only; these need a State, with overlaps per "
            "eigenvalue",
            argument="state",
        )
    K, M = study.K, study.M
    for name in ("Q", "R"):
        if name not in order:
            raise InputError("missing", argument=name)
    stated = data.dimension is not None and "data" in study.model_fields_set
    if "T" not in order and study.initial.draw == "sampled" and not stated:
        raise InputError(
            "missing; the inputs have no dimension in which teachers could be drawn", argument="T"
        )
    T = order["T"] if "T" in order else initial(study).state.T
    v = order.get("v", study.student_weights)
    arrays = {
        name: real_array(name, values, shape)
        for name, values, shape in (
            ("Q", order["Q"], (K, K)),
            ("R", order["R"], (K, M)),
            ("T", T, (M, M)),
            ("v", v, (K,)),
        )
    }
    rho = float(spectrum.eigenvalue[0])
    try:
        return State(
            eigenvalue=spectrum.eigenvalue,
            weight=spectrum.weight,
            student_overlap=arrays["Q"][None] / rho,
            cross_overlap=arrays["R"][None],
            teacher_overlap=rho * arrays["T"][None],
            teacher_covariance=arrays["T"],
            student_weights=arrays["v"],
            teacher_weights=study.teacher_weights,
        )
    except InputError as error:
        raise error.renamed(_OF_STATE.get(error.argument or "", error.argument)) from None


_OF_STATE = {
    "student_overlap": "Q",
    "cross_overlap": "R",
    "teacher_overlap": "T",
    "teacher_covariance": "T",
    "student_weights": "v",
}
