"""I2, I3, I4 and formulas claimed to be them: definitions, coincident indices, sign students."""

# A table: one case per line is easier to read than six.
# ruff: noqa: E501

import json
from typing import Any

import numpy as np
from pairs.activations import ACTIVATIONS

from silent_errors.evidence import asin, exp, one, pi, sqrt, two
from silent_errors.gate import Case, Evidence, Pair, Raises, RefusesOr, Refutes, Returns

Array = np.ndarray[Any, Any]
RULE = "Gauss' rule in panels between the kinks, from the definition"


def integral(
    which: str,
    activation: str,
    covariance: Any,
    value: Evidence,
    evidence: str,
    relative: float = 1e-11,
) -> Case:
    """``integral`` of one activation, or of several separated by commas."""
    return Case(_words(which, activation, covariance), Returns(value, relative=relative), evidence)


def no_integral(which: str, activation: str, covariance: Any, *words: str, evidence: str) -> Case:
    """``integral`` must refuse."""
    return Case(_words(which, activation, covariance), Raises(2, words), evidence)


def _words(which: str, activation: str, covariance: Any) -> tuple[str, ...]:
    option = "--activations" if ";" in activation else "--activation"
    text = covariance if isinstance(covariance, str) else json.dumps(covariance)
    return ("integral", which, option, activation.replace(";", ","), "--covariance", text)


FUNCTIONS = ("erf", "relu", "linear", "quadratic", "sin", "tanh", "bump", "abs", "gelu")

C2 = [[1, "1/3"], ["1/3", 2]]
N2 = [[1.0, 1 / 3], [1 / 3, 2.0]]


def defined() -> list[Case]:
    """I2, I3 and I4 of every kind of activation, from their definitions in two dimensions.

    I3 and I4 with fields that coincide are two-dimensional: u = v in I3, u = v and w = z in I4.
    """
    cases = []
    i3_equal = [[1, 1, "1/3"], [1, 1, "1/3"], ["1/3", "1/3", 2]]
    i4_pairs = [
        [1, 1, "1/3", "1/3"],
        [1, 1, "1/3", "1/3"],
        ["1/3", "1/3", 2, 2],
        ["1/3", "1/3", 2, 2],
    ]
    i4_three = [[1, 1, 1, "1/3"], [1, 1, 1, "1/3"], [1, 1, 1, "1/3"], ["1/3", "1/3", "1/3", 2]]
    for activation in map(ACTIVATIONS.__getitem__, FUNCTIONS):
        name, g, slope = activation.text, activation.value, activation.slope

        def i2(g: Any = g) -> float:
            return two(lambda x, y: g(x) * g(y), N2)

        def i3(g: Any = g, slope: Any = slope) -> float:
            return two(lambda x, y: slope(x) * x * g(y), N2)

        def i4(g: Any = g, slope: Any = slope) -> float:
            return two(lambda x, y: slope(x) ** 2 * g(y) ** 2, N2)

        def i4_aaab(g: Any = g, slope: Any = slope) -> float:
            return two(lambda x, y: slope(x) ** 2 * g(x) * g(y), N2)

        cases.append(integral("i2", name, C2, i2, RULE))
        cases.append(integral("i3", name, i3_equal, i3, f"{RULE}, u = v"))
        if name != "tanh":
            cases.append(integral("i4", name, i4_pairs, i4, f"{RULE}, u = v and w = z"))
            cases.append(integral("i4", name, i4_three, i4_aaab, f"{RULE}, u = v = w"))
    return cases


