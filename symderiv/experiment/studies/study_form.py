"""The form of a study's compiled step; all other numbers are parameters of the step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from symderiv.keys.study_tables import STATED_KEYS

CHANCES = {"keep": 1.0, "label_flip": 0.0}
"""Probabilities of a rule, with the values at which nothing is drawn."""

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
    """Properties that determine the program of a step; all other numbers are its parameters.

    Args:
        activations: The activations of students and teachers, as typed.
        loss, target: The loss and the target, as typed.
        heads: The number of heads.
        present: The names of nonzero numbers, in order.
        trains: Whether output weights and biases are trained.
        comes: Whether rates vary, there are tasks, the teacher sees latent vectors, there are
            velocities.
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
