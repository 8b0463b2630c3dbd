"""What implicit steps keep and work with, in one vector of numbers.

How it begins and how long it is says :mod:`symderiv.integrate.steppers.coupled_modes`, which needs
no compiler.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from symderiv_kernels.fast.runtime import view

from symderiv.compiled_code.compiled import hidden_part
from symderiv.integrate.steppers.coupled_modes import COUNTS, IMPLICIT_HEAD
from symderiv.integrate.steppers.memory import IMPLICIT_STAGES, IMPLICIT_SYSTEMS

#: Places in the head: the time at which the Jacobian was found plus 1, or 0 without one; the length
#: of the step for which matrices are eliminated; where the step began and ended that predicts the
#: next one; how fast the last iterations converged.
JACOBIAN, ELIMINATED, PREDICTS_FROM, PREDICTS_LENGTH, CONVERGENCE = range(5)
#: Behind the counts: 1 where steps are shorter, after a rejected one, than those of a run that is
#: followed; 1 where the length of the step comes from that run.
SHORTER, GIVEN = COUNTS.stop, COUNTS.stop + 1
_COUNTS = COUNTS.start


class Work(NamedTuple):
    """Views of the vector; S rows of L modes, C sums and B = G + C of the border.

    Args:
        head: see :data:`JACOBIAN` and the next ones; shape (12,).
        rows: where the rows begin, shape (S,).
        alone, fields: places of the numbers that are in no row, and the fields that they are of,
            shape (G,).
        summed: the row of each sum, shape (C,).
        squared: 1 where differences go up, 0 where they go towards zero; shape (B,).
        weights: of modes in the sums, shape (C, L).
        lifts: changes of the modes of its row that change a sum by 1, shape (C, L).
        unsummed: changes of a row that change none of its sums, or zeros; shape (S, L).
        blocks: derivatives of modes by themselves, shape (S, S, L).
        border: derivatives of modes by numbers alone and sums, shape (S, B, L).
        corner: derivatives of numbers alone by these and sums, shape (G, B).
        real, imaginary: eliminated matrices of each system, shape (3, S, S, L).
        small_real, small_imaginary: those of numbers alone and sums, shape (3, B, B, 1).
        change_real, change_imaginary: of the unknowns of each system, shape (3, n).
        first_real, first_imaginary: room for a solution of the modes, shape (S, L).
        sums_real, sums_imaginary: room for changes of numbers alone and sums, shape (B, 1).
        predicts: the stages of the last step, shape (5, n).
        scale: sizes that errors are compared with, shape (n,).
    """

    head: np.ndarray
    rows: np.ndarray
    alone: np.ndarray
    fields: np.ndarray
    summed: np.ndarray
    squared: np.ndarray
    weights: np.ndarray
    lifts: np.ndarray
    unsummed: np.ndarray
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
def work_of(numbers, size):  # type: ignore[no-untyped-def]
    """Take the vector of a state of so many numbers apart."""
    S, G = int(numbers[_COUNTS]), int(numbers[_COUNTS + 1])
    C, L = int(numbers[_COUNTS + 2]), int(numbers[_COUNTS + 3])
    B, systems = G + C, IMPLICIT_SYSTEMS
    square, small, stage = systems * S * S * L, systems * B * B, systems * size
    alone = IMPLICIT_HEAD + S
    squared = alone + 2 * G + C
    weights = squared + B
    unsummed = weights + 2 * C * L
    blocks = unsummed + S * L
    border = blocks + S * S * L
    corner = border + S * B * L
    matrices = corner + G * B
    smaller = matrices + 2 * square
    changes = smaller + 2 * small
    first = changes + 2 * stage
    sums = first + 2 * S * L
    predicts = sums + 2 * B
    return Work(
        view(numbers, 0, (IMPLICIT_HEAD,)),
        view(numbers, IMPLICIT_HEAD, (S,)),
        view(numbers, alone, (G,)),
        view(numbers, alone + G, (G,)),
        view(numbers, alone + 2 * G, (C,)),
        view(numbers, squared, (B,)),
        view(numbers, weights, (C, L)),
        view(numbers, weights + C * L, (C, L)),
        view(numbers, unsummed, (S, L)),
        view(numbers, blocks, (S, S, L)),
        view(numbers, border, (S, B, L)),
        view(numbers, corner, (G, B)),
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
