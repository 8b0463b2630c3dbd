"""The mean of four signs as it is pasted into modules of both dialects."""

import math

import mpmath
import pytest
import sympy as sp
from symderiv_codegen import print_mpmath, print_numba
from unit.codegen.support import as_multiprecision, as_plain_python, one_function

from symderiv.numerics import GAUSSIAN


def test_four_signs_are_pasted_and_agree_between_the_dialects() -> None:
    signs = type("SignMean4", (sp.Function,), {})
    symbols = sp.symbols("r12 r13 r14 r23 r24 r34", real=True)
    program = one_function(signs(*symbols), *symbols, extension=GAUSSIAN)
    double = as_plain_python(print_numba(program))["f"]
    multi = as_multiprecision(print_mpmath(program))["f"]
    for point in [(0.3, 0.2, -0.4, 0.5, 0.1, 0.25), (0.0, 0.5, 0.0, 0.0, -0.7, 0.0)]:
        expected = multi(mpmath.mp, *map(mpmath.mpf, point))
        assert double(*point) == pytest.approx(float(expected), abs=1e-14)
    # Two independent pairs: the product of two arcsines.
    assert double(*point) == pytest.approx(-((2 / math.pi) ** 2) * math.asin(0.5) * math.asin(0.7))
    # Equal fields leave the other pair.
    equal = multi(mpmath.mp, *map(mpmath.mpf, (1.0, 0.25, 0.5, 0.25, 0.5, 0.3)))
    assert equal == pytest.approx(2 / math.pi * math.asin(0.3), rel=1e-15)
