"""The tables of STUDY.toml: every key, declared once with its record."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from symderiv.formula.named_losses import NAMED
from symderiv.foundation.documents.mathparse import GREEK
from symderiv.foundation.errors import InputError
from symderiv.keys.checked import (
    NotNegative,
    Number,
    Positive,
    Probability,
    Seed,
    Table,
    Units,
    conflict,
)
from symderiv.keys.key_records import Key

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

MOST_POINTS = 1_000_000
"""The largest number of times of a result."""
_NOT_STATED = "training.loss", "training.target"
"""Keys that exclude rules which consist of nothing but lines of their statement."""


class Network(Table, table="network"):
    """[network]: the student and the teacher.

    Args:
        [network]
    """

    activation: Annotated[
        str, Key("activation of the students: a name, or a formula in ``x``", "g")
    ]
    teacher_activation: Annotated[
        str | None,
        Key("activation of the teachers: a name, or a formula in ``x``; g when left out", "g̃"),
    ] = None
    students: Annotated[Units, Key("number of student units", "K")]
    teachers: Annotated[Units, Key("number of teacher units", "M")]
    student_weights: Annotated[
        Weights, Key("output weights of the students; a text is a formula in K and M", "v")
    ] = "1/sqrt(M)"
    teacher_weights: Annotated[
        Weights, Key("output weights of the teachers; a text is a formula in K and M", "ṽ")
    ] = "1/sqrt(M)"
    train_second_layer: Annotated[
        bool,
        Key(
            "whether training changes the output weights v",
            sources={"RieglerBiehl1995": "output weights that are trained"},
        ),
    ] = False
    student_biases: Annotated[
        Number | list[Number],
        RuleKey("biases of the student units g(x_i + b_i)", "b", sources=_BIASES),
    ] = 0.0
    teacher_biases: Annotated[
        Number | list[Number],
        RuleKey("biases of the teacher units g̃(y_n + c_n)", "c", sources=_BIASES),
    ] = 0.0
    train_biases: Annotated[
        bool,
        RuleKey(
            "whether training changes the biases b, by gradient descent", sources=_TRAINED_BIASES
        ),
    ] = False


class Training(Table, table="training"):
    """[training]: the learning rule.

    Args:
        [training]
    """

    learning_rate: Annotated[
        NotNegative,
        Key(
            "learning rate of the first layer; results name the default where you gave none",
            "η",
            quick=True,
        ),
    ] = 0.5
    second_layer_learning_rate: Annotated[
        NotNegative | None,
        Key(
            "learning rate of the output weights; η when left out",
            "η_v",
            left_out="learning_rate",
            quick=True,
        ),
    ] = None
    order: Annotated[
        Literal["full", "small-learning-rate"],
        Key("whether the equations contain the terms of order η² (full) or not", quick=True),
    ] = "full"
    weight_decay: Annotated[
        NotNegative, Key("weight decay of the first layer", "κ", quick=True, sources=_DECAY)
    ] = 0.0
    second_layer_weight_decay: Annotated[
        NotNegative, Key("weight decay of the second layer", "κ_v", quick=True, sources=_DECAY)
    ] = 0.0
    label_noise: Annotated[
        NotNegative,
        Key(
            "standard deviation of Gaussian noise on the labels",
            "σ",
            quick=True,
            sources={"SaadSolla1997": "noise on labels"},
        ),
    ] = 0.0
    loss: Annotated[
        str,
        RuleKey(
            f"loss ℓ(s, t) of output s and target t: {', '.join(NAMED)}, or a formula in ``s`` and "
            "``t``",
            sources={"BenArous2021": "descent of losses other than the squared one"},
        ),
    ] = "squared"
    target: Annotated[
        Literal["sum", "sign"],
        RuleKey("target of the student: the output of the teacher, or its sign", sources=_SIGNS),
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
            "dropout: the probability that a student unit stays active for an example; errors use "
            "all units, with v times ``evaluation_scale``",
            sources=_DROPOUT,
        ),
    ] = 1.0
    dropout: Annotated[
        float,
        Field(ge=0.0, lt=1.0),
        Key(
            "the probability that a student unit is left out for an example: another way to write "
            "``keep``, which is 1 minus it",
            complement_of="keep",
        ),
    ] = 0.0
    evaluation_scale: Annotated[
        Number | None,
        RuleKey(
            "factor of v when errors are computed with dropout; ``keep`` when left out",
            left_out="keep",
            only_with="training.keep",
            sources=_DROPOUT,
        ),
    ] = None
    input_noise: Annotated[
        NotNegative,
        RuleKey(
            "standard deviation of noise on the inputs of the student, which sees ξ + σ_x ε; "
            "``noisy_error`` is the error at noisy inputs",
            "σ_x",
            sources={"Bishop1995": "noise on inputs"},
        ),
    ] = 0.0
    update_noise: Annotated[
        NotNegative,
        RuleKey(
            "noise on updates: every step adds σ_J ζ/√N to J_i, with ζ standard Gaussian; with "
            "``batch_ratio`` a step adds σ_J ζ",
            "σ_J",
            sources={"WellingTeh2011": "noise on updates"},
        ),
    ] = 0.0
    batch: Annotated[
        Annotated[int, Field(ge=1, le=10**9)] | None,
        RuleKey(
            "number of examples in a step, which descends their mean gradient; α counts examples",
            "b",
            acts="rates",
            sources={"Bordelon2022": "batches of examples"},
        ),
    ] = None
    batch_ratio: Annotated[
        Positive | None,
        RuleKey(
            "examples in a step per input: a step has b = cN examples, J ← J − η (√N/b) Σ F ξ; "
            "output weights and biases move N times as far as in a step of ``batch``",
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
            "momentum: V ← βV + step, and V is added to J, v and biases; weight decay acts "
            "directly, without momentum",
            "β",
            acts="rates",
            sources=_POLYAK,
        ),
    ] = 0.0
    momentum_rate: Annotated[
        Positive | None,
        RuleKey(
            "rate of momentum of order 1/N: 1 − β = γ/N, with steps N times smaller; with U = NV "
            "results have ``P`` = E u x, ``W`` = E u u, ``C`` = E u y",
            "γ",
            instead_of=("momentum",),
            apart=("training.batch_ratio", "training.normalise"),
            sources=_POLYAK,
        ),
    ] = None
    normalise: Annotated[
        Literal["none", "gradient", "sphere"],
        RuleKey(
            "normalisation of steps. gradient divides the steps of J by √(E Σ_i F_i² · E|ξ|²/N), "
            "the mean over examples at the present weights; sphere rescales each J_i after each "
            "step so that Q_ii is constant",
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
            "factor of all learning rates that depends on time: ``{times = […], rates = […]}`` is "
            "constant in between; ``{power = a, after = α₀}`` is 1 up to α₀, then (α/α₀)^(−a); a "
            "text is a formula in ``alpha``",
            acts="time",
            sources={"dAscoli2022": "learning rates that change in time"},
        ),
    ] = None
    bias_learning_rate: Annotated[
        NotNegative | None,
        RuleKey(
            "learning rate of the biases, b_i ← b_i − (η_b/N) F_i; η when left out",
            "η_b",
            left_out="learning_rate",
            only_with="network.train_biases",
            sources=_TRAINED_BIASES,
        ),
    ] = None
    sobolev_weight: Annotated[
        NotNegative,
        RuleKey(
            "weight of gradients in the loss: it gains λ/2 times the squared norm of the "
            "difference between the gradients of s and t by the input",
            "λ_∇",
            acts="statement",
            apart=_NOT_STATED,
            sources={"CzarneckiEtAl2017": "gradients of the teacher in the loss"},
        ),
    ] = 0.0
    consistency_weight: Annotated[
        NotNegative,
        RuleKey(
            "weight of a mean teacher: the loss gains λ/2 (s − a)², where a is the output of the "
            "averaged students A",
            "λ_A",
            acts="statement",
            needs="averaging_rate",
            apart=_NOT_STATED,
            sources=_AVERAGED,
        ),
    ] = 0.0
    averaging_rate: Annotated[
        Positive | None,
        RuleKey(
            "rate of averaging the students, A ← A + γ (J − A)/N, from A = J; results have "
            "``J.A``, ``A.A``, ``A.B``",
            "γ_A",
            only_with="training.consistency_weight",
            sources=_AVERAGED,
        ),
    ] = None

    @model_validator(mode="after")
    def _one_rule(self) -> Training:
        if self.schedule is not None:
            check_schedule(self.schedule)
        return self

    def size(self, key: str) -> float:
        """Return a number; if it is left out, the value of the key that is its default, or 0."""
        value = getattr(self, key)
        if value is None and (other := self.RECORDS[key].left_out):
            return self.size(other)
        return float(value or 0.0)


def check_schedule(schedule: str | dict[str, Number | list[Number]]) -> None:
    """Refuse a schedule that is neither a formula, nor a table of times, nor a power."""
    if isinstance(schedule, str):
        return  # checked where formulas are read
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


def late_formula(schedule: object) -> str | None:
    """Return the formula in ``alpha`` of a schedule at late times; None if it is a table."""
    if isinstance(schedule, dict) and "power" in schedule:
        return f"(alpha/{schedule['after']!r})**(-({schedule['power']!r}))"
    return schedule if isinstance(schedule, str) else None


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
        Key("whether teachers are drawn at random, or are exactly orthogonal with squared norm N"),
    ] = "random"
    draw: Annotated[
        Literal["sampled", "mean"],
        Key(
            "whether the run begins with overlaps of drawn vectors, or with the mean of such "
            "overlaps"
        ),
    ] = "sampled"
    seed: Annotated[Seed, Key("seed of the drawn vectors", quick=True)] = 0
    state: Annotated[
        str | None,
        Key(
            "name of a state file, which replaces the drawn vectors",
            instead_of=("draw", "student_std", "teacher"),
        ),
    ] = None


class SimulationPlan(Table, table="simulation"):
    """[simulation]: one-pass stochastic gradient descent.

    Args:
        [simulation]
    """

    runs: Annotated[int, Field(ge=1, le=100_000), Key("number of independent runs")] = 4
    method: Annotated[
        Literal["auto", "vectors", "gram"],
        Key(
            "method of simulation: vectors keeps the weight vectors, gram only their overlaps, "
            "with the same distribution; auto chooses the faster one"
        ),
    ] = "auto"
    end: Annotated[
        NotNegative | None, Key("last time α of the simulation; the end in [time] when left out")
    ] = None


class Time(Table, table="time"):
    """[time]: where results are wanted and how accurately.

    Args:
        [time]
    """

    end: Annotated[
        Positive | None,
        Key(
            "last time α = examples / N; when left out, 500 divided by the learning rate, counted "
            "from the beginning of the last task"
        ),
    ] = None
    points: Annotated[int, Field(ge=1, le=MOST_POINTS), Key("number of times; the first is 0")] = (
        200
    )
    spacing: Annotated[Literal["log", "linear"], Key("spacing of the times")] = "log"
    values: Annotated[
        list[NotNegative] | None,
        Key(
            "ascending times of the results; they replace end, points and spacing",
            instead_of=("end", "points", "spacing"),
        ),
    ] = None
    relative_tolerance: Annotated[
        float, Field(ge=1e-14, le=0.1, allow_inf_nan=False), Key("relative tolerance of Q, R and v")
    ] = 1e-9
    absolute_tolerance: Annotated[NotNegative, Key("absolute tolerance of Q, R and v")] = 1e-14
    method: Annotated[
        Literal["auto", "explicit", "implicit"],
        Key("kind of time steps; auto chooses by the problem"),
    ] = "auto"
    compression: Annotated[
        Literal["auto", "on", "off"],
        Key(
            "whether a few nodes represent many eigenvalues; auto does so where the accuracy "
            "allows it"
        ),
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
        """True if an end or times are given; otherwise the end is a default."""
        given = self.end is not None and "end" in self.model_fields_set
        return given or self.values is not None

    def ending(self, end: float | None) -> Time:
        """Return these times with another end, not marked as given."""
        times = self.model_copy()
        times.__dict__["end"] = end
        return times

    def grid(self) -> np.ndarray:
        """Return the times at which results are wanted, ascending, shape (P,).

        With ``end`` and ``points`` the first is 0. Logarithmic spacing then starts at 0.01 or, for
        short runs, at a hundredth of the end.

        Raises:
            InputError: neither an end nor times were given, and nothing is learnt.
        """
        import numpy as np

        if self.values is not None:
            return np.array(self.values)
        if self.end is None:
            raise InputError(
                "is missing and has no default, because the learning rate is 0; give time.end, or "
                "the times as time.values",
                argument="time.end",
            )
        return _times(self.end, self.points, self.spacing).copy()


@lru_cache(maxsize=16)
def _times(end: float, points: int, spacing: str) -> np.ndarray:
    """Return times from 0 to an end, spaced linearly or logarithmically."""
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
"""The tables without input models, by their names in a study."""


def all_records() -> Iterator[tuple[str, str, Key]]:
    """Yield table, name and record of every key in these tables."""
    for name, table in TABLES.items():
        for key, record in table.RECORDS.items():
            yield name, key, record


def keys_acting(*where: str) -> tuple[str, ...]:
    """Return the full names of the keys of learning rules that act in these ways; see
    :class:`Key`.
    """
    return tuple(f"{table}.{name}" for table, name, record in all_records() if record.acts in where)


RULE_KEYS: dict[str, tuple[str, ...]] = {
    name: tuple(key for table, key, record in all_records() if table == name and record.acts)
    for name in ("network", "training")
}
"""Keys of learning rules; their defaults are plain descent of the squared loss."""
STATED_KEYS: dict[str, tuple[str, ...]] = {
    name: (record.needs,) if record.needs else ()
    for name, record in Training.RECORDS.items()
    if record.acts == "statement"
}
"""Keys of [training] for rules that consist of nothing but lines of their statement, each with the
keys that it needs; the statement has numbers of the same names."""
LEARNING_RATES: tuple[str, ...] = tuple(
    name for name in Training.RECORDS if name.endswith("learning_rate")
)
"""Keys of [training] that schedules multiply: rates of the first layer, output weights, biases."""


def letter_of(name: str) -> tuple[str, str]:
    r"""Return the letter of a number of learning rules in LaTeX, and its index.

    >>> letter_of("second_layer_weight_decay"), letter_of("keep")
    (('\\kappa', 'v'), ('', ''))

    Args:
        name: A key of [training], or any other name, which has no letter.
    """
    record = Training.RECORDS.get(name)
    letter, _, index = record.letter.partition("_") if record else ("", "", "")
    in_latex = {unicode: name for name, unicode in GREEK.items()} | {"∇": r"\nabla"}
    return in_latex.get(letter, letter), in_latex.get(index, index)
