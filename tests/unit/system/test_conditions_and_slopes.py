"""Conditions as expressions, and slopes of expressions with kinks and jumps."""

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import integrate

import symderiv as sd
from symderiv.foundation.errors import InputError
from symderiv.statement.indicators import indicator, unnested, without_pieces
from symderiv.statement.slopes import slope

x, y = sp.symbols("x y", real=True)
sign, H, D = sp.sign, sp.Heaviside, sp.DiracDelta

CONDITIONS: dict[str, Any] = {
    "signs agree": sp.Eq(sign(x), sign(y)),
    "a sign is one": sp.Eq(sign(x), -1),
    "signs differ": sp.Ne(sign(x), sign(y)),
    "greater": sp.Gt(2 * x, y),
    "not less": sp.Ge(x - y, 1),
    "less": sp.Lt(x + y, sp.Rational(1, 2)),
    "not greater": sp.Le(x, 2 * y),
    "both": sp.And(x > 0, y < x),
    "one at least": sp.Or(x > 1, y > 0, x < -y),
    "neither": sp.Not(sp.Or(sp.Eq(sign(x), sign(y)), x > 1)),
    "one condition or another": sp.ITE(x > 0, y < 1, x > -1),
    "nested": sp.Or(sp.And(x > 0, sp.Ne(sign(x), sign(y))), sp.Eq(sign(y), sign(x - 1))),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_an_indicator_is_one_where_its_condition_holds(name: str) -> None:
    condition = CONDITIONS[name]
    found = indicator(condition)
    seen = set()
    for a, b in product((-1.7, -0.6, 0.3, 1.4), (-1.9, -0.2, 0.4, 2.1)):
        at = {x: a, y: b}
        truth = bool(condition.subs(at))
        assert found.subs(at) == truth, at
        seen.add(truth)
    assert seen == {True, False}


def test_conditions_of_an_array_hold_together_and_known_ones_are_numbers() -> None:
    both = indicator(np.array([[x > 0], [y < 1]], dtype=object))
    assert both == H(x) * H(1 - y)
    assert [indicator(each) for each in (True, sp.true, False, sp.false)] == [1, 1, 0, 0]


def test_pieces_are_sums_of_steps() -> None:
    """The first condition that holds decides, inside of other functions too."""
    pieces = sp.Piecewise((x**2, x < 1), (3 * y, sp.And(x < 2, y > 0)), (x - y, x < 3), (5, True))
    expression = sp.exp(pieces / 4) * y + pieces
    found = without_pieces(expression)
    assert not found.has(sp.Piecewise)
    for a, b in product((0.5, 1.5, 2.5, 3.5), (-1.2, 0.7)):
        value, at = expression.subs({x: a, y: b}), found.subs({x: a, y: b})
        assert float(at) == pytest.approx(float(value), rel=1e-14)
    assert without_pieces(x * H(y)) == x * H(y)


@pytest.mark.parametrize(
    "nested",
    [
        (x - y * sign(x)) * H(x - y * sign(x)) + sign(x) * y,
        sp.erf(x + H(y) / 2) * sign(x),
        sign(y + sign(x) / 2) * sp.sqrt(2 + sign(x)),
        sp.sin(sign(x - y * H(y)) + x),
    ],
)
def test_jumps_inside_of_functions_are_parted(nested: sp.Expr) -> None:
    found = unnested(nested, lambda jump: jump.has(x, y))
    assert not any(f.args[0].has(sign, H) for f in found.atoms(sp.Function))
    for a, b in product((-1.7, -0.6, 0.3, 1.4), (-1.9, -0.2, 0.4, 2.1)):
        at = {x: a, y: b}
        assert float(found.subs(at)) == pytest.approx(float(nested.subs(at)), rel=1e-14), at


def test_jumps_of_what_is_given_and_powers_of_sums_stay() -> None:
    for expression in (sp.erf(x + sign(y)) * sign(x), (sp.erf(x) - sign(x)) ** 2):
        assert unnested(expression, lambda jump: jump.has(x)) == expression


@pytest.mark.parametrize("condition", [sp.Eq(x, y), sp.Eq(sign(x), 2), sp.Eq(x, 1), x + y, "x > 0"])
def test_what_is_no_condition_is_refused(condition: Any) -> None:
    with pytest.raises(InputError):
        indicator(condition)


ROUGH: dict[str, sp.Expr] = {
    "smooth": sp.erf(x) * y**2 + x,
    "a jump": sign(x - 1) * (x**2 + y),
    "a jump at a slope": H(3 * x + y) * (x - y),
    "a jump beside functions that vanish": sign(x - 1) + x**2 * sp.erf(x) + x * sp.sin(x - y),
    "a kink": sp.Abs(x - y) * x,
    "a ramp": x * H(x),
    "a square of a ramp": (x * H(x)) ** 2 + y * x * H(x),
    "a difference of ramps": (x * H(x) - y * H(y)) ** 2 * H(x),
    "the larger one": sp.Max(x, y) + sp.Min(x, 2 * y),
    "a power of a step": H(x) ** 3 * sp.exp(x / 2) + (H(x) + y) ** 2,
    "jumps in a sum in a product": (sign(x) + y) * (H(x - y) + x),
    "ramps in a product": (x * H(x) + y) * (1 + x * H(x)) * sp.exp(-x * H(x)),
}


@pytest.mark.parametrize("name", ROUGH)
def test_the_mean_of_a_slope_is_that_of_the_expression_times_its_field(name: str) -> None:
    """Stein's rule for a standard normal x, with jumps as integrals over the pieces."""
    other = 0.4
    expression = ROUGH[name]
    found = slope(expression, x).subs(y, sp.Rational(2, 5))
    smooth = found.replace(D, lambda *_: sp.S.Zero)
    jumps = 0.0
    for delta in found.atoms(D):
        argument = delta.args[0]
        rate = float(sp.diff(argument, x))
        (place,) = sp.solve(argument, x)
        # sides of a jump count half: no product of a step and its own delta function is left
        factor = sp.expand(found).coeff(delta).subs(x, place)
        assert not factor.has(sp.nan, D)
        jumps += float(factor) / abs(rate) * np.exp(-(float(place) ** 2) / 2) / np.sqrt(2 * np.pi)

    def mean(value: sp.Expr) -> float:
        number = sp.lambdify(x, value.subs(y, other), ["scipy", "numpy"])

        def weighed(t: float) -> float:
            return float(number(t)) * np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)

        cuts = [-10.0, -other / 3, 0.0, other, 2 * other, 1.0, 10.0]
        parts = pairwise(cuts)
        return sum(integrate.quad(weighed, a, b, epsabs=1e-13)[0] for a, b in parts)

    assert mean(smooth) + jumps == pytest.approx(mean(x * expression), abs=1e-10)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        (x * H(x), H(x)),
        ((x - y) * H(x - y) * y, y * H(x - y)),
        ((2 * x - 2) * H(x - 1), 2 * H(x - 1)),
        (y * H(y), sp.S.Zero),
        # a unit on inputs whose size is another one in each class
        (((2 - y) * x + y) * H((2 - y) * x + y), (2 - y) * H((2 - y) * x + y)),
    ],
)
def test_no_delta_function_is_left_where_a_force_is_continuous(
    expression: sp.Expr, wanted: sp.Expr
) -> None:
    assert sp.expand(slope(expression, x) - wanted) == 0
    assert slope((x + 1) * H(x), x).has(D)
    assert slope((x + 1) * H(y * x), x).has(D)


