"""Which functions reach the edge of their domain for some degenerate covariance."""

import pytest
import sympy as sp

from symderiv.lowering.means.regularity import _covariance, has_edge

a, b, c, d, e, f = THREE = sp.symbols("c11 c12 c13 c22 c23 c33", real=True)
TWO = sp.symbols("c11 c12 c22", real=True)


@pytest.mark.parametrize(
    "distance",
    [
        # each vanishes in one kind of degenerate covariance only
        (a - b) ** 2 + (b - c) ** 2 + (a - f) ** 2,
        (a - b) ** 2 + (b - d) ** 2 + (c - e) ** 2,
        (a - c) ** 2 + (c - f) ** 2 + (b - e) ** 2,
        (d - e) ** 2 + (e - f) ** 2 + (b - c) ** 2,
        a**2 + b**2 + c**2,
        b**2 + d**2 + e**2,
        c**2 + e**2 + f**2,
    ],
    ids=["all equal", "1 = 2", "1 = 3", "2 = 3", "no 1", "no 2", "no 3"],
)
def test_each_degenerate_covariance_is_tried(distance: sp.Expr) -> None:
    assert has_edge(THREE, (), sp.sqrt(distance))
    assert has_edge(THREE, (), 1 / distance)
    assert has_edge(THREE, (), sp.asin(1 - distance))
    named = sp.Symbol("r")
    assert has_edge(THREE, ((named, sp.sqrt(distance)),), 1 + named)
    # away from the edge, and at an edge that no covariance reaches
    assert not has_edge(THREE, (), sp.sqrt(1 + distance))
    assert not has_edge(THREE, (), 1 / (1 + distance))
    assert not has_edge(THREE, (), sp.asin(sp.Rational(99, 100) / (1 + distance)))
    assert not has_edge(THREE, (), distance**3)


def test_the_correlation_of_two_fields_has_an_edge_and_that_of_noisy_ones_has_none() -> None:
    u, w, z = TWO
    assert has_edge(TWO, (), sp.asin(w / sp.sqrt(u * z)))
    assert not has_edge(TWO, (), sp.asin(w / sp.sqrt((1 + u) * (1 + z))))


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_matrix_in_which_others_are_made_equal_is_generic(size: int) -> None:
    c = _covariance(size)
    assert c == c.T
    assert all(c[:n, :n].det() > 0 for n in range(1, size + 1))
    entries = [abs(c[a, b]) for a in range(size) for b in range(a, size)]
    assert len(set(entries)) == len(entries)
    assert 0 not in entries
