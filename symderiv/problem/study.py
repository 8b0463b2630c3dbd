"""STUDY.toml: the keys of a study, their checks, sweeps and the canonical text.

Every refusal is an :class:`~symderiv.foundation.errors.InputError` of one line that starts with the
full name of the key. Reading a study does not import numba, and SymPy only if its loss has to be
looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import PrivateAttr, ValidationInfo, model_validator

from symderiv.formula import Activation, activation, evaluate_scalar
from symderiv.foundation.errors import FormulaError, InputError
from symderiv.foundation.files import read_file
from symderiv.foundation.progress import progress_bar
from symderiv.inputs.given import Given
from symderiv.keys.checked import Table, complements, record_of
from symderiv.keys.study_tables import (
    RULE_KEYS,
    STATED_KEYS,
    InitialState,
    Network,
    SimulationPlan,
    Time,
    Training,
)
from symderiv.keys.toml_text import read_toml, short_text, to_toml
from symderiv.problem.input_models import Data, Isotropic
from symderiv.problem.key_names import study_key
from symderiv.problem.rule_checks import check_rule
from symderiv.problem.rule_pairs import check_pairs
from symderiv.problem.task_table import Task

if TYPE_CHECKING:
    from symderiv.inputs import DataModel

# The text in results names larger arrays by their digest.
_MOST_NUMBERS = 1000

#: The default number N of independent coordinates of inputs: vectors drawn there overlap by about
# 1/√N.
DEFAULT_DIMENSION = 1000

#: The default end of a run: learning rate times the time after the beginning of its last task.
# Networks with two hidden units leave their plateau at about half of it.
DEFAULT_DURATION = 500.0


class Study(Table):
    """A checked study; see "The study file" in the manual for the keys.

    Every way to make one or a changed copy checks all of it; :meth:`changed` is the usual one.

    ``sweep`` holds the grid of a study file with [sweep]; the other tables are then those of its
    first combination. :func:`expand_sweep` gives one study per combination.
    """

    network: Network
    data: Data | None = None
    training: Training
    initial: InitialState = InitialState()
    simulation: SimulationPlan = SimulationPlan()
    time: Time = Time()
    task: list[Task] = []  # noqa: RUF012
    sweep: dict[str, list[Any]] = {}  # noqa: RUF012 - pydantic copies defaults

    _base: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _whole(self, info: ValidationInfo) -> Self:
        context = info.context or {}
        self._base = Path(context.get("base", ""))
        if self.data is None and self.initial.state is None:
            # not marked as set, so that a state may bring its own spectrum
            self.__dict__["data"] = Isotropic(DEFAULT_DIMENSION)
        timed = context.get("timed", True)
        if not self.time.given:
            # not marked as set, so that a changed copy's learning rate sets the end anew
            self.__dict__["time"] = self.time.ending(self._default_end())
        if timed:
            _ = self.alpha
        self._check_values(drawn=timed)
        return self

    def _default_end(self) -> float | None:
        """Return the default end of a run; None if nothing is learnt."""
        rate = self.training.learning_rate or self.second_layer_learning_rate
        begins = max((task.until or 0.0 for task in self.task), default=0.0)
        end = begins + DEFAULT_DURATION / rate if rate else math.inf
        return end if math.isfinite(end) else None

    def with_end(self) -> Self:
        """Return the study with its default end marked as given, for all runs of a grid."""
        if self.time.given or self.time.end is None:
            return self
        return self.changed({"time.end": self.time.end})

    @property
    def base(self) -> Path:
        """The folder that files of the study are relative to."""
        return self._base

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy as :class:`Table` does, with the same folder for files."""
        if not update:
            return super().model_copy(deep=deep)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        context = {"base": self._base, "timed": False}
        return self._made({**given, **update}, context)

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Return a copy with other values of some keys (``"training.learning_rate"``), checked.

        Raises:
            InputError: there is no such key, or its value is not acceptable.
        """
        tables: dict[str, Any] = {}
        for key, value in changes.items():
            table, _, name = key.partition(".")
            if not name:
                tables[table] = value
                continue
            if table not in tables:
                old = getattr(self, table, None)
                given = old.model_dump(exclude_unset=True) if isinstance(old, Table) else {}
                tables[table] = given
            tables[table][name] = value
            for other in complements(table, name):
                if f"{table}.{other}" not in changes:
                    tables[table].pop(other, None)
        return self.model_copy(update=tables)

    def by_default(self, *, started: bool = False, sized: bool = False) -> str:
        """Return, in one line, the default values on which the numbers of a run depend.

        Args:
            started: whether a start is given, so that none is drawn.
            sized: whether it is given by weights, which determine the dimension.
        """
        defaults = {}
        if "learning_rate" not in self.training.model_fields_set:
            defaults["learning_rate"] = self.training.learning_rate
        if "data" not in self.model_fields_set and self.data is not None and not sized:
            defaults["dimension"] = DEFAULT_DIMENSION
        if self.initial.state is None and not started:
            for name in ("student_std", "seed"):
                if name not in self.initial.model_fields_set:
                    defaults[name] = getattr(self.initial, name)
        if not self.time.given and self.time.end is not None:
            defaults["end"] = self.time.end
        texts = {n: f"{v:.8g}" if isinstance(v, float) else str(v) for n, v in defaults.items()}
        return ", ".join(f"{name} = {text}" for name, text in texts.items())

    @property
    def K(self) -> int:
        """Number of students."""
        return self.network.students

    @property
    def M(self) -> int:
        """Number of teachers."""
        return self.network.teachers

    @property
    def student_activation(self) -> str:
        return self.network.activation

    @property
    def teacher_activation(self) -> str:
        given = self.network.teacher_activation
        return self.network.activation if given is None else given

    @cached_property
    def student_weights(self) -> np.ndarray:
        """v at alpha = 0, shape (K,)."""
        return self._weights("student_weights", self.network.student_weights, self.K)

    @cached_property
    def teacher_weights(self) -> np.ndarray:
        """The teacher's output weights, shape (M,)."""
        return self._weights("teacher_weights", self.network.teacher_weights, self.M)

    @cached_property
    def student_biases(self) -> np.ndarray:
        """b at alpha = 0, shape (K,)."""
        return self._weights("student_biases", self.network.student_biases, self.K)

    @cached_property
    def teacher_biases(self) -> np.ndarray:
        """c, shape (M,)."""
        return self._weights("teacher_biases", self.network.teacher_biases, self.M)

    @cached_property
    def data_model(self) -> DataModel | None:
        """The input model, None when a state file brings the spectrum."""
        if self.data is None:
            return None
        try:
            return self.data.built(self._base)
        except InputError as error:
            raise error.renamed(f"data.{error.argument}") from None

    @property
    def state_file(self) -> Path | None:
        """The state file, relative to the study's own folder."""
        return None if self.initial.state is None else self._base / self.initial.state

    @property
    def input_files(self) -> tuple[Path, ...]:
        """All files that the study takes numbers from, relative to its own folder."""
        given = (
            self.initial.state,
            getattr(self.data, "file", None),
            getattr(self.data, "features", None),
        )
        return tuple(self._base / name for name in given if isinstance(name, str))

    @property
    def second_layer_learning_rate(self) -> float:
        """Learning rate of the output weights: its own value if given, otherwise the first layer's;
        0 for a fixed second layer.
        """
        return self.size("second_layer_learning_rate")

    @property
    def second_layer_weight_decay(self) -> float:
        """The second layer's weight decay; 0 for a fixed second layer."""
        return self.size("second_layer_weight_decay")

    def size(self, key: str) -> float:
        """Return the effective value of a number of [training]: 0 for untrained output weights."""
        fixed = key.startswith("second_layer") and not self.network.train_second_layer
        return 0.0 if fixed else self.training.size(key)

    @cached_property
    def rule_keys(self) -> tuple[str, ...]:
        """The keys that make the rule differ from plain descent of the squared loss."""
        own = [
            f"{table}.{key}"
            for table, keys in RULE_KEYS.items()
            for key in keys
            if not getattr(self, table).at_default(key)
        ]
        return (*own, *(("task",) if self.task else ()))

    @property
    def stated(self) -> tuple[str, ...]:
        """The keys of rules that consist of nothing but lines of their statement."""
        keys = (f"training.{key}" for key in STATED_KEYS)
        return tuple(key for key in keys if key in self.rule_keys)

    @cached_property
    def alpha(self) -> np.ndarray:
        """The times at which results are wanted; see :meth:`Time.grid`."""
        return self.time.grid()

    @cached_property
    def simulation_alpha(self) -> np.ndarray:
        """The times at which the simulation reports: those of the study up to [simulation] end."""
        end = self.simulation.end
        if end is None:
            return self.alpha
        inside = self.alpha[self.alpha <= end]
        return inside if inside.size and inside[-1] == end else np.append(inside, end)

    @cached_property
    def text(self) -> str:
        """The study with all defaults filled in; reads back to an equal study.

        Arrays of more than 1000 numbers are named by their digest.
        """
        return to_toml(self.tables(_MOST_NUMBERS))

    def tables(self, most_numbers: float = math.inf) -> dict[str, Any]:
        """Return the tables of the text, with all defaults filled in.

        Args:
            most_numbers: larger arrays are named by their digest.
        """
        tables = self.model_dump(mode="python", exclude_none=True)
        # keys at values of plain descent are left out
        for table, keys in RULE_KEYS.items():
            for key in keys:
                if f"{table}.{key}" not in self.rule_keys:
                    tables[table].pop(key, None)
        # ``keep`` has its value
        del tables["training"]["dropout"]
        if not self.task:
            del tables["task"]
        for key, value in tables.get("data", {}).items():
            if isinstance(value, Given):
                small = value.numbers <= most_numbers
                tables["data"][key] = value.value() if small else repr(value)
        # defaults next to keys that replace them would be refused when read back
        for name, each in (("data", self.data), ("initial", self.initial), ("time", self.time)):
            for key in () if each is None else each.idle():
                tables[name].pop(key, None)
        if self.initial.state is not None:
            for key in {"student_weights", "teacher_weights"} - self.network.model_fields_set:
                del tables["network"][key]
        return tables

    def only_plain(self, what: str) -> None:
        """Refuse any rule other than plain descent of the squared loss, by its first key.

        Args:
            what: the caller in words, which does not support other rules.

        Raises:
            InputError: the study has another rule.
        """
        if self.rule_keys:
            raise InputError(
                f"cannot be combined with {what}, which is derived for plain descent of the "
                "squared loss; remove the key",
                argument=self.rule_keys[0],
            )

    def _weights(self, key: str, given: float | list[float] | str, count: int) -> np.ndarray:
        if isinstance(given, list):
            if len(given) != count:
                raise InputError(
                    f"has {len(given)} entries, expected {count}", argument=f"network.{key}"
                )
            return np.array(given, dtype=np.float64)
        if isinstance(given, str):
            try:
                given = _weight(given, self.K, self.M)
            except FormulaError as error:
                raise error.renamed(f"network.{key}") from None
        return np.full(count, float(given))

    def _check_values(self, *, drawn: bool) -> None:
        """Make the checks that need more than one key.

        Args:
            drawn: whether vectors will be drawn, unless the study says otherwise.
        """
        for key, text in (
            ("activation", self.network.activation),
            ("teacher_activation", self.teacher_activation),
        ):
            try:
                _activation(text)
            except InputError as error:
                raise error.renamed(f"network.{key}") from None
        _ = self.student_weights, self.teacher_weights
        _ = self.student_biases, self.teacher_biases
        check_rule(self.network, self.training, self.task)
        model = self.data_model
        if model is not None and self.initial.state is None:
            if self.initial.draw == "sampled":
                latent = model.latent
                if drawn and latent is not None and latent.dimension is None:
                    raise InputError(
                        "the limit of infinitely many inputs has no vectors to draw; "
                        'use initial.draw = "mean", or give data.dimension and latent_dimension',
                        argument="data.latent_ratio",
                    )
                if drawn or model.dimension is not None:
                    model.multiplicities()
            assert self.data is not None
            key, size = self.data.DIMENSION, model.dimension
            if model.has_latent_teacher:
                assert model.latent is not None
                key, size = "latent_dimension", model.latent.dimension
            if self.initial.teacher == "orthogonal" and size is not None and size < self.M:
                raise InputError(
                    f"{self.M} orthogonal teachers do not fit into data.{key} = {size}",
                    argument="initial.teacher",
                )
        if self.rule_keys:
            check_pairs(self)


