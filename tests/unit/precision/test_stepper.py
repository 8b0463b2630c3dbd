"""The extrapolation method against known solutions, at several tolerances and kinds of numbers."""

import math
from typing import Any

import mpmath
import pytest

from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.moments.extrapolation import Steps, trajectory

TIMES = [0.0, 1.0, 1.0625, 5.0]


def flow(y: list[Any]) -> list[Any]:
    """A rotation, a decay thirty times faster, and logistic growth."""
    return [y[1], -y[0], -30 * y[2], y[3] * (1 - y[3])]


def solution(t: float) -> list[Any]:
    return [
        mpmath.cos(t),
        -mpmath.sin(t),
        2 * mpmath.exp(-30 * mpmath.mpf(t)),
        1 / (1 + 9 * mpmath.exp(-mpmath.mpf(t))),
    ]


def size(error: list[Any], y: list[Any]) -> float:
    return max(float(abs(e) / (abs(a) + 1)) for e, a in zip(error, y, strict=True))


@pytest.mark.parametrize(
    ("backend", "tolerance"),
    [("arb", 1e-8), ("arb", 1e-25), ("arb", 1e-40), ("mpmath", 1e-15), ("float64", 1e-12)],
)
def test_the_error_follows_the_tolerance(backend: str, tolerance: float) -> None:
    steps = Steps()
    with numbers(round(12 - math.log10(tolerance)), backend) as c, mpmath.workdps(60):
        start = [c.one, c.zero, 2 * c.one, c.one / 10]
        found = trajectory(flow, start, TIMES, tolerance, size=size, point=c.point, steps=steps)
        for t, y in zip(TIMES, found, strict=True):
            for number, exact in zip(y, solution(t), strict=True):
                assert abs(c.as_mpf(number) - exact) < 30 * tolerance
    assert steps.accepted > 3
    # Variable order: the work grows with the digits, not with a power of 1/tolerance.
    assert steps.evaluations < -400 * math.log10(tolerance)


def test_what_cannot_be_reached_is_said() -> None:
    with numbers(20) as c:
        with pytest.raises(ToleranceError, match="more digits"):
            # 1/(1 - t) has a pole at t = 1
            trajectory(lambda y: [y[0] * y[0]], [c.one], [2.0], 1e-10, size=size, point=c.point)
        with pytest.raises(ToleranceError, match="more digits"):
            # the numbers have 20 digits
            trajectory(flow, [c.one] * 4, [5.0], 1e-25, size=size, point=c.point)
        with pytest.raises(ToleranceError, match="stopped at alpha = 0"):
            trajectory(flow, [c.one] * 4, [5.0], 1e-9, size=lambda e, y: math.nan)
        with pytest.raises(ToleranceError, match="stopped"):
            trajectory(flow, [c.one] * 4, [50.0], 1e-9, size=size, max_evaluations=200)


@pytest.mark.parametrize("times", [[1.0, 1.0], [2.0, 1.0], [-1.0]])
def test_times_must_ascend(times: list[float]) -> None:
    with pytest.raises(InputError, match="ascend"):
        trajectory(flow, [1.0] * 4, times, 1e-9, size=size)


def test_the_tolerance_is_a_small_number() -> None:
    with pytest.raises(InputError, match="tolerance must be between"):
        trajectory(flow, [1.0] * 4, [1.0], 2.0, size=size)
