"""Fixed points proved in balls (existence, uniqueness, index), or to many digits by mpmath.

Proofs work on equations as lists of operations, of any rule or system. Evaluated in balls these
enclose the rates of all states in a box, and in power series of length two their derivatives, so
that Krawczyk's operator needs no other source of slopes. Equations with a quadrature, or with a
comparison that depends on the state, are not such lists: their fixed points are found, not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import acb, arb

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.balls.eigenvalues import enclosed_eigenvalues, index_of
from symderiv.precision.balls.krawczyk import gradients, proved_root
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

_BITS_PER_DIGIT = 3.33
_ROUNDS = 200


@dataclass(frozen=True)
class Proof:
    """A proved fixed point: balls that contain exactly one.

    Attributes:
        values: Coordinates of the fixed point.
        eigenvalues: Complex balls that hold the eigenvalues of the Jacobian; see
            :func:`symderiv.precision.balls.eigenvalues.enclosed_eigenvalues`.
        observed: The observables at the fixed point.
    """

    values: list[arb]
    eigenvalues: list[acb]
    observed: list[arb]

    @property
    def index(self) -> int | None:
        """The number of unstable directions; None if the sign of a rate is not proved."""
        return index_of(self.eigenvalues)


def proved_point(
    rates: Operations, observables: Operations, values: Sequence[float], digits: int
) -> Proof:
    """Return balls that contain exactly one fixed point, with all its eigenvalues.

    Args:
        rates, observables: Functions of the coordinates.
        values: The fixed point in doubles.
        digits: The number of digits of the balls.

    Raises:
        ToleranceError: No fixed point, or not all of its eigenvalues, could be enclosed.
    """
    bits = int(_BITS_PER_DIGIT * digits) + 60
    with working_bits(bits):
        at, observed = rates.in_balls(), observables.in_balls()
        box = proved_root(at, lambda y: list(gradients(at, y).entries()), values, bits)
        eigenvalues = enclosed_eigenvalues(gradients(at, box))
        if not all(each.is_finite() for each in eigenvalues):
            raise ToleranceError("the eigenvalues of the fixed point could not be enclosed")
        return Proof(box, eigenvalues, observed(box))


def polished(
    rates: Callable[[Any, Sequence[Any]], list[Any]],
    values: np.ndarray,
    inverse: np.ndarray,
    digits: int,
) -> list[Any]:
    """Return a fixed point to so many digits, by Newton's method with a fixed inverse Jacobian.

    With an inverse in doubles, every round adds the digits to which that is accurate.

    Args:
        rates: A function from mpmath's context and coordinates in its numbers to their rates.
        values: The point in doubles.
        inverse: The inverse of the Jacobian of these rates, in doubles.
        digits: The number of digits.

    Raises:
        ToleranceError: The rounds do not converge.
    """
    with numbers(digits + 10, "mpmath") as mp:
        refined = [mp.mpf(float(x)) for x in values]
        for _ in range(_ROUNDS):
            left = rates(mp, refined)
            steps = [
                mp.fsum(float(a) * r for a, r in zip(row, left, strict=True)) for row in inverse
            ]
            refined = [x - step for x, step in zip(refined, steps, strict=True)]
            if max(abs(step) for step in steps) < mp.mpf(10) ** (-digits - 3):
                return refined
    raise ToleranceError(f"{digits} digits of the fixed point were not reached")
