"""Closed forms of the Gaussian calculus against quadrature of the density, to 20 digits.

Covariances are random (the seed is printed) and exact: regular ones from rational loadings, nearly
singular ones from pairs of fields with 1 - rho between 1e-3 and 1e-12.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import pytest
import sympy as sp
from mpmath import mp, mpf
from support import quadrature
from support.quadrature import Factor, gaussian_mean, smooth

from symderiv.gaussian import SignMean4, expectation, i2, i3, i4

pytestmark = pytest.mark.turns(9)


SEED = 7
R = sp.Rational
X = sp.Symbol("x", real=True)


@dataclass(frozen=True)
class Activation:
    """An activation for the engine and, separately written, for the quadrature."""

    expression: sp.Expr
    value: Factor
    slope: Factor | None  # None when it is a delta function


ERF = Activation(sp.erf(X / sp.sqrt(2)), quadrature.ERF, quadrature.ERF_SLOPE)
RELU = Activation(X * sp.Heaviside(X), quadrature.RELU, quadrature.STEP)
GELU = Activation(X / 2 * (1 + sp.erf(X / sp.sqrt(2))), quadrature.GELU, quadrature.GELU_SLOPE)
LINEAR = Activation(X, quadrature.LINEAR, Factor((lambda x: mpf(1),)))
CUBIC = Activation(
    X**3 - 2 * X + 1, smooth(lambda x: x**3 - 2 * x + 1, 0), smooth(lambda x: 3 * x * x - 2, 0)
)
SINE = Activation(sp.sin(X), smooth(mp.sin, 0.25), smooth(mp.cos, 0.25))
EXPONENTIAL = Activation(
    sp.exp(X / 2), smooth(lambda x: mp.exp(x / 2), 0), smooth(lambda x: mp.exp(x / 2) / 2, 0)
)
SIGN = Activation(sp.sign(X), quadrature.SIGN, None)
ABSOLUTE = Activation(sp.Abs(X), quadrature.ABSOLUTE, quadrature.SIGN)
BUMP = Activation(
    X * sp.exp(-(X**2) / 2),
    smooth(lambda x: x * mp.exp(-x * x / 2)),
    smooth(lambda x: (1 - x * x) * mp.exp(-x * x / 2)),
)
ALL = {
    "erf": ERF,
    "relu": RELU,
    "gelu": GELU,
    "linear": LINEAR,
    "cubic": CUBIC,
    "sin": SINE,
    "exp": EXPONENTIAL,
    "sign": SIGN,
    "abs": ABSOLUTE,
    "bump": BUMP,
}


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


def as_mpf(value: sp.Expr, digits: int = 40) -> mpf:
    return mpf(value.evalf(digits)._mpf_) if value != 0 else mpf(0)


def numbers(matrix: sp.Matrix) -> list[list[mpf]]:
    with mp.workdps(110):
        return [
            [as_mpf(sp.sympify(matrix[i, j]), 105) for j in range(matrix.cols)]
            for i in range(matrix.rows)
        ]


def check(
    found: object,
    factors: Sequence[Factor],
    covariance: sp.Matrix,
    *,
    mean: Sequence[sp.Expr] | None = None,
    digits: int = 20,
    size: float = 1.0,
) -> None:
    """The engine's number equals the quadrature to ``digits`` (absolute, in units of ``size``)."""
    with mp.workdps(2 * digits):
        means = None if mean is None else [as_mpf(sp.sympify(m)) for m in mean]
        expected = gaussian_mean(factors, numbers(covariance), means, digits=digits + 2)
        value = mpf(found.evaluate(digits + 5).value)  # type: ignore[attr-defined]
        error = abs(value - expected) / max(mpf(size), abs(expected))
        print("engine", mp.nstr(value, 25), "quadrature", mp.nstr(expected, 25))
        assert error < mpf(10) ** -digits


# --- I2 and I3 --------------------------------------------------------------------------------

I2_PAIRS = [
    *(("erf", "erf"), ("relu", "relu"), ("gelu", "gelu"), ("linear", "erf"), ("cubic", "cubic")),
    *(("sin", "sin"), ("exp", "exp"), ("erf", "sign"), ("relu", "erf"), ("gelu", "relu")),
    *(("sin", "relu"), ("exp", "abs"), ("bump", "gelu"), ("cubic", "sign"), ("sin", "erf")),
]


