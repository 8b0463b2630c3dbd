"""Elements that a loop body reads several times: named where they are fixed, left where not."""

from __future__ import annotations

import sympy as sp
from symderiv_codegen.ir.loops import Increase, Loop, Set
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.passes.loads import with_named_elements

i, j, count = (sp.Symbol(name, integer=True) for name in ("i", "j", "count"))
K = sp.Symbol("K", integer=True, positive=True)
total = sp.Symbol("total", real=True)
A, Q, out = (sp.IndexedBase(name) for name in ("A", "Q", "out"))


def over(index, *body):
    return Loop(index, sp.Integer(0), K, body)


def named(*nodes):
    return with_named_elements(nodes, NamePool({"K", "i", "j", "total", "count"}))


def test_what_the_body_changes_is_read_where_it_stands():
    written = over(i, Set(A[i, i], Q[i, i]), Set(total, A[i, i] + A[i, i] * A[i, j]))
    counted = over(i, Increase(total, Q[i, count] ** 2 + Q[i, count]), Increase(count, sp.S.One))
    assert named(written) == (written,)
    assert named(counted) == (counted,)
