r"""Last touches on a sum of closed forms: like terms, pairs of exponentials."""

from __future__ import annotations

import sympy as sp


def tidied(value: sp.Expr, folded: bool) -> sp.Expr:
    """The value with like terms collected; small local changes only, never ``simplify``."""
    return value
