"""Best constants by two routes: derivatives against errors, eigenvalues against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import symderiv as sd
from symderiv.foundation.errors import InputError


def alone(**others: object) -> sd.Problem:
    return sd.Problem(
        "erf",
        students=1,
        teachers=1,
        learning_rate=1.0,
        teacher="orthogonal",
        draw="mean",
        **others,
    )


def test_the_largest_stable_learning_rate_of_one_student_has_a_closed_form() -> None:
    # P = Q - R² decays by 2 E[g'²] - η E[g'⁴] = (4/π)/√3 - η (4/π²)/√5 at Q = R = T = 1
    found = alone().best(between=(0.5, 6.0), goal="stable")
    assert found.value == pytest.approx(np.pi * np.sqrt(5 / 3), rel=1e-9)
    assert found.interior


@pytest.mark.turns(4)
def test_the_final_error_is_least_where_other_learning_rates_say() -> None:
    problem = alone()
    end = 12.0
    found = problem.best(between=(0.3, 3.9), end=end)

    def error(eta: float) -> float:
        run = problem.replace(learning_rate=float(eta)).solve(end=end, relative_tolerance=1e-11)
        return float(np.log(run.generalization_error[-1]))

    other = minimize_scalar(error, bracket=(found.value - 0.2, found.value + 0.3), tol=1e-6)
    assert found.value == pytest.approx(other.x, abs=2e-4)
    assert np.log(found.reached) == pytest.approx(other.fun, abs=1e-6)
    assert abs(found.slope) < 1e-5


@pytest.mark.turns(4)
def test_the_plateau_is_left_fastest_where_its_own_report_says() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean"
    )
    found = problem.best(between=(0.1, 4.0), goal="escape", point=2)

    def escape(eta: float) -> float:
        given = {"units": 2, "T1": 1, "D1": 0, "T2": 1, "D2": 0, "full": True}
        row = sd.plateau(learning_rate=repr(eta), **given).to_dict()["full_flow"]
        return float(row["unstable_eigenvalue"])

    sides = [escape(found.value + step) for step in (-0.01, 0.0, 0.01)]
    assert found.reached == pytest.approx(sides[1], rel=1e-9)
    assert max(sides) == sides[1]
    # a parabola through the three has its top there
    top = 0.005 * (sides[2] - sides[0]) / (2 * sides[1] - sides[0] - sides[2])
    assert abs(top) < 1e-4
    stable = problem.best(between=(0.2, 6.0), goal="stable")
    critical = problem.late().to_dict()["critical_learning_rate"]
    assert stable.value == pytest.approx(critical, rel=1e-9)


def test_what_cannot_be_best_is_refused() -> None:
    problem = alone()
    for arguments, words in (
        ({"between": (2.0, 1.0)}, "smaller one first"),
        ({"between": (0.5, 1.5), "goal": "fast"}, "error, stable, escape"),
        ({"between": (2.0, 3.0), "goal": "stable"}, "must contain 1"),
        ({"between": (0.5, 1.5), "goal": "stable", "point": 9}, "9 is not from 1 to"),
        ({"between": (0.5, 1.5), "goal": "stable", "end": 3.0}, "goal='error'"),
    ):
        with pytest.raises(InputError, match=words):
            problem.best(**arguments)  # type: ignore[arg-type]
