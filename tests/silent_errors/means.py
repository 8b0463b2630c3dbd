"""Means of products of functions: existence, degenerate covariances, conventions, input."""

# A table: one case per line is easier to read than six.
# ruff: noqa: E501

import json
from typing import Any

import mpmath
import numpy as np
from scipy.special import erf as error_function
from scipy.special import expit

from silent_errors.evidence import (
    asin,
    double_factorial,
    exp,
    one,
    orthant2,
    orthant3,
    pi,
    sqrt,
    two,
)
from silent_errors.gate import Case, Evidence, Pair, Raises, RefusesOr, Returns


def mean(
    expression: str,
    covariance: Any,
    value: Evidence,
    evidence: str,
    centre: Any = None,
    relative: float = 1e-12,
    digits: int | None = None,
    known: str = "",
) -> Case:
    """``expect`` must give this value."""
    words = _words(expression, covariance, centre)
    if digits is not None:
        words = (*words, "--digits", str(digits))
    return Case(words, Returns(value, relative=relative), evidence, known=known)


def refused(
    expression: str,
    covariance: Any,
    *words: str,
    evidence: str,
    centre: Any = None,
    code: int = 2,
    known: str = "",
) -> Case:
    """``expect`` must refuse in these words."""
    return Case(_words(expression, covariance, centre), Raises(code, words), evidence, known=known)


def _words(expression: str, covariance: Any, centre: Any) -> tuple[str, ...]:
    text = covariance if isinstance(covariance, str) else json.dumps(covariance)
    words: tuple[str, ...] = ("expect", expression, "--covariance", text)
    if centre is not None:
        words += ("--mean", centre if isinstance(centre, str) else json.dumps(centre))
    return words


UNIT = [[1]]
TWO = [[1, "1/2"], ["1/2", 2]]
IDENTITY = [[1, 0], [0, 1]]
EQUAL = [[1, 1], [1, 1]]
OPPOSITE = [[1, -1], [-1, 1]]
RANK_2 = [[1, 0, 1], [0, 1, 1], [1, 1, 2]]


