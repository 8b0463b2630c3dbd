"""Local arrays that shrink to scalars."""

from __future__ import annotations

import sympy as sp
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import Loop, Node, Set, elements
from symderiv_codegen.ir.walk import array_name
from symderiv_codegen.passes.contract import contract

K = sp.Symbol("K", integer=True, positive=True)
i, j = sp.symbols("i j", integer=True)
v, w, out = sp.IndexedBase("v"), sp.IndexedBase("w"), sp.IndexedBase("out")
LOCAL = (Array("w", ("K",)),)
ZERO = sp.Integer(0)


def arrays_of(body: tuple[Node, ...]) -> set[str]:
    return {array_name(element) for node in body for element in elements(node)}


def test_an_array_used_within_one_turn_of_its_loop_becomes_a_scalar() -> None:
    inside = Loop(j, ZERO, K, (Set(out[i, j], w[i] * v[j]),))
    body = (Loop(i, ZERO, K, (Set(w[i], v[i] ** 2), inside)),)
    shrunk = contract(body, LOCAL)
    assert arrays_of(shrunk) == {"v", "out"}
    (loop,) = shrunk
    assert isinstance(loop, Loop)
    assert loop.body[0] == Set(sp.Symbol("w", real=True), v[i] ** 2)


def test_an_array_read_in_another_turn_or_loop_stays_an_array() -> None:
    apart = (
        Loop(i, ZERO, K, (Set(w[i], v[i]),)),
        Loop(i, ZERO, K, (Set(out[i], w[i]),)),
    )
    other_turn = Loop(j, ZERO, i, (Set(out[i, j], w[j]),))
    together = (Loop(i, ZERO, K, (Set(w[i], v[i]), other_turn)),)
    assert contract(apart, LOCAL) == apart
    assert contract(together, LOCAL) == together
