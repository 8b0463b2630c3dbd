r"""Gaussian mixtures: how the component is assigned matters more than its law.

A mixture of m normal laws with means μ_r and unit variances can be the law of latent vectors
c ∈ R^D in two ways:

``"sample"``: one component per example, c = μ_r + z. Coordinates are dependent: their covariance
is I plus the covariance of the means, which has eigenvalues of order D however each coordinate is
standardised.

``"coordinate"``: one component per coordinate and example. Coordinates are independent, and sums
over many of them are nearly Gaussian.

The means are one number per component (``"common"``) or one per component and coordinate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from symderiv.foundation.errors import InputError, check_one_of
from symderiv.numerics.nodes import gauss_hermite

ASSIGNMENTS: Final = ("sample", "coordinate")
MEANS: Final = ("common", "coordinate")


@dataclass(frozen=True, eq=False)
class Mixture:
    """Latent vectors from a mixture of normal laws of unit variance.

    Args:
        means: μ, shape (m, D).
        probabilities: shape (m,), sum 1.
        assignment: one of :data:`ASSIGNMENTS`.
        standardised: every coordinate has its exact mean subtracted and is divided by its exact
            standard deviation.
    """

    means: np.ndarray
    probabilities: np.ndarray
    assignment: str
    standardised: bool

    def __post_init__(self) -> None:
        check_one_of("assignment", self.assignment, ASSIGNMENTS)
        p = self.probabilities
        if p.shape != self.means.shape[:1] or np.any(p <= 0.0) or abs(p.sum() - 1.0) > 1e-9:
            raise InputError(
                "must be positive with sum 1, one per component", argument="probabilities"
            )
        if not np.all(np.isfinite(self.means)):
            raise InputError("must be finite numbers", argument="means")

    @property
    def mean(self) -> np.ndarray:
        """E c before any standardisation, shape (D,)."""
        result: np.ndarray = self.probabilities @ self.means
        return result

    @property
    def variance(self) -> np.ndarray:
        """Variances of the coordinates before any standardisation, shape (D,)."""
        result: np.ndarray = 1.0 + self.probabilities @ (self.means - self.mean) ** 2
        return result

    def covariance(self) -> np.ndarray:
        """E[c cᵀ] - E c E cᵀ of the vectors that :meth:`sample` gives, shape (D, D)."""
        scale = np.sqrt(self.variance) if self.standardised else np.ones(self.means.shape[1])
        if self.assignment == "coordinate":
            return np.diag(self.variance / scale**2)
        off = (self.means - self.mean) / scale
        result: np.ndarray = np.diag(1.0 / scale**2) + (off.T * self.probabilities) @ off
        return result

    def sample(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Return vectors drawn from the mixture, shape (count, D)."""
        D = self.means.shape[1]
        edges = np.cumsum(self.probabilities)[:-1]
        if self.assignment == "sample":
            chosen = np.searchsorted(edges, random.random(count), side="right")
            c = self.means[chosen]
        else:
            chosen = np.searchsorted(edges, random.random((count, D)), side="right")
            c = np.take_along_axis(self.means, chosen, axis=0)
        c = c + random.standard_normal((count, D))
        if self.standardised:
            c = (c - self.mean) / np.sqrt(self.variance)
        return c

    def divergence_per_coordinate(self) -> np.ndarray:
        """Kullback–Leibler divergence of each coordinate's law from N(0, 1), in nats, shape (D,).

        It is computed by Gauss–Hermite quadrature around each component, to about 1e-10.
        """
        scale = np.sqrt(self.variance) if self.standardised else np.ones(self.means.shape[1])
        shift = self.mean if self.standardised else np.zeros(self.means.shape[1])
        centre = (self.means - shift) / scale
        nodes, weight = gauss_hermite(120)
        z = nodes[:, 0]
        unique, places = np.unique(np.vstack([centre, scale[None]]), axis=1, return_inverse=True)
        divergence = np.empty(unique.shape[1])
        for k in range(unique.shape[1]):
            mu, s = unique[:-1, k], unique[-1, k]
            x = mu[:, None] + z / s
            exponent = -0.5 * ((x[..., None] - mu) * s) ** 2
            top = exponent.max(axis=-1, keepdims=True)
            inside = (np.exp(exponent - top) * self.probabilities).sum(axis=-1)
            density = np.log(inside) + top[..., 0] + math.log(s)
            divergence[k] = self.probabilities @ ((density + 0.5 * x**2) @ weight)
        return divergence[places.reshape(-1)]


def uniform_means(
    components: int, dimension: int, separation: float, means: str, seed: int
) -> np.ndarray:
    """Return means drawn uniformly from [-α, α), shape (m, D).

    Args:
        components: m.
        dimension: D.
        separation: α, not negative.
        means: ``"common"``: one number per component; ``"coordinate"``: one per component and
            coordinate.
        seed: the seed of the means alone.
    """
    check_one_of("means", means, MEANS)
    if not (math.isfinite(separation) and separation >= 0.0):
        raise InputError(f"{separation!r} is not a number >= 0", argument="separation")
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(1,))))
    columns = 1 if means == "common" else dimension
    drawn = separation * (2.0 * random.random((components, columns)) - 1.0)
    return np.broadcast_to(drawn, (components, dimension)).copy()
