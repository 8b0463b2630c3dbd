"""What is measured on drawn networks: small sizes, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Values
from symderiv_ledger.rules.comparison_rules import Measured
from symderiv_models.one_step.comparison import ModelComparison, compare
from symderiv_models.one_step.conditional import conditional_map
from symderiv_models.one_step.network import ArrayActivation, gradient, initial_weights
from symderiv_models.one_step.setting import Setting
from symderiv_models.one_step.spiked_mixture import population

from symderiv.formula import activation

__all__ = ["layer_points", "published_points", "scan", "shape_points"]

_DRAWS = 8


@lru_cache(maxsize=64)
def _compared(items: tuple[tuple[str, Any], ...]) -> ModelComparison:
    keys: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in items
    }
    return compare(Setting(**keys), lambda task, fraction: None)


def compared(**keys: Any) -> ModelComparison:
    """Trials of a setting, once per process."""
    return _compared(tuple(sorted(keys.items())))


def shape_points(numbers: Any) -> Iterator[Point]:
    """columns: of Phi^(1/2) of a drawn map."""
    for n, k in ((12, 7), (9, 14)):
        setting = Setting(n=n, k=k)
        random = np.random.default_rng(3)
        drawn = population(setting, random)
        first, _ = initial_weights(random, n, k, drawn.trace)
        made = conditional_map(drawn, first, random.standard_normal(n), "tanh")
        columns = made.remaining_roots(0)[0].shape[1]
        known = {"n": numbers.mpf(n), "k": numbers.mpf(k), "columns": numbers.mpf(columns)}
        yield Point(f"n = {n}, k = {k}", Values(known))


def layer_points(numbers: Any) -> Iterator[Point]:
    """cosine_u, cosine_v of the first singular vectors of G with w and X^T y, mean over draws."""
    for text, task in (("relu", "regression"), ("tanh", "classification")):
        for n in (100, 200, 400):
            u, v = _cosines(text, task, n)
            known = {"cosine_u": numbers.mpf(u), "cosine_v": numbers.mpf(v)}
            yield Point(f"{text}, {task}, n = {n}", Values(known), 1 / n, f"{text}, {task}")


@lru_cache(maxsize=16)
def _cosines(text: str, task: Any, n: int) -> tuple[float, float]:
    sigma = ArrayActivation.of(activation(text))
    found = []
    for seed in range(_DRAWS):
        random = np.random.default_rng(seed)
        drawn = population(Setting(n=n, task=task), random)
        first, second = initial_weights(random, n, n, drawn.trace)
        data = drawn.sample(random, n)
        G = gradient(first, second, sigma, data)
        v = data.labels @ data.inputs
        top = v / np.linalg.norm(v)
        for _ in range(50):
            top = G.T @ (G @ top)
            top /= np.linalg.norm(top)
        left = G @ top
        found.append((_cosine(left, second), _cosine(top, v)))
    means = np.mean(found, axis=0)
    return float(means[0]), float(means[1])


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(abs(a @ b) / math.sqrt(float(a @ a) * float(b @ b)))


#: ½ E(y - ŷ)² at ρ = 1/2, read off figure 2(a).
_PUBLISHED = {"relu": 0.72, "sigmoid": 0.54}


def published_points(_: Any) -> Iterator[Point]:
    """Yield plotted, and error: E(y - ŷ)² of the network at n = m = k = 1000, three trials."""
    for text, plotted in _PUBLISHED.items():
        found = compared(
            n=1000, activation=text, task="classification", trials=3, test_samples=1000,
            models=("network",),
        ).error("network")  # fmt: skip
        error = Measured(found.mean, found.standard_error)
        yield Point(f"{text}", Values({"plotted": plotted, "error": error}))


#: Figure: key, its two ends, other keys.
_SCANS: dict[str, tuple[str, tuple[Any, Any], dict[str, Any]]] = {
    "alpha": ("alpha", (0.0, 1.0), {}),
    "beta": ("beta", (0.0, 1.0), {}),
    "ratio": ("k", (40, 800), {"m": 80}),
    "alignment": ("alignment", (0.0, 1.0), {}),
    "sign": ("alignment", (0.6, -0.6), {}),
    "rank": ("rank", (1, 4), {"spikes": "uniform", "trials": 48}),
    "mixture": ("mixture_weight", (0.5, 1.0), {"task": "classification"}),
}


def scan(name: str, activations: list[str]) -> Any:
    """Return points with the network's errors at both ends of a figure's axis: left, right and
    trend.

    trend is 1 where the right one is larger by 4 standard errors, -1 where it is smaller, else 0.
    n = m = k = 100, lambda = 1e-4, 16 trials where _SCANS says nothing else.
    """

    def at_ends(_: Any) -> Iterator[Point]:
        key, ends, others = _SCANS[name]
        for text in activations:
            common = {"n": 100, "trials": 16, "test_samples": 400, "models": ("network",)}
            found = [
                compared(**{**common, "activation": text, **others, key: end}).error("network")
                for end in ends
            ]
            left, right = (Measured(each.mean, each.standard_error) for each in found)
            rise = right - left
            trend = math.copysign(1.0, rise.mean) if abs(rise.mean) > 4 * rise.error else 0.0
            values = {"left": left, "right": right, "trend": trend}
            yield Point(f"{text}, {key} = {ends[0]} and {ends[1]}", Values(values))

    return at_ends
