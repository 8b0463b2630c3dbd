"""What the derivation proves, against exact means of polynomials; wrong statements are refused."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv.learning.derivation
from symderiv.errors import FormulaError, SymderivError
from symderiv.learning import derive_equations, learning_problem
from symderiv.learning.derivation import example_fields as fields
from symderiv.learning.derivation import example_means as means
from symderiv.learning.derivation import (
    learning_equations,
    network_outputs,
    price,
    update,
    weight_updates,
)
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.self_averaging import (
    fluctuation,
    self_averaged,
    with_input_power,
)
from symderiv.learning.narration import narrator
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.learning.rule.loss import OUTPUT, TARGET, Loss

K, M = 2, 2
ONE_EACH = {s.K: sp.Integer(1), s.M: sp.Integer(1)}
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
    return update.Example().mean_loss


@pytest.mark.parametrize("at", [{s.i: 0, s.j: 1}, {s.i: 1, s.j: 1}, {s.i: 1, s.n: 0}])
def test_prices_rule_is_the_derivative_of_means_that_are_known_exactly(at) -> None:
    indices = tuple(at)
    base = s.R if s.n in at else s.Q
    found = by_overlaps(price.by_covariance(mean_loss(), base[indices]), at)
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
    price.prove_first_layer(mean_loss(), *right)
    with pytest.raises(SymderivError, match="differs from the derivative"):
        price.prove_first_layer(mean_loss(), of_student(right[0]), of_teacher(right[1]))


def test_wrong_gradients_of_the_second_layer_are_refused() -> None:
    right = derive_equations(LINEAR).second_layer_gradient
    price.prove_second_layer(mean_loss(), right)
    for wrong in (2 * right, right + s.v[s.i], -right):
        with pytest.raises(SymderivError, match=r"output_force.*differs"):
            price.prove_second_layer(mean_loss(), wrong)


def test_the_derivation_itself_stops_where_forces_are_not_those_of_the_loss(monkeypatch) -> None:
    right = update.Example.force_by
    for changed in (
        lambda example, field: 2 * right(example, field),
        lambda example, field: right(example, field) + s.StudentActivation(0, s.x[s.i]),
    ):
        monkeypatch.setattr(update.Example, "force_by", changed)
        with pytest.raises(SymderivError, match=r"A\[i, j\] differs"):
            learning_equations._of_all_activations.__wrapped__(PLAIN)


def test_a_force_that_depends_on_the_input_itself_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(
        network_outputs, "STUDENT", network_outputs.STUDENT + s.x[s.i] * s.xi[s.k, s.a]
    )
    with pytest.raises(SymderivError):
        _ = update.Example().force


def test_the_length_of_the_input_fluctuates_as_a_chi_square_does() -> None:
    """s_k/ρ_k is χ²(n)/n, of variance 2/n."""
    found = fluctuation(s.c)
    assert found.mean == s.eigenvalue[s.c, s.k]
    assert found.relative == 2 / s.multiplicity[s.k]


def test_the_mean_with_the_length_of_the_input_is_exact_in_three_dimensions() -> None:
    """One eigenvalue, one student and one teacher, a force x² y + 3 y² + x."""
    N, rho, variance = 3, sp.Rational(7, 5), sp.Rational(9, 2)
    J, phi = (2, -1, 3), (1, 4, sp.Rational(1, 2))
    xi, y = sp.symbols("xi:3"), sp.Symbol("y")

    def covariance(one: sp.Symbol, other: sp.Symbol) -> sp.Expr:
        if one == other:
            return variance if one == y else rho
        if y in (one, other):
            return phi[xi.index(one if other == y else other)] / sp.sqrt(N)
        return sp.Integer(0)

    x_name = sp.Symbol("x")
    function = x_name**2 * y + 3 * y**2 + x_name
    in_input = sum(a * b for a, b in zip(J, xi, strict=True)) / sp.sqrt(N)

    def mean(f: sp.Expr) -> sp.Expr:
        return mean_of(sp.expand(f.subs(x_name, in_input)), covariance, (*xi, y))

    force = s.F[s.i]
    product = s.ComponentAverage(s.xi_square[s.k] * force, s.c)
    statement = with_input_power(product).xreplace(ONE_EACH).doit()
    names = {s.x[0]: x_name, s.y[0]: y}

    def value(f: sp.Expr, _: sp.Expr) -> sp.Expr:
        by = [names[z] for z in f.args[1:]] if isinstance(f, s.Partial) else []
        return mean(sp.diff(function, *by) if by else function)

    overlap = {
        s.student_overlap[s.k, 0, 0]: sum(a * a for a in J) / sp.Integer(N),
        s.cross_overlap[s.c, s.k, 0, 0]: sum(a * b for a, b in zip(J, phi, strict=True)) / N,
        s.teacher_overlap[s.c, s.c, s.k, 0, 0]: sum(b * b for b in phi) / N,
        s.eigenvalue[s.c, s.k]: rho,
        s.N: sp.Integer(N),
    }
    found = statement.replace(s.ComponentAverage, value).xreplace(overlap)
    assert sp.expand(found - mean(sum(z**2 for z in xi) / N * function)) == 0
    assert self_averaged(product) == s.eigenvalue[s.c, s.k] * s.ComponentAverage(force, s.c)


def test_a_mean_that_grows_with_the_dimension_is_refused() -> None:
    product = sp.sqrt(s.N) * s.F[s.i] * s.xi_square[s.k]
    with pytest.raises(SymderivError, match="orders"):
        self_averaged(s.ComponentAverage(product, s.c))


def test_weights_whose_change_is_not_of_order_one_over_n_are_refused() -> None:
    name = s.v[s.i]
    for change in (s.eta * s.F[s.i], s.eta * s.F[s.i] / sp.sqrt(s.N), s.v[s.i] / s.N**2):
        with pytest.raises(SymderivError, match="orders"):
            weight_updates.order_one(name, change)
    velocity = -s.eta_v * s.output_force[s.i] - s.kappa_v * name
    moved = weight_updates.OUTPUT_WEIGHT.changes(LearningRule(), s.output_force[s.i])
    assert moved == {name: velocity}


def test_steins_rule_for_several_gaussian_factors_is_wicks() -> None:
    """E[ξ_a² F]: with F = 1 in the place of the force its derivatives vanish."""
    mean = s.ComponentAverage(s.xi[s.k, s.a] ** 2 * s.F[s.i], s.c)
    once = means.rewrite(means.stein(mean), means.stein)
    constant = once.replace(
        s.ComponentAverage, lambda f, _: sp.Integer(0 if isinstance(f, s.Partial) else 1)
    ).doit()
    assert constant == fields.covariance(s.xi[s.k, s.a], s.xi[s.k, s.a], s.c)


RIDGE = Loss("ridge", (OUTPUT - TARGET) ** 2 / 2 + OUTPUT**2 / 6 - OUTPUT / 5)


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
        linear_part = by_overlaps(means.mean_over_example(_second_slope()), at)
        assert sp.expand(own - other - other.subs(shift) / 3 + linear_part / 5) == 0
    told = {section.key: section for section in narrator.sections(equations)}
    assert r"\frac{\partial \left\langle \epsilon \right\rangle}{\partial Q_{ij}}" in (
        told["drift"].steps[-1].after
    )
    assert "mean loss" in told["drift"].steps[-1].statement


def _second_slope() -> sp.Expr:
    """∂²s/∂x_i∂x_j."""
    return sp.KroneckerDelta(s.i, s.j) * s.v[s.i] * s.StudentActivation(2, s.x[s.i])


LOGISTIC = Loss("logistic", sp.log(1 + sp.exp(-OUTPUT * TARGET)))
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(48)


def by_quadrature(expression: sp.Expr, covariance: tuple[float, float, float], v: float) -> float:
    """Means with the logistic loss of sin(x) and 1.3 tanh(y), without label noise."""
    a, b, c = covariance
    x = (a**0.5 * NODES)[:, None]
    y = b / a**0.5 * NODES[:, None] + (c - b * b / a) ** 0.5 * NODES
    z = sp.Symbol("z", real=True)

    def of(function: sp.Expr, order: int, field: Any) -> Any:
        return sp.lambdify(z, sp.diff(function, z, order), "numpy")(field)

    def loss(m: int, n: int) -> Any:
        slope = sp.diff(LOGISTIC.expression, (OUTPUT, m), (TARGET, n))
        return sp.lambdify((OUTPUT, TARGET), slope, "numpy")(
            v * np.sin(x), 1.3 * of(sp.tanh(z), 0, y)
        )

    def mean(product: sp.Expr) -> sp.Float:
        values: Any = 1.0
        for factor in sp.Mul.make_args(product):
            base, power = factor.as_base_exp()
            order, at = base.args
            if isinstance(base, s.LossSlope):
                value = loss(int(order), int(at))
            elif isinstance(base, s.TeacherActivation):
                value = of(sp.tanh(z), int(order), y)
            else:
                value = of(sp.sin(z), int(order), x)
            values = values * value ** int(power)
        return sp.Float(np.sum(np.outer(WEIGHTS, WEIGHTS) * values) / (2 * np.pi))

    one = {s.i: sp.Integer(0), s.j: sp.Integer(0), s.n: sp.Integer(0), **ONE_EACH}
    found = expression.xreplace(one).doit().replace(s.Average, mean)
    return float(found.subs({s.v[0]: v, s.v_teacher[0]: 1.3}))


def test_a_loss_that_is_no_polynomial_has_gradients_of_its_mean() -> None:
    """Derivatives of the mean loss by differences, one student and one teacher."""
    equations = derive_equations(
        LearningProblem(LINEAR.student, LINEAR.teacher, LearningRule(LOGISTIC))
    )
    loss = update.Example(LearningRule(loss=LOGISTIC)).mean_loss
    at, v, h = (0.8, 0.5, 1.1), 0.9, 1e-4

    def difference(place: int) -> float:
        ends = []
        for sign in (1, -1):
            moved = [*at, v]
            moved[place] += sign * h
            ends.append(by_quadrature(loss, (moved[0], moved[1], moved[2]), moved[3]))
        return (ends[0] - ends[1]) / (2 * h)

    found = [
        by_quadrature(gradient, at, v)
        for gradient in (
            equations.student_gradient,
            equations.teacher_gradient,
            equations.second_layer_gradient,
        )
    ]
    expected = [2 * difference(0), difference(1), difference(3)]
    assert found == pytest.approx(expected, rel=1e-6)
    assert min(map(abs, found)) > 0.01
    slope = s.LossSlope(1, 0) ** 2
    first, second = (s.StudentActivation(1, s.x[unit]) for unit in (s.i, s.j))
    assert equations.noise == s.v[s.i] * s.v[s.j] * s.Average(slope * first * second)
    assert equations.spectral == derive_equations(LINEAR).spectral


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


def test_a_loss_in_other_symbols_is_refused() -> None:
    with pytest.raises(FormulaError, match="s and t, not in q"):
        Loss("other", OUTPUT * sp.Symbol("q"))


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