@pytest.mark.parametrize(
    ("force", "place", "height"),
    [
        (lambda h: sp.sign(h) ** 3, 0.0, 2.0),
        (lambda h: sp.sign(2 * h) * sp.sign(-h) * sp.Heaviside(h), 0.0, -1.0),
        (lambda h: sp.sign(h + 1) ** 2 * sp.Heaviside(h + 1), -1.0, 1.0),
        (lambda h: (sp.sign(h - 1) + 2) * sp.sign(1 - h) * sp.Heaviside(2 * h - 2), 1.0, -3.0),
    ],
)
def test_a_product_of_jumps_at_one_place_jumps_as_it_does(
    force: Any, place: float, height: float
) -> None:
    """E[f(h) g] of a force that is constant but for one jump: its height times a density."""
    P = sd.System()
    x, w = P.inputs("x"), P.vectors("w")
    P.vectors("B", fixed=True)
    P.update({w: force(w @ x) * x})
    Q, R = 0.7, 0.3
    density = math.exp(-(place**2) / (2 * Q)) / math.sqrt(2 * math.pi * Q)
    rates = P.rates({"w.w": Q, "w.B": R, "B.B": 1.2}).rates
    assert rates["w.B"] == pytest.approx(height * R * density, rel=1e-13)


@pytest.mark.parametrize(
    "size", [sp.Min(x, y), sp.Max(sp.Abs(x), y), sp.Min(x, 2 * y + 1)], ids=str
)
def test_pieces_that_meet_where_a_maximum_or_minimum_takes_a_value_do_not_jump(size: Any) -> None:
    meeting = sp.Piecewise((size**2, size < 1), (2 * size - 1, True))
    found = slope(without_pieces(meeting), x)
    assert not found.has(D)
    value = sp.lambdify((x, y), meeting)
    for a, b in product((-1.7, -0.6, 0.3, 1.4), (-1.9, -0.2, 0.45, 2.1)):
        change = (value(a + 1e-6, b) - value(a - 1e-6, b)) / 2e-6
        assert float(found.subs({x: a, y: b})) == pytest.approx(change, abs=1e-5)
    apart = sp.Piecewise((size**2, size < 1), (2 * size, True))
    assert slope(without_pieces(apart), x).has(D)
