"""One gradient step: wrong models in place of the two that the theorems call equivalent."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from symderiv_models.one_step.conditional import ConditionalMap, conditional_map
from symderiv_models.one_step.field_moments import HermiteMoments, field_moments
from symderiv_models.one_step.hermite import HermiteModel, hermite_model
from symderiv_models.one_step.setting import window_degree
from symderiv_models.one_step.spiked_mixture import Samples
from symderiv_models.one_step.trained_layer import TrainedLayer
from symderiv_papers.demir_dogan.equivalent_models import (
    HERMITE_CASES,
    MAP_CASES,
    Case,
    Features,
    Model,
    points_of,
)

from wrong_models.trial import Central, WrongModel

Array = np.ndarray


def _first(layer: TrainedLayer, steps: float) -> Array:
    """The first layer with so many of its step taken."""
    return layer.initial + steps * (layer.first - layer.initial)


# -- the Hermite model ---------------------------------------------------------------------------


def _of_theorem(layer: TrainedLayer, fewer: int = 0) -> HermiteModel:
    degree = max(0, layer.setting.hermite_degree - fewer)
    return hermite_model(layer.setting.activation, layer.squared_scale, degree)


def _fewer(count: int, window: int | None = None) -> Callable[[TrainedLayer], HermiteModel]:
    """So many of the highest degrees left out, in one window l or in all."""

    def made(layer: TrainedLayer) -> HermiteModel:
        degree = window_degree(layer.setting.beta)
        assert degree is not None
        return _of_theorem(layer, count if window in (None, degree + 1) else 0)

    return made


def _coefficients(factor: Callable[[int], float]) -> Callable[[TrainedLayer], HermiteModel]:
    """Every h_j times a factor; the noise is as it was."""

    def made(layer: TrainedLayer) -> HermiteModel:
        right = _of_theorem(layer)
        changed = tuple(
            replace(h, value=str(factor(j) * float(h.value)))
            for j, h in enumerate(right.coefficients)
        )
        return replace(right, coefficients=changed)

    return made


def _off(order: int, factor: float) -> Callable[[TrainedLayer], HermiteModel]:
    return _coefficients(lambda j: factor if j == order else 1.0)


def _of(text: str) -> Callable[[TrainedLayer], HermiteModel]:
    """The coefficients of one activation, whatever the network's is."""
    return lambda layer: hermite_model(text, layer.squared_scale, layer.setting.hermite_degree)


def hermite(
    made: Callable[[TrainedLayer], HermiteModel] = _of_theorem,
    steps: float = 1.0,
    fields: Callable[[Samples, Array], Array] = lambda data, fields: fields,
) -> Model:
    def model(layer: TrainedLayer) -> Features:
        used, F, random = made(layer), _first(layer, steps), layer.random["hermite"]
        return lambda data: used.features(fields(data, F @ data.inputs.T), random)

    return model


def _silent(layer: TrainedLayer) -> HermiteModel:
    """Without the remainder."""
    right = _of_theorem(layer)
    return replace(right, remainder=replace(right.remainder, value="0"))


def _shared_noise(layer: TrainedLayer) -> Features:
    """One z for all neurons of an example."""
    silent, random = _silent(layer), layer.random["hermite"]
    size = float(_of_theorem(layer).remainder.value)

    def features(data: Samples) -> Array:
        found = silent.features(layer.first @ data.inputs.T, random)
        found += size * random.standard_normal(len(data.labels))
        return found

    return features


def _of_others(data: Samples, fields: Array) -> Array:
    """Fields of another example of the same component."""
    return np.hstack([np.roll(fields[:, rows], 1, axis=1) for rows in data.parts])


_HERMITE: dict[str, Model] = {
    "degree 0: a constant and noise": hermite(_fewer(99)),
    "one degree too few": hermite(_fewer(1)),
    "one degree too few at l = 2 only": hermite(_fewer(1, window=2)),
    "one degree too few at l = 3 only": hermite(_fewer(1, window=3)),
    "one degree too few at l = 4 only": hermite(_fewer(1, window=4)),
    "h_1 10 % too large": hermite(_off(1, 1.1)),
    "h_1 10 % too small": hermite(_off(1, 0.9)),
    "h_2 10 % too large": hermite(_off(2, 1.1)),
    "h_2 10 % too small": hermite(_off(2, 0.9)),
    "h_1 of the other sign": hermite(_off(1, -1.0)),
    "without 1/j!": hermite(_coefficients(math.factorial)),
    "coefficients of erf": hermite(_of("erf")),
    "without the step": hermite(steps=0.0),
    "half of the step": hermite(steps=0.5),
    "twice the step": hermite(steps=2.0),
    "fields 20 % too large": hermite(fields=lambda _, fields: 1.2 * fields),
    "fields of other examples": hermite(fields=_of_others),
    "without the remainder": hermite(_silent),
    "one noise for all neurons": _shared_noise,
}


