r"""The integrals of student-teacher learning: I2, I3, I4."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv.foundation.errors import InputError, ShapeError
from symderiv.gaussian.distributions import derivative, variable_of
from symderiv.gaussian.engine import DerivedExpectation, expectation
from symderiv.gaussian.terms.covariance import covariance_symbols

FIELDS = tuple(sp.Symbol(name, real=True) for name in ("u", "v", "w", "z"))

Pattern = Sequence[int] | None


def _product(
    functions: Sequence[sp.Expr], cov: sp.Matrix | None, pattern: Pattern, folded: bool
) -> DerivedExpectation:
    """Return E[∏ functions[k](field of slot k)]."""
    slots = tuple(range(len(functions))) if pattern is None else tuple(pattern)
    if len(slots) != len(functions) or set(slots) != set(range(len(set(slots)))):
        raise InputError(
            f"the field pattern {slots} must have {len(functions)} entries that number the "
            "different fields 0, 1, ..."
        )
    fields = FIELDS[: len(set(slots))]
    covariance = covariance_symbols(len(fields)) if cov is None else sp.Matrix(cov)
    if covariance.shape != (len(fields), len(fields)):
        rows, columns = covariance.shape
        raise ShapeError(
            f"must be {len(fields)} x {len(fields)}, not {rows} x {columns}",
            argument="covariance",
        )
    factors = [g.subs(variable_of(g), fields[k]) for g, k in zip(functions, slots, strict=True)]
    return expectation(sp.Mul(*factors), fields, covariance, folded=folded)


def i2(
    g1: sp.Expr,
    g2: sp.Expr,
    cov: sp.Matrix | None = None,
    *,
    fields: Pattern = None,
    folded: bool = False,
) -> DerivedExpectation:
    r"""Return I2 = E[g1(u) g2(v)].

    Args:
        g1, g2: Functions of x.
        cov: Covariance of (u, v), shape (2, 2), or of the different fields in ``fields``;
            symbols c11, c12, c22 by default.
        fields: Which field each slot sees; (0, 0) means u = v.
        folded: See :func:`expectation`.
    """
    return _product(_slots("i2", [g1, g2]), cov, fields, folded)


def i3(
    g1: sp.Expr,
    g2: sp.Expr,
    cov: sp.Matrix | None = None,
    *,
    fields: Pattern = None,
    folded: bool = False,
) -> DerivedExpectation:
    r"""Return I3 = E[g1'(u) v g2(w)]; arguments as :func:`i2`, slots (u, v, w)."""
    return _product(_slots("i3", [g1, g2]), cov, fields, folded)


def i4(
    g1: sp.Expr,
    g2: sp.Expr,
    g3: sp.Expr,
    g4: sp.Expr,
    cov: sp.Matrix | None = None,
    *,
    fields: Pattern = None,
    folded: bool = False,
) -> DerivedExpectation:
    r"""Return I4 = E[g1'(u) g2'(v) g3(w) g4(z)]; arguments as :func:`i2`, slots (u, v, w, z).

    Coincident fields, e.g. ``fields=(0, 0, 1, 2)`` for u = v with a 3 x 3 covariance, are reduced
    before anything else (H² = H, sgn² = 1).

    Raises:
        DivergentError: The product of derivatives does not exist, e.g. E[δ(u)²] of sign at u = v.
    """
    return _product(_slots("i4", [g1, g2, g3, g4]), cov, fields, folded)


def integrand(which: str, functions: Sequence[sp.Expr]) -> tuple[sp.Expr, tuple[sp.Symbol, ...]]:
    """Return the integrand of I2, I3 or I4, and its fields: (u, v), (u, v, w) or (u, v, w, z).

    Args:
        which: "i2", "i3" or "i4".
        functions: Two, two or four functions of x.
    """
    slots = _slots(which, functions)
    fields = FIELDS[: len(slots)]
    factors = [g.subs(variable_of(g), field) for g, field in zip(slots, fields, strict=True)]
    return sp.Mul(*factors), fields


def _slots(which: str, functions: Sequence[sp.Expr]) -> list[sp.Expr]:
    """Return the factor of each slot of I2, I3 or I4."""
    if which == "i3":
        return [derivative(functions[0]), variable_of(functions[0]), functions[1]]
    if which == "i4":
        return [derivative(functions[0]), derivative(functions[1]), *functions[2:]]
    return list(functions)
