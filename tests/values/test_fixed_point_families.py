"""Continua of fixed points against formulas of the errors on them, and against runs."""

from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.api.results.flows.fixed_point_answer import FixedPoints
from symderiv.foundation.documents.text_writer import text


def problem(activation: str, students: int, teachers: int, **others: Any) -> sd.Problem:
    given = {"learning_rate": 0.5, "draw": "mean", "teacher": "orthogonal", **others}
    return sd.Problem(activation, students=students, teachers=teachers, **given)


def kernel(Q: np.ndarray, i: int, j: int) -> float:
    """Return the mean of ReLU times ReLU of two fields, by the angle between them."""
    lengths = np.sqrt(Q[i, i] * Q[j, j])
    angle = np.arccos(np.clip(Q[i, j] / lengths, -1, 1))
    return float(lengths * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi))


def relu_error(vectors: np.ndarray, signs: np.ndarray) -> float:
    gram = vectors @ vectors.T
    pairs = [(i, j) for i in range(len(signs)) for j in range(len(signs))]
    return float(sum(signs[i] * signs[j] * kernel(gram, i, j) for i, j in pairs) / 2)


@pytest.fixture(scope="module")
def shared() -> FixedPoints:
    """Return the catalogue of two ReLU students of one teacher."""
    return problem("relu", 2, 1).fixed_points()


def test_students_that_share_a_teacher_are_one_family(shared: FixedPoints) -> None:
    (row,) = shared.points
    family = row["family"]
    assert family["dimension"] == 1
    assert (row["index"], row["neutral"], family["undecided"]) == (0, 2, 1)
    assert np.allclose(row["R"], 1 / 2)
    for name in ("Q", "R"):
        ends = np.array([family["least"][name], family["largest"][name]])
        most = {"Q": [[1, 1 / 4], [1 / 4, 1]], "R": [[1], [1]]}
        assert np.allclose(ends, [np.zeros_like(most[name]), most[name]])
    # any split of the teacher's length has no error, by the angles of the vectors
    for share in np.linspace(0.01, 0.99, 15):
        lengths = np.array([share, 1 - share])
        assert relu_error(np.array([[share], [1 - share], [1]]), np.array([1, 1, -1])) < 1e-15
        rates = problem("relu", 2, 1).rates(
            Q=np.outer(lengths, lengths), R=lengths[:, None], T=np.eye(1)
        )
        assert max(np.max(np.abs(rates.dQ)), np.max(np.abs(rates.dR))) < 1e-12
    # a step to the side of the family has an error
    assert relu_error(np.array([[0.5, 0.1], [0.5, 0], [1, 0]]), np.array([1, 1, -1])) > 1e-3


def test_text_and_figure_say_that_it_is_a_family(shared: FixedPoints) -> None:
    said = text(shared._document(), 200)
    assert "1 found, 0 of them proved, 1 of them families" in said
    assert "family of dimension 1" in said
    assert "Q_11, Q_22, R_11, R_21 0 to 1; Q_12 0 to 0.25" in said
    assert "1 neutral: not decided" in said
    labels = [each.get_text() for each in shared.plot().get_legend().get_texts()]
    assert labels == ["family"]
    assert "1 of them families" in shared._repr_html_()


@pytest.mark.parametrize("order", ["full", "small-learning-rate"])
def test_runs_end_at_a_point_of_the_family(order: str) -> None:
    begin = {"Q": [[0.5, 0.1], [0.1, 0.2]], "R": [[0.4], [0.1]]}
    end = problem("relu", 2, 1, order=order).solve(end=4000, initial=begin).final
    lengths = end.R[:, 0]
    # the last direction is neutral, so that the end is near only by a power of the time
    assert np.sum(lengths) == pytest.approx(1, abs=1e-3)
    assert np.allclose(end.Q, np.outer(lengths, lengths), atol=2e-3)
    assert np.all(lengths > 0.05)


@pytest.mark.parametrize(
    ("activation", "students", "teachers", "dimension", "others"),
    [
        # the sum of students is given: differences have K - 1 vectors along M teachers, and
        # a symmetric matrix of K - 1 rows beside them
        ("linear", 2, 1, 1 + 1, {}),
        pytest.param("linear", 3, 2, 4 + 3, {}, marks=pytest.mark.turns(4)),
        # orthonormal columns, one for each teacher, in as many dimensions as students
        pytest.param(
            *("quadratic", 2, 2, 1, {"order": "small-learning-rate"}), marks=pytest.mark.turns(4)
        ),
        # the third student is minus the second, which is any vector: R and Q of one
        ("erf", 3, 1, 2, {}),
        # v w is given
        ("relu", 1, 1, 1, {"train_second_layer": True}),
    ],
)
def test_dimensions_are_those_of_the_sets_of_vectors(
    activation: str, students: int, teachers: int, dimension: int, others: dict[str, Any]
) -> None:
    found = problem(activation, students, teachers, **others).fixed_points(
        starts=4, unconnected=True
    )
    perfect = [p for p in found.points if p["physical"] and p["generalization_error"] < 1e-9]
    (row,) = perfect
    assert row["family"]["dimension"] == dimension
    assert row["index"] == 0


def test_a_member_far_away_is_of_the_same_family() -> None:
    """Overlaps of vectors on a straight line to it go past its own and come back."""
    along = np.array([[-3, -3], [2, 2], [2, 2]])
    beside = np.array([[-0.1], [0.05], [0.05]])
    begin = {"Q": along @ along.T + beside @ beside.T, "R": along}
    found = problem("linear", 3, 2).fixed_points(initial=begin, starts=1, unconnected=True)
    (row,) = [p for p in found.points if p["physical"] and p["generalization_error"] < 1e-9]
    assert row["family"]["dimension"] == 4 + 3


@pytest.mark.turns(4)
def test_a_saddle_leads_to_a_family_at_any_of_its_points() -> None:
    found = problem("erf", 3, 1).fixed_points(starts=4)
    (number,) = [n for n, each in enumerate(found.points, 1) if each["family"]]
    assert {each["target"] for each in found.connections if each["target"]} >= {number}


@pytest.mark.turns(4)
def test_where_rates_have_no_derivative_there_is_no_index() -> None:
    ask = problem("relu", 2, 2)
    found = ask.fixed_points(starts=4, unconnected=True)
    (equal,) = [p for p in found.points if np.ptp(p["Q"]) < 1e-6]
    assert equal["index"] is None
    assert equal["eigenvalues"] == []
    assert "no derivatives" in found.warnings[-1]
    # rates change with the root of what is added to Q: four times as much for sixteen times
    R, changes = np.array(equal["R"]), []
    for added in (1e-8, 16e-8):
        Q = np.array(equal["Q"]) + added * np.array([[1, -1], [-1, 1]])
        changes.append(np.max(np.abs(ask.rates(Q=Q, R=R, T=np.eye(2)).dQ)))
    assert changes[1] / changes[0] == pytest.approx(4, rel=0.1)
    # at first order the same states have slopes, as their loss has
    first = problem("relu", 2, 2, order="small-learning-rate")
    found = first.fixed_points(starts=4, unconnected=True)
    (equal,) = [p for p in found.points if np.ptp(p["Q"]) < 1e-6 and p["Q"][0][0] > 0.1]
    assert equal["index"] == 2
    # and equal students share their length in any way
    assert equal["family"]["dimension"] == 1
