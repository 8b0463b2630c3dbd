"""Fixed points of the full flow by routes that do not share Newton's method or its Jacobian."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import symderiv as sd
from symderiv.api.results.flows.fixed_point_answer import FixedPoints


def alike(students: int = 2, teachers: int = 2, **others: Any) -> sd.Problem:
    given: dict[str, Any] = {
        "activation": "erf",
        "learning_rate": 0.5,
        "draw": "mean",
        "teacher": "orthogonal",
    }
    return sd.Problem(students=students, teachers=teachers, **{**given, **others})


@pytest.fixture(scope="module")
def catalogue() -> FixedPoints:
    return alike().fixed_points(digits=30)


def test_the_plateau_is_one_row_with_the_same_digits(catalogue: FixedPoints) -> None:
    plateau = sd.plateau(units=2, learning_rate="1/2", T1=1, D1=0, T2=1, D2=0, digits=30, full=True)
    for state in (plateau.full_flow, plateau.full_flow_equal_students):
        (row,) = [each for each in catalogue.points if each["Q"][0][0] == state["Q"]]
        assert row["certified"]
        assert row["orbit"] == 1
        assert row["Q"][0][1] == row["Q"][1][0] == state["C"]
        assert {entry for entries in row["R"] for entry in entries} == {state["R"]}
        assert row["generalization_error"] == state["generalization_error"]
        assert row["eigenvalues"][0][0] == state["unstable_eigenvalue"]


def test_perfect_learning_is_proved_and_is_one_point_of_two_images(catalogue: FixedPoints) -> None:
    row = catalogue.points[0]
    assert row["certified"]
    assert row["index"] == 0
    assert row["orbit"] == 2
    assert np.allclose(np.array(row["Q"], dtype=float), np.eye(2), atol=1e-25)
    assert abs(np.linalg.det(np.array(row["R"], dtype=float))) == pytest.approx(1, abs=1e-25)


def test_at_first_order_the_plateau_is_that_of_saad_and_solla() -> None:
    found = alike(order="small-learning-rate").fixed_points(unconnected=True)
    saddles = [row for row in found.points if row["physical"] and row["index"]]
    (row,) = saddles
    assert np.allclose(row["Q"], 1 / 3, atol=1e-4)
    assert np.allclose(row["R"], 1 / np.sqrt(6), atol=1e-4)
    # erf: differences of students are neutral, so that there is no isolated point to prove
    assert row["index"] == 1
    assert row["neutral"] == 2
    assert not row["certified"]


def overlaps(row: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return Q and R of a point, whose digits are text."""
    return {name: np.array(row[name], dtype=float) for name in ("Q", "R")}


def test_the_index_is_the_number_of_directions_that_trajectories_leave_by(
    catalogue: FixedPoints,
) -> None:
    flow, lasting = alike().rhs(), 300.0
    for row in catalogue.points:
        if not row["physical"]:
            continue
        centre = flow.pack(overlaps(row))
        # Q_11, Q_12 with Q_21, Q_22, R
        directions = np.zeros((7, centre.size))
        for n, places in enumerate([[0], [1, 2], [3], [4], [5], [6], [7]]):
            directions[n, places] = 1.0
        grown = []
        for direction in directions:
            ends = [
                solve_ivp(
                    flow, (0, lasting), centre + s * 1e-6 * direction, rtol=1e-11, atol=1e-14
                ).y[:, -1]
                for s in (1, -1)
            ]
            grown.append((ends[0] - ends[1])[[0, 1, 3, 4, 5, 6, 7]] / 2e-6)
        multipliers = np.linalg.eigvals(np.array(grown).T)
        rates = np.sort(np.log(np.abs(multipliers)) / lasting)[::-1]
        assert np.sum(rates > 0) == row["index"]
        expected = np.array(row["eigenvalues"], dtype=float)[:, 0]
        # what decays faster is smaller than the errors of the integration
        slow = expected > -0.05
        assert np.allclose(rates[slow], expected[slow], rtol=1e-3, atol=1e-6)


