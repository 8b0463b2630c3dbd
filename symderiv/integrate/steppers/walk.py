"""What the compiled stepper and its Python side share: how a slice ended, and the stepper's memory.

Nothing here needs the compiler.
"""

from __future__ import annotations

import numpy as np

RUNNING, DONE, NOT_A_NUMBER, STEP_UNDERFLOW, CONE_LEFT, STEP_LIMIT, INTERRUPTED, STIFF = range(8)

#: What the steps to come depend on beside the state and its slope: the time reached, the next step
#: and the last error; the errors added up; numbers of steps, of evaluations, of results that are
#: filled and of rejected steps since the last accepted one; whether the first step is known.
#: Then, for stabilised steps: the fastest rate, the first time and the last that they began at,
#: whether they are being made, their evaluations, and after how many steps to decide anew.
WALK = np.dtype(
    [
        (name, np.float64)
        for name in ("alpha", "step", "last_error", "error_sum", "rate", "since", "from_alpha")
    ]
    + [
        (name, np.int64)
        for name in ("accepted", "rejected", "evaluations", "results", "in_a_row", "started")
    ]
    + [(name, np.int64) for name in ("stabilised", "made", "decide")]
)
#: Tolerances of the local error and of the cone test, and after how many steps to return.
LIMITS = np.dtype(
    [(name, np.float64) for name in ("relative", "absolute", "cone")] + [("steps", np.int64)]
)

#: So many ends of steps results between steps are made from, where there are as many.
ENDS = 6
