"""The linearised dynamics around perfect learning: teachers that are correlated."""

from __future__ import annotations

import numpy as np
import pytest

from symderiv.analysis.asymptotics import Asymptotics


@pytest.mark.parametrize(("units", "D1"), [(2, 0.4), (3, -0.3), (4, 0.9)])
def test_teacher_lengths_are_the_eigenvalues_of_their_covariance(units: int, D1: float) -> None:
    """T1 on the diagonal, rows that sum to T1 + D1: one uniform mode, units - 1 differing ones."""
    found = Asymptotics("erf", units, [1.5, 0.5], [0.5, 0.5], 0.1, T1=1.2, D1=D1)
    covariance = np.full((units, units), D1 / (units - 1))
    np.fill_diagonal(covariance, 1.2)
    values, axes = np.linalg.eigh(covariance)
    uniform = int(np.argmax(np.abs(axes.sum(axis=0))))
    assert found.teacher[0] == pytest.approx(values[uniform], rel=1e-12)
    assert found.teacher[1] == pytest.approx(np.delete(values, uniform)[0], rel=1e-12)
    assert found.multiplicity @ found.teacher == pytest.approx(np.trace(covariance), rel=1e-12)
