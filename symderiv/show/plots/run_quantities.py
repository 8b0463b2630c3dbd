"""Numbers of one run: what maps and phase diagrams show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.show.plots.curves import Curve, Floats
from symderiv.show.plots.features import final_decay, plateau, resolved
from symderiv.sweeps.run_grid import tables_of

__all__ = ["QUANTITIES", "Quantity", "measured", "quantity_of", "tolerance_of"]


@dataclass(frozen=True)
class Quantity:
    """A number of a run.

    Args:
        name: as it is asked for.
        words: on axes.
        of: of the times and errors of a run, both shape (n,).
        logarithmic: over decades.
    """

    name: str
    words: str
    of: Callable[[Floats, Floats], float]
    logarithmic: bool = False


def _final_error(alpha: Floats, error: Floats) -> float:
    return float(error[alpha.size - 1])


def _plateau_length(alpha: Floats, error: Floats) -> float:
    found = plateau(_curve(alpha, error))
    return 0.0 if found is None else found.length


def _plateau_height(alpha: Floats, error: Floats) -> float:
    found = plateau(_curve(alpha, error))
    return math.nan if found is None or not found.exists else found.height


def _plateau_end(alpha: Floats, error: Floats) -> float:
    found = plateau(_curve(alpha, error))
    if found is None or not found.exists:
        return math.nan
    return math.inf if found.end is None else found.end


def _plateau(alpha: Floats, error: Floats) -> float:
    found = plateau(_curve(alpha, error))
    return float(found is not None and found.exists)


def _slowest(alpha: Floats, error: Floats) -> float:
    found = plateau(_curve(alpha, error))
    return math.nan if found is None else found.exponent


def _exponent(alpha: Floats, error: Floats) -> float:
    found = final_decay(_curve(alpha, error))
    return math.nan if found is None else found.exponent


def _rate(alpha: Floats, error: Floats) -> float:
    found = final_decay(_curve(alpha, error))
    return math.nan if found is None else found.rate


QUANTITIES: Mapping[str, Quantity] = {
    one.name: one
    for one in (
        Quantity("final_error", "last generalisation error", _final_error, True),
        Quantity("plateau", "plateau (1) or none (0)", _plateau),
        Quantity("plateau_length", "length of the plateau in α", _plateau_length),
        Quantity("plateau_height", "height of the plateau", _plateau_height, True),
        Quantity("plateau_end", "end of the plateau in α", _plateau_end, True),
        Quantity("slowest", "smallest local exponent after the transient", _slowest),
        Quantity("exponent", "exponent of the final decay", _exponent),
        Quantity("rate", "rate of the final decay per unit of α", _rate),
    )
}


def quantity_of(name: str) -> Quantity:
    """Return a quantity by its name.

    Raises:
        InputError: there is none of this name.
    """
    if name not in QUANTITIES:
        known = ", ".join((*QUANTITIES, "status"))
        raise InputError(f"{name!r} is none of {known}", argument="quantity")
    return QUANTITIES[name]


def measured(quantity: Quantity, alpha: Floats, error: Floats, tolerance: float = 0.0) -> float:
    """Return the number of a run; rows that it did not reach are not a number.

    Args:
        quantity: what is asked for.
        alpha, error: shape (n,).
        tolerance: that of the run: shapes are read off down to so much of the largest error, below
            that, what is left of the error may be an error of the steps.
    """
    there = np.isfinite(alpha) & np.isfinite(error)
    alpha, error = alpha[there], error[there]
    if not error.size:
        return math.nan
    if quantity.name != "final_error":
        end = resolved(error, tolerance)
        alpha, error = alpha[:end], error[:end]
    return quantity.of(alpha, error)


def tolerance_of(study_text: str) -> float:
    """Return the relative tolerance that a study asks for."""
    return float(tables_of(study_text)["time"]["relative_tolerance"])


def _curve(alpha: Floats, error: Floats) -> Curve:
    nothing = np.empty(0)
    return Curve(alpha, error, nothing, nothing, nothing)
