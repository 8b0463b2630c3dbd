"""Fixed points of stated systems: against closed forms, and against those of the same problem."""

from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import InputError, NotYetError


def phase_retrieval() -> Any:
    """One vector is taught the square of a field by small steps."""
    P = sd.System(order="small-learning-rate")
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    gap = (w @ x) ** 2 - (B @ x) ** 2
    P.observe(error=gap**2 / 4)
    P.descend(gap**2 / 4, {w: P.parameter("eta", 0.2)})
    return P


@pytest.fixture(scope="module")
def points() -> Any:
    return phase_retrieval().fixed_points({"w.w": 0.3, "w.B": 0.1, "B.B": 1.0}, starts=4, eta=0.4)


def test_phase_retrieval_has_its_three_fixed_points(points: Any) -> None:
    # the mean loss is f = (3 Q² + 3 - 2 Q - 4 R²)/4 with |w|² = Q and w·B = R, so that by hand
    # dR/dα = η (3 - 3 Q) R and dQ/dα = -2η ((3 Q - 1) Q - 2 R²)
    found = [
        (p["state"]["w.w"], abs(p["state"]["w.B"]), p["index"], p["orbit"]) for p in points.points
    ]
    expected = [(1.0, 1.0, 0, 2), (1 / 3, 0.0, 1, 1), (0.0, 0.0, 2, 1)]
    assert np.allclose(found, expected, atol=1e-12)
    eta = 0.4
    largest = [each["eigenvalues"][0][0] for each in points.points]
    assert np.allclose(largest, [-4 * eta, 2 * eta, 3 * eta], rtol=1e-12)
    assert np.allclose([p["observables"]["error"] for p in points.points], [0, 2 / 3, 3 / 4])
    # w and -w are one
    assert points.symmetries == 2
    assert points.jacobian == "generated"
    assert "w.w" not in str(points)
    assert "3 found" in str(points)


@pytest.mark.turns(4)
def test_a_problem_as_a_system_has_the_same_points() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=1, learning_rate=0.5, teacher="orthogonal", draw="mean"
    )
    expected = problem.fixed_points(unconnected=True, starts=6).points
    start = {"J.J": 0.3 * np.eye(2), "J.B": np.full((2, 1), 0.2), "B.B": np.eye(1)}
    found = problem.system.fixed_points(start, starts=6).points
    assert len(found) == len(expected) == 3
    for one, other in zip(found, expected, strict=True):
        assert (one["index"], one["orbit"]) == (other["index"], other["orbit"])
        for name, key in (("J.J", "Q"), ("J.B", "R")):
            given, stated = (np.sort(np.ravel(p)) for p in (one["state"][name], other[key]))
            assert np.allclose(given, stated, atol=1e-9)
        # the problem's own come from differences and balls
        assert np.allclose(one["eigenvalues"], other["eigenvalues"], atol=1e-9)


def test_time_and_starts_are_refused() -> None:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((w @ x - B @ x) ** 2 / 2, {w: 0.5 / (1 + P.alpha)})
    start = {"w.w": 0.5, "w.B": 0.1, "B.B": 1}
    with pytest.raises(NotYetError, match="depend on time"):
        P.fixed_points(start)
    for starts in (0, 10**12):
        with pytest.raises(InputError, match="not between 1 and 10000"):
            P.fixed_points(start, starts=starts)
