"""Symmetries of a flow that is made up here: which are kept, and what they do to states."""

from __future__ import annotations

import numpy as np

from symderiv.analysis.fixed_points.search import found_points, spaces_of
from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.analysis.fixed_points.unit_flow import UnitFlow, exchanged

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


def test_only_exchanges_that_commute_with_the_flow_are_symmetries() -> None:
    # students and teachers are exchanged independently
    assert len(gradient_flow((1.0, 1.0), (1.0, 1.0)).group[0]) == 4
    # other weights leave no exchange of students; signs would need weights of both signs
    assert len(gradient_flow((1.0, 2.0), (1.0, 1.0)).group[0]) == 2
    # with a sign on both, one exchange of students changes the sign of both
    assert len(gradient_flow((1.0, -1.0), (1.0, 1.0)).group[0]) == 4


def test_all_wells_are_found_and_counted_with_their_images() -> None:
    flow = gradient_flow((1.0, 1.0), (1.0, 1.0))
    found = found_points(flow, lambda y: differences(flow.slope, y, 4e-3), starts=20)
    # each of four entries of R is one of three roots: 3⁴ states, counted with their images
    assert sum(each.orbit for each in found) == 81
    unstable = [each.index for each in found for _ in range(each.orbit)]
    assert [unstable.count(k) for k in range(5)] == [16, 32, 24, 8, 1]


def test_spaces_of_symmetric_states_are_left_alone_by_the_flow() -> None:
    flow = gradient_flow((1.0, 1.0), (1.0, 1.0))
    random = np.random.default_rng(1)
    spaces = spaces_of(flow)
    assert spaces[-1].shape == (7, 7)
    assert len({each.shape[1] for each in spaces}) > 3
    for basis in spaces:
        inside = basis @ random.standard_normal(basis.shape[1])
        slope = flow.slope(inside)
        assert np.allclose(basis @ (basis.T @ slope), slope, atol=1e-12)


def test_units_that_permutations_exchange_are_classes() -> None:
    assert exchanged(np.array([[0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 0, 3]])) == [[0, 1, 2], [3]]
