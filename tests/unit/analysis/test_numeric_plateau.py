"""The plateau with trained biases, of a flow that is made of one step of SGD and nothing else."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.special import erf

from symderiv.analysis.fixed_points.symmetric_flow import symmetric_point
from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.foundation.packing import Packing

ETA, TEACHER_BIAS = 0.3, 0.5
STATE = {
    "student_overlap": ("K", "K", "L"),
    "cross_overlap": ("K", "M", "L"),
    "v": ("K",),
    "b": ("K",),
}
PACKING = Packing({"student_overlap": (2, 2, 1), "cross_overlap": (2, 2, 1), "v": (2,), "b": (2,)})
# two teachers, and three small variables
_RULES = [np.polynomial.hermite_e.hermegauss(n) for n in (12, 12, 3, 3, 3)]
NORMALS = np.array(list(product(*(nodes for nodes, _ in _RULES)))).T
SHARES = np.array([np.prod(each) for each in product(*(weights for _, weights in _RULES))])
SHARES /= SHARES.sum()


def flow(state: np.ndarray) -> np.ndarray:
    """To first order in η: -η E[F x + x F], -η E[F y], -η E[F] by Gauss-Hermite's rule."""
    at = PACKING.views(state)
    Q, R, v, b = at["student_overlap"][..., 0], at["cross_overlap"][..., 0], at["v"], at["b"]
    own = Q - R @ R.T  # what the teachers, who are independent, do not explain
    y = NORMALS[:2]
    # variances may be slightly negative in differences: means are even in their roots
    shared = own[0, 1]
    roots = np.sqrt(np.array([own[0, 0] - shared, own[1, 1] - shared, shared], dtype=complex))
    apart = roots[:2, None] * NORMALS[2:4] + roots[2] * NORMALS[4]
    x = R @ y + apart
    root = np.sqrt(2.0)
    outputs = v @ erf((x + b[:, None]) / root) - erf((y + TEACHER_BIAS) / root).sum(0) / root
    force = (
        v[:, None] * np.sqrt(2 / np.pi) * np.exp(-((x + b[:, None]) ** 2) / 2) * outputs * SHARES
    )
    rates = np.zeros(PACKING.size)
    found = PACKING.views(rates)
    moved = -ETA * (force @ x.T).real
    found["student_overlap"][..., 0] = moved + moved.T
    found["cross_overlap"][..., 0] = -ETA * (force @ y.T).real
    found["b"][:] = -ETA * force.sum(1).real
    return rates


def unit_flow(rates: Callable[[np.ndarray], np.ndarray], begin: np.ndarray) -> UnitFlow:
    """The flow from a state, with two teachers that are independent."""
    axes = STATE, {"teacher_overlap": ("M", "M", "L")}
    sizes = {"K": 2, "M": 2, "L": 1}
    return UnitFlow(lambda state, _: rates(state), axes, sizes, begin, np.eye(2).ravel(), ETA)


def test_biases_find_their_plateau_and_students_leave_it_towards_teachers() -> None:
    """A bias is the overlap with what the teachers' biases are: b = R (c_1 + c_2), R as without.

    The eigenvalue is the rate at which the derived flow of the same rule leaves its plateau.
    """
    small = {"student_overlap": [[[2e-3], [1e-3]], [[1e-3], [2e-3]]]}
    start = PACKING.packed(
        **small, cross_overlap=np.full((2, 2, 1), 1e-4), v=np.full(2, 0.5**0.5), b=np.full(2, 0.3)
    )
    whole = unit_flow(flow, start)
    found = symmetric_point(whole, (3000.0,), 1e-8, 5e-4)
    assert found is not None
    values, spectrum, _ = found
    at = PACKING.views(whole.state(values))
    Q, R = at["student_overlap"], at["cross_overlap"]
    np.testing.assert_allclose(R, 6**-0.5, atol=2e-4)
    assert at["b"] == pytest.approx(2 * TEACHER_BIAS * R[:, 0, 0], abs=2e-4)
    np.testing.assert_allclose(Q, Q[0, 0, 0], rtol=1e-14)
    assert {kind: each.size for kind, each in spectrum.eigenvalues.items()} == {
        "symmetric": 4,
        "students": 3,
        "teachers": 1,
        "students and teachers": 1,
    }
    direction, rate = spectrum.escape
    assert direction == "students and teachers"
    assert rate == pytest.approx(0.0116011, rel=5e-3)


def test_a_flow_without_fixed_point_has_none() -> None:
    def growing(state: np.ndarray) -> np.ndarray:
        rates = np.zeros_like(state)
        PACKING.views(rates)["b"][:] = 1.0
        return rates

    assert symmetric_point(unit_flow(growing, np.full(PACKING.size, 1e-3)), (3000.0,)) is None
