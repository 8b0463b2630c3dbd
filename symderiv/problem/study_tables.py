"""The tables of STUDY.toml: every key, declared once with all that is said of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from symderiv.formula.named_losses import NAMED
from symderiv.foundation.errors import InputError
from symderiv.problem.checked import (
    NotNegative,
    Number,
    Positive,
    Probability,
    Seed,
    Table,
    Units,
    conflict,
)
from symderiv.problem.key_records import Key

if TYPE_CHECKING:
    import numpy as np

RuleKey = partial(Key, acts="equations")
Weights = Number | list[Number] | str

_BIASES = {"WestSaadNabney1997": "units with biases"}
_TRAINED_BIASES = {"WestSaadNabney1997": "biases that are trained"}
_DECAY = {"SaadSolla1997": "weight decay"}
_SIGNS = {"BiehlCatichaRiegler2009": "labels that are signs"}
_DROPOUT = {"MoriMignacco2025": "dropout"}
_POLYAK = {"Polyak1964": "momentum"}
_AVERAGED = {"TarvainenValpola2017": "an averaged teacher"}

_NOT_STATED = "training.loss", "training.target"
"""What does not go together with rules that are nothing but their statement."""


class Network(Table, table="network"):
    """[network]: the student and the teacher.

    Args:
        [network]
    """

    activation: Annotated[str, Key("g, a name or a formula in ``x``")]
    teacher_activation: Annotated[
        str | None, Key("g̃, a name or a formula in ``x``; g when left out")
    ] = None
    students: Annotated[Units, Key("units of the student", "K")]
    teachers: Annotated[Units, Key("units of the teacher", "M")]
    student_weights: Annotated[Weights, Key("a text is a formula in K and M", "v")] = "1/sqrt(M)"
    teacher_weights: Annotated[Weights, Key("a text is a formula in K and M", "ṽ")] = "1/sqrt(M)"
    train_second_layer: Annotated[
        bool,
        Key("whether v learns", sources={"RieglerBiehl1995": "output weights that are trained"}),
    ] = False
    student_biases: Annotated[
        Number | list[Number], RuleKey("of units g(x_i + b_i)", "b", sources=_BIASES)
    ] = 0.0
    teacher_biases: Annotated[
        Number | list[Number], RuleKey("of units g̃(y_n + c_n)", "c", sources=_BIASES)
    ] = 0.0
    train_biases: Annotated[
        bool, RuleKey("whether b learns, by its gradient", sources=_TRAINED_BIASES)
    ] = False


class Training(Table, table="training"):
    """[training]: the learning rule.

    Args:
        [training]
    """

    learning_rate: Annotated[
        NotNegative, Key("of the first layer; results say where it is the default", "η", quick=True)
    ] = 0.5
    second_layer_learning_rate: Annotated[
        NotNegative | None, Key("η when left out", "η_v", quick=True)
    ] = None
    order: Annotated[
        Literal["full", "small-learning-rate"],
        Key("with the terms of order η², or without", quick=True),
    ] = "full"
    weight_decay: Annotated[
        NotNegative, Key("of the first layer", "κ", quick=True, sources=_DECAY)
    ] = 0.0
    second_layer_weight_decay: Annotated[
        NotNegative, Key("of the second layer", "κ_v", quick=True, sources=_DECAY)
    ] = 0.0
    label_noise: Annotated[
        NotNegative,
        Key("of the teacher", "σ", quick=True, sources={"SaadSolla1997": "noise on labels"}),
    ] = 0.0
    loss: Annotated[
        str,
        RuleKey(
            f"ℓ(s, t) of output and target: {', '.join(NAMED)}, or a formula in ``s`` and ``t``",
            sources={"BenArous2021": "descent of losses other than the squared one"},
        ),
    ] = "squared"
    target: Annotated[
        Literal["sum", "sign"],
        RuleKey("what is taught: the teacher's sum, or its sign", sources=_SIGNS),
    ] = "sum"
    label_flip: Annotated[
        Probability,
        RuleKey(
            "probability with which the target changes its sign, before label noise", sources=_SIGNS
        ),
    ] = 0.0
    keep: Annotated[
        float,
        Field(gt=0.0, le=1.0),
        RuleKey(
            "dropout: the probability with which each unit is kept, in s and in the gradients; "
            "errors are those of all units with v times ``evaluation_scale``",
            sources=_DROPOUT,
        ),
    ] = 1.0
    evaluation_scale: Annotated[
        Number | None,
        RuleKey(
            "factor of v in errors with dropout; ``keep`` when left out",
            only_with="training.keep",
            sources=_DROPOUT,
        ),
    ] = None
    input_noise: Annotated[
        NotNegative,
        RuleKey(
            "the student sees ξ + σ_x ε, in fields and updates; ``noisy_error`` is the error at "
            "such inputs",
            "σ_x",
            sources={"Bishop1995": "noise on inputs"},
        ),
    ] = 0.0
    update_noise: Annotated[
        NotNegative,
        RuleKey(
            "every update adds σ_J ζ/√N to J_i, ζ standard Gaussian; with ``batch_ratio`` a step "
            "adds σ_J ζ",
            "σ_J",
            sources={"WellingTeh2011": "noise on updates"},
        ),
    ] = 0.0
    batch: Annotated[
        Annotated[int, Field(ge=1, le=10**9)] | None,
        RuleKey(
            "so many examples per step, and their mean gradient; α counts examples",
            "b",
            acts="rates",
            sources={"Bordelon2022": "batches of examples"},
        ),
    ] = None
    batch_ratio: Annotated[
        Positive | None,
        RuleKey(
            "b = cN examples per step, J ← J − η (√N/b) Σ F ξ, v and b likewise N times a step of "
            "``batch``",
            "c",
            acts="steps",
            instead_of=("batch",),
            apart=(
                "training.normalise",
                "training.momentum",
                "training.weight_decay",
                "training.second_layer_weight_decay",
                "task",
            ),
            sources={"DandiEtAl2024": "batches as large as the input"},
        ),
    ] = None
    momentum: Annotated[
        float,
        Field(ge=0.0, lt=1.0),
        RuleKey(
            "V ← βV + step, and V is added to J, v and biases; weight decay stands beside",
            "β",
            acts="rates",
            sources=_POLYAK,
        ),
    ] = 0.0
    momentum_rate: Annotated[
        Positive | None,
        RuleKey(
            "momentum with 1 − β = γ/N and steps N times smaller; with U = NV results have ``P`` = "
            "E u x, ``W`` = E u u, ``C`` = E u y",
            "γ",
            instead_of=("momentum",),
            apart=("training.batch_ratio", "training.normalise"),
            sources=_POLYAK,
        ),
    ] = None
    normalise: Annotated[
        Literal["none", "gradient", "sphere"],
        RuleKey(
            "gradient: steps of J divided by √(E Σ_i F_i² · E|ξ|²/N), the mean over examples at "
            "the present weights; sphere: each J_i rescaled after each step so that Q_ii stays",
            sources_of={
                "gradient": {
                    "HazanLevyShalevShwartz2015": "steps divided by the size of the gradient"
                },
                "sphere": {"BenArous2021": "weights kept on a sphere"},
            },
        ),
    ] = "none"
    schedule: Annotated[
        str | dict[str, Number | list[Number]] | None,
        RuleKey(
            "factor of all rates in time: ``{times = […], rates = […]}``, constant in between; "
            "``{power = a, after = α₀}``: 1 up to α₀, then (α/α₀)^(−a); or a formula in ``alpha``",
            acts="time",
            sources={"dAscoli2022": "learning rates that change in time"},
        ),
    ] = None
    bias_learning_rate: Annotated[
        NotNegative | None,
        RuleKey(
            "b_i ← b_i − (η_b/N) F_i; η when left out",
            "η_b",
            only_with="network.train_biases",
            sources=_TRAINED_BIASES,
        ),
    ] = None
    sobolev_weight: Annotated[
        NotNegative,
        RuleKey(
            "the loss gains λ/2 times the squared norm of the difference of the gradients of s and "
            "t by the input",
            "λ",
            acts="statement",
            apart=_NOT_STATED,
            sources={"CzarneckiEtAl2017": "gradients of the teacher in the loss"},
        ),
    ] = 0.0
    consistency_weight: Annotated[
        NotNegative,
        RuleKey(
            "the loss gains λ/2 (s − a)², a the output of the averaged students A (a mean teacher)",
            "λ",
            acts="statement",
            needs="averaging_rate",
            apart=_NOT_STATED,
            sources=_AVERAGED,
        ),
    ] = 0.0
    averaging_rate: Annotated[
        Positive | None,
        RuleKey(
            "A ← A + γ (J − A)/N, from A = J; results have ``J.A``, ``A.A``, ``A.B``",
            "γ",
            only_with="training.consistency_weight",
            sources=_AVERAGED,
        ),
    ] = None

    @model_validator(mode="after")
    def _one_rule(self) -> Training:
        if self.schedule is not None:
            check_schedule(self.schedule)
        return self


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
    """[initial]: drawn vectors, their mean, or a state file.

    Args:
        [initial]
    """

    student_std: Annotated[
        NotNegative, Key("standard deviation of the student's initial weights", "σ_J", quick=True)
    ] = 0.01
    teacher: Annotated[
        Literal["random", "orthogonal"],
        Key("teachers drawn at random, or exactly orthogonal ones of norm² N"),
    ] = "random"
    draw: Annotated[Literal["sampled", "mean"], Key("overlaps of drawn vectors, or their mean")] = (
        "sampled"
    )
    seed: Annotated[Seed, Key("of the drawn vectors", quick=True)] = 0
    state: Annotated[
        str | None,
        Key("a state file instead of drawn vectors", instead_of=("draw", "student_std", "teacher")),
    ] = None


class SimulationPlan(Table, table="simulation"):
    """[simulation]: one-pass stochastic gradient descent.

    Args:
        [simulation]
    """

    runs: Annotated[int, Field(ge=1, le=100_000), Key("their number")] = 4
    method: Annotated[
        Literal["auto", "vectors", "gram"],
        Key(
            "vectors for explicit weight vectors, gram for their overlaps only, at the same law; "
            "auto: the cheaper one"
        ),
    ] = "auto"
    end: Annotated[NotNegative | None, Key("last time α; that of [time] when left out")] = None


class Time(Table, table="time"):
    """[time]: where results are wanted and how accurately.

    Args:
        [time]
    """

    end: Annotated[Positive | None, Key("last time α, examples / N")] = None
    points: Annotated[
        int, Field(ge=1, le=1_000_000), Key("number of times, the first of which is 0")
    ] = 200
    spacing: Annotated[Literal["log", "linear"], Key("of the times")] = "log"
    values: Annotated[
        list[NotNegative] | None,
        Key(
            "ascending times at which results are wanted, instead of end, points, spacing",
            instead_of=("end", "points", "spacing"),
        ),
    ] = None
    relative_tolerance: Annotated[
        float, Field(ge=1e-14, le=0.1, allow_inf_nan=False), Key("of Q, R and v")
    ] = 1e-9
    absolute_tolerance: Annotated[NotNegative, Key("of Q, R and v")] = 1e-14
    method: Annotated[
        Literal["auto", "explicit", "implicit"], Key("kind of steps; auto: by the problem")
    ] = "auto"
    compression: Annotated[
        Literal["auto", "on", "off"],
        Key("many eigenvalues as few nodes; auto: as the accuracy allows"),
    ] = "auto"

    @model_validator(mode="after")
    def _one_grid(self) -> Time:
        if self.values is None:
            return self
        if not self.values:
            raise conflict("values", "is empty; give at least one time")
        if any(b <= a for a, b in itertools.pairwise(self.values)):
            raise conflict("values", "must be ascending, each given once")
        return self

    @property
    def given(self) -> bool:
        """Whether there is an end or times."""
        return self.end is not None or self.values is not None

    def grid(self) -> np.ndarray:
        """Return the times at which results are wanted, ascending, shape (P,).

        With ``end`` and ``points`` the first is 0. Logarithmic spacing then starts at 0.01 or, for
        short runs, at a hundredth of the end.

        Raises:
            InputError: neither an end nor times were given.
        """
        import numpy as np

        if self.values is not None:
            return np.array(self.values)
        if self.end is None:
            raise InputError(
                "is missing; give time.end, or the times as time.values", argument="time.end"
            )
        return _times(self.end, self.points, self.spacing).copy()


@lru_cache(maxsize=16)
def _times(end: float, points: int, spacing: str) -> np.ndarray:
    """Return times from 0 to an end."""
    import numpy as np

    if points == 1:
        return np.array([end])
    if spacing == "linear":
        return np.linspace(0.0, end, points)
    first = min(1e-2, end / 100.0)
    times = np.concatenate(([0.0], np.geomspace(first, end, points - 1)))
    times[-1] = end
    return times


TABLES: dict[str, type[Table]] = {
    "network": Network,
    "training": Training,
    "initial": InitialState,
    "simulation": SimulationPlan,
    "time": Time,
}
"""The tables of single keys, by their names in a study."""


def all_records() -> Iterator[tuple[str, str, Key]]:
    """Table, name and record of every single key."""
    for name, table in TABLES.items():
        for key, record in table.RECORDS.items():
            yield name, key, record


def keys_acting(*where: str) -> tuple[str, ...]:
    """Return the full names of the keys of learning rules that act there; see :class:`Key`."""
    return tuple(f"{table}.{name}" for table, name, record in all_records() if record.acts in where)


RULE_KEYS: dict[str, tuple[str, ...]] = {
    name: tuple(key for table, key, record in all_records() if table == name and record.acts)
    for name in ("network", "training")
}
"""Keys of learning rules: left at their defaults they are plain descent of the squared loss."""
STATED_KEYS: dict[str, tuple[str, ...]] = {
    name: (record.needs,) if record.needs else ()
    for name, record in Training.RECORDS.items()
    if record.acts == "statement"
}
"""Those of [training] that are nothing but lines of the rule's statement, from which all else
follows, and the keys that each needs besides. They are numbers of the same names there."""
