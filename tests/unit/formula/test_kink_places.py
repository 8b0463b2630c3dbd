"""Functions with kinks at zeros of polynomials, of erf and the like, as sums of steps."""

import numpy as np
import pytest
import sympy as sp
from scipy.special import erf

import symderiv as sd
from symderiv.formula.kink_places import in_steps, places_of
from symderiv.gaussian import derivative
from symderiv.lowering.means.numeric_activation import NumericActivation

X = sp.Symbol("x", real=True)
HALF = sp.Rational(1, 2)
KINKED = {
    "Max(0, x**2 - 2)": (sp.Max(0, X**2 - 2), [-np.sqrt(2), np.sqrt(2)]),
    "Max(x, x**2)": (sp.Max(X, X**2), [0.0, 1.0]),
    "Max(0, x**3 - x - 1)": (sp.Max(0, X**3 - X - 1), [1.324717957244746]),
    "Max(0, 1 - 2*erf(x))": (sp.Max(0, 1 - 2 * sp.erf(X)), [0.4769362762044699]),
    "Abs(tanh(2*x + 1) - 1/2)": (sp.Abs(sp.tanh(2 * X + 1) - HALF), [-0.22534692783297255]),
    "Max(exp(x) - 2, 0)": (sp.Max(sp.exp(X) - 2, 0), [0.6931471805599453]),
    "Max(0, 1 - erf(x)), never": (sp.Max(0, 1 - sp.erf(X)), []),
    "Abs(x)*Abs(x**2 - 1/4)": (sp.Abs(X) * sp.Abs(X**2 - HALF**2), [-0.5, 0.0, 0.5]),
    "twice at one place": (sp.Max(0, (X - 1) ** 2 * (X + 2)), [-2.0]),
}


@pytest.mark.parametrize("name", KINKED)
def test_steps_are_the_function_and_its_slope_is_one(name: str) -> None:
    function, places = KINKED[name]
    steps = in_steps(function, X)
    at = np.array([*np.linspace(-2.9, 2.7, 41), 5.0])
    values = [[float(e.subs(X, x)) for x in at] for e in (function, steps)]
    np.testing.assert_allclose(*values, atol=1e-12)
    stated = NumericActivation(function, name)
    assert not stated.jumps
    # a double zero is a place without a kink
    np.testing.assert_allclose(stated.kinks, places, atol=1e-12)
    h = 1e-6
    slope = stated.derivative(1)
    numbers = [float((function.subs(X, x + h) - function.subs(X, x - h)) / (2 * h)) for x in at]
    np.testing.assert_allclose([float(slope.subs(X, x)) for x in at], numbers, atol=1e-5)


def test_delta_functions_are_left_where_the_function_jumps() -> None:
    assert derivative(sp.Heaviside(X**2 - 2)).has(sp.DiracDelta)
    assert NumericActivation(X * sp.sign(X**2 - 2), "jumps").jumps
    assert not derivative(sp.Max(0, X**2 - 2)).has(sp.DiracDelta)


def test_steps_of_lines_stay_as_they_are() -> None:
    """Otherwise exp(x) H(-x) would become a difference of large numbers."""
    for function in (sp.exp(X) * sp.Heaviside(-X), sp.Abs(2 * X - 1), sp.Max(X, 3, -X)):
        assert in_steps(function, X) == function


def test_places_without_formula_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^$"):
        places_of(X - sp.tanh(2 * X), X)


ACTIVATIONS = {
    "Max(0,1-2*erf(x))": lambda x: np.maximum(0, 1 - 2 * erf(x)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_rates_are_those_of_sums_over_a_grid(name: str) -> None:
    """K = M = 1: dR and dQ of one step of descent, averaged over two fields on a fine grid."""
    g, (q, r, t), eta = ACTIVATIONS[name], (0.8, 0.3, 1.2), 0.3
    line = np.arange(-8.0, 8.0, 0.001) + 0.0002
    x, weight = np.sqrt(q) * line, np.exp(-(line**2) / 2) * 0.001 / np.sqrt(2 * np.pi)
    h = 1e-7
    slope = (g(x + h) - g(x - h)) / (2 * h)
    mean, rest = r / np.sqrt(q) * line, np.sqrt(t - r * r / q)
    moments = np.zeros((3, line.size))  # of g(y), y g(y), g(y)² given x
    for z, w in zip(line[::20], weight[::20] * 20, strict=True):
        y = mean + rest * z
        moments += w * np.array([g(y), y * g(y), g(y) ** 2])
    force = slope * (g(x) - moments[0])
    d_r = -eta * np.sum(weight * slope * (g(x) * mean - moments[1]))
    square = slope**2 * (g(x) ** 2 - 2 * g(x) * moments[0] + moments[2])
    d_q = np.sum(weight * (-2 * eta * force * x + eta**2 * square))
    problem = sd.Problem(
        name,
        students=1,
        teachers=1,
        learning_rate=eta,
        inputs=sd.Isotropic(100),
        time={"relative_tolerance": 1e-4},
    )
    found = problem.rates(Q=[[q]], R=[[r]], T=[[t]])
    assert found.dR[0, 0] == pytest.approx(d_r, rel=1e-3, abs=1e-4)
    assert found.dQ[0, 0] == pytest.approx(d_q, rel=1e-3, abs=1e-4)


def test_a_system_may_observe_functions_with_kinks_where_erf_takes_a_value() -> None:
    system = sd.System()
    x = system.inputs("x")
    w, b = system.vectors("w", 1), system.vectors("B", 1, fixed=True)
    s = sd.activation("erf")(w @ x).sum()
    y = sd.activation("sign")(b @ x).sum()
    system.descend(sp.Max(0, 1 - y * s), {w: system.parameter("eta", 0.5)})
    system.observe(alone=sp.Max(0, 1 - 2 * s), both=sp.Max(0, HALF - y * s))
    start = {"w.w": [[1.0]], "w.B": [[0.3]], "B.B": [[1.0]]}
    run = system.solve(end=1, points=2, initial=start)
    # s = erf(x/√2) is uniform between -1 and 1
    assert run["alone"][0] == pytest.approx(1.125, abs=1e-9)
    line = np.arange(-9, 9, 0.0005)
    weight = 0.0005 / np.sqrt(2 * np.pi) * np.exp(-(line**2) / 2)
    positive = 0.5 * (1 + erf(0.3 * line / np.sqrt(1 - 0.09) / np.sqrt(2)))
    u = erf(line / np.sqrt(2))
    both = positive * np.maximum(0, 0.5 - u) + (1 - positive) * np.maximum(0, 0.5 + u)
    assert run["both"][0] == pytest.approx(np.sum(weight * both), abs=1e-6)
