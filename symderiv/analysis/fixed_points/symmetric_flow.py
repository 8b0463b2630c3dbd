"""The symmetric fixed point that a flow approaches, and the kinds of its eigenvectors.

States whose entries are equal within the orbits of a flow's permutation symmetries are invariant
under the flow. There a fixed point is approached by integration and then found by SciPy's root
finder. The Jacobian in all entries, by differences of eighth order, has eigenvectors that are
symmetric or distinguish members of families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow, averaging, classes_of
from symderiv.analysis.fixed_points.newton_steps import Floats, Labels, root_near
from symderiv.foundation.errors import ToleranceError

_CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_DURATIONS = tuple(10.0**n for n in range(1, 8))
_NEAR, _LARGE = 0.05, 1e6
_COINCIDING = 1e-3
#: The largest rate at a fixed point, relative to the state.
STILL = 1e-11


def integrated(
    slope: Callable[[Floats], Floats],
    start: Floats,
    duration: float,
    largest: float = _LARGE,
) -> Floats | None:
    """Return the end of an autonomous flow; None if it exceeds ``largest``."""
    from scipy.integrate import solve_ivp

    def away(_: float, y: Floats) -> float:
        return float(largest - np.max(np.abs(y)))

    away.terminal = True  # type: ignore[attr-defined]
    with np.errstate(all="ignore"):
        try:
            run = solve_ivp(
                lambda _, y: slope(y),
                (0.0, duration),
                start,
                "LSODA",
                rtol=1e-8,
                atol=1e-12,
                events=away,
            )
        except (ValueError, ArithmeticError):
            return None
    end: Floats = run.y[:, -1]
    return end if run.status == 0 and np.all(np.isfinite(end)) else None


@dataclass(frozen=True)
class KindSpectrum:
    """Eigenvalues of a Jacobian by the units that their directions distinguish.

    Attributes:
        eigenvalues: The eigenvalues by kind, "symmetric" or names of families, complex, largest
            real part first.
        error: The largest change of an eigenvalue when the steps of differences are doubled.
    """

    eigenvalues: dict[str, np.ndarray]
    error: float

    @property
    def escape(self) -> tuple[str, float]:
        """The kind that grows fastest, and its rate."""
        largest = {kind: float(each.real.max()) for kind, each in self.eigenvalues.items()}
        kind = max(largest, key=lambda each: largest[each])
        return kind, largest[kind]

    def told(self, residual: float) -> dict[str, Any]:
        """Return the escape's direction and rate with the spectrum, by their names in answers."""
        direction, rate = self.escape
        return {
            "unstable_eigenvalue": rate,
            "direction": direction,
            "escape_time": 1 / rate if rate > 0 else None,
            "eigenvalues": self.eigenvalues,
            "eigenvalue_error": self.error,
            "residual": residual,
        }


