r"""States near a fixed point, parametrised by vectors so that they stay in the cone of overlaps.

Students have the components :math:`A` along the teachers and :math:`L` along directions of their
own, as many as they have at the point: with a root :math:`T = SS^T`, :math:`R = AS^T` and :math:`Q
= AA^T + LL^T`. Any :math:`A` and :math:`L` are components of vectors, so that no step in them
leaves the cone, and the rank of the covariance does not grow. Around states that no vectors have,
the coordinates themselves are the unknowns.

Rates of activations with kinks exist inside the cone only. On its edge they are differentiated by
steps into it: of a student along the teachers, and of :math:`L` from zero, where rates that have a
derivative by :math:`Q` change with the square of the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from symderiv.analysis.fixed_points.newton_steps import Floats, Labels, newton
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.analysis.fixed_points.unit_flow import UnitFlow

# Eigenvalues of Q - A A^T below this part of the largest Q do not count as directions.
_RANK = 1e-5
# Steps of central differences in units of a student's length, and the smallest such unit.
_STEP, _LEAST_SIZE = 1e-3, 1e-6
# Largest rate of a fixed point, due to rounding at singular covariances of four fields. Largest
# number of Newton iterations.
_STILL, _ROUNDS = 1e-9, 30
# The shortest step inwards, and the number of steps that polynomials interpolate.
_INWARD, _POWERS = 0.02, 7
# Relative to the largest slope: errors below which slopes agree, and differences of two step sizes
# from which on they do not.
_ALIKE, _UNLIKE = 2e-3, 1e-2


@dataclass(frozen=True)
class VectorStates:
    """A parametrisation of states near a given one.

    If vectors have that state, all values of the unknowns are states that vectors have.

    Attributes:
        flow: The flow of the states.
        ranks: For each eigenvalue, the number of the students' directions orthogonal to the
            teachers; None if the unknowns are the coordinates of the flow.
    """

    flow: UnitFlow
    ranks: tuple[int, ...] | None

    @classmethod
    def of(cls, flow: UnitFlow, values: Floats) -> tuple[VectorStates, Floats]:
        """Return the parametrisation around a state, and the unknowns of the state."""
        if not flow.physical(values):
            return cls(flow, None), values
        parts = cls(flow, ()).parts(values)
        own = []
        for Q, A in parts:
            rest, axes = np.linalg.eigh(Q - A @ A.T)
            positive = rest > _RANK * np.max(np.abs(Q))
            own.append(np.asarray(axes[:, positive] * np.sqrt(rest[positive])))
        states = cls(flow, tuple(L.shape[1] for L in own))
        along = [A for _, A in parts]
        return states, states._packed(values, list(zip(along, own, strict=True)))

    @cached_property
    def others(self) -> Labels:
        """Indices of the coordinates that are neither Q nor R."""
        slices = self.flow.packing(0).slices
        overlaps = np.r_[slices["student_overlap"], slices["cross_overlap"]]
        return np.flatnonzero(~np.isin(self.flow.place, overlaps))

    def parts(self, values: Floats) -> list[tuple[Floats, Floats]]:
        """Return Q and A for each eigenvalue."""
        views = self.flow.packing(0).views(self.flow.state(values))
        return [
            (
                views["student_overlap"][..., k],
                views["cross_overlap"][..., k] @ np.linalg.pinv(root).T,
            )
            for k, root in enumerate(self.flow.roots)
        ]

    def _packed(self, values: Floats, vectors: list[tuple[Floats, Floats]]) -> Floats:
        return np.concatenate(
            [values[self.others], *(each.ravel() for pair in vectors for each in pair)]
        )

    def _vectors(self, z: Floats) -> list[tuple[Floats, Floats]]:
        K, M = self.flow.sizes["K"], self.flow.sizes["M"]
        at, pairs = self.others.size, []
        for rank in self.ranks or ():
            A, L = z[at : at + K * M], z[at + K * M : at + K * (M + rank)]
            pairs.append((A.reshape(K, M), L.reshape(K, rank)))
            at += K * (M + rank)
        return pairs

    def values(self, z: Floats) -> Floats:
        """Return the coordinates of the state with these unknowns."""
        if self.ranks is None:
            return z
        return self.composed(z[: self.others.size], [(A, L @ L.T) for A, L in self._vectors(z)])

    def composed(self, others: Floats, parts: Sequence[tuple[Floats, Floats]]) -> Floats:
        """Return the coordinates of students with given A and L L^T, for each eigenvalue."""
        state = self.flow.begin.copy()
        views = self.flow.packing(0).views(state)
        for k, ((A, P), root) in enumerate(zip(parts, self.flow.roots, strict=True)):
            views["student_overlap"][..., k] = A @ A.T + P
            views["cross_overlap"][..., k] = A @ root.T
        values = np.asarray(state[self.flow.place])
        values[self.others] = others
        return values

    def near(self, z: Floats, values: Floats) -> Floats | None:
        """Return the unknowns of another state that are nearest to given ones.

        The result is None if that state has a higher rank.
        """
        if self.ranks is None:
            return values
        states, own = VectorStates.of(self.flow, values)
        if states.ranks is None or any(
            a > b for a, b in zip(states.ranks, self.ranks, strict=True)
        ):
            return None
        turned = []
        for (_, here), (A, L) in zip(self._vectors(z), states._vectors(own), strict=True):
            wide = np.hstack([L, np.zeros((len(L), here.shape[1] - L.shape[1]))])
            left, _, right = np.linalg.svd(wide.T @ here)
            turned.append((A, wide @ left @ right))
        return self._packed(values, turned)

    def _sizes(self, z: Floats) -> Floats:
        """Return the units of steps in the unknowns: those of a student's are its length."""
        sizes = [np.ones(self.others.size)]
        for A, L in self._vectors(z):
            length = np.sqrt(np.sum(A**2, axis=1) + np.sum(L**2, axis=1)).clip(_LEAST_SIZE)
            sizes += [np.repeat(length, each.shape[1]) for each in (A, L)]
        return np.concatenate(sizes) if self.ranks is not None else np.ones(z.size)

    def _by_numbers(self, function: Callable[[Floats], Floats], z: Floats) -> Floats:
        """Return derivatives by the unknowns to six digits, enough for Newton's method."""
        return differences(function, z, _STEP * self._sizes(z), (1 / 2,))

    def rates(self, z: Floats) -> Floats:
        return self.flow.slope(self.values(z))

    def slopes(self, z: Floats) -> Floats:
        """Return the derivatives of the rates by the unknowns."""
        return self._by_numbers(self.rates, z)

    def moved(self, z: Floats) -> Floats:
        """Return the derivatives of the coordinates by the unknowns."""
        return self._by_numbers(self.values, z)

    def settled(self, z: Floats) -> Floats | None:
        """Return the fixed point that Newton's shortest steps reach; None if they fail."""
        with np.errstate(all="ignore"):
            reached = newton(
                lambda x: (self.rates(x), self.slopes(x)), z, _ROUNDS, 1e-10, smallest=1e-5
            )
            if reached is None:
                return None
            left = np.max(np.abs(self.rates(reached[0])))
        scale = 1 + np.max(np.abs(self.values(reached[0])))
        return reached[0] if left < _STILL * scale else None