@lru_cache(maxsize=64)
def _weight(formula: str, K: int, M: int) -> float:
    return evaluate_scalar(formula, {"K": K, "M": M})


@lru_cache(maxsize=64)
def _activation(text: str) -> Activation:
    return activation(text)


def load_study(
    path: str | Path, *, timed: bool = True, changes: Mapping[str, Any] | None = None
) -> Study:
    """Read and check a study file; see :func:`study_from_mapping`.

    Raises:
        InputError: the file cannot be read, or anything in it is not acceptable.
    """
    path = Path(path)
    raw = read_file(path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    try:
        return parse_study(text, base=path.parent, timed=timed, changes=changes)
    except InputError as error:
        raise error.inside(path.name) from None


def parse_study(
    text: str,
    base: str | Path = ".",
    *,
    timed: bool = True,
    changes: Mapping[str, Any] | None = None,
) -> Study:
    """Check the text of a study; ``base`` is the folder to which file names in it are relative.

    Raises:
        InputError: not TOML, or a key or value is not acceptable; with a sweep, every combination
            is checked.
    """
    return study_from_mapping(with_values(read_toml(text), changes or {}), base, timed=timed)


def with_values(raw: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a study with other values of some keys, unchecked.

    A key that is set is no longer swept, and keys that exclude it are removed.

    Args:
        raw: the tables.
        changes: values by full keys; None removes a key.
    """
    tables = dict(raw)
    if changes and isinstance(tables.get("sweep"), Mapping):
        swept = _read_sweep(tables["sweep"])
        tables["sweep"] = {key: values for key, values in swept.items() if key not in changes}
    for key, value in changes.items():
        name, _, last = key.partition(".")
        table = tables.get(name, {})
        if not isinstance(table, Mapping):
            continue
        taken = {last} | {
            other for other in table if f"{name}.{other}" not in changes and _apart(key, other)
        }
        tables[name] = {other: each for other, each in table.items() if other not in taken}
        if value is not None:
            tables[name][last] = value
    return tables


def _apart(key: str, other: str) -> bool:
    """Return whether a key of the same table excludes another one."""
    table, _, last = key.partition(".")
    records = record_of(key), record_of(f"{table}.{other}")
    pairs = zip(records, (other, last), strict=True)
    replaced = (record is not None and name in record.instead_of for record, name in pairs)
    return other in complements(table, last) or any(replaced)


def study_from_mapping(
    raw: Mapping[str, Any], base: str | Path = ".", *, timed: bool = True
) -> Study:
    """Read as :func:`parse_study`, from nested dictionaries; for studies made by programs.

    Args:
        raw: the tables.
        base: the folder that files named in them are relative to.
        timed: whether a study without times of results is refused.
    """
    tables = dict(raw)
    sweep = _read_sweep(tables.pop("sweep", {}))
    studies = _combined(tables, sweep, Path(base), timed=timed)
    _, first = next(studies)
    if not sweep:
        return first
    for _ in studies:
        pass  # all are checked, none is kept
    return first.model_copy(update={"sweep": sweep})


def expand_sweep(study: Study) -> list[tuple[str, Study]]:
    """Return one study per combination of [sweep], with a label such as ``distinct_eigenvalues=4``.

    Combinations come in the order of the file, the last key varying fastest. Without a sweep the
    study itself is returned with an empty label.

    Args:
        study: The study, whose combinations are checked here.

    Raises:
        InputError: A combination is not a study; the message has its label.
    """
    if not study.sweep:
        return [("", study)]
    tables = study.model_dump(mode="python", exclude_unset=True)
    del tables["sweep"]
    return list(_combined(tables, study.sweep, study.base, timed=False))


def _combined(
    tables: Mapping[str, Any], sweep: Mapping[str, list[Any]], base: Path, *, timed: bool
) -> Iterator[tuple[str, Study]]:
    """Yield label and checked study of every combination; show progress if there are many."""
    count = math.prod(len(values) for values in sweep.values())
    with progress_bar("lines") as tell:
        for done, combination in enumerate(_combinations(sweep)):
            if count > 1:
                tell("checking the studies of the sweep", done / count)
            changed = tables
            for key, value in combination.items():
                changed = _replaced(changed, key.split("."), value, key)
            try:
                yield _label(combination), _checked(changed, base, timed=timed)
            except InputError as error:
                if not combination:
                    raise
                reason = f"{error.reason} (in [sweep] with {_label(combination)})"
                raise type(error)(reason, argument=error.argument, entry=error.entry) from None


def _checked(tables: Mapping[str, Any], base: Path, *, timed: bool = True) -> Study:
    return Study._made(tables, {"base": base, "timed": timed})


def _read_sweep(raw: Any, prefix: str = "") -> dict[str, list[Any]]:
    """Flatten [sweep]: ``"data.x" = […]`` and ``data.x = […]`` mean the same."""
    if not isinstance(raw, Mapping):
        raise InputError("must be a table of lists", argument="sweep")
    result: dict[str, list[Any]] = {}
    for key, value in raw.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            result.update(_read_sweep(value, f"{name}."))
            continue
        if not isinstance(value, list) or not value:
            raise InputError("must be a list of at least one value", argument=f"sweep.{name}")
        try:
            result[study_key(name)] = list(value)
        except InputError as error:
            raise error.renamed(f'sweep."{name}"') from None
    if math.prod(len(values) for values in result.values()) > 100_000:
        raise InputError("has more than 100000 combinations; give fewer values", argument="sweep")
    return result


def _combinations(sweep: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*sweep.values()):
        yield dict(zip(sweep, values, strict=True))


def _replaced(tables: Mapping[str, Any], path: list[str], value: Any, key: str) -> dict[str, Any]:
    table = tables.get(path[0], {})
    if not isinstance(table, Mapping):
        raise InputError(f"{path[0]}: should be a table")
    return {**tables, path[0]: {**table, path[1]: value}}


def _label(combination: Mapping[str, Any]) -> str:
    return ", ".join(f"{key.split('.')[-1]}={short_text(v)}" for key, v in combination.items())