@dataclass(frozen=True)
class SymmetricFlow:
    """A flow, restricted to states whose entries are equal within orbits.

    Attributes:
        rates: A function from a state to its rates, shape (n,); all entries move.
        labels: The orbit of each entry, 0, 1, …; shape (n,).
        begin: The initial state.
        step: The step of differences.
    """

    rates: Callable[[Floats], Floats]
    labels: Labels
    begin: Floats
    step: float = 4e-3

    def point(self, state: Floats) -> Floats:
        """Return the means of a state's entries over orbits."""
        return np.asarray(np.bincount(self.labels, state) / np.bincount(self.labels))

    def slope(self, point: Floats) -> Floats:
        """Return the rates of these means."""
        return self.point(self.rates(point[self.labels]))

    def residual(self, state: Floats) -> float:
        """Return the largest rate of a state."""
        return float(np.max(np.abs(self.rates(state))))

    def root(self, start: Floats, still: float = STILL) -> Floats | None:
        """Return the state near a point at which all rates vanish; None if there is none."""
        scale = 1e-3 + np.max(np.abs(start))
        zero = root_near(self.slope, lambda y: differences(self.slope, y, self.step), start)
        if zero is None or not np.max(np.abs(zero - start)) < _NEAR * scale:
            return None
        state = zero[self.labels]
        return state if self.residual(state) < still * scale else None

    def fixed_point(
        self,
        coinciding: Callable[[Floats], Labels],
        durations: Sequence[float] = _DURATIONS,
        still: float = STILL,
    ) -> Floats | None:
        """Return the symmetric fixed point that the flow approaches; None if there is none.

        If members of a family approach each other, the state in which they coincide is taken: the
        flow towards it may be neutral, so that a root finder would not converge to it.

        Args:
            coinciding: A function from a state to orbits; those are merged that are equal when
                nearly coinciding members do coincide.
            durations: Times at which a root is searched near the state reached.
            still: The largest rate of a root, relative to the state.
        """
        point, before = self.point(self.begin), 0.0
        for end in durations:
            reached = integrated(self.slope, point, end - before)
            if reached is None:
                break
            point, before = reached, end
            for near in (self.root(point, still), point[self.labels]):
                if near is None:
                    continue
                one = replace(self, labels=coinciding(near), begin=near)
                state = one.root(one.point(near), still)
                if state is not None:
                    return state
        return None

    def spectrum(self, state: Floats, families: Mapping[str, Labels]) -> KindSpectrum:
        """Return the eigenvalues of the Jacobian by the units that their directions distinguish.

        Args:
            state: A symmetric fixed point.
            families: By name of a family, the orbits under permutations of its members.

        Raises:
            ToleranceError: The flow is not smooth there.
        """
        steps = self.step, 2 * self.step
        by_kind, other = (self._by_kind(state, step, families) for step in steps)
        apart = [
            np.max(np.min(np.abs(each[:, None] - other[kind][None]), axis=1))
            for kind, each in by_kind.items()
        ]
        return KindSpectrum(by_kind, float(max(apart)))

    def _by_kind(
        self, state: Floats, step: float, families: Mapping[str, Labels]
    ) -> dict[str, np.ndarray]:
        jacobian, identity = differences(self.rates, state, step), np.eye(state.size)
        if not np.all(np.isfinite(jacobian)):
            raise ToleranceError("the flow is not smooth at its symmetric fixed point")
        averages = [averaging(labels) for labels in families.values()]
        by_kind = {}
        for alike in product((True, False), repeat=len(averages)):
            whole = identity
            for average, one in zip(averages, alike, strict=True):
                whole = whole @ (average if one else identity - average)
            values, vectors = np.linalg.eigh((whole + whole.T) / 2)
            basis = vectors[:, values > 0.5]
            if not basis.shape[1]:
                continue
            apart = [name for name, one in zip(families, alike, strict=True) if not one]
            rates = np.linalg.eigvals(basis.T @ jacobian @ basis)
            order = np.lexsort((rates.imag, -rates.real))
            by_kind[" and ".join(apart) or "symmetric"] = rates[order]
        return by_kind


def symmetric_point(
    flow: ExchangedFlow,
    durations: Sequence[float] = _DURATIONS,
    still: float = STILL,
    step: float = SymmetricFlow.step,
) -> tuple[Floats, KindSpectrum, float] | None:
    """Return the symmetric fixed point that a flow approaches from its initial state.

    The result is its coordinates, the spectrum by kinds of units and the largest rate, or None.

    Args:
        flow: The flow; rates are returned per unit of α.
        durations, still: See :meth:`SymmetricFlow.fixed_point`; in units of the flow.
        step: The step of differences.

    Raises:
        ToleranceError: The flow is not smooth there.
    """
    size = flow.place.size
    alike = classes_of(size, [order for orders in flow.kinds.values() for order in orders])
    together = [flow.merging(members, [0] * len(members)) for members in flow.vectors]

    def coinciding(values: Floats) -> Labels:
        labels = alike.copy()
        for one in together:
            mean = averaging(one) @ values
            if np.all(np.abs(values - mean) <= _COINCIDING * np.abs(mean)):
                for members in (labels[one == n] for n in range(one.max() + 1)):
                    labels[np.isin(labels, members)] = members[0]
        return np.asarray(np.unique(labels, return_inverse=True)[1])

    inside = SymmetricFlow(flow.slope, alike, flow.begin[flow.place], step)
    values = inside.fixed_point(coinciding, durations, still)
    if values is None:
        return None
    kinds = {name: classes_of(size, orders) for name, orders in flow.kinds.items()}
    of_kinds = inside.spectrum(values, kinds)
    rates = {kind: flow.unit * each for kind, each in of_kinds.eigenvalues.items()}
    return (
        values,
        KindSpectrum(rates, flow.unit * of_kinds.error),
        flow.unit * inside.residual(values),
    )


def differences(
    rates: Callable[[Floats], Floats],
    point: Floats,
    step: float | Floats,
    weights: Sequence[float] = _CENTRAL,
) -> Floats:
    """Return a Jacobian by central differences, of order eight by default."""
    columns = []
    for shift in np.diag(np.broadcast_to(step, point.shape)):
        pairs = ((k * shift, weight) for k, weight in enumerate(weights, 1))
        columns.append(sum(w * (rates(point + s) - rates(point - s)) for s, w in pairs))
    return np.array(columns).T / step
