"""Symmetries of a flow that is made up here: which are kept, and what they do to states."""

import numpy as np

from symderiv.analysis.fixed_points.search import found_points
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.analysis.fixed_points.unit_flow import UnitFlow

STATE = {"student_overlap": ("K", "K", "L"), "cross_overlap": ("K", "M", "L"), "v": ("K",)}
CONSTANTS = {"teacher_overlap": ("M", "M", "L"), "v_teacher": ("M",)}


def gradient_flow(weights: tuple[float, float], teachers: tuple[float, float]) -> UnitFlow:
    """R_in relaxes to ±1 by a double well that output weights tilt, and Q to R Rᵀ."""

    def rates(state: np.ndarray, constants: np.ndarray) -> np.ndarray:
        R, v = state[4:8].reshape(2, 2), state[8:]
        found = np.zeros_like(state)
        found[4:8] = (R - R**3 + 0.1 * np.outer(v, constants[4:])).ravel()
        found[:4] = (R @ R.T - state[:4].reshape(2, 2)).ravel()
        return found

    begin = np.concatenate([np.eye(2).ravel(), np.zeros(4), weights])
    constants = np.concatenate([np.eye(2).ravel(), teachers])
    return UnitFlow(rates, (STATE, CONSTANTS), {"K": 2, "M": 2, "L": 1}, begin, constants, 1.0)


def test_all_wells_are_found_and_counted_with_their_images() -> None:
    flow = gradient_flow((1.0, 1.0), (1.0, 1.0))
    found = found_points(flow, lambda y: differences(flow.slope, y, 4e-3), starts=20)
    # each of four entries of R is one of three roots: 3⁴ states, counted with their images
    assert sum(each.orbit for each in found) == 81
    unstable = [each.index for each in found for _ in range(each.orbit)]
    assert [unstable.count(k) for k in range(5)] == [16, 32, 24, 8, 1]
