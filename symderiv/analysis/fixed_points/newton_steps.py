"""Newton's method, as everything that looks for fixed points and branches uses it.

Steps are the shortest ones that remove what is left, so that they exist where the Jacobian loses
rank: along neutral directions, at branch points, and for curves, which have an unknown more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]

_SMALLEST = 1e-12


def newton(
    equations: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    rounds: int,
    small: float = 0.0,
    *,
    smallest: float = _SMALLEST,
) -> tuple[Floats, float, int] | None:
    """Return where steps lead, the size of the last one, and how many there were.

    Args:
        equations: What vanishes, shape (m,), and its derivatives, shape (m, n); not a number
            where nothing may be looked for.
        start: Where the steps begin, shape (n,).
        rounds: The most steps, at least one.
        small: The size of a step, relative to one plus the largest coordinate, that ends them.
        smallest: Singular values below this share of the largest one count as zero.

    Returns:
        None where a number does not exist.
    """
    point, size, count = start, np.inf, 0
    while count < rounds:
        count += 1
        missing, matrix = equations(point)
        if not (np.all(np.isfinite(missing)) and np.all(np.isfinite(matrix))):
            return None
        step = np.linalg.lstsq(matrix, missing, rcond=smallest)[0]
        point, size = point - step, float(np.max(np.abs(step), initial=0.0))
        if size < small * (1 + np.max(np.abs(point))):
            break
    return point, size, count


def root_near(
    rates: Function,
    slopes: Function,
    start: Floats,
    needless: Callable[[Floats], bool] = lambda _: False,
) -> Floats | None:
    """Return where SciPy's root finder and two of these steps lead to, None if they cannot.

    Args:
        rates: What vanishes, shape (n,).
        slopes: Its derivatives, shape (n, n).
        start: Where the root finder begins, shape (n,).
        needless: Whether a place that the root finder leads to is of no interest.
    """
    # half a second, which nobody waits for who needs no search
    from scipy.optimize import root

    with np.errstate(all="ignore"):
        if not np.all(np.isfinite(rates(start))):
            return None
        # differences of first order lead near enough for steps that are exact
        most = 200 * (start.size + 1)
        reached = root(rates, start, options={"xtol": 1e-13, "maxfev": most}).x
        if needless(reached):
            return None
        polished = newton(lambda x: (rates(x), slopes(x)), reached, 2, smallest=1e-10)
    return None if polished is None else polished[0]
