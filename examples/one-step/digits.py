"""The route of figure 3 of arXiv:2503.00856 with scikit-learn's digits in place of Fashion-MNIST.

    python examples/one-step/digits.py --output one-step-results        # a minute

Two classes of images, centred per class, the second scaled to the trace of the first, both to the
spike's strength θ = n (β = 1, α = 0), plus standard normal noise; labels -1 and 1; one gradient
step with η = 1; network against the Hermite model of degree 4 with b = 1. The published figure
draws images from a conditional GAN; here they are drawn, with replacement, from thirds of the data
set: one for the step, one for ridge, one for the test. Errors are E(y - ŷ)². Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from symderiv_models.one_step.comparison import Estimate
from symderiv_models.one_step.hermite import hermite_model
from symderiv_models.one_step.network import ArrayActivation, gradient, initial_weights, ridge
from symderiv_models.one_step.spiked_mixture import Samples

from symderiv.formula import activation

ACTIVATIONS = {"relu": "#0072B2", "tanh": "#D55E00", "sigmoid": "#009E73"}
PAIRS = ((0, 1), (3, 8))
RATIOS = (0.05, 0.2, 0.5, 1.0, 2.0, 5.0)
M, RIDGE, DEGREE = 120, 1e-4, 4


@lru_cache(maxsize=2)
def images(pair: tuple[int, int]) -> tuple[list[np.ndarray], float]:
    """Centred images of both classes in rows, scaled, and the trace of their covariance."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    classes = []
    for digit in pair:
        x = digits.data[digits.target == digit]
        classes.append(x - x.mean(axis=0))
    traces = [float(np.sum(x.var(axis=0))) for x in classes]
    classes[1] *= math.sqrt(traces[0] / traces[1])
    n = classes[0].shape[1]
    scale = math.sqrt(n / traces[0])
    return [scale * x for x in classes], float(n)


class Source:
    """Examples of both classes from one third of the images of each."""

    def __init__(self, classes: list[np.ndarray], part: int) -> None:
        self.classes = [x[part::3] for x in classes]

    def sample(self, random: np.random.Generator, count: int) -> Samples:
        first = count // 2
        rows = [
            x[random.integers(len(x), size=size)]
            for x, size in zip(self.classes, (first, count - first), strict=True)
        ]
        x = np.vstack(rows)
        labels = np.where(np.arange(count) < first, -1.0, 1.0)
        return Samples(x + random.standard_normal(x.shape), labels, first)


def one_trial(name: str, pair: tuple[int, int], ratio: float, seed: int) -> tuple[float, float]:
    """Test errors of the network and of the Hermite model."""
    random = np.random.default_rng(seed)
    found, spike = images(pair)
    classes = [random.permutation(x) for x in found]
    n, k = classes[0].shape[1], max(2, round(ratio * M))
    sigma = ArrayActivation.of(activation(name))
    first, second = initial_weights(random, n, k, n + spike)
    first += gradient(first, second, sigma, Source(classes, 0).sample(random, M))
    train, test = (
        Source(classes, 1).sample(random, M),
        Source(classes, 2).sample(random, 5 * M),
    )
    model = hermite_model(name, Fraction(1), DEGREE)
    errors = []
    for hermite in (False, True):

        def features(data: Samples, hermite: bool = hermite) -> np.ndarray:
            fields = first @ data.inputs.T
            return model.features(fields, random) if hermite else sigma.value(fields)

        fit = ridge(features(train), train.labels, RIDGE)
        guess = fit.weights @ features(test) / math.sqrt(k)
        errors.append(float(np.mean((test.labels - guess) ** 2)))
    return errors[0], errors[1]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and write digits.png."""
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder")
    parser.add_argument("--trials", type=int, default=20)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
    print(f"n = 64, m = {M}, E(y - yhat)^2, {options.trials} trials")
    print(f"{'pair':8}{'':9}{'k/m':>5}{'network':>20}{'Hermite':>20}{'difference':>22}")
    for axis, pair in zip(axes, PAIRS, strict=True):
        for name, colour in ACTIVATIONS.items():
            _curve(axis, pair, name, colour, options.trials)
        axis.set(title=f"digits {pair[0]} and {pair[1]}", xlabel="$k/m$", xscale="log",
                 ylabel=r"$\mathrm{E}(y-\hat y)^2$")  # fmt: skip
        axis.legend(fontsize=8, frameon=False)
    figure.suptitle("Dots: network, lines: Hermite model of degree 4", fontsize=10)
    figure.savefig(options.output / "digits.png", dpi=110)
    print(options.output / "digits.png")


def _curve(axis: Any, pair: tuple[int, int], name: str, colour: str, trials: int) -> None:
    network, model = [], []
    for ratio in RATIOS:
        found = np.array([one_trial(name, pair, ratio, seed) for seed in range(trials)])
        estimates = [Estimate.of(list(found[:, i])) for i in (0, 1)]
        gap = Estimate.of(list(found[:, 1] - found[:, 0]))
        network.append(estimates[0])
        model.append(estimates[1])
        texts = [f"{e.mean:.4g} ± {e.standard_error:.2g}" for e in (*estimates, gap)]
        print(f"{pair[0]} and {pair[1]:<2}{name:>8}{ratio:>6}{texts[0]:>20}{texts[1]:>20}"
              f"{texts[2]:>22}", flush=True)  # fmt: skip
    axis.plot(RATIOS, [e.mean for e in model], "-", color=colour, lw=1.3)
    axis.errorbar(
        RATIOS, [e.mean for e in network], [e.standard_error or 0.0 for e in network], fmt="o",
        ms=4, capsize=2, color=colour, label=name,
    )  # fmt: skip


if __name__ == "__main__":
    main()
