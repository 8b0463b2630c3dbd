"""The plateau of a system: a fixed point in which vectors are alike, and how it is left.

Permutations that leave the equations alone (:mod:`symderiv.system.symmetries`) leave a space of
states alone, in which the flow stays. Its fixed point is approached by integrating it there and
then found by SciPy's root finder. The Jacobian in all order parameters, by differences of eighth
order, has eigenvectors of kinds: *symmetric* ones, and ones that tell members of families apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from symderiv.foundation.errors import InputError, NotYetError, ToleranceError
from symderiv.foundation.showing import Shown, Summary
from symderiv.system.closed_motion import overlap_name
from symderiv.system.symmetries import Exchange, exchanges_of, orbits
from symderiv.system.system_runs import Solver

__all__ = ["SystemPlateau", "plateau_of"]

Floats = npt.NDArray[np.float64]

_CENTRAL = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 4e-3
_DURATIONS = tuple(10.0**n for n in range(1, 8))
_STILL, _NEAR, _LARGE = 1e-11, 0.05, 1e6
_COINCIDING = 1e-3


@dataclass(frozen=True, repr=False)
class SystemPlateau(Shown):
    """A symmetric fixed point of a system and the spectrum of its Jacobian.

    Attributes:
        state: Order parameters by name, shapes as in states; ``plateau["w.B"]``.
        observables: By name.
        unstable_eigenvalue: Largest rate of all directions, per unit of α.
        direction: What grows so: "symmetric", or the families whose members it tells apart.
        escape_time: Its inverse, or None where nothing grows.
        eigenvalues: Of the Jacobian by these kinds, complex, largest real part first.
        eigenvalue_error: Largest difference found when the steps of differences are doubled.
        residual: Largest rate that is left.
    """

    state: Mapping[str, np.ndarray]
    observables: Mapping[str, float]
    unstable_eigenvalue: float
    direction: str
    escape_time: float | None
    eigenvalues: Mapping[str, np.ndarray]
    eigenvalue_error: float
    residual: float

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.state:
            raise InputError(f"{name!r} is not in the state; there are {', '.join(self.state)}")
        return self.state[name]

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [*self.state.items(), *self.observables.items()]
        rows += [
            ("unstable_eigenvalue", self.unstable_eigenvalue),
            ("direction", self.direction),
            ("escape_time", self.escape_time),
            ("eigenvalue_error", self.eigenvalue_error),
        ]
        return Summary("Symmetric plateau of a system", rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as lists and numbers; of eigenvalues the real parts."""
        return {
            "state": {name: np.asarray(value).tolist() for name, value in self.state.items()},
            "observables": dict(self.observables),
            "unstable_eigenvalue": self.unstable_eigenvalue,
            "direction": self.direction,
            "escape_time": self.escape_time,
            "eigenvalues": {kind: each.real.tolist() for kind, each in self.eigenvalues.items()},
            "eigenvalue_error": self.eigenvalue_error,
            "residual": self.residual,
        }


def plateau_of(
    solver: Solver, initial: Mapping[str, Any], parameters: Mapping[str, Any]
) -> SystemPlateau:
    """Return the plateau that is approached from the symmetric part of a state.

    Raises:
        InputError: No permutation of vectors leaves the equations alone.
        NotYetError: Time occurs in the equations.
        ToleranceError: No fixed point is approached, or the flow is not smooth there.
    """
    if not solver.closed.autonomous:
        raise NotYetError("plateaus are fixed points of flows without time in their coefficients")
    start, constants = solver.layout.packed(initial, parameters)
    exchanges = exchanges_of(solver, constants)
    if not exchanges:
        raise InputError(
            "no permutation of vectors leaves the equations alone, so that there is no symmetric "
            "state: families of several vectors that enter alike, and fixed ones with overlaps "
            "that are alike, have one"
        )
    flow = _Flow(solver, start, constants, exchanges)
    state = flow.fixed_point()
    slopes = flow.rates(state)
    fine, coarse = (flow.jacobian(state, step) for step in (_STEP, 2 * _STEP))
    if not np.all(np.isfinite(fine)):
        raise ToleranceError("the flow is not smooth at its symmetric fixed point")
    eigenvalues, other = flow.by_kind(fine), flow.by_kind(coarse)
    apart = [_distance(each, other[kind]) for kind, each in eigenvalues.items()]
    largest = {kind: float(each.real.max()) for kind, each in eigenvalues.items()}
    direction = max(largest, key=lambda kind: largest[kind])
    rate = largest[direction]
    layout = solver.layout
    return SystemPlateau(
        state=layout.unpacked(state, constants, layout.shown(initial)),
        observables={k: float(v[0]) for k, v in solver.observed(state[None], constants).items()},
        unstable_eigenvalue=rate,
        direction=direction,
        escape_time=1 / rate if rate > 0 else None,
        eigenvalues=eigenvalues,
        eigenvalue_error=float(max(apart)),
        residual=float(np.max(np.abs(slopes[flow.free]))),
    )


