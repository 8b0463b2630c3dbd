"""Losses in pieces, stated line by line, against integrals over one variable."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad
from scipy.special import ndtr

import symderiv as sd

#: The covariance of the student's field a and the teacher's field b, and the learning rate.
QQ, QB, BB, ETA = 0.5, 0.1, 1.2, 0.4
START = {"w.w": QQ, "w.B": QB, "B.B": BB}


def rates(loss: Callable[..., sp.Expr], bound: float | None = None) -> dict[str, float]:
    """The rates of w.w and w.B of a system that descends a loss."""
    P = sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    fields = (w @ x, B @ x) if bound is None else (w @ x, B @ x, P.parameter("bound", bound))
    P.descend(loss(*fields), {w: P.parameter("eta", ETA)})
    return P.rates(START)


def mean(function: Callable[[float], float], variance: float, places: tuple[float, ...]) -> float:
    """A mean over one Gaussian variable, of a function with kinks or jumps at places."""
    width = math.sqrt(variance)
    ends = sorted({-10 * width, *places, 10 * width})

    def weighted(t: float) -> float:
        density = math.exp(-t * t / (2 * variance)) / (width * math.sqrt(2 * math.pi))
        return function(t) * density

    return sum(quad(weighted, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(ends))


def of_difference(
    force: Callable[[float], float], places: tuple[float, ...], share: float
) -> dict[str, float]:
    """The rates for a force F(d) on w, where d = a - share b: given d, fields are linear in d."""
    variance = QQ - 2 * share * QB + share**2 * BB
    by_d = mean(lambda d: force(d) * d, variance, places) / variance
    square = mean(lambda d: force(d) ** 2, variance, places)
    along, across = QQ - share * QB, QB - share * BB
    return {"w.w": -2 * ETA * by_d * along + ETA**2 * square, "w.B": -ETA * by_d * across}


def huber(d: sp.Expr, bound: object) -> sp.Expr:
    return sp.Piecewise((d**2 / 2, sp.Abs(d) < bound), (bound * sp.Abs(d) - bound**2 / 2, True))


HALF = sp.Rational(1, 2)
LINEAR = {
    "Huber": (lambda a, b: huber(a - b, HALF), 0.5, 1),
    "Huber, a number with a point": (lambda a, b: huber(a - b, 0.5), 0.5, 1),
    "three pieces": (
        lambda a, b: sp.Piecewise(
            ((a - 2 * b) ** 2 / 2, (a - 2 * b < 1) & (a - 2 * b > -1)),
            (a - 2 * b - HALF, a - 2 * b >= 1),
            (2 * b - a - HALF, True),
        ),
        1,
        2,
    ),
    "steps of a modulus": (
        lambda a, b: (
            (a - b) ** 2 / 2 * sp.Heaviside(1 - sp.Abs(a - b))
            + sp.Heaviside(sp.Abs(a - b) - 1) * (sp.Abs(a - b) - HALF)
        ),
        1,
        1,
    ),
    "minimum and maximum": (
        lambda a, b: sp.Min(sp.Abs(a - b), 1) ** 2 / 2 + sp.Max(sp.Abs(a - b) - 1, 0),
        1,
        1,
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_huber_losses_however_they_are_written(name: str) -> None:
    loss, bound, share = LINEAR[name]
    expected = of_difference(lambda d: float(np.clip(d, -bound, bound)), (-bound, bound), share)
    found = rates(loss)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("most", [True, False])
def test_conditions_on_maxima_and_minima(most: bool) -> None:
    """A soft threshold of max(d, 3 d), or of min(d, 3 d); once the loss was said to jump."""

    def loss(a: sp.Expr, b: sp.Expr) -> sp.Expr:
        u = (sp.Max if most else sp.Min)(a - b, 3 * (a - b))
        return sp.Piecewise((u - HALF, u > HALF), (0, u > -HALF), (u + HALF, True))

    rising, falling = (3, 1) if most else (1, 3)

    def force(d: float) -> float:
        return rising * (d * rising > 0.5) + falling * (d * falling < -0.5)

    expected = of_difference(force, (0.5 / rising, -0.5 / falling), 1)
    found = rates(loss)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("most", [True, False])
def test_kinks_inside_of_kinks(most: bool) -> None:
    """Two soft thresholds of a field, one after the other; rates were almost twice as large."""
    first, second = sp.Rational(1, 4), sp.Rational(1, 5)

    def loss(a: sp.Expr, b: sp.Expr) -> sp.Expr:
        size = sp.Abs(a)
        if most:
            size = sp.Max(0, size - first / 2) + first / 2
        inner = sp.Piecewise((size - first, size > first), (0, True))
        return a**2 / 4 + sp.Max(0, sp.Abs(inner) - second)

    def force(d: float) -> float:
        return d / 2 + math.copysign(float(abs(d) > 0.45), d)

    expected = of_difference(force, (-0.45, 0.0, 0.45), 0)
    found = rates(loss)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


def test_a_bound_may_be_a_parameter() -> None:
    expected = of_difference(lambda d: float(np.clip(d, -0.7, 0.7)), (-0.7, 0.7), 1)
    found = rates(lambda a, b, bound: huber(a - b, bound), 0.7)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


def test_a_coefficient_may_be_a_sum_of_parameters() -> None:
    """Kinks are where a is a quotient of parameters, which only cancelling removes."""
    c, e, P = 0.75, 0.5, sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    d = P.parameter("c", c) * (w @ x) + P.parameter("e", e) * (w @ x) - B @ x
    P.descend(huber(d, HALF), {w: P.parameter("eta", ETA)})
    share = 1 / (c + e)
    # the difference is (c + e) (a - share b)
    expected = of_difference(
        lambda u: (c + e) * float(np.clip((c + e) * u, -0.5, 0.5)), (-share / 2, share / 2), share
    )
    found = P.rates(START)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("up", [0.3, 0.5])
def test_kinks_where_two_units_agree(up: float) -> None:
    """max(up D, (up - 1) D) with D = erf(a) - erf(b): D changes its sign where a = b."""
    erf = sd.activation("erf")

    def loss(a: sp.Expr, b: sp.Expr) -> sp.Expr:
        error = erf(a) - erf(b)
        if up == 0.5:
            return sp.Abs(error) / 2
        return sp.Max(sp.Rational(3, 10) * error, -sp.Rational(7, 10) * error)

    ratio, left = QB / QQ, math.sqrt(BB - QB**2 / QQ)

    def slope(a: float) -> float:
        return math.sqrt(2 / math.pi) * math.exp(-a * a / 2)

    def below(a: float) -> float:
        """The probability of b < a, given a."""
        return float(ndtr((a - ratio * a) / left))

    def b_times(a: float) -> float:
        """The mean of b times the sign-dependent factor, given a."""
        gap = (a - ratio * a) / left
        density = math.exp(-gap * gap / 2) / math.sqrt(2 * math.pi)
        return ratio * a * (below(a) - 1 + up) - left * density

    along = mean(lambda a: slope(a) * a * (below(a) - 1 + up), QQ, (0.0,))
    across = mean(lambda a: slope(a) * b_times(a), QQ, (0.0,))
    square = mean(
        lambda a: slope(a) ** 2 * (up**2 * below(a) + (1 - up) ** 2 * (1 - below(a))), QQ, (0.0,)
    )
    expected = {"w.w": -2 * ETA * along + ETA**2 * square, "w.B": -ETA * across}
    found = rates(loss)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("most", [True, False])
def test_kinks_that_stay_in_the_force(most: bool) -> None:
    """Half the square of the larger or the smaller of two units, whose force has it again."""
    erf = sd.activation("erf")

    def loss(a: sp.Expr, b: sp.Expr) -> sp.Expr:
        return (sp.Max if most else sp.Min)(2 * erf(a), 2 * erf(b)) ** 2 / 2

    ratio, left = QB / QQ, math.sqrt(BB - QB**2 / QQ)

    def own(a: float) -> float:
        """The force where the student's unit is the one."""
        return 4 * math.erf(a / math.sqrt(2)) * math.sqrt(2 / math.pi) * math.exp(-a * a / 2)

    def share(a: float) -> float:
        below = float(ndtr((a - ratio * a) / left))
        return below if most else 1 - below

    def b_there(a: float) -> float:
        """The mean of b where the student's unit is the one, given a."""
        gap = (a - ratio * a) / left
        density = left * math.exp(-gap * gap / 2) / math.sqrt(2 * math.pi)
        return ratio * a * share(a) + (-density if most else density)

    along = mean(lambda a: own(a) * a * share(a), QQ, (0.0,))
    square = mean(lambda a: own(a) ** 2 * share(a), QQ, (0.0,))
    across = mean(lambda a: own(a) * b_there(a), QQ, (0.0,))
    expected = {"w.w": -2 * ETA * along + ETA**2 * square, "w.B": -ETA * across}
    found = rates(loss)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


