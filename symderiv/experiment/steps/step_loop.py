"""The loop over steps, called without numba where its code is kept or came with the package."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from symderiv.compiled_code.linked import Linked
from symderiv.compiled_code.machine_code import MachineCode

learn = Linked("symderiv.experiment.steps.step_kernel", "learn", shipped=True)


class StepLoop:
    """The loop for one function of changes.

    Args:
        changes: the function, translated or of numba's.

    """

    def __init__(self, changes: Callable[..., None]) -> None:
        code = learn.without_compiler()
        called = changes if isinstance(changes, MachineCode) or not code else _in_memory(changes)
        self._loop: Any = code
        self._changes: Any = called
        if code is None or called is None:
            from symderiv.compiled_code.for_numba import for_numba
            from symderiv.experiment.steps.step_kernel import learn as compiled

            self._loop, self._changes = compiled, for_numba(changes)

    def bound(self, *arguments: tuple[np.ndarray, ...]) -> Callable[[], int]:
        """Return a call of :func:`symderiv.experiment.steps.step_kernel.learn`.

        Args:
            arguments: The others of its arguments; arrays must stay where they are.
        """
        if isinstance(self._loop, MachineCode):
            return self._loop.bound(self._changes, *arguments)
        return partial(self._loop, self._changes, *arguments)


def _in_memory(changes: Callable[..., None]) -> MachineCode | None:
    """Return a function of numba's as the loop's code calls it; None if it cannot."""
    from symderiv.compiled_code.compiled import RIGHT_HAND_SIDE, is_from_numba
    from symderiv.compiled_code.object_code import in_memory

    return in_memory(changes, RIGHT_HAND_SIDE.signature) if is_from_numba(changes) else None