def test_precise_trajectories_end_where_saddles_are_said_to_lead(catalogue: FixedPoints) -> None:
    followed = 0
    for edge in catalogue.connections:
        source, target = (catalogue.points[edge[name] - 1] for name in ("source", "target"))
        if float(edge["rate"]) < 0.01 or target["index"]:
            continue
        Q, R = overlaps(source).values()
        apart = 1e-3 * np.array([[1, -1], [-1, 1]])
        begin = {"Q": Q + 1e-4 * np.eye(2), "R": R + apart}
        end = alike().solve(end=8000, initial=begin).final
        assert np.allclose(np.abs(np.linalg.det(end.R)), 1, atol=1e-6)
        assert np.allclose(end.Q, overlaps(target)["Q"], atol=1e-6)
        followed += 1
    assert followed
    assert {(e["source"], e["target"]) for e in catalogue.connections} >= {(2, 1), (3, 1), (3, 2)}


@pytest.mark.parametrize(
    ("students", "teachers", "others"),
    [
        (1, 2, {}),
        (2, 1, {"label_noise": 0.3}),
        pytest.param(
            *(2, 2, {"activation": "relu", "learning_rate": 0.3}), marks=pytest.mark.turns(2)
        ),
        (2, 2, {"weight_decay": 0.002, "order": "small-learning-rate"}),
    ],
)
def test_rates_vanish_at_every_point(students: int, teachers: int, others: dict[str, Any]) -> None:
    problem = alike(students, teachers, **others)
    T = np.array([[1.5, 0.3], [0.3, 0.8]])[:teachers, :teachers]
    start = {"Q": 0.1 * np.eye(students), "R": np.full((students, teachers), 0.02), "T": T}
    found = problem.fixed_points(initial=start, starts=4, unconnected=True)
    assert found.points
    # comparisons within the means of ReLU are no proof
    assert problem.activation != "relu" or not any(row["certified"] for row in found.points)
    for row in found.points:
        if row["physical"]:
            rates = problem.rates(Q=row["Q"], R=row["R"], T=T)
            assert max(np.max(np.abs(rates.dQ)), np.max(np.abs(rates.dR))) < 1e-9
            assert rates.generalization_error == pytest.approx(
                row["generalization_error"], abs=1e-9
            )


@pytest.mark.turns(2)
def test_more_students_than_teachers_have_a_minimum_that_is_not_perfect() -> None:
    problem = alike(3, 2)
    found = problem.fixed_points(starts=6, unconnected=True)
    stuck = [r for r in found.points if r["physical"] and not r["index"] and not r["neutral"]]
    (worse, *_) = [row for row in stuck if row["generalization_error"] > 1e-4]
    assert worse["certified"]
    begin = {"Q": np.array(worse["Q"]) + 1e-4 * np.eye(3), "R": np.array(worse["R"])}
    end = problem.solve(end=20_000, initial=begin).final
    assert np.allclose(end.Q, worse["Q"], atol=1e-6)
    assert np.allclose(end.R, worse["R"], atol=1e-6)


@pytest.mark.turns(2)
def test_perfect_learning_loses_stability_at_the_critical_learning_rate() -> None:
    problem = alike()
    found = problem.fixed_points(starts=4, unconnected=True, follow={"learning_rate": (0, 5.5)})
    (lost,) = {
        each["parameter"] for each in found.bifurcations if each["generalization_error"] < 1e-6
    }
    critical = problem.late().to_dict()["critical_learning_rate"]
    assert lost == pytest.approx(critical, rel=1e-7)
    kinds = {each["kind"] for each in found.bifurcations}
    assert kinds == {"transcritical"}
    # above it learning ends at the other branch, as a run there does
    (stable,) = [
        each
        for each in found.branches
        if each["physical"][-1] and each["parameter"][-1] > 5.4 and each["index"][-1] == 0
    ]
    run = problem.replace(learning_rate=5.5, student_std=0.5).solve(
        end=3000, initial={"Q": 1.05 * np.eye(2), "R": np.eye(2)}
    )
    assert run.generalization_error[-1] == pytest.approx(
        stable["generalization_error"][-1], rel=1e-6
    )


