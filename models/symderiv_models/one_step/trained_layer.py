"""The data and weights of a trial with one gradient step taken, shared by all models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from symderiv.formula import activation
from symderiv_models.one_step.network import ArrayActivation, gradient, initial_weights
from symderiv_models.one_step.spiked_mixture import population

if TYPE_CHECKING:
    from symderiv_models.one_step.setting import Setting
    from symderiv_models.one_step.spiked_mixture import Population, Samples

    Array = np.ndarray

__all__ = ["TrainedLayer", "generators", "trained_layer"]

# Names of the random sequences of a trial: without a model, those of the others stay the same.
_DRAWN: Final = ("population", "weights", "gradient", "ridge", "test", "conditional", "hermite")


@dataclass(frozen=True, eq=False)
class TrainedLayer:
    """A first layer before and after its step.

    Args:
        setting: The setting.
        sigma: The activation.
        population: The mixture and the teacher.
        initial: F, shape (k, n).
        first: F̂, shape (k, n).
        direction: v, the mean of y x over the examples of the step, shape (n,).
        random: The trial's generators of random numbers, by name.
    """

    setting: Setting
    sigma: ArrayActivation
    population: Population
    initial: Array
    first: Array
    direction: Array
    random: Mapping[str, np.random.Generator]

    @property
    def squared_scale(self) -> Fraction:
        """b² = n/Tr Σ."""
        return Fraction(self.setting.n) / Fraction(self.population.trace)

    def examples(self, name: Literal["ridge", "test"]) -> Samples:
        """Draw fresh examples, m for ridge or the setting's number for the test."""
        count = self.setting.samples if name == "ridge" else self.setting.tests
        return self.population.sample(self.random[name], count)


def trained_layer(
    setting: Setting,
    number: int,
    made: Callable[[Setting, np.random.Generator], Population] = population,
) -> TrainedLayer:
    """Return the layer of a trial, which does not depend on other trials.

    Args:
        setting: The setting.
        number: The number of the trial.
        made: A function that draws the mixture and the teacher.

    Raises:
        InputError: The activation has no slope.
    """
    random = generators(setting, number)
    sigma = ArrayActivation.of(activation(setting.activation))
    drawn = made(setting, random["population"])
    initial, second = initial_weights(random["weights"], setting.n, setting.neurons, drawn.trace)
    data = drawn.sample(random["gradient"], setting.samples)
    first = initial + setting.learning_rate * gradient(initial, second, sigma, data)
    direction = data.labels @ data.inputs / setting.samples
    return TrainedLayer(setting, sigma, drawn, initial, first, direction, random)


def generators(setting: Setting, number: int) -> dict[str, np.random.Generator]:
    """Return the generators of a trial by the names of what they draw."""
    seed = np.random.SeedSequence(setting.seed, spawn_key=(number,))
    return {
        name: np.random.Generator(np.random.SFC64(child))
        for name, child in zip(_DRAWN, seed.spawn(len(_DRAWN)), strict=True)
    }
