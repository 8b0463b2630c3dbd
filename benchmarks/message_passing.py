"""Message passing on drawn instances against state evolution.

``python -m benchmarks.message_passing [--dimension N] [--instances R]`` draws teachers and
examples, runs approximate message passing with the channels of ``symderiv.equilibrium.optimal``,
and prints overlaps beside those of state evolution, in standard errors, with the median:
some instances of committees stay at estimates that tell their units apart less, which makes the
standard error of the mean large.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from symderiv.equilibrium.optimal.sign_channel import SignChannel
from symderiv.equilibrium.optimal.state_evolution import (
    GaussianPrior,
    RademacherPrior,
    StateEvolution,
)
from symderiv.equilibrium.weak_learning.stated_target import read_target

#: Outputs, priors and values of α; 1.3 is between the two transitions of the perceptron.
CASES = [
    ("sign(z)", "gaussian", (0.5, 1.0, 2.0, 4.0)),
    ("sign(z)", "rademacher", (0.5, 1.0, 1.3)),
    ("sign(z1)+sign(z2)", "gaussian", (1.0, 3.0, 4.0)),
    ("sign(z1)+sign(z2)", "rademacher", (1.0, 1.5)),
]
_STEPS, _DAMPED = 60, 0.7


def run(
    channel: SignChannel, prior: str, alpha: float, N: int, random: np.random.Generator
) -> np.ndarray:
    """Return overlaps (K, K) of the estimate with the teacher, up to exchanges of units."""
    K, P = channel.K, round(alpha * N)
    shape = (N, K)
    B = random.normal(size=shape) if prior == "gaussian" else random.choice([-1.0, 1.0], shape)
    if prior == "gaussian":
        # overlaps of teachers as they are for large N
        B = B @ np.linalg.inv(np.linalg.cholesky(B.T @ B / N)).T
    X = random.normal(size=(P, N)) / np.sqrt(N)
    y = channel.target.values((X @ B).T)
    label = np.argmin(np.abs(channel.outputs[:, None] - y), axis=0)
    estimate, V = 0.1 * random.normal(size=shape), np.eye(K)
    g = np.zeros((P, K))
    for _ in range(_STEPS):
        omega = X @ estimate - g @ V
        Z, slopes = channel.at(omega.T, V)
        own = np.arange(P)
        new = (slopes[:, label, own] / np.maximum(Z[label, own], 1e-12)).T
        g = _DAMPED * new + (1 - _DAMPED) * g
        precision = g.T @ g / N
        field = estimate @ precision + X.T @ g
        before = estimate
        estimate, V = _denoised(field, precision, prior)
        if np.abs(estimate - before).mean() < 1e-4:
            break
    found = estimate.T @ B / N
    orders = [found[:, list(order)] for order in itertools.permutations(range(K))]
    best: np.ndarray = max(orders, key=np.trace)
    return best


def _denoised(field: np.ndarray, A: np.ndarray, prior: str) -> tuple[np.ndarray, np.ndarray]:
    """Return means (N, K) and the mean covariance (K, K) of weights."""
    K = len(A)
    if prior == "gaussian":
        V = np.linalg.inv(np.eye(K) + A)
        return field @ V, V
    w = np.array(list(itertools.product((1.0, -1.0), repeat=K)))
    logs = field @ w.T - 0.5 * np.einsum("si,ij,sj->s", w, A, w)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    mean = shares @ w
    return mean, np.einsum("ns,si,sj->ij", shares, w, w) / len(field) - mean.T @ mean / len(field)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dimension", type=int, default=2000)
    parser.add_argument("--instances", type=int, default=20)
    given = parser.parse_args()
    random = np.random.default_rng(1)
    inside = total = 0
    for output, prior, values in CASES:
        channel = SignChannel(read_target(output))
        evolution = StateEvolution(
            channel, GaussianPrior() if prior == "gaussian" else RademacherPrior()
        )
        state = None
        for alpha in values:
            state = evolution.uninformed(alpha, state)
            expected = float(np.trace(state.q)) / channel.K
            found = [
                float(np.trace(run(channel, prior, alpha, given.dimension, random))) / channel.K
                for _ in range(given.instances)
            ]
            error = float(np.std(found, ddof=1)) / len(found) ** 0.5
            z = (float(np.mean(found)) - expected) / error
            inside, total = inside + (abs(z) < 3), total + 1
            print(
                f"{output:20s} {prior:10s} alpha {alpha:4g}  {expected:.5f}  "
                f"{np.mean(found):.5f} ± {error:.5f}  {z:+.1f}  median {np.median(found):.5f}",
                flush=True,
            )
    print(f"{inside} of {total} within 3 standard errors")


if __name__ == "__main__":
    main()
