"""The times of the ends of a proved run's plateau, and the unstable fixed point it passes there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

from symderiv.api.arguments.events import PLATEAU
from symderiv.api.results.equations.balls_shown import Ball

if TYPE_CHECKING:
    from flint import arb

    from symderiv.enclosures.proved_run import EnclosedRun
    from symderiv.enclosures.proved_step import StateSet
    from symderiv.precision.balls.operations import Operations

__all__ = ["departure_of", "told"]

#: The middles and radii of what is observed over a set of states, by name.
Seen = Callable[["StateSet"], dict[str, Any]]

# Decimals of times have fewer digits, so that their sums are exact.
_EXACT = Context(prec=1000)


def departure_of(
    run: EnclosedRun, rates: Operations, events: Sequence[Mapping[str, Any]], seen: Seen
) -> dict[str, Any] | None:
    """Return the proved times of both ends of the plateau, or None where one is not proved.

    Args:
        run: Proved.
        rates: The rates of its state.
        events: What is proved of its events.
        seen: What is observed over a set of states.
    """
    from flint import arb

    ends = [each for name in PLATEAU for each in events if each["event"] == name]
    if len(ends) < len(PLATEAU) or any(each["verdict"] != "proved" for each in ends):
        return None
    entered, left = ([each["begin"], each["end"]] for each in ends)
    return {
        "entered": entered,
        "left": left,
        "length": _length(entered, left),
        "passes": _passed(run, rates, (arb(entered[1]), arb(left[0])), seen),
    }


def told(departure: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of a summary."""
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


def _length(entered: Sequence[str], left: Sequence[str]) -> Ball:
    (a, b), (c, d) = map(Decimal, entered), map(Decimal, left)
    least, most = _EXACT.subtract(c, b), _EXACT.subtract(d, a)
    half = Decimal("0.5")
    middle = _EXACT.multiply(half, _EXACT.add(least, most))
    return Ball(str(middle), str(_EXACT.multiply(half, _EXACT.subtract(most, least))))


def _passed(
    run: EnclosedRun, rates: Operations, between: tuple[arb, arb], seen: Seen
) -> dict[str, Any] | None:
    from symderiv.enclosures.passed_point import passed_point

    found = passed_point(run, rates, *between)
    if found is None:
        return None
    return {
        **seen(found.point),
        "index": found.index,
        "eigenvalues": [[float(x.real.mid()), float(x.imag.mid())] for x in found.eigenvalues],
        "alpha": float(found.time),
        "distance": float(found.distance),
    }
