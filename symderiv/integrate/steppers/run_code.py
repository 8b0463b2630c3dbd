"""The compiled steppers, one for each method and number of runs at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symderiv.compiled_code.linked import Linked
from symderiv.integrate.steppers.memory import EXPLICIT, IMPLICIT
from symderiv.integrate.steppers.stepper_sources import stepper_digest


class LinkedStepper(Linked):
    """A stepper, without numba where its code is kept or came with the package.

    Args:
        method: of the steps.
        width: runs at a time.
    """

    def __init__(self, method: str, width: int = 1) -> None:
        name = method if width == 1 else f"{method}_{width}"
        super().__init__("symderiv.integrate.steppers.stepper", name, shipped=True)
        self._made_for = width, method

    def compiled(self) -> Callable[..., Any]:
        from symderiv.integrate.steppers.stepper import stepper

        return stepper(*self._made_for)

    def digest(self) -> str:
        return stepper_digest()


explicit, implicit, explicit_8 = map(LinkedStepper, (EXPLICIT, IMPLICIT, EXPLICIT), (1, 1, 8))
_STEPPERS = {(EXPLICIT, 1): explicit, (IMPLICIT, 1): implicit, (EXPLICIT, 8): explicit_8}


def stepper_for(
    right_hand_side: Callable[..., None], method: str, width: int = 1
) -> tuple[Callable[..., None] | None, Any]:
    """Return the stepper of a method, and a right-hand side as an argument for it.

    Args:
        right_hand_side: of one run, or of eight, see ``width``.
        method: of the steps.
        width: runs at a time; 8 takes the right-hand side of a lane module.

    Returns:
        As :meth:`~symderiv.compiled_code.linked.Linked.for_function`.
    """
    kind = "RIGHT_HAND_SIDE" if width == 1 else "LANE_RIGHT_HAND_SIDE"
    return _STEPPERS[method, width].for_function(right_hand_side, kind)
