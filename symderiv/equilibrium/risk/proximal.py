"""Proximal operators of losses: argmin over h of (h - ω)²/(2V) + ℓ(h, y)."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import sympy as sp

from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.lowering.means.numeric_activation import SoftPlus

_STEPS = 60


class Proximal(Protocol):
    """The minimiser of a loss beside a square."""

    def at(
        self, omega: np.ndarray, y: float, V: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the minimiser h, its slope by ω, and the loss there."""

    def kinks(self, y: float, V: float) -> list[float]:
        """Return ω at which the slope of the minimiser jumps."""


class SmoothProximal:
    """The minimiser of a convex loss with two derivatives, by Newton's method with bisection.

    Args:
        loss: ℓ in the symbols s and t.
    """

    def __init__(self, loss: sp.Expr) -> None:
        s, t = (sp.Symbol(name, real=True) for name in "st")
        u = sp.Wild("u")
        stable = loss.replace(sp.log(1 + sp.exp(u)), lambda u: SoftPlus(u))
        derivatives = [sp.diff(stable, s, n) for n in range(3)]
        self.value, self.slope, self.bend = (as_function([s, t], each) for each in derivatives)

    def at(
        self, omega: np.ndarray, y: float, V: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the minimiser h, its slope by ω, and the loss there."""
        force = V * np.abs(self.slope(omega, y)) + 1e-12
        low, high = omega - force, omega + force  # the force is smaller at the minimiser
        h = omega + 0.0
        before = np.full_like(omega, np.inf)
        for _ in range(_STEPS):
            gap = h - omega + V * self.slope(h, y)
            low, high = np.where(gap < 0.0, h, low), np.where(gap > 0.0, h, high)
            new = h - gap / (1.0 + V * self.bend(h, y))
            # Newton's steps may swing between two points: what is left is halved then
            swings = (np.abs(gap) > 0.5 * before) & (np.abs(gap) > 1e-8)
            inside = (new >= low) & (new <= high) & ~swings
            before = np.abs(gap)
            new = np.where(inside, new, (low + high) / 2.0)
            done = np.abs(new - h).max() < 1e-14 * (1.0 + np.abs(h).max())
            h = new
            if done:
                return h, 1.0 / (1.0 + V * self.bend(h, y)), self.value(h, y) + 0.0 * h
        gap = np.abs(h - omega + V * self.slope(h, y)).max()
        if not gap < 1e-11 * (1.0 + V + np.abs(omega).max()):
            raise ToleranceError("a proximal operator was not found; is the loss convex?")
        return h, 1.0 / (1.0 + V * self.bend(h, y)), self.value(h, y) + 0.0 * h

    def kinks(self, y: float, V: float) -> list[float]:
        """Return ω at which the slope of the minimiser jumps: nowhere."""
        del y, V
        return []


class HingeProximal:
    """The minimiser for max(0, 1 - h y) with y = ±1, which is closed."""

    def at(
        self, omega: np.ndarray, y: float, V: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the minimiser h, its slope by ω, and the loss there."""
        margin = y * omega
        h = np.where(margin < 1.0 - V, margin + V, np.maximum(margin, 1.0))
        slope = np.where((margin < 1.0 - V) | (margin > 1.0), 1.0, 0.0)
        return y * h, slope, np.maximum(0.0, 1.0 - h)

    def kinks(self, y: float, V: float) -> list[float]:
        """Return ω at which the slope of the minimiser jumps."""
        return [y, y * (1.0 - V)]


def proximal_of(name: str, loss: sp.Expr) -> Proximal:
    """Return the proximal operator of a loss by its name or expression.

    Raises:
        NotYetError: The loss has kinks other than those of the hinge.
    """
    if name == "hinge":
        return HingeProximal()
    if loss.has(sp.Abs, sp.sign, sp.Heaviside, sp.Max, sp.Min):
        raise NotYetError(f"minima of {name} are not known yet; it has kinks", argument="loss")
    return SmoothProximal(loss)