def existence() -> list[Pair]:
    """Means that do not exist, each with the nearest that does."""
    chi = "E[exp(a x^2)] = 1/sqrt(1 - 2 a s), integrable for 2 a s < 1 only"
    pole = "near 0 the density is positive, and the integral of |x|^-p over 0 diverges for p >= 1"
    found = [
        Pair(
            refused("exp(x**2)", [["1/2"]], "Var(x1) < 1/2", evidence=chi),
            mean("exp(x**2)", [["49/100"]], 1 / sqrt(1 - 0.98), chi, relative=1e-11),
        ),
        Pair(
            refused("exp(x**2/2)", UNIT, "Var(x1) < 1", evidence=chi),
            mean("exp(x**2/2)", [["1/2"]], sqrt(2), chi),
        ),
        Pair(
            refused("x**2*exp(x**2/4)", [[2]], "Var(x1) < 2", evidence=chi),
            mean("x**2*exp(x**2/4)", UNIT, 2**1.5, "derivative of 1/sqrt(1 - 2a) by a at a = 1/4"),
        ),
        Pair(
            refused("exp(x*y)", [[1, 0], [0, 1]], evidence="det(1 - tilt) = 1 - 1 = 0: E = 1/0"),
            mean("exp(x*y/2)", IDENTITY, 1 / sqrt(1 - 0.25), "E[exp(t x y)] = (1 - t^2)^(-1/2)"),
        ),
        Pair(
            refused("exp(x**3)", UNIT, "grows", evidence="exp(x^3 - x^2/2) is unbounded"),
            mean("exp(-x**2)*x**4", UNIT, 3 * 3**-2.5, "E[x^4 exp(-x^2)] = 3 (1 + 2)^(-5/2)"),
        ),
        Pair(
            refused("exp(Abs(x)**3)", UNIT, evidence="exp(|x|^3 - x^2/2) is unbounded"),
            mean("exp(Abs(x))", UNIT, lambda: 2 * exp(0.5) * 0.5 * (1 + float(mpmath.erf(1 / sqrt(2)))), "2 e^(1/2) Phi(1)"),
        ),
        Pair(
            refused("exp(x**2)*Heaviside(x)", [["1/2"]], "1/2", evidence=chi),
            mean("exp(x**2)*Heaviside(-x)", [["1/4"]], 0.5 * sqrt(2), f"half of: {chi}"),
        ),
        Pair(
            refused("1/x", UNIT, "not integrable", evidence=pole),
            mean("sin(x)/x", UNIT, lambda: sqrt(pi / 2) * float(mpmath.erf(1 / sqrt(2))), "integral over t in (0, 1) of E cos(t x) = exp(-t^2/2)"),
        ),
        Pair(
            refused("sin(x)/x**2", UNIT, "not integrable", evidence=pole),
            mean("(1-cos(x))/x**2", UNIT, lambda: _one_minus_cos(), "double integral of E cos over t: scipy"),
        ),
        Pair(
            refused("1/Abs(x)", UNIT, "not integrable", evidence=pole),
            mean("Abs(x)", UNIT, sqrt(2 / pi), "half normal distribution"),
        ),
        Pair(
            refused("x**(-2)", UNIT, "not integrable", evidence=pole),
            mean("x**2", UNIT, 1.0, "the variance"),
        ),
        Pair(
            refused("tanh(y)/x", IDENTITY, "not integrable", evidence=pole),
            mean("tanh(y)*x", TWO, lambda: 0.5 * one(lambda y: np.cosh(y) ** -2.0, 2.0), "E[x f(y)] = C12 E[f'(y)], f' by Gauss' rule"),
        ),
        Pair(
            refused("exp(exp(x))", UNIT, evidence="faster than every Gaussian"),
            mean("exp(x)", UNIT, exp(0.5), "moment generating function"),
        ),
        Pair(
            refused("cosh(x**2)", UNIT, evidence=chi),
            mean("cosh(x)", UNIT, exp(0.5), "moment generating function"),
        ),
        Pair(
            refused("sinh(x)**2*exp(x**2/2)", UNIT, evidence=chi),
            mean("sinh(x)**2", UNIT, (exp(2) - 1) / 2, "(E cosh 2x - 1)/2"),
        ),
        Pair(
            refused("log(x)", UNIT, evidence="log of negative numbers is not real"),
            mean("log(1+exp(x))", UNIT, lambda: one(lambda x: np.logaddexp(0, x)), "Gauss' rule"),
        ),
        Pair(
            refused("sqrt(x)", UNIT, evidence="root of negative numbers is not real"),
            mean("sqrt(1+x**2)", UNIT, lambda: one(lambda x: np.sqrt(1 + x * x)), "Gauss' rule", relative=1e-11),
        ),
        Pair(
            refused("DiracDelta(x)", [[0]], evidence="a delta of a field without variance"),
            mean("DiracDelta(x)", [[2]], 1 / sqrt(4 * pi), "the density at 0"),
        ),
        Pair(
            refused("DiracDelta(x)*DiracDelta(y)", EQUAL, evidence="the square of a delta: the density of (x, x)"),
            mean("DiracDelta(x)*DiracDelta(y)", TWO, 1 / (2 * pi * sqrt(1.75)), "the density at 0, determinant 7/4"),
        ),
        Pair(
            refused("DiracDelta(x)**2", UNIT, evidence="the square of a delta"),
            mean("DiracDelta(x)*Heaviside(y)", TWO, 0.5 / sqrt(2 * pi), "density times the probability 1/2 given x = 0"),
        ),
    ]  # fmt: skip
    return found


def _one_minus_cos() -> float:
    # (1 - cos x)/x^2 = int_0^1 (1 - t) cos(t x) dt
    return float(mpmath.quad(lambda t: (1 - t) * mpmath.exp(-t * t / 2), [0, 1]))


