"""Branches of normal forms, whose bifurcations are known, followed in a flow made up here."""

from collections.abc import Callable

import numpy as np
import pytest

from symderiv.analysis.fixed_points.continuation import FixedPointBranch, OneParameter, followed
from symderiv.analysis.fixed_points.unit_flow import UnitFlow

STATE = {"student_overlap": ("K", "K", "L"), "cross_overlap": ("K", "M", "L"), "v": ("K",)}
CONSTANTS = {"teacher_overlap": ("M", "M", "L"), "number": ()}


def branches_of(
    normal_form: Callable[[np.ndarray, float], np.ndarray],
    start: list[float],
    begin: float,
    ends: tuple[float, float] = (-1.0, 1.0),
) -> list[FixedPointBranch]:
    """Follow fixed points of dv/dt = f(v, number); overlaps relax to the unit matrix and 0."""
    K = len(start)

    def rates(state: np.ndarray, constants: np.ndarray) -> np.ndarray:
        Q, R, v = state[: K * K], state[K * K : K * K + K], state[K * K + K :]
        return np.concatenate([3 * (np.eye(K).ravel() - Q), -2 * R, normal_form(v, constants[1])])

    state = np.concatenate([np.eye(K).ravel(), np.zeros(K), start])
    # numbers count as moving if they move where the flow begins
    elsewhere = np.concatenate([state[:-K], np.array(start) + 0.37])
    flow = UnitFlow(
        rates,
        (STATE, CONSTANTS),
        {"K": K, "M": 1, "L": 1},
        elsewhere,
        np.array([1.0, begin]),
        1.0,
    )
    problem = OneParameter(flow, lambda x: (np.array([1.0, x]), 1.0), [ends])
    return followed(problem, [state[flow.place]], begin)


def test_a_branch_goes_around_its_fold() -> None:
    (branch,) = branches_of(lambda v, p: p - 0.2 - v**2, [0.5], 0.45)
    (fold,) = branch.bifurcations
    assert fold.kind == "fold"
    assert fold.parameter == pytest.approx(0.2, abs=1e-10)
    assert branch.ends == ("range", "range")
    assert branch.parameter[[0, -1]] == pytest.approx([1.0, 1.0])
    # both roots at the end, one of them stable
    assert sorted(branch.values[[0, -1], -1]) == pytest.approx([-np.sqrt(0.8), np.sqrt(0.8)])
    assert sorted(branch.index[[0, -1]]) == [0, 1]


def test_a_pitchfork_has_both_its_branches_on_one_side_and_they_are_one() -> None:
    trivial, other = branches_of(lambda v, p: (p - 0.1) * v - v**3, [0.0], -0.5)
    assert [each.kind for each in trivial.bifurcations] == ["pitchfork"]
    assert trivial.bifurcations[0].parameter == pytest.approx(0.1, abs=1e-10)
    # the two branches are images of each other, so that one is followed
    assert other.ends == ("bifurcation", "range")
    assert np.all(other.index == 0)
    assert np.allclose(other.values[:, -1] ** 2, other.parameter - 0.1, atol=1e-6)


def test_arms_of_a_pitchfork_are_followed_once_also_from_one_of_them() -> None:
    """A walk along v² = p - 0.1 comes from one arm to the other one, its image, at the vertex."""
    found = branches_of(lambda v, p: (p - 0.1) * v - v**3, [0.5], 0.35)
    arms, trivial = found
    assert sorted(arms.ends) == ["bifurcation", "range"]
    assert np.all(arms.values[:, -1] > -1e-6) or np.all(arms.values[:, -1] < 1e-6)
    assert np.min(arms.parameter) == pytest.approx(0.1, abs=1e-6)
    assert np.allclose(trivial.values[:, -1], 0.0)
    kinds = [(each.kind, each.parameter) for branch in found for each in branch.bifurcations]
    assert kinds == [("pitchfork", pytest.approx(0.1, abs=1e-6))]


@pytest.mark.parametrize(
    "start", [(0.0, 0.0), (0.8**0.5, 0.0), ((11 / 15) ** 0.5, (2 / 15) ** 0.5)]
)
def test_bifurcations_are_counted_once_for_all_their_images(start: tuple[float, float]) -> None:
    """Of (0, 0) at p = 0 and 0.3, of (±√0.6, 0) at p = 0.6: three with their images four.

    The numbers follow dv₁/dt = v₁ (p - v₁² - v₂²/2), dv₂/dt = v₂ (p - 0.3 - v₂² - v₁²/2). All four
    are found from any state at p = 0.8, also from those that come to a bifurcation from their arm.
    """

    def coupled(v: np.ndarray, p: float) -> np.ndarray:
        return np.asarray(v * (np.array([p, p - 0.3]) - v**2 - v[::-1] ** 2 / 2))

    found = branches_of(coupled, list(start), 0.8)
    bifurcations = [each for branch in found for each in branch.bifurcations]
    assert {each.kind for each in bifurcations} == {"pitchfork"}
    parameters = sorted(each.parameter for each in bifurcations)
    assert parameters == pytest.approx([0.0, 0.3, 0.6], abs=1e-9)
    moved = [np.sum(np.abs(each.values[-2:]) > 1e-3) for each in bifurcations]
    assert sum(2**n for n in moved) == 4


def test_a_transcritical_point_exchanges_stability() -> None:
    found = branches_of(lambda v, p: (p + 0.3) * v - v**2, [0.0], -0.8)
    assert [each.kind for each in found[0].bifurcations] == ["transcritical"]
    assert found[0].bifurcations[0].parameter == pytest.approx(-0.3, abs=1e-8)
    assert found[0].index[[0, -1]].tolist() in ([0, 1], [1, 0])
    others = found[1:]
    assert len(others) == 2
    for branch in others:
        assert np.allclose(branch.values[:, -1], branch.parameter + 0.3, atol=1e-6)
        above = branch.parameter[-1] > -0.3
        assert branch.index[-1] == (0 if above else 1)


def test_a_hopf_point_has_the_frequency_of_its_pair() -> None:
    def turning(v: np.ndarray, p: float) -> np.ndarray:
        x, y = v
        linear = np.array([(p - 0.4) * x - 1.7 * y, 1.7 * x + (p - 0.4) * y])
        return np.asarray(linear - v * (v @ v))

    (branch,) = branches_of(turning, [0.0, 0.0], -0.2)
    (hopf,) = branch.bifurcations
    assert hopf.kind == "hopf"
    assert hopf.parameter == pytest.approx(0.4, abs=1e-10)
    assert hopf.frequency == pytest.approx(1.7, rel=1e-6)
    assert set(branch.index) == {0, 2}
