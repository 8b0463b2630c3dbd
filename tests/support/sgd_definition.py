"""Mean changes in one step of gradient descent, from the definition and explicit weights.

No Stein, no Price, no closed form: means over the fields are sums over quadrature or sampling
points, and the inputs enter through their regression on the fields. Everything is written per
coordinate of explicit weight vectors in a small input space; what the engine calls overlaps appears
only at the end, when the changes are projected on eigenspaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Rates:
    learning_rate: float = 0.7
    second_layer_learning_rate: float = 0.4
    weight_decay: float = 0.13
    second_layer_weight_decay: float = 0.21
    label_noise: float = 0.3
    full_order: float = 1.0

    def packed(self) -> list[float]:
        return [
            self.learning_rate,
            self.second_layer_learning_rate,
            self.weight_decay,
            self.second_layer_weight_decay,
            self.label_noise,
            self.full_order,
        ]


@dataclass(frozen=True)
class System:
    """Explicit student weights J (K, N), teacher correlations phi (M, N), and the rest.

    ``mode`` (N,) says which eigenvalue belongs to a coordinate; T may exceed the part of the
    teacher's variance that is linear in the inputs.
    """

    J: Array
    phi: Array
    mode: NDArray[np.int64]
    eigenvalue: Array
    T: Array
    v: Array
    v_teacher: Array

    @property
    def weight(self) -> Array:
        return np.bincount(self.mode) / len(self.mode)

    def _overlap(self, first: Array, second: Array) -> Array:
        counts = np.bincount(self.mode)
        return np.stack(
            [
                first[:, self.mode == k] @ second[:, self.mode == k].T / counts[k]
                for k in range(len(counts))
            ]
        )

    def state(self) -> Array:
        return packed(self._overlap(self.J, self.J), self._overlap(self.J, self.phi), self.v)

    def parameters(self, rates: Rates) -> Array:
        teacher = modes_last(self._overlap(self.phi, self.phi))
        parts = (self.eigenvalue, self.weight, teacher, self.T, self.v_teacher)
        return np.concatenate([*(part.ravel() for part in parts), np.array(rates.packed())])

    def sizes(self) -> NDArray[np.int64]:
        return np.array([len(self.J), len(self.phi), len(self.eigenvalue)])

    def field_covariance(self) -> Array:
        N = len(self.mode)
        Q = self.J * self.eigenvalue[self.mode] @ self.J.T / N
        R = self.J @ self.phi.T / N
        return np.block([[Q, R], [R.T, self.T]])


def modes_last(overlaps: Array) -> Array:
    """Overlaps (L, ...) per eigenvalue with the eigenvalue as the last index."""
    return np.moveaxis(overlaps, 0, -1)


def packed(students: Array, cross: Array, v: Array) -> Array:
    """The flat state of overlaps (L, K, K), (L, K, M) and output weights."""
    return np.concatenate([modes_last(students).ravel(), modes_last(cross).ravel(), v])


def random_system(seed: int, K: int, M: int, scale: float = 0.6) -> System:
    """A small system with off-diagonal T, two eigenvalues and a teacher that is not all linear."""
    rng = np.random.default_rng(seed)
    mode = np.array([0] * 4 + [1] * 8)
    eigenvalue = np.array([1.7, 0.65])
    J = scale * rng.normal(size=(K, len(mode)))
    phi = scale * rng.normal(size=(M, len(mode))) * eigenvalue[mode]
    extra = rng.normal(size=(M, M)) * 0.25
    T = phi / eigenvalue[mode] @ phi.T / len(mode) + extra @ extra.T
    v, v_teacher = rng.normal(size=K), rng.normal(size=M)
    return System(J, phi, mode, eigenvalue, T, v, v_teacher)


def hermite(dimension: int, count: int) -> tuple[Array, Array]:
    """Standard normal points (dimension, count**dimension) and weights."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    weights = weights / weights.sum()
    points = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * dimension, indexing="ij")])
    grid = np.ones(1)
    for _ in range(dimension):
        grid = np.multiply.outer(grid, weights).ravel()
    return points, grid


def sobol(dimension: int, log2_count: int, seed: int) -> tuple[Array, Array]:
    """Randomised quasi-random standard normal points and equal weights."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed)).random_base2(
        log2_count
    )
    points = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12)).T
    return points, np.full(points.shape[1], 1.0 / points.shape[1])


def mean_rates(
    system: System,
    rates: Rates,
    g: Function,
    g_prime: Function,
    h: Function,
    points: tuple[Array, Array],
) -> tuple[Array, float]:
    """The derivative of the packed state by examples/N, and the generalisation error."""
    normal, weights = points
    K, N = len(system.J), len(system.mode)
    C = system.field_covariance()
    fields = np.linalg.cholesky(C) @ normal
    x, y = fields[:K], fields[K:]
    error = system.v @ g(x) - system.v_teacher @ h(y)
    slope = system.v[:, None] * g_prime(x)
    force = slope * error

    # E[xi_a F_i] through the regression of the input on the fields.
    with_input = np.vstack([system.J * system.eigenvalue[system.mode], system.phi]) / np.sqrt(N)
    mean_xi_force = (force * weights) @ fields.T @ np.linalg.solve(C, with_input)
    dJ = -rates.learning_rate * np.sqrt(N) * mean_xi_force - rates.weight_decay * system.J

    products = (force * weights) @ force.T
    products += rates.label_noise**2 * (slope * weights) @ slope.T
    second = rates.full_order * rates.learning_rate**2 * products
    dQ = system._overlap(dJ, system.J) + system._overlap(system.J, dJ)
    dQ += system.eigenvalue[:, None, None] * second
    dr = system._overlap(dJ, system.phi)
    dv = -rates.second_layer_learning_rate * (g(x) * error) @ weights
    dv -= rates.second_layer_weight_decay * system.v
    return packed(dQ, dr, dv), float(weights @ error**2 / 2)


def replicates(dimension: int, log2_count: int, count: int) -> Iterator[tuple[Array, Array]]:
    """Independent randomisations, for standard errors."""
    for seed in range(count):
        yield sobol(dimension, log2_count, seed)
