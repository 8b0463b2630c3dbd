"""Initial states of integrations: a state, a file with one, or order parameters."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from symderiv.foundation.errors import InputError
from symderiv.problem.given_overlaps import added_fields, start_of_overlaps
from symderiv.problem.given_weights import WEIGHTS, start_of_weights
from symderiv.problem.initial import Initial, initial, start_from
from symderiv.problem.state import State, load_state
from symderiv.problem.study import Study


def start_of(
    study: Study,
    given: State | str | PathLike[str] | Mapping[str, Any] | None,
    argument: str = "initial",
) -> Initial:
    """Return the given initial state, or that of the study if None is given.

    Args:
        study: the study.
        given: the state, as the user gave it.
        argument: the name of the argument, for messages.

    Raises:
        InputError: the given state is not one of this study.
    """
    if given is None:
        return initial(study)
    if isinstance(given, str | PathLike):
        try:
            given = load_state(Path(given))
        except InputError as error:
            raise error.renamed(argument) from None
    if isinstance(given, Mapping) and {"J", "B"} & set(given):
        for name in given:
            if name not in WEIGHTS:
                raise InputError(f"is not one of {', '.join(WEIGHTS)}", argument=str(name))
        return start_of_weights(study, given)
    if isinstance(given, Mapping):
        return start_of_overlaps(study, given)
    if not isinstance(given, State):
        raise InputError(
            f"{type(given).__name__} is neither a State, a file, nor a dictionary of Q and R or of "
            "J and B",
            argument=argument,
        )
    return start_from(study, given)


def at_rest(study: Study, start: Initial) -> Initial:
    """Return a start if a simulation can begin there: with the problem's biases, at rest.

    Raises:
        InputError: other values were given for what the rule adds to the state.
    """
    for name, field in added_fields(study).items() if start.further else ():
        if field.packed in start.further:
            raise InputError(
                "a simulation begins with the problem's own biases and at rest; leave it out, and "
                "state biases as student_biases",
                argument=name,
            )
    return start
