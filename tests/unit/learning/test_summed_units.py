"""Coefficients of a few units, summed over all: at other numbers of units, and what is refused."""

import functools
import operator
from dataclasses import replace

import pytest
import sympy as sp
from unit.learning.test_rule_equations import ALL as EVERY_NOISE

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.named_rule import FEW, NamedRule, named_rule
from symderiv.learning.derivation.rule_equations import RuleEquations
from symderiv.learning.derivation.summed_units import summed
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.loss import loss
from symderiv.statement.stated_problem import Update

MORE = {"K": 5, "M": 3}
RULES = {
    "plain": LearningRule(),
    "every noise": EVERY_NOISE,
    "velocities": LearningRule(momentum=True, biases=True, trained_biases=True),
    "batches": LearningRule(batches=True),
    "unit steps": LearningRule(normalise="gradient"),
    "logistic": LearningRule(loss=loss("logistic"), dropout=True),
    "signs": LearningRule(target="sign", flips=True),
}


def at_units(expression: sp.Expr, sizes: dict[str, int], **units: int) -> sp.Expr:
    """Sums written out by SymPy, means linear in what they are of."""
    places = {getattr(s, name): sp.Integer(number) for name, number in units.items()}
    found = expression.xreplace(places)
    found = found.xreplace({s.K: sp.Integer(sizes["K"]), s.M: sp.Integer(sizes["M"])}).doit()
    return sp.expand(found)


def directly(named: NamedRule, value: sp.Expr) -> sp.Expr:
    """A coefficient of a statement with as many units as it has, without sums."""
    return sp.expand(named.in_arrays(value))


@pytest.mark.turns(6)
@pytest.mark.parametrize("name", RULES)
def test_sums_give_what_a_statement_with_more_units_gives(name: str) -> None:
    """Means are compared before they are taken: as polynomials in functions of one example."""
    rule = RULES[name]
    few, more = (RuleEquations(named_rule(rule, sizes)) for sizes in (FEW, MORE))
    (first, second, *_), (other, *_) = more.units["J"], more.units["B"]
    rate, drift = more.rate, more.equations.drift[more.units["F"][0]]
    error, wanted = (each.equations.observables["error"] for each in (few, more))
    assert sp.expand(at_units(few.of_all(error), MORE) - directly(more.named, wanted)) == 0
    for vector, j in ((first, 0), (second, 1)):
        wanted = directly(more.named, -drift["x", vector] / rate)
        found = at_units(few.student_slope, MORE, i=0, j=j)
        assert wanted != 0
        assert sp.expand(found - wanted) == 0
    wanted = directly(more.named, -drift["x", other] / rate)
    assert sp.expand(at_units(few.teacher_slope, MORE, i=0, n=0) - wanted) == 0
    for j in (0, 1):
        wanted = more.noise_between(j, "x")
        assert sp.expand(at_units(few.forces_squared, MORE, i=0, j=j) - wanted) == 0


@pytest.mark.parametrize("momentum", [False, True])
def test_updates_move_a_student_along_other_vectors(momentum: bool) -> None:
    """J_i ← J_i + (a Σ_j J_j + 2 a J_i + 3 a Σ_n B_n)/N, besides what the rule does."""
    named, a = named_rule(LearningRule(momentum=momentum)), sp.Rational(1, 7)
    units = named.families()
    sums = {name: functools.reduce(operator.add, units[name]) for name in ("J", "B")}
    changes = {each: a * sums["J"] + 2 * a * each + 3 * a * sums["B"] for each in units["J"]}
    statement = replace(named.statement, lines=(*named.statement.lines, Update(changes)))
    plain = RuleEquations(named).drifts["J"]
    found = RuleEquations(replace(named, statement=statement)).drifts["J"]
    along = {name: found[name] - plain.get(name, 0) for name in ("J", "B")}
    assert sp.expand(along["J"] - a - 2 * a * sp.KroneckerDelta(s.i, s.j)) == 0
    assert sp.expand(along["B"] - 3 * a) == 0


def test_units_that_are_not_treated_alike_are_refused() -> None:
    for wrong in (s.v[0] + 2 * s.v[1], s.v[0] * s.v[1], s.v[2] ** 2 + s.v[3]):
        with pytest.raises(SymderivError, match="not treated alike"):
            summed(wrong, (), FEW)
