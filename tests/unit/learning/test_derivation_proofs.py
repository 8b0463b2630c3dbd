"""What the derivation proves, against exact means of polynomials; wrong statements are refused."""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sympy as sp

import symderiv.learning.derivation
from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import price
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import mean_over_example
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.derivation.rule_equations import RuleEquations, equations_of
from symderiv.learning.narration import narrator, shown_steps
from symderiv.learning.rule.learning_problem import (
    LearningProblem,
    learning_problem,
)
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.learning.rule.loss import Loss

K, M = 2, 2
LINEAR = learning_problem("linear")


def isserlis(factors: tuple[Any, ...], covariance: Callable[[Any, Any], sp.Expr]) -> sp.Expr:
    """The mean of a product of Gaussian variables."""
    if len(factors) < 2:
        return sp.Integer(not factors)
    first, *others = factors
    return sp.Add(
        *(
            covariance(first, other) * isserlis((*others[:place], *others[place + 1 :]), covariance)
            for place, other in enumerate(others)
        )
    )


def mean_of(polynomial: sp.Expr, covariance: Callable[[Any, Any], sp.Expr], of: Any) -> sp.Expr:
    """The mean of a polynomial in Gaussian variables."""
    total = sp.Integer(0)
    for powers, coefficient in sp.Poly(polynomial, *of).terms():
        factors = tuple(z for z, power in zip(of, powers, strict=True) for _ in range(power))
        total += coefficient * isserlis(factors, covariance)
    return sp.expand(total)


def student(x: sp.Expr) -> sp.Expr:
    return x**3 / 3 - x**2 / 2 + x


def teacher(y: sp.Expr) -> sp.Expr:
    return y**2 + 2 * y


def by_overlaps(expression: sp.Expr, at: dict[sp.Idx, int]) -> sp.Expr:
    """Sums written out for two units each, means as polynomials in the overlaps."""
    x, y = sp.symbols("x:2"), sp.symbols("y:2")
    every = (*x, *y)

    def covariance(one: Any, other: Any) -> sp.Expr:
        one, other = sorted((one, other), key=every.index)
        first, second = every.index(one), every.index(other)
        base = s.Q if second < K else s.T if first >= K else s.R
        return base[first % K, second % K]

    def slope(function: Callable[[sp.Expr], sp.Expr], order: int, field: sp.Expr) -> sp.Expr:
        return sp.diff(function(sp.Symbol("z")), sp.Symbol("z"), order).subs(sp.Symbol("z"), field)

    def mean(product: sp.Expr) -> sp.Expr:
        product = product.replace(
            s.TeacherActivation, lambda order, at: slope(teacher, order, y[at.indices[0]])
        ).replace(s.StudentActivation, lambda order, at: slope(student, order, x[at.indices[0]]))
        return mean_of(product, covariance, every)

    numbers = {index: sp.Integer(number) for index, number in at.items()}
    sizes = {s.K: sp.Integer(K), s.M: sp.Integer(M)}
    return sp.expand(expression.xreplace(numbers).xreplace(sizes).doit().replace(s.Average, mean))


def mean_loss() -> sp.Expr:
    return equations_of(PLAIN).mean_loss


@pytest.mark.parametrize("at", [{s.i: 0, s.j: 1}, {s.i: 1, s.j: 1}, {s.i: 1, s.n: 0}])
def test_prices_rule_is_the_derivative_of_means_that_are_known_exactly(at) -> None:
    indices = tuple(at)
    base = s.R if s.n in at else s.Q
    found = by_overlaps(
        price.by_covariance(mean_loss(), base[indices], equations_of(PLAIN).outputs), at
    )
    variable = base[tuple(at.values())]
    assert found == sp.expand(sp.diff(by_overlaps(mean_loss(), {}), variable)) != 0


@pytest.mark.parametrize(
    ("of_student", "of_teacher"),
    [
        (lambda a: a / 2, lambda b: b),
        (lambda a: a, lambda b: -b),
        (lambda a: a.xreplace({sp.KroneckerDelta(s.i, s.j): sp.Integer(0)}), lambda b: b),
        (lambda a: a.xreplace({sp.KroneckerDelta(s.i, s.j): sp.Integer(1)}), lambda b: b),
        (lambda a: a + s.sigma**2 * sp.KroneckerDelta(s.i, s.j), lambda b: b),
        (lambda a: a, lambda b: b.xreplace({s.v[s.i]: s.v[s.j]})),
    ],
)
def test_wrong_gradients_of_the_first_layer_are_refused(of_student, of_teacher) -> None:
    equations = derive_equations(LINEAR)
    right = equations.student_gradient, equations.teacher_gradient
    outputs = equations_of(PLAIN).outputs
    price.prove_first_layer(mean_loss(), *right, outputs)
    with pytest.raises(SymderivError, match="differs from the derivative"):
        price.prove_first_layer(mean_loss(), of_student(right[0]), of_teacher(right[1]), outputs)


