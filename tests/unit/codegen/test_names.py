"""Temporaries are called after what they hold, while that is short."""

import pytest
import sympy as sp
from symderiv_codegen.ir.names import describe

x, y, z = sp.symbols("x y z", real=True)
i, j = sp.symbols("i j", integer=True)
Q = sp.IndexedBase("Q")
f = sp.Function("f")


# names that kept modules do not have
@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (1 - x, "one_minus_x"),
        (x * y * z, "x_y_z"),
        (1 / (5 * x + y + z), "inverse"),
        (sp.sqrt(1 + x), "root_one_plus_x"),
        (sp.sqrt(x + y + z), "root"),
        (1 / sp.sqrt(x + y + z), "inverse_root"),
        (sp.erf(x), "erf_x"),
        (f(x, y), "f_x_y"),
        (f(x, y, z), "f_value"),
        (Q[i, j], "Q_ij"),
        (Q[i + 1, j], "Q_element"),
    ],
)
def test_a_name_says_what_it_stands_for(expression: sp.Expr, name: str) -> None:
    assert describe(expression) == name
