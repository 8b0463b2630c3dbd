"""One erf unit in Codac's intervals: its own Lohner contractor, on equations typed by hand.

Codac (LGPL) is an independent library of intervals in doubles. The equations are those of D. Saad
and S. A. Solla, Physical Review E 52, 4225 (1995), for K = M = 1.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def enclosed_by_codac(
    start: tuple[float, float], eta: float, T: float, end: float
) -> list[tuple[float, float]]:
    """Return intervals that contain Q and R at the end.

    Codac leaves another mode of rounding behind, so that it has a process of its own.

    Args:
        start: Q and R.
        eta: Learning rate.
        T: Squared length of the teacher.
        end: A multiple of 1/64.

    Raises:
        ImportError: Codac is not installed.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_contracted, start, eta, T, end).result()


def _contracted(
    start: tuple[float, float], eta: float, T: float, end: float
) -> list[tuple[float, float]]:
    import codac

    x = codac.VectorVar(2)
    f = codac.AnalyticFunction([x], codac.vec(*_rates(codac, x[0], x[1], eta, T)))
    times = codac.create_tdomain([0.0, end], 1.0 / 64.0, True)
    tube = codac.SlicedTube(times, codac.IntervalVector([[-3.0, 3.0], [-3.0, 3.0]]))
    tube.set(codac.IntervalVector([[each, each] for each in start]), 0.0)
    tube = codac.CtcLohner(f).contract(tube, codac.TimePropag.FWD)
    return [(each.lb(), each.ub()) for each in (tube(end)[0], tube(end)[1])]


def _rates(codac: Any, Q: Any, R: Any, eta: float, T: float) -> tuple[Any, Any]:
    scale = 2 / codac.Interval.pi()
    teacher = 0 * Q + T
    fourth = (1 + Q) * (1 + Q) - codac.sqr(Q)

    def slope(ab: Any, ac: Any, bc: Any, cc: Any) -> Any:
        """Return the mean of g'(a) b g(c), where a is the student."""
        root = codac.sqrt((1 + Q) * (1 + cc) - codac.sqr(ac))
        return scale * ((bc * (1 + Q) - ab * ac) / (root * (1 + Q)))

    def four(ac: Any, ad: Any, cd: Any, cc: Any, dd: Any) -> Any:
        """Return the mean of g'(a)² g(c) g(d)."""
        zeroth = fourth * cd - 2 * ac * ad * (1 + Q) + 2 * Q * ac * ad
        first = fourth * (1 + cc) - 2 * ac * ac * (1 + Q) + 2 * Q * ac * ac
        second = fourth * (1 + dd) - 2 * ad * ad * (1 + Q) + 2 * Q * ad * ad
        angle = codac.asin(zeroth / codac.sqrt(first * second))
        return codac.sqr(scale) * (angle / codac.sqrt(fourth))

    dR = eta * (slope(R, R, teacher, teacher) - slope(R, Q, R, Q))
    linear = slope(Q, R, R, teacher) - slope(Q, Q, Q, Q)
    squares = four(R, R, teacher, teacher, teacher) - 2 * four(Q, R, R, Q, teacher)
    squares = squares + four(Q, Q, Q, Q, Q)
    return 2 * eta * linear + eta * eta * squares, dR