def test_wrong_gradients_of_the_second_layer_are_refused() -> None:
    right = derive_equations(LINEAR).second_layer_gradient
    outputs = equations_of(PLAIN).outputs
    price.prove_second_layer(mean_loss(), right, outputs)
    for wrong in (2 * right, right + s.v[s.i], -right):
        with pytest.raises(SymderivError, match=r"output_force.*differs"):
            price.prove_second_layer(mean_loss(), wrong, outputs)


def test_what_is_told_stops_where_coefficients_are_not_those_of_the_loss(monkeypatch) -> None:
    right = equations_of(PLAIN).gradients
    for changed in ((2 * right[0], right[1]), (right[0] + s.v[s.i], right[1])):
        monkeypatch.setattr(RuleEquations, "gradients", changed)
        with pytest.raises(SymderivError, match=r"A\[i, j\] differs"):
            shown_steps._of_all_activations.__wrapped__(LearningRule(update_noise=True))


RIDGE = Loss("ridge", "(s - t)**2/2 + s**2/6 - s/5")


def test_another_loss_goes_through_the_same_steps() -> None:
    """ℓ = δ²/2 + s²/6 - s/5: forces v_i g'(x_i) (δ + s/3 - 1/5), linear units."""
    equations = derive_equations(
        LearningProblem(LINEAR.student, LINEAR.teacher, LearningRule(RIDGE))
    )
    squared = derive_equations(LINEAR)
    assert equations.spectral == squared.spectral
    assert equations.generalization_error == squared.generalization_error
    for at in ({s.i: 0, s.j: 1}, {s.i: 1, s.j: 1}):
        own, other = (by_overlaps(e.student_gradient, at) for e in (equations, squared))
        shift = {s.v_teacher[m]: 0 for m in range(M)}
        linear_part = by_overlaps(mean_over_example(_second_slope()), at)
        assert sp.expand(own - other - other.subs(shift) / 3 + linear_part / 5) == 0
    told = {section.key: section for section in narrator.sections(equations)}
    assert r"\frac{\partial \left\langle \epsilon \right\rangle}{\partial Q_{ij}}" in (
        told["drift"].steps[-1].after
    )
    assert "mean loss" in told["drift"].steps[-1].statement


def _second_slope() -> sp.Expr:
    """∂²s/∂x_i∂x_j."""
    return sp.KroneckerDelta(s.i, s.j) * s.v[s.i] * s.StudentActivation(2, s.x[s.i])


LOGISTIC = Loss("logistic", "log(1 + exp(-s*t))")


def test_what_is_told_of_another_loss_does_not_speak_of_the_error() -> None:
    equations = derive_equations(
        LearningProblem(LINEAR.student, LINEAR.teacher, LearningRule(LOGISTIC))
    )
    told = {section.key: section.steps for section in narrator.sections(equations)}
    words = " ".join(step.statement for key in ("drift", "second_layer") for step in told[key])
    assert "mean loss" in words
    assert "error" not in words
    assert "drops out" not in words
    assert all(step.rule != "names" for key in ("noise", "second_layer") for step in told[key])


def _texts(tree: ast.Module) -> list[str]:
    """Literal texts of a module but for documentation and error messages."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            skipped |= {id(inner) for inner in ast.walk(node)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if id(node) not in skipped
    ]


def test_the_derivation_has_no_words_and_no_latex() -> None:
    folder = Path(symderiv.learning.derivation.__file__).parent
    names = {"symbols.py": "learning_rate second_layer_learning_rate weight_decay"}
    for path in sorted(folder.glob("*.py")):
        for text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            listed = text.startswith(names.get(path.name, "\0")) or text == "K M L N C"
            assert "\\" not in text, (path.name, text)
            assert "$" not in text, (path.name, text)
            assert listed or " " not in text, (path.name, text)
