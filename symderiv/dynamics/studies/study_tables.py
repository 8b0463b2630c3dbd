"""The tables of STUDY.toml."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

from pydantic import Field, model_validator

from symderiv.dynamics.studies.checked import (
    Index,
    NotNegative,
    Number,
    Positive,
    Probability,
    Seed,
    Table,
    Units,
    conflict,
)
from symderiv.dynamics.studies.input_models import Isotropic, PowerLaw, Spectrum

Weights = Number | list[Number] | str
Eigenvalues = Annotated[Isotropic | Spectrum | PowerLaw, Field(discriminator="model")]

REPLACED_BY_STATE = ("draw", "student_std", "teacher")
REPLACED_BY_VALUES = ("end", "points", "spacing")
RULE_KEYS = {
    "network": ("student_biases", "teacher_biases", "train_biases"),
    "training": (
        "loss",
        "target",
        "label_flip",
        "keep",
        "evaluation_scale",
        "input_noise",
        "update_noise",
        "batch",
        "batch_ratio",
        "momentum",
        "momentum_rate",
        "normalise",
        "schedule",
        "bias_learning_rate",
        "sobolev_weight",
        "consistency_weight",
        "averaging_rate",
    ),
}
"""Keys of learning rules: left at their defaults they are plain descent of the squared loss."""
STATED_KEYS: dict[str, tuple[str, ...]] = {
    "sobolev_weight": (),
    "consistency_weight": ("averaging_rate",),
}
"""Those of [training] that are nothing but lines of the rule's statement, from which all else
follows, and the keys that each needs besides. They are numbers of the same names there."""


class Network(Table, table="network"):
    """[network]: the student and the teacher."""

    activation: str
    teacher_activation: str | None = None
    students: Units
    teachers: Units
    student_weights: Weights = "1/sqrt(M)"
    teacher_weights: Weights = "1/sqrt(M)"
    train_second_layer: bool = False
    student_biases: Number | list[Number] = 0.0
    teacher_biases: Number | list[Number] = 0.0
    train_biases: bool = False


class Training(Table, table="training"):
    """[training]: the learning rule."""

    learning_rate: NotNegative
    second_layer_learning_rate: NotNegative | None = None
    order: Literal["full", "small-learning-rate"] = "full"
    weight_decay: NotNegative = 0.0
    second_layer_weight_decay: NotNegative = 0.0
    label_noise: NotNegative = 0.0
    loss: str = "squared"
    target: Literal["sum", "sign"] = "sum"
    label_flip: Probability = 0.0
    keep: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    evaluation_scale: Number | None = None
    input_noise: NotNegative = 0.0
    update_noise: NotNegative = 0.0
    batch: Annotated[int, Field(ge=1, le=10**9)] | None = None
    batch_ratio: Positive | None = None
    momentum: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    momentum_rate: Positive | None = None
    normalise: Literal["none", "gradient", "sphere"] = "none"
    schedule: str | dict[str, Number | list[Number]] | None = None
    bias_learning_rate: NotNegative | None = None
    sobolev_weight: NotNegative = 0.0
    consistency_weight: NotNegative = 0.0
    averaging_rate: Positive | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Training:
        # a default that is written out is not given: so a key can be taken back
        given = {
            key
            for key, field in type(self).model_fields.items()
            if getattr(self, key) != field.default
        }
        for key, other in _EXCLUSIVE:
            if {key, other} <= given:
                raise conflict(key, f"given together with {other}; remove one")
        if self.consistency_weight > 0.0 and self.averaging_rate is None:
            raise conflict(
                "averaging_rate",
                "missing; an average of the students needs the rate at which it follows them",
            )
        if self.averaging_rate is not None and self.consistency_weight == 0.0:
            raise conflict("averaging_rate", "has no meaning without consistency_weight")
        if self.schedule is not None:
            check_schedule(self.schedule)
        return self


_EXCLUSIVE = (("batch", "batch_ratio"), ("momentum", "momentum_rate"))


def check_schedule(schedule: str | dict[str, Number | list[Number]]) -> None:
    """Refuse a schedule that is neither a formula, nor a table of times, nor a power."""
    if isinstance(schedule, str):
        return  # read where formulas are
    if schedule.keys() == {"times", "rates"}:
        times, rates = schedule["times"], schedule["rates"]
        if not (isinstance(times, list) and isinstance(rates, list)):
            raise conflict("schedule", "times and rates must be lists")
        if len(times) != len(rates) or not times or times[0] != 0.0:
            raise conflict("schedule", "times and rates are equally long, and times begin with 0")
        if any(b <= a for a, b in itertools.pairwise(times)) or min(rates) < 0.0:
            raise conflict("schedule", "times must be ascending and rates not negative")
    elif schedule.keys() == {"power", "after"}:
        if not all(isinstance(v, float) for v in schedule.values()) or schedule["after"] <= 0:  # type: ignore[operator]
            raise conflict("schedule", "power and after are numbers, after > 0")
    else:
        raise conflict(
            "schedule",
            'is {"times": [...], "rates": [...]}, {"power": a, "after": alpha_0}, or a formula in '
            "alpha",
        )


class InitialState(Table, table="initial"):
    """[initial]: drawn vectors, their mean, or a state file."""

    student_std: NotNegative = 0.01
    teacher: Literal["random", "orthogonal"] = "random"
    draw: Literal["sampled", "mean"] = "sampled"
    seed: Seed = 0
    state: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InitialState:
        given = [key for key in REPLACED_BY_STATE if key in self.model_fields_set]
        if self.state is not None and given:
            reason = f"given together with {given[0]}; a state file replaces it, remove one"
            raise conflict("state", reason)
        return self


class Simulation(Table, table="simulation"):
    """[simulation]: one-pass stochastic gradient descent."""

    runs: Annotated[int, Field(ge=1, le=100_000)] = 4
    method: Literal["auto", "vectors", "gram"] = "auto"
    end: NotNegative | None = None


class Time(Table, table="time"):
    """[time]: where results are wanted and how accurately."""

    end: Positive | None = None
    points: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    spacing: Literal["log", "linear"] = "log"
    values: list[NotNegative] | None = None
    relative_tolerance: Annotated[float, Field(ge=1e-14, le=0.1, allow_inf_nan=False)] = 1e-9
    absolute_tolerance: NotNegative = 1e-14
    method: Literal["auto", "explicit", "implicit"] = "auto"
    compression: Literal["auto", "on", "off"] = "auto"

    @model_validator(mode="after")
    def _one_grid(self) -> Time:
        given = [key for key in REPLACED_BY_VALUES if key in self.model_fields_set]
        if self.values is None:
            return self
        if given:
            raise conflict("values", f"given together with {given[0]}; they replace it, remove one")
        if not self.values:
            raise conflict("values", "is empty; give at least one time")
        if any(b <= a for a, b in itertools.pairwise(self.values)):
            raise conflict("values", "must be ascending, each given once")
        return self


class Task(Table, table="task"):
    """[[task]]: what is taught for some time, or with some probability."""

    until: NotNegative | None = None
    teachers: list[Index] | None = None
    head: Index | Literal["shared"] | None = None
    mixture: dict[str, Probability] | None = None
    data: Eigenvalues | None = None
