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

# Decimals of times have fewer digits than this, so that their differences are exact.
_EXACT = Context(prec=1000)


@dataclass(frozen=True)
class PassedPoint:
    """A fixed point whose number of unstable directions is proved.

    Attributes:
        point: A box that holds exactly one fixed point.
        eigenvalues: Those of the Jacobian there, largest real part first.
        index: The number of eigenvalues with positive real part, at least 1; all others have a
            negative one.
        time: The exact time at the begin of a step at which the run is closest.
        distance: A bound on the distance of every coordinate of the run at that time.
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
        entered, left: Decimals that bound the first time at which the error does so.
        passes: The fixed point that the run passes between them, None if it is not proved.
    """

    levels: tuple[str, str]
    entered: tuple[str, str]
    left: tuple[str, str]
    passes: PassedPoint | None

    @property
    def length(self) -> tuple[Decimal, Decimal]:
        """Return exact bounds on the length of the plateau."""
        (a, b), (c, d) = (map(Decimal, ends) for ends in (self.entered, self.left))
        return _EXACT.subtract(c, b), _EXACT.subtract(d, a)


def passed_point(run: EnclosedRun, begin: arb, end: arb) -> PassedPoint | None:
    """Return the fixed point that Newton's method finds from the slowest state of a run, or None.

    None means that it could not be proved, that it has no unstable direction, or that the rates
    jump between these times.

    Args:
        run: A proved run.
        begin, end: The times between which the state is looked for.
    """
    between = [place for place, time in enumerate(run.begins) if time >= begin and time <= end]
    stages = {run.during[place] for place in between}
    if len(stages) != 1:
        return None
    field = VectorField.of(run.stages[stages.pop()].rates)
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
    """Return an upper bound on the sizes of all entries."""
    return max(float(np.nextafter(float(abs(x).upper()), np.inf)) for x in values)
