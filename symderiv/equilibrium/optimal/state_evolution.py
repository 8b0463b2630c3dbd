"""State evolution q → q̂ = α E[∇ ln Z ∇ ln Zᵀ] → q: its fixed points, and their transitions.

The free entropy is E ln Z of the prior + α E ∫ Z ln Z dy - tr(q q̂)/2 at a fixed point. From an
uninformed start q grows in each step, so that a fixed point at one α is a start for larger ones;
from an informed start it shrinks. Newton's method completes the iteration.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from symderiv.equilibrium.optimal.sign_channel import TOO_NEAR, Channel, lattice
from symderiv.foundation.errors import ToleranceError


class Prior(ABC):
    """A law of the K weights of each input, of mean 0 and covariance 1."""

    @abstractmethod
    def at(self, conjugate: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return E ln Z, q and 1 - q at q̂ (K, K)."""


class GaussianPrior(Prior):
    """Independent standard normal weights."""

    def at(self, conjugate: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        rest = np.linalg.inv(np.eye(len(conjugate)) + conjugate)
        value = 0.5 * float(np.trace(conjugate) + np.linalg.slogdet(rest)[1])
        return value, np.eye(len(conjugate)) - rest, rest


class RademacherPrior(Prior):
    """Independent weights ±1."""

    def at(self, conjugate: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        K = len(conjugate)
        w = np.array(list(itertools.product((1.0, -1.0), repeat=K)))
        xi, weights = lattice(conjugate, np.eye(K))
        weights = weights / weights.sum()
        constants = -0.5 * np.einsum("si,ij,sj->s", w, conjugate, w)
        value, rest = 0.0, np.zeros((K, K))
        # a change of all signs together leaves everything invariant
        for truth in w[: len(w) // 2]:
            field = (conjugate @ truth)[:, None] + xi
            logs = w @ field + constants[:, None]
            whole = logsumexp(logs, axis=0)
            shares = np.exp(logs - whole)
            value += float(weights @ whole) - K * np.log(2.0)
            # 1 - q = E[(truth - mean) truthᵀ], which avoids cancellation
            apart = np.einsum("sk,sn->kn", truth - w, shares) @ weights
            rest += np.outer(apart, truth)
        rest = (rest + rest.T) / len(w)
        return value / (len(w) // 2), np.eye(K) - rest, rest


_UNSEEN = 1e-4
_STEPS, _NEWTON, _SETTLED = 400, 12, 1e-10


@dataclass(frozen=True)
class OptimalState:
    """A fixed point of state evolution.

    Attributes:
        alpha: α.
        q: Overlaps with the teacher, shape (K, K).
        conjugate: q̂, infinite if weights are known exactly.
        entropy: The free entropy.
    """

    alpha: float
    q: np.ndarray
    conjugate: np.ndarray
    entropy: float

    @property
    def exact(self) -> bool:
        """True if the weights are known exactly."""
        return not np.isfinite(self.conjugate).all()


class StateEvolution:
    """The map of a channel and a prior."""

    def __init__(self, channel: Channel, prior: Prior) -> None:
        self.channel, self.prior = channel, prior
        self.K = channel.K
        self.places = np.triu_indices(self.K)

    def step(self, alpha: float, conjugate: np.ndarray) -> np.ndarray:
        """Return q̂ after one step."""
        _, q, rest = self.prior.at(conjugate)
        return alpha * self.channel.information(q, rest)[1]

    def state(self, alpha: float, conjugate: np.ndarray) -> OptimalState:
        """Return the state at a fixed point q̂."""
        value, q, rest = self.prior.at(conjugate)
        information = self.channel.information(q, rest)[0]
        entropy = value + alpha * information - 0.5 * float(np.sum(q * conjugate))
        return OptimalState(alpha, q, conjugate, entropy)

    def known(self, alpha: float) -> OptimalState | None:
        """Return the state of exact knowledge of the weights, if it can be stationary."""
        discrete = isinstance(self.prior, RademacherPrior)
        if not self.channel.sharp or not (discrete or self.channel.limit == np.inf):
            return None
        entropy = alpha * self.channel.limit - self.K * float(np.log(2.0)) if alpha else -np.inf
        return OptimalState(alpha, np.eye(self.K), np.full((self.K, self.K), np.inf), entropy)

    def error(self, state: OptimalState) -> float:
        """Return E[(y - E[y])²]/2 for a fresh input, without additive noise."""
        if state.exact:
            return 0.0
        rest = np.eye(self.K) - state.q
        return 0.5 * (self.channel.second_moment - self.channel.mean_square(state.q, rest))

    def jacobian(self, alpha: float, conjugate: np.ndarray, share: float = 1e-5) -> np.ndarray:
        """Return the Jacobian of a step, by differences, for the entries of q̂ with i ≤ j."""
        size = share * (1.0 + float(np.abs(conjugate).max()))
        # near the edge of the cone q̂ must stay positive semidefinite
        edge = np.linalg.eigvalsh(conjugate)[0] < 2.0 * size
        columns = []
        for i, j in zip(*self.places, strict=True):
            change = np.zeros_like(conjugate)
            change[i, j] = change[j, i] = size
            base = conjugate + (2.0 * size * np.eye(self.K) if edge else 0.0)
            ahead, back = self.step(alpha, base + change), self.step(alpha, base - change)
            columns.append((ahead - back)[self.places] / (2 * size))
        return np.array(columns).T

    def settled(self, alpha: float, conjugate: np.ndarray) -> np.ndarray | None:
        """Return the fixed point of the iteration; None if it leads to exact knowledge."""
        if conjugate.max() > 0.05:
            # starting from a fixed point at a nearby α
            fixed = self._newton(alpha, conjugate)
            if fixed is not None and np.abs(fixed - conjugate).max() < 0.1 * conjugate.max():
                return fixed
        before = np.inf
        # Weights ±1 have a posterior variance of order exp(-q̂/2), of which q̂ is an inverse power:
        # fixed points with large q̂ are unstable, and iterations that come so far end at exact
        # knowledge.
        enough, most = (24.0, 60.0) if isinstance(self.prior, RademacherPrior) else (3e3, 3e3)
        for n in range(_STEPS):
            # damped, as whole steps may oscillate between fields
            change = 0.5 * (self.step(alpha, conjugate) - conjugate)
            size = float(np.abs(change).max())
            # if steps shrink slowly, one of six is taken eight times: the fixed point is at least
            # ten steps away
            even = n % 6 == 2 and n > 6 and 0.9 < size / before < 1.1
            conjugate = _positive(conjugate + (8.0 if even else 1.0) * change)
            scale = 1.0 + float(np.abs(conjugate).max())
            known = float(np.linalg.eigvalsh(conjugate)[0]) > enough or scale > most
            if known and self.known(alpha) is not None:
                return None
            if size < _SETTLED * scale:
                return conjugate
            # steps shrink evenly, so that Newton's method should converge
            if n % 6 == 1 and n > 6 and size < 0.05 * scale and size < before:
                fixed = self._newton(alpha, conjugate)
                if fixed is not None and np.abs(fixed - conjugate).max() < 60 * size:
                    return fixed
            before = size
        fixed = self._newton(alpha, conjugate)
        return conjugate if fixed is None else fixed

    def _newton(self, alpha: float, conjugate: np.ndarray) -> np.ndarray | None:
        """Return an attracting fixed point near a guess, or None."""
        most = 2.0 * float(np.abs(conjugate).max()) + 1.0
        jacobian = self.jacobian(alpha, conjugate)
        for n in range(_NEWTON):
            gap = (self.step(alpha, conjugate) - conjugate)[self.places]
            try:
                change = np.linalg.solve(np.eye(gap.size) - jacobian, gap)
            except np.linalg.LinAlgError:
                return None
            new = conjugate.copy()
            new[self.places] += change
            new.T[self.places] = new[self.places]
            if np.abs(new).max() > most:
                return None
            new = _positive(new)
            size = float(np.abs(new - conjugate).max())
            conjugate = new
            if size < _SETTLED * (1.0 + float(np.abs(conjugate).max())):
                if np.abs(gap).max() > 1e-8 * (1.0 + np.abs(conjugate).max()):
                    return None
                rates = np.linalg.eigvals(self.jacobian(alpha, conjugate)).real
                return conjugate if rates.max() < 1.0 else None
            if n == 5:
                jacobian = self.jacobian(alpha, conjugate)
        return None

    def rate(self, alpha: float, conjugate: np.ndarray) -> float:
        """Return the largest eigenvalue of the Jacobian of a step; a fixed point attracts if it is
        below 1.
        """
        one, two, three = (
            float(np.linalg.eigvals(self.jacobian(alpha, conjugate, share)).real.max())
            for share in (2e-5, 4e-5, 6e-5)
        )
        # extrapolated: near the edge of the cone differences are taken inside of it
        return 3.0 * one - 3.0 * two + three

    def uninformed(self, alpha: float, before: OptimalState | None = None) -> OptimalState:
        """Return the state reached from no knowledge, or from the state at a smaller α."""
        start = np.zeros((self.K, self.K)) if before is None else before.conjugate
        if before is not None and before.exact:
            return self._exactly(alpha)
        # a small overlap in every direction, which decays in directions that cannot be learned
        hint = _UNSEEN * (np.eye(self.K) + 0.3 * np.diag(np.arange(self.K)))
        if not start.any() and not self.step(alpha, start).round(9).any():
            if self.rate(alpha, start) < 1.0:
                return self.state(alpha, start)
            hint = 300.0 * hint
        for _ in range(4):
            fixed = self.settled(alpha, start + hint)
            if fixed is None:
                break
            if not np.isfinite(fixed).all():
                raise ToleranceError(TOO_NEAR)
            rates = np.linalg.eigvals(self.jacobian(alpha, fixed)).real
            if rates.max() < 1.0 + 1e-4:
                break
            start = fixed + 30 * hint
            for size in (0.02, 0.06, 0.18):
                near = self._newton(alpha, fixed + size * np.eye(self.K))
                if near is not None:
                    return self.state(alpha, near)
        return self._exactly(alpha) if fixed is None else self.state(alpha, fixed)

    def _exactly(self, alpha: float) -> OptimalState:
        exact = self.known(alpha)
        if exact is None:
            raise ArithmeticError("state evolution did not settle")
        return exact

    def informed(self, alpha: float, before: OptimalState | None = None) -> OptimalState:
        """Return the state reached from full knowledge, or from the state at a larger α."""
        exact = self.known(alpha)
        if exact is not None and isinstance(self.prior, RademacherPrior):
            return exact
        start = 30.0 * np.eye(self.K)
        if before is not None and not before.exact:
            start = before.conjugate
        fixed = self.settled(alpha, start)
        return self._exactly(alpha) if fixed is None else self.state(alpha, fixed)


def _positive(matrix: np.ndarray) -> np.ndarray:
    """Return a symmetric matrix with negative eigenvalues set to zero."""
    sizes, axes = np.linalg.eigh((matrix + matrix.T) / 2)
    positive: np.ndarray = (axes * np.maximum(sizes, 0.0)) @ axes.T
    return positive
