"""One walk over trees: what it computes, how often, and that all numbers agree on all functions."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb, ctx

from symderiv.formula import evaluate_scalar
from symderiv.formula.as_function import as_function
from symderiv.formula.known_functions import FUNCTIONS, IN_LATEX, KNOWN
from symderiv.formula.walker import (
    Domain,
    Meaning,
    added,
    compiled_walk,
    constant,
    multiplied,
    value_of,
)
from symderiv.gaussian.forms.evaluate import number
from symderiv.lowering.means.numeric_activation import SoftPlus
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.quadrature.one_variable import OneVariable

x, y = sp.symbols("x y", real=True)
PLACES = {"acosh": (sp.Rational(7, 3), sp.Rational(9, 8))}
OUTSIDE = (sp.Rational(-2, 7), sp.Rational(3, 8))
WITH_BALLS = [name for name, function in KNOWN.items() if function.ball]


class Counting:
    """Fractions, and how often each node is asked for and computed."""

    def __init__(self) -> None:
        self.asked: Counter[Any] = Counter()
        self.computed: Counter[Any] = Counter()

    def meaning(self, node: sp.Expr) -> Meaning:
        self.asked[node] += 1
        if node.is_Rational:
            return constant(node)
        function, parts = added(node.args) if node.is_Add else multiplied(node.args)
        if not (node.is_Add or node.is_Mul):
            function, parts = (lambda a, b: a**b), node.args

        def counted(*values: Any) -> Any:
            self.computed[node] += 1
            return function(*values)

        return counted, parts


TREE = (x + 2) ** 3 * y + 5 / (x + 2) ** 3 + x + 2


@pytest.mark.parametrize("of", ["at once", "compiled"])
def test_equal_nodes_are_computed_once(of: str) -> None:
    domain: Domain = Counting()
    if of == "at once":
        found = value_of(TREE, domain, {x: sp.Rational(1, 2), y: sp.Integer(-7)})
    else:
        found = compiled_walk(TREE, domain, (x, y))(sp.Rational(1, 2), sp.Integer(-7))
    assert found == TREE.subs({x: sp.Rational(1, 2), y: -7})
    assert isinstance(domain, Counting)
    assert set(domain.asked.values()) == {1}
    assert set(domain.computed.values()) == {1}


def test_a_compiled_tree_runs_again_with_other_values_and_is_not_read_again() -> None:
    domain = Counting()
    run = compiled_walk(TREE, domain, (x, y))
    asked = domain.asked.copy()
    for first, second in ((1, 2), (-5, sp.Rational(3, 4))):
        exact = TREE.subs({x: first, y: second})
        assert run(sp.Integer(first), sp.sympify(second)) == exact
    assert domain.asked == asked


@pytest.mark.parametrize("walk", [value_of, None])
def test_known_parts_are_not_walked_into(walk: Callable[..., Any] | None) -> None:
    domain, part = Counting(), (x + 2) ** 3
    if walk is not None:
        assert walk(part * y, domain, {part: 10, y: 3}) == 30
    else:
        assert compiled_walk(part * y, domain, (part, y))(10, 3) == 30
    assert part not in domain.asked
    assert x + 2 not in domain.asked


def test_a_tree_may_be_a_name_or_a_number() -> None:
    assert compiled_walk(x, Counting(), (x,))(7) == 7
    assert compiled_walk(sp.Integer(4), Counting(), (x,))(7) == 4
    assert value_of(x, Counting(), {x: 7}) == 7


@pytest.mark.parametrize("name", WITH_BALLS)
def test_floats_numbers_of_mpmath_and_balls_agree_on_every_function(name: str) -> None:
    for place in PLACES.get(name, (sp.Rational(3, 8), sp.Rational(1, 7))):
        exact = getattr(sp, name)(place, evaluate=False)
        with mpmath.workdps(50):
            # as SymPy evaluates it, which none of the three asks
            reference = mpmath.mpf(sp.N(exact, 45))
            assert abs(mpmath.mpf(number(exact, 40)) - reference) < 1e-38
            enclosed = ball(exact, 160)
            with ctx.workprec(200):
                assert enclosed.overlaps(arb(mpmath.nstr(reference, 45)) + arb(0, 1e-42))
            assert enclosed.rad() < 1e-40
        value = float(reference)
        assert KNOWN[name].numeric(float(place)) == pytest.approx(value, rel=1e-14)
        assert as_function(x, getattr(sp, name)(x))(np.array([float(place)])) == pytest.approx(
            [value], rel=1e-13
        )
        for backend in ("arb", "mpmath", "float64"):
            with numbers(30, backend) as context:
                argument = context.mpf(int(place.p)) / int(place.q)
                found = float(getattr(context, name)(argument))
            assert found == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("name", [n for n in WITH_BALLS if not KNOWN[n].cut and n != "gamma"])
def test_functions_without_cut_are_analytic_on_complex_balls(name: str) -> None:
    on_complex = OneVariable(getattr(sp, name)(x), x).on_complex(100)
    for place in OUTSIDE:
        around = on_complex(arb(int(place.p)) / int(place.q) + arb(0, 0.125))
        with mpmath.workdps(30):
            for beside in (0.0, 0.06, -0.12):
                exact = getattr(mpmath, name)(mpmath.mpf(float(place)) + beside)
                assert around.real.contains(arb(mpmath.nstr(exact, 25)) + arb(0, 1e-15))


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.definition])
def test_shorthands_are_their_definitions(name: str) -> None:
    definition = KNOWN[name].definition
    assert definition is not None
    for place in (-2.5, -0.25, 0.0, 0.75, 3.0):
        by_definition = evaluate_scalar(definition, {"x": place})
        assert KNOWN[name].numeric(place) == pytest.approx(by_definition, rel=1e-13, abs=1e-16)


def test_words_of_latex_are_words_of_functions() -> None:
    assert IN_LATEX["arcsin"] == "asin"
    assert IN_LATEX["ln"] == "log"
    assert set(IN_LATEX.values()) <= set(KNOWN)


def test_arrays_take_jumps_in_the_middle_and_do_not_overflow() -> None:
    places = np.array([-800.0, -1.0, 0.0, 2.0, 800.0])
    step, soft = as_function(x, [sp.Heaviside(x), SoftPlus(x)])(places)
    assert step.tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert soft == pytest.approx([0.0, math.log1p(math.exp(-1)), math.log(2), 2.126928011, 800.0])
    largest = as_function((x, y), sp.Max(x, y, 0))(places, -places)
    assert largest.tolist() == [800.0, 1.0, 0.0, 2.0, 800.0]


def test_expressions_without_functions_take_any_numbers() -> None:
    square = as_function((x, y), (x**2 - y, 3 * y), "any")
    found, other = square(arb(3), arb(1) / 7)
    assert found.contains(arb(62) / 7)
    assert other.contains(arb(3) / 7)
    assert as_function(x, SoftPlus(x), "mpmath")(mpmath.mpf(3)) == pytest.approx(3.0485873515737)