def degenerate() -> list[Case | Pair]:
    """Coincident, opposite and vanishing fields, rank loss, almost singular covariances."""
    same = "the fields are equal: a one-dimensional mean"
    still = "the field is 0"
    near = [[1, "99999999/100000000"], ["99999999/100000000", 1]]
    rho = 1 - 1e-8
    cases: list[Case | Pair] = [
        mean("sign(x)*sign(y)", EQUAL, 1.0, same),
        mean("sign(x)*sign(y)", OPPOSITE, -1.0, "opposite fields"),
        mean("Heaviside(x)*Heaviside(y)", EQUAL, 0.5, same),
        mean("Heaviside(x)*Heaviside(y)", OPPOSITE, 0.0, "never both positive"),
        mean("Max(x,0)*Max(y,0)", EQUAL, 0.5, "half of the variance"),
        mean("Max(x,0)*Max(y,0)", OPPOSITE, 0.0, "one of them is 0"),
        mean("Abs(x)*Abs(y)", EQUAL, 1.0, "the variance"),
        mean("erf(x)*erf(y)", EQUAL, lambda: 2 / pi * asin(2 / 3), "Saad and Solla 1995, arcsine law at C = 1"),
        mean("tanh(x)*tanh(y)", EQUAL, lambda: one(lambda x: np.tanh(x) ** 2), same),
        mean("tanh(x)*tanh(y)", OPPOSITE, lambda: -one(lambda x: np.tanh(x) ** 2), "opposite fields"),
        mean("sin(x)*sin(y)", EQUAL, 0.5 - 0.5 * exp(-2), "E sin^2 = (1 - E cos 2x)/2"),
        mean("cos(x)*cos(y)", OPPOSITE, 0.5 + 0.5 * exp(-2), "E cos^2 = (1 + E cos 2x)/2"),
        mean("x*y", [[0, 0], [0, 1]], 0.0, still),
        mean("erf(x)", [[0]], 0.0, still),
        mean("cos(x)", [[0]], 1.0, still),
        mean("cos(x)*y**2", [[0, 0], [0, 3]], 3.0, still),
        mean("exp(x)", [[0]], 1.0, still),
        mean("Abs(x)", [[0]], 0.0, still),
        mean("exp(x)", [[0]], exp(2), "the field is its mean", centre=[2]),
        mean("Heaviside(x)", [[0]], 1.0, "the field is its mean, positive", centre=["1/3"]),
        mean("sign(x)", [[0]], -1.0, "the field is its mean, negative", centre=["-1/3"]),
        mean("tanh(x)*y", [[0, 0], [0, 1]], 0.0, still),
        mean("tanh(x)", [[0]], lambda: float(mpmath.tanh(1)), "the field is its mean", centre=[1]),
        mean("x*y*z", RANK_2, 0.0, "odd"),
        mean("z**2", RANK_2, 2.0, "the variance of x + y"),
        mean("x*y*z**2", RANK_2, 2.0, "z = x + y: E[xy(x+y)^2] = 2 E[x^2 y^2]"),
        mean("sign(x)*sign(y)*sign(z)**2", RANK_2, 0.0, "independent signs"),
        mean("Heaviside(x)*Heaviside(y)*Heaviside(z)", RANK_2, 0.25, "z = x + y is positive when both are"),
        mean("sign(x)*sign(z)", RANK_2, 0.5, "2/pi asin(1/sqrt 2)"),
        mean("Max(z,0)*x", RANK_2, 0.5, "Stein: C13 P(z > 0)"),
        mean("sign(x)*sign(y)", near, 2 / pi * asin(rho), "arcsine law, rho = 1 - 1e-8", relative=1e-9),
        mean("1-sign(x)*sign(y)", near, lambda: float(4 / mpmath.pi * mpmath.asin(mpmath.sqrt(mpmath.mpf("1e-8") / 2))), "1 - 2/pi asin rho = 4/pi asin sqrt((1 - rho)/2)"),
        mean("Max(x,0)*Max(y,0)", near, lambda: _arc_cosine(mpmath.mpf(99999999) / 10**8), "arc-cosine kernel, Cho and Saul 2009, in 50 digits"),
        mean("(x-y)**2", near, 2e-8, "2 - 2 rho"),
        mean("Abs(x-y)", near, sqrt(2 / pi) * sqrt(2e-8), "half normal with variance 2 - 2 rho"),
        mean("(Max(x,0)-Max(y,0))**2", near, lambda: _relu_distance(), "1 - 2 arc-cosine kernel in 50 digits", relative=1e-10),
        mean("(erf(x)-erf(y))**2", near, lambda: _erf_distance(), "arcsine law in 50 digits", relative=1e-10),
        mean("tanh(x)*tanh(y)", near, lambda: one(lambda x: np.tanh(x) ** 2) - 1e-8 * one(lambda x: np.cosh(x) ** -4.0), "first order in 1 - rho: - (1 - rho) E[g'^2]", relative=1e-13),
        mean("x**2*y**2", near, lambda: 1 + 2 * rho**2, "Isserlis"),
        mean("erf(x)*erf(y)", [["1/1000000000000", 0], [0, 1]], 0.0, "odd in each"),
        mean("erf(x)**2", [["1/1000000000000"]], lambda: _erf_square(1e-12), "arcsine law, small variance"),
        mean("erf(x)**2", [[1000000000000]], lambda: _erf_square(10**12), "arcsine law, large variance"),
        mean("tanh(x)**2", [["1/10000000000"]], lambda: float(one(lambda x: np.tanh(x) ** 2, 1e-10)), "Gauss' rule", relative=1e-11),
    ]  # fmt: skip
    return cases


