"""Fixed points in balls: existence, uniqueness and the index proved; or to many digits by mpmath.

What is proved are equations as lists of operations, of any rule or system. Over balls these enclose
the rates of all states in a box, and over power series of length two their derivatives, so that
Krawczyk's operator needs no other source of slopes. Equations with a quadrature, or with a
comparison that depends on the state, are no such lists: their fixed points are found, not proved.
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
    """A fixed point in balls, each of which holds exactly one value.

    Attributes:
        values: Coordinates.
        eigenvalues: The eigenvalues of the Jacobian, complex.
        observed: What is observed at the point.
    """

    values: list[arb]
    eigenvalues: list[acb]
    observed: list[arb]

    @property
    def index(self) -> int | None:
        """Number of unstable directions; None where the sign of a rate is not proved."""
        return index_of(self.eigenvalues)


def proved_point(
    rates: Operations, observables: Operations, values: Sequence[float], digits: int
) -> Proof:
    """Return a box that holds exactly one fixed point, with all its eigenvalues.

    Args:
        rates, observables: Functions of the coordinates.
        values: The fixed point in doubles.
        digits: How many digits it is to have.

    Raises:
        ToleranceError: None could be enclosed.
    """
    bits = int(_BITS_PER_DIGIT * digits) + 60
    with working_bits(bits):
        at, observed = rates.in_balls(), observables.in_balls()
        box = proved_root(at, lambda y: list(gradients(at, y).entries()), values, bits)
        return Proof(box, enclosed_eigenvalues(gradients(at, box)), observed(box))


def polished(
    rates: Callable[[Any, Sequence[Any]], list[Any]],
    values: np.ndarray,
    inverse: np.ndarray,
    digits: int,
) -> list[Any]:
    """Return a fixed point with so many digits, by Newton's method with one fixed inverse of the
    Jacobian in doubles: every round adds the digits that it has.

    Args:
        rates: Gives the rates of coordinates, in numbers of mpmath's context.
        values: The point in doubles.
        inverse: That of the derivatives of these rates.
        digits: How many there are to be.

    Raises:
        ToleranceError: The rounds do not come to rest.
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
