"""Gates of ReLU units: which inputs a unit answers to, and how often that changes in time."""

from __future__ import annotations

import numpy as np

from symderiv.inputs.ring import Floats, root
from symderiv.inputs.ring_inputs import GaussianRing, RingInputs
from symderiv_models.localisation.flow import angles

__all__ = ["same_gate", "same_gate_of_sample", "unchanged_of_sample"]


def same_gate(inputs: GaussianRing, before: Floats, after: Floats) -> Floats:
    """Return P(1(w·x ≥ 0) = 1(w'·x ≥ 0)) of Gaussian inputs of both labels, exactly.

    Args:
        inputs: Gaussian inputs of mean zero.
        before, after: weights, shape (…, D).

    Returns:
        Shape (…): 1 − θ/π with θ the angle of the two fields, in the mean over labels (equation 78
        of the notes on localisation; the limit of close times needs no difference of near numbers).
    """
    total = np.zeros(before.shape[:-1])
    for label in (0, 1):
        turned = root(inputs.row(label))
        total += 0.5 * (1.0 - angles(before @ turned, after @ turned) / np.pi)
    return total


def same_gate_of_sample(
    inputs: RingInputs, before: Floats, after: Floats, examples: int, seed: int
) -> tuple[Floats, Floats]:
    """Estimate the probability of :func:`same_gate` for any inputs, from a sample.

    Returns means and standard errors, shape (…).
    """
    x = _examples(inputs, examples, seed)
    same = (before @ x.T >= 0.0) == (after @ x.T >= 0.0)
    return _mean(same)


def unchanged_of_sample(
    inputs: RingInputs, path: Floats, examples: int, seed: int
) -> tuple[Floats, Floats]:
    """Estimate the probability that a gate is the same at all times of a path (equation 79).

    Args:
        inputs: the two classes.
        path: weights at n times, shape (n, …, D).
        examples: the number of inputs.
        seed: the seed of the inputs.

    Returns:
        Means and standard errors, shape (…).
    """
    x = _examples(inputs, examples, seed)
    gates = path @ x.T >= 0.0
    return _mean(np.all(gates == gates[:1], axis=0))


def _examples(inputs: RingInputs, examples: int, seed: int) -> Floats:
    generator = np.random.default_rng([seed, 3])
    half = max(examples // 2, 1)
    return np.concatenate([inputs.sample(label, (half,), generator) for label in (1, 0)])


def _mean(events: np.ndarray) -> tuple[Floats, Floats]:
    share = np.mean(events, axis=-1)
    return np.asarray(share), np.asarray(np.sqrt(share * (1.0 - share) / events.shape[-1]))