@pytest.mark.parametrize("names", I2_PAIRS, ids="-".join)
def test_i2_equals_quadrature(names: tuple[str, str]) -> None:
    print("seed", SEED)
    rng = random.Random(f"{SEED} {names}")
    first, second = (ALL[name] for name in names)
    near = regular(rng, 2)
    # Nearly proportional: correlation squared 1 - 1e-10.
    near[0, 1] = near[1, 0] = sp.sqrt(near[0, 0] * near[1, 1] * (1 - R(1, 10**10)))
    for covariance in (regular(rng, 2), near):
        found = i2(first.expression, second.expression, covariance)
        assert found.method == "closed-form"
        check(found, [first.value, second.value], covariance)


I3_TRIPLES = [
    *(("erf", "erf"), ("relu", "relu"), ("gelu", "gelu"), ("sin", "cubic"), ("erf", "sign")),
    *(("exp", "relu"), ("bump", "abs"), ("linear", "gelu")),
]


@pytest.mark.parametrize("names", I3_TRIPLES, ids="-".join)
def test_i3_equals_quadrature(names: tuple[str, str]) -> None:
    print("seed", SEED)
    rng = random.Random(f"{SEED} {names}")
    first, second = (ALL[name] for name in names)
    assert first.slope is not None
    for covariance in (regular(rng, 3), aligned(rng, 3, 8)):
        found = i3(first.expression, second.expression, covariance)
        assert found.method == "closed-form"
        check(found, [first.slope, quadrature.LINEAR, second.value], covariance)


# --- I4 ---------------------------------------------------------------------------------------

I4_CASES = [
    ("erf", "erf", "closed-form"),
    ("linear", "linear", "closed-form"),
    ("cubic", "cubic", "closed-form"),
    ("sin", "sin", "closed-form"),
    ("erf", "sign", "closed-form"),
    ("relu", "relu", "orthant-integral"),
    ("gelu", "gelu", "orthant-integral"),
    ("erf", "relu", "closed-form"),
]


@pytest.mark.parametrize("case", I4_CASES, ids=lambda case: "-".join(case[:2]))
def test_i4_equals_quadrature(case: tuple[str, str, str]) -> None:
    print("seed", SEED)
    student, teacher, method = case
    rng = random.Random(f"{SEED} {case}")
    g, h = ALL[student], ALL[teacher]
    assert g.slope is not None
    covariance = regular(rng, 4)
    found = i4(g.expression, g.expression, g.expression, h.expression, covariance)
    assert found.method == method
    check(found, [g.slope, g.slope, g.value, h.value], covariance)


@pytest.mark.parametrize("name", ["erf", "gelu", "relu"])
@pytest.mark.parametrize("exponent", [4, 12])
def test_i4_equals_quadrature_as_students_and_teachers_align(name: str, exponent: int) -> None:
    print("seed", SEED)
    rng = random.Random(f"{SEED} {name} {exponent}")
    g = ALL[name]
    assert g.slope is not None
    covariance = aligned(rng, 4, exponent)
    found = i4(g.expression, g.expression, g.expression, g.expression, covariance)
    check(found, [g.slope, g.slope, g.value, g.value], covariance)


# --- means ------------------------------------------------------------------------------------

MEAN_CASES = [
    *(("erf",), ("gelu",), ("relu",), ("exp",), ("bump",), ("erf", "erf"), ("relu", "relu")),
    *(("gelu", "gelu"), ("erf", "sign"), ("sin", "cubic"), ("exp", "relu"), ("abs", "gelu")),
    *(("erf", "relu"), ("linear", "erf", "cubic"), ("relu", "sin", "linear")),
    ("linear", "sign", "gelu"),
]


# sin makes the signs' means imaginary: Owen's T with an imaginary first argument.
CENTRED_CASES = [("sin", "relu", "erf"), ("sin", "sin", "sign", "gelu")]


