"""The tables of STUDY.toml and what is wrong with one, in words."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from symderiv.data import (
    DataModel,
    covariance,
    generator,
    hidden_manifold,
    hidden_manifold_limit,
    isotropic,
    mixed_spectra,
    mixture_manifold,
    power_law,
    spectrum,
)
from symderiv.data.array_files import read_matrix
from symderiv.data.mixture import Mixture, uniform_means
from symderiv.dynamics.toml_text import short_text

# Bounds on counts keep a slip of the finger from asking for all the memory of the machine.
_Units = Annotated[int, Field(ge=1, le=1000)]
_Dimension = Annotated[int, Field(ge=1, le=10**9)]
_Number = Annotated[float, Field(allow_inf_nan=False)]
_NotNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
_Weights = _Number | list[_Number] | str

REPLACED_BY_STATE = ("draw", "student_std", "teacher")
REPLACED_BY_VALUES = ("end", "points", "spacing")
MODELS = (
    "isotropic",
    "spectrum",
    "power-law",
    "covariance",
    "hidden-manifold",
    "generator",
    "gaussian-mixture",
)


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Network(Table):
    """[network]: the student and the teacher."""

    activation: str
    teacher_activation: str | None = None
    students: _Units
    teachers: _Units
    student_weights: _Weights = "1/sqrt(M)"
    teacher_weights: _Weights = "1/sqrt(M)"
    train_second_layer: bool = False


class Isotropic(Table):
    """[data] model = "isotropic"."""

    model: Literal["isotropic"]
    dimension: _Dimension | None = None

    def build(self, base: Path) -> DataModel:
        return isotropic(self.dimension)


class Spectrum(Table):
    """[data] model = "spectrum"."""

    model: Literal["spectrum"]
    dimension: _Dimension | None = None
    eigenvalues: list[_Number]
    weights: list[_Number] | None = None

    def build(self, base: Path) -> DataModel:
        return spectrum(self.eigenvalues, self.weights, self.dimension)


class PowerLaw(Table):
    """[data] model = "power-law"."""

    model: Literal["power-law"]
    dimension: _Dimension | None = None
    distinct_eigenvalues: _Dimension
    exponent: _Number

    def build(self, base: Path) -> DataModel:
        return power_law(self.distinct_eigenvalues, self.exponent, self.dimension)


class Covariance(Table):
    """[data] model = "covariance": a matrix or samples in a file."""

    model: Literal["covariance"]
    file: Annotated[str, Field(min_length=1)]
    array: str | None = None
    dimension: _Dimension | None = None
    distinct_eigenvalues: _Dimension | None = None
    grouping_tolerance: Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False)] | None = None
    normalise: bool = False

    def build(self, base: Path) -> DataModel:
        return covariance(
            base / self.file,
            self.array,
            distinct_eigenvalues=self.distinct_eigenvalues,
            grouping_tolerance=self.grouping_tolerance,
            normalise=self.normalise,
            dimension=self.dimension,
            name=self.file,
        )


class HiddenManifold(Table):
    """[data] model = "hidden-manifold": x = f(F c/sqrt(D)) - E f, the teacher acts on c."""

    model: Literal["hidden-manifold"]
    nonlinearity: str
    dimension: _Dimension | None = None
    latent_dimension: _Dimension | None = None
    features: Annotated[str, Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**128)] = 0
    latent_ratio: _Positive | None = None
    nodes: Annotated[int, Field(ge=1, le=100_000)] | None = None

    @model_validator(mode="after")
    def _finite_or_limit(self) -> HiddenManifold:
        finite = [
            key
            for key in ("dimension", "latent_dimension", "features", "seed")
            if key in self.model_fields_set
        ]
        if self.latent_ratio is not None:
            if finite:
                raise PydanticCustomError(
                    "conflict",
                    f"latent_ratio: given together with {finite[0]}; it asks for the limit of "
                    "infinite dimensions, remove one",
                )
            return self
        for key in ("dimension", "latent_dimension"):
            if getattr(self, key) is None:
                raise PydanticCustomError(
                    "missing_end", f"{key}: missing; give it, or latent_ratio for the limit"
                )
        if self.nodes is not None:
            raise PydanticCustomError("conflict", "nodes: belongs to latent_ratio; remove it")
        return self

    def build(self, base: Path) -> DataModel:
        if self.latent_ratio is not None:
            nodes = {} if self.nodes is None else {"nodes": self.nodes}
            return hidden_manifold_limit(self.latent_ratio, self.nonlinearity, **nodes)
        assert self.dimension is not None
        assert self.latent_dimension is not None
        shape = self.dimension, self.latent_dimension
        features = _features(self.features, shape, self.seed, base)
        return hidden_manifold(*shape, self.nonlinearity, features)


def _features(file: str | None, shape: tuple[int, int], seed: int, base: Path) -> np.ndarray:
    """F from a file, or independent normal numbers of a seed."""
    if file is None:
        random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
        return random.standard_normal(shape)
    _, found = read_matrix(base / file, ("features",), None, name=file)
    return found.astype(np.float64)


class GaussianMixture(Table):
    """[data] model = "gaussian-mixture": components of inputs, or of what inputs are made from.

    With ``eigenvalues`` each component has centred inputs with a spectrum of its own in a common
    eigenbasis. Otherwise it is a hidden manifold of mixed latent vectors.
    """

    model: Literal["gaussian-mixture"]
    dimension: _Dimension | None = None
    probabilities: list[_Positive] | None = None
    eigenvalues: list[list[_Number]] | None = None
    weights: list[_Number] | None = None
    nonlinearity: str | None = None
    latent_dimension: _Dimension | None = None
    components: Annotated[int, Field(ge=1, le=1000)] | None = None
    separation: _NotNegative | None = None
    assignment: Literal["sample", "coordinate"] | None = None
    means: Literal["common", "coordinate"] = "coordinate"
    standardise: bool = True
    features: Annotated[str, Field(min_length=1)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**128)] = 0

    @model_validator(mode="after")
    def _one_kind(self) -> GaussianMixture:
        latent = ("nonlinearity", "latent_dimension", "components", "separation", "assignment")
        if self.eigenvalues is None:
            for key in ("dimension", *latent):
                if getattr(self, key) is None:
                    raise PydanticCustomError(
                        "missing_end", f"{key}: missing; give it, or eigenvalues per component"
                    )
            if self.weights is not None:
                raise PydanticCustomError("conflict", "weights: belongs to eigenvalues; remove it")
            return self
        given = [
            key
            for key in (*latent, "means", "standardise", "features", "seed")
            if key in self.model_fields_set
        ]
        if given:
            raise PydanticCustomError(
                "conflict", f"eigenvalues: given together with {given[0]}; remove one"
            )
        if self.probabilities is None:
            raise PydanticCustomError("missing_end", "probabilities: missing")
        return self

    def build(self, base: Path) -> DataModel:
        if self.eigenvalues is not None:
            assert self.probabilities is not None
            return mixed_spectra(self.probabilities, self.eigenvalues, self.weights, self.dimension)
        assert self.dimension is not None
        assert self.latent_dimension is not None
        assert self.components is not None
        assert self.separation is not None
        assert self.assignment is not None
        assert self.nonlinearity is not None
        m = self.components
        p = np.full(m, 1.0 / m) if self.probabilities is None else np.array(self.probabilities)
        shape = self.dimension, self.latent_dimension
        means = uniform_means(m, shape[1], self.separation, self.means, self.seed)
        mixture = Mixture(means, p, self.assignment, self.standardise)
        features = _features(self.features, shape, self.seed, base)
        return mixture_manifold(self.dimension, self.nonlinearity, features, mixture)


class Generator(Table):
    """[data] model = "generator": covariances Omega and Phi of a generator's outputs in a file."""

    model: Literal["generator"]
    file: Annotated[str, Field(min_length=1)]

    def build(self, base: Path) -> DataModel:
        return generator(base / self.file, name=self.file)


