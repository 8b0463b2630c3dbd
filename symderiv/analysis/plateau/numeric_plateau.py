r"""The plateau of a flow that is given as numbers: its symmetric fixed point, linearised.

Students are alike, Q_ii = Q, Q_ij = C, R_in = R, b_i = b in every eigenspace, and teachers are
alike among themselves; see :mod:`symderiv.analysis.fixed_points`. Eigenvectors of the Jacobian in
all order parameters are of four kinds: *symmetric* ones, ones that tell *students* apart, or
*teachers*, and those of *specialisation*, which pair some students with some teachers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.symmetric_flow import KindSpectrum, SymmetricFlow
from symderiv.foundation.errors import ToleranceError
from symderiv.foundation.packing import Packing

__all__ = ["NumericPlateau", "numeric_plateau"]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_LASTING = 3000.0
# Close to Q_ij = Q_ii many flows are not smooth.
_STEP = 5e-4
# Of rates: means by quadrature are this far from being symmetric.
_STILL = 1e-8
_COINCIDING = 1e-3
# Names of the directions, and what they tell apart.
_KINDS = {
    "symmetric": "symmetric",
    "students": "students",
    "teachers": "teachers",
    "specialisation": "students and teachers",
}
_FIELDS = ("student_overlap", "cross_overlap", "b")


@dataclass(frozen=True)
class NumericPlateau:
    """A symmetric fixed point and the spectrum of its Jacobian.

    Attributes:
        state: Packed.
        students, pairs, cross: Q_ii, Q_ij and R_in of every eigenspace, shape (L,).
        bias: b_i where biases are trained, else None.
        residual: Largest rate that is left.
        spectrum: Eigenvalues per unit of α by kind.
    """

    state: Floats
    students: Floats
    pairs: Floats
    cross: Floats
    bias: float | None
    residual: float
    spectrum: KindSpectrum


def numeric_plateau(
    flow: Callable[[Floats], Floats],
    packing: Packing,
    start: Floats,
    *,
    learning_rate: float,
) -> NumericPlateau:
    """Return the plateau that a flow approaches from small symmetric overlaps.

    Args:
        flow: Rates of a packed state.
        packing: The packing of the state: ``student_overlap`` (K, K, L), ``cross_overlap`` (K, M,
            L) and, where they are trained, ``b`` (K,); other fields stay as they are.
        start: Packed; symmetric in students, and in teachers.
        learning_rate: The learning rate of the first layer, the unit of rates.

    Raises:
        ToleranceError: No fixed point is approached, or the flow is not smooth there.
    """
    entries = _Entries(packing, start)
    both = entries.orbits(students=True, teachers=True)

    def rates(values: Floats) -> Floats:
        return np.asarray(flow(entries.packed(values))[entries.place] / learning_rate)

    def coinciding(values: Floats) -> Labels:
        """Orbits, with Q_ii and Q_ij as one where they are so in all eigenspaces."""
        Q = packing.views(entries.packed(values))[_FIELDS[0]]
        one = np.max(np.abs(Q - Q[0, 0])) < _COINCIDING * np.max(np.abs(Q))
        return entries.orbits(students=True, teachers=True, one_student=bool(one))

    free = np.arange(entries.place.size)
    inside = SymmetricFlow(rates, both, start[entries.place], free, _STEP)
    values = inside.fixed_point(coinciding, (_LASTING,), _STILL)
    if values is None:
        raise ToleranceError(
            "the flow approaches no symmetric fixed point within ηα = "
            f"{_LASTING:g}; take a smaller learning rate"
        )
    families = {
        "students": entries.orbits(students=True, teachers=False),
        "teachers": entries.orbits(students=False, teachers=True),
    }
    spectrum = inside.spectrum(values, families)
    none = np.empty(0, dtype=complex)
    eigenvalues = {
        name: learning_rate * spectrum.eigenvalues.get(kind, none) for name, kind in _KINDS.items()
    }
    state = entries.packed(values)
    views = packing.views(state)
    Q, R = views[_FIELDS[0]], views[_FIELDS[1]]
    return NumericPlateau(
        state=state,
        students=Q[0, 0].copy(),
        pairs=Q[0, -1].copy() if len(Q) > 1 else np.zeros_like(Q[0, 0]),
        cross=R[0, 0].copy(),
        bias=float(views["b"][0]) if "b" in views else None,
        residual=learning_rate * inside.residual(values),
        spectrum=KindSpectrum(eigenvalues, learning_rate * spectrum.error),
    )


class _Entries:
    """The independent order parameters of a packed state: Q_ij once for i ≤ j."""

    def __init__(self, packing: Packing, start: Floats) -> None:
        self._start = start
        places = packing.views(np.arange(packing.size))
        moving = [(n, places[name]) for n, name in enumerate(_FIELDS) if name in places]
        # field, first and second unit, eigenspace; a bias has one unit and none of the rest
        every = [
            (field, *(*index, 0, 0)[:3], place)
            for field, each in moving
            for index, place in np.ndenumerate(each)
        ]
        independent = [entry for entry in every if entry[0] > 0 or entry[1] <= entry[2]]
        mirrored = {(i, j, k): place for field, i, j, k, place in every if field == 0}
        self._entry = np.array([entry[:4] for entry in independent])
        self.place = np.array([entry[4] for entry in independent])
        self._mirror = np.array(
            [mirrored[j, i, k] if field == 0 else place for field, i, j, k, place in independent]
        )

    def packed(self, values: Floats) -> Floats:
        """Return the packed state of these values."""
        state = self._start.copy()
        state[self.place] = values
        state[self._mirror] = values
        return state

    def orbits(self, *, students: bool, teachers: bool, one_student: bool = False) -> Labels:
        """Return which entries permutations of students, or teachers, or both make equal."""
        field, first, second, eigenspace = self._entry.T.copy()
        if students:
            apart = (field == 0) & (first != second) & (not one_student)
            second[field == 0] = 0
            first = apart.astype(np.int64)
        if teachers:
            second[field == 1] = 0
        named = np.stack([field, first, second, eigenspace])
        return np.asarray(np.unique(named, axis=1, return_inverse=True)[1]).ravel()
