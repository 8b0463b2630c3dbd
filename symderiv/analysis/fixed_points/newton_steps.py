"""Newton's method, as it is used by all searches for fixed points and branches.

Steps are the shortest ones that remove the linearised residual, so that they exist where the
Jacobian is singular or not square: along neutral directions, at branch points, and for curves,
which have one more unknown than equations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Function = Callable[[Floats], Floats]


def newton(
    equations: Callable[[Floats], tuple[Floats, Floats]],
    start: Floats,
    rounds: int,
    small: float = 0.0,
    *,
    smallest: float = 1e-12,
) -> tuple[Floats, float, int] | None:
    """Return the end of Newton's iteration, the size of its last step, and the number of steps.

    Args:
        equations: A function to the residuals, shape (m,), and their derivatives, shape (m, n); NaN
            where no root is wanted.
        start: Where the steps begin, shape (n,).
        rounds: The largest number of steps, at least one.
        small: The size of a step, relative to one plus the largest coordinate, that ends the
            iteration.
        smallest: Singular values below this share of the largest one count as zero.

    Returns:
        The three, or None if a residual or a derivative is not finite.
    """
    point = start
    for count in range(1, rounds + 1):
        missing, matrix = equations(point)
        if not (np.all(np.isfinite(missing)) and np.all(np.isfinite(matrix))):
            return None
        step = np.linalg.lstsq(matrix, missing, rcond=smallest)[0]
        point, size = point - step, float(np.max(np.abs(step), initial=0.0))
        if count == rounds or size < small * (1 + np.max(np.abs(point))):
            return point, size, count
    return None


def root_near(
    rates: Function,
    slopes: Function,
    start: Floats,
    needless: Callable[[Floats], bool] = lambda _: False,
) -> Floats | None:
    """Return the root that SciPy's root finder and two Newton steps reach; None if they fail.

    Args:
        rates: A function to the residuals, shape (n,).
        slopes: A function to their derivatives, shape (n, n).
        start: Where the root finder begins, shape (n,).
        needless: A function that says whether the root finder's result is of no interest.
    """
    # here, because it takes half a second to load
    from scipy.optimize import root

    with np.errstate(all="ignore"):
        if not np.all(np.isfinite(rates(start))):
            return None
        # the root finder's Jacobian, from first-order differences, leads near enough for exact
        # steps
        most = 200 * (start.size + 1)
        reached = root(rates, start, options={"xtol": 1e-13, "maxfev": most}).x
        if needless(reached):
            return None
        polished = newton(lambda x: (rates(x), slopes(x)), reached, 2, smallest=1e-10)
    return None if polished is None else polished[0]
