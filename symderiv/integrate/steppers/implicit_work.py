"""What implicit steps keep and work with, in one vector of numbers.

How long that is says :func:`symderiv.integrate.steppers.walk.implicit_size`, which needs no
compiler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from symderiv_kernels.fast.runtime import view

from symderiv.compiled_code.compiled import hidden_part
from symderiv.integrate.steppers.walk import IMPLICIT_HEAD, IMPLICIT_STAGES, IMPLICIT_SYSTEMS

#: Places in the head: the time at which the Jacobian was found plus 1, or 0 without one; the length
#: of the step for which matrices are eliminated; where the step began and ended that predicts the
#: next one; how fast the last iterations converged.
JACOBIAN, ELIMINATED, PREDICTS_FROM, PREDICTS_LENGTH, CONVERGENCE = range(5)


class Work(NamedTuple):
    """Views of the vector; S = K^2 + K M numbers of a mode, B = K + S of the border.

    Args:
        head: see :data:`JACOBIAN` and the next ones; shape (8,).
        weights: of modes in the sums Q and R, shape (S, L).
        blocks: derivatives of modes by themselves, shape (S, S, L).
        border: derivatives of modes by v and the sums, shape (S, B, L).
        corner: derivatives of v by v and the sums, shape (K, B).
        real, imaginary: eliminated matrices of each system, shape (3, S, S, L).
        small_real, small_imaginary: those of v and the sums, shape (3, B, B, 1).
        change_real, change_imaginary: of the unknowns of each system, shape (3, n).
        first_real, first_imaginary: room for a solution without the border, shape (S, L).
        sums_real, sums_imaginary: room for changes of v and the sums, shape (B, 1).
        predicts: the stages of the last step, shape (5, n).
        scale: sizes that errors are compared with, shape (n,).
    """

    head: np.ndarray
    weights: np.ndarray
    blocks: np.ndarray
    border: np.ndarray
    corner: np.ndarray
    real: np.ndarray
    imaginary: np.ndarray
    small_real: np.ndarray
    small_imaginary: np.ndarray
    change_real: np.ndarray
    change_imaginary: np.ndarray
    first_real: np.ndarray
    first_imaginary: np.ndarray
    sums_real: np.ndarray
    sums_imaginary: np.ndarray
    predicts: np.ndarray
    scale: np.ndarray


@hidden_part
def work_of(numbers, sizes, size):  # type: ignore[no-untyped-def]
    """Take the vector apart; its length is :func:`.walk.implicit_size`."""
    K, L = sizes[0], sizes[2]
    S, systems = K * K + K * sizes[1], IMPLICIT_SYSTEMS
    B = K + S
    square, small, stage = systems * S * S * L, systems * B * B, systems * size
    blocks = IMPLICIT_HEAD + S * L
    border = blocks + S * S * L
    corner = border + S * B * L
    matrices = corner + K * B
    smaller = matrices + 2 * square
    changes = smaller + 2 * small
    first = changes + 2 * stage
    sums = first + 2 * S * L
    predicts = sums + 2 * B
    return Work(
        view(numbers, 0, (IMPLICIT_HEAD,)),
        view(numbers, IMPLICIT_HEAD, (S, L)),
        view(numbers, blocks, (S, S, L)),
        view(numbers, border, (S, B, L)),
        view(numbers, corner, (K, B)),
        view(numbers, matrices, (systems, S, S, L)),
        view(numbers, matrices + square, (systems, S, S, L)),
        view(numbers, smaller, (systems, B, B, 1)),
        view(numbers, smaller + small, (systems, B, B, 1)),
        view(numbers, changes, (systems, size)),
        view(numbers, changes + stage, (systems, size)),
        view(numbers, first, (S, L)),
        view(numbers, first + S * L, (S, L)),
        view(numbers, sums, (B, 1)),
        view(numbers, sums + B, (B, 1)),
        view(numbers, predicts, (IMPLICIT_STAGES, size)),
        view(numbers, predicts + IMPLICIT_STAGES * size, (size,)),
    )
