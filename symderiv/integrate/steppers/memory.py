"""What the compiled stepper and its Python side share: how runs end, and the stepper's memory.

Nothing here needs the compiler.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from symderiv.problem.flat_layout import places

RUNNING, DONE, NOT_A_NUMBER, STEP_UNDERFLOW, CONE_LEFT, STEP_LIMIT, INTERRUPTED = range(7)
#: How a piece of a run ends whose next steps are of another kind.
CHANGED: Final = 8

#: The methods that steps are made by; see :mod:`symderiv.integrate.steppers.stepper`.
EXPLICIT, IMPLICIT = "explicit", "implicit"

#: So many ends of steps results between steps are made from, where there are as many; one more is
#: the middle of a step.
ENDS: Final = 6
#: The stages of a step that are kept at once.
STAGES: Final = 12
#: The stages of an implicit step, and the linear systems of an iteration.
IMPLICIT_STAGES, IMPLICIT_SYSTEMS = 5, 3
#: The vector among the stages that has the mean slope of the step around a result, where the step
#: to the result is an implicit one.
CHORD: Final = 2 * IMPLICIT_STAGES + 1

_REALS = (
    # the time reached, the next step, the logarithm of the last error, and the errors added up
    *("alpha", "step", "last_log", "error_sum"),
    # up to which time results are steps of their own
    "own_until",
    # the time at which implicit steps began after explicit ones
    "since",
)
_WHOLE = (
    # the run in the queue, or -1; how it ended
    *("run", "code"),
    # numbers of steps, of evaluations, and of results that are filled
    *("accepted", "rejected", "evaluations", "results"),
    # those of the evaluations that shorter steps took, for results between steps
    "between",
    # rejected steps since the last accepted one
    "in_a_row",
    # the end of a step from which a shorter one goes, or -1; whether that goes to the middle, and
    # the end behind which there is a middle
    *("inside", "halving", "halved"),
    # the kind of steps that are being made, a place in KINDS; after how many steps to decide anew
    *("kind", "decide"),
)
#: The methods by the number that a run keeps.
KINDS: Final = (EXPLICIT, IMPLICIT)
#: What the steps to come of a run depend on beside states and slopes.
STATUS = np.dtype([(name, np.float64) for name in _REALS] + [(name, np.int64) for name in _WHOLE])


class Control(NamedTuple):
    """How the steps of a method are chosen; all numbers are doubles.

    Args:
        safety: part of the step that the error would allow.
        proportional, integral: powers of the error of an accepted step and of the one before:
            proportional-integral control keeps steps from oscillating where stability limits them.
        least_growth, largest_growth: of an accepted step.
        retry, largest_shrink: power of the error of a rejected step, and the least part that is
            left of it.
        outside: how often in a row a step may leave the cone and is halved.
        between: largest estimated error of a result between steps, in the tolerance of a step. It
            is a mean over the entries of a state at one place; errors elsewhere and of single
            entries are larger.
        halves: 1 if a step in which that is larger is halved, for one more end to go through.
    """

    safety: float
    proportional: float
    integral: float
    least_growth: float
    largest_growth: float
    retry: float
    largest_shrink: float
    outside: float
    between: float
    halves: float


#: Places in the queue: the next run, how many have ended, and the code with which all are to end.
NEXT, ENDED, STOP = range(3)


class Runs(NamedTuple):
    """Runs of one problem that wait in a queue, and what becomes of them.

    Args:
        queue: ``NEXT``, ``ENDED``, ``STOP``; shape (3,).
        starts: states at alpha = 0, shape (n, S).
        constants: in the layout of the modules, shape (n, P).
        tolerances: relative, absolute, of the cone test; and how many evaluations shorter steps
            may take, for results between steps; those that need more are left out. Shape (n, 4).
        asked: ascending times of the results, shape (A,).
        results: shape (n, A, S), filled row by row.
        last: states of the last accepted steps, shape (n, S).
        ended: records of :data:`STATUS`, shape (n,).
        sizes, places: K, M, L; where fields lie
            (:func:`symderiv.problem.flat_layout.places`).
    """

    queue: np.ndarray
    starts: np.ndarray
    constants: np.ndarray
    tolerances: np.ndarray
    asked: np.ndarray
    results: np.ndarray
    last: np.ndarray
    ended: np.ndarray
    sizes: np.ndarray
    places: np.ndarray


class Memory(NamedTuple):
    """All that the steps to come depend on, and room; W runs at a time.

    Args:
        statuses: records of :data:`STATUS`, shape (W,).
        numbers: values of the runs and scratch space, taken apart by ``stepper.workspace_of``; the
            first are the states and the slopes there (as first stage).
        times, ends: of the last steps, their values and slopes; shapes (W, ENDS + 1) and
            (W, ENDS + 1, 2, S). End number e stands at e % ENDS, the middle of a step behind them.
        between: room for times and weights of the ends, shape (5, ENDS).
        order: room for which ends these are, shape (ENDS,).
        implicit: what implicit steps keep and work with, see
            :mod:`symderiv.integrate.steppers.implicit_work`; empty without them.
        made: where the implicit steps of a slice began and how long they were, a row for each;
            zeros where a step was rejected. Shape (n, 2).
        followed: the same of the steps of another run, that those to come are to be longer than.
    """

    statuses: np.ndarray
    numbers: np.ndarray
    times: np.ndarray
    ends: np.ndarray
    between: np.ndarray
    order: np.ndarray
    implicit: np.ndarray
    made: np.ndarray
    followed: np.ndarray


#: Values of each run, beside vectors of the state's size, that a stepper works with: time, start
#: and length of a step, its error, a mark, four tolerances.
VALUES: Final = 9
#: Vectors of the state's size: state, stages, and three for the step.
VECTORS: Final = STAGES + 4


def memory_of(width: int, size: int, constants: int, fields: int) -> Memory:
    """Return the memory of one thread, values in whole lines of the cache.

    Args:
        width: runs at a time.
        size: numbers of a state.
        constants: of a run.
        fields: K + M.
    """
    whole = np.zeros(width * (VECTORS * size + constants + fields * fields + VALUES) + 8)
    first = (-whole.ctypes.data // 8) % 8
    statuses = np.zeros(width, dtype=STATUS)
    statuses["run"] = statuses["inside"] = statuses["halved"] = -1
    return Memory(
        statuses,
        whole[first:],
        np.zeros((width, ENDS + 1)),
        np.zeros((width, ENDS + 1, 2, size)),
        np.zeros((5, ENDS)),
        np.zeros(ENDS, dtype=np.int64),
        np.zeros(0),
        np.zeros((0, 2)),
        np.zeros((0, 2)),
    )


def runs_of(
    starts: np.ndarray,
    constants: np.ndarray,
    tolerances: np.ndarray,
    asked: np.ndarray,
    sizes: np.ndarray,
) -> Runs:
    """Return runs that are to be made, see :class:`Runs`."""
    n, size = starts.shape
    ended = np.zeros(n, dtype=STATUS)
    ended["code"] = INTERRUPTED
    return Runs(
        np.zeros(3, dtype=np.int64),
        np.ascontiguousarray(starts, dtype=np.float64),
        np.ascontiguousarray(constants, dtype=np.float64),
        tolerances,
        np.ascontiguousarray(asked, dtype=np.float64),
        np.empty((n, asked.size, size)),
        np.array(starts, dtype=np.float64),
        ended,
        sizes,
        places(sizes),
    )