def test_a_modulus_that_stays_in_the_force() -> None:
    """D |D| / 2 with D = erf(a) - erf(b) has the derivative |D| in D."""
    erf = sd.activation("erf")
    ratio, left = QB / QQ, BB - QB**2 / QQ

    def given(a: float, function: Callable[[float, float], float]) -> float:
        """The mean over b of a function of |D| and b, times the slope of the student's unit."""

        def of_rest(rest: float) -> float:
            b = ratio * a + rest
            size = abs(math.erf(a / math.sqrt(2)) - math.erf(b / math.sqrt(2)))
            return function(size * math.sqrt(2 / math.pi) * math.exp(-a * a / 2), b)

        return mean(of_rest, left, (a - ratio * a,))

    along, square, across = (
        mean(lambda a, f=f: given(a, lambda force, b: f(a, b, force)), QQ, (0.0,))  # type: ignore[misc]
        for f in (
            lambda a, _, force: a * force,
            lambda *x: x[2] ** 2,
            lambda _, b, force: b * force,
        )
    )
    expected = {"w.w": -2 * ETA * along + ETA**2 * square, "w.B": -ETA * across}
    found = rates(lambda a, b: (erf(a) - erf(b)) * sp.Abs(erf(a) - erf(b)) / 2)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


def test_losses_that_jump_are_refused() -> None:
    """One piece is too high by a constant, or by a factor, or on one side only."""
    for loss in (
        lambda a, b: huber(a - b, HALF) + HALF * sp.Heaviside(sp.Abs(a - b) - HALF),
        lambda a, b: sp.Piecewise(((a - b) ** 2, sp.Abs(a - b) < 1), (2 * sp.Abs(a - b), True)),
        lambda a, b: sp.Piecewise(((a - b) ** 2, a - b < 1), (b - a, True)),
        lambda a, b: sp.Piecewise((sp.erf(a) - b, sp.erf(a) - b < HALF), (1, True)),
    ):
        with pytest.raises(sd.NotClosed, match="the loss jumps"):
            rates(loss)


