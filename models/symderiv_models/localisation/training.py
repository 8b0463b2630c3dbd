"""Learning from samples: stochastic gradient descent, and the flow on one large sample.

Runs take the steps of studies, with a linear teacher whose field is the label, on inputs that are
drawn here, half of each batch of each label. A step of time h moves weights by h K times minus the
gradient of the mean loss of its batch, as in :mod:`~symderiv_models.localisation.flow`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from symderiv.experiment.steps.step_chain import MarkovChain, Pace, space_of
from symderiv.experiment.steps.step_program import StepProgram
from symderiv.experiment.studies.study_form import StudyForm
from symderiv.experiment.studies.study_steps import step_of
from symderiv.formula import activation as read_activation
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.foundation.progress import Tell
from symderiv.gaussian import derivative
from symderiv.inputs.nonlinearity import on_arrays
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import RingInputs
from symderiv.keys.study_tables import LEARNING_RATES
from symderiv_models.localisation.flow import closes

__all__ = ["LOSSES", "Learner", "Trained"]

# Nearer to 0 and 1 than this, the cross-entropy of outputs is continued by its tangent.
_EDGE = 1e-12
_CHANCE = "(t*s + (1 - t)*(1 - s))"
_INSIDE = f"Min(Max({_CHANCE}, {_EDGE}), 1 - {_EDGE})"
#: Losses by name, as formulas in the output s and the label t.
LOSSES = {
    "squared": "squared",
    "cross-entropy": f"-log({_INSIDE}) - ({_CHANCE} - {_INSIDE})/{_INSIDE}",
}
# Numbers of units in the stated rule; its step is compiled for any numbers.
_FEW = (4, 3)


@dataclass(frozen=True)
class Trained:
    """Weights and biases along training.

    Attributes:
        time: steps times the learning rate, n of them.
        weights: shape (n, runs, K, D).
        biases: shape (n, runs, K).
        loss: mean over the batch of the last step, before that step, shape (n, runs); NaN at time
            0.
    """

    time: Floats
    weights: Floats
    biases: Floats
    loss: Floats


@dataclass(frozen=True)
class Learner:
    """A network, the mean of K units, that learns two classes.

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
        """Train online, with every example seen once."""
        streams = [np.random.default_rng([seed, run, 1]) for run in range(runs)]

        def batch() -> tuple[Floats, Floats]:
            return self._drawn(self.batch, streams)

        chains = self._chains(runs, seed, self.batch)
        return self._learnt(batch, chains, steps, points, tell)

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
        """Train by full-batch descent, each run on ``sample`` examples of its own.

        The result is the population's flow up to the error of the sample, which the spread over
        runs shows, and an error of order ``learning_rate`` in time.
        """
        streams = [np.random.default_rng([seed, run, 2]) for run in range(runs)]
        examples = self._drawn(sample, streams)
        chains = self._chains(runs, seed, sample)
        return self._learnt(lambda: examples, chains, steps, points, tell)

    def _drawn(self, examples: int, streams: list[np.random.Generator]) -> tuple[Floats, Floats]:
        """Return inputs (runs, b, D) and labels (b,); the first half has label 1."""
        half = examples // 2
        drawn = [
            np.concatenate([self.inputs.sample(label, (half,), each) for label in (1, 0)])
            for each in streams
        ]
        return np.stack(drawn), np.repeat([1.0, 0.0], half)

    def _learnt(
        self,
        batch: Callable[[], tuple[Floats, Floats]],
        chains: list[MarkovChain],
        steps: int,
        points: int,
        tell: Tell | None,
    ) -> Trained:
        marks = {round(steps * (i / points) ** 2) for i in range(1, points + 1)}
        states = [(0.0, *_states(chains), np.full(len(chains), np.nan))]
        for step in range(1, steps + 1):
            x, y = batch()
            pairs = list(zip(chains, x, strict=True))
            if step in marks:
                loss = np.array([self._loss(*_now(chain), each, y) for chain, each in pairs])
            if not all(_taught(chain, each, y) for chain, each in pairs):
                raise ToleranceError(
                    f"the weights ran away in step {step}; take a smaller learning rate"
                )
            if step in marks:
                states.append((step * self.learning_rate, *_states(chains), loss))
                if tell is not None:
                    tell("Learning", step / steps)
        time, fields, thresholds, losses = zip(*states, strict=True)
        return Trained(np.array(time), np.stack(fields), np.stack(thresholds), np.stack(losses))

    def _chains(self, runs: int, seed: int, batch: int) -> list[MarkovChain]:
        """Return chains of learning steps, one for each run."""
        K, D = self.units, self.inputs.sites
        rule = _rule(self.activation, self.loss, self.biases)
        letters = [f"U{few}" for few in _FEW]
        program = StepProgram(step_of(rule, _FEW), dict(zip(letters, (K, 1), strict=True)))
        pace = Pace(D**0.5, D**0.5, 1.0, 1.0, 1.0, batch)
        rates = dict.fromkeys(LEARNING_RATES, K * self.learning_rate)
        values = {**rates, "c1": 1.0, **{f"v{unit + 1}": 1.0 / K for unit in range(K)}}
        space, none = space_of(program, np.array([D]), batch), np.zeros((0, 0))
        # fields of statements are divided by √D, so their vectors are longer by √D
        teacher, b = np.zeros((1, D)), np.zeros(len(program.scalars))
        starts = [(np.vstack([w * D**0.5, teacher]), b) for w in self.initial(runs, seed)]
        return [
            MarkovChain(program, space, start, none, values, (0,), batch, pace) for start in starts
        ]

    def _loss(self, weights: Floats, biases: Floats, x: Floats, y: Floats) -> float:
        """Return the mean loss of a batch."""
        g = _on_arrays(self.activation)
        f = np.mean(g(x @ weights.T + biases), axis=1)
        if self.loss == "squared":
            return float(0.5 * np.mean((f - y) ** 2))
        f = np.clip(f, _EDGE, 1.0 - _EDGE)
        return float(-np.mean(np.log(np.where(y > 0.5, f, 1.0 - f))))