def _arc_cosine(rho: mpmath.mpf) -> float:
    with mpmath.workdps(50):
        angle = mpmath.acos(rho)
        return float((mpmath.sin(angle) + (mpmath.pi - angle) * rho) / (2 * mpmath.pi))


def _relu_distance() -> float:
    with mpmath.workdps(50):
        rho = 1 - mpmath.mpf(10) ** -8
        angle = mpmath.acos(rho)
        return float(1 - (mpmath.sin(angle) + (mpmath.pi - angle) * rho) / mpmath.pi)


def _erf_square(variance: float) -> float:
    with mpmath.workdps(50):
        doubled = 2 * mpmath.mpf(variance)
        return float(2 / mpmath.pi * mpmath.asin(doubled / (1 + doubled)))


def _erf_distance() -> float:
    with mpmath.workdps(50):
        rho = 1 - mpmath.mpf(10) ** -8
        return float(4 / mpmath.pi * (mpmath.asin(mpmath.mpf(2) / 3) - mpmath.asin(2 * rho / 3)))


def conventions() -> list[Case]:
    """E[f; A] is not E[f | A]; erf is the error function; Heaviside, sign and Max as usual."""
    at = 0.5
    cases = [
        mean("x*Heaviside(y)", IDENTITY, 0.0, "independent"),
        mean("x*Heaviside(y)", [[1, "1/2"], ["1/2", 1]], at / sqrt(2 * pi), "E[x; y > 0] = rho/sqrt(2 pi), half of the conditional mean"),
        mean("y*Heaviside(y)", UNIT_Y, 1 / sqrt(2 * pi), "E[y; y > 0], half of the half normal mean"),
        mean("x**2*Heaviside(y)", [[1, "1/2"], ["1/2", 1]], 0.5, "E[x^2; y > 0] = 1/2 by symmetry, not E[x^2 | y > 0] = 1"),
        mean("Heaviside(x)*Heaviside(y)", [[1, "1/2"], ["1/2", 1]], 1 / 3, "Sheppard 1899, a joint probability"),
        mean("Heaviside(x)*Heaviside(y)*Heaviside(z)", "[[1,\"1/2\",\"1/3\"],[\"1/2\",1,\"-1/4\"],[\"1/3\",\"-1/4\",1]]", orthant3(0.5, 1 / 3, -0.25), "David 1953"),
        mean("Heaviside(x)*Heaviside(-y)", [[1, "1/2"], ["1/2", 1]], 0.5 - orthant2(0.5), "complement"),
        mean("sign(x)*sign(y)", [[2, 1], [1, 3]], 2 / pi * asin(1 / sqrt(6)), "Sheppard 1899, unequal variances"),
        mean("erf(x)**2", UNIT, 2 / pi * asin(2 / 3), "erf(x), not erf(x/sqrt 2) whose square has mean 1/3"),
        mean("erf(x/sqrt(2))**2", UNIT, 1 / 3, "uniform distribution of erf(x/sqrt 2) on (-1, 1)"),
        mean("Heaviside(x)", UNIT, 0.5, "symmetry"),
        mean("sign(x)**2", UNIT, 1.0, "almost surely 1"),
        mean("Heaviside(x)**2*x**2", UNIT, 0.5, "H^2 = H"),
        mean("Max(x,y)", IDENTITY, 1 / sqrt(pi), "Clark 1961: sqrt((1 - rho)/pi)"),
        mean("Min(x,y)", [[1, "1/2"], ["1/2", 1]], -sqrt(0.5 / pi), "Clark 1961"),
        mean("Max(x,y)", TWO, sqrt((1 + 2 - 1) / (2 * pi)), "Clark 1961: sqrt(Var(x - y)/(2 pi))"),
        mean("Abs(x)*Abs(y)", [[1, "1/2"], ["1/2", 1]], 2 / pi * (sqrt(0.75) + 0.5 * asin(0.5)), "Nabeya 1951"),
        mean("Abs(x)*Abs(y)", TWO, 2 / pi * sqrt(2) * (sqrt(1 - 1 / 8) + 1 / sqrt(8) * asin(1 / sqrt(8))), "Nabeya 1951, unequal variances"),
        mean("x*y", TWO, 0.5, "the covariance"),
        mean("x*y", TWO, 0.5 + 6, "covariance plus product of means", centre=[2, 3]),
        mean("x**2*y**2", TWO, 2 + 2 * 0.25, "Isserlis"),
        mean("x**3*y", TWO, 1.5, "Isserlis: 3 C11 C12"),
        mean("x**10", UNIT, float(double_factorial(10)), "9!!"),
        mean("x**4", [[3]], 27.0, "3 sigma^4: covariance entries are variances, not deviations"),
        mean("x**2", [[4]], 4.0, "covariance entries are variances, not deviations"),
        mean("x**4", UNIT, 10.0, "mu^4 + 6 mu^2 + 3 at mu = 1", centre=[1]),
        mean("exp(x+y)", TWO, exp(2), "exp of half the variance 1 + 2 + 1"),
        mean("exp(x)*exp(-y)", TWO, exp(1), "exp of half the variance 1 + 2 - 1"),
        mean("exp(2*x)", [[2]], exp(3 + 4), "moment generating function with mean", centre=["3/2"]),
        mean("cos(x)", [[2]], exp(-1), "characteristic function"),
        mean("cos(3*x)", UNIT, exp(-4.5), "characteristic function"),
        mean("sin(x)", UNIT, exp(-0.5) * float(mpmath.sin(1)), "characteristic function with mean", centre=[1]),
        mean("sin(x)*sin(y)", TWO, exp(-1.5) * float(mpmath.sinh(0.5)), "product to sum"),
        mean("cos(x)*cos(y)", TWO, exp(-1.5) * float(mpmath.cosh(0.5)), "product to sum"),
        mean("x*sin(x)", UNIT, exp(-0.5), "Stein: E[cos x]"),
        mean("x*erf(x)", UNIT, 2 / sqrt(3 * pi), "Stein: E[2/sqrt(pi) exp(-x^2)]"),
        mean("y*erf(x)", TWO, 0.5 * 2 / sqrt(3 * pi), "Stein: C12 E[erf']"),
        mean("erf(x)", UNIT, lambda: float(mpmath.erf(1 / mpmath.sqrt(3))), "E erf(x) = erf(mu/sqrt(1 + 2 s))", centre=[1]),
        mean("erf(x)*erf(y)", TWO, 2 / pi * asin(1 / sqrt(15)), "Williams 1997: 2/pi asin(2 C12/sqrt((1+2 C11)(1+2 C22)))"),
        mean("exp(-x**2)", [[2]], 1 / sqrt(5), "1/sqrt(1 + 2 s)"),
        mean("exp(-x**2)*exp(-y**2)", TWO, 1 / sqrt(3 * 5 - 4 * 0.25), "1/sqrt(det(1 + 2 C))"),
        mean("x*y*exp(-x**2)", TWO, 0.5 * 3**-1.5, "tilted covariance 1/3, C12 x^2"),
        mean("Heaviside(x-1)", UNIT, lambda: float(mpmath.ncdf(-1)), "tail probability"),
        mean("Heaviside(x)", UNIT, lambda: float(mpmath.ncdf(1)), "with mean 1", centre=[1]),
        mean("Max(x,0)", UNIT, lambda: float(mpmath.npdf(1) + mpmath.ncdf(1)), "phi + mu Phi", centre=[1]),
        mean("Abs(x)", UNIT, lambda: float(2 * mpmath.npdf(1) + mpmath.erf(1 / mpmath.sqrt(2))), "folded normal", centre=[1]),
        mean("Heaviside(x)*Heaviside(y)", [[1, "1/2"], ["1/2", 1]], lambda: _orthant_with_mean(), "Plackett integral with means, mpmath", centre=["1/2", "-1/3"], relative=1e-11),
        mean("sign(x)*sign(y)*sign(z)", "[[1,\"1/2\",\"1/3\"],[\"1/2\",1,\"-1/4\"],[\"1/3\",\"-1/4\",1]]", 0.0, "odd number of centred signs"),
        mean("sign(x)*sign(y)*sign(z)*sign(w)", "[[1,0,0,0],[0,1,0,0],[0,0,1,\"1/2\"],[0,0,\"1/2\",1]]", 0.0, "independent of the rest"),
        mean("sign(x)*sign(y)*sign(z)*sign(w)", "[[1,\"1/2\",0,0],[\"1/2\",1,0,0],[0,0,1,\"1/2\"],[0,0,\"1/2\",1]]", 1 / 9, "product of two arcsines"),
        mean("sign(x)*sign(y)*sign(z)*sign(w)", "[[1,1,1,1],[1,1,1,1],[1,1,1,1],[1,1,1,1]]", 1.0, "all equal"),
        mean("Heaviside(x)*Heaviside(y)*Heaviside(z)*Heaviside(w)", "[[2,1,1,1],[1,2,1,1],[1,1,2,1],[1,1,1,2]]", 1 / 5, "exchangeable with rho = 1/2: 1/(n+1)"),
        mean("sign(x)*sign(y)*sign(z)*sign(w)", "[[2,1,1,1],[1,2,1,1],[1,1,2,1],[1,1,1,2]]", 1 / 5, "five exchangeable: differences u_i - u_0: (sum over ranks) = 1/5"),
    ]  # fmt: skip
    return cases


