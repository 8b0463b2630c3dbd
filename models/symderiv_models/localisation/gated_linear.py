r"""Linear networks behind given gates: f(x) = (1/K) Σ_k g_k(x) w_k·x.

With x̃ = g(x) ⊗ x, A = ⟨x̃ x̃ᵀ⟩ and b = ⟨x̃ y⟩ over a finite population, the flow of the loss
½⟨(f − y)²⟩ is linear: dw/dt = b − A w/K, −K times the gradient as in
:mod:`~symderiv_models.localisation.flow`. It is solved in the eigenbasis of A, zero eigenvalues
included: directions that no example has never move. Equations 82 to 90 of the notes on localisation
have A in place of A/K, which is the flow of the sum of the units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.inputs.ring import Floats

__all__ = ["GatedLinear"]

# Eigenvalues of A below this part of the largest count as zero.
_ZERO = 1e-12


@dataclass(frozen=True)
class GatedLinear:
    """A gated linear network on a finite population.

    Args:
        inputs: x, shape (P, D).
        labels: y, shape (P,).
        gates: g_k(x), 0 or 1, shape (P, K).
        probabilities: the probabilities of the examples, shape (P,), sum 1; None for equal ones.

    Raises:
        InputError: shapes do not fit, a gate is neither 0 nor 1, probabilities do not sum to 1.
    """

    inputs: Floats
    labels: Floats
    gates: Floats
    probabilities: Floats | None = None

    def __post_init__(self) -> None:
        inputs, labels, gates = (
            np.asarray(each, dtype=np.float64) for each in (self.inputs, self.labels, self.gates)
        )
        if inputs.ndim != 2:
            raise InputError("is not a matrix of examples by sites", argument="inputs")
        count = inputs.shape[0]
        if labels.shape != (count,):
            raise InputError(f"needs {count} labels", argument="labels")
        if gates.ndim != 2 or gates.shape[0] != count:
            raise InputError(f"needs shape ({count}, K)", argument="gates")
        if not np.all((gates == 0.0) | (gates == 1.0)):
            raise InputError("are 0 or 1", argument="gates")
        weight = np.full(count, 1.0 / count)
        if self.probabilities is not None:
            weight = np.asarray(self.probabilities, dtype=np.float64)
        if weight.shape != (count,) or np.any(weight < 0.0) or abs(weight.sum() - 1.0) > 1e-9:
            raise InputError(f"need {count} numbers >= 0 of sum 1", argument="probabilities")
        for name, value in (
            ("inputs", inputs),
            ("labels", labels),
            ("gates", gates),
            ("probabilities", weight),
        ):
            object.__setattr__(self, name, value)

    @property
    def units(self) -> int:
        """The number of units, K."""
        return int(self.gates.shape[1])

    @property
    def _weight(self) -> Floats:
        return np.asarray(self.probabilities)

    @cached_property
    def gated(self) -> Floats:
        """x̃ of all examples, shape (P, K D)."""
        products = self.gates[:, :, None] * self.inputs[:, None, :]
        return np.asarray(products.reshape(len(self.inputs), -1))

    @cached_property
    def correlation(self) -> Floats:
        """A = ⟨x̃ x̃ᵀ⟩, shape (K D, K D)."""
        return np.asarray((self.gated * self._weight[:, None]).T @ self.gated)

    @cached_property
    def source(self) -> Floats:
        """b = ⟨x̃ y⟩, shape (K D,)."""
        return np.asarray(self.gated.T @ (self._weight * self.labels))

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.correlation)
        return np.where(values > _ZERO * values[-1], values, 0.0), vectors

    def limit(self, initial: Floats) -> Floats:
        """Return w(∞), shape (K, D): K times the pseudo-inverse solution, plus what never moves."""
        return self.weights(initial, np.inf)

    def weights(self, initial: Floats, time: float) -> Floats:
        """Return w(t) from ``initial``, shape (K, D), time in units of τ."""
        values, vectors = self._spectrum
        u0 = vectors.T @ np.asarray(initial, dtype=np.float64).ravel()
        c = vectors.T @ self.source
        moving = values > 0.0
        rest = np.where(moving, self.units * c / np.where(moving, values, 1.0), u0)
        left = np.exp(-np.where(moving, values, np.inf) * (time / self.units)) if time else 1.0
        flat = vectors @ (rest + (u0 - rest) * left)
        return np.asarray(flat.reshape(self.units, -1))

    def merit(self) -> float:
        """bᵀ A⁺ b, what a gating structure wins (equation 99, whose classes have equal weight).

        At the limit ⟨(f − y)²⟩ = ⟨y²⟩ − bᵀ A⁺ b (equations 94 to 96).
        """
        values, vectors = self._spectrum
        c = vectors.T @ self.source
        moving = values > 0.0
        return float(np.sum(c[moving] ** 2 / values[moving]))
