"""Nodes and weights of Gauss' rules in doubles, for all quadratures that are not certified.

NumPy computes them. Certified rules have theirs as balls (``gaussian/legendre_balls.py``). The
constants of this module are also pasted into generated modules.
"""

from __future__ import annotations

import functools
import math

import numpy as np

# Gauss' rules on [-1, 1]: a row of nodes and a row of weights.
_LEGENDRE_8 = np.array(np.polynomial.legendre.leggauss(8))
_LEGENDRE_12 = np.array(np.polynomial.legendre.leggauss(12))
_LEGENDRE_16 = np.array(np.polynomial.legendre.leggauss(16))
_LEGENDRE_20 = np.array(np.polynomial.legendre.leggauss(20))
_LEGENDRE_24 = np.array(np.polynomial.legendre.leggauss(24))
_LEGENDRE_32 = np.array(np.polynomial.legendre.leggauss(32))
# Gauss' rule for means over a standard normal variable.
_HERMITE_7_NODES = np.polynomial.hermite_e.hermegauss(7)[0]
_HERMITE_7_WEIGHTS = np.polynomial.hermite_e.hermegauss(7)[1] / math.sqrt(2.0 * math.pi)

# Rules of 4, 6, ... 32 points, and of 1, 2, ... 20 points: a row each, padded with zeros.
_LEGENDRES = np.array(
    [
        [np.pad(row, (0, 28 - 2 * n)) for row in np.polynomial.legendre.leggauss(4 + 2 * n)]
        for n in range(15)
    ]
)
_HERMITES = np.array(
    [
        [np.pad(row, (0, 19 - n)) for row in np.polynomial.hermite_e.hermegauss(n + 1)]
        for n in range(20)
    ]
) / np.array([[1.0], [math.sqrt(2.0 * math.pi)]])


# Rules of 8, 12, 16 and 20 points for half lines of the standard normal density that begin at -8,
# -7.5, ... 8, over the factor of the density there: rows of distances from the start for each, then
# rows of weights. Nodes are eigenvalues of the distance among polynomials, orthonormal at points of
# Gauss' rule.
_STARTS = np.arange(-8.0, 8.5, 0.5)[:, None]
_REACHES = np.where(_STARTS < 0.0, 9.5 - _STARTS, 9.5)
_GAUSS_160 = np.array(np.polynomial.legendre.leggauss(160))
_APART = 0.5 * _REACHES * (1.0 + _GAUSS_160[0])
_DENSITIES = (
    0.5 * _REACHES * _GAUSS_160[1] * np.exp(-0.5 * _APART * _APART - _STARTS * _APART)
) / math.sqrt(2.0 * math.pi)
_ORTHONORMAL = np.linalg.qr(
    np.sqrt(_DENSITIES)[:, :, None] * np.polynomial.chebyshev.chebvander(_GAUSS_160[0], 19)
)[0]
_DISTANCE = np.transpose(_ORTHONORMAL, (0, 2, 1)) @ (_APART[:, :, None] * _ORTHONORMAL)
_EIGEN = [np.linalg.eigh(_DISTANCE[:, : 8 + 4 * n, : 8 + 4 * n]) for n in range(4)]
_HALF_LINES = np.array(
    [
        np.pad(
            np.concatenate([places, np.sum(_DENSITIES, axis=1)[:, None] * vectors[:, 0] ** 2]),
            ((0, 0), (0, 20 - places.shape[1])),
        )
        for places, vectors in _EIGEN
    ]
)

# Gauss' rules for the weight r exp(-r²/2) of positive r: of 12 points, and of 22 and 32 without the
# last two and four, whose weights are negligible.
_RADIUS = 7.0 * (1.0 + _GAUSS_160[0])
_OF_RADIUS = 7.0 * _GAUSS_160[1] * _RADIUS * np.exp(-0.5 * _RADIUS * _RADIUS)
_RADIAL = np.linalg.qr(
    np.sqrt(_OF_RADIUS)[:, None] * np.polynomial.chebyshev.chebvander(_GAUSS_160[0], 31)
)[0]
_RADIAL_EIGEN = [
    np.linalg.eigh(_RADIAL[:, :n].T @ (_RADIUS[:, None] * _RADIAL[:, :n])) for n in (12, 22, 32)
]
_RAYLEIGHS = np.array(
    [
        np.pad(np.array([places, vectors[0] ** 2]), ((0, 0), (0, 32 - places.size)))
        for places, vectors in _RADIAL_EIGEN
    ]
)


@functools.lru_cache(maxsize=64)
def gauss_legendre(points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of Gauss' rule on [-1, 1], each of shape (points,)."""
    return _fixed(*np.polynomial.legendre.leggauss(points))


@functools.lru_cache(maxsize=64)
def gauss_hermite(points: int, axes: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return the tensor grid for means over independent standard normal variables.

    Args:
        points: The number of points on each axis.
        axes: The number of variables.

    Returns:
        Nodes, shape (points**axes, axes), and weights, which add up to 1.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    grids = np.meshgrid(*[nodes] * axes, indexing="ij")
    shares = np.meshgrid(*[weights] * axes, indexing="ij")
    product = np.prod(np.reshape(shares, (axes, -1)), axis=0)
    return _fixed(np.reshape(grids, (axes, -1)).T, product / product.sum())


def gauss_panels(edges: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of Gauss' rule in every panel between ascending edges.

    Args:
        edges: Shape (..., panels + 1).
        points: The number of points in each panel.

    Returns:
        Nodes and weights, each of shape (..., panels * points).
    """
    nodes, weights = gauss_legendre(points)
    middle, half = (edges[..., 1:] + edges[..., :-1]) / 2, np.diff(edges, axis=-1) / 2
    shape = (*edges.shape[:-1], -1)
    places = middle[..., None] + half[..., None] * nodes
    return places.reshape(shape), (half[..., None] * weights).reshape(shape)


def normal_steps(reach: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return equally spaced nodes in [-reach, reach] and weights for standard normal means."""
    count = math.floor(reach / step + 1e-9)
    nodes = step * np.arange(-count, count + 1)
    return nodes, step * np.exp(-(nodes**2) / 2.0) / np.sqrt(2.0 * np.pi)


def _fixed(nodes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays after making them read-only, because they are cached."""
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