UNIT_Y = [[7, 0], [0, 1]]


def _orthant_with_mean() -> float:
    # P(x > 0, y > 0) by conditioning on x
    def inner(x: mpmath.mpf) -> mpmath.mpf:
        centre = mpmath.mpf(-1) / 3 + (x - mpmath.mpf(1) / 2) / 2
        return mpmath.npdf(x, 0.5, 1) * mpmath.ncdf(centre / mpmath.sqrt(mpmath.mpf(3) / 4))

    return float(mpmath.quad(inner, [0, 1, 2, 4, 8, 12]))


def quadratures() -> list[Case]:
    """Functions without closed form, against Gauss' rule between kinks."""

    def soft(x: Any) -> Any:
        return np.logaddexp(0, x)

    near = 1e-11
    rule = "Gauss' rule in panels between the kinks"
    C = [[1.0, 0.5], [0.5, 2.0]]
    table: list[tuple[str, Any, Any]] = [
        ("tanh(x)*tanh(y)", lambda x, y: np.tanh(x) * np.tanh(y), near),
        ("log(1+exp(x))*y**2", lambda x, y: soft(x) * y * y, near),
        ("log(1+exp(x))*log(1+exp(y))", lambda x, y: soft(x) * soft(y), near),
        ("x/(1+exp(-x))*erf(y)", lambda x, y: x * expit(x) * error_function(y), near),
        ("x/(1+Abs(x))*y", lambda x, y: x / (1 + np.abs(x)) * y, near),
        ("x/(1+Abs(x))*Heaviside(y)", lambda x, y: x / (1 + np.abs(x)) * (y > 0), near),
        ("atan(x)*atan(y)", lambda x, y: np.arctan(x) * np.arctan(y), 1e-9),
        ("tanh(x)*sign(y)", lambda x, y: np.tanh(x) * np.sign(y), near),
        ("tanh(x)*Max(y,0)", lambda x, y: np.tanh(x) * np.maximum(y, 0), near),
        ("1/(1+exp(-x))*1/(1+exp(-y))", lambda x, y: expit(x) * expit(y), near),
        ("tanh(x)**2*cos(y)", lambda x, y: np.tanh(x) ** 2 * np.cos(y), near),
        ("Max(x,0)*tanh(y)**2", lambda x, y: np.maximum(x, 0) * np.tanh(y) ** 2, near),
        ("Abs(x)*exp(-y**2)", lambda x, y: np.abs(x) * np.exp(-y * y), near),
        ("Max(x,0)*erf(y)", lambda x, y: np.maximum(x, 0) * error_function(y), near),
        ("Max(x,0)*sin(y)", lambda x, y: np.maximum(x, 0) * np.sin(y), near),
        ("Heaviside(x)*exp(y/2)", lambda x, y: (x > 0) * np.exp(y / 2), near),
        ("Max(x,0)*Max(y,0)**2", lambda x, y: np.maximum(x, 0) * np.maximum(y, 0) ** 2, near),
        ("x*Heaviside(x)*erf(y)*y", lambda x, y: np.maximum(x, 0) * error_function(y) * y, near),
    ]
    cases = [
        mean(text, [[1, "1/2"], ["1/2", 2]], lambda f=f: two(f, C), rule, relative=relative)
        for text, f, relative in table
    ]
    shifted = [
        ("tanh(x)*y", lambda x, y: np.tanh(x) * y),
        ("Max(x,0)*Max(y,0)", lambda x, y: np.maximum(x, 0) * np.maximum(y, 0)),
        ("erf(x)*erf(y)", lambda x, y: error_function(x) * error_function(y)),
        ("Heaviside(x)*y**2", lambda x, y: (x > 0) * y * y),
        ("Abs(x)*sign(y)", lambda x, y: np.abs(x) * np.sign(y)),
    ]
    cases += [
        mean(
            text, [[1, "1/2"], ["1/2", 2]], lambda f=f: two(f, C, (0.5, -0.75)),
            f"{rule}, with means", centre=["1/2", "-3/4"], relative=near,
        )
        for text, f in shifted
    ]  # fmt: skip
    return cases


