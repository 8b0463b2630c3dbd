"""The minimum of Σ ℓ(s, y) + λ|w|²/2 over one linear unit s = w·ξ/√N, for α N examples.

Order parameters are m = w·Σ·B/N, q = w·Σ·w/N and the variance V of a field without its example,
with Σ the covariance of inputs; conjugates m̂, q̂, V̂ are means over ω of variance q and over y
given ω, where h is the proximal operator, which minimises (h - ω)²/(2V) + ℓ(h, y), and g = (h -
ω)/V:

m̂ = α E[g ∂ ln Z/∂ν], q̂ = α E[g²], V̂ = -α E[∂g/∂ω].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import sympy as sp

from symderiv.equilibrium.optimal.sign_channel import SignChannel
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.lowering.means.numeric_activation import SoftPlus
from symderiv.numerics.nodes import gauss_panels

_STEPS = 60


class Proximal(ABC):
    """The proximal operator of a loss."""

    @abstractmethod
    def at(
        self, omega: np.ndarray, y: float, V: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the minimiser h, its derivative by ω, and the loss at h."""

    def kinks(self, y: float, V: float) -> list[float]:
        """Return the ω at which the derivative of the minimiser jumps: none by default."""
        del y, V
        return []


class SmoothProximal(Proximal):
    """The proximal operator of a smooth convex loss, by Newton's method with bisection.

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
        force = V * np.abs(self.slope(omega, y)) + 1e-12
        low, high = omega - force, omega + force  # at the minimiser the force is smaller
        h = omega + 0.0
        before = np.full_like(omega, np.inf)
        for _ in range(_STEPS):
            gap = h - omega + V * self.slope(h, y)
            low, high = np.where(gap < 0.0, h, low), np.where(gap > 0.0, h, high)
            new = h - gap / (1.0 + V * self.bend(h, y))
            # Newton's method may oscillate between two points: then the interval is bisected
            swings = (np.abs(gap) > 0.5 * before) & (np.abs(gap) > 1e-8)
            inside = (new >= low) & (new <= high) & ~swings
            before = np.abs(gap)
            new = np.where(inside, new, (low + high) / 2.0)
            done = np.abs(new - h).max() < 1e-14 * (1.0 + np.abs(h).max())
            h = new
            if done:
                break
        else:
            gap = np.abs(h - omega + V * self.slope(h, y)).max()
            if not gap < 1e-11 * (1.0 + V + np.abs(omega).max()):
                raise ToleranceError("a proximal operator was not found; is the loss convex?")
        return h, 1.0 / (1.0 + V * self.bend(h, y)), self.value(h, y) + 0.0 * h


class HingeProximal(Proximal):
    """The proximal operator of max(0, 1 - h y) for y = ±1, in closed form."""

    def at(
        self, omega: np.ndarray, y: float, V: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        margin = y * omega
        h = np.where(margin < 1.0 - V, margin + V, np.maximum(margin, 1.0))
        slope = np.where((margin < 1.0 - V) | (margin > 1.0), 1.0, 0.0)
        return y * h, slope, np.maximum(0.0, 1.0 - h)

    def kinks(self, y: float, V: float) -> list[float]:
        return [y, y * (1.0 - V)]


def proximal_of(name: str, loss: sp.Expr) -> Proximal:
    """Return the proximal operator of a loss, by its name or expression.

    Raises:
        NotYetError: The loss has kinks other than those of the hinge.
    """
    if name == "hinge":
        return HingeProximal()
    if loss.has(sp.Abs, sp.sign, sp.Heaviside, sp.Max, sp.Min):
        raise NotYetError(
            f"{name} has kinks, and its minima are not known yet; take hinge or a smooth loss",
            argument="loss",
        )
    return SmoothProximal(loss)


_STEPS, _SETTLED, _DAMPED = 4000, 1e-11, 0.7


@dataclass(frozen=True)
class RiskMinimum:
    """A minimum of the risk.

    Attributes:
        m, q, V: The order parameters.
        loss: The mean loss of a training example.
    """

    m: float
    q: float
    V: float
    loss: float


@dataclass(frozen=True)
class LabelledRisk:
    """The risk for examples with finitely many labels y.

    Attributes:
        channel: The law of labels given the teacher's field.
        proximal: The proximal operator of the loss.
        eigenvalues, weights: The eigenvalues of the inputs and their weights, shape (L,); Σ weights
            = 1, and Σ weights·eigenvalues is the variance of the teacher's field.
    """

    channel: SignChannel
    proximal: Proximal
    eigenvalues: np.ndarray
    weights: np.ndarray

    def minimum(self, alpha: float, ridge: float, start: RiskMinimum | None = None) -> RiskMinimum:
        """Return the minimum at α with a ridge λ > 0.

        Raises:
            ToleranceError: The equations could not be solved.
        """
        m, q, V = (0.1, 1.0, 1.0) if start is None else (start.m, start.q, start.V)
        for _ in range(_STEPS):
            new = self._next(*self._conjugates(alpha, m, q, V)[:3], ridge)
            change = np.array(new) - (m, q, V)
            m, q, V = np.array((m, q, V)) + _DAMPED * change
            if np.abs(change).max() < _SETTLED * (1.0 + q + V):
                return RiskMinimum(m, q, V, self._conjugates(alpha, m, q, V)[3])
        raise ToleranceError(
            f"the minimum at alpha = {alpha:g} was not found with ridge {ridge:g}; take a larger "
            "ridge"
        )

    def _next(self, m: float, q: float, V: float, ridge: float) -> tuple[float, float, float]:
        """Return m, q and V for given conjugates."""
        e, w = self.eigenvalues, self.weights
        rest = ridge + V * e
        return (
            float(m * (w @ (e**2 / rest))),
            float(w @ (e**2 * (m**2 * e + q) / rest**2)),
            float(w @ (e / rest)),
        )

    def _conjugates(
        self, alpha: float, m: float, q: float, V: float
    ) -> tuple[float, float, float, float]:
        """Return the conjugates m̂, q̂, V̂ and the mean loss."""
        variance = float(self.weights @ self.eigenvalues)
        rest = np.array([[max(variance - m * m / q, 1e-12)]])
        total = np.zeros(4)
        for n, y in enumerate(self.channel.outputs):
            kinks = [k for k in self.proximal.kinks(float(y), V) if abs(k) < 8.5 * q**0.5]
            edges = np.unique([*np.linspace(-8.5, 8.5, 18) * q**0.5, *kinks])
            omega, shares = gauss_panels(edges, 12)
            shares = shares * np.exp(-(omega**2) / (2 * q)) / np.sqrt(2 * np.pi * q)
            Z, slopes = self.channel.at(m / q * omega[None], rest)
            h, slope, loss = self.proximal.at(omega, float(y), V)
            g = (h - omega) / V
            total += [
                shares @ (slopes[0, n] * g),
                shares @ (Z[n] * g**2),
                shares @ (Z[n] * (1.0 - slope) / V),
                shares @ (Z[n] * loss),
            ]
        a, b, c, d = (float(each) for each in total)
        return alpha * a, alpha * b, alpha * c, d


@dataclass(frozen=True)
class SquaredRisk(LabelledRisk):
    """The risk with the squared loss (s - y)²/2 for any outputs: only two moments of y enter.

    Attributes:
        first: E[y ν] of the teacher's field ν, divided by its variance.
        second: E[y²], including noise.
    """

    first: float = 1.0
    second: float = 1.0

    def _conjugates(
        self, alpha: float, m: float, q: float, V: float
    ) -> tuple[float, float, float, float]:
        whole = 1.0 + V
        risk = self.second - 2.0 * self.first * m + q
        return (
            alpha * self.first / whole,
            alpha * risk / whole**2,
            alpha / whole,
            risk / (2.0 * whole**2),
        )
