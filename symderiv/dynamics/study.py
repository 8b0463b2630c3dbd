"""STUDY.toml: the keys of a study, their checks, sweeps and the canonical text.

Every refusal is an :class:`~symderiv.errors.InputError` of one line that starts with the full name
of the key. Reading a study imports neither SymPy nor numba.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from symderiv.data import DataModel, isotropic, power_law, spectrum
from symderiv.errors import FormulaError, InputError, NotYetError
from symderiv.expressions import activation, evaluate_scalar

# Bounds on counts keep a slip of the finger from asking for all the memory of the machine.
_Units = Annotated[int, Field(ge=1, le=1000)]
_Dimension = Annotated[int, Field(ge=1, le=10**9)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
_Weights = _Number | list[_Number] | str

_MODELS_LATER = ("covariance", "hidden-manifold", "generator", "gaussian-mixture")
_REPLACED_BY_STATE = ("draw", "student_std", "teacher")
_REPLACED_BY_VALUES = ("end", "points", "spacing")
_MODELS = ("isotropic", "spectrum", "power-law")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Network(_Table):
    """[network]: the student and the teacher."""

    activation: str
    teacher_activation: str | None = None
    students: _Units
    teachers: _Units
    student_weights: _Weights = "1/sqrt(M)"
    teacher_weights: _Weights = "1/sqrt(M)"
    train_second_layer: bool = False


class Isotropic(_Table):
    """[data] model = "isotropic"."""

    model: Literal["isotropic"]
    dimension: _Dimension | None = None

    def build(self) -> DataModel:
        return isotropic(self.dimension)


class Spectrum(_Table):
    """[data] model = "spectrum"."""

    model: Literal["spectrum"]
    dimension: _Dimension | None = None
    eigenvalues: list[_Number]
    weights: list[_Number] | None = None

    def build(self) -> DataModel:
        return spectrum(self.eigenvalues, self.weights, self.dimension)


class PowerLaw(_Table):
    """[data] model = "power-law"."""

    model: Literal["power-law"]
    dimension: _Dimension | None = None
    distinct_eigenvalues: _Dimension
    exponent: _Number

    def build(self) -> DataModel:
        return power_law(self.distinct_eigenvalues, self.exponent, self.dimension)


Data = Annotated[Isotropic | Spectrum | PowerLaw, Field(discriminator="model")]


class Training(_Table):
    """[training]: the learning rule."""

    learning_rate: _NotNegative
    second_layer_learning_rate: _NotNegative | None = None
    order: Literal["full", "small-learning-rate"] = "full"
    weight_decay: _NotNegative = 0.0
    second_layer_weight_decay: _NotNegative = 0.0
    label_noise: _NotNegative = 0.0


class InitialState(_Table):
    """[initial]: drawn vectors, their mean, or a state file."""

    student_std: _NotNegative = 0.01
    teacher: Literal["random", "orthogonal"] = "random"
    draw: Literal["sampled", "mean"] = "sampled"
    seed: Annotated[int, Field(ge=0, lt=2**128)] = 0
    state: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InitialState:
        given = [key for key in _REPLACED_BY_STATE if key in self.model_fields_set]
        if self.state is not None and given:
            raise PydanticCustomError(
                "conflict",
                f"state: given together with {given[0]}; a state file replaces it, remove one",
            )
        return self


class Simulation(_Table):
    """[simulation]: one-pass stochastic gradient descent."""

    runs: Annotated[int, Field(ge=1, le=100_000)] = 4
    method: Literal["auto", "vectors", "gram"] = "auto"
    end: _NotNegative | None = None


class Time(_Table):
    """[time]: where results are wanted and how accurately."""

    end: _Positive | None = None
    points: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    spacing: Literal["log", "linear"] = "log"
    values: list[_NotNegative] | None = None
    relative_tolerance: Annotated[float, Field(ge=1e-14, le=0.1, allow_inf_nan=False)] = 1e-9
    absolute_tolerance: _NotNegative = 1e-14

    @model_validator(mode="after")
    def _one_grid(self) -> Time:
        given = [key for key in _REPLACED_BY_VALUES if key in self.model_fields_set]
        if self.values is None:
            if self.end is None:
                raise PydanticCustomError("missing_end", "end: missing; give it, or values")
            return self
        if given:
            raise PydanticCustomError(
                "conflict", f"values: given together with {given[0]}; they replace it, remove one"
            )
        if not self.values:
            raise PydanticCustomError("empty", "values: is empty; give at least one time")
        if any(b <= a for a, b in itertools.pairwise(self.values)):
            raise PydanticCustomError("order", "values: must be ascending, each given once")
        return self


class Study(_Table):
    """A checked study; see interface "STUDY.toml" in the README for the keys.

    ``sweep`` holds the grid of a study file with [sweep]; the other tables are then those of its
    first combination. :func:`expand_sweep` gives one study per combination.
    """

    network: Network
    data: Data | None = None
    training: Training
    initial: InitialState = InitialState()
    simulation: Simulation = Simulation()
    time: Time
    sweep: dict[str, list[Any]] = {}  # noqa: RUF012 - pydantic copies defaults

    _base: Path = PrivateAttr(default=Path())

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
        return self.network.teacher_activation or self.network.activation

    @cached_property
    def student_weights(self) -> np.ndarray:
        """v at alpha = 0, shape (K,)."""
        return self._weights("student_weights", self.network.student_weights, self.K)

    @cached_property
    def teacher_weights(self) -> np.ndarray:
        """The teacher's output weights, shape (M,)."""
        return self._weights("teacher_weights", self.network.teacher_weights, self.M)

    @cached_property
    def data_model(self) -> DataModel | None:
        """The input model, None when a state file brings the spectrum."""
        if self.data is None:
            return None
        try:
            return self.data.build()
        except InputError as error:
            raise type(error)(f"data.{error}") from None

    @property
    def state_file(self) -> Path | None:
        """The state file, relative to the study's own folder."""
        return None if self.initial.state is None else self._base / self.initial.state

    @property
    def second_layer_learning_rate(self) -> float:
        """Its own value when given, otherwise the first layer's; 0 for a fixed second layer."""
        if not self.network.train_second_layer:
            return 0.0
        given = self.training.second_layer_learning_rate
        return self.training.learning_rate if given is None else given

    @property
    def second_layer_weight_decay(self) -> float:
        """0 for a fixed second layer."""
        trained = self.network.train_second_layer
        return self.training.second_layer_weight_decay if trained else 0.0

    @cached_property
    def alpha(self) -> np.ndarray:
        """The times at which results are wanted, ascending, shape (P,).

        With ``end`` and ``points`` the first is 0. Logarithmic spacing then starts at 0.01 or, for
        short runs, at a hundredth of the end.
        """
        if self.time.values is not None:
            return np.array(self.time.values)
        assert self.time.end is not None
        end, points = self.time.end, self.time.points
        if points == 1:
            return np.array([end])
        if self.time.spacing == "linear":
            return np.linspace(0.0, end, points)
        first = min(1e-2, end / 100.0)
        times = np.concatenate(([0.0], np.geomspace(first, end, points - 1)))
        times[-1] = end
        return times

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
        """The study with all defaults filled in; reads back to an equal study."""
        tables = self.model_dump(mode="python", exclude_none=True)
        # a default next to what replaces it would be refused when read back
        if self.initial.state is not None:
            for key in _REPLACED_BY_STATE:
                del tables["initial"][key]
            for key in {"student_weights", "teacher_weights"} - self.network.model_fields_set:
                del tables["network"][key]
        if self.time.values is not None:
            for key in _REPLACED_BY_VALUES:
                tables["time"].pop(key, None)
        return _to_toml(tables)

    def _weights(self, key: str, given: float | list[float] | str, count: int) -> np.ndarray:
        if isinstance(given, list):
            if len(given) != count:
                raise InputError(f"network.{key}: has {len(given)} entries, expected {count}")
            return np.array(given, dtype=np.float64)
        if isinstance(given, str):
            try:
                given = evaluate_scalar(given, {"K": self.K, "M": self.M})
            except FormulaError as error:
                raise FormulaError(f"network.{key}: {error}") from None
        return np.full(count, float(given))

    def _check_values(self) -> None:
        """The checks that need more than one key."""
        for key, text in (
            ("activation", self.network.activation),
            ("teacher_activation", self.teacher_activation),
        ):
            try:
                activation(text)
            except InputError as error:
                raise type(error)(f"network.{key}: {error}") from None
        _ = self.student_weights, self.teacher_weights
        model = self.data_model
        if model is not None and self.initial.state is None:
            if self.initial.draw == "sampled":
                model.multiplicities()
            if self.initial.teacher == "orthogonal" and model.dimension is not None:
                if self.M > model.dimension:
                    raise InputError(
                        f"initial.teacher: {self.M} orthogonal teachers do not fit into "
                        f"data.dimension = {model.dimension}"
                    )
        if model is None and self.initial.state is None:
            raise InputError("data: missing; give [data] or initial.state")
        if self.simulation.method == "gram":
            raise NotYetError('simulation.method: "gram" is not there yet; use "vectors" or "auto"')