def inputs() -> list[Pair]:
    """Covariances that are none by little; other input is refused in ``unit/cli/test_expect.py``."""
    psd = "a covariance has no negative eigenvalue"
    rows: list[tuple[str, Any, str, Case]] = [
        ("x*y", [[1, 2], [2, 1]], psd, mean("x*y", [[1, 1], [1, 1]], 1.0, "the boundary is allowed")),
        ("x*y", [[1, "1.0000000000001"], ["1.0000000000001", 1]], psd, mean("x*y", [[1, "0.9999999999999"], ["0.9999999999999", 1]], 0.9999999999999, "just inside")),
        ("x", [[-1]], "a variance is not negative", mean("x", [[0]], 0.0, "zero variance is allowed")),
        ("x*y", [[0, "1/10"], ["1/10", 1]], "a field without variance has no covariance", mean("x*y", [[0, 0], [0, 1]], 0.0, "zero")),
        ("x*y*z", [[1, "9/10", "-9/10"], ["9/10", 1, "9/10"], ["-9/10", "9/10", 1]], psd, mean("x*y", [[1, "9/10", "9/10"], ["9/10", 1, "9/10"], ["9/10", "9/10", 1]], 0.9, "positive definite")),
    ]  # fmt: skip
    return [Pair(refused(e, C, "covariance", evidence=why), near) for e, C, why, near in rows]


