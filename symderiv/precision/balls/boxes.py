"""Recorded operations on boxes of doubles: values and derivatives enclosed, by compiled code.

Every bound is moved outwards by more than rounding may have cost: 2⁻⁵¹ of it after one operation of
arithmetic, and 2⁻⁴⁹, eight units in the last place, after a function of the C library, of whose
square root, exponential and arcsine errors of one unit are known.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from symderiv.compiled_code.linked import Linked
from symderiv.precision.balls.box_operations import box_operations
from symderiv.precision.balls.operations import Operations

Floats = npt.NDArray[np.float64]

_LANES = 64

enclose = Linked("symderiv.precision.balls.box_loops", "enclose", shipped=True)


def enclosed_values(
    operations: Operations, low: Floats, high: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return what outputs and their derivatives take within boxes.

    The range of every operation is cut to its mean-value form, which is narrow in small boxes.

    Args:
        operations: The list of operations of n inputs and m outputs.
        low, high: Bounds of B boxes, shapes (B, n).

    Returns:
        Bounds of the outputs, and of those at the middle of the boxes, shapes (B, m, 2); bounds
        of the derivatives, shape (B, m, n, 2). They are not a number where there is no bound.
    """
    program = box_operations(operations)
    boxes, n, m, count = len(low), program.inputs, program.outputs.size, len(program.operations)
    values = np.full((2, boxes, m, 2), np.nan)
    slopes = np.full((boxes, m, n, 2), np.nan)
    enclose(
        program.operations,
        program.constants,
        program.outputs,
        np.stack([low, high], axis=2),
        values,
        slopes,
        np.empty((2 * count, 2, _LANES)),
        np.zeros((count, n, 2, _LANES)),
        np.empty((2 * n + 7, _LANES)),
    )
    return values[0], values[1], slopes
