"""Learning from samples: stochastic gradient descent, and the flow on one large sample.

Runs are learnt side by side, each with its own inputs. The steps are w_k ← w_k + h E_b[(y − f)
g'(S_k) x] with means over a batch of b examples, half of each label: K times the gradient of the
loss ½ (f − y)², as in :mod:`~symderiv_models.localisation.flow`. For the cross-entropy the factor y
− f is divided by f (1 − f).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import sympy as sp

from symderiv.formula import activation as read_activation
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.foundation.progress import Tell
from symderiv.gaussian import derivative
from symderiv.inputs.nonlinearity import on_arrays
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import RingInputs
from symderiv_models.localisation.flow import closes

__all__ = ["LOSSES", "Learner", "Trained"]

LOSSES = ("squared", "cross-entropy")
# Outputs of a network under the cross-entropy stay so far from 0 and 1.
_EDGE = 1e-12


@dataclass(frozen=True)
class Trained:
    """Weights and biases along training.

    Attributes:
        time: steps times the learning rate, n of them.
        weights: shape (n, runs, K, D).
        biases: shape (n, runs, K).
        loss: mean over the last batches before each time, shape (n, runs).
    """

    time: Floats
    weights: Floats
    biases: Floats
    loss: Floats


@dataclass(frozen=True)
class Learner:
    """A mean of K units taught two classes.

    Args:
        inputs: the two classes.
        units: K.
        activation: a name or a formula in x.
        loss: ``"squared"`` or ``"cross-entropy"``.
        biases: whether thresholds are learnt (from 0); otherwise they stay 0.
        learning_rate: h, the step of time.
        batch: b examples per step; an even number.
        initial_std: standard deviation of initial weights.
    """

    inputs: RingInputs
    units: int
    activation: str = "relu"
    loss: str = "squared"
    biases: bool = False
    learning_rate: float = 0.1
    batch: int = 200
    initial_std: float = 0.01

    @property
    def has_closed_flow(self) -> bool:
        """True if Gaussian inputs have the flow of :class:`PopulationFlow`."""
        return self.loss == "squared" and not self.biases and closes(self.activation)

    def initial(self, runs: int, seed: int) -> Floats:
        """Return initial weights, shape (runs, K, D); run r depends on the seed and r only."""
        shape = (self.units, self.inputs.sites)
        streams = [np.random.default_rng([seed, run]) for run in range(runs)]
        return np.stack([self.initial_std * each.standard_normal(shape) for each in streams])

    def sgd(
        self, steps: int, runs: int, seed: int, *, points: int = 40, tell: Tell | None = None
    ) -> Trained:
        """Online learning, every example seen once."""
        streams = [np.random.default_rng([seed, run, 1]) for run in range(runs)]

        def batch() -> tuple[Floats, Floats]:
            return self._drawn(self.batch, streams)

        return self._learnt(batch, self.initial(runs, seed), steps, points, tell)

    def sampled_flow(
        self,
        steps: int,
        runs: int,
        seed: int,
        *,
        sample: int = 4000,
        points: int = 40,
        tell: Tell | None = None,
    ) -> Trained:
        """Full-batch descent, each run on ``sample`` examples of its own.

        The population's flow up to the error of the sample, which the spread over runs shows, and
        of order ``learning_rate`` in time.
        """
        streams = [np.random.default_rng([seed, run, 2]) for run in range(runs)]
        kept = self._drawn(sample, streams)
        return self._learnt(lambda: kept, self.initial(runs, seed), steps, points, tell)

    def _drawn(self, examples: int, streams: list[np.random.Generator]) -> tuple[Floats, Floats]:
        """Return inputs (runs, b, D) and labels (b,), the first half of label 1."""
        half = examples // 2
        drawn = [
            np.concatenate([self.inputs.sample(label, (half,), each) for label in (1, 0)])
            for each in streams
        ]
        return np.stack(drawn), np.repeat([1.0, 0.0], half)

    def _learnt(
        self,
        batch: Callable[[], tuple[Floats, Floats]],
        weights: Floats,
        steps: int,
        points: int,
        tell: Tell | None,
    ) -> Trained:
        g, slope = compiled(self.activation)
        biases = np.zeros(weights.shape[:2])
        marks = sorted({round(steps * (i / points) ** 2) for i in range(1, points + 1)})
        kept = [(0.0, weights.copy(), biases.copy(), np.full(weights.shape[0], np.nan))]
        for step in range(1, steps + 1):
            x, y = batch()
            field = x @ weights.transpose(0, 2, 1) + biases[:, None, :]
            output = np.mean(g(field), axis=2)
            error, loss = self._error(output, y)
            force = (self.learning_rate / y.size) * error[:, :, None] * slope(field)
            weights = weights + force.transpose(0, 2, 1) @ x
            if self.biases:
                biases = biases + np.sum(force, axis=1)
            if step in marks:
                if not np.all(np.isfinite(weights)):
                    raise ToleranceError(
                        f"the weights ran away before step {step}; take a smaller learning rate"
                    )
                kept.append((step * self.learning_rate, weights.copy(), biases.copy(), loss))
                if tell is not None:
                    tell("Learning", step / steps)
        time, fields, thresholds, losses = zip(*kept, strict=True)
        return Trained(np.array(time), np.stack(fields), np.stack(thresholds), np.stack(losses))

    def _error(self, output: Floats, y: Floats) -> tuple[Floats, Floats]:
        """(y − f), over f (1 − f) for the cross-entropy, and the mean loss of each run."""
        if self.loss == "squared":
            difference = y - output
            return difference, np.asarray(0.5 * np.mean(difference**2, axis=1))
        f = np.clip(output, _EDGE, 1.0 - _EDGE)
        entropy = -np.mean(np.log(np.where(y > 0.5, f, 1.0 - f)), axis=1)
        return (y - f) / (f * (1.0 - f)), np.asarray(entropy)


def compiled(activation: str) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """Return an activation and its slope as functions of arrays.

    Raises:
        InputError: the slope is not a function: the activation jumps.
    """
    g = read_activation(activation).expression
    slope = derivative(g)
    if slope.has(sp.DiracDelta):
        raise InputError(
            f"{activation!r} jumps: its slope is not a function, so samples teach it nothing",
            argument="activation",
        )
    return on_arrays(g), on_arrays(slope)
