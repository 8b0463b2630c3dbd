"""Numbers of one run, as maps and phase diagrams show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.nearest import did_you_mean
from symderiv.foundation.showing import Shown, Summary
from symderiv.show.plots.features import (
    Curve,
    Floats,
    final_decay,
    local_exponent,
    plateau,
    resolved,
)
from symderiv.sweeps.run_grid import tables_of


class Features(Shown):
    """Features of the error curve of one run; those that a curve does not have are not numbers.

    Attributes:
        final_error: the last error that was reached.
        exists: whether the slowest stretch is flat enough to be called a plateau.
        begins, ends, length, height: numbers of the plateau, from 10 % above its height to half of
            it, in α; ``ends`` is infinite, and ``length`` a lower bound, if it lasts to the last
            time; without a plateau ``length`` is 0.
        slowest: the smallest local exponent after the first transient.
        rate, exponent: −Δ ln ε_g / Δα and −Δ ln ε_g / Δ ln α over the last fifth of the time.
        alpha, local_exponent: times with an error above 0 and −d ln ε_g / d ln α there, both of
            shape (n,).
    """

    def __init__(self, alpha: Floats, error: Floats, tolerance: float = 0.0) -> None:
        """Compute the features of a curve.

        Args:
            alpha, error: times and errors, shape (P,); NaN after the last time reached.
            tolerance: the run's tolerance; errors below this part of the largest one may be errors
                of the steps and are ignored.
        """
        there = np.isfinite(alpha) & np.isfinite(error)
        alpha, error = alpha[there], error[there]
        self.final_error = float(error[-1]) if error.size else math.nan
        end = resolved(error, tolerance)
        alpha, error = alpha[:end], error[:end]
        nothing = np.empty(0)
        curve = Curve(alpha, error, nothing, nothing, nothing)
        level, decay = plateau(curve), final_decay(curve)
        self.exists = level is not None and level.exists
        self.begins = self.ends = self.height = self.slowest = math.nan
        self.length = 0.0
        if level is not None:
            self.slowest = level.exponent
        if level is not None and level.exists:
            self.begins, self.height, self.length = level.begin, level.height, level.length
            self.ends = math.inf if level.end is None else level.end
        self.rate = math.nan if decay is None else decay.rate
        self.exponent = math.nan if decay is None else decay.exponent
        good = (alpha > 0) & (error > 0)
        self.alpha = alpha[good]
        enough = self.alpha.size > 1
        self.local_exponent = local_exponent(self.alpha, error[good]) if enough else nothing

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by their names in sweeps and maps."""
        return {name: float(getattr(self, one.feature)) for name, one in QUANTITIES.items()}

    def _summary(self) -> Summary:
        rows = [(one.words, getattr(self, one.feature)) for one in QUANTITIES.values()]
        return Summary("Features of the error curve", rows)


@dataclass(frozen=True)
class Quantity:
    """A number of a run.

    Args:
        name: the name by which users ask for it.
        words: the label of axes.
        feature: its name among the features of one run.
        logarithmic: True if it spans decades.
    """

    name: str
    words: str
    feature: str
    logarithmic: bool = False


QUANTITIES: Mapping[str, Quantity] = {
    one.name: one
    for one in (
        Quantity("final_error", "last generalisation error", "final_error", True),
        Quantity("plateau", "plateau (1) or none (0)", "exists"),
        Quantity("plateau_length", "length of the plateau in α", "length"),
        Quantity("plateau_height", "height of the plateau", "height", True),
        Quantity("plateau_begin", "begin of the plateau in α", "begins", True),
        Quantity("plateau_end", "end of the plateau in α", "ends", True),
        Quantity("slowest", "smallest local exponent after the transient", "slowest"),
        Quantity("exponent", "exponent of the final decay", "exponent"),
        Quantity("rate", "rate of the final decay per unit of α", "rate"),
    )
}


def quantity_of(name: str, curves: Sequence[str] = ()) -> Quantity:
    """Return a quantity by its name.

    Args:
        name: the name by which users ask for it.
        curves: other names that are possible, for the message.

    Raises:
        InputError: nothing has this name.
    """
    if not isinstance(name, str) or name not in QUANTITIES:
        known = (*QUANTITIES, "status", *curves)
        raise InputError(
            f"{name!r} is not one of {', '.join(known)}{did_you_mean(str(name), known)}",
            argument="quantity",
        )
    return QUANTITIES[name]


def measured(quantity: Quantity, alpha: Floats, error: Floats, tolerance: float = 0.0) -> float:
    """Return the number of a run, NaN if it reached no time; see :class:`Features`."""
    if not np.any(np.isfinite(alpha) & np.isfinite(error)):
        return math.nan
    return float(getattr(Features(alpha, error, tolerance), quantity.feature))


def tolerance_of(study_text: str) -> float:
    """Return the relative tolerance that a study's text asks for."""
    return float(tables_of(study_text)["time"]["relative_tolerance"])
