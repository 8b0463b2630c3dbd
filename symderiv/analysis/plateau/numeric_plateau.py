r"""The plateau of a flow that is given as numbers: its symmetric fixed point, linearised.

Students are alike, Q_ii = Q, Q_ij = C, R_in = R, b_i = b in every eigenspace, and teachers are
alike among themselves; see :mod:`symderiv.analysis.fixed_points`. Eigenvectors of the Jacobian in
all order parameters are of four kinds: *symmetric* ones, ones that tell *students* apart, or
*teachers*, and those of *specialisation*, which pair some students with some teachers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.symmetric_flow import KindSpectrum, symmetric_point
from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.foundation.errors import ToleranceError

_LASTING = 3000.0
# Close to Q_ij = Q_ii many flows are not smooth.
_STEP = 5e-4
# Of rates: means by quadrature are this far from being symmetric.
_STILL = 1e-8


def numeric_plateau(flow: UnitFlow) -> tuple[npt.NDArray[np.float64], KindSpectrum, float]:
    """Return the plateau that a flow approaches from small symmetric overlaps: its packed state,
    the spectrum of its Jacobian per unit of α by kind, and the largest rate that is left.

    Args:
        flow: Its begin is symmetric in students, and in teachers. Biases that are trained are its
            field ``b``.

    Raises:
        ToleranceError: No fixed point is approached, or the flow is not smooth there.
    """
    found = symmetric_point(flow, (_LASTING,), _STILL, _STEP)
    if found is None:
        raise ToleranceError(
            "the flow approaches no symmetric fixed point within ηα = "
            f"{_LASTING:g}; take a smaller learning rate"
        )
    values, spectrum, residual = found
    none, told = np.empty(0, dtype=complex), spectrum.eigenvalues
    eigenvalues = {name: told.get(name, none) for name in ("symmetric", "students", "teachers")}
    eigenvalues["specialisation"] = told.get("students and teachers", none)
    return flow.state(values), KindSpectrum(eigenvalues, spectrum.error), residual
