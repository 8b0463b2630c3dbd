"""Bodies of called procedures in the names of their caller."""

import sympy as sp
from symderiv_codegen import Array, Assignment, Call, Procedure
from symderiv_codegen.passes.inline import inlined_body


def test_steps_take_the_names_of_the_caller() -> None:
    i = sp.Idx("i", sp.Symbol("K", integer=True))
    x, y = sp.IndexedBase("x"), sp.IndexedBase("y")
    wanted = sp.Symbol("wanted", real=True)
    body = (
        Assignment(y[i], 2 * x[i]),
        Call("q", ("x", "y")),
        Call("q", ("x", "y"), when=sp.Ne(wanted, 0)),
    )
    called = Procedure(
        "p", "p.", (Array("x", ("K",)), Array("wanted")), (Array("y", ("K",)),), (), body
    )
    first, second, third = inlined_body(Call("p", ("a", "flag", "b")), called)
    a, b = sp.IndexedBase("a"), sp.IndexedBase("b")
    assert (first.target, first.value) == (b[i], 2 * a[i])
    assert second == Call("q", ("a", "b"))
    assert third == Call("q", ("a", "b"), when=sp.Ne(sp.Symbol("flag", real=True), 0))
    # names that the caller has as well stay
    *_, last = inlined_body(Call("p", ("a", "wanted", "b")), called)
    assert last == Call("q", ("a", "b"), when=sp.Ne(wanted, 0))
    assert inlined_body(Call("p", ("x", "wanted", "y")), called) == list(body)