_MODELS = (
    Isotropic,
    Spectrum,
    PowerLaw,
    Covariance,
    HiddenManifold,
    Generator,
    GaussianMixture,
)
Data = Annotated[
    Isotropic | Spectrum | PowerLaw | Covariance | HiddenManifold | Generator | GaussianMixture,
    Field(discriminator="model"),
]


class Training(Table):
    """[training]: the learning rule."""

    learning_rate: _NotNegative
    second_layer_learning_rate: _NotNegative | None = None
    order: Literal["full", "small-learning-rate"] = "full"
    weight_decay: _NotNegative = 0.0
    second_layer_weight_decay: _NotNegative = 0.0
    label_noise: _NotNegative = 0.0


class InitialState(Table):
    """[initial]: drawn vectors, their mean, or a state file."""

    student_std: _NotNegative = 0.01
    teacher: Literal["random", "orthogonal"] = "random"
    draw: Literal["sampled", "mean"] = "sampled"
    seed: Annotated[int, Field(ge=0, lt=2**128)] = 0
    state: str | None = None

    @model_validator(mode="after")
    def _one_source(self) -> InitialState:
        given = [key for key in REPLACED_BY_STATE if key in self.model_fields_set]
        if self.state is not None and given:
            raise PydanticCustomError(
                "conflict",
                f"state: given together with {given[0]}; a state file replaces it, remove one",
            )
        return self


