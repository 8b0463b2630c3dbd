"""The generalisation error along many runs, eight states at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from symderiv_kernels.lanes.runtime import DIGEST, WIDTH

from symderiv.compiled_code.code_cache import kept_code
from symderiv.compiled_code.compiled import INTEGERS, MATRIX, VECTOR, compiled

#: A lane module's observables as a value: (state, sizes, parameters, found).
LANE_OBSERVABLES = types.FunctionType(types.void(VECTOR, INTEGERS, VECTOR, VECTOR))


def _kept_with(digest: int) -> Any:
    """Return the compiled loop over states; ``digest`` is that of the sources of lane modules."""

    @compiled(
        (
            LANE_OBSERVABLES,
            types.float64[:, :, ::1],
            MATRIX,
            INTEGERS,
            INTEGERS,
            MATRIX,
        )
    )
    def observe_lanes(
        observables: Callable[..., None],
        results: np.ndarray,
        constants: np.ndarray,
        sizes: np.ndarray,
        reached: np.ndarray,
        errors: np.ndarray,
    ) -> None:
        """Fill the errors of the states that were reached.

        Args:
            observables: ``flat_observables`` of a lane module.
            results: states, shape (n, A, S).
            constants: in the layout of the modules, shape (n, P).
            sizes: as everywhere.
            reached: how many states of each run there are, shape (n,).
            errors: shape (n, A).
        """
        digest  # noqa: B018 - compiled code is kept by what the function mentions
        n, size = results.shape[0], results.shape[2]
        state = np.zeros(size * WIDTH)
        parameters = np.zeros(constants.shape[1] * WIDTH)
        values = np.zeros(WIDTH)
        for run in range(n):
            for c in range(constants.shape[1]):
                for lane in range(WIDTH):
                    parameters[c * WIDTH + lane] = constants[run, c]
            for first in range(0, reached[run], WIDTH):
                here = min(WIDTH, reached[run] - first)
                for lane in range(WIDTH):
                    # idle lanes repeat the last state
                    row = first + min(lane, here - 1)
                    for c in range(size):
                        state[c * WIDTH + lane] = results[run, row, c]
                observables(state, sizes, parameters, values)
                for lane in range(here):
                    errors[run, first + lane] = values[lane]

    return observe_lanes


observe_lanes = _kept_with(DIGEST)


def averages(
    module: Any,
    units: tuple[int, ...],
    sizes: np.ndarray,
    states: np.ndarray,
    constants: np.ndarray,
    reached: np.ndarray,
) -> np.ndarray:
    """Return the generalisation errors along runs, shape (n, A); NaN beyond the end of a run.

    Args:
        module: the lane module.
        units: the numbers of units that it is compiled for.
        sizes, states, constants, reached: see ``observe_lanes``.
    """
    with kept_code():
        observables = module.specialised_observables(*units)
    values = np.full(states.shape[:2], np.nan)
    observe_lanes(observables, states, constants, sizes, reached, values)
    return values
