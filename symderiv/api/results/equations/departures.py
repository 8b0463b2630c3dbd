"""The end of a proved run's plateau, and the unstable fixed point that it passes there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from symderiv.api.results.equations.balls_shown import Ball
from symderiv.integrate.events.asked import PLATEAU

if TYPE_CHECKING:
    from symderiv.enclosures.passed_point import Departure, PassedPoint
    from symderiv.enclosures.proved_run import EnclosedRun
    from symderiv.enclosures.proved_step import StateSet
    from symderiv.integrate.events.located_events import LocatedEvent

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


def _passed(found: PassedPoint, seen: Seen) -> dict[str, Any]:
    from symderiv.precision.balls.eigenvalues import doubles_of

    eigenvalues, errors = doubles_of(found.eigenvalues)
    return {
        **seen(found.point),
        "index": found.index,
        "eigenvalues": eigenvalues,
        "eigenvalue_errors": errors,
        "alpha": float(found.time),
        "distance": float(found.distance),
    }
