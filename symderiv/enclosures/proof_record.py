"""A proved run as data that another program can check: rational numbers, and claims on them.

All numbers are dyadic, ``"m*2^e"``. The list of operations is that of the rates; each step has the
set of states at its begin, its time and a box that no trajectory leaves; the last set ends it.
Where rates jump there is a list for each stage, with the time at which it begins.
``check_enclosures.py`` beside this file reads it; it uses balls, and nothing else of symderiv. The
fixed points that the run passes and tends to, where proved, are for ``check_departure.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from symderiv.enclosures.attraction import Attraction
from symderiv.enclosures.passed_point import Departure
from symderiv.enclosures.proved_run import EnclosedRun, Stage
from symderiv.enclosures.proved_step import StateSet
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

VERSION, VERSION_OF_STAGES = 1, 2


@dataclass(frozen=True)
class Claims:
    """Proved statements on a run as a whole.

    Attributes:
        error: The list of operations whose last result is the generalisation error.
        departure: The ends of its plateau, and the fixed point there.
        limit: The fixed point to which it tends.
    """

    error: Operations
    departure: Departure | None
    limit: Attraction | None

    def told(self) -> dict[str, Any]:
        """Return the claims as a JSON object, without those that are not proved."""
        told = {}
        if self.departure is not None:
            told["departure"] = _departure(self.departure, self.error)
        if self.limit is not None:
            told["limit"] = _limit(self.limit)
        return told


def record_of(
    run: EnclosedRun,
    start: Sequence[Fraction],
    names: Sequence[str],
    claims: Claims,
) -> dict[str, Any]:
    """Return a proved run as a JSON object.

    Args:
        run: A proved run.
        start: Exact numbers.
        names: The names of the order parameters that move.
        claims: The statements that are proved of the run as a whole.
    """
    with working_bits(run.bits):
        return {
            "format": "symderiv enclosures",
            "version": VERSION if len(run.stages) == 1 else VERSION_OF_STAGES,
            "bits": run.bits,
            "names": list(names),
            **_rates(run.stages),
            "start": [str(each) for each in start],
            "steps": [
                {
                    "time": _dyadic(step.time),
                    "terms": len(step.columns),
                    "region": _region(step.begin),
                    "box": [_ends(x) for x in step.outer],
                }
                for step in run.steps
            ],
            "end": _region(run.steps[-1].end),
            **claims.told(),
        }


def _rates(stages: Sequence[Stage]) -> dict[str, Any]:
    told = [{"operations": _listed(each.rates), "rates": each.rates.outputs} for each in stages]
    if len(told) == 1:
        return told[0]
    begins = [_dyadic(arb(each.begin)) for each in stages]
    return {"stages": [{"begin": at, **each} for at, each in zip(begins, told, strict=True)]}


def _departure(departure: Departure, operations: Operations) -> dict[str, Any]:
    error = operations.copied()
    error.outputs = operations.outputs[-1:]
    error = error.live()
    passes = departure.passes
    return {
        "error": {"operations": _listed(error), "place": error.outputs[0]},
        "levels": dict(zip(("entered", "left"), departure.levels, strict=True)),
        "entered": list(departure.entered),
        "left": list(departure.left),
        "length": [str(each) for each in departure.length],
        "passes": passes
        and {
            "box": [_ends(_wider(x)) for x in passes.point.hull],
            "index": passes.index,
            "time": _dyadic(passes.time),
            "distance": _dyadic(passes.distance),
        },
    }


def _limit(limit: Attraction) -> dict[str, Any]:
    return {
        "centre": [_dyadic(x) for x in limit.point.centre],
        "axes": [_dyadic(x) for x in limit.point.axes.entries()],
        "distance": _dyadic(limit.distance),
        "radius": _dyadic(limit.radius),
        "rate": _dyadic(limit.rate),
    }


def _wider(ball: arb) -> arb:
    """Return a ball of at least twice the width, so that another program can prove it too."""
    return ball + arb(0, ball.rad()) + arb(0, arb(2) ** (-2 * ctx.prec))


def _listed(operations: Operations) -> list[list[Any]]:
    return [
        [str(part) if isinstance(part, Fraction) else part for part in entry]
        for entry in operations.entries
    ]


def _region(region: StateSet) -> dict[str, Any]:
    return {
        "centre": [_dyadic(x) for x in region.centre],
        "axes": [_dyadic(x) for x in region.axes.entries()],
        "box": [_dyadic(abs(x).upper()) for x in region.box],
    }


def _ends(ball: arb) -> list[str]:
    return [_dyadic(ball.lower()), _dyadic(ball.upper())]


def _dyadic(number: arb) -> str:
    mantissa, exponent = number.man_exp()
    return f"{int(mantissa)}*2^{int(exponent)}"
