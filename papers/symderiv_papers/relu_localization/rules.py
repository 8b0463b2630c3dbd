"""How the notes' claims are tried, besides mpmath's 30 digits."""

from __future__ import annotations

from typing import Final

from symderiv.verification.rules import Exact

__all__ = ["IN_BALLS", "IN_DOUBLES"]

#: Closed forms: where a print fails, the failure is proved.
IN_BALLS: Final = Exact(backend="arb")
#: Integrals in doubles: 10 digits.
IN_DOUBLES: Final = Exact(digits=16, backend="float64", lost=6)