class _Flow:
    """The flow of a system with the symmetric states in it."""

    def __init__(
        self, solver: Solver, start: Floats, constants: Floats, exchanges: Sequence[Exchange]
    ) -> None:
        self._solver, self._constants, self._exchanges = solver, constants, exchanges
        held = _held(solver)
        self._begin = start.copy()
        for place, value in held.items():
            if value is not None:
                self._begin[place] = value
        self.free = np.array([n for n in range(start.size) if n not in held])
        every = [order for exchange in exchanges for order in exchange.orders]
        self._orbits = orbits(start.size, every)

    def rates(self, state: Floats) -> Floats:
        """Return the rates of a state."""
        slope = np.empty_like(state)
        layout = self._solver.layout
        self._solver.right_hand_side(0.0, state, layout.sizes, self._constants, slope)
        return slope

    def fixed_point(self) -> Floats:
        """Return the state that is approached inside of symmetric states.

        Where members of a family approach each other, the state in which they are one vector is
        taken: towards it the flow may be neutral, and no root finder would come near it.

        Raises:
            ToleranceError: None is.
        """
        from scipy.integrate import solve_ivp

        inside = _Subspace(self, self._orbits, self._begin)
        point, before = inside.point(self._begin), 0.0
        for end in _DURATIONS:
            run = solve_ivp(
                lambda _, y: inside.slope(y), (before, end), point, "LSODA", rtol=1e-10, atol=1e-13
            )
            point, before = run.y[:, -1], end
            if run.status != 0 or not np.all(np.isfinite(point)) or np.max(abs(point)) > _LARGE:
                break
            state = inside.state(point)
            for near in (inside.root(point), state):
                if near is None:
                    continue
                one = _Subspace(self, self._coinciding(near), near)
                found = one.root(one.point(near))
                if found is not None:
                    return found
        raise ToleranceError("no symmetric fixed point is approached from this state")

    def _coinciding(self, state: Floats) -> npt.NDArray[np.int64]:
        """Return orbits, with those as one that say that members of a family are one vector."""
        layout = self._solver.layout
        slices = layout.packing("state").slices
        labels = self._orbits.copy()
        for exchange in self._exchanges:
            for members in (layout.families[n] for n in exchange.families if n in layout.families):
                for i, j in exchange.pairs:
                    own, pair = (overlap_name((members[i], members[k])) for k in (i, j))
                    if own not in slices:
                        continue
                    scale = _COINCIDING * np.max(np.abs(state[slices[own]]))
                    if np.max(np.abs(state[slices[own]] - state[slices[pair]])) < scale:
                        for a, b in zip(labels[slices[own]], labels[slices[pair]], strict=True):
                            labels[labels == b] = a
        return np.asarray(np.unique(labels, return_inverse=True)[1])

    def jacobian(self, state: Floats, step: float) -> Floats:
        """Return the derivatives of the rates by all order parameters that are not held."""

        def rates(part: Floats) -> Floats:
            whole = state.copy()
            whole[self.free] = part
            return np.asarray(self.rates(whole)[self.free])

        return _differences(rates, state[self.free], step)

    def by_kind(self, jacobian: Floats) -> dict[str, np.ndarray]:
        """Return the eigenvalues of a Jacobian by what their directions tell apart."""
        size = self._begin.size
        averages = []
        for exchange in self._exchanges:
            labels = orbits(size, exchange.orders)
            same = (labels[:, None] == labels[None]).astype(float)
            averages.append((same / same.sum(axis=1))[np.ix_(self.free, self.free)])
        found = {}
        for alike in product((True, False), repeat=len(averages)):
            whole = np.eye(self.free.size)
            for average, one in zip(averages, alike, strict=True):
                whole = whole @ (average if one else np.eye(self.free.size) - average)
            values, vectors = np.linalg.eigh((whole + whole.T) / 2)
            basis = vectors[:, values > 0.5]
            if not basis.shape[1]:
                continue
            apart = [e.name for e, one in zip(self._exchanges, alike, strict=True) if not one]
            rates = np.linalg.eigvals(basis.T @ jacobian @ basis)
            order = np.lexsort((rates.imag, -rates.real))
            found[" and ".join(apart) or "symmetric"] = rates[order]
        return found


