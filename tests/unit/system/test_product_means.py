"""Kinks beside smooth functions in stated systems: means, rates and what is refused.

Means are held against integrals in which the conditional law of the second field is in closed form,
rates against quadrature between the kinks that knows nothing of the derivation.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp
from pairs.activations import ACTIVATIONS
from scipy import integrate, special
from support.sectors import in_sectors

import symderiv as sd
from symderiv.foundation.errors import NotYetError
from symderiv.lowering.means.closed_means import X
from symderiv.system.means.product_means import ProductMeans

RAMP, STEP = X * sp.Heaviside(X), sp.Heaviside(X)
CURVE = (1 - sp.tanh(X) ** 2) ** 2


def _given(mean: float, width: float) -> tuple[float, float, float]:
    """E[H(y)], E[y H(y)] and E[y² H(y)] of a field with a mean and a standard deviation."""
    if width == 0.0:
        return float(mean > 0), max(mean, 0.0), max(mean, 0.0) ** 2
    step = 0.5 * special.erfc(-mean / width / math.sqrt(2))
    density = width * math.exp(-((mean / width) ** 2) / 2) / math.sqrt(2 * math.pi)
    return step, mean * step + density, (mean**2 + width**2) * step + mean * density


def _by_condition(power: int, c: np.ndarray) -> float:
    """E[sech⁴(a) b^power H(b)] by SciPy over a, cut where b changes its sign."""
    width, share = math.sqrt(c[0, 0]), c[0, 1] / c[0, 0]
    left = math.sqrt(max(c[1, 1] - share * c[0, 1], 0.0))

    def weighed(t: float) -> float:
        inner = _given(share * width * t, left)[power]
        return math.cosh(width * t) ** -4 * inner * math.exp(-t * t / 2) / math.sqrt(2 * math.pi)

    layer = left / max(abs(share) * width, 1e-300)
    cuts = [0.0, *(s * min(k * layer, 11.0) for k in (1, 8) for s in (1, -1))]
    return float(integrate.quad(weighed, -12, 12, epsabs=1e-13, limit=400, points=cuts)[0])


def test_stated_errors_hold_where_fields_are_nearly_one() -> None:
    means, none = ProductMeans(), [sp.S.Zero] * 3
    covariance = sp.eye(3).tolist()
    for functions in ([CURVE, RAMP], [CURVE, RAMP * X], [CURVE, RAMP, RAMP]):
        means.mean(functions, covariance, none)
    rule, error = means.rule
    assert means.by_number.asked.family == "plane"
    assert error < 1e-8
    search, (ramp, square, three) = means.by_number.search, means.names
    for apart in (0.5, 1e-2, 1e-5, 1e-9, 0.0):
        for sign in (1, -1):
            for a, b in ((2.0, 2.0), (0.7, 1.9), (2.0, 1e-4)):
                cross = sign * (1 - apart) * math.sqrt(a * b)
                two = np.array([[a, cross], [cross, b]])
                for kinds, power in ((ramp, 1), (square, 2)):
                    found = search.mean(rule, kinds, two)
                    assert found == pytest.approx(_by_condition(power, two), abs=error)
                # a second ramp of the same field is the square of it
                four = np.zeros((4, 4))
                places = np.array([0, 1, 1])
                four[:3, :3] = two[np.ix_(places, places)]
                found = search.mean(rule, three, four)
                assert found == pytest.approx(_by_condition(2, two), abs=error)


@pytest.mark.days(3)
@pytest.mark.parametrize(
    ("student", "teacher"), [("tanh", "relu"), ("elu", "softplus"), ("softsign", "sign")]
)
def test_rates_are_integrals_between_kinks(student: str, teacher: str) -> None:
    """With an output weight that moves, and labels that are flipped."""
    P = sd.System()
    x, u, flip = P.inputs("x"), P.scalars("u"), P.latents("c", {1: sp.Rational(3, 4), -1: 0.25})
    w, B = P.vectors("w"), P.vectors("B", fixed=True)
    own, other = ACTIVATIONS[student], ACTIVATIONS[teacher]
    output, label = (sd.activation(each.text)(v @ x) for each, v in ((own, w), (other, B)))
    P.descend((u * output - flip * label) ** 2 / 2, {w: 0.3, u: 0.3})
    Q, R, T, v = 0.6, 0.5, 1.1, 0.8
    rates = P.rates({"w.w": Q, "w.B": R, "B.B": T, "u": v})
    g, slope, h = own.value, own.slope, other.value

    def mean(of: Callable[..., Any]) -> float:
        parts = (0.75 * of(a, b, v * g(a) - h(b)), 0.25 * of(a, b, v * g(a) + h(b)))
        return float(weights @ sum(parts))

    (a, b), weights = in_sectors(np.linalg.cholesky([[Q, R], [R, T]]), 60)
    wanted = {
        "w.w": mean(lambda a, b, e: (0.3 * v * slope(a) * e) ** 2 - 0.6 * v * slope(a) * e * a),
        "w.B": mean(lambda a, b, e: -0.3 * v * slope(a) * e * b),
        "u": mean(lambda a, b, e: -0.3 * g(a) * e),
    }
    for name, value in wanted.items():
        assert float(rates[name]) == pytest.approx(value, abs=1e-8)


def test_more_fields_than_the_rules_take_are_refused() -> None:
    with pytest.raises(NotYetError, match="product of 5 functions"):
        ProductMeans().mean([RAMP] * 5, sp.eye(5).tolist(), [sp.S.Zero] * 5)


def test_means_of_jumps_come_first_and_numbers_stand_before_the_call() -> None:
    means = ProductMeans()
    c = sp.Matrix(2, 2, sp.symbols("q r r t", real=True)).tolist()
    taken = means.mean([-2 * CURVE, STEP], c, [sp.S.Zero] * 2)
    q, r, t = sp.symbols("q r t", real=True)
    assert taken == -2 * sp.Function("product_1")(t, r, q, 0, 0)
    taken = means.mean([STEP, CURVE / 3], c, [sp.S.Zero] * 2)
    assert taken == sp.Function("product_1")(q, r, t, 0, 0) / 3
