"""Balls as numbers with digits, and with them the end of a proved run's plateau."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.integrate.events.asked import PLATEAU

if TYPE_CHECKING:
    from symderiv.enclosures.passed_point import Departure, PassedPoint
    from symderiv.enclosures.proved_run import EnclosedRun
    from symderiv.enclosures.proved_step import StateSet
    from symderiv.integrate.events.located_events import LocatedEvent

_ENTRY = re.compile(r"([\w.]+)(?:\[([\d,]+)\])?")


class Ball(NamedTuple):
    """A ball that contains an exact number.

    Args:
        mid: the middle, a decimal.
        rad: the radius, a decimal.
    """

    mid: str
    rad: str

    def __float__(self) -> float:
        return float(self.mid)

    def contains(self, number: str | float) -> bool:
        """Return whether a number lies in the ball.

        Args:
            number: a decimal or a rational such as ``"1/3"``, taken as it is written.

        Raises:
            InputError: it is not a number.
        """
        from fractions import Fraction

        try:
            distance = abs(Fraction(str(number).replace(" ", "")) - Fraction(self.mid))
        except (ValueError, ZeroDivisionError):
            raise InputError(f"{number!r} is not a number", argument="number") from None
        return bool(distance <= Fraction(self.rad))


def ball_arrays(
    names: Sequence[str], middles: Mapping[str, Sequence[str]], radii: Mapping[str, Sequence[float]]
) -> dict[str, np.ndarray]:
    """Return arrays of balls over time, from columns named as entries such as ``Q[1,2]``."""
    places: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for name in names:
        parts = _ENTRY.fullmatch(name)
        assert parts is not None
        place = tuple(int(n) - 1 for n in parts[2].split(",")) if parts[2] else ()
        places.setdefault(parts[1], []).append((place, name))
    arrays = {}
    for field, entries in places.items():
        shape = tuple(
            max(column) + 1 for column in zip(*(each[0] for each in entries), strict=True)
        )
        count = len(middles[entries[0][1]])
        arrays[field] = np.empty((count, *shape), dtype=object)
        for place, name in entries:
            for n, (middle, radius) in enumerate(zip(middles[name], radii[name], strict=True)):
                arrays[field][(n, *place)] = Ball(middle, repr(radius))
    return arrays


#: A function from a set of states to middles and radii of the observables, by name.
Seen = Callable[["StateSet"], dict[str, Any]]

# More digits than decimals of times have, so that their sums are exact.
_EXACT = Context(prec=1000)


def departure_of(
    run: EnclosedRun, events: Iterable[tuple[LocatedEvent, Mapping[str, Any]]]
) -> Departure | None:
    """Return the proved ends of the plateau and the point passed; None if an end is not proved.

    Args:
        run: The proved run.
        events: The events of the run in doubles, each with the proved bounds of its time.
    """
    from flint import arb

    from symderiv.enclosures.passed_point import Departure, passed_point

    known = {event.name: (event.condition, proved) for event, proved in events}
    ends = [known[name] for name in PLATEAU if name in known]
    if len(ends) < len(PLATEAU) or any(proved["verdict"] != "proved" for _, proved in ends):
        return None
    entered, left = ((proved["begin"], proved["end"]) for _, proved in ends)
    first, second = (condition.partition("<")[2].strip() for condition, _ in ends)
    passes = passed_point(run, arb(entered[1]), arb(left[0]))
    return Departure((first, second), entered, left, passes)


def shown(departure: Departure, seen: Seen) -> dict[str, Any]:
    """Return the record of a departure in plain numbers.

    Args:
        departure: The proved departure.
        seen: A function from a set of states to the observables.
    """
    least, most = departure.length
    half = Decimal("0.5")
    middle = _EXACT.multiply(half, _EXACT.add(least, most))
    radius = _EXACT.multiply(half, _EXACT.subtract(most, least))
    return {
        "entered": list(departure.entered),
        "left": list(departure.left),
        "length": Ball(str(middle), str(radius)),
        "passes": _passed(departure.passes, seen) if departure.passes else None,
    }


def told(departure: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a summary about a departure."""
    length, passes = departure["length"], departure["passes"]
    rows = [("leaves its plateau", f"between alpha = {' and '.join(departure['left'])}")]
    rows.append(("length of the plateau", f"{length.mid} with radius {float(length.rad):.1e}"))
    if passes is not None:
        error = float(passes["middles"]["generalization_error"])
        rows.append(
            (
                "passes",
                f"a fixed point of index {passes['index']} with generalization_error {error:.6g} "
                f"at a distance below {passes['distance']:.1e}, proved",
            )
        )
    return rows


def _passed(passed: PassedPoint, seen: Seen) -> dict[str, Any]:
    from symderiv.precision.balls.eigenvalues import doubles_of

    eigenvalues, errors = doubles_of(passed.eigenvalues)
    return {
        **seen(passed.point),
        "index": passed.index,
        "eigenvalues": eigenvalues,
        "eigenvalue_errors": errors,
        "alpha": float(passed.time),
        "distance": float(passed.distance),
    }
