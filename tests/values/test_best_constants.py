"""Best constants by two routes: derivatives against errors, eigenvalues against closed forms."""

import numpy as np
import pytest
from scipy.optimize import fsolve, minimize_scalar

import symderiv as sd
from benchmarks.numpy_baseline import ErfProblem
from symderiv.foundation.errors import InputError


def erf_units(number: int, learning_rate: float) -> sd.Problem:
    return sd.Problem(
        "erf",
        students=number,
        teachers=number,
        learning_rate=learning_rate,
        teacher="orthogonal",
        draw="mean",
    )


def test_the_largest_stable_learning_rate_of_one_student_has_a_closed_form() -> None:
    # P = Q - R² decays by 2 E[g'²] - η E[g'⁴] = (4/π)/√3 - η (4/π²)/√5 at Q = R = T = 1
    found = erf_units(1, 1.0).best(between=(0.5, 6.0), goal="stable")
    assert found.value == pytest.approx(np.pi * np.sqrt(5 / 3), rel=1e-9)
    assert found.interior


@pytest.mark.turns(4)
def test_the_final_error_is_least_where_other_learning_rates_say() -> None:
    problem = erf_units(1, 1.0)
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
    problem = erf_units(2, 0.5)
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


def _linear_with_noise() -> tuple[sd.System, dict[str, float]]:
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    eta, noise = P.parameter("eta", 0.5), P.parameter("noise", 0.3) * P.latents("n", "gaussian")
    P.descend((w @ x - B @ x - noise) ** 2 / 2, {w: eta})
    P.observe(error=(w @ x - B @ x) ** 2 / 2, along=w @ x)
    return P, {"w.w": 0.2, "w.B": 0.1, "B.B": 1.0}


def test_the_best_constants_of_a_linear_unit_have_closed_forms() -> None:
    P, start = _linear_with_noise()
    end, begin, variance = 3.0, 0.5 * (0.2 - 0.2 + 1.0), 0.09

    def error(eta: float) -> float:
        left = eta * variance / (2 * (2 - eta))
        return left + (begin - left) * np.exp(-eta * (2 - eta) * end)

    found = P.best("eta", between=(0.1, 1.9), end=end, initial=start)
    other = minimize_scalar(error, bounds=(0.1, 1.9), method="bounded", options={"xatol": 1e-10})
    assert found.value == pytest.approx(other.x, abs=1e-7)
    assert found.reached == pytest.approx(other.fun, rel=1e-8)
    edge = P.best("eta", between=(0.2, 2.5), goal="stable", initial=start, eta=0.3, noise=0)
    assert edge.value == pytest.approx(2.0, abs=1e-9)


def test_a_committee_escapes_fastest_where_equations_written_by_hand_say() -> None:
    P = sd.System()
    x, g, eta = P.inputs("x"), sd.activation("erf"), P.parameter("eta", 0.5)
    w, B = P.vectors("w", 2), P.vectors("B", 3, fixed=True)
    P.descend((g(w @ x).sum() - g(B @ x).sum()) ** 2 / 2, {w: eta})
    T = np.array([[1.2, 0.2, 0.0], [0.2, 0.9, 0.1], [0.0, 0.1, 0.8]])
    start = {"w.w": [[0.3, 0.1], [0.1, 0.2]], "w.B": [[0.1, 0, 0.02], [0, 0.05, 0.1]], "B.B": T}
    both_alike = 3
    asked = {"between": (1.2, 2.0), "goal": "escape", "initial": start, "eta": 1.5}
    found = P.best("eta", point=both_alike, **asked)
    assert found.interior

    def escape(eta: float) -> float:
        ones = np.ones(1), np.ones(1), T[None], T, np.ones(2), np.ones(3)
        flow = ErfProblem(*ones, learning_rate=eta)

        def rates(state: np.ndarray) -> np.ndarray:
            q = state[[0, 1, 1, 2]]
            rate = flow.right_hand_side(0.0, np.concatenate([q, state[3:]]))
            return np.delete(rate, 2)

        point = fsolve(rates, [1.13, 0.73, 1.13, *(0.68, 0.61, 0.47) * 2], xtol=1e-12)
        step = 1e-5 * np.eye(len(point))
        slopes = [(rates(point + s) - rates(point - s)) / 2e-5 for s in step]
        return float(np.max(np.linalg.eigvals(np.array(slopes).T).real))

    sides = [escape(found.value + step) for step in (-0.02, 0.0, 0.02)]
    assert found.reached == pytest.approx(sides[1], rel=1e-8)
    # a parabola through the three has its top there
    top = 0.01 * (sides[2] - sides[0]) / (2 * sides[1] - sides[0] - sides[2])
    assert abs(top) < 1e-4


def test_what_cannot_be_best_of_a_system_is_refused() -> None:
    P, start = _linear_with_noise()
    for arguments, words in (
        ({"name": "kappa", "end": 1.0}, "'kappa' is not a parameter; there are eta, noise"),
        ({"name": "eta"}, "must be given with goal='error'"),
        ({"name": "eta", "end": 1.0, "observable": "along"}, "must be positive to be minimised"),
        ({"name": "eta", "end": 1.0, "observable": "other"}, "error, along"),
    ):
        with pytest.raises(InputError, match=words):
            P.best(between=(0.1, 1.0), initial=start, **arguments)


def test_what_cannot_be_best_is_refused() -> None:
    problem = erf_units(1, 1.0)
    for arguments, words in (
        ({"between": (2.0, 1.0)}, "smaller one first"),
        ({"between": (0.5, 1.5), "goal": "fast"}, "error, stable, escape"),
        ({"between": (2.0, 3.0), "goal": "stable"}, "must contain 1"),
        ({"between": (0.5, 1.5), "goal": "stable", "point": 9}, "9 is not from 1 to"),
        ({"between": (0.5, 1.5), "goal": "stable", "end": 3.0}, "goal='error'"),
    ):
        with pytest.raises(InputError, match=words):
            problem.best(**arguments)  # type: ignore[arg-type]
