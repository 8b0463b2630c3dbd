"""Sizes that bounds of quadrature are made of: each from below, by its definition."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
import sympy as sp
from flint import arb
from unit.precision.test_rule_bounds import law_of

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature import gauss_legendre as panels
from symderiv.precision.quadrature import numeric_mean, pieces
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.growth import growth
from symderiv.precision.quadrature.separation import FORM

X, Y = sp.symbols("x1:3", real=True)


def test_the_bound_of_panels_has_the_power_of_their_own_variable_in_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """E |x| y²: y² is a polynomial in x, as large as at the outer end of each panel or larger.

    The moment of what is left out is made negligible, so that the bound is that of the panels.
    """
    mean_exp = panels.mean_exp
    monkeypatch.setattr(panels, "mean_exp", lambda b: mean_exp(b) if b < 4 else arb("1e-400"))
    law = law_of([["1", "9/10"], ["9/10", "1"]])
    component = FactorComponent([sp.Abs(FORM), FORM**2], law)
    assert component.dimension == 1
    with working_bits(64):
        assert panels._HOELDER * panels._POWER_RATE > 4
        plan = panels.panel_plan(component, 20.0)
        ends = [float(abs(p.low).max(abs(p.high))) for p in plan.panels[0]]
        rule = sum(float(p.bound) * e**2 for p, e in zip(plan.panels[0], ends, strict=True))
        least = 0.81 * rule / math.sqrt(2 * math.pi)
        # twice the range on each side, and y² = 0.81 x² + 0.19 + ... by its coefficients
        assert least < float(plan.bound) < 50 * least
        assert plan.bound < plan.scale * arb(-20).exp()
    found = panels.panel_sum(component, plan, plan.bits())
    # E|x| (0.81 x² + 0.19) with E|x|³ = 2 E|x|
    exact = math.sqrt(2 / math.pi) * (2 * 0.81 + 0.19)
    assert abs(float(found) - exact) <= float(plan.bound) + 1e-14


@pytest.mark.parametrize("side", [1, -1])
def test_halves_of_panels_are_halved_twelve_times_at_most(side: int) -> None:
    """A function that is not analytic at an end has no panel there, however short."""
    component = FactorComponent([sp.Abs(FORM)], law_of([["1"]]))
    with working_bits(64):
        planner = panels._PanelPlanner(component, 20.0)
        shortest = 1.0

        def panel(a: arb, b: arb, *_: Any) -> Any:
            nonlocal shortest
            shortest = min(shortest, float(b - a))
            assert shortest >= 2.0**-panels._DEPTH
            return None if a.contains(0) or b.contains(0) else SimpleNamespace(nodes=2)

        planner._panel = panel  # type: ignore[method-assign,assignment]
        low, high = (arb(0), arb(1)) if side > 0 else (arb(-1), arb(0))
        piece = pieces.AnalyticPiece(low, high, sp.sqrt(side * FORM))
        assert planner._cut([piece], 1.0, arb(1), arb(1), math.inf) is None
    assert shortest == 2.0**-panels._DEPTH


def test_a_step_of_an_argument_that_stays_small_takes_both_values() -> None:
    with working_bits(64):
        for g, most in (
            (sp.Heaviside(sp.sin(FORM) / 2), 1),
            (sp.exp(sp.sign(sp.cos(FORM) / 3)), 2),
        ):
            found = growth(g, FORM)
            assert found.rate.is_zero()
            assert found.factor >= most


@pytest.mark.parametrize("sign", [1, -1])
def test_a_zero_is_narrowed_down_by_halving_where_the_slope_is_not_well_known(sign: int) -> None:
    """x with the error 1/100 and slopes from 1/100 to 2: Newton's step gives [-1, 1] again."""
    with working_bits(64):
        root = pieces._newton(
            lambda x: sign * (x + arb(0, 0.01)), lambda _: sign * arb(1.005, 0.995), arb(0, 1), 60
        )
    assert root.contains(0)
    # a quarter each time, as long as the signs at a quarter are certain
    assert 0.01 < root.rad() < 0.04


def _asked(integrand: sp.Expr, variances: list[Any], mean: list[Any]) -> Any:
    return numeric_mean.numeric_mean(
        integrand, [X, Y][: len(mean)], sp.diag(*variances), sp.Matrix(mean)
    )


def test_evaluations_are_counted_and_limited() -> None:
    asked = _asked(sp.atan(X) ** 2, [1], [0])
    found = numeric_mean._Evaluation(asked, 8, 1e6)
    value = found.run().value
    points = sum(rule.points() for rule in found.rules.values())
    assert f"({points} points)" in value.method
    with pytest.raises(ToleranceError, match=r"but 2e\+01 evaluations reached"):
        asked.evaluate(30, evaluations=20)
