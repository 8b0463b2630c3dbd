"""Quadrature rules by themselves: the exact integral inside, a radius of the size asked for."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sympy as sp
from flint import acb, arb

from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import orthant
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature import gauss_legendre as panels
from symderiv.precision.quadrature import pieces
from symderiv.precision.quadrature.chosen_rule import Panels, Trapezoid, rule_of
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.one_variable import OneVariable
from symderiv.precision.quadrature.separation import FORM, Fields


@pytest.mark.parametrize("bits", [60, 120, 400])
@pytest.mark.parametrize("height", ["0.3", "1", "3"])
def test_a_gauss_panel_encloses_the_integral_and_is_as_small_as_asked(
    bits: int, height: str
) -> None:
    """exp(x) is at most e^a on the ellipse whose longer half axis is a."""
    with working_bits(bits + 40):
        goal = arb(2) ** -bits
        long = (1 + arb(height) ** 2).sqrt()
        found = orthant._panel(lambda x: x.exp(), long.exp(), arb(height), goal, bits)
        exact = arb(1).exp() - arb(-1).exp()
        assert found.contains(exact)
        assert found.rad() < 2 * goal
        # no rule has so many nodes that the bound is out of all proportion
        assert found.rad() > goal * arb(10) ** (-2 - bits // 6)


@pytest.mark.parametrize(
    "correlations",
    [
        ("3/10", "1/5", "1/10", "1/4", "2/5", "3/20"),
        ("-1/3", "-1/3", "-1/3", "-1/3", "-1/3", "-1/3"),
        ("999999/1000000", "1/3", "1/3", "1/3", "1/3", "499999/500000"),
        ("0", "0", "1/2", "0", "-3/4", "1/16"),
    ],
)
def test_panels_of_four_signs_are_bounded_on_their_ellipses(
    correlations: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the bound is for: the integrand at complex points around each panel."""
    panels_seen: list[tuple[Any, Any, Any]] = []
    original = orthant._panel

    def watched(integrand: Any, bound: Any, height: Any, goal: Any, bits: int) -> Any:
        panels_seen.append((integrand, bound, height))
        return original(integrand, bound, height, goal, bits)

    monkeypatch.setattr(orthant, "_panel", watched)
    with working_bits(140):
        values = [arb(r.p) / r.q for r in map(sp.Rational, correlations)]
        orthant.sign_mean4(values, 60)
        assert len(panels_seen) >= 2
        for integrand, bound, height in panels_seen:
            long, across = (1 + arb(height) ** 2).sqrt(), arb(height)
            for k in range(12):
                turn = arb.pi() * (2 * k + 1) / 12
                size = abs(acb(integrand(acb(long * turn.cos(), across * turn.sin()))))
                assert size.upper() <= bound.upper()


def test_bounds_of_panels_of_four_signs_are_those_of_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """|θ| ≤ Θ; 1 + w and the root of 1 + pw are at least cos b, or 1 - b, of their size."""
    seen: list[tuple[float, float]] = []
    original = orthant._panel

    def watched(integrand: Any, bound: Any, height: Any, goal: Any, bits: int) -> Any:
        seen.append((float(bound), float(arb(height))))
        return original(integrand, bound, height, goal, bits)

    monkeypatch.setattr(orthant, "_panel", watched)
    weight = 0.1 + 0.1 + 0.3  # of the third field, the least determined one
    with working_bits(140):
        values = [arb(n) / 10 for n in (1, 1, 5, 1, 4, 3)]
        orthant.sign_mean4(values, 60)

    def largest(b: float, c: float, f: float) -> float:
        return math.pi / 2 + 2 * math.log(2 / f) * math.log(c / (c - b))

    caps = [bound for bound, height in seen if height == 1.6]
    rows = [bound for bound, height in seen if height == 1.45]
    assert caps == pytest.approx([2 * weight * largest(0.8, 0.9, 0.01) / 0.2**1.5] * len(caps))
    # at the first panel nothing has decayed yet
    assert max(rows) == pytest.approx(
        weight * largest(1.45, 1.55, math.cos(1.55)) / math.cos(1.45) ** 1.5, rel=1e-12
    )


@pytest.mark.parametrize("parts", [(2.0, 0.5), (0.3, 1.5)])
def test_the_bound_on_an_ellipse_is_nearly_the_maximum(parts: tuple[float, float]) -> None:
    long, across = parts
    with working_bits(64):
        for g, most in (
            (sp.exp(FORM), math.exp(0.7 + long)),
            (sp.cos(FORM), math.cosh(across)),
            (FORM**3, math.hypot(0.7 + long, across) ** 3),
            (1 / (FORM + 5), 1 / (5.7 - long)),
        ):
            value = OneVariable(g, FORM).on_complex(64)
            found = float(panels._largest(value, arb(0.7), arb(long), arb(across), arb("inf")))
            # the rectangle is larger than the ellipse, boxes are larger than their values
            assert most <= found * (1 + 1e-9)
            assert found <= 2.2 * most


