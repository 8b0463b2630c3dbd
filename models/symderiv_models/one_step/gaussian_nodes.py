"""Nodes and weights for means over standard normal vectors of few or of many entries."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from symderiv.numerics.nodes import gauss_hermite

if TYPE_CHECKING:
    Array = np.ndarray

__all__ = ["gaussian_nodes"]

#: Largest number of nodes of a tensor grid.
_MOST: Final = 700


@lru_cache(maxsize=32)
def gaussian_nodes(dimension: int, per_axis: int, points: int) -> tuple[Array, Array]:
    """Return weights, shape (S,), which add up to 1, and nodes, shape (S, dimension).

    For few entries the nodes are Gauss and Hermite's tensor grid. For more they are Sobol points
    and their mirror images, transformed such that their covariance is the identity: means of cubic
    polynomials are exact, others have the error of the points.

    Args:
        dimension: entries of the vector.
        per_axis: nodes of the grid in each direction.
        points: nodes where the grid would have too many; a power of 2.
    """
    if per_axis**dimension <= _MOST:
        nodes, weights = gauss_hermite(per_axis, dimension)
        return weights, nodes
    half = qmc.Sobol(dimension, rng=0).random_base2(round(math.log2(points)) - 1)
    z = ndtri(half)
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T
    return np.full(2 * len(z), 0.5 / len(z)), np.concatenate([z, -z])
