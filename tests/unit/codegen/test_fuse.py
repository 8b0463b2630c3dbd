"""Loops that may share their turns do; remarks and what stands between them keep their places."""

from __future__ import annotations

import sympy as sp
from symderiv_codegen.ir.loops import Loop, Node, Set
from symderiv_codegen.passes.fuse import fuse

i, K = sp.Symbol("i", integer=True), sp.Symbol("K", integer=True)
x, y, z = (sp.IndexedBase(name) for name in "xyz")
a, b = sp.symbols("a b", real=True)


def loop(*body: Node) -> Loop:
    return Loop(i, sp.Integer(0), K, body)


def test_what_is_in_between_goes_in_front_where_it_is_needed_and_behind_where_not() -> None:
    first, second = Set(y[i], x[i]), Set(z[i], a * y[i])
    needed, other = Set(a, 2 * b), Set(sp.Symbol("c", real=True), b)
    found = fuse((loop(first), other, needed, loop(second)))
    assert found == (needed, loop(first, second), other)
    # what needs the first loop and is needed by the second keeps them apart
    between = Set(a, y[0])
    nodes = (loop(first), between, loop(second))
    assert fuse(nodes) == nodes


def test_loops_that_need_other_turns_stay_apart() -> None:
    for second in (Set(z[i], y[0]), Set(y[0], z[i])):
        nodes = (loop(Set(y[i], x[i])), loop(second))
        assert fuse(nodes) == nodes
    nodes = (loop(Set(y[i], x[i])), Loop(i, sp.Integer(1), K, (Set(z[i], y[i]),)))
    assert fuse(nodes) == nodes
