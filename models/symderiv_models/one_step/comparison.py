"""The network, its conditional Gaussian map and Hermite model, on the same data in each trial."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symderiv.inputs.blas_threads import one_blas_thread
from symderiv_models.one_step.asymptotic import asymptotic_errors
from symderiv_models.one_step.conditional import ConditionalMap, conditional_map
from symderiv_models.one_step.hermite import HermiteModel, hermite_model
from symderiv_models.one_step.network import column_blocks, ridge
from symderiv_models.one_step.ridge_equations import ridge_errors
from symderiv_models.one_step.setting import ASYMPTOTIC, EQUATIONS
from symderiv_models.one_step.spiked_mixture import population
from symderiv_models.one_step.trained_layer import generators, trained_layer

if TYPE_CHECKING:
    from symderiv.foundation.progress import Tell
    from symderiv_models.one_step.setting import Setting
    from symderiv_models.one_step.spiked_mixture import Samples
    from symderiv_models.one_step.trained_layer import TrainedLayer

    Array = np.ndarray

__all__ = ["Estimate", "ModelComparison", "PairedTrial", "compare", "one_trial", "trial_strengths"]


@dataclass(frozen=True)
class Estimate:
    """The mean over trials and its standard error, None for a single trial."""

    mean: float
    standard_error: float | None

    @classmethod
    def of(cls, values: list[float]) -> Estimate:
        """Return the estimate from one value per trial."""
        count = len(values)
        if min(values) == max(values) and count > 1:
            return cls(values[0], 0.0)
        error = float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else None
        return cls(float(np.mean(values)), error)

    def to_dict(self) -> dict[str, float | None]:
        """Return the estimate as values for JSON."""
        return {"mean": self.mean, "standard_error": self.standard_error}


@dataclass(frozen=True)
class Truncation:
    """The order P at which the series of covariances ends, and a bound of the rest."""

    order: int
    error_bound: float


@dataclass(frozen=True)
class PairedTrial:
    """The mean (y - ŷ)² on fresh examples and on those of ridge, by model."""

    test: Mapping[str, float]
    training: Mapping[str, float]
    hermite: HermiteModel | None = None
    truncation: Truncation | None = None


@dataclass(frozen=True)
class ModelComparison:
    """All trials of a setting."""

    setting: Setting
    trials: tuple[PairedTrial, ...] = field(repr=False)

    def error(self, model: str, *, training: bool = False) -> Estimate:
        """Return E(y - ŷ)² of a model."""
        return Estimate.of(self._values(model, training))

    def difference(self, model: str, *, training: bool = False) -> Estimate:
        """Return the error of a model minus that of the network, paired by trial."""
        pairs = zip(self._values(model, training), self._values("network", training), strict=True)
        return Estimate.of([ours - network for ours, network in pairs])

    def _values(self, model: str, training: bool) -> list[float]:
        return [(trial.training if training else trial.test)[model] for trial in self.trials]


def compare(setting: Setting, tell: Tell) -> ModelComparison:
    """Return all trials, each with its own spikes, teacher, weights and data.

    Args:
        setting: The setting.
        tell: Is called with the fraction of trials that are done.

    Raises:
        InputError: The activation has no slope, or its Gaussian means do not exist.
    """
    trials = []
    with one_blas_thread():
        for number in range(setting.trials):
            trials.append(one_trial(setting, number))
            tell("trials", (number + 1) / setting.trials)
    return ModelComparison(setting, tuple(trials))


def one_trial(setting: Setting, number: int) -> PairedTrial:
    """Return the result of one trial, which does not depend on other trials."""
    layer = trained_layer(setting, number)
    models = _Models(layer)
    errors = _errors(models, layer.examples("ridge"), layer.examples("test"))
    if EQUATIONS in setting.models:
        assert models.conditional is not None
        both = ridge_errors(layer.population, models.conditional, setting.samples, setting.ridge)
        errors[EQUATIONS] = both.test, both.training
    if ASYMPTOTIC in setting.models:
        strengths = np.array([c.strengths for c in layer.population.components])
        limit = asymptotic_errors(setting, strengths)
        errors[ASYMPTOTIC] = limit.test, limit.training
    return PairedTrial(
        {name: both[0] for name, both in errors.items()},
        {name: both[1] for name, both in errors.items()},
        models.hermite,
        models.truncation,
    )


def trial_strengths(setting: Setting, number: int) -> Array:
    """Return the spikes' strengths that a trial draws, shape (2, r)."""
    drawn = population(setting, generators(setting, number)["population"])
    return np.array([component.strengths for component in drawn.components])


class _Models:
    """The feature maps of one trained first layer, by name."""

    def __init__(self, layer: TrainedLayer) -> None:
        self.layer, self.setting = layer, layer.setting
        self.conditional: ConditionalMap | None = None
        self.hermite: HermiteModel | None = None
        if {"conditional_gaussian", EQUATIONS} & set(self.setting.models):
            self.conditional = conditional_map(
                layer.population, layer.first, layer.direction, self.setting.activation
            )
        if "hermite" in self.setting.models:
            self.hermite = hermite_model(
                self.setting.activation, layer.squared_scale, self.setting.hermite_degree
            )

    @property
    def truncation(self) -> Truncation | None:
        """The truncation of the conditional map; None without one."""
        made = self.conditional
        return None if made is None else Truncation(made.order, made.error_bound)

    def features(self, data: Samples, rows: slice) -> Iterator[tuple[str, Array]]:
        """Yield features of some rows of a set of examples for each model, shape (k, count).

        Each call continues the random numbers of a model.
        """
        random = self.layer.random
        fields = self.layer.first @ data.inputs[rows].T
        yield "network", self.layer.sigma.value(fields)
        if self.conditional is not None and "conditional_gaussian" in self.setting.models:
            made = self.conditional.features(data, rows, random["conditional"])
            yield "conditional_gaussian", made
        if self.hermite is not None:
            yield "hermite", self.hermite.features(fields, random["hermite"])


def _errors(models: _Models, train: Samples, test: Samples) -> dict[str, tuple[float, float]]:
    """Return test and training error by model."""
    setting, k = models.setting, models.setting.neurons
    parts: dict[str, list[Array]] = {}
    for rows in column_blocks(slice(0, setting.samples), k):
        for name, values in models.features(train, rows):
            parts.setdefault(name, []).append(values)
    fits = {
        name: ridge(np.hstack(parts.pop(name)), train.labels, setting.ridge) for name in list(parts)
    }
    totals = dict.fromkeys(fits, 0.0)
    for rows in column_blocks(slice(0, setting.tests), k):
        for name, values in models.features(test, rows):
            predicted = fits[name].weights @ values / math.sqrt(k)
            totals[name] += float(np.sum((test.labels[rows] - predicted) ** 2))
    return {
        name: (total / setting.tests, fits[name].training_error) for name, total in totals.items()
    }
