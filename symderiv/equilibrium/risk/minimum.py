"""The minimum of Σ ℓ(s, y) + λ|w|²/2 over one linear unit s = w·ξ/√N, for α N examples.

Order parameters are m = w·Σ·B/N, q = w·Σ·w/N and V, the variance of a field when its example is
left out, with Σ the covariance of inputs; conjugates m̂, q̂, V̂ are means over ω of the variance q
and over y given ω, with h the proximal operator and g = (h - ω)/V:

m̂ = α E[g ∂ ln Z/∂ν], q̂ = α E[g²], V̂ = -α E[∂g/∂ω].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from symderiv.equilibrium.optimal.sign_channel import SignChannel
from symderiv.equilibrium.risk.proximal import Proximal
from symderiv.foundation.errors import ToleranceError
from symderiv.numerics.nodes import gauss_panels

_STEPS, _SETTLED, _DAMPED = 4000, 1e-11, 0.7


@dataclass(frozen=True)
class RiskMinimum:
    """A minimum.

    Attributes:
        m, q, V: Order parameters.
        loss: The mean loss of an example that was learned from.
    """

    m: float
    q: float
    V: float
    loss: float


@dataclass(frozen=True)
class LabelledRisk:
    """Examples with finitely many labels y.

    Attributes:
        channel: The law of labels given the teacher's field.
        proximal: The proximal operator of the loss.
        eigenvalues, weights: Those of the inputs, shape (L,); Σ weights = 1, and
            Σ weights·eigenvalues is the variance of the teacher's field.
    """

    channel: SignChannel
    proximal: Proximal
    eigenvalues: np.ndarray
    weights: np.ndarray

    def minimum(self, alpha: float, ridge: float, start: RiskMinimum | None = None) -> RiskMinimum:
        """Return the minimum at α with a ridge λ > 0.

        Raises:
            ToleranceError: The equations were not solved.
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
        """Return m, q and V of conjugates."""
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
        """Return m̂, q̂, V̂ and the mean loss."""
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
    """Any outputs with the squared loss (s - y)²/2: only two means of y enter.

    Attributes:
        first: E[y ν] of the teacher's field ν, divided by its variance.
        second: E[y²], with the noise.
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