def conventions() -> list[Case]:
    """What the names mean, in closed forms of the literature."""
    saad = "Saad and Solla 1995: 2/pi asin(C12/sqrt((1+C11)(1+C22)))"
    identity4 = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    return [
        integral("i2", "erf", C2, 2 / pi * asin((1 / 3) / sqrt(6)), saad),
        integral("i2", "erf(x)", C2, 2 / pi * asin(2 / 3 / sqrt(15)), "erf(x) as a formula is not the activation erf: Williams 1997"),
        integral("i2", "erf", [[1, 1], [1, 1]], 1 / 3, saad),
        integral("i2", "erf", [[1, -1], [-1, 1]], -1 / 3, saad),
        integral("i2", "erf;linear", C2, lambda: 1 / 3 / sqrt(pi), "C12 E[g'(u)] = C12 sqrt(2/pi)/sqrt(1+C11)"),
        integral("i2", "linear;erf", C2, (1 / 3) * sqrt(2 / pi) / sqrt(3), "C12 sqrt(2/pi)/sqrt(1+C22)"),
        integral("i2", "relu", [[1, 1], [1, 1]], 0.5, "half of the variance"),
        integral("i2", "relu", [[1, -1], [-1, 1]], 0.0, "one of the two is 0"),
        integral("i2", "relu", [[1, 0], [0, 4]], 1 / pi, "product of half normal means 1/sqrt(2 pi), 2/sqrt(2 pi)"),
        integral("i2", "sign", [[3, 1], [1, 2]], 2 / pi * asin(1 / sqrt(6)), "Sheppard 1899"),
        integral("i2", "erf;sign", C2, lambda: 2 / pi * asin((1 / 3) / sqrt(2 * 2)), "arcsine law with sign as erf of infinite slope: asin(C12/sqrt((1+C11) C22))"),
        integral("i3", "erf", [[1, "1/2", 0], ["1/2", 1, 0], [0, 0, 1]], 0.0, "w independent of u, v: E[g'(u) v] E[g(w)] = 0"),
        integral("i3", "erf", [[1, 0, 0], [0, 1, "1/2"], [0, "1/2", 1]], sqrt(2 / pi) / sqrt(2) * 0.5 * sqrt(2 / pi) / sqrt(2), "u independent: E[g'(u)] E[v g(w)]"),
        integral("i3", "relu", [[1, 0, 0], [0, 1, "1/2"], [0, "1/2", 1]], 0.5 * 0.25, "u independent: P(u > 0) C23 P(w > 0)"),
        integral("i3", "linear", [[5, 1, 1], [1, 2, "1/2"], [1, "1/2", 3]], 0.5, "g' = 1: C23"),
        integral("i3", "linear;sign", [[5, 1, 1], [1, 2, "1/2"], [1, "1/2", 3]], 0.5 * sqrt(2 / (3 * pi)), "E[v sign(w)] = C23 sqrt(2/(pi C33))"),
        integral("i4", "erf", identity4, 0.0, "w independent: odd"),
        integral("i4", "relu", identity4, 0.25 / (2 * pi), "1/2 1/2 1/(2 pi)"),
        integral("i4", "linear", identity4, 0.0, "C34"),
        integral("i4", "quadratic", identity4, 0.0, "E[4 u v w^2 z^2], odd in u"),
        integral("i4", "quadratic", [[1, "1/2", 0, 0], ["1/2", 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3]], 4 * 0.5 * 3, "4 C12 C33 C44"),
        integral("i4", "erf", [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, "1/2"], [0, 0, "1/2", 1]], (2 / pi) / 2 * 2 / pi * asin(1 / 4), "E[g']^2 I2(w, z), u and v independent of everything"),
        integral("i4", "erf", [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], 2 / pi / sqrt(3) / 3, "E[g'(u)^2] E[g(w)^2]: (2/pi)/sqrt(3) times 1/3"),
        integral("i4", "relu", [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]], 0.5, "all equal: E[x^2; x > 0]"),
        integral("i4", "relu", [[1, 1, -1, -1], [1, 1, -1, -1], [-1, -1, 1, 1], [-1, -1, 1, 1]], 0.0, "w = -u"),
        integral("i4", "abs", [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]], 1.0, "sign^2 x^2"),
        integral("i4", "gelu", identity4, lambda: one(ACTIVATIONS["gelu"].slope) ** 2 * one(ACTIVATIONS["gelu"].value) ** 2, "product of one-dimensional means"),
        integral("i2", "tanh", [[1, 1], [1, 1]], lambda: one(lambda x: np.tanh(x) ** 2), RULE),
        integral("i2", "tanh;relu", C2, lambda: two(lambda x, y: np.tanh(x) * ACTIVATIONS["relu"].value(y), N2), RULE),
        integral("i2", "sin;erf", C2, lambda: two(lambda x, y: np.sin(x) * ACTIVATIONS["erf"].value(y), N2), RULE),
        integral("i2", "softplus;x/(1+Abs(x))", C2, lambda: two(lambda x, y: np.logaddexp(0, x) * y / (1 + np.abs(y)), N2), RULE),
        integral("i2", "exp(x/4)", C2, lambda: exp((1 + 2 / 3 + 2) / 32), "exp of half the variance of (x + y)/4"),
    ]  # fmt: skip


