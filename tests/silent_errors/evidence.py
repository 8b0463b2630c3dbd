"""Expected values: textbook closed forms, and quadrature written for the gate alone."""

from collections.abc import Callable, Sequence
from math import asin, erf, exp, factorial, pi, sqrt

import numpy as np

__all__ = ["asin", "erf", "exp", "factorial", "pi", "sqrt"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_REACH = 12.0


def _panels(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = np.diff(ends, axis=-1)[..., None] / 2
    middle = ends[..., :-1, None] + half
    points, weights = middle + half * _NODES, half * _WEIGHTS
    shape = (*ends.shape[:-1], -1)
    return points.reshape(shape), np.broadcast_to(weights, points.shape).reshape(shape)


def one(
    f: Callable[[np.ndarray], np.ndarray],
    variance: float = 1.0,
    mean: float = 0.0,
    kinks: Sequence[float] = (0.0,),
) -> float:
    """E[f(x)] for one Gaussian variable, by Gauss' rule between the kinks."""
    root = sqrt(variance)
    places = [min(max((kink - mean) / root, -_REACH), _REACH) for kink in kinks]
    ends = np.unique(np.concatenate([np.linspace(-_REACH, _REACH, 49), places]))
    z, w = _panels(ends)
    return float(np.sum(w * f(mean + root * z) * np.exp(-0.5 * z * z)) / sqrt(2 * pi))


def two(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray],
    covariance: Sequence[Sequence[float]],
    mean: Sequence[float] = (0.0, 0.0),
) -> float:
    """E[f(x, y)] of two Gaussian variables whose functions have kinks at 0 at most."""
    (a, b), (_, c) = covariance
    first = sqrt(a)
    along = b / first
    across = sqrt(c - along * along)
    start = min(max(-mean[0] / first, -_REACH), _REACH)
    fine = start + np.array([1, 2, 4, 8, 16]) * across / (abs(along) + 1e-300)
    fine = np.concatenate([fine, 2 * start - fine])
    ends = np.concatenate([np.linspace(-_REACH, _REACH, 25), [start], fine[np.abs(fine) < _REACH]])
    z1, w1 = _panels(np.unique(ends))
    kink = np.clip(-(mean[1] + along * z1) / across, -_REACH, _REACH)[:, None]
    share = np.linspace(0, 1, 9)
    left, right = -_REACH + (kink + _REACH) * share, kink + (_REACH - kink) * share[1:]
    z2, w2 = _panels(np.hstack([left, right]))
    x = np.broadcast_to(mean[0] + first * z1[:, None], z2.shape)
    values = f(x, mean[1] + along * z1[:, None] + across * z2)
    weight = w1[:, None] * w2 * np.exp(-0.5 * (z1[:, None] ** 2 + z2**2))
    return float(np.sum(weight * values) / (2 * pi))


def orthant2(rho: float) -> float:
    """P(x > 0, y > 0), Sheppard 1899."""
    return 0.25 + asin(rho) / (2 * pi)


def orthant3(r12: float, r13: float, r23: float) -> float:
    """P(x, y, z > 0), David 1953."""
    return 0.125 + (asin(r12) + asin(r13) + asin(r23)) / (4 * pi)


def double_factorial(n: int) -> int:
    """(n - 1)!! of even n: the moment E[x^n] of a standard normal x."""
    return factorial(n) // (2 ** (n // 2) * factorial(n // 2))
