"""Numbers with proved error bounds, and computations with as many digits as they need."""

from __future__ import annotations

from symderiv.precision.balls.contexts import numbers
from symderiv.precision.balls.decimals import written
from symderiv.precision.balls.enclosure import certified, certified_value
from symderiv.precision.balls.expression_balls import ball, ball_at
from symderiv.precision.moments.digits import Plan, moment_digits, require_double
from symderiv.precision.moments.moment_system import RuleParameters
from symderiv.precision.moments.moment_trajectory import MomentTrajectory, moment_trajectory

__all__ = [
    "MomentTrajectory",
    "Plan",
    "RuleParameters",
    "ball",
    "ball_at",
    "certified",
    "certified_value",
    "moment_digits",
    "moment_trajectory",
    "numbers",
    "require_double",
    "written",
]
