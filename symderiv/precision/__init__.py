"""Numbers with proved error bounds: closed forms enclosed by ball arithmetic."""

from __future__ import annotations

from symderiv.precision.balls import ball
from symderiv.precision.enclosure import certified, certified_value

__all__ = ["ball", "certified", "certified_value"]
