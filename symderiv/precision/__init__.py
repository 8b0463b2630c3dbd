"""Numbers with proved error bounds, and computations with as many digits as they need."""

from __future__ import annotations

from symderiv.precision.balls import ball
from symderiv.precision.digits import Plan, moment_digits, require_double
from symderiv.precision.enclosure import certified, certified_value

__all__ = [
    "Plan",
    "ball",
    "certified",
    "certified_value",
    "moment_digits",
    "require_double",
]
