"""A proved run as data that another program can check: rational numbers, and what they claim.

All numbers are dyadic, ``"m*2^e"``. The list of operations is that of the rates; each step has the
set of states it begins with, its time and a box that no trajectory leaves; the last set ends it.
``check_enclosures.py`` beside this file reads it; it uses balls, and nothing else of symderiv.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from flint import arb

from symderiv.enclosures.proved_run import EnclosedRun
from symderiv.enclosures.proved_step import StateSet
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

__all__ = ["VERSION", "record_of"]

VERSION = 1


def record_of(
    run: EnclosedRun, rates: Operations, start: Sequence[Fraction], names: Sequence[str]
) -> dict[str, Any]:
    """Return a proved run as a JSON object.

    Args:
        run: Proved.
        rates: The rates of the state.
        start: Exact numbers.
        names: The names of the order parameters that move.
    """
    with working_bits(run.bits):
        return {
            "format": "symderiv enclosures",
            "version": VERSION,
            "bits": run.bits,
            "names": list(names),
            "operations": [[_told(each) for each in entry] for entry in rates.entries],
            "rates": rates.outputs,
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
        }


def _told(part: Any) -> Any:
    return str(part) if isinstance(part, Fraction) else part


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
