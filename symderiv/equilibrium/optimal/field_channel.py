"""Channels of one field that are not functions of signs: level sets, or an integral over the
field.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from symderiv.equilibrium.optimal.sign_channel import Channel, lattice
from symderiv.equilibrium.weak_learning.level_means import FieldLevels
from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget
from symderiv.foundation.errors import NotYetError
from symderiv.numerics.nodes import normal_steps

_ROOT = math.sqrt(2.0 * math.pi)
_FINEST = 1e-6


def _checked(V: np.ndarray) -> float:
    v = float(V[0, 0])
    if v < _FINEST:
        raise NotYetError(
            f"the fields are known so well (to a variance of {v:.1g}) that sums do not resolve it; "
            "ask for smaller alpha",
            argument="alpha",
        )
    return v


class OneFieldMeans(Channel):
    """Moments of y = f(z) + noise that depend on f alone."""

    K = 1

    def __init__(self, target: FewFieldTarget) -> None:
        self.target, self.levels = target, FieldLevels(target, 0)

    @property
    def second_moment(self) -> float:
        z, weights = self.levels.nodes(0.5)
        return float(weights @ (_density(z, 1.0) * self.target.values(z[None]) ** 2))

    def mean_square(self, q: np.ndarray, V: np.ndarray) -> float:
        """Return E[E[f(z) | ω]²] over ω of variance q, where V is the variance of z given ω."""
        v = _checked(V)
        omega, weights = lattice(q, V)
        z, shares = self.levels.nodes(min(1.0, 2.0 * v**0.5))
        mean = _density(omega[0][:, None] - z, v) @ (shares * self.target.values(z[None]))
        return float(mean**2 @ weights)


class FieldChannel(OneFieldMeans):
    """The channel y = f(z) without noise: given y, z is in a level set of points, or in an
    interval.
    """

    sharp, limit = True, math.inf

    def information(self, q: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        v = _checked(V)
        steps, shares_of = normal_steps(7.2, 0.12)
        total = square = 0.0
        for nodes, shares, points, slopes in self.levels.sets(2.0 * v**0.5):
            # given z, ω is normal with mean q z and variance q v; axes are (z, ω, points of the
            # level set)
            omega = q[0, 0] * nodes[:, None] + (q[0, 0] * v) ** 0.5 * steps
            mass = (shares * _density(nodes, 1.0))[:, None] * shares_of
            apart = points[:, None, :] - omega[:, :, None]
            sizes = _density(apart, v) / slopes[:, None, :]
            Z = sizes.sum(axis=2)
            Z = np.where(Z > 1e-250, Z, np.inf)
            score = (sizes * apart).sum(axis=2) / (Z * v)
            total += float(np.sum(mass * np.log(np.where(np.isfinite(Z), Z, 1.0))))
            square += float(np.sum(mass * score**2))
        omega, weights = lattice(q, V)
        for pieces in self.levels.atoms():
            ends = (pieces - omega[0][:, None, None]) / v**0.5
            Z = np.diff(ndtr(ends)).sum(axis=(1, 2))
            slope = -np.diff(np.exp(-(ends**2) / 2)).sum(axis=(1, 2)) / (_ROOT * v**0.5)
            good = Z > 1e-14
            Z, slope = np.where(good, Z, 1.0), np.where(good, slope, 0.0)
            total += float(weights @ (Z * np.log(Z)))
            square += float(weights @ (slope**2 / Z))
        return total, np.array([[square]])


class NoisyFieldChannel(OneFieldMeans):
    """The channel y = f(z) + noise."""

    sharp, limit = False, math.nan

    def __init__(self, target: FewFieldTarget, noise: float) -> None:
        super().__init__(target)
        self.noise = noise
        values = self.levels.f(np.linspace(-8.0, 8.0, 2001))
        step = 0.4 * noise
        self.y = np.arange(values.min() - 8 * noise, values.max() + 8 * noise, step)
        self.step = step
        if self.y.size > 20000:
            raise NotYetError(
                f"noise of size {noise:g} is too small to be resolved; take more noise, or none",
                argument="output",
            )

    def information(self, q: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        v = _checked(V)
        omega, weights = lattice(q, V)
        steepest = float(np.abs(self.levels.slope(np.linspace(-8.0, 8.0, 2001))).max())
        width = min(2.0 * v**0.5, 4.0 * self.noise / steepest, 1.0)
        z, shares = self.levels.nodes(width)
        seen = _density(self.y - self.levels.f(z)[:, None], self.noise**2)
        kernel = _density(omega[0][:, None] - z, v) * shares
        Z = kernel @ seen
        slope = (kernel * (z - omega[0][:, None]) / v) @ seen
        good = Z > 1e-14
        Z, slope = np.where(good, Z, 1.0), np.where(good, slope, 0.0)
        total = float(weights @ (Z * np.log(Z)).sum(axis=1)) * self.step
        square = float(weights @ (slope**2 / Z).sum(axis=1)) * self.step
        return total, np.array([[square]])


def _density(x: np.ndarray, variance: float) -> np.ndarray:
    density: np.ndarray = np.exp(-(x**2) / (2 * variance)) / (_ROOT * variance**0.5)
    return density