def refusals() -> list[Case | Pair]:
    """Sign students and divergent means; wrong shapes are in ``unit/cli/test_expect.py``."""
    equal = [[1] * 4] * 4
    delta = "g'(u) g'(v) is the square of a delta function where u = v"
    apart = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, "1/2"], [0, 0, "1/2", 1]]
    chi = "E[exp(2 a x^2)] exists for 4 a s < 1 only"
    found: list[Case | Pair] = [
        Pair(
            no_integral("i4", "sign", equal, evidence=delta),
            integral("i4", "sign", apart, 2 / pi * 2 / pi * asin(0.5), "density (2/sqrt(2 pi))^2 at u = v = 0 times Sheppard"),
        ),
        Pair(
            no_integral("i4", "Heaviside(x)", equal, evidence=delta),
            integral("i4", "Heaviside(x)", apart, (1 / (2 * pi)) * (0.25 + asin(0.5) / (2 * pi)), "density at u = v = 0 times the orthant"),
        ),
        Pair(
            no_integral("i2", "exp(x**2/2)", [[1, 1], [1, 1]], "exists", evidence=chi),
            integral("i2", "exp(x**2/8)", [[1, 1], [1, 1]], sqrt(2), "E[exp(x^2/4)] = 1/sqrt(1 - 1/2)"),
        ),
        Pair(
            no_integral("i2", "1/x", [[1, 0], [0, 1]], "not integrable", evidence="1/|x| at 0"),
            integral("i2", "sin(x)/x", [[1, 0], [0, 1]], lambda: one(lambda x: np.sinc(x / np.pi)) ** 2, "product of one-dimensional means"),
        ),
        Case(
            _words("i4", "sign", [[1, "99/100", 0, 0], ["99/100", 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]),
            RefusesOr(Returns(4 / (2 * pi * sqrt(1 - 0.99**2)), relative=1e-11)),
            "four times the density at u = v = 0 with correlation 0.99, times E sign^2 = 1",
        ),
    ]  # fmt: skip
    return found


I2 = "2/pi*asin(c12/sqrt((1+c11)*(1+c22)))"
I2_LATEX = r"\frac{2}{\pi}\arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}"
I3 = "2/pi*(c23*(1+c11)-c12*c13)/((1+c11)*sqrt((1+c11)*(1+c33)-c13**2))"
RELU2 = "(sqrt(c11*c22-c12**2)+c12*(pi/2+asin(c12/sqrt(c11*c22))))/(2*pi)"


def formulas() -> list[Case | Pair]:
    """``check``: right formulas hold, wrong ones fail; both are textbook."""

    def holds(what: str, formula: str, evidence: str, activation: str = "") -> Case:
        return Case(_check(what, formula, activation), Returns("holds", "verdict"), evidence)

    def fails(what: str, formula: str, evidence: str, activation: str = "") -> Case:
        return Case(_check(what, formula, activation), Refutes(), evidence)

    saad, relu = "Saad and Solla 1995", "arc-cosine kernel, Cho and Saul 2009"
    rows = [
        ("i2", I2, "2/pi*asin(c12/sqrt((1+c11)*(1-c22)))", "erf", saad),
        ("i2", I2_LATEX, I2_LATEX.replace(r"\arcsin", r"\arccos"), "erf", saad),
        ("i2", I2, "2/pi*asin(c12/sqrt(1+c11+c22))", "erf", saad),
        ("i2", I2, "2/pi*asin(2*c12/sqrt((1+2*c11)*(1+2*c22)))", "erf", f"{saad}; the other is that of erf(x)"),
        ("i2", "2/pi*asin(2*c12/sqrt((1+2*c11)*(1+2*c22)))", I2, "erf(x)", "Williams 1997; the other is that of erf(x/sqrt 2)"),
        ("i3", I3, I3.replace("c23*(1+c11)", "c23*(1+c22)"), "erf", saad),
        ("i3", I3, I3.replace("2/pi", "1/pi"), "erf", saad),
        ("i2", RELU2, RELU2.replace("pi/2+", ""), "relu", relu),
        ("i2", RELU2, RELU2.replace("/(2*pi)", "/pi"), "relu", relu),
        ("i2", "c12", "c12/2", "linear", "the covariance"),
        ("i2", "c11*c22+2*c12**2", "c11*c22+c12**2", "quadratic", "Isserlis"),
        ("i2", "exp(-(c11+c22)/2)*sinh(c12)", "exp(-(c11+c22)/2)*cosh(c12)", "sin", "product to sum"),
        ("i2", "2/pi*asin(c12/sqrt(c11*c22))", "asin(c12/sqrt(c11*c22))/pi", "sign", "Sheppard 1899"),
        ("i4", "c34", "c12*c34", "linear", "g' = 1"),
        ("i4", "4*(c12*c33*c44+2*c12*c34**2+2*c13*c23*c44+2*c14*c24*c33+4*c13*c24*c34+4*c14*c23*c34)", "4*(c12*c33*c44+2*c12*c34**2+2*c13*c23*c44+2*c14*c24*c33+4*c13*c24*c34)", "quadratic", "Isserlis"),
        ("x*Heaviside(y)", "c12/sqrt(2*pi*c22)", "2*c12/sqrt(2*pi*c22)", "", "E[x; y > 0], not E[x | y > 0]"),
        ("Heaviside(x)*Heaviside(y)", "1/4+asin(c12/sqrt(c11*c22))/(2*pi)", "1/4+asin(c12/sqrt(c11*c22))/pi", "", "Sheppard 1899"),
        ("x**4", "3*c11**2", "3*c11**4", "", "covariance entries are variances"),
        ("cos(x)", "exp(-c11/2)", "exp(-c11**2/2)", "", "characteristic function"),
        ("Abs(x)", "sqrt(2*c11/pi)", "sqrt(2/pi)*c11", "", "half normal"),
    ]  # fmt: skip
    found: list[Case | Pair] = []
    for what, right, wrong, activation, evidence in rows:
        found.append(
            Pair(fails(what, wrong, evidence, activation), holds(what, right, evidence, activation))
        )
    return found


def _check(what: str, formula: str, activation: str) -> tuple[str, ...]:
    words: tuple[str, ...] = ("check", what, "--formula", formula)
    return (*words, "--activation", activation) if activation else words


CASES: list[Case | Pair] = [*defined(), *conventions(), *refusals(), *formulas()]
