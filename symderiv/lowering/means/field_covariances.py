r"""Covariances of fields at which rules of quadrature are tried: random ones and hard ones.

Hard ones have fields that are almost or exactly proportional, with either sign, in any number and
grouping; pairs almost in the plane of two others, with correlated residuals; very different or tiny
variances; or a rank below the number of fields. The numbers come from one seed, so that a module's
text is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


_GROUPS = {2: ("aa", "ab"), 4: ("aaaa", "aaab", "aaba", "abaa", "aabb", "abab", "abba", "abcd")}
_SIZES = (1e-6, 1e-3, 0.03, 0.06, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0)


def structured(size: int, largest: float) -> Iterator[Matrix]:
    """Yield covariances of groups of equal or opposite fields, with equal variances from tiny to
    ``largest``.

    Fields of different groups are independent.
    """
    for variance in _SIZES:
        for letters in _GROUPS[size]:
            same = np.array([[a == b for b in letters] for a in letters], dtype=float)
            for signs in ([1.0] * size, [1.0, -1.0, 1.0, 1.0][:size]):
                yield largest * variance * same * np.outer(signs, signs)


def field_covariances(rng: np.random.Generator, count: int, size: int, largest: float) -> Matrix:
    """Return covariances with variances up to ``largest``, one after the other.

    The fields are combinations of one to ``size`` independent variables; then each may be turned
    into a copy of an earlier one, of either sign, with 1 - rho between 1e-16 and 1e-1, and the last
    two of four may be put close to the plane of the others; variances are mostly of order one.
    """
    every = np.arange(count)
    few = rng.random(count) < 0.3
    ranks = np.where(few, rng.integers(1, size + 1, count), size)
    fields = rng.normal(size=(count, size, size)) * (np.arange(size) < ranks[:, None, None])
    fields /= np.linalg.norm(fields, axis=2, keepdims=True)
    fields = np.concatenate([fields, np.zeros_like(fields)], axis=2)
    for a in range(1, size):
        is_copy = rng.random(count) < 0.5
        apart = 10.0 ** rng.uniform(-16, -1, count)
        apart[rng.random(count) < 0.15] = 0.0
        factor = (1 - apart) * rng.choice([-1.0, 1.0], count)
        copied = factor[:, None] * fields[every, rng.integers(a, size=count)]
        copied[:, size + a] += np.sqrt(apart * (2 - apart))
        fields[is_copy, a] = copied[is_copy]
    if size == 4:
        near = rng.random(count) < 0.15
        fields[near, 2:] = _near_plane(rng, fields[near, :2])
    variances = largest * rng.random((count, size)) ** 2
    equal = rng.random(count) < 0.3
    variances[equal] = variances[equal, :1]
    kind = rng.random((count, size))
    tiny = 10.0 ** rng.uniform(-12, -1, (count, size))
    kinds = [kind < 0.15, kind < 0.25, kind < 0.27]
    variances = np.select(
        kinds, [np.full_like(tiny, largest), tiny, np.zeros_like(tiny)], variances
    )
    order = rng.permuted(np.tile(np.arange(size), (count, 1)), axis=1)
    scaled = (fields * np.sqrt(variances)[:, :, None])[every[:, None], order]
    return np.asarray(scaled @ scaled.transpose(0, 2, 1))


def _near_plane(rng: np.random.Generator, pair: Matrix) -> Matrix:
    """Return two more fields close to the plane spanned by two, with correlated residuals."""
    count, _, axes = pair.shape
    turned = rng.normal(size=(count, 2, 2))
    turned[:, :, 1] *= 10.0 ** rng.uniform(-2, 0, (count, 1))
    fields = turned @ pair
    away = np.linalg.norm(fields, axis=2) * 10.0 ** rng.uniform(-2, 0, (count, 2))
    own = 10.0 ** rng.uniform(-2, 0.3, (count, 2))
    shared = away / np.hypot(1.0, own)
    fields[:, :, axes - 1] += shared * rng.choice([-1.0, 1.0], (count, 2))
    for n in range(2):
        fields[:, n, axes - 2 - n] += shared[:, n] * own[:, n]
    size = np.linalg.norm(fields, axis=2, keepdims=True)
    return np.asarray(fields / np.where(size > 0.0, size, 1.0))


def nearby(rng: np.random.Generator, covariance: Matrix, largest: float, count: int) -> Matrix:
    """Return covariances near a given one: with its square root and its variances perturbed."""
    size = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    reach = 10.0 ** rng.uniform(-4, -0.3, (count, 1, 1))
    turned = reach * rng.normal(size=(count, size, size))
    # relative changes of the root keep a nearly singular covariance nearly singular
    stays = rng.random((count, 1, 1)) < 0.5
    roots = np.where(stays, root * np.exp(turned), root + 0.3 * turned * np.abs(root).max())
    roots *= np.exp(reach * rng.normal(size=(count, size, 1)))
    moved = roots @ roots.transpose(0, 2, 1)
    variances = np.einsum("naa->na", moved)
    scale = np.sqrt(np.minimum(1.0, largest / np.maximum(variances, 1e-300)))
    return np.asarray(scale[:, :, None] * moved * scale[:, None, :])