@pytest.mark.parametrize("names", [*MEAN_CASES, *CENTRED_CASES], ids="-".join)
def test_expectations_equal_quadrature(names: tuple[str, ...]) -> None:
    print("seed", SEED)
    rng = random.Random(f"{SEED} {names}")
    n = len(names)
    fields = sp.symbols(f"z1:{n + 1}", real=True)
    covariance = regular(rng, n)
    mean = None if names in CENTRED_CASES else [R(rng.randint(-9, 9), 10) for _ in range(n)]
    product = sp.Mul(
        *[ALL[name].expression.subs(X, f) for name, f in zip(names, fields, strict=True)]
    )
    found = expectation(product, fields, covariance, mean and sp.Matrix(mean))
    assert found.method == "closed-form"
    check(found, [ALL[name].value for name in names], covariance, mean=mean)


# --- coincident indices -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["erf", "relu", "gelu"])
@pytest.mark.parametrize("pattern", [(0, 0, 1, 2), (0, 1, 0, 2), (0, 1, 2, 2), (0, 1, 0, 1)])
def test_coincident_fields_of_i4_equal_quadrature(name: str, pattern: tuple[int, ...]) -> None:
    print("seed", SEED)
    rng = random.Random(f"{SEED} {name} {pattern}")
    g = ALL[name]
    covariance = regular(rng, max(pattern) + 1)
    found = i4(*[g.expression] * 4, covariance, fields=pattern)
    slots = [g.slope, g.slope, g.value, g.value]
    merged = []
    for k in range(max(pattern) + 1):
        factor: Factor | None = None
        for slot, index in zip(slots, pattern, strict=True):
            if index == k:
                assert slot is not None
                factor = slot if factor is None else times(factor, slot)
        assert factor is not None
        merged.append(factor)
    check(found, merged, covariance)


def times(f: Factor, g: Factor) -> Factor:
    """Product of two factors of the same field with the same kinks."""
    assert f.kinks == g.kinks
    pieces = tuple(
        None if p is None or q is None else (lambda x, p=p, q=q: p(x) * q(x))
        for p, q in zip(f.pieces, g.pieces, strict=True)
    )
    return Factor(pieces, f.kinks, f.growth + g.growth)


# --- degenerate covariances -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["erf", "relu", "gelu"])
def test_proportional_fields_of_i2_are_the_limit(name: str) -> None:
    g = ALL[name]
    variance = R(2, 3)
    for slope in (R(3, 2), R(-3, 2)):
        covariance = variance * sp.Matrix([[1, slope], [slope, slope**2]])
        ratio = mpf(slope.p) / slope.q
        found = i2(g.expression, g.expression, covariance)
        pieces = g.value.pieces if slope > 0 else g.value.pieces[::-1]
        scaled = Factor(
            tuple(
                None if p is None else (lambda x, p=p, ratio=ratio: p(x * ratio)) for p in pieces
            ),
            g.value.kinks,
            g.value.growth * float(slope) ** 2,
        )
        check(found, [times(g.value, scaled)], covariance[:1, :1])


@pytest.mark.parametrize("name", ["erf", "relu", "gelu"])
def test_a_field_without_variance_takes_its_value_at_zero(name: str) -> None:
    g = ALL[name]
    covariance = sp.Matrix([[R(2, 3), 0], [0, 0]])
    assert i2(g.expression, g.expression, covariance).value == 0
    found = i2(g.expression, sp.cos(X), covariance)
    check(found, [g.value], covariance[:1, :1])


# --- mean of four signs -----------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [None, 3, 12])
def test_four_signs_equal_quadrature(exponent: int | None) -> None:
    print("seed", SEED)
    rng = random.Random(f"{SEED} signs {exponent}")
    c = regular(rng, 4) if exponent is None else aligned(rng, 4, exponent)
    value = SignMean4(*[c[i, j] / sp.sqrt(c[i, i] * c[j, j]) for i, j in combinations(range(4), 2)])
    with mp.workdps(40):
        expected = gaussian_mean([quadrature.SIGN] * 4, numbers(c), digits=21)
        assert abs(as_mpf(value, 30) - expected) < mpf(10) ** -20


# --- Price's theorem --------------------------------------------------------------------------
