"""The loop over steps, called without numba if its code is cached or shipped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from symderiv.compiled_code.linked import Linked
from symderiv.compiled_code.machine_code import MachineCode

learn = Linked("symderiv.experiment.steps.step_kernel", "learn", shipped=True)


class StepLoop:
    """The loop for one function of changes.

    Args:
        changes: the function, translated or compiled by numba.
    """

    def __init__(self, changes: Callable[..., None]) -> None:
        self._loop, self._changes = learn.for_function(changes)

    def bound(self, *arguments: tuple[np.ndarray, ...]) -> Callable[[], int]:
        """Return a call of :func:`symderiv.experiment.steps.step_kernel.learn`.

        Args:
            arguments: Its other arguments; arrays must keep their addresses.
        """
        if isinstance(self._loop, MachineCode):
            return self._loop.bound(self._changes, *arguments)
        return partial(self._loop, self._changes, *arguments)