def test_kinks_on_curves_are_named() -> None:
    """The loss does not jump; only the mean is missing."""
    with pytest.raises(sd.NotClosed, match="not on a plane of the fields"):
        rates(lambda a, b: huber(sp.erf(a) - sp.erf(b), HALF))


def test_numbers_under_roots_are_not_negative() -> None:
    """Logistic regression against an adversary of strength epsilon: the margin is lowered by
    epsilon |w|.
    """
    epsilon, P = 0.3, sd.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    margin = sp.sign(B @ x) * (w @ x) - epsilon * sp.sqrt(w.dot(w))
    P.descend(sp.log(1 + sp.exp(-margin)), {w: P.parameter("eta", ETA)})
    lowered, ratio, left = epsilon * math.sqrt(QQ), QB / QQ, math.sqrt(BB - QB**2 / QQ)

    def sigmoid(u: float) -> float:
        return 1 / (1 + math.exp(-u))

    def average(right: Callable[[float], float], wrong: Callable[[float], float]) -> float:
        """The mean of two functions of a: of an input with a positive and a negative label."""

        def given(a: float) -> float:
            share = float(ndtr(ratio * a / left))
            return share * right(a) + (1 - share) * wrong(a)

        return mean(given, QQ, (0.0,))

    def of_teacher(a: float) -> float:
        """The mean of b times the force, given a."""
        gap = ratio * a / left
        density = math.exp(-gap * gap / 2) / math.sqrt(2 * math.pi)
        above = ratio * a * float(ndtr(gap)) + left * density
        return -sigmoid(lowered - a) * above + sigmoid(lowered + a) * (ratio * a - above)

    along = average(lambda a: -a * sigmoid(lowered - a), lambda a: a * sigmoid(lowered + a))
    square = average(lambda a: sigmoid(lowered - a) ** 2, lambda a: sigmoid(lowered + a) ** 2)
    shrink = average(lambda a: sigmoid(lowered - a), lambda a: sigmoid(lowered + a))
    shrink *= epsilon / math.sqrt(QQ)
    expected = {
        "w.w": -2 * ETA * (along + shrink * QQ) + ETA**2 * square,
        "w.B": -ETA * (mean(of_teacher, QQ, ()) + shrink * QB),
    }
    found = P.rates(START)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)


def test_a_field_is_solved_for_where_its_coefficient_is_a_number() -> None:
    """A tied autoencoder of a spiked input: the spike's share of a field is an overlap, which may
    be zero.
    """
    P = sd.System()
    c, U, w = P.latents("c", "gaussian"), P.vectors("U", fixed=True), P.vectors("w")
    x = P.inputs("x") + 2 * c * U
    code = sd.activation("tanh")(w @ x)
    P.descend(sd.norm2(x - code * w) / 2, {w: P.parameter("eta", ETA)})
    for shared in (0.3, 0.0):
        variance = QQ + 4 * shared**2

        def force(z: float) -> float:
            slope = 1 - math.tanh(z) ** 2
            return -math.tanh(z) - z * slope + QQ * math.tanh(z) * slope

        along = mean(lambda z: force(z) * z, variance, ())
        square = mean(lambda z: force(z) ** 2, variance, ())
        codes = mean(lambda z: math.tanh(z) ** 2, variance, ())
        with_spike = (shared + 4 * shared * BB) / variance
        expected = {
            "w.w": -2 * ETA * (along + codes * QQ) + ETA**2 * square,
            "U.w": -ETA * (with_spike * along + codes * shared),
        }
        found = P.rates({"U.U": BB, "U.w": shared, "w.w": QQ})
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-8)