class Simulation(Table):
    """[simulation]: one-pass stochastic gradient descent."""

    runs: Annotated[int, Field(ge=1, le=100_000)] = 4
    method: Literal["auto", "vectors", "gram"] = "auto"
    end: _NotNegative | None = None


class Time(Table):
    """[time]: where results are wanted and how accurately."""

    end: _Positive | None = None
    points: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    spacing: Literal["log", "linear"] = "log"
    values: list[_NotNegative] | None = None
    relative_tolerance: Annotated[float, Field(ge=1e-14, le=0.1, allow_inf_nan=False)] = 1e-9
    absolute_tolerance: _NotNegative = 1e-14
    method: Literal["auto", "explicit", "implicit"] = "auto"
    compression: Literal["auto", "on", "off"] = "auto"

    @model_validator(mode="after")
    def _one_grid(self) -> Time:
        given = [key for key in REPLACED_BY_VALUES if key in self.model_fields_set]
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


def explain(error: ValidationError) -> str:
    """One line for everything that pydantic found, each with the full name of its key."""
    found: dict[str, str] = {}
    for item in error.errors(include_url=False, include_context=True):
        kind = item["type"]
        # the tag of the union of data models, and the branches of "number, list or text"
        branches = {*MODELS, "str", "float", "list[float]", "constrained-float"}
        where = [
            part
            for part in item["loc"]
            if not (isinstance(part, str) and (part in branches or part.startswith("list[")))
        ]
        name = ".".join(str(p) if isinstance(p, str) else f"[{p}]" for p in where)
        name = name.replace(".[", "[")
        value = short_text(item.get("input"))
        if kind == "extra_forbidden":
            reason = _unknown_key(item["loc"])
        elif kind == "missing":
            reason = "missing"
        elif kind in ("union_tag_not_found", "union_tag_invalid"):
            name += ".model"
            model = item["input"].get("model") if isinstance(item["input"], Mapping) else None
            models = ", ".join(MODELS)
            reason = f"must be one of {models}" + (
                f"; got {short_text(model)}" if kind == "union_tag_invalid" else ", but is missing"
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
        known = [key for m in _MODELS for key in m.model_fields]
        if name in known:
            return f'does not belong to model = "{where[1]}"'
    else:
        known = known_keys(list(where[:-1]))
    close = _closest(name, known)
    return "unknown key" + (f"; did you mean {close}?" if close else "")


def known_keys(where: list[Any]) -> list[str]:
    tables: dict[str, list[type[BaseModel]]] = {
        "network": [Network],
        "data": [*_MODELS],
        "training": [Training],
        "initial": [InitialState],
        "simulation": [Simulation],
        "time": [Time],
    }
    if not where:
        return [*tables, "sweep"]
    return [name for model in tables.get(str(where[0]), []) for name in model.model_fields]


def _closest(name: str, known: list[str]) -> str | None:
    import difflib

    matches = difflib.get_close_matches(name, known, n=1)
    return matches[0] if matches else None