COVARIANCE = [["1", "1/3", "-1/4"], ["1/3", "4/5", "1/5"], ["-1/4", "1/5", "3/2"]]


def law_of(covariance: list[list[Any]], mean: Sequence[Any] = ()) -> Fields:
    entries = [[sp.Rational(e) for e in row] for row in covariance]
    return Fields(entries, [sp.Rational(m) for m in mean or [0] * len(entries)])


def _component(*functions: sp.Expr, mean: tuple[str, ...] = ("0", "0", "0")) -> FactorComponent:
    return FactorComponent(list(functions), law_of(COVARIANCE, mean))


def mean_of_cosines(rates: tuple[float, ...], mean: tuple[str, ...] = ("0", "0", "0")) -> float:
    """E ∏ cosh(r_i z_i): the average of exp(t·mean + t C t / 2) over t_i = ±r_i."""
    covariance = np.array([[float(sp.Rational(e)) for e in row] for row in COVARIANCE])
    shift = np.array([float(sp.Rational(m)) for m in mean])
    ends = [np.array(t) for t in itertools.product(*((r, -r) for r in rates))]
    return float(np.mean([math.exp(t @ shift + t @ covariance @ t / 2) for t in ends]))


@pytest.mark.parametrize("mean", [("0", "0", "0"), ("1/2", "-1/3", "1")])
@pytest.mark.parametrize("accuracy", [15.0, 40.0])
def test_panels_of_three_smooth_variables_keep_their_bound(
    mean: tuple[str, ...], accuracy: float
) -> None:
    """Hyperbolic cosines have exact means. Without means half of the last line is enough."""
    component = _component(*(sp.cosh(k * FORM / 2) for k in (1, 2, 1)), mean=mean)
    centred = mean == ("0", "0", "0")
    assert panels.reflected(component) == centred
    with working_bits(64):
        plan = panels.panel_plan(component, accuracy)
        aim = plan.scale * (-arb(accuracy)).exp()
        assert aim * arb("1e-9") < plan.bound < aim
    starts = [min(float(p.low) for p in row) for row in plan.panels]
    ends = [max(float(p.high) for p in row) for row in plan.panels]
    for i, (a, b) in enumerate(zip(starts, ends, strict=True)):
        middle = float(sp.Rational(mean[i]))
        assert a == pytest.approx(0.0 if centred and i == 2 else 2 * middle - b)
    found = panels.panel_sum(component, plan, plan.bits())
    exact = mean_of_cosines((0.5, 1.0, 0.5), mean)
    assert abs(float(found) - exact) <= float(plan.bound) + 1e-14 * exact
    # the radius is rounding only, and below the bound
    assert found.rad() < plan.bound


