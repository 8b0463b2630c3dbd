"""Inputs with a teacher that does not see them directly: it sees latent vectors, or components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Sampler = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class LatentTeacher:
    """The relation of inputs and teacher.

    Args:
        dimension: D; None in the limit.
        axes: eigenvectors of Ω as columns, group by group, shape (N, N); None in the limit.
        cross: √(N/D) axesᵀ Φ, shape (N, D): its product with W_n is φ_n; None in the limit.
        share: t_k of teachers with W W^T/D = 1, averaged over W, shape (L,).
        sampler: inputs (count, N) and latent vectors (count, D); None if inputs cannot be drawn.
        no_equations: why the inputs can only be simulated; empty if they have equations.
        variance: variances of the independent coordinates of c, shape (D,); None: all 1.
        spectra: the spectra of inputs of several components, which the teacher sees itself:
            probabilities and variances along the axes, shape (N,) each.
    """

    dimension: int | None
    axes: np.ndarray | None
    cross: np.ndarray | None
    share: np.ndarray
    sampler: Sampler | None
    no_equations: str = ""
    variance: np.ndarray | None = None
    spectra: tuple[tuple[float, np.ndarray], ...] = ()
