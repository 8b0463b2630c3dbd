"""Closed forms of the Gaussian calculus against certified quadrature, which has none of its rules.

The quadrature conditions on polynomials and sums over nodes; its own tests are in
``unit/precision``. Covariances are random (the seed is printed) and exact.
"""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import pytest
import sympy as sp

from symderiv.gaussian import SignMean4, derivative, expectation, i2, i3, i4
from symderiv.precision.quadrature.numeric_mean import numeric_mean

pytestmark = pytest.mark.turns(9)

SEED = 7
R = sp.Rational
X = sp.Symbol("x", real=True)
FIELDS = sp.symbols("x1:5", real=True)
ALL = {
    "erf": sp.erf(X / sp.sqrt(2)),
    "relu": X * sp.Heaviside(X),
    "gelu": X / 2 * (1 + sp.erf(X / sp.sqrt(2))),
    "linear": X,
    "cubic": X**3 - 2 * X + 1,
    "sin": sp.sin(X),
    "exp": sp.exp(X / 2),
    "sign": sp.sign(X),
    "abs": sp.Abs(X),
    "bump": X * sp.exp(-(X**2) / 2),
}
KINKED = {"relu", "sign", "abs"}
SLOPES = {name: derivative(g) for name, g in ALL.items() if name != "sign"}
#: By the number of fields; more take long.
DIGITS = {1: 18, 2: 15, 3: 10, 4: 5}


def regular(rng: random.Random, n: int) -> sp.Matrix:
    """A well-conditioned random rational covariance."""
    loadings = sp.Matrix(n, n, lambda i, j: int(i == j) + R(rng.randint(-4, 4), 10))
    scales = [R(rng.randint(7, 14), 10) for _ in range(n)]
    loadings = sp.diag(*scales) * loadings
    return loadings * loadings.T


def aligned(rng: random.Random, n: int, exponent: int) -> sp.Matrix:
    """Fields 0, 2 (and 1, 3) nearly equal or opposite: 1 - rho about 10**-exponent."""
    small = 1 / sp.sqrt(R(10) ** exponent)
    base = sp.Matrix(n, n, lambda i, j: int(i == j) + R(rng.randint(-2, 2), 10))
    rows = [base.row(i) for i in range(n)]
    for i in range(2, n):
        rows[i] = rng.choice([1, -1]) * rows[i - 2] + small * rows[i]
    loadings = sp.Matrix.vstack(*rows)
    return sp.Matrix(loadings * loadings.T)


def check(
    found: str,
    factors: Sequence[sp.Expr],
    covariance: sp.Matrix,
    mean: sp.Matrix | None = None,
) -> None:
    """A number with 25 digits is within the proved bound of the quadrature, which is small."""
    fields = FIELDS[: len(factors)]
    product = sp.Mul(*(f.subs(X, z) for f, z in zip(factors, fields, strict=True)))
    digits = DIGITS[len(factors)]
    expected = numeric_mean(product, fields, covariance, mean).evaluate(digits).value
    bound = Fraction(expected.error_bound)
    print("engine", found, "quadrature", expected.value, float(bound))
    assert abs(Fraction(found) - Fraction(expected.value)) <= bound + Fraction(1, 10**22)
    assert bound <= (1 + abs(Fraction(found))) * Fraction(1, 10 ** (digits - 1))


def drawn(*what: object) -> random.Random:
    print("seed", SEED)
    return random.Random(f"{SEED} {what}")


I2_PAIRS = [
    *(("erf", "erf"), ("relu", "relu"), ("gelu", "gelu"), ("linear", "erf"), ("cubic", "cubic")),
    *(("sin", "sin"), ("exp", "exp"), ("erf", "sign"), ("relu", "erf"), ("gelu", "relu")),
    *(("sin", "relu"), ("exp", "abs"), ("bump", "gelu"), ("cubic", "sign"), ("sin", "erf")),
]


@pytest.mark.parametrize("names", I2_PAIRS, ids="-".join)
def test_i2_equals_quadrature(names: tuple[str, str]) -> None:
    rng = drawn(names)
    both, near = [ALL[name] for name in names], regular(rng, 2)
    # nearly proportional: correlation squared 1 - 1e-10
    near[0, 1] = near[1, 0] = sp.sqrt(near[0, 0] * near[1, 1] * (1 - R(1, 10**10)))
    # there quadrature has no rule for kinks; the gate has the arcsine and the arc-cosine law
    for covariance in (regular(rng, 2), *((near,) if KINKED.isdisjoint(names) else ())):
        found = i2(*both, covariance)
        assert found.method == "closed-form"
        check(found.evaluate(25).value, both, covariance)


I3_PAIRS = [
    *(("erf", "erf"), ("relu", "relu"), ("gelu", "gelu"), ("sin", "cubic"), ("erf", "sign")),
    *(("exp", "relu"), ("bump", "abs"), ("linear", "gelu")),
]


