"""Exact entries and their way back to tidy expressions."""

import math

import pytest
import sympy as sp

from symderiv.foundation.errors import InexactError, InputError
from symderiv.gaussian import expectation
from symderiv.gaussian.terms.algebra import Algebra
from symderiv.gaussian.terms.covariance import covariance_symbols

C = covariance_symbols(2)
C11, C12, C22 = C[0, 0], C[0, 1], C[1, 1]
HALF = sp.Rational(1, 2)


def algebra(shifts: dict[sp.Symbol, sp.Rational] | None = None) -> Algebra:
    made = Algebra([C11, C12, C22], shifts or {})
    made.choose_reference(C.tolist())
    return made


def test_determinants_appear_in_their_positive_orientation() -> None:
    a = algebra()
    negative = a.element(C12**2 - C11 * C22)
    assert a.expression(negative) == -(C11 * C22 - C12**2)


def test_a_root_of_a_ratio_is_split_and_cancelled() -> None:
    a = algebra()
    minor = a.element(C11 * C22 - C12**2)
    root = a.product([(minor, sp.S.One), (minor * a.element(C11), -HALF)])
    assert root == sp.sqrt(C11 * C22 - C12**2) / sp.sqrt(C11)


def test_the_root_of_the_square_of_a_covariance_is_its_absolute_value() -> None:
    a = algebra()
    assert a.product([(a.element(C12**2), HALF)]) == sp.Abs(C12)
    assert a.product([(a.element(C11**2), HALF)]) == C11


def test_shifted_variances_keep_determinants_short() -> None:
    a = algebra({C11: sp.S.One, C22: sp.S.One})
    determinant = a.element((1 + C11) * (1 + C22) - C12**2)
    assert a.expression(determinant) == (C11 + 1) * (C22 + 1) - C12**2
    assert a.expression(a.element(C11)) == C11
    assert a.expression(a.element(C11 + 1)) == C11 + 1


def test_zero_is_recognised_between_square_roots() -> None:
    a = Algebra([sp.sqrt(2), sp.sqrt(3), sp.sqrt(6)], {})
    assert not a.element(sp.sqrt(2)) * a.element(sp.sqrt(3)) - a.element(sp.sqrt(6))


def test_roots_of_symbols_and_constants_are_part_of_the_domain() -> None:
    q = sp.Symbol("q", positive=True)
    a = Algebra([sp.sqrt(q), q, sp.pi, sp.log(2)], {})
    assert not a.element(sp.sqrt(q)) ** 2 - a.element(q)
    assert a.expression(a.element(sp.pi * sp.sqrt(q))) == sp.pi * sp.sqrt(q)


def test_floats_and_unrelated_functions_are_refused() -> None:
    with pytest.raises(InexactError):
        Algebra([sp.Float(0.5)], {})
    with pytest.raises(InputError, match="rational functions"):
        Algebra([sp.sin(C12), sp.cos(C12)], {})
    with pytest.raises(InputError, match="roots"):
        Algebra([sp.sqrt(p) for p in (2, 3, 5, 7, 11, 13)], {})


def test_covariances_with_many_digits_do_not_need_the_factors_of_their_determinant() -> None:
    # sqrt(first*second) raises in SymPy 1.14 (issue 28621).
    first, second = 10**72 + 225 * 10**34 + 1, 10**72 + 300 * 10**34 + 1
    scale = sp.Integer(10) ** 72
    x, y = sp.symbols("x y", real=True)
    matrix = sp.Matrix([[first / scale, 1], [1, second / scale]])
    signs = expectation(sp.sign(x) * sp.sign(y), [x, y], matrix)
    # 1 - ρ is about (225 + 300) 10**-38 / 2, and 1 - E is (2/π) sqrt(2 (1 - ρ)).
    gap = float(1 - sp.Rational(signs.evaluate(40).value))
    assert gap == pytest.approx(2 / math.pi * math.sqrt(525e-38), rel=1e-6)
    hinges = expectation(sp.Max(x, 0) * sp.Max(y, 0), [x, y], matrix).evaluate(20)
    assert hinges.value.startswith("0.5000000000000000000")


def test_sums_of_five_terms_and_more_are_split_by_a_known_minor() -> None:
    c = covariance_symbols(3)
    made = Algebra(list(c), {})
    made.choose_reference(c.tolist())
    minor = c[0, 0] * c[1, 1] - c[0, 1] ** 2
    made.declare_positive(made.element(minor))
    whole = sp.expand(c[2, 2] * minor + c[1, 2] ** 2 * c[0, 0] + c[0, 2] ** 2 * c[1, 1] + 1)
    split = made.expression(made.element(whole))
    assert split.has(minor)
    assert sp.expand(split - whole) == 0
    # four terms are left as they are, and so is what only several multiples of the minor make up
    for other in (c[2, 2] * minor + c[1, 2] + 1, (c[2, 2] + c[0, 2]) * minor + c[1, 2] ** 2):
        assert made.expression(made.element(sp.expand(other))) == sp.expand(other)
