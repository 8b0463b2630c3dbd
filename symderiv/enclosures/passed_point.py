"""The unstable fixed point that a proved run passes on its plateau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
from flint import acb, arb, ctx

from symderiv.enclosures.attraction import stationary
from symderiv.enclosures.proved_run import EnclosedRun
from symderiv.enclosures.proved_step import StateSet, VectorField
from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.eigenvalues import enclosed_eigenvalues, index_of
from symderiv.precision.balls.krawczyk import proved_root
from symderiv.precision.balls.operations import Operations

# Decimals of times have fewer digits, so that their sums are exact.
_EXACT = Context(prec=1000)


@dataclass(frozen=True)
class PassedPoint:
    """A fixed point of which the number of unstable directions is proved.

    Attributes:
        point: A box that holds exactly one fixed point.
        eigenvalues: Those of the Jacobian there, largest real part first.
        index: How many of them have a positive real part, at least one; the others have a negative.
        time: An exact time between steps, of these the one at which the run is nearest.
        distance: The distance of any coordinate of the run at that time from it is at most this.
    """

    point: StateSet
    eigenvalues: list[acb]
    index: int
    time: arb
    distance: arb


@dataclass(frozen=True)
class Departure:
    """Both ends of the plateau of a run, proved.

    Attributes:
        levels: Decimals; the error falls below the first one where the run enters its plateau, and
            below the second one where it leaves it.
        entered, left: Decimals between which the first time lies at which the error does so.
        passes: The fixed point that the run passes between them, None if it is not proved.
    """

    levels: tuple[str, str]
    entered: tuple[str, str]
    left: tuple[str, str]
    passes: PassedPoint | None

    @property
    def length(self) -> tuple[Decimal, Decimal]:
        """Exact bounds on the length of the plateau."""
        (a, b), (c, d) = (map(Decimal, ends) for ends in (self.entered, self.left))
        return _EXACT.subtract(c, b), _EXACT.subtract(d, a)


def passed_point(run: EnclosedRun, rates: Operations, begin: arb, end: arb) -> PassedPoint | None:
    """Return the fixed point that Newton's method finds from the slowest state of a run, or None
    where it is not proved.

    Args:
        run: Proved.
        rates: The rates of the state.
        begin, end: Only between these times.
    """
    field = VectorField.of(rates)
    between = [place for place, time in enumerate(run.begins) if time >= begin and time <= end]
    if not between:
        return None
    slowest = min(between, key=lambda place: _size(field.rates(run.steps[place].begin.centre)))
    try:
        near = stationary(field, run.steps[slowest].begin.centre)
        if near is None:
            return None
        point = proved_root(
            field.rates, lambda y: list(field.slopes(y).entries()), list(map(float, near)), ctx.prec
        )
        eigenvalues = enclosed_eigenvalues(field.slopes(point))
    except (ToleranceError, ValueError, ZeroDivisionError):
        return None
    index = index_of(eigenvalues)
    if not index:
        return None
    away = {
        place: _size([x - y for x, y in zip(run.steps[place].begin.hull, point, strict=True)])
        for place in between
    }
    nearest = min(away, key=lambda place: away[place])
    return PassedPoint(
        StateSet.around(point), eigenvalues, index, run.begins[nearest], arb(away[nearest])
    )


def _size(values: Sequence[arb]) -> float:
    """Return a number that no entry exceeds."""
    return max(float(np.nextafter(float(abs(x).upper()), np.inf)) for x in values)
