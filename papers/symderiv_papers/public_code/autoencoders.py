"""Points of claims on denoising autoencoders with tied weights and a skip connection.

From x1 = μ + z and noise x0, both with unit variance in N dimensions, the network makes
b x + Wᵀ tanh(W x/√N)/√N of x = α x0 + β x1 and learns x1 by SGD, one example at a time. Its fields
are those of x1 and x0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

__all__ = ["SETTINGS", "Setting", "mean_fields", "noise_by_definition", "noise_of_steps"]

Array = np.ndarray

#: Nodes per field of both rules.
_NODES: Final = 26


@dataclass(frozen=True)
class Setting:
    """A state of the network.

    Args:
        alpha, beta: Of noise and data.
        b: The skip connection.
        Q: Overlaps of the weights, shape (2, 2).
        M: Means of the fields of each class, shape (classes, 2); classes are equally likely.
    """

    alpha: float
    beta: float
    b: float
    Q: tuple[tuple[float, float], tuple[float, float]]
    M: tuple[tuple[float, float], ...]


SETTINGS: Final = (
    Setting(0.5, 0.75, 0.125, ((0.375, 0.125), (0.125, 0.25)), ((0.75, -0.25), (-0.5, 0.5))),
    Setting(0.5, 0.625, 0.25, ((0.25, -0.0625), (-0.0625, 0.3125)), ((0.25, 0.75),)),
)


def _grid(fields: int) -> tuple[Array, Array]:
    """Nodes, shape (n, fields), and weights of independent standard normal variables."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    grid = np.meshgrid(*[nodes] * fields, indexing="ij")
    shares = np.meshgrid(*[weights / weights.sum()] * fields, indexing="ij")
    return np.stack([x.ravel() for x in grid], axis=1), np.prod([x.ravel() for x in shares], axis=0)


def noise_by_definition(one: Setting) -> Array:
    """N E[Δw_i·Δw_k]/N per squared learning rate, N → ∞, shape (2, 2).

    Δw_i is (ρ g(ω_i) + (w_i·ρ/√N) g'(ω_i) x)/√N with what is left to learn, ρ = x1 - b x up to
    terms of order 1/√N. The mean is over the fields of data and noise at once, by a rule in four
    variables.
    """
    normal, shares = _grid(4)
    root = np.linalg.cholesky(np.array(one.Q))
    left, seen = np.array([1 - one.b * one.beta, -one.b * one.alpha]), (one.beta, one.alpha)
    found = np.zeros((2, 2))
    for M in one.M:
        data, noise = normal[:, :2] @ root.T + np.array(M), normal[:, 2:] @ root.T
        g = np.tanh(one.beta * data + one.alpha * noise)
        back = left[0] * data + left[1] * noise - g @ np.array(one.Q)
        slope = (1 - g**2) * back
        for first, second, coupled in (
            (g, g, left @ left), (g, slope, left @ seen), (slope, g, left @ seen),
            (slope, slope, np.dot(seen, seen)),
        ):  # fmt: skip
            found += coupled * np.einsum("s,si,sk->ik", shares, first, second) / len(one.M)
    return found


def mean_fields(one: Setting) -> Callable[..., float]:
    """E[g(ω_a)… g'(ω_b)… fields], the fields averaged at fixed ω, a rule in two variables."""
    normal, shares = _grid(2)
    total = one.alpha**2 + one.beta**2
    Q = np.array(one.Q)
    root = np.linalg.cholesky(Q) * np.sqrt(total)
    ratio = {"1": one.beta / total, "0": one.alpha / total}
    rest = {
        "11": one.alpha**2 / total, "00": one.beta**2 / total,
        "01": -one.alpha * one.beta / total, "10": -one.alpha * one.beta / total,
    }  # fmt: skip

    def mean(kinds: str, *units: int) -> float:
        value = 0.0
        for M in one.M:
            beside = normal @ root.T
            g = np.tanh(one.beta * np.array(M) + beside)
            centre = {
                kind: (np.array(M) if kind == "1" else 0) + ratio[kind] * beside for kind in "10"
            }
            product, linear = shares.copy(), []
            for kind, unit in zip(kinds, units, strict=True):
                if kind in "sd":
                    product *= g[:, unit] if kind == "s" else 1 - g[:, unit] ** 2
                else:
                    linear.append((kind, unit))
            for kind, unit in linear:
                product = product * centre[kind][:, unit] if len(linear) == 1 else product
            if len(linear) == 2:
                (a, i), (b, k) = linear
                product = product * (centre[a][:, i] * centre[b][:, k] + rest[a + b] * Q[i, k])
            value += float(product.sum()) / len(one.M)
        return value

    return mean


def noise_of_steps(numbers: Any) -> Iterator[Point]:
    """Names: alpha, beta, b, Q[i, k], K = 2 units; noise[i, k] as ``noise_by_definition`` has it.

    Means over the fields data[i] of x1 and noise[i] of x0, with s[i] = tanh(omega[i]) and its
    derivative d[i]: ss[i, k], sd1[i, k] = E[s[i] d[k] data[k]], sd0 with noise[k], dd11[i, k] =
    E[d[i] d[k] data[i] data[k]], dd01[i, k] = E[d[i] d[k] noise[i] data[k]], dd00, ssd[i, j, k] =
    E[s[i] s[j] d[k]], dsd1[i, j, k] = E[d[i] s[j] d[k] data[k]], dsd0, dsds[i, j, k, l].
    """
    for one in SETTINGS:
        mean = mean_fields(one)

        def table(
            kinds: str, order: tuple[int, ...], indices: int, mean: Callable[..., float] = mean
        ) -> Indexed:
            def entry(*at: int) -> Any:
                return numbers.mpf(mean(kinds, *(at[place] - 1 for place in order)))

            return Indexed(entry, *[(1, 2)] * indices)

        found = noise_by_definition(one)
        values = {
            "K": 2, "alpha": numbers.mpf(one.alpha), "beta": numbers.mpf(one.beta),
            "b": numbers.mpf(one.b),
            "Q": Indexed([[numbers.mpf(x) for x in row] for row in one.Q], (1, 2), (1, 2)),
            "noise": Indexed([[numbers.mpf(x) for x in row] for row in found], (1, 2), (1, 2)),
            "ss": table("ss", (0, 1), 2),
            "sd1": table("sd1", (0, 1, 1), 2), "sd0": table("sd0", (0, 1, 1), 2),
            "dd11": table("dd11", (0, 1, 0, 1), 2), "dd00": table("dd00", (0, 1, 0, 1), 2),
            "dd01": table("dd01", (0, 1, 0, 1), 2),
            "ssd": table("ssd", (0, 1, 2), 3),
            "dsd1": table("dsd1", (0, 1, 2, 2), 3), "dsd0": table("dsd0", (0, 1, 2, 2), 3),
            "dsds": table("dsds", (0, 1, 2, 3), 4),
        }  # fmt: skip
        yield Point(f"alpha = {one.alpha}, beta = {one.beta}, b = {one.b}", values)
