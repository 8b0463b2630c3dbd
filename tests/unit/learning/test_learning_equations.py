"""The derived equations: their form, their steps, and which activations are refused."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module

import pytest
import sympy as sp

from symderiv.errors import DivergentError
from symderiv.learning import derive_equations, generate, learning_problem, solver_program
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.moment_hierarchy import (
    closure_coefficients,
    definition,
    student_moment,
)
from symderiv.learning.narration import narrator

SECTIONS = [
    "setup",
    "update",
    "order_parameters",
    "generalization_error",
    "drift",
    "noise",
    "second_layer",
    "equations",
    "moment_equations",
]


@pytest.fixture(scope="module")
def equations():
    return derive_equations(learning_problem("erf"))


def test_the_derivation_has_its_sections_in_order(equations) -> None:
    told = narrator.sections(equations)
    assert [section.key for section in told] == SECTIONS
    for section in told:
        assert section.title
        assert section.steps
        assert all(step.rule and step.statement and step.after for step in section.steps)


def test_the_overlap_of_two_students_is_symmetric_in_them(equations) -> None:
    rate = equations.spectral.student_overlap
    swapped = rate.xreplace({s.i: s.j, s.j: s.i})

    def sorted_symmetric(expression):
        def order(element):
            name = str(element.base.label)
            if name in ("student_overlap", "Gamma"):
                *first, a, b = element.indices
                return element.base[(*first, *sorted((a, b), key=str))]
            return element

        return expression.xreplace({e: order(e) for e in expression.atoms(sp.Indexed)})

    assert sp.expand(sorted_symmetric(rate) - sorted_symmetric(swapped)) == 0


def test_weight_decay_acts_twice_on_overlaps_of_two_students(equations) -> None:
    assert equations.spectral.student_overlap.coeff(s.kappa) == (
        -2 * s.student_overlap[s.k, s.i, s.j]
    )
    assert equations.spectral.cross_overlap.coeff(s.kappa) == -s.cross_overlap[s.k, s.i, s.n]


def test_the_second_order_term_is_the_eigenvalue_times_gamma(equations) -> None:
    assert equations.spectral.student_overlap.coeff(s.eta, 2) == (
        s.eigenvalue[s.k] * s.Gamma[s.i, s.j]
    )
    assert equations.spectral.cross_overlap.coeff(s.eta, 2) == 0


def test_indices_are_whole_numbers_and_coordinates_are_counted_from_one() -> None:
    """Sums over powers of -1 and the like are then real, and coordinates never zero."""
    for index in (s.i, s.n, s.k, s.c, s.a, s.b):
        assert ((-1) ** (2 * index)).simplify() == 1
    assert sp.Abs(s.a) == s.a
    assert sp.Abs(s.b) == s.b


def test_rates_have_the_indices_of_their_overlaps(equations) -> None:
    """Q_ij of two students, R_in of a student and a teacher; no others are free."""
    for found in (equations.components, equations.spectral):
        for rate, own in ((found.student_overlap, {s.i, s.j}), (found.cross_overlap, {s.i, s.n})):
            assert rate.free_symbols & {s.i, s.j, s.n} == own


def test_the_component_axis_sums_over_probabilities(equations) -> None:
    for rate in (equations.components.student_overlap, equations.components.cross_overlap):
        for term in sp.Add.make_args(rate):
            assert term.has(s.probability) or term.has(s.kappa)


def test_moments_of_one_eigenvalue_are_powers_of_it() -> None:
    value = definition(student_moment[2, s.i, s.j]).xreplace({s.L: sp.Integer(1)}).doit()
    assert value == s.weight[0] * s.eigenvalue[0] ** 2 * s.student_overlap[0, s.i, s.j]


def test_the_closure_polynomial_vanishes_at_every_eigenvalue() -> None:
    eigenvalues = [Fraction(3, 2), Fraction(1, 3), Fraction(2, 7), Fraction(5)]
    coefficients = [*closure_coefficients(eigenvalues), 1]
    for rho in eigenvalues:
        assert sum(c * rho**power for power, c in enumerate(coefficients)) == 0


def test_a_sign_student_is_refused_and_the_diverging_term_is_named() -> None:
    with pytest.raises(DivergentError, match=r"Γ_ii.*sign\(x\).*teacher's") as caught:
        generate("sign", "sign", "erf")
    assert "\n" not in str(caught.value)


def test_a_step_student_is_refused_too() -> None:
    with pytest.raises(DivergentError, match="Γ_ii"):
        generate("step", "step")


def test_equal_activations_share_their_functions() -> None:
    program = solver_program(derive_equations(learning_problem("erf")), "shared")
    names = [function.name for function in program.functions]
    assert "i2" in names
    assert not any(name.endswith(("_ss", "_st", "_tt")) for name in names)


def test_a_formula_equal_to_a_named_activation_gives_the_same_functions() -> None:
    named = solver_program(derive_equations(learning_problem("erf")), "a")
    spelled = solver_program(derive_equations(learning_problem("erf(x/sqrt(2))")), "a")
    assert named == spelled


@pytest.mark.parametrize(
    ("name", "distinguishes"), [("erf", False), ("gelu", False), ("relu", True), ("erf_sign", True)]
)
def test_coinciding_indices_are_told_apart_only_where_it_matters(
    name: str, distinguishes: bool
) -> None:
    module = import_module(f"symderiv_kernels.fast.{name}")
    assert any("_aa" in function for function in vars(module)) == distinguishes


@pytest.mark.turns(6)
def test_waves_and_error_functions_together_have_closed_means_in_modules() -> None:
    text = generate("mixed", "sin(x) + erf(x)")
    assert "ACTIVATION_METHOD" not in text
    assert "erfi" not in text


@pytest.mark.turns(6)
def test_different_rough_activations_can_be_combined() -> None:
    text = generate("mixed", "relu", "erf")
    compile(text, "mixed", "exec")
    assert "def i4_st_aabc(" in text


@pytest.mark.turns(6)
def test_generation_is_deterministic() -> None:
    assert generate("one", "x**2/2", "sin") == generate("one", "x**2/2", "sin")


def test_output_weights_move_as_gradient_descent_moves_them_on_average() -> None:
    """Linear units: the mean of -η_v x_i (v·x - w·y) - κ_v v_i, with E x x = Q and E x y = R."""
    derived = derive_equations(learning_problem("linear"))
    K, M = 2, 3
    Q, R = sp.Matrix([[2, 1], [1, 5]]), sp.Matrix([[1, -1, 2], [3, 1, 1]])
    v, w = sp.Matrix([3, -2]), sp.Matrix([1, 4, -1])
    eta, kappa = sp.Rational(3, 7), sp.Rational(2, 11)
    step = -eta * (Q * v - R * w) - kappa * v
    rates = {s.eta_v: eta, s.kappa_v: kappa, s.K: sp.Integer(K), s.M: sp.Integer(M)}

    def mean(product: sp.Expr) -> sp.Expr:
        bases = [product.base] * 2 if product.is_Pow else product.args
        fields = sorted((f.args[1] for f in bases), key=lambda field: field.has(s.y))
        (one,), (other,) = (field.indices for field in fields)
        return (R if fields[1].has(s.y) else Q)[one, other]

    for unit in range(K):
        here = {s.i: sp.Integer(unit)}
        gradient = derived.second_layer_gradient.xreplace(here).xreplace(rates).doit()
        gradient = gradient.replace(s.Average, mean)
        velocity = derived.spectral.second_layer.xreplace({s.dv[s.i]: gradient}).xreplace(here)
        values = {s.v[a]: v[a] for a in range(K)} | {s.v_teacher[n]: w[n] for n in range(M)}
        velocity = velocity.xreplace(rates).subs(values)
        assert velocity == step[unit]