# -- the conditional Gaussian map ----------------------------------------------------------------


@dataclass(frozen=True)
class Map:
    """ν + Ψ z_perp + Φ^(1/2) g with factors before its parts, and with parts exchanged.

    Args:
        steps: So many of its step is taken.
        nu, psi, phi: Factors of ν, Ψ and Φ^(1/2).
        own_component: c is that of the example, not the other one.
        own_kappa, own_z: κ and z_perp are those of the example, not of another of its component.
        conditioned: Means are taken at fixed κ, not over κ.
        averaged: ν is the mean of σ(a + s z), not σ(a).
        shared: One entry of g for all neurons.
    """

    steps: float = 1.0
    nu: float = 1.0
    psi: float = 1.0
    phi: float = 1.0
    own_component: bool = True
    own_kappa: bool = True
    own_z: bool = True
    conditioned: bool = True
    averaged: bool = True
    shared: bool = False

    def __call__(self, layer: TrainedLayer) -> Features:
        made = conditional_map(
            layer.population, _first(layer, self.steps), layer.direction, layer.setting.activation
        )
        return lambda data: np.hstack(
            [self._part(layer, made, c, data.inputs[rows]) for c, rows in enumerate(data.parts)]
        )

    def _part(self, layer: TrainedLayer, made: ConditionalMap, c: int, inputs: Array) -> Array:
        component = c if self.own_component else 1 - c
        fields, others = made.fields(component), np.roll(inputs, 1, axis=0)
        a = fields.means(inputs if self.own_kappa else others)
        z = fields.normal(inputs if self.own_z else others)
        s = fields.deviations
        if not self.conditioned:
            whole = a + s * z
            s = np.sqrt(np.mean(whole**2, axis=1, keepdims=True))
            a, z = np.zeros_like(whole), whole / s
        moments = field_moments(layer.setting.activation, made.order)(a, s)
        rest = self._rest(moments, made.remaining_roots(component), layer.random["conditional"])
        nu = moments.coefficients[0] if self.averaged else layer.sigma.value(a)
        found: Array = self.nu * nu + self.psi * moments.coefficients[1] * z + self.phi * rest
        return found

    def _rest(
        self, moments: HermiteMoments, roots: tuple[Array, ...], random: np.random.Generator
    ) -> Array:
        """Φ^(1/2) g, or one entry of g with the right variances."""
        c = moments.coefficients
        shape = c[0].shape
        if self.shared:
            return np.sqrt(moments.second - c[0] ** 2 - c[1] ** 2) * random.standard_normal(
                shape[1]
            )
        rest: Array = np.sqrt(moments.remainder()) * random.standard_normal(shape)
        for p, root in enumerate(roots, start=2):
            rest += c[p] * (root @ random.standard_normal(shape)) / math.sqrt(math.factorial(p))
        return rest


_MAP: dict[str, Model] = {
    "noise of the right mean and covariance": Map(own_kappa=False, own_z=False),
    "z_perp of another example": Map(own_z=False),
    "kappa of another example": Map(own_kappa=False),
    "the other c": Map(own_component=False),
    "not conditioned on kappa": Map(conditioned=False),
    "nu = sigma(a)": Map(averaged=False),
    "without nu": Map(nu=0.0),
    "nu 20 % too large": Map(nu=1.2),
    "without Psi": Map(psi=0.0),
    "Psi twice": Map(psi=2.0),
    "without g": Map(phi=0.0),
    "g half as large": Map(phi=0.5),
    "g twice as large": Map(phi=2.0),
    "one entry of g for all neurons": Map(shared=True),
    "without the step": Map(steps=0.0),
    "half of the step": Map(steps=0.5),
    "twice the step": Map(steps=2.0),
}


def _central(
    theorem: str, why: str, cases: tuple[Case, ...], models: dict[str, Model]
) -> Iterator[Central]:
    wrong = tuple(
        WrongModel(words, points=points_of(cases, made)) for words, made in models.items()
    )
    for error in ("generalisation", "training"):
        yield Central("demir-dogan-2025", f"{theorem} {error} error", why, wrong)


CENTRAL: tuple[Central, ...] = (
    *_central("S9", "A conditional Gaussian map has the errors of the network.", MAP_CASES, _MAP),
    *_central("S11", "A polynomial model has the errors of the network.", HERMITE_CASES, _HERMITE),
)