@lru_cache(maxsize=8)
def _on_arrays(activation: str) -> Callable[[Floats], Floats]:
    """Return an activation as a function of arrays."""
    return on_arrays(read_activation(activation).expression)


def _now(chain: MarkovChain) -> tuple[Floats, Floats]:
    """Return the weights and biases of a run, shapes (K, D) and (K,)."""
    weights = chain.vectors[chain.program.moving] / np.sqrt(chain.space.dimension)
    return weights, chain.scalars.copy() if chain.scalars.size else np.zeros(len(weights))


def _states(chains: list[MarkovChain]) -> tuple[Floats, Floats]:
    """Return the weights and biases of runs, shapes (runs, K, D) and (runs, K)."""
    weights, biases = zip(*map(_now, chains), strict=True)
    return np.stack(weights), np.stack(biases)


def _taught(chain: MarkovChain, x: Floats, y: Floats) -> bool:
    """Take one step on a batch; return whether all numbers stayed finite."""
    for begin in range(0, y.size, chain.block):
        part = slice(begin, begin + chain.block)
        chain.use(x[part], y[part, None])
        if chain.learn(0, y[part].size) >= 0:
            return False
    return True


def _rule(activation: str, loss: str, biases: bool) -> StudyForm:
    """Return the learning rule: a linear teacher whose field, the label, comes with the inputs.

    Raises:
        InputError: the slope is not a function: the activation jumps.
    """
    if derivative(read_activation(activation).expression).has(sp.DiracDelta):
        raise InputError(
            f"{activation!r} jumps: its slope is not a function, so samples teach it nothing",
            argument="activation",
        )
    return StudyForm(
        activations=(activation, "linear"),
        loss=LOSSES[loss],
        target="sum",
        heads=1,
        present=(),
        trains=(False, biases),
        comes=(False, False, True, False),
        sphere=False,
    )
