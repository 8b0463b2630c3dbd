"""The derived equations: their form, their steps, and which activations are refused."""

from fractions import Fraction

import pytest
import sympy as sp

from symderiv.checking.recipes import generate
from symderiv.foundation.errors import DivergentError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.moment_hierarchy import (
    closure_coefficients,
)


def test_indices_are_whole_numbers_and_coordinates_are_counted_from_one() -> None:
    """Sums over powers of -1 and the like are then real, and coordinates never zero."""
    for index in (s.i, s.n, s.k, s.c, s.a, s.b):
        assert ((-1) ** (2 * index)).simplify() == 1
    assert sp.Abs(s.a) == s.a
    assert sp.Abs(s.b) == s.b


def test_the_closure_polynomial_vanishes_at_every_eigenvalue() -> None:
    eigenvalues = [Fraction(3, 2), Fraction(1, 3), Fraction(2, 7), Fraction(5)]
    coefficients = [*closure_coefficients(eigenvalues), 1]
    for rho in eigenvalues:
        assert sum(c * rho**power for power, c in enumerate(coefficients)) == 0


def test_a_sign_student_is_refused_and_the_diverging_term_is_named() -> None:
    with pytest.raises(DivergentError, match=r"Γ_ii.*sign\(x\).*teacher's") as caught:
        generate("sign", "sign", "erf")
    assert "\n" not in str(caught.value)
