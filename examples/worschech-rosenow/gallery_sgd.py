"""One-pass SGD of a linear student of which only the first components are trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def errors(
    eigenvalue: np.ndarray,
    learning_rate: float,
    student_std: float,
    trained: Sequence[int],
    alpha: np.ndarray,
    runs: int,
    seed: int,
    covariance: np.ndarray | None = None,
) -> np.ndarray:
    """ε_g of single runs, each with a teacher, a student and examples of its own.

    Args:
        eigenvalue: of the inputs' covariance, shape (N,).
        learning_rate: η.
        student_std: σ_J.
        trained: numbers of trained components, each simulated with the same examples.
        alpha: ascending times.
        runs: how many.
        seed: of all random numbers.
        covariance: in the basis of the components; diagonal if left out.

    Returns:
        Shape (number of ``trained``, runs, number of times).
    """
    N = eigenvalue.size
    random = np.random.default_rng(seed)
    start = student_std * random.standard_normal((runs, N)) - random.standard_normal((runs, N))
    deviation = np.tile(start, (len(trained), 1, 1))
    mask = (np.arange(N) < np.asarray(trained)[:, None])[:, None, :] * (learning_rate / N)
    root = np.sqrt(eigenvalue)
    factor = None
    if covariance is not None:
        values, vectors = np.linalg.eigh(covariance)
        factor = (vectors * np.sqrt(np.clip(values, 0.0, None))).T
    marks = np.rint(alpha * N).astype(int)
    found = np.empty((len(trained), runs, alpha.size))
    done = 0
    for place, mark in enumerate(marks):
        while done < mark:
            count = min(256, int(mark) - done)
            normal = random.standard_normal((count, runs, N))
            inputs = normal * root if factor is None else normal @ factor
            for xi in inputs:
                delta = np.einsum("tra,ra->tr", deviation, xi)
                deviation -= mask * (delta[:, :, None] * xi)
            done += count
        if covariance is None:
            squares = deviation**2 @ eigenvalue
        else:
            squares = np.einsum("tra,ab,trb->tr", deviation, covariance, deviation, optimize=True)
        found[:, :, place] = 0.5 * squares / N
    return found
