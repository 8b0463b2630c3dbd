"""Fixed points in symmetric states, of flows whose Jacobian is known."""

import numpy as np
import pytest

from symderiv.analysis.fixed_points.symmetric_flow import SymmetricFlow, integrated
from symderiv.foundation.errors import ToleranceError

LABELS = np.array([0, 0, 0, 1])
PUSH = 0.7


def rates(x: np.ndarray) -> np.ndarray:
    """Three units, saturating and pushed apart from their mean; one that follows."""
    units, mean = x[:3], x[:3].mean()
    own = 1.0 - units**3 + PUSH * 3 * (units - mean)
    return np.array([*own, mean**2 - 2 * x[3]])


def flow(labels: np.ndarray = LABELS) -> SymmetricFlow:
    return SymmetricFlow(rates, labels, np.array([0.1, 0.1, 0.1, 0.0]))


def test_a_fixed_point_and_what_its_directions_tell_apart() -> None:
    """At x = 1 the Jacobian is -3 for all alike, 3 PUSH - 3 for differences, else -2."""
    inside = flow()
    state = inside.fixed_point(lambda _: LABELS)
    assert state is not None
    np.testing.assert_allclose(state, [1, 1, 1, 0.5], atol=1e-14)
    assert inside.residual(state) < 1e-13
    found = inside.spectrum(state, {"units": LABELS})
    np.testing.assert_allclose(found.eigenvalues["symmetric"], [-2, -3], atol=1e-11)
    apart = 3 * PUSH - 3
    np.testing.assert_allclose(found.eigenvalues["units"], [apart, apart], atol=1e-11)
    assert found.error < 1e-10
    assert found.escape == ("units", pytest.approx(apart))


def test_orbits_that_coincide_are_followed_as_one() -> None:
    """A neutral line of fixed points, x = y: only where both are one is there an isolated one."""

    def neutral(x: np.ndarray) -> np.ndarray:
        return np.array([1 - x[0] - (x[0] - x[1]) ** 3, 1 - x[1] + (x[0] - x[1]) ** 3])

    inside = SymmetricFlow(neutral, np.arange(2), np.array([0.2, 0.1]))
    asked: list[np.ndarray] = []

    def one(state: np.ndarray) -> np.ndarray:
        asked.append(state)
        return np.zeros(2, dtype=np.int64)

    np.testing.assert_allclose(inside.fixed_point(one), [1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(asked[0], [1.0, 1.0], atol=1e-3)


def test_what_runs_away_or_never_rests_has_no_fixed_point() -> None:
    start = np.array([1.0, 0.0])
    assert integrated(lambda y: y**2, start, 10.0) is None
    assert integrated(lambda y: y, start, 10.0, largest=100.0) is None
    turning = np.array([[0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_allclose(
        integrated(lambda y: turning @ y, start, 2.0), [np.cos(2), -np.sin(2)], atol=1e-6
    )

    def circling(y: np.ndarray) -> np.ndarray:
        return turning @ y + y * (1 - y @ y)

    # slow, and next to where a root finder ends
    passing = SymmetricFlow(lambda y: y**2 + 1e-6, np.arange(1), np.zeros(1))
    assert passing.fixed_point(lambda _: np.arange(1), durations=(1.0, 10.0)) is None
    inside = SymmetricFlow(circling, np.arange(2), start)
    assert inside.fixed_point(lambda _: np.arange(2), durations=(10.0, 100.0)) is None


def test_a_flow_that_is_not_smooth_there_has_no_spectrum() -> None:
    def rooted(x: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return np.sqrt(x - 1.0)

    inside = SymmetricFlow(rooted, np.zeros(1, dtype=np.int64), np.ones(1))
    with pytest.raises(ToleranceError, match="not smooth"):
        inside.spectrum(np.ones(1), {})
