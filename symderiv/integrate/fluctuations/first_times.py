"""The law of the first time of an event, from a Gaussian law of the state before it.

As long as fluctuations are small they are Gaussian. From there on each point of the Gaussian law
follows the flow without noise, which carries small differences, such as those along an unstable
direction, to times that differ by amounts of order one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TIMES, _FINER = 129, 17


def normal_points(mean: Floats, covariance: Floats, count: int) -> Floats:
    """Return points of a Gaussian law with equal weights, evenly spread, shape (count, n).

    Args:
        mean, covariance: The mean and the covariance of the law.
        count: A power of two.
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    values, axes = np.linalg.eigh(covariance)
    order = np.argsort(-values)
    some = order[values[order] > 1e-14 * values.max()]
    if not some.size:
        return np.tile(mean, (count, 1))
    uniform = qmc.Sobol(some.size, seed=7).random(count)
    z = ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))
    return np.asarray(mean + (z * np.sqrt(values[some])) @ axes[:, some].T)


def distance_of_widths(share: float) -> float:
    """Return a bound of how far apart the laws of the moduli of two normal numbers are.

    The two numbers have the same mean, and the variance of one is ``share`` times that of the
    other. If both moduli grow by the same factor, the laws of the times at which they reach a bound
    are as far apart. The distance is largest if the mean is zero.

    Args:
        share: The smaller variance over the larger one, between 0 and 1.

    Returns:
        The largest difference of the two distribution functions, between 0 and 1.
    """
    from scipy.special import ndtr

    if share <= 0.0:
        return 1.0
    if share >= 1.0:
        return 0.0
    # where both densities are the same, in units of the narrower law
    bound = np.sqrt(-np.log(share) / (1.0 - share))
    return float(2.0 * (ndtr(bound) - ndtr(bound * np.sqrt(share))))


def first_times(
    states: Floats,
    run: Callable[[Floats, Floats], Floats],
    gaps: Callable[[Floats, Floats], Floats],
    begin: float,
    end: float,
) -> Floats:
    """Return the first times at which a gap is positive, infinite if it never is.

    Args:
        states: Flat states at the begin, shape (S, F).
        run: A function from ascending times and an initial state to the states at these times.
        gaps: A function from states (P, F) and times (P,) to the gap, which becomes positive.
        begin, end: The time of the given states, and the last time.

    Returns:
        The first times, shape (S,); NaN if the integration from a state fails.
    """
    from symderiv.foundation.errors import SymderivError

    times = np.linspace(begin, end, _TIMES)
    firsts = np.full(len(states), np.inf)
    for number, state in enumerate(states):
        try:
            firsts[number] = _first(state, run, gaps, times)
        except SymderivError:
            firsts[number] = np.nan
    return firsts


def _first(
    state: Floats,
    run: Callable[[Floats, Floats], Floats],
    gaps: Callable[[Floats, Floats], Floats],
    times: Floats,
) -> float:
    rows = run(times - times[0], state)
    place = np.flatnonzero(gaps(rows, times) > 0.0)
    if not place.size:
        return np.inf
    if place[0] == 0:
        return float(times[0])
    finer = np.linspace(times[place[0] - 1], times[place[0]], _FINER)
    there = gaps(run(finer - finer[0], rows[place[0] - 1]), finer)
    after = max(1, int(np.flatnonzero(there > 0.0)[0])) if (there > 0.0).any() else _FINER - 1
    below, above = there[after - 1], there[after]
    share = below / (below - above) if above > below else 1.0
    return float(finer[after - 1] + share * (finer[after] - finer[after - 1]))