def slopes_inside(flow: UnitFlow, values: Floats) -> tuple[Floats, float] | None:
    """Return the derivatives of rates by coordinates, from inside the cone, and their error.

    The result is None if the rates are not differentiable: if they change with the square root of a
    change of Q, or if slopes differ to both sides or do not add up along sums of directions.
    """
    fine, coarse = (_inward(flow, values, step) for step in (_INWARD, 1.5 * _INWARD))
    if fine is None or coarse is None:
        return None
    error = float(np.max(np.abs(fine - coarse)))
    # near a student of length zero, slopes depend on the step
    return (fine, error) if error < _UNLIKE * np.max(np.abs(fine)) else None


def _inward(flow: UnitFlow, values: Floats, step: float) -> Floats | None:
    """Return slopes by polynomials that interpolate rates along curves; None if there are none."""
    times = step * np.arange(1, _POWERS + 1)
    powers = times[:, None] ** np.arange(1, _POWERS + 1)
    still, changes, slopes = flow.slope(values), [], []
    for order, curve in _curves(flow, values):
        states = np.array([curve(s) for s in times])
        rates = np.array([flow.slope(each) for each in states])
        if not np.all(np.isfinite(rates)):
            return None
        along = np.linalg.solve(powers, rates - still)
        # lower orders in a step that changes Q by its square mean a square root of Q
        if np.max(np.abs(along[: order - 1]), initial=0.0) > _ALIKE * np.max(np.abs(along)):
            return None
        slopes.append(along[order - 1])
        changes.append(np.linalg.solve(powers, states - values)[order - 1])
    directions, along = np.array(changes).T, np.array(slopes).T
    jacobian: Floats = along @ np.linalg.pinv(directions, rcond=1e-9)
    # there are more directions than coordinates: a derivative has to be linear in them
    apart = np.max(np.abs(jacobian @ directions - along))
    return jacobian if apart < _ALIKE * np.max(np.abs(jacobian)) else None


def _curves(flow: UnitFlow, values: Floats) -> Iterator[tuple[int, Callable[[float], Floats]]]:
    """Yield curves of states of vectors from one, with the order of their steps in coordinates.

    Students move along teachers both ways, and in directions of their own.
    """
    states = VectorStates(flow, ())
    parts = [(A, Q - A @ A.T) for Q, A in states.parts(values)]
    lengths = [np.sqrt(np.diag(A @ A.T + P).clip(_LEAST_SIZE**2)) for A, P in parts]

    def curve(k: int, dA: Floats, dP: Floats) -> Callable[[float], Floats]:
        def at(s: float) -> Floats:
            moved = [*parts]
            moved[k] = parts[k][0] + s * dA, parts[k][1] + s * s * dP
            return states.composed(values[states.others], moved)

        return at

    def beside(n: int, sign: float) -> Callable[[float], Floats]:
        return lambda s: values + sign * s * np.eye(values.size)[n]

    for n in states.others:
        for sign in (1.0, -1.0):
            yield 1, beside(n, sign)
    K, M = flow.sizes["K"], flow.sizes["M"]
    none_along, none_beside = np.zeros((K, M)), np.zeros((K, K))
    for k, length in enumerate(lengths):
        units = np.diag(length)
        for i, n in np.ndindex(K, M):
            for sign in (1.0, -1.0):
                along = none_along.copy()
                along[i, n] = sign * length[i]
                yield 1, curve(k, along, none_beside)
        pairs = [units[i] + sign * units[j] for i in range(K) for j in range(i) for sign in (1, -1)]
        for own in (*units, *pairs):
            yield 2, curve(k, none_along, np.outer(own, own))
