r"""The plateau of a flow that is given as numbers: its symmetric fixed point, linearised.

Students are alike, Q_ii = Q, Q_ij = C, R_in = R, b_i = b in every eigenspace, and teachers are
alike among themselves; see :mod:`symderiv.analysis.fixed_points`. Eigenvectors of the Jacobian in
all order parameters are of four kinds: *symmetric* ones, ones that tell *students* apart, or
*teachers*, and those of *specialisation*, which pair some students with some teachers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.symmetric_flow import KindSpectrum, SymmetricFlow
from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.foundation.errors import ToleranceError

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


def numeric_plateau(flow: UnitFlow) -> tuple[Floats, KindSpectrum, float]:
    """Return the plateau that a flow approaches from small symmetric overlaps: its packed state,
    the spectrum of its Jacobian per unit of α by kind, and the largest rate that is left.

    Args:
        flow: Its begin is symmetric in students, and in teachers. Biases that are trained are its
            field ``b``.

    Raises:
        ToleranceError: No fixed point is approached, or the flow is not smooth there.
    """
    packing, begin = flow.packing(0), flow.begin[flow.place]
    both = flow.alike("K", "M")

    def coinciding(values: Floats) -> Labels:
        """Orbits, with Q_ii and Q_ij as one where they are so in all eigenspaces."""
        Q = packing.views(flow.state(values))["student_overlap"]
        labels = both.copy()
        if np.max(np.abs(Q - Q[0, 0])) < _COINCIDING * np.max(np.abs(Q)):
            places = packing.views(np.arange(packing.size))["student_overlap"]
            for own, pair in zip(*np.searchsorted(flow.place, places[0, [0, -1]]), strict=True):
                labels[labels == labels[pair]] = labels[own]
        return np.asarray(np.unique(labels, return_inverse=True)[1])

    inside = SymmetricFlow(flow.slope, both, begin, _STEP)
    values = inside.fixed_point(coinciding, (_LASTING,), _STILL)
    if values is None:
        raise ToleranceError(
            "the flow approaches no symmetric fixed point within ηα = "
            f"{_LASTING:g}; take a smaller learning rate"
        )
    found = inside.spectrum(values, {"students": flow.alike("K"), "teachers": flow.alike("M")})
    none = np.empty(0, dtype=complex)
    eigenvalues = {
        name: flow.unit * found.eigenvalues.get(kind, none) for name, kind in _KINDS.items()
    }
    spectrum = KindSpectrum(eigenvalues, flow.unit * found.error)
    return flow.state(values), spectrum, flow.unit * inside.residual(values)
