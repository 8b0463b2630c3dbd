r"""Descent by a learning rule on explicit weight vectors, several runs at once.

A step with the examples μ of its batch, for fields x and output s = Σ_i m_i v_i g(x_i + b_i) with
masks m of dropout, and forces F_i = m_i v_i g'(x_i + b_i) ∂ℓ/∂s:

.. math:: J_i ← J_i - \frac{η}{\sqrt N} \overline{F_i ξ} - \frac{κ}{N} J_i, \quad
   v_i ← v_i - \frac{η_v}{N} \overline{m_i g\,∂ℓ/∂s} - \frac{κ_v}{N} v_i, \quad
   b_i ← b_i - \frac{η_b}{N} \overline{F_i}

with means over the batch. Noise of the update adds σ_J ζ_i/√N to the step of J_i, ζ_i standard
normal and fresh in every step. With batches that grow as N steps are multiplied by N, and this
noise by √N. Momentum keeps a velocity of everything that is trained, V ← βV + step without the
decay, and V is added; with 1 - β = γ/N steps are N times smaller. A schedule multiplies η, η_v and
η_b.

Nothing here is derived: this is what derived equations are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from symderiv.dynamics.rules.rule_examples import Examples, Source
from symderiv.dynamics.rules.rule_functions import Values


@dataclass(frozen=True)
class Updates:
    """How weights are updated.

    Args:
        activation, derivative: g and g' of arrays.
        loss_slope: ∂ℓ/∂s of arrays s and t.
        rates: η, η_v, η_b.
        decays: κ, κ_v.
        batch: examples per step.
        size: what multiplies steps, without weight decay.
        memory: β, or 1 - γ/N; None without momentum.
        schedule: what multiplies the rates at a time α.
        sphere: whether Q_ii is kept.
        noise: standard deviation of what is added to a step of J.
    """

    activation: Values
    derivative: Values
    loss_slope: Values
    rates: tuple[float, float, float]
    decays: tuple[float, float]
    batch: int
    size: float
    memory: float | None
    schedule: Callable[[float], float]
    sphere: bool
    noise: float = 0.0


class Descent:
    """The weights of G runs: J (G, K, N) or in a span, heads v (G, H, K), biases b (G, K).

    Args:
        updates: how they are updated.
        source: of the examples.
        student, heads, biases: where all runs start, shapes (K, N), (H, K), (K,).
        runs: G.
        root_mean_square: for steps divided by it, see
            :class:`~symderiv.dynamics.rules.rule_means.Means`; called with this object.
    """

    def __init__(
        self,
        updates: Updates,
        source: Source,
        student: np.ndarray,
        heads: np.ndarray,
        biases: np.ndarray,
        runs: int,
        root_mean_square: Callable[[Descent], np.ndarray] | None = None,
    ) -> None:
        self.updates, self.source = updates, source
        self.J = np.repeat(student[None], runs, axis=0)
        self.v = np.repeat(heads[None], runs, axis=0)
        self.b = np.repeat(biases[None], runs, axis=0)
        self.velocity = [np.zeros_like(w) for w in (self.J, self.v, self.b)]
        self.N = source.teaching.dimension
        self.made = 0
        self._variance = source.teaching.vectors.variance
        self._head = source.teaching.tasks.head
        self._lengths = np.einsum("ia,a,ia->i", student, self._variance, student)
        self._rms, self._rms_until = np.ones((runs, 1, 1)), 0
        self._root_mean_square = root_mean_square

    def step(self) -> bool:
        """Learn one batch; whether all numbers were finite."""
        told, N = self.updates, self.N
        if self._root_mean_square is not None and self.made >= self._rms_until:
            self._rms[:] = self._root_mean_square(self)[:, None, None]
            self._rms_until = self.made + max(1, N // _PER_UNIT_OF_TIME)
        now = told.schedule(self.made / N) * told.size / told.batch
        finite, left = True, told.batch
        gradients: list[np.ndarray] | None = None
        zeta: np.ndarray | None = None
        used: float | np.ndarray = 0.0
        while left:
            examples = self.source.take(min(left, self.source.left))
            left -= examples.target.shape[1]
            found, heads, good = self._gradients(examples)
            finite &= good
            used = used + heads
            if gradients is None:
                gradients = found
                zeta = None if examples.update is None else examples.update[:, 0]
            else:
                for sum_, each in zip(gradients, found, strict=True):
                    sum_ += each
        assert gradients is not None
        first = now / np.sqrt(N)
        eta, eta_v, eta_b = told.rates
        kappa, kappa_v = (decay / N for decay in told.decays)
        for weights, velocity, step, rate, decay in (
            (self.J, self.velocity[0], gradients[0], first * eta / self._rms, kappa),
            (self.v, self.velocity[1], gradients[1], now * eta_v / N, kappa_v * used / told.batch),
            (self.b, self.velocity[2], gradients[2], now * eta_b / N, 0.0),
        ):
            step *= -rate
            if weights is self.J and zeta is not None:
                step += told.noise * zeta
            if told.memory is not None:
                velocity *= told.memory
                velocity += step
                step = velocity
            if np.any(decay):
                weights *= 1.0 - decay
            weights += step
        if told.sphere:
            squares = np.einsum("gia,a,gia->gi", self.J, self._variance, self.J)
            self.J *= np.sqrt(self._lengths / squares)[..., None]
        self.made += told.batch
        return finite

    def memory(self) -> dict[str, np.ndarray]:
        """What :meth:`restore` needs, copies; the source's memory is its own."""
        arrays = {name: array.copy() for name, array in self._changing.items()}
        return {**arrays, "made": np.array([self.made, self._rms_until])}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:
        """Go on where :meth:`memory` was asked."""
        for name, array in self._changing.items():
            array[:] = kept[name]
        self.made, self._rms_until = (int(count) for count in kept["made"])

    @property
    def _changing(self) -> dict[str, np.ndarray]:
        velocity = {f"velocity {at}": array for at, array in enumerate(self.velocity)}
        return {"J": self.J, "v": self.v, "b": self.b, **velocity, "rms": self._rms}

    def _gradients(self, examples: Examples) -> tuple[list[np.ndarray], float | np.ndarray, bool]:
        """Sums over examples of F ξ, of the heads' gradients, of F; how often heads were used."""
        told = self.updates
        x = examples.seen @ self.J.swapaxes(1, 2)
        x /= np.sqrt(self.N)
        x += self.b[:, None, :]
        output, slope = told.activation(x), told.derivative(x)
        if examples.mask is not None:
            output, slope = output * examples.mask, slope * examples.mask
        shares = None
        v = self.v
        if v.shape[1] > 1:
            shares = (self._head[examples.task][..., None] == np.arange(v.shape[1])).astype(float)
            v = shares @ v
        s = np.sum(v * output, axis=2)
        pull = told.loss_slope(s, examples.target)[..., None]
        force = v * slope * pull
        change = output * pull
        if shares is None:
            heads = np.sum(change, axis=1, keepdims=True)
            used: float | np.ndarray = float(pull.shape[1])
        else:
            heads = shares.swapaxes(1, 2) @ change
            used = np.sum(shares, axis=1)[..., None]
        finite = bool(np.isfinite(pull).all())
        return [force.swapaxes(1, 2) @ examples.seen, heads, np.sum(force, axis=1)], used, finite

    def overlaps(
        self, first: np.ndarray, second: np.ndarray, variance: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariances E[f_i h_j] of the fields of vectors (G, K, N) and (..., L, N), (G, K, L).

        ``variance``: of the coordinates, shape (N,); the study's when left out.
        """
        variance = self._variance if variance is None else variance
        found: np.ndarray = (first * variance) @ second.swapaxes(-1, -2) / self.N
        return found


# How often root mean squares are measured in a time of 1; the curves move by as much in between.
_PER_UNIT_OF_TIME = 50