def digits() -> list[Case]:
    """Many digits: the text itself must be right to all of them."""

    def text(value: Any, count: int) -> Any:
        def computed() -> str:
            with mpmath.workdps(count + 20):
                return str(mpmath.nstr(value(), count, strip_zeros=False))

        return computed

    def leading(count: int) -> Any:
        def read(answer: Any, folder: Any) -> str:
            with mpmath.workdps(count + 20):
                return str(mpmath.nstr(mpmath.mpf(answer["value"]), count, strip_zeros=False))

        return read

    rows = [
        ("erf(x)*erf(y)", [[1, "1/3"], ["1/3", 2]], lambda: 2 / mpmath.pi * mpmath.asin(2 / (3 * mpmath.sqrt(15))), 40),
        ("Abs(x)", [[1]], lambda: mpmath.sqrt(2 / mpmath.pi), 50),
        ("Heaviside(x)*Heaviside(y)", [[1, "1/3"], ["1/3", 1]], lambda: mpmath.mpf(1) / 4 + mpmath.asin(mpmath.mpf(1) / 3) / (2 * mpmath.pi), 40),
        ("tanh(x)**2", [[1]], lambda: 2 * mpmath.quad(lambda z: mpmath.tanh(z) ** 2 * mpmath.npdf(z), [0, 1, 2, 4, 8, 16]), 25),
        ("exp(-x**2)", [["1/7"]], lambda: 1 / mpmath.sqrt(mpmath.mpf(9) / 7), 60),
        ("log(1+exp(x))", [[1]], lambda: mpmath.quad(lambda z: mpmath.log1p(mpmath.exp(z)) * mpmath.npdf(z), [-16, -8, -4, -2, 0, 2, 4, 8, 16]), 25),
        ("sin(x)/x", [[1]], lambda: mpmath.sqrt(mpmath.pi / 2) * mpmath.erf(1 / mpmath.sqrt(2)), 25),
    ]  # fmt: skip
    cases = []
    for expression, C, value, count in rows:
        shown = count - 2
        words = ("expect", expression, "--covariance", json.dumps(C), "--digits", str(count))
        outcome = Returns(text(value, shown), leading(shown))
        cases.append(Case(words, outcome, "mpmath with twenty digits more"))
    return cases


