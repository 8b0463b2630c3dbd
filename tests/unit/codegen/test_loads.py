"""Elements that a loop body reads several times: named where they are fixed, left where not."""

from __future__ import annotations

import sympy as sp
from symderiv_codegen.ir.loops import Conditional, Increase, Loop, Set
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.passes.loads import with_named_elements

i, j, count = (sp.Symbol(name, integer=True) for name in ("i", "j", "count"))
K = sp.Symbol("K", integer=True, positive=True)
total = sp.Symbol("total", real=True)
A, Q, out = (sp.IndexedBase(name) for name in ("A", "Q", "out"))
f = sp.Function("f")


def over(index, *body):
    return Loop(index, sp.Integer(0), K, body)


def named(*nodes):
    return with_named_elements(nodes, NamePool({"K", "i", "j", "total", "count"}))


def test_an_element_gets_its_name_in_the_outermost_loop_that_fixes_it():
    cases = Conditional(
        (
            (sp.Eq(i, j), (Set(total, f(Q[i, i], Q[i, j])),)),
            (sp.true, (Set(total, f(Q[i, j], Q[i, i])),)),
        )
    )
    (loop,) = named(over(i, over(j, cases, Increase(total, Q[j, j]))))
    first, inside = loop.body
    assert first == Set(sp.Symbol("Q_ii", real=True), Q[i, i])
    second, branch, last = inside.body
    assert second == Set(sp.Symbol("Q_ij", real=True), Q[i, j])
    assert branch.cases[0][1] == (Set(total, f(first.target, second.target)),)
    assert branch.cases[1][1] == (Set(total, f(second.target, first.target)),)
    assert last == Increase(total, Q[j, j])


def test_what_the_body_changes_is_read_where_it_stands():
    written = over(i, Set(A[i, i], Q[i, i]), Set(total, A[i, i] + A[i, i] * A[i, j]))
    counted = over(i, Increase(total, Q[i, count] ** 2 + Q[i, count]), Increase(count, sp.S.One))
    assert named(written) == (written,)
    assert named(counted) == (counted,)


def test_elements_written_in_one_loop_have_names_in_the_next():
    fill = over(i, Set(A[i, i], Q[i, i]))
    use = over(j, Set(out[j], A[j, j] * f(A[j, j])))
    before, after = named(fill, use)
    assert before == fill
    name = sp.Symbol("A_jj", real=True)
    assert after.body == (Set(name, A[j, j]), Set(out[j], name * f(name)))
