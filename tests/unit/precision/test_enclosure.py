"""Digits with proved bounds."""

from fractions import Fraction

import pytest
import sympy as sp

from symderiv.formula import activation, parse_formula
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.gaussian import DerivedExpectation, Value, expectation, i2, i4
from symderiv.precision.balls.enclosure import certified, certified_value

R = sp.Rational
FIELDS = sp.symbols("x y", real=True)


def digits_of(text: str) -> int:
    return len(text.split("e")[0].replace(".", "").lstrip("-0"))


def off(value: Value, exact: Fraction) -> Fraction:
    return abs(Fraction(value.value) - exact)


def test_rationals_have_the_error_of_what_is_shown() -> None:
    assert certified_value(R(1, 2), 5, "m") == Value("0.50000", "0", True, "m")
    third = certified_value(R(1, 3), 5, "m")
    assert third.value == "0.33333"
    assert off(third, Fraction(1, 3)) <= Fraction(third.error_bound) < Fraction(1, 10**5)


def test_an_exact_zero_and_a_zero_nobody_recognises_have_absolute_bounds() -> None:
    assert certified_value(sp.S.Zero, 20, "m") == Value("0", "0", True, "m")
    hidden = sp.sin(1) ** 2 + sp.cos(1) ** 2 - 1
    value = certified_value(hidden, 20, "m")
    assert value.value == "0"
    assert value.certified
    assert 0 < Fraction(value.error_bound) < Fraction(1, 10**200)


@pytest.mark.parametrize("digits", [12, 40])
def test_some_lost_digits_are_met_with_as_many_more_bits(digits: int) -> None:
    """Of sqrt(n^2 + 1) - n twenty digits cancel, which leaves some right at first."""
    n = 10**10
    value = certified_value(sp.sqrt(n**2 + 1) - n, digits, "m")
    # 1/(2n) - 1/(8n^3) + 1/(16n^5) - ...
    exact = sum(
        (Fraction(c, n**k) for c, k in ((Fraction(1, 2), 1), (Fraction(-1, 8), 3))), Fraction(0)
    )
    exact += Fraction(1, 16 * n**5)
    assert digits_of(value.value) == digits
    assert off(value, exact) <= Fraction(value.error_bound) + Fraction(1, n**7)


def test_symbols_and_digits_are_checked() -> None:
    with pytest.raises(InputError, match="give numbers for x"):
        certified_value(FIELDS[0] + 1, 10, "m")
    with pytest.raises(InputError, match="digits"):
        certified_value(sp.pi, 0, "m")


def test_what_has_no_enclosure_is_not_certified_and_says_why() -> None:
    with pytest.raises(NotYetError):
        certified_value(sp.zeta(3), 10, "m")
    value = certified(DerivedExpectation("", sp.zeta(3), (), 0, "closed-form", ()), 10)
    assert not value.certified
    assert value.method == "closed-form (not certified: there is no enclosure of zeta)"
    assert value.value == "1.202056903"


@pytest.mark.turns(6)
@pytest.mark.parametrize("digits", [30, 100])
def test_relu_i4_is_certified_down_to_aligned_fields(digits: int) -> None:
    relu = activation("relu").expression
    for gap in (R(1, 2), R(1, 10**6), R(1, 10**12)):
        covariance = sp.Matrix(4, 4, lambda i, j: 1 if i == j else 1 - gap / (1 + (i * j == 2)))  # noqa: B023
        found = i4(relu, relu, relu, relu, covariance)
        value = certified(found, digits)
        assert value.certified
        assert value.method == "orthant-integral"
        measured = found.evaluate(digits + 5)
        allowed = Fraction(value.error_bound) + Fraction(measured.error_bound)
        assert off(value, Fraction(measured.value)) <= allowed
        assert Fraction(value.error_bound) < Fraction(1, 10**digits)


@pytest.mark.turns(6)
def test_tiny_probabilities_with_means_are_certified() -> None:
    covariance = sp.Matrix([[1, R(1, 2)], [R(1, 2), 1]])
    both = parse_formula("Heaviside(x)*Heaviside(y)", ["x", "y"])
    value = certified(expectation(both, FIELDS, covariance, sp.Matrix([-30, 20])), 30)
    # the second sign is certain to the digits asked for: the normal tail beyond 30
    tail = certified_value(sp.erfc(15 * sp.sqrt(2)) / 2, 30, "m")
    assert value.certified
    assert value.value[:20] == tail.value[:20]


def test_the_definitions_of_folded_values_are_put_in() -> None:
    erf = activation("erf").expression
    numbers = sp.Matrix([[1, R(1, 3)], [R(1, 3), 2]])
    symbols = sp.Matrix(2, 2, lambda i, j: sp.Symbol(f"c{min(i, j) + 1}{max(i, j) + 1}"))
    folded = i2(erf, erf, symbols, folded=True)
    entries = dict(zip(symbols, numbers, strict=True))
    value = certified_value(folded.unfolded().subs(entries), 20, "m")
    assert value == Value(*_fields(certified(i2(erf, erf, numbers), 20)), "m")


def _fields(value: Value) -> tuple[str, str, bool]:
    return value.value, value.error_bound, value.certified