def either() -> list[Case]:
    """Hard ones: a refusal in one line is allowed, a wrong number is not."""
    close = [[1, "999999999999/1000000000000"], ["999999999999/1000000000000", 1]]
    kinked = "x/(1+Abs(x))*y/(1+Abs(y))"
    rows: list[tuple[str, Any, Evidence, float, str]] = [
        (kinked, close, lambda: one(lambda x: (x / (1 + np.abs(x))) ** 2), 1e-10, "equal up to 1e-12"),
        ("Abs(x)/x", UNIT, 0.0, 1e-12, "odd"),
        ("tanh(10*x)", UNIT, 0.0, 1e-12, "odd"),
        ("tanh(1000*x)**2", UNIT, lambda: one(lambda x: np.tanh(1000 * x) ** 2, kinks=(-0.02, -0.01, -0.004, -0.002, -0.001, 0, 0.001, 0.002, 0.004, 0.01, 0.02)), 1e-9, "Gauss' rule, fine around 0"),
        ("exp(-x**4)", UNIT, lambda: one(lambda x: np.exp(-(x**4))), 1e-11, "Gauss' rule"),
        ("cos(x**2)", UNIT, lambda: float(mpmath.re(1 / mpmath.sqrt(1 - 2j))), 1e-11, "Fresnel: Re (1 - 2i)^(-1/2)"),
        ("sqrt(Abs(x))", UNIT, lambda: float(2 ** mpmath.mpf("0.25") * mpmath.gamma("0.75") / mpmath.sqrt(mpmath.pi)), 1e-11, "moment of order 1/2"),
        ("Abs(x)**3", UNIT, 2 * sqrt(2 / pi), 1e-12, "third absolute moment"),
        ("log(Abs(x))", UNIT, lambda: float(-(mpmath.euler + mpmath.log(2)) / 2), 1e-11, "log of a chi-square variable"),
        ("exp(sin(x))", UNIT, lambda: one(lambda x: np.exp(np.sin(x))), 1e-11, "Gauss' rule"),
        ("Max(x,y,z)", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 1.5 / sqrt(pi), 1e-11, "largest of three, 3/(2 sqrt pi)"),
        ("Heaviside(x)*Heaviside(y)*Heaviside(z)*Heaviside(w)", "[[1,1,0,0],[1,1,0,0],[0,0,1,1],[0,0,1,1]]", 0.25, 1e-12, "two independent pairs of equal fields"),
        ("Heaviside(x)*Heaviside(y)", UNIT_SHIFT, lambda: float(mpmath.ncdf(-8) ** 2), 1e-6, "independent tails of 8 deviations"),
        ("erf(x)*erf(y)*erf(z)", "[[1,\"1/2\",\"1/3\"],[\"1/2\",1,\"-1/4\"],[\"1/3\",\"-1/4\",1]]", 0.0, 1e-12, "odd"),
        ("x**100", UNIT, float(double_factorial(100)), 1e-12, "99!!"),
        ("exp(20*x)", UNIT, exp(200), 1e-11, "moment generating function"),
        ("cos(50*x)", UNIT, 0.0, 1e-12, "exp(-1250)"),
        ("x*Heaviside(x)*Heaviside(y)*Heaviside(z)", [[1, 0, 0], [0, 1, 0], [0, 0, 1]], 0.25 / sqrt(2 * pi), 1e-12, "independent"),
    ]  # fmt: skip
    cases = []
    for expression, C, value, relative, evidence in rows:
        centre = [-8, -8] if C is UNIT_SHIFT else None
        words = _words(expression, C, centre)
        cases.append(Case(words, RefusesOr(Returns(value, relative=relative)), evidence))
    return cases


UNIT_SHIFT = [[1, 0], [0, 1]]

CASES: list[Case | Pair] = [
    *existence(),
    *degenerate(),
    *conventions(),
    *quadratures(),
    *inputs(),
    *digits(),
    *either(),
]