def test_points_of_a_rule_and_of_the_system_that_states_it_are_proved() -> None:
    """A linear unit with decay κ and label noise σ: R = ηT/(η + κ), and Q from dQ/dα = 0."""
    eta, kappa, noise, T = Fraction(1, 2), Fraction(1, 4), Fraction(1, 2), Fraction(3, 2)
    R = eta * T / (eta + kappa)
    Q = (2 * eta * R + eta**2 * (T + noise**2 - 2 * R)) / (2 * eta + 2 * kappa - eta**2)
    rule = {"learning_rate": 0.5, "weight_decay": 0.25, "label_noise": 0.5}
    start = {"Q": [[0.5]], "R": [[0.25]], "T": [[1.5]]}
    problem = sd.Problem("linear", students=1, teachers=1, **rule)
    (point,) = problem.fixed_points(initial=start, digits=30).points
    assert point["certified"]
    assert abs(Fraction(point["Q"][0][0]) - Q) < Fraction(1, 10**29)
    assert abs(Fraction(point["R"][0][0]) - R) < Fraction(1, 10**29)

    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    gap = w @ x - B @ x - P.latents("noise", "gaussian") / 2
    P.descend(gap**2 / 2, {w: 0.5})
    P.update({w: -0.25 * w})
    P.observe(error=gap**2)
    (found,) = P.fixed_points({"w.w": 0.5, "w.B": 0.25, "B.B": 1.5}).points
    assert found["certified"]
    assert found["index"] == point["index"] == 0
    away = abs(Fraction(found["state"]["w.w"]) - Q), abs(Fraction(found["state"]["w.B"]) - R)
    assert max(away) <= Fraction(found["error"]) < Fraction(1, 10**14)


def test_a_system_with_a_mean_without_an_enclosure_has_points_that_are_only_found() -> None:
    """Two signs with means are a form of Owen's function, of which there is no Taylor series."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((sp.erf(w @ x + 1) - sp.erf(B @ x)) ** 2, {w: 0.1})
    P.update({w: -0.25 * w})
    points = P.fixed_points({"w.w": 0.5, "w.B": 0.25, "B.B": 1.5}, starts=2).points
    assert {(each["certified"], each["error"]) for each in points} == {(False, None)}


def leads(result: FixedPoints) -> list[tuple[int, int]]:
    """Indices of points, with those that their unstable directions lead to."""
    index = [each["index"] for each in result.points]
    pairs = ((each["source"], each["target"]) for each in result.connections)
    return sorted({(index[a - 1], index[b - 1]) for a, b in pairs if b})


@pytest.mark.parametrize(
    ("T", "R", "kinds"),
    [
        (np.eye(2), [[0.3, 0.1], [0.1, 0.2]], {"pitchfork"}),
        (
            [[1.0, 0.3, 0.0], [0.3, 0.8, 0.1], [0.0, 0.1, 1.2]],
            [[0.3, 0.1, 0], [0, 0.2, 0.1]],
            set(),
        ),
    ],
)
def test_saddles_and_bifurcations_of_a_system_are_those_of_the_study(
    T: Any, R: Any, kinds: set[str]
) -> None:
    """Two students that specialise become equal at some weight decay, by a pitchfork; not among
    three teachers that no exchange leaves alone.
    """
    start, ends, M = {"Q": [[0.5, 0.1], [0.1, 0.4]], "R": R, "T": T}, (0.005, 0.03), len(T)
    rule = {"learning_rate": 0.5, "weight_decay": 0.01, "label_noise": 0.1}
    problem = sd.Problem("erf", students=2, teachers=M, **rule)
    study = problem.fixed_points(initial=start, starts=4, follow={"weight_decay": ends})

    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w", 2), P.vectors("B", M, fixed=True)
    g, kappa = sd.activation("erf"), P.parameter("kappa", 0.01)
    gap = (g(w @ x).sum() - g(B @ x).sum()) / sp.sqrt(M)
    P.descend((gap - P.latents("noise", "gaussian") / 10) ** 2 / 2, {w: 0.5})
    P.update({each: -kappa * each for each in w})
    P.observe(error=gap**2 / 2)
    begin = {"w.w": start["Q"], "w.B": R, "B.B": T}
    found = P.fixed_points(begin, starts=4, follow={"kappa": ends})

    def real(result: FixedPoints, error: Any) -> list[tuple[int, int, float]]:
        points = [each for each in result.points if each["physical"] and each["certified"]]
        return sorted((p["index"], p["orbit"], round(float(error(p)), 9)) for p in points)

    assert real(found, lambda p: p["observables"]["error"]) == real(
        study, lambda p: p["generalization_error"]
    )
    assert leads(found) == leads(study)
    assert leads(found) or not kinds
    places = {each["kind"]: each["parameter"] for each in study.bifurcations}
    assert kinds <= places.keys() == {each["kind"] for each in found.bifurcations}
    for each in found.bifurcations:
        assert each["parameter"] == pytest.approx(places[each["kind"]], rel=1e-5)
    found.plot()
    with pytest.raises(sd.InputError, match=r"^follow: 'eta' is not a parameter; there are kappa$"):
        P.fixed_points(begin, follow={"eta": (0, 1)})
