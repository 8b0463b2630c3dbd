"""Curves of bifurcations in two parameters, where they are known and by another Jacobian."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.analysis.fixed_points.bifurcation_curves import bifurcation_curves
from symderiv.analysis.fixed_points.continuation import OneParameter, Parameters, followed


@dataclass(frozen=True)
class Known:
    """A flow of few coordinates whose constants are two parameters."""

    rates: Callable[[np.ndarray, float, float], np.ndarray]
    unit: float = 1.0

    def slope(self, values: np.ndarray, constants: np.ndarray) -> np.ndarray:
        return self.rates(values, *constants)

    def least_gram(self, values: np.ndarray, constants: np.ndarray) -> float:
        return 1.0

    def images(self, values: np.ndarray) -> np.ndarray:
        return values[None]

    def same(self, first: np.ndarray, second: np.ndarray, tolerance: float = 1e-6) -> bool:
        return bool(np.max(np.abs(first - second)) < tolerance)


def circle(p: float, q: float) -> float:
    return (p - 0.5) ** 2 + (q - 0.4) ** 2 - 0.09


def folding(x: np.ndarray, p: float, q: float) -> np.ndarray:
    return np.array([circle(p, q) + x[0] ** 2, 0.3 * p - x[1] + x[0]])


def splitting(x: np.ndarray, p: float, q: float) -> np.ndarray:
    return np.array([(p - 0.2 - q**2) * x[0] - x[0] ** 3, q - 2 * x[1] + x[0] ** 2])


def turning(x: np.ndarray, p: float, q: float) -> np.ndarray:
    growth, y = p - 0.2 - q**2 - x @ x, 1.5 + q
    return np.array([growth * x[0] - y * x[1], y * x[0] + growth * x[1]])


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("rates", "start", "kind", "missed"),
    [
        (folding, [-0.3, -0.15], "fold", circle),
        (splitting, [0.0, 0.2], "pitchfork", lambda p, q: p - 0.2 - q**2),
        (turning, [0.0, 0.0], "hopf", lambda p, q: p - 0.2 - q**2),
    ],
)
def test_curves_are_those_that_are_known(
    rates: Any, start: list[float], kind: str, missed: Callable[[Any, Any], Any]
) -> None:
    flow, begin, second = Known(rates), 0.5, 0.4

    def at(p: float, q: float = second) -> tuple[np.ndarray, float]:
        return np.array([p, q]), 1.0

    plane = Parameters(flow, at, ((0.0, 1.0), (0.0, 1.0)))  # type: ignore[arg-type]
    problem = OneParameter(flow, at, [(0.0, 1.0)])  # type: ignore[arg-type]
    branches = followed(problem, [np.array(start)], begin)
    curves = [each for each in bifurcation_curves(plane, branches, second) if each.kind == kind]
    curve = curves[0]
    p, q = curve.parameters.T
    np.testing.assert_allclose(missed(p, q), 0.0, atol=1e-9)
    if kind == "fold":
        # it turns back in both parameters, and comes to where it began
        assert curve.ends == ("closed", "closed")
        assert np.ptp(p) > 0.59
        assert np.ptp(q) > 0.59
    else:
        assert curve.ends == ("range", "range")
        assert q[0] < 0.05
        assert q[-1] > 0.85
    if kind == "hopf":
        np.testing.assert_allclose(curve.frequency, 1.5 + q, rtol=1e-6)


@pytest.mark.turns(3)
def test_equal_students_specialise_on_a_curve_of_pitchforks() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean",
        label_noise=0.1, weight_decay=0.01,
    )  # fmt: skip
    found = problem.fixed_points(
        starts=4, unconnected=True, follow={"weight_decay": (0.008, 0.02), "learning_rate": (0, 1)}
    )
    (curve,) = found.curves
    assert (found.followed, found.second) == ("training.weight_decay", "training.learning_rate")
    assert curve["kind"] == "pitchfork"
    assert curve["ends"] == ["range", "range"]
    for n in range(0, len(curve["second"]), 3):
        there = problem.replace(
            weight_decay=curve["parameter"][n], learning_rate=curve["second"][n]
        )
        state = {"Q": curve["Q"][n], "R": curve["R"][n], "T": np.eye(2)}
        rates = there.rates(**state)
        assert max(np.max(np.abs(rates.dQ)), np.max(np.abs(rates.dR))) < 1e-9
        # the derivatives of the formulas have an eigenvalue that is zero
        eigenvalues = np.array(there.linearise(state).eigenvalues)
        sizes = np.hypot(*eigenvalues.T)
        assert np.min(sizes) < 1e-6 * np.max(sizes)
    axes = found.plot()
    assert axes.get_xlabel() == "weight decay"
    assert axes.get_ylabel() == "learning rate"
    titles = [getattr(each, "title", "") for each in found._document().nodes]
    assert "Curves of bifurcations" in titles


@pytest.mark.turns(3)
def test_crossings_at_different_places_of_one_step_are_told_apart() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean",
        label_noise=0.1, weight_decay=0.01,
    )  # fmt: skip
    wide, narrow = (
        problem.replace(weight_decay=end / 2).fixed_points(
            starts=4, unconnected=True, follow={"weight_decay": (0, end)}
        )
        for end in (0.1, 0.002)
    )
    places = [
        sorted(each["parameter"] for each in found.bifurcations if each["parameter"] < 0.002)
        for found in (wide, narrow)
    ]
    assert places[0] == pytest.approx(places[1], rel=1e-5)
    assert places[0] == pytest.approx([1.6059256766e-4, 6.535478353e-4], rel=1e-5)
