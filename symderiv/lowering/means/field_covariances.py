r"""Covariances of fields at which rules of quadrature are tried: random ones and hard ones.

Hard are fields that are almost or exactly proportional, with either sign, in any number and
grouping, fields of very different and of tiny variance, and fewer dimensions than fields. The
numbers come from one seed, so that a module's text is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


_GROUPS = {2: ("aa", "ab"), 4: ("aaaa", "aaab", "aaba", "abaa", "aabb", "abab", "abba", "abcd")}
_SIZES = (1e-6, 1e-3, 0.03, 0.06, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0)


def structured(size: int, largest: float) -> Iterator[Matrix]:
    """Yield fields in groups of equal or opposite ones, of equal variances from tiny to the
    largest.

    Different letters are independent fields.
    """
    for variance in _SIZES:
        for letters in _GROUPS[size]:
            same = np.array([[a == b for b in letters] for a in letters], dtype=float)
            for signs in ([1.0] * size, [1.0, -1.0, 1.0, 1.0][:size]):
                yield largest * variance * same * np.outer(signs, signs)


def field_covariance(rng: np.random.Generator, size: int, largest: float) -> Matrix:
    """Return a covariance with variances up to ``largest``.

    The fields are combinations of one to ``size`` independent variables; then each may be turned
    into a copy of an earlier one, of either sign, with 1 - rho between 1e-16 and 1e-1; variances
    are mostly of order one.
    """
    rank = int(rng.integers(1, size + 1)) if rng.random() < 0.3 else size
    fields = rng.normal(size=(size, rank))
    fields /= np.linalg.norm(fields, axis=1, keepdims=True)
    fields = np.hstack([fields, np.zeros((size, size))])
    for a in range(1, size):
        if rng.random() < 0.5:
            apart = 0.0 if rng.random() < 0.15 else 10.0 ** rng.uniform(-16, -1)
            copied = rng.choice([-1.0, 1.0]) * fields[rng.integers(a)]
            fields[a] = (1 - apart) * copied
            fields[a, rank + a] += np.sqrt(apart * (2 - apart))
    variances = largest * rng.random(size) ** 2
    if rng.random() < 0.3:
        variances[:] = variances[0]
    for a in range(size):
        kind = rng.random()
        if kind < 0.15:
            variances[a] = largest
        elif kind < 0.25:
            variances[a] = 10.0 ** rng.uniform(-12, -1)
        elif kind < 0.27:
            variances[a] = 0.0
    order = rng.permutation(size)
    scaled = (fields * np.sqrt(variances)[:, None])[order]
    return np.asarray(scaled @ scaled.T)


def nearby(rng: np.random.Generator, covariance: Matrix, largest: float) -> Matrix:
    """Return a covariance not far from another: its root turned a little, its variances changed."""
    size = len(covariance)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    reach = 10.0 ** rng.uniform(-4, -0.3)
    if rng.random() < 0.5:
        # relative changes of the root keep what is almost singular almost singular
        root = root * np.exp(reach * rng.normal(size=size))
    else:
        root = root + reach * 0.3 * rng.normal(size=(size, size)) * np.abs(root).max()
    root = root * np.exp(reach * rng.normal(size=(size, 1)))
    moved = root @ root.T
    scale = np.sqrt(np.minimum(1.0, largest / np.maximum(np.diag(moved), 1e-300)))
    return np.asarray(scale[:, None] * moved * scale[None, :])