class _Subspace:
    """States in which the entries of an orbit are equal."""

    def __init__(self, flow: _Flow, labels: npt.NDArray[np.int64], state: Floats) -> None:
        self._flow, self._labels = flow, labels
        self._whole = self._mean(state)
        self._moving = np.unique(labels[flow.free])

    def _mean(self, values: Floats) -> Floats:
        """Return the means over orbits."""
        return np.asarray(np.bincount(self._labels, values) / np.bincount(self._labels))

    def point(self, state: Floats) -> Floats:
        """Return the values of the orbits that move."""
        return np.asarray(self._mean(state)[self._moving])

    def state(self, point: Floats) -> Floats:
        """Return the state with these values."""
        whole = self._whole.copy()
        whole[self._moving] = point
        return np.asarray(whole[self._labels])

    def slope(self, point: Floats) -> Floats:
        """Return the rates of a point."""
        return self.point(self._flow.rates(self.state(point)))

    def root(self, start: Floats) -> Floats | None:
        """Return the state near a point at which all rates vanish, None if there is none."""
        from scipy.optimize import root

        scale = 1e-3 + np.max(np.abs(start))
        for method in ("hybr", "lm"):
            with np.errstate(all="ignore"):
                found = root(
                    self.slope,
                    start,
                    jac=lambda y: _differences(self.slope, y, _STEP),
                    method=method,
                    options={"xtol": 1e-15},
                )
            state = self.state(np.asarray(found.x))
            left = np.max(np.abs(self._flow.rates(state)[self._flow.free]))
            if left < _STILL * scale and np.max(np.abs(found.x - start)) < _NEAR * scale:
                return state
        return None


def _held(solver: Solver) -> dict[int, float | None]:
    """Return the places of a state that constraints hold, with their values if these are known."""
    layout, closed = solver.layout, solver.closed
    slices = layout.packing("state").slices
    found: dict[int, float | None] = {}
    for constraint in layout.statement.constraints:
        if layout.classes > 1:
            raise NotYetError("plateaus under constraints are those of isotropic inputs")
        for a in constraint.vectors:
            for b in constraint.vectors:
                if a is b or constraint.kind == "orthonormal":
                    value = float(a is b) if constraint.kind == "orthonormal" else None
                    found[slices[overlap_name(closed.ordered(a, b))].start] = value
    return found


def _differences(rates: Any, point: Floats, step: float) -> Floats:
    """Return a Jacobian by central differences of order eight."""
    columns = []
    for n in range(point.size):
        column = np.zeros(point.size)
        for k, weight in enumerate(_CENTRAL, 1):
            shift = np.zeros(point.size)
            shift[n] = k * step
            column += weight * (rates(point + shift) - rates(point - shift))
        columns.append(column / step)
    return np.array(columns).T


def _distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest distance of eigenvalues, each to the nearest of the others."""
    return float(np.max(np.min(np.abs(first[:, None] - second[None]), axis=1), initial=0.0))
