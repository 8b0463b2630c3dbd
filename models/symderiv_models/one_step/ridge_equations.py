r"""The error of ridge on the conditional Gaussian map by equations, without any sample.

Given the trained first layer, features φ (divided by √k) are Gaussian given s = (c, κ), with means
ν_s and covariances C_s; κ runs over a Gauss-Hermite grid with weights p_s. For m samples and
ŵ = Q Σ y φ/m, Q = (Σ φφᵀ/m + λ)^{-1}, taking one sample out of all gives, to leading order in 1/m,

.. math:: \bar Q^{-1} = \lambda + \sum_s p_s \frac{C_s + \nu_s\nu_s^\top}{1+\delta_s} ,\qquad
          \delta_s = \tfrac1m \mathrm{tr}\,(C_s + \nu_s\nu_s^\top)\bar Q ,\qquad
          \bar w = \bar Q \sum_s p_s \frac{E[y\varphi|s]}{1+\delta_s} ,

.. math:: V_s = E[(y - \bar w^\top\varphi)^2|s]
          + \sum_{s'} \frac{p_{s'} V_{s'}}{(1+\delta_{s'})^2}\,\tfrac1m\,
          \mathrm{tr}\, C_{s'} \bar Q\, C_s \bar Q .

The test error is Σ p_s V_s, the training error Σ p_s V_s/(1+δ_s)². With one s these are the
equations of ridge regression with Gaussian features; with several those of Gaussian mixtures (C.
Louart and R. Couillet, arXiv:1805.08295; B. Loureiro et al., arXiv:2106.03791), of which there is
one component for every κ here. The error is of order 1/m; its size at finite m is measured, not
bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from symderiv.foundation.errors import ToleranceError
from symderiv.numerics.nodes import gauss_hermite
from symderiv_models.one_step.spiked_mixture import rectified

if TYPE_CHECKING:
    from symderiv_models.one_step.conditional import ConditionalMap
    from symderiv_models.one_step.spiked_mixture import Population, SpikedComponent

    Array = np.ndarray

__all__ = ["RidgeErrors", "ridge_errors"]

# Nodes per direction of the grid over κ: the largest error found is 2e-4, with three nodes 2e-3.
_NODES: Final = 4
_TOLERANCE: Final = 1e-8
_ITERATIONS: Final = 500


@dataclass(frozen=True)
class RidgeErrors:
    """The mean (y - ŷ)² on fresh examples and on those of ridge."""

    test: float
    training: float


@dataclass(frozen=True, eq=False)
class _Cases:
    """Cases on which means are conditioned: the first axis of all arrays is s.

    Args:
        weight: p, shape (S,).
        mean: ν, shape (S, k).
        covariance: C, shape (S, k, k).
        cross: E[y φ], shape (S, k).
        square: E y², shape (S,).
    """

    weight: Array
    mean: Array
    covariance: Array
    cross: Array
    square: Array


def ridge_errors(
    population: Population, features: ConditionalMap, samples: int, constant: float
) -> RidgeErrors:
    """Return errors of ridge on the map of a trained first layer.

    Args:
        population: The mixture and the teacher.
        features: The map.
        samples: m.
        constant: λ.

    Raises:
        ToleranceError: The fixed point was not reached.
    """
    shares = (population.weight, 1.0 - population.weight)
    parts = [
        _cases(population, features, place) for place, share in enumerate(shares) if share > 0.0
    ]
    positive = [share for share in shares if share > 0.0]
    weight = np.concatenate([s * part.weight for s, part in zip(positive, parts, strict=True)])
    names = ("mean", "covariance", "cross", "square")
    arrays = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
    return _solved(_Cases(weight, *arrays), samples, constant)


def _cases(population: Population, features: ConditionalMap, place: int) -> _Cases:
    component, fields = population.components[place], features.fields(place)
    order = features.order
    kappa, weight = _grid(component, fields.basis)
    inputs = component.mean + kappa @ fields.basis.T
    moments = features.moments(place, inputs)
    c, rest = moments.coefficients, moments.remainder()
    k, count = c.shape[1:]
    R = fields.cosines
    covariance = np.zeros((count, k, k))
    power = np.ones_like(R)
    for p in range(1, order + 1):
        power = power * R
        scaled = (c[p] / math.sqrt(math.factorial(p))).T
        covariance += power * (scaled[:, :, None] * scaled[:, None, :])
    covariance[:, range(k), range(k)] += rest.T
    if population.classes:
        label, slope = np.full(count, (-1.0, 1.0)[place]), np.zeros(count)
        square = np.ones(count)
    else:
        along = population.teacher - fields.basis @ (fields.basis.T @ population.teacher)
        label, slope, square = rectified(inputs @ population.teacher, float(np.linalg.norm(along)))
    cross = c[0].T * label[:, None] + c[1].T * slope[:, None] * (
        fields.outside @ population.teacher
    )
    root = math.sqrt(k)
    return _Cases(weight, c[0].T / root, covariance / k, cross / root, square)


def _grid(component: SpikedComponent, basis: Array) -> tuple[Array, Array]:
    """Return values of κ, shape (S, d + 1), and their weights."""
    inside = component.directions.T @ basis
    covariance = np.eye(basis.shape[1]) + (inside.T * component.strengths) @ inside
    nodes, weights = gauss_hermite(_NODES, basis.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    return nodes @ (vectors * np.sqrt(values)).T, weights


def _solved(cases: _Cases, samples: int, constant: float) -> RidgeErrors:
    p, k = cases.weight, cases.mean.shape[1]
    second = cases.covariance + cases.mean[:, :, None] * cases.mean[:, None, :]
    flat = second.reshape(len(p), -1)
    delta = np.full(len(p), float(k) / samples)
    # The map is positive and rises with δ, but less than in proportion, so iterating it converges.
    for _ in range(_ITERATIONS):
        whole = ((p / (1.0 + delta)) @ flat).reshape(k, k)
        whole.flat[:: k + 1] += constant
        Q = np.linalg.inv(whole)
        new = flat @ Q.ravel() / samples
        change = float(np.max(abs(new - delta) / (1.0 + delta)))
        delta = new
        if change < _TOLERANCE:
            break
    else:
        raise ToleranceError(f"the equations of ridge still change by {change:.1g}")
    w = Q @ ((p / (1.0 + delta)) @ cases.cross)
    own = cases.square - 2.0 * cases.cross @ w + (second @ w) @ w
    turned = cases.covariance @ Q
    across = turned.transpose(0, 2, 1).reshape(len(p), -1)
    kernel = turned.reshape(len(p), -1) @ across.T / samples
    kernel *= p / (1.0 + delta) ** 2
    V = np.linalg.solve(np.eye(len(p)) - kernel, own)
    return RidgeErrors(float(p @ V), float(p @ (V / (1.0 + delta) ** 2)))
