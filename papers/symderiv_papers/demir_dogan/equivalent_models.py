"""The network and a model in its place on the same draws: errors with paired standard errors.

The cases are those in which the theorems can fail. Labels along a random direction are learnt from
the linear part of the features, at any β; so each window has labels that need its highest degree:
classes of two spikes the second, a saturating function along a spike the third, with all the
strength in the spikes, where the windows are tight. The step is seen where all the strength is in
the learning rate. With eight or sixteen examples per neuron the noise of single fits is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Values
from symderiv_ledger.rules.comparison_rules import Measured
from symderiv_models.one_step.comparison import Estimate
from symderiv_models.one_step.conditional import conditional_map
from symderiv_models.one_step.hermite import hermite_model
from symderiv_models.one_step.network import ridge
from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step.spiked_mixture import Population, Samples, population
from symderiv_models.one_step.trained_layer import TrainedLayer, trained_layer

from symderiv.inputs.blas_threads import one_blas_thread

__all__ = [
    "HERMITE_CASES", "MAP_CASES", "Case", "along_a_spike", "conditional", "hermite",
    "hermite_points", "map_points", "points_of",
]  # fmt: skip

Array = np.ndarray
#: Features of examples, shape (k, count), of a layer.
Features = Callable[[Samples], Array]
Model = Callable[[TrainedLayer], Features]


@dataclass(frozen=True)
class Case:
    """A setting, and who draws its mixture and teacher."""

    label: str
    keys: tuple[tuple[str, Any], ...]
    made: Callable[[Setting, np.random.Generator], Population] = population

    @property
    def setting(self) -> Setting:
        """Of the keys."""
        return Setting(**dict(self.keys))


def _case(
    label: str, made: Callable[[Setting, np.random.Generator], Population] = population, **keys: Any
) -> Case:
    return Case(label, tuple(keys.items()), made)


@dataclass(frozen=True, eq=False)
class _Saturating(Population):
    """Labels tanh(2 ξ·x)."""

    def labels(self, inputs: Array, first: int) -> Array:
        """See :class:`Population`."""
        found: Array = np.tanh(2.0 * (inputs @ self.teacher))
        return found


def along_a_spike(setting: Setting, random: np.random.Generator) -> Population:
    """Return both components with the same spike of strength n^β/4, the teacher along it."""
    drawn = population(setting, random)
    parts = [replace(one, strengths=one.strengths / 4.0) for one in drawn.components]
    teacher = parts[0].directions[:, 0] / math.sqrt(1.0 + parts[0].strengths[0])
    return _Saturating((parts[0], parts[0]), drawn.weight, teacher, classes=False)


_SIZES: dict[str, Any] = {"n": 100, "k": 100, "m": 800, "test_samples": 1600, "ridge": 1e-3}
_STEP = _case(
    "ReLU, regression, l = 4, beta = 0.74, alpha = 1",
    **_SIZES, beta=0.74, alpha=1.0, trials=48,
)  # fmt: skip
_CLASSES = _case(
    "ReLU, classification, l = 3, beta = 7/12, alpha = 0",
    **_SIZES, beta=7 / 12, alpha=0.0, task="classification", trials=24,
)  # fmt: skip
_FAR_CLASSES = _case(
    "ReLU, classification, beta = 0.9, alpha = 0, lambda = 0.01",
    **{**_SIZES, "ridge": 1e-2}, beta=0.9, alpha=0.0, task="classification", trials=24,
)  # fmt: skip
_LINEAR = _case(
    "sigmoid, regression, l = 2, beta = 1/4, alpha = 1/2, lambda = 1e-4",
    **{**_SIZES, "ridge": 1e-4}, beta=0.25, activation="sigmoid", trials=36,
)  # fmt: skip
_CUBIC = _case(
    "tanh, labels along a spike, l = 4, beta = 0.7, alpha = 0, m = 1600, lambda = 1e-4",
    along_a_spike,
    **{**_SIZES, "m": 1600, "ridge": 1e-4}, beta=0.7, alpha=0.0, activation="tanh", trials=64,
)  # fmt: skip
#: One for each window, and one for the step.
HERMITE_CASES = (_STEP, _CLASSES, _LINEAR, _CUBIC)
#: One for the step, and one for the spikes; the windows do not matter to the map.
MAP_CASES = (_STEP, _FAR_CLASSES)


def hermite(layer: TrainedLayer) -> Features:
    """Return the Hermite model of the theorem."""
    made = hermite_model(
        layer.setting.activation, layer.squared_scale, layer.setting.hermite_degree
    )
    return lambda data: made.features(layer.first @ data.inputs.T, layer.random["hermite"])


def conditional(layer: TrainedLayer) -> Features:
    """Return the conditional Gaussian map."""
    made = conditional_map(layer.population, layer.first, layer.direction, layer.setting.activation)
    rows = slice(0, max(layer.setting.samples, layer.setting.tests))
    return lambda data: made.features(data, rows, layer.random["conditional"])


def network(layer: TrainedLayer) -> Features:
    """Return the network itself."""
    return lambda data: layer.sigma.value(layer.first @ data.inputs.T)


def points_of(cases: tuple[Case, ...], model: Model) -> Callable[[Any], Iterator[Point]]:
    """Network and model: error, training, error_model, training_model at each case."""

    def points(_: Any) -> Iterator[Point]:
        for case in cases:
            values: dict[str, Any] = {}
            for place, what in enumerate(("error", "training")):
                own, other = _errors(case, network)[place], _errors(case, model)[place]
                gap = Estimate.of(list(other - own))
                values[what] = float(own.mean())
                values[f"{what}_model"] = Measured(values[what] + gap.mean, gap.standard_error)
            yield Point(case.label, Values(values))

    return points


def hermite_points(numbers: Any) -> Iterator[Point]:
    """Return the Hermite model beside the network."""
    return points_of(HERMITE_CASES, hermite)(numbers)


def map_points(numbers: Any) -> Iterator[Point]:
    """Return the conditional Gaussian map beside the network."""
    return points_of(MAP_CASES, conditional)(numbers)


@lru_cache(maxsize=64)
def _errors(case: Case, model: Model) -> tuple[Array, Array]:
    """Return mean (y - ŷ)² on fresh examples and on those of ridge, one entry per trial."""
    with one_blas_thread():
        found = [_trial(trained_layer(case.setting, number, case.made), model)
                 for number in range(case.setting.trials)]  # fmt: skip
    test, training = np.array(found).T
    return test, training


def _trial(layer: TrainedLayer, model: Model) -> tuple[float, float]:
    features = model(layer)
    data = layer.examples("ridge")
    fit = ridge(features(data), data.labels, layer.setting.ridge)
    fresh = layer.examples("test")
    predicted = fit.weights @ features(fresh) / math.sqrt(layer.setting.neurons)
    return float(np.mean((fresh.labels - predicted) ** 2)), fit.training_error