def load_study(path: str | Path) -> Study:
    """Read and check a study file.

    Raises:
        InputError: the file cannot be read, or anything in it is not acceptable.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'cannot be read'}") from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    try:
        return parse_study(text, base=path.parent)
    except InputError as error:
        raise type(error)(f"{path.name}: {error}") from None


def parse_study(text: str, base: str | Path = ".") -> Study:
    """Check the text of a study; ``base`` is the folder that a state file is relative to.

    Raises:
        InputError: not TOML, or a key or value is not acceptable; with a sweep, every combination
            is checked.
    """
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"not a TOML file: {error}") from None
    return study_from_mapping(raw, base)


def study_from_mapping(raw: Mapping[str, Any], base: str | Path = ".") -> Study:
    """As :func:`parse_study`, from nested dictionaries; for studies made by programs."""
    tables = dict(raw)
    sweep = _read_sweep(tables.pop("sweep", {}))
    combinations = list(_combinations(sweep))
    first: Study | None = None
    for combination in combinations:
        changed = tables
        for key, value in combination.items():
            changed = _replaced(changed, key.split("."), value, key)
        try:
            study = _checked(changed, Path(base))
        except InputError as error:
            if not combination:
                raise
            raise type(error)(f"{error} (in [sweep] with {_label(combination)})") from None
        first = first or study
    assert first is not None
    if not sweep:
        return first
    result = first.model_copy(update={"sweep": sweep})
    result._base = Path(base)
    for name in ("text", "data_model", "student_weights", "teacher_weights", "alpha"):
        result.__dict__.pop(name, None)
    return result


def expand_sweep(study: Study) -> list[tuple[str, Study]]:
    """One study per combination of [sweep], with a label such as ``distinct_eigenvalues=4``.

    Combinations come in the order of the file, the last key varying fastest. A study without a
    sweep gives itself with an empty label.
    """
    if not study.sweep:
        return [("", study)]
    tables = study.model_dump(mode="python", exclude_unset=True)
    del tables["sweep"]
    result = []
    for combination in _combinations(study.sweep):
        changed: dict[str, Any] = tables
        for key, value in combination.items():
            changed = _replaced(changed, key.split("."), value, key)
        result.append((_label(combination), _checked(changed, study._base)))
    return result


def _checked(tables: Mapping[str, Any], base: Path) -> Study:
    data = tables.get("data")
    if isinstance(data, Mapping):
        model = data.get("model")
        if isinstance(model, str) and model in _MODELS_LATER:
            raise NotYetError(
                f'data.model: "{model}" is not there yet; use one of {", ".join(_MODELS)}'
            )
    try:
        study = Study.model_validate(tables)
    except ValidationError as error:
        raise InputError(_explain(error)) from None
    study._base = base
    study._check_values()
    return study


def _explain(error: ValidationError) -> str:
    """One line for everything that pydantic found, each with the full name of its key."""
    found: dict[str, str] = {}
    for item in error.errors(include_url=False, include_context=True):
        kind = item["type"]
        # the tag of the union of data models, and the branches of "number, list or text"
        branches = {*_MODELS, "str", "float", "list[float]", "constrained-float"}
        where = [
            part
            for part in item["loc"]
            if not (isinstance(part, str) and (part in branches or part.startswith("list[")))
        ]
        name = ".".join(str(p) if isinstance(p, str) else f"[{p}]" for p in where)
        name = name.replace(".[", "[")
        value = _short(item.get("input"))
        if kind == "extra_forbidden":
            reason = _unknown_key(item["loc"])
        elif kind == "missing":
            reason = "missing"
        elif kind in ("union_tag_not_found", "union_tag_invalid"):
            name += ".model"
            model = item["input"].get("model") if isinstance(item["input"], Mapping) else None
            models = ", ".join((*_MODELS, *_MODELS_LATER))
            reason = f"must be one of {models}" + (
                f"; got {_short(model)}" if kind == "union_tag_invalid" else ", but is missing"
            )
        elif kind in ("conflict", "missing_end", "empty", "order"):
            tail, _, reason = item["msg"].partition(": ")
            name = f"{name}.{tail}"
        else:
            reason = f"{_plain(item['msg'])}; got {value}"
        found.setdefault(name, reason)
    # "weights" is wrong because "weights[1]" is: the second says it all
    names = [n for n in found if not any(o.startswith(f"{n}[") for o in found)]
    return "; ".join(f"{name}: {found[name]}" for name in names[:5])


def _plain(message: str) -> str:
    message = re.sub(r" or (instance of \w+|object to extract fields from)", "", message)
    message = message.replace("Input should", "should").replace("a valid integer", "an integer")
    return message.replace("valid ", "").replace("dictionary", "table")


def _unknown_key(where: tuple[int | str, ...]) -> str:
    name = str(where[-1])
    if len(where) == 3 and where[0] == "data":
        known = [key for m in (Isotropic, Spectrum, PowerLaw) for key in m.model_fields]
        if name in known:
            return f'does not belong to model = "{where[1]}"'
    else:
        known = _known_keys(list(where[:-1]))
    close = _closest(name, known)
    return "unknown key" + (f"; did you mean {close}?" if close else "")


def _short(value: Any) -> str:
    text = _value_to_toml(value) if not isinstance(value, Mapping) else "a table"
    return text if len(text) <= 40 else text[:37] + "..."


def _known_keys(where: list[Any]) -> list[str]:
    tables: dict[str, list[type[BaseModel]]] = {
        "network": [Network],
        "data": [Isotropic, Spectrum, PowerLaw],
        "training": [Training],
        "initial": [InitialState],
        "simulation": [Simulation],
        "time": [Time],
    }
    models = tables.get(str(where[0]), []) if where else [Study]
    return [name for model in models for name in model.model_fields]


def _closest(name: str, known: list[str]) -> str | None:
    import difflib

    matches = difflib.get_close_matches(name, known, n=1)
    return matches[0] if matches else None


def _read_sweep(raw: Any, prefix: str = "") -> dict[str, list[Any]]:
    """Flatten [sweep]: ``"data.x" = […]`` and ``data.x = […]`` mean the same."""
    if not isinstance(raw, Mapping):
        raise InputError("sweep: must be a table of lists")
    result: dict[str, list[Any]] = {}
    for key, value in raw.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            result.update(_read_sweep(value, f"{name}."))
            continue
        if not isinstance(value, list) or not value:
            raise InputError(f"sweep.{name}: must be a list of at least one value")
        parts = name.split(".")
        if len(parts) != 2 or parts[1] not in _known_keys(parts[:1]):
            raise InputError(f'sweep."{name}": is not the name of a study\'s key (table.key)')
        result[name] = list(value)
    if math.prod(len(values) for values in result.values()) > 100_000:
        raise InputError("sweep: more than 100000 combinations")
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
    return ", ".join(f"{key.split('.')[-1]}={_short(v)}" for key, v in combination.items())


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _to_toml(tables: Mapping[str, Any]) -> str:
    lines: list[str] = []
    for title, table in tables.items():
        if not table:
            continue
        lines += ([""] if lines else []) + [f"[{title}]"]
        for key, value in table.items():
            name = key if _BARE.fullmatch(key) else _value_to_toml(key)
            lines.append(f"{name} = {_value_to_toml(value)}")
    return "\n".join(lines) + "\n"


def _value_to_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        escaped = re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m.group()):04x}", escaped)
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(_value_to_toml(item) for item in value) + "]"
    return repr(value)
