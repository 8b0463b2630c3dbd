"""Curves whose plateau, decay and deviations are known by construction."""

from collections.abc import Sequence

import numpy as np

from symderiv.show.plots.features import Curve, SimulatedPoints, StudyCase


def broken_power_law(
    breaks: Sequence[float], exponents: Sequence[float], end: float, *, points: int = 2000
) -> Curve:
    """ε = 0.2 at α = 0.01, then pieces of constant local exponent; K = M = 2, Q and R constant."""
    alpha = np.geomspace(0.01, end, points)
    logs = np.log(np.array([0.01, *breaks, max(end, breaks[-1]) * 2]))
    values = np.concatenate(([0.0], -np.cumsum(np.array(exponents) * np.diff(logs))))
    error = 0.2 * np.exp(np.interp(np.log(alpha), logs, values))
    return curve(alpha, error)


def curve(alpha: np.ndarray, error: np.ndarray) -> Curve:
    """A curve with the given error and unit overlaps."""
    overlaps = np.tile(np.eye(2), (alpha.size, 1, 1))
    return Curve(alpha, error, overlaps, overlaps.copy(), np.eye(2), {"steps": 12})


def simulated(base: Curve, deviations: np.ndarray, *, runs: int = 4) -> SimulatedPoints:
    """Points at every tenth time, off by the given numbers of standard errors (1 % of ε)."""
    index = np.arange(0, base.alpha.size, 10)
    error, se = base.error[index], 0.01 * base.error[index]
    shifted = error + se * np.resize(deviations, index.size)
    flat = np.full((index.size, 2, 2), 0.01)
    return SimulatedPoints(
        base.alpha[index], shifted, se, base.Q[index], flat, base.R[index], flat, runs, {"runs": 4}
    )


def plateau_curve(length: float = 50.0) -> Curve:
    """A transient of exponent 1, a plateau of exponent 0.01 from α = 20, a decay of exponent 3."""
    return broken_power_law([1.0, 20.0, 20.0 * length], [0.0, 1.0, 0.01, 3.0], 20_000.0)


def case(
    label: str, settings: dict[str, object], shown: Curve, *, compared: bool = True
) -> StudyCase:
    """A case with or without points that agree."""
    points = simulated(shown, np.array([0.5, -1.0, 0.2])) if compared else None
    return StudyCase(label, settings, shown, points)
