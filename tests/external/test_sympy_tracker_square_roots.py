"""A known fault of SymPy 1.14 under the closed forms: square roots of some large integers."""

import pytest
import sympy as sp


@pytest.mark.xfail(raises=ValueError, reason="SymPy issue 28621, repaired after 1.14", strict=True)
def test_square_roots_of_products_of_close_large_integers_exist() -> None:
    # Reached by covariances with some thirty digits and nearly equal entries.
    first = 10**72 + 225 * 10**34 + 1
    second = 10**72 + 300 * 10**34 + 1
    assert sp.sqrt(sp.Integer(first * second)) ** 2 == first * second