@pytest.mark.parametrize("names", I3_PAIRS, ids="-".join)
def test_i3_equals_quadrature(names: tuple[str, str]) -> None:
    rng, (first, second) = drawn(names), names
    for covariance in (regular(rng, 3), *(() if second in KINKED else (aligned(rng, 3, 8),))):
        found = i3(ALL[first], ALL[second], covariance)
        assert found.method == "closed-form"
        check(found.evaluate(25).value, [SLOPES[first], X, ALL[second]], covariance)


I4_CASES = [
    ("erf", "erf", "closed-form", None),
    ("linear", "linear", "closed-form", None),
    ("cubic", "cubic", "closed-form", None),
    ("sin", "sin", "closed-form", None),
    ("relu", "relu", "orthant-integral", None),
    ("gelu", "gelu", "orthant-integral", None),
    ("erf", "relu", "closed-form", None),
    # students and teachers align
    ("erf", "erf", "closed-form", 4),
    ("erf", "erf", "closed-form", 12),
    ("gelu", "gelu", "orthant-integral", 12),
]


@pytest.mark.parametrize("case", I4_CASES, ids=str)
def test_i4_equals_quadrature(case: tuple[str, str, str, int | None]) -> None:
    student, teacher, method, exponent = case
    rng, g, h = drawn(case), ALL[student], ALL[teacher]
    covariance = regular(rng, 4) if exponent is None else aligned(rng, 4, exponent)
    found = i4(g, g, g, h, covariance)
    assert found.method == method
    check(found.evaluate(25).value, [SLOPES[student], SLOPES[student], g, h], covariance)


MEAN_CASES = [
    *(("erf",), ("gelu",), ("relu",), ("exp",), ("bump",), ("erf", "erf"), ("relu", "relu")),
    *(("gelu", "gelu"), ("erf", "sign"), ("sin", "cubic"), ("exp", "relu"), ("abs", "gelu")),
    *(("erf", "relu"), ("linear", "erf", "cubic"), ("relu", "sin", "linear")),
    ("linear", "sign", "gelu"),
]
# sin makes the signs' means imaginary: Owen's T with an imaginary first argument
CENTRED_CASES = [("sin", "relu", "erf"), ("sin", "sin", "sign", "gelu")]


@pytest.mark.parametrize("names", [*MEAN_CASES, *CENTRED_CASES], ids="-".join)
def test_expectations_equal_quadrature(names: tuple[str, ...]) -> None:
    rng, n = drawn(names), len(names)
    factors, covariance = [ALL[name] for name in names], regular(rng, n)
    means = sp.Matrix([0 if names in CENTRED_CASES else R(rng.randint(-9, 9), 10) for _ in names])
    product = sp.Mul(*(f.subs(X, z) for f, z in zip(factors, FIELDS, strict=False)))
    found = expectation(product, FIELDS[:n], covariance, means)
    assert found.method == "closed-form"
    check(found.evaluate(25).value, factors, covariance, means)


@pytest.mark.parametrize("name", ["erf", "relu", "gelu"])
@pytest.mark.parametrize("pattern", [(0, 0, 1, 2), (0, 1, 0, 2), (0, 1, 2, 2), (0, 1, 0, 1)])
def test_coincident_fields_of_i4_equal_quadrature(name: str, pattern: tuple[int, ...]) -> None:
    covariance = regular(drawn(name, pattern), max(pattern) + 1)
    found = i4(*[ALL[name]] * 4, covariance, fields=pattern)
    slots = list(zip([SLOPES[name]] * 2 + [ALL[name]] * 2, pattern, strict=True))
    merged = [sp.Mul(*(f for f, n in slots if n == k)) for k in range(max(pattern) + 1)]
    check(found.evaluate(25).value, merged, covariance)


@pytest.mark.parametrize("name", ["erf", "relu", "gelu"])
def test_degenerate_fields_of_i2_are_the_limit(name: str) -> None:
    g, variance = ALL[name], sp.Matrix([[R(2, 3)]])
    for slope in (R(3, 2), R(-3, 2)):
        covariance = variance[0] * sp.Matrix([[1, slope], [slope, slope**2]])
        check(i2(g, g, covariance).evaluate(25).value, [g * g.subs(X, slope * X)], variance)
    # a field without variance takes its value at zero
    covariance = sp.diag(variance[0], 0)
    assert i2(g, g, covariance).value == 0
    check(i2(g, sp.cos(X), covariance).evaluate(25).value, [g], variance)


def test_four_signs_equal_quadrature() -> None:
    c = regular(drawn("signs"), 4)
    value = SignMean4(*[c[i, j] / sp.sqrt(c[i, i] * c[j, j]) for i, j in combinations(range(4), 2)])
    check(str(value.evalf(25)), [ALL["sign"]] * 4, c)
