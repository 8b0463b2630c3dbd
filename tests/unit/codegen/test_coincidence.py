"""Conditions on coinciding indices."""

from __future__ import annotations

from itertools import product

import sympy as sp
from symderiv_codegen.passes.coincidence import tidy_condition

i, j, p, q = sp.symbols("i j p q", integer=True)


def test_alternatives_that_were_multiplied_out_are_found_again() -> None:
    pairs = sp.Or(sp.And(sp.Eq(i, p), sp.Eq(j, q)), sp.And(sp.Eq(i, q), sp.Eq(j, p)))
    clauses = sp.And(
        *(
            sp.Or(first, second)
            for first, second in product((sp.Eq(i, p), sp.Eq(j, q)), (sp.Eq(i, q), sp.Eq(j, p)))
        )
    )
    assert tidy_condition(clauses) == pairs
