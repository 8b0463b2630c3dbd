r"""The plateau of a flow that is given as numbers: its symmetric fixed point, linearised.

Students are alike, Q_ii = Q, Q_ij = C, R_in = R, b_i = b in every eigenspace, and teachers are
alike among themselves. The flow keeps such states; their fixed point is approached by integrating
it inside of them and then found by Newton's rule. Its Jacobian in all order parameters, by
differences of fourth order, has eigenvectors of four kinds (they are those of the permutations of
students and of teachers): *symmetric* ones, ones that tell *students* apart, or *teachers*, and
those of *specialisation*, which pair some students with some teachers.

Where students that are alike are neutral (Q = C to first order in the learning rate), Q - C is left
at what the integration comes to, about 1e-8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from symderiv.foundation.errors import ToleranceError
from symderiv.foundation.packing import Packing

__all__ = ["NumericPlateau", "numeric_plateau"]

Floats = npt.NDArray[np.float64]

KINDS = ("symmetric", "students", "teachers", "specialisation")
_STEP = 5e-4
_LASTING = 3000.0
_STILL = 1e-11
_STUDENTS, _CROSS, _BIASES = "student_overlap", "cross_overlap", "b"


@dataclass(frozen=True)
class NumericPlateau:
    """A symmetric fixed point and the spectrum of its Jacobian.

    Attributes:
        state: Packed.
        students, pairs, cross: Q_ii, Q_ij and R_in of every eigenspace, shape (L,).
        bias: b_i where biases are trained, else None.
        residual: Largest rate that is left.
        eigenvalues: Per unit of α, by kind, complex, largest real part first.
        eigenvalue_error: Largest difference found when steps are doubled.
    """

    state: Floats
    students: Floats
    pairs: Floats
    cross: Floats
    bias: float | None
    residual: float
    eigenvalues: dict[str, npt.NDArray[np.complex128]]
    eigenvalue_error: float

    @property
    def escape(self) -> tuple[str, float]:
        """The kind that grows fastest, and its rate."""
        rates = {kind: each.real.max() for kind, each in self.eigenvalues.items() if each.size}
        kind = max(rates, key=lambda each: rates[each])
        return kind, float(rates[kind])


def numeric_plateau(
    flow: Callable[[Floats], Floats],
    packing: Packing,
    start: Floats,
    *,
    learning_rate: float,
) -> NumericPlateau:
    """The plateau that a flow approaches from small symmetric overlaps.

    Args:
        flow: Rates of a packed state.
        packing: Of the state: ``student_overlap`` (K, K, L), ``cross_overlap`` (K, M, L) and, where
            they are trained, ``b`` (K,); other fields stay as they are.
        start: Packed; symmetric in students, and in teachers.
        learning_rate: Of the first layer, the unit of rates.

    Raises:
        ToleranceError: No fixed point is approached.
    """
    coordinates = _Coordinates(packing, start)
    point = _fixed_point(coordinates, flow, learning_rate)
    state = coordinates.symmetric(point)
    residual = float(np.abs(flow(state)).max())
    fine, coarse = (coordinates.jacobian(flow, state, step) for step in (_STEP, 2 * _STEP))
    eigenvalues = coordinates.by_kind(fine)
    other = coordinates.by_kind(coarse)
    apart = [np.abs(each - other[kind]).max(initial=0.0) for kind, each in eigenvalues.items()]
    views = packing.views(state)
    overlaps = views[_STUDENTS]
    return NumericPlateau(
        state=state,
        students=overlaps[0, 0].copy(),
        pairs=overlaps[0, -1].copy() if len(overlaps) > 1 else np.zeros_like(overlaps[0, 0]),
        cross=views[_CROSS][0, 0].copy(),
        bias=float(views[_BIASES][0]) if _BIASES in views else None,
        residual=residual,
        eigenvalues=eigenvalues,
        eigenvalue_error=float(max(apart)),
    )


def _fixed_point(
    coordinates: _Coordinates, flow: Callable[[Floats], Floats], learning_rate: float
) -> Floats:
    """Of the flow inside of symmetric states."""
    from scipy.integrate import solve_ivp
    from scipy.optimize import root

    def rates(_: float, point: Floats) -> Floats:
        return np.asarray(
            flow(coordinates.symmetric(point))[coordinates.of_symmetric] / learning_rate
        )

    begin = coordinates.start[coordinates.of_symmetric]
    run = solve_ivp(rates, (0.0, _LASTING), begin, method="LSODA", rtol=1e-8, atol=1e-11)
    if run.success and np.isfinite(run.y[:, -1]).all():
        found = root(lambda point: rates(0.0, point), run.y[:, -1], tol=1e-14)
        left = float(np.abs(rates(0.0, found.x)).max())
        if left <= _STILL and np.abs(found.x - run.y[:, -1]).max() <= 0.05:
            return np.asarray(found.x)
    raise ToleranceError(
        "no symmetric fixed point is approached within ηα = "
        f"{_LASTING:g}: smaller learning rates have one"
    )


class _Coordinates:
    """Order parameters that are independent, and those of symmetric states, of a packed state."""

    def __init__(self, packing: Packing, start: Floats) -> None:
        self._packing = packing
        self.start = np.array(start, dtype=np.float64)
        places = packing.views(np.arange(packing.size))
        students = places[_STUDENTS]
        K = len(students)
        upper = np.triu_indices(K)
        pairs = [students[upper].ravel(), students[upper[::-1]].ravel()]
        single = [places[name].ravel() for name in (_CROSS, _BIASES) if name in places]
        self._first = np.concatenate([pairs[0], *single])
        self._second = np.concatenate([pairs[1], *single])
        groups = (
            [students[i, i] for i in range(K)],
            [students[i, j] for i in range(K) for j in range(K) if i != j],
        )
        self._groups = [np.array(group).T for group in groups if group]
        cross = places[_CROSS]
        self._groups.append(cross.reshape(-1, cross.shape[-1]).T)
        if _BIASES in places:
            self._groups.append(places[_BIASES][None, :])

    @cached_property
    def of_symmetric(self) -> npt.NDArray[np.int64]:
        """One place of each group of equal numbers."""
        return np.concatenate([group[:, 0] for group in self._groups])

    def symmetric(self, point: Floats) -> Floats:
        """The packed state of the numbers of a symmetric one."""
        state = self.start.copy()
        begin = 0
        for group in self._groups:
            end = begin + len(group)
            state[group] = point[begin:end, None]
            begin = end
        return state

    def jacobian(self, flow: Callable[[Floats], Floats], state: Floats, step: float) -> Floats:
        """In the independent order parameters."""
        size = self._first.size
        found = np.empty((size, size))
        for column in range(size):

            def moved(by: float, column: int = column) -> Floats:
                near = state.copy()
                near[self._first[column]] += by
                if self._second[column] != self._first[column]:
                    near[self._second[column]] += by
                return np.asarray(flow(near)[self._first])

            slope = 8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))
            found[:, column] = slope / (12 * step)
        return found

    def by_kind(self, jacobian: Floats) -> dict[str, npt.NDArray[np.complex128]]:
        """Eigenvalues by what their vectors tell apart: those of the four invariant subspaces."""
        size = self._first.size
        over_students, over_teachers = (
            np.column_stack([mean(unit) for unit in np.eye(size)])
            for mean in (self._mean_of_students, self._mean_of_teachers)
        )
        whole = np.eye(size)
        projections = {
            "symmetric": over_students @ over_teachers,
            "students": (whole - over_students) @ over_teachers,
            "teachers": over_students @ (whole - over_teachers),
            "specialisation": (whole - over_students) @ (whole - over_teachers),
        }
        found = {}
        for kind in KINDS:
            left, sizes, _ = np.linalg.svd(projections[kind])
            basis = left[:, sizes > 0.5]
            own = np.linalg.eigvals(np.linalg.lstsq(basis, jacobian @ basis, rcond=None)[0])
            found[kind] = own[np.argsort(-own.real)].astype(complex)
        return found

    def _mean_of_students(self, change: Floats) -> Floats:
        """The mean over all permutations of students."""
        held = self._unpacked(change)
        views = self._packing.views(held)
        overlaps = views[_STUDENTS]
        K = len(overlaps)
        same = np.eye(K, dtype=bool)
        means = np.empty_like(overlaps)
        means[same] = overlaps[same].mean(axis=0)
        if K > 1:
            means[~same] = overlaps[~same].mean(axis=0)
        overlaps[...] = means
        for name in (_CROSS, _BIASES):
            if name in views:
                views[name][...] = views[name].mean(axis=0)
        return np.asarray(held[self._first])

    def _mean_of_teachers(self, change: Floats) -> Floats:
        """The mean over all permutations of teachers."""
        held = self._unpacked(change)
        cross = self._packing.views(held)[_CROSS]
        cross[...] = cross.mean(axis=1, keepdims=True)
        return np.asarray(held[self._first])

    def _unpacked(self, change: Floats) -> Floats:
        held = np.zeros(self._packing.size)
        held[self._first] = change
        held[self._second] = change
        return held
