"""Form of a study's compiled step; all numbers outside this form are parameters of the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from symderiv.keys.study_tables import STATED_KEYS

CHANCES = {"keep": 1.0, "label_flip": 0.0}
"""Probabilities of a rule, with what they are where nothing is drawn."""

SECOND_LAYER_DECAY = "second_layer_weight_decay"

SIZES = (
    "weight_decay",
    "label_noise",
    "input_noise",
    "update_noise",
    *(name for key, others in STATED_KEYS.items() for name in (key, *others)),
    SECOND_LAYER_DECAY,
)
"""Numbers of a rule that are parameters of its steps."""


@dataclass(frozen=True)
class StudyForm:
    """Properties on which the program of a step depends; all other numbers are its parameters.

    Args:
        activations: The activations of students and teachers, as typed.
        loss, target: As typed.
        heads: Their number.
        present: Names of what is not zero, in order.
        trains: Whether output weights and biases are trained.
        comes: Whether rates vary, there are tasks, the teacher sees something else than the inputs,
            there are velocities.
        sphere: Whether students keep their length.
    """

    activations: tuple[str, str]
    loss: str
    target: Literal["sum", "sign"]
    heads: int
    present: tuple[str, ...]
    trains: tuple[bool, bool]
    comes: tuple[bool, bool, bool, bool]
    sphere: bool
