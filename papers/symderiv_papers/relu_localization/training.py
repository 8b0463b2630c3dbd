"""What the notes say of training: gradient descent on the nonlinear Gaussian process.

The network of equation 2 is trained on fresh batches of both classes with small steps, in the time
unit of equation 4.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Values

__all__ = [
    "neighbour_correlation",
    "participation",
    "runs",
    "sigmoid_runs",
    "trained",
    "trained_sigmoids",
]

_SITES: Final = 40
_UNITS: Final = 20
_STEP: Final = 0.1
#: Slopes of sigmoids are small.
_LARGE_STEP: Final = 3.0
_BATCH: Final = 100


@functools.lru_cache(maxsize=32)
def trained(xi1: float, xi0: float, gain: float, steps: int, seed: int) -> np.ndarray:
    """Return the weights after gradient descent, shape (20, 40).

    Args:
        xi1: Correlation length of Y = 1, in sites.
        xi0: Correlation length of Y = 0.
        gain: Gain of the inputs; 0 for Gaussian ones.
        steps: Batches of 100 inputs.
        seed: Of the initial weights (standard deviation 0.05) and of the inputs.
    """
    generator = np.random.default_rng(seed)
    weights = 0.05 * generator.standard_normal((_UNITS, _SITES))
    label = np.repeat([1.0, 0.0], _BATCH // 2)
    for _ in range(steps):
        x = np.concatenate([_inputs(xi, gain, generator) for xi in (xi1, xi0)])
        field = x @ weights.T
        residual = np.maximum(field, 0.0).mean(axis=1) - label
        weights = weights - _STEP / _BATCH * (residual[:, None] * (field > 0)).T @ x
    return weights


@functools.lru_cache(maxsize=8)
def trained_sigmoids(gain: float, steps: int, seed: int) -> np.ndarray:
    """Train as :func:`trained` with sigmoids, trained biases, xi_1 = 4, xi_2 = 1 and steps of size
    3.

    Args:
        gain, steps, seed: As there.
    """
    from scipy.special import expit

    generator = np.random.default_rng(seed)
    weights, bias = 0.05 * generator.standard_normal((_UNITS, _SITES)), np.zeros(_UNITS)
    label = np.repeat([1.0, 0.0], _BATCH // 2)
    for _ in range(steps):
        x = np.concatenate([_inputs(xi, gain, generator) for xi in (4.0, 1.0)])
        output = expit(x @ weights.T + bias)
        residual = (output.mean(axis=1) - label)[:, None]
        pull = _LARGE_STEP / _BATCH * residual * output * (1 - output)
        weights, bias = weights - pull.T @ x, bias - pull.sum(axis=0)
    return weights


def _inputs(xi: float, gain: float, generator: np.random.Generator) -> np.ndarray:
    from scipy.special import erf

    distance = np.minimum(np.arange(_SITES), _SITES - np.arange(_SITES))
    eigenvalues = np.fft.fft(np.exp(-((distance / xi) ** 2))).real
    noise = np.fft.fft(generator.standard_normal((_BATCH // 2, _SITES)), axis=1)
    z = np.fft.ifft(noise * np.sqrt(np.maximum(eigenvalues, 0.0)), axis=1).real
    if not gain:
        return z
    scale = np.sqrt(2 / np.pi * np.arcsin(gain**2 / (1 + gain**2)))
    return np.asarray(erf(gain * z / np.sqrt(2)) / scale)


def participation(weights: np.ndarray) -> float:
    """Return sum of fourth powers over the square of the sum of squares, median over units.

    1/n if all sites take part equally, 1.5/n for a wave, 3/n for Gaussian entries, 1 for one site.
    """
    return float(np.median((weights**4).sum(axis=1) / (weights**2).sum(axis=1) ** 2))


def neighbour_correlation(weights: np.ndarray) -> float:
    """Correlation of neighbouring sites, median over units; negative if signs alternate."""
    products = (weights * np.roll(weights, 1, axis=1)).sum(axis=1)
    return float(np.median(products / (weights**2).sum(axis=1)))


def runs(numbers: Any) -> Iterator[Point]:
    for seed in (1, 2):

        def measured(gain: float, seed: int = seed) -> float:
            return participation(trained(4.0, 1.0, gain, 2000, seed))

        def alternating(seed: int = seed) -> float:
            return neighbour_correlation(trained(1.0, 4.0, 3.0, 4000, seed))

        lazy = {
            "localised": lambda measured=measured: measured(3.0),
            "intermediate": lambda measured=measured: measured(1.0),
            "gaussian": lambda measured=measured: measured(0.0),
            "neighbours": alternating,
        }
        yield Point(f"seed {seed}", Values({"n": _SITES, "N": _SITES, "L": 8}, lazy))


def sigmoid_runs(numbers: Any) -> Iterator[Point]:
    """Participations at three gains."""
    for seed in (1, 2):

        def measured(gain: float, seed: int = seed) -> float:
            return participation(trained_sigmoids(gain, 2000, seed))

        lazy = {
            "localised": lambda measured=measured: measured(3.0),
            "intermediate": lambda measured=measured: measured(1.0),
            "gaussian": lambda measured=measured: measured(0.0),
        }
        yield Point(f"seed {seed}", Values({"n": _SITES, "N": _SITES, "L": 8}, lazy))
