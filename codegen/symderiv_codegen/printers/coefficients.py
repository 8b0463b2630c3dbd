"""The coefficients of the polynomials in ``elementary.py``, computed with mpmath.

``python -m symderiv_codegen.printers.coefficients`` prints them as they stand there. Each
polynomial interpolates at Chebyshev's nodes, in arbitrary precision; its error is far below the
rounding error, so that minimax polynomials would gain nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath

# Ten more digits than the cancellations below can lose.
DIGITS = 40


@dataclass(frozen=True)
class Polynomial:
    """An approximation of ``function`` (of mpmath numbers) between ``low`` and ``high``."""

    name: str
    function: Callable[[Any, Any], Any]
    low: tuple[int, int]
    high: tuple[int, int]
    degree: int

    def coefficients(self) -> tuple[float, ...]:
        """Return the coefficients as nearest doubles, lowest power first."""
        mp = mpmath.MPContext()
        mp.dps = DIGITS
        ends = [mp.mpf(top) / bottom for top, bottom in (self.low, self.high)]
        found = mp.chebyfit(lambda z: self.function(mp, z), ends, self.degree + 1)
        return tuple(float(c) for c in reversed(found))


def _arcsine(mp: Any, z: Any) -> Any:
    """Return (asin(s) - s)/s^3 at z = s^2."""
    s = mp.sqrt(z)
    return (mp.asin(s) - s) / (s * z)


def _arctangent(mp: Any, z: Any) -> Any:
    """Return (atan(s) - s)/s^3 at z = s^2."""
    s = mp.sqrt(z)
    return (mp.atan(s) - s) / (s * z)


POLYNOMIALS = (
    Polynomial("_ARCSINE", _arcsine, (0, 1), (1, 4), 12),
    # up to the square of tan(pi/8), rounded up
    Polynomial("_ARCTANGENT", _arctangent, (0, 1), (172, 1000), 11),
)


def printed(polynomial: Polynomial) -> str:
    """Return the coefficients as a statement of the runtime file."""
    rows = "".join(f"    {number!r},\n" for number in polynomial.coefficients())
    return f"{polynomial.name} = (\n{rows})"


if __name__ == "__main__":
    for each in POLYNOMIALS:
        print(printed(each))
