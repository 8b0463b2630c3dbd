"""The equation of one order parameter with its means, against the solver module's rates."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.api.results.equations.explained import Explanation

STATE = {
    "Q": [[0.5, 0.1], [0.1, 0.8]],
    "R": [[0.2, 0.1, -0.3], [0.1, 0.3, 0.2]],
    "T": [[1.0, 0.1, 0.0], [0.1, 1.2, 0.2], [0.0, 0.2, 0.9]],
}
V, TAUGHT = [0.6, -0.9], [0.4, -0.7, 1.1]


def stated(teacher: str) -> sd.Problem:
    return sd.Problem(
        "erf",
        students=2,
        teachers=3,
        teacher_activation=teacher,
        learning_rate=1.3,
        second_layer_learning_rate=0.7,
        student_weights=V,
        teacher_weights=TAUGHT,
        train_second_layer=True,
        weight_decay=0.2,
        label_noise=0.4,
    )


@pytest.fixture(scope="module")
def problem() -> sd.Problem:
    return stated("erf")


def evaluated(found: Explanation) -> float:
    """Put the values of means, of the state and of the rates into the equation that is shown."""
    means = {mean: each.value for mean, each in found.means.items()}
    whole = found.equation.xreplace(dict(found.definitions)).xreplace(means)
    arrays: dict[str, Any] = {**STATE, "v": V, "v_teacher": TAUGHT}
    numbers = {
        "learning_rate": 1.3,
        "second_layer_learning_rate": 0.7,
        "weight_decay": 0.2,
        "label_noise": 0.4,
    }
    values = {
        each: np.array(arrays[str(each.base.label)])[tuple(int(n) for n in each.indices)]
        for each in whole.atoms(sp.Indexed)
    }
    left = whole.xreplace(values)
    return float(left.xreplace({each: numbers[each.name] for each in left.free_symbols}))


@pytest.mark.parametrize("name", ["Q[1,2]", "Q[2,2]", "R[2,3]", "v[1]", "generalization_error"])
def test_the_means_that_are_shown_add_up_to_the_rate_of_the_solver(
    problem: sd.Problem, name: str
) -> None:
    found = problem.explain(name, STATE)
    assert evaluated(found) == pytest.approx(float(found.value), rel=1e-11)
    overlaps = {
        f"{letter}{i + 1}{j + 1}": entry
        for letter, rows in STATE.items()
        for i, row in enumerate(rows)
        for j, entry in enumerate(row)
    }
    for mean in found.means.values():
        assert mean.closed_form is not None
        names = {each: overlaps[each.name] for each in mean.closed_form.free_symbols}
        assert float(mean.closed_form.xreplace(names)) == pytest.approx(mean.value, rel=1e-12)


@pytest.mark.turns(6)
def test_so_do_those_of_a_teacher_with_another_activation() -> None:
    for name in ("Q[1,2]", "R[2,3]", "generalization_error"):
        found = stated("linear").explain(name, STATE)
        assert evaluated(found) == pytest.approx(float(found.value), rel=1e-11)


def test_an_explanation_is_text_and_data(problem: sd.Problem) -> None:
    found = problem.explain("R[2,3]", STATE)
    text = found.to_text()
    assert "dR₂₃/dα = " in text
    assert "⟨g′(x₁) g′(x₂)⟩ = 0.388153" in text
    assert f"{float(found.value):.10g}" in text
    assert "<math" in found._repr_html_()
    assert len(found.to_dict()["means"]) == len(found.means)
    assert "means" in repr(found)


def test_with_several_eigenvalues_the_equation_is_that_of_each() -> None:
    inputs = sd.PowerLaw(3, exponent=1.0, dimension=300)
    problem = sd.Problem("erf", students=2, teachers=1, inputs=inputs, student_std=0.5)
    found = problem.explain("R[1,1]")
    np.testing.assert_allclose(found.value, problem.rates().d_cross_overlap[:, 0, 0])
    assert r"r_{k,11}" in found.left


@pytest.mark.turns(6)
def test_a_mean_without_closed_form_has_its_value_alone() -> None:
    found = sd.Problem("x*tanh(x)", students=1, teachers=1).explain("generalization_error")
    assert all(mean.closed_form is None for mean in found.means.values())
    assert "I₂(x₁, y₁) = " in found.to_text()


@pytest.mark.parametrize(
    ("changes", "name", "said"),
    [
        ({}, "Q[1,3]", "not an order parameter"),
        ({}, "q", "not an order parameter"),
        ({"train_second_layer": False, "second_layer_learning_rate": None}, "v[1]", "not change"),
        ({"student_biases": 0.3}, "Q[1,1]", "without bias"),
    ],
)
def test_what_is_not_explained_is_refused(
    problem: sd.Problem, changes: dict[str, Any], name: str, said: str
) -> None:
    with pytest.raises(sd.SymderivError, match=said) as caught:
        problem.replace(**changes).explain(name, STATE)
    assert caught.value.argument == "name"
