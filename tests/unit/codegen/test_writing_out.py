"""Short closed forms are written where they are summed; long or guarded ones stay calls."""

from __future__ import annotations

import sympy as sp
from symderiv_codegen import ScalarFunction
from symderiv_codegen.passes.derivatives.writing_out import MOST_OPERATIONS, written_out

x, y, h = sp.symbols("x y h")
SHORT = ScalarFunction("f", (x, y), ((h, 1 + x),), h * y, "")
GUARDED = ScalarFunction("g", (x,), (), sp.asin(x), "", guarded=True)
LONG = ScalarFunction("w", (x,), (), sum(sp.sin(x) ** n for n in range(MOST_OPERATIONS)), "")


def test_calls_of_short_functions_become_what_they_compute():
    f, g, w = (sp.Function(name) for name in "fgw")
    a, b = sp.symbols("a b")
    found = written_out(2 * f(a, b) + g(a) + w(b), (SHORT, GUARDED, LONG))
    assert found == 2 * b * (1 + a) + g(a) + w(b)


def test_where_cases_are_told_apart_nothing_is_written_out():
    f, a, b = sp.Function("f"), *sp.symbols("a b")
    cases = sp.Piecewise((f(a, a), sp.Eq(a, b)), (f(a, b), True))
    assert written_out(cases, (SHORT,)) == cases
