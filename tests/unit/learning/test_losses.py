"""Losses of any form: their slopes, the fields that means run over, modules and their check."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from symderiv.checking.checked_module import GeneratedError
from symderiv.checking.generated_check import check_generated
from symderiv.formula.as_function import as_function
from symderiv.formula.named_losses import NAMED
from symderiv.foundation.errors import DivergentError, NotYetError
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET, learning_problem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.loss import loss
from symderiv.lowering.means import force_error
from symderiv.lowering.means.force_fields import ForceFields, along_lattice
from symderiv.lowering.means.loss_means import LossMeans, force_rule
from symderiv.lowering.means.numeric_loss import NumericLoss
from symderiv.lowering.programs.loss_program import loss_program
from symderiv.lowering.solver_files import SolverText, solver_of


def problem(name, target="sum", student="erf", teacher=None, **features):
    return learning_problem(
        student, teacher, LearningRule(loss=loss(name), target=target, **features)
    )


@pytest.mark.parametrize("name", [*NAMED, "log(1+exp(-2*s*t))**2", "(s-t)**4/4"])
def test_slopes_are_derivatives_of_the_loss(name):
    found = NumericLoss(loss(name))
    value = sp.lambdify((OUTPUT, TARGET), loss(name).expression, "numpy")
    softplus = {"SoftPlus": lambda u: np.logaddexp(0, u)}
    slope = sp.lambdify((OUTPUT, TARGET), found.slope, [softplus, "numpy"])
    h = 1e-5
    for s, t in ((0.3, -0.8), (1.7, 0.2), (-2.1, 1.3), (2.4, 0.9)):
        difference = (value(s + h, t) - value(s - h, t)) / (2 * h)
        np.testing.assert_allclose(slope(s, t), difference, rtol=1e-7, atol=1e-9)


def test_kinks_are_where_slopes_jump():
    assert NumericLoss(loss("hinge")).kinks == (1 - OUTPUT * TARGET,)
    assert NumericLoss(loss("logistic")).kinks == ()
    assert sp.Abs(OUTPUT - TARGET) - 1 in NumericLoss(loss("huber")).kinks
    with pytest.raises(NotYetError, match="loss: not yet: the slope of the loss"):
        NumericLoss(loss("Heaviside(s*t)"))


def test_a_loss_with_cosh_is_finite_for_large_outputs():
    _, slope, _ = NumericLoss(loss("log(cosh(s - t))")).functions()
    value, *_ = NumericLoss(loss("log(cosh(s - t))")).functions()
    floats = [as_function((OUTPUT, TARGET), each.value, "floats") for each in (value, slope)]
    assert [each(1e4, 0.5) for each in floats] == [pytest.approx(9999.5 - math.log(2)), 1.0]
    for s in (-30.0, -3.0, 1e-8, 19.0):
        assert floats[0](s, 0.0) == pytest.approx(math.log(math.cosh(s)), rel=1e-15)
        assert floats[1](s, 0.0) == pytest.approx(math.sinh(s) / math.cosh(s), rel=1e-15)
    arrays = as_function([OUTPUT, TARGET], sp.sinh(OUTPUT) / sp.cosh(OUTPUT) + TARGET)
    np.testing.assert_allclose(arrays(np.array([-1e5, 1e5]), np.zeros(2)), [-1.0, 1.0])


@pytest.mark.parametrize(
    ("asked", "units", "noisy", "along"),
    [
        (problem("logistic"), (1, 1), True, False),
        (problem("logistic"), (2, 2), False, False),
        (problem("logistic"), (3, 2), False, True),
        (problem("logistic"), (2, 2), True, True),
        (problem("logistic", "sign"), (3, 1), True, False),
        (problem("logistic", "sign"), (1, 2), False, True),
        (problem("logistic", "sign", "erf", "quadratic"), (1, 1), False, True),
        (problem("logistic", "sign", "linear"), (5, 4), True, False),
        (problem("logistic", "sum", "linear"), (5, 4), True, False),
        (problem("hinge", "sign", "relu", "linear"), (1, 7), True, False),
        (problem("hinge", "sign"), (2, 1), False, True),
        (problem("huber"), (1, 2), False, True),
    ],
)
def test_where_means_go_along_a_lattice(asked, units, noisy, along):
    assert along_lattice(ForceFields(asked).flags, *units, noisy) is along


def test_means_that_do_not_exist_are_refused():
    with pytest.raises(DivergentError, match=r"exponential.*diverges"):
        ForceFields(problem("exponential", "sum", "linear"))
    with pytest.raises(DivergentError, match="it jumps"):
        ForceFields(problem("logistic", "sum", "sign"))
    ForceFields(problem("exponential", "sign", "linear"))
    with pytest.raises(NotYetError, match="keep: cannot be combined with the loss 'logistic'"):
        ForceFields(problem("logistic", dropout=True)).check_masks(9)


def test_losses_with_poles_come_to_the_search_for_errors_that_refuses_them():
    fields = ForceFields(problem("sqrt(Abs(s - t))"))  # infinite slope where outputs saturate

    def pole(*_):
        raise ZeroDivisionError  # as in Python; compiled functions give infinity

    trial = SimpleNamespace(means=pole, flips=False, biases=False)
    rule = force_rule(1.0, 1.0, 1e-8, 7.0)
    assert force_error.largest_deviation(trial, rule, 1e-8, fields.flags) == math.inf


@pytest.fixture(scope="module")
def made():
    asked = problem("logistic", "sign")
    with pytest.MonkeyPatch.context() as patch:
        # the search for errors takes seconds
        patch.setattr(force_error, "largest_deviation", lambda *_: 1e-12)
        means = LossMeans(asked, 1e-8)
    return asked, means, solver_of(loss_program(derive_equations(asked), "made", means))


@pytest.mark.turns(6)
def test_modules_agree_with_their_definition(made):
    asked, _, text = made
    check_generated(text, asked)
    assert "l = log(1 + exp(-s*t)), l_s its derivative" in text.readable


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (
            "readable",
            "return -t / (math.exp(s * t) + 1.0)",
            "return -t / (math.exp(s * t) + 1.001)",
        ),
        ("fast", "sums[4] += added * (1.0 - 2.0 * flip)", "sums[4] += 1.001 * added"),
        ("fast", "above = label[0] * place", "above = 1.01 * label[0] * place"),
    ],
)
def test_a_module_that_computes_something_else_is_not_written(made, name, old, new):
    asked, _, text = made
    parts = {"readable": text.readable, "fast": text.fast}
    assert old in parts[name]
    parts[name] = parts[name].replace(old, new)
    with pytest.raises(GeneratedError, match="but the statement gives"):
        check_generated(SolverText(**parts), asked)


def test_the_error_search_sees_a_coarse_rule(made):
    _, means, _ = made
    rule = means.rule
    coarse = type(rule)(rule.steps, (6.0, 6.0, *rule.panels[2:]))
    place = force_error.ForcePlace(1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0)
    apart = [
        means.trial.means(each, place) - means.trial.means(force_error.finer(rule), place)
        for each in (rule, coarse)
    ]
    fine, wrong = (float(np.abs(each).max()) for each in apart)
    assert fine < 1e-6 < wrong


@pytest.mark.parametrize(
    ("teacher", "keeps"),
    [
        ("x*(x**2 - 1.1)*(x**2 - 3.9)", False),
        ("x**3 + x", True),
        ("softplus", False),
        ("-x", False),
    ],
)
def test_a_teacher_keeps_signs_if_it_has_no_zero_but_one_at_zero(teacher, keeps):
    asked = problem("hinge", "sign", "erf", teacher)
    assert asked.teacher_keeps_sign is keeps
    assert ForceFields(asked).flags["TEACHER_KEEPS_SIGN"] == keeps