def test_bounds_of_half_a_line_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels of the last variable stand for their mirror images; the rest is made negligible."""
    monkeypatch.setattr(panels, "mean_exp", lambda _: arb("1e-60"))
    component = _component(*(sp.cos(k * FORM / 2) for k in (1, 2, 1)))
    with working_bits(64):
        plan = panels.panel_plan(component, 20.0)
        sums = [float(sum((p.bound for p in row), arb(0))) for row in plan.panels]
    reach = [max(float(p.high) for p in row) for row in plan.panels]
    covariance = np.array([[float(sp.Rational(e)) for e in row] for row in COVARIANCE])
    density = (2 * math.pi) ** -1.5 / math.sqrt(np.linalg.det(covariance))
    lines = [2 * x for x in reach]
    parts = [sums[i] * np.prod(lines) / lines[i] for i in range(3)]
    least = density * (parts[0] + parts[1] + 2 * parts[2])
    # |cos| is bounded on cells, to a little more than 1 each
    assert least <= float(plan.bound) < 1.2 * least


def test_variables_that_are_nearly_dependent_have_too_many_panels() -> None:
    for correlation, few in ((sp.Rational(7, 10), True), (sp.Rational(9, 10), False)):
        law = Fields(
            [[sp.S.One if i == j else correlation for j in range(3)] for i in range(3)],
            [sp.S.Zero] * 3,
        )
        component = FactorComponent([sp.tanh(FORM)] * 3, law)
        assert panels.few_panels(component) == few
        assert isinstance(rule_of(component), Panels if few else Trapezoid)


@pytest.mark.parametrize("accuracy", [12.0, 30.0])
def test_panels_of_two_variables_add_up_to_their_bound(accuracy: float) -> None:
    """|x|, kink at 0, and tanh: each variable's panels times p and 2 X max|f| of the other."""
    law = Fields([[sp.S.One, sp.S.Half], [sp.S.Half, sp.Integer(2)]], [sp.S.Zero] * 2)
    component = FactorComponent([sp.Abs(FORM), 3 * sp.tanh(FORM)], law)
    with working_bits(64):
        plan = panels.panel_plan(component, accuracy)
        # ranges, and that the panels fill them without gaps and meet at the kink
        half = []
        for row in plan.panels:
            ends = sorted((float(p.low), float(p.high)) for p in row)
            assert all(a[1] == pytest.approx(b[0]) for a, b in itertools.pairwise(ends))
            assert ends[0][0] == pytest.approx(-ends[-1][1])
            half.append(ends[-1][1])
            assert min(abs(e) for pair in ends for e in pair) < 1e-12 or row is plan.panels[1]
        assert half[1] == pytest.approx(math.sqrt(2) * half[0], rel=1e-6)
        density = 1 / (2 * math.pi * math.sqrt(2 - 0.25))
        sums = [float(sum((p.bound for p in row), arb(0))) for row in plan.panels]
        least = density * (sums[0] * 2 * half[1] * 3 + sums[1] * 2 * half[0] * half[0])
        bound, aim = float(plan.bound), float(plan.scale) * math.exp(-accuracy)
        # the largest |f| is taken a little beyond the range; what is left out is below half the aim
        assert least <= bound <= least * (1 + 2 / half[0]) + aim / 2
        assert aim * 1e-4 < bound < aim
    # the scale bounds the mean size: E |x| 3 |tanh y| <= 3 E|x|
    rng = np.random.default_rng(1)
    x = rng.standard_normal((200_000, 2)) @ np.linalg.cholesky([[1, 0.5], [0.5, 2]]).T
    size = np.mean(np.abs(x[:, 0] * 3 * np.tanh(x[:, 1])))
    assert size < float(plan.scale) < 60 * size
    assert plan.counts() == [sum(p.nodes for p in row) for row in plan.panels]
    # each panel's bound of |x| is about that of the text for the best of many ellipses
    P = float(np.linalg.inv([[1, 0.5], [0.5, 2]])[0, 0])
    for panel in plan.panels[0]:
        half_length, best = float(panel.high - panel.low) / 2, math.inf
        for rho in np.linspace(1.2, 14, 60):
            long, across = (half_length * (rho + s / rho) / 2 for s in (1, -1))
            size = math.hypot(abs(float(panel.high + panel.low)) / 2 + long, across)
            size *= 64 / 15 * half_length * math.exp(P * across**2 / 2)
            best = min(best, size * rho ** (-2 * panel.nodes) / (1 - rho**-2))
        assert 0.5 * best < float(panel.bound) < 100 * best


def test_zeros_of_a_function_are_all_found_and_narrowed_down() -> None:
    with working_bits(128):
        for e, exact in (
            (FORM**3 - 2 * FORM, [-math.sqrt(2), 0.0, math.sqrt(2)]),
            (sp.cos(FORM), [-1.5 * math.pi, -0.5 * math.pi, 0.5 * math.pi, 1.5 * math.pi]),
            (sp.exp(FORM) - 1000, [math.log(1000)]),
            (FORM**2 + sp.Rational(1, 100), []),
        ):
            roots = sorted(pieces._roots(e, FORM, -7.0, 7.0, 120), key=float)
            assert [float(r) for r in roots] == pytest.approx(exact, abs=1e-15)
            assert all(r.rad() < arb(2) ** -100 for r in roots)
    with pytest.raises(NotYetError, match="cannot be isolated"), working_bits(64):
        pieces._roots((FORM - sp.Rational(1, 3)) ** 2, FORM, -1.0, 1.0, 60)


def test_panels_have_the_fewest_nodes_of_all_ellipses_and_lengths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What needs more is given up before all of it is known."""
    component = _component(sp.tanh(2 * FORM), sp.exp(FORM / 2), 1 / (1 + FORM**2))

    def counts() -> list[int]:
        with working_bits(64):
            return panels.panel_plan(component, 20.0).counts()

    def nodes(ends: tuple[float, float]) -> float:
        planner = panels._PanelPlanner(component, 20.0)
        planner.centre, planner.reach = arb(0), 8.0
        expression = sp.tanh(2 * FORM)
        found = planner._panel(*map(arb, ends), expression, arb(3), arb("1e-9"))
        return math.inf if found is None else found.nodes

    places = [(0.0, 0.7), (1.0, 1.5), (-3.0, -0.5)]
    whole, ellipses = counts(), [nodes(each) for each in places]
    for name, given in (("_LENGTHS", panels._LENGTHS), ("_RHOS", panels._RHOS)):
        alone = []
        for one in given:
            monkeypatch.setattr(panels, name, (one,))
            alone.append(counts() if name == "_LENGTHS" else [nodes(each) for each in places])
        monkeypatch.undo()
        fewest = [min(each) for each in zip(*alone, strict=True)]
        assert fewest == (whole if name == "_LENGTHS" else ellipses)
        assert max(map(max, alone)) > 1.2 * max(fewest)
