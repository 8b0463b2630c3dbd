"""Learning rules of a student: loss, inputs, targets, and the motion of the weights.

A rule says which features it has. Their values (rates, probabilities, biases, …) stay symbols in
the equations and are parameters of modules, so that one module serves all values.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

from symderiv.learning.rule.loss import SQUARED, Loss


@dataclass(frozen=True)
class LearningRule:
    """The properties of a rule on which the derivation depends, besides activations and inputs.

    Attributes:
        loss: ℓ(s, t).
        target: t is the teacher's output ("sum"), or its sign ("sign").
        flips: t becomes f t, f = -1 with probability ``label_flip``, else 1, before label noise.
        dropout: each unit of the student is kept with probability ``keep``, independently per
            example, in s and in the gradients.
        input_noise: the student sees ξ + σ_x ε, in its fields and in its update.
        biases: g(x_i + b_i), h(y_n + c_n).
        trained_biases: b follows its gradient.
        update_noise: J_i gains σ_J ζ_i/√N with a fresh standard Gaussian vector in every update.
        momentum: 1 - β = γ/N: steps of order 1/N accumulate, J follows them.
        normalise: the step divided by its root mean square over examples ("gradient"), or weights
            rescaled after each step to keep Q_ii ("sphere").
        batches: steps of cN examples.
        stated: names of the numbers of lines that a rule adds to its statement
            (:mod:`symderiv.learning.rule.stated_rule`), from which all else follows.
    """

    loss: Loss = SQUARED
    target: Literal["sum", "sign"] = "sum"
    flips: bool = False
    dropout: bool = False
    input_noise: bool = False
    biases: bool = False
    trained_biases: bool = False
    update_noise: bool = False
    momentum: bool = False
    normalise: Literal["none", "gradient", "sphere"] = "none"
    batches: bool = False
    stated: tuple[str, ...] = ()

    @property
    def plain_motion(self) -> bool:
        """True if weights move by minus the gradient of one example, or follow a velocity."""
        return not self.batches and self.normalise == "none"

    @cached_property
    def features(self) -> dict[str, str]:
        """Differences from plain descent of the squared loss, by name, in words of a recipe."""
        features = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                features[each.name] = _words(value)
        return features


def _words(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value.expression if isinstance(value, Loss) else value)


PLAIN = LearningRule()
"""Stochastic gradient descent of the squared loss."""
