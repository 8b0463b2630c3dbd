"""Long loops in blocks: outputs of a block are computed together and stay in the cache.

An assignment such as d[i, n, k] = sum_p a[i, p] b[p, n, k] + ... over a long range of k reads every
row b[p, n, :] once for every i. Here it is computed for a block of k at a time, and for all i in
one turn of the loop over k: each number of b is loaded once and used in a register. A symmetric
target whose value is h(i, j) + h(j, i) + g(i, j) is computed from h alone. Results of a block lie
in a local array, which the compiler knows not to overlap with what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy as sp

from symderiv_codegen.loops import Block, Loop, Node, Set
from symderiv_codegen.program import Array, Assignment, Procedure
from symderiv_codegen.walk import array_name, plain_index, range_symbol, with_plain_indices

# Measured at four units each: a quarter of it costs a sixth more time, half of it nearly nothing.
LENGTH = 256
# As many units as have their coefficients in registers.
MOST_UNITS = 8

Lower = Callable[[sp.Expr, sp.Expr], list[Node]]
"""Nodes that assign a value to a target."""


def long_axis(step: Assignment, arrays: dict[str, Array], small: Sequence[str]) -> bool:
    """Whether the assignment is one over two short ranges and, innermost, a long one."""
    if not step.indices:
        return False
    shape = arrays[step.name].shape
    return len(shape) == 3 and shape[-1] not in small and set(shape[:-1]) <= set(small)


def sums_long_range(procedure: Procedure, small: Sequence[str]) -> bool:
    """Whether a procedure sums over a long range.

    Such a procedure is compiled on its own: its sums may be made in any order, but products are
    rounded before they are added, so that equal overlaps give equal covariances.
    """
    limits = [
        str(limit[2] + 1)
        for step in procedure.body
        if isinstance(step, Assignment)
        for total in step.value.atoms(sp.Sum)
        for limit in total.limits
    ]
    return any(size not in small for size in limits)


def blocked(
    steps: Sequence[Assignment], arrays: dict[str, Array], lower: Lower
) -> tuple[Block, list[Array]]:
    """The assignments as one loop over blocks, and the local arrays it needs."""
    first, last = sp.Symbol("first", integer=True), sp.Symbol("last", integer=True)
    body: list[Node] = []
    local: list[Array] = []
    size = ""
    for step in steps:
        shape = arrays[step.name].shape
        size = shape[-1]
        i, j, k = (plain_index(index) for index in step.indices)
        name = f"block_{step.name}"
        local.append(Array(name, (shape[0], shape[1], str(LENGTH))))
        part = sp.IndexedBase(name)
        target = with_plain_indices(step.target)
        value = with_plain_indices(step.value)

        def over(index: sp.Symbol, stop: sp.Expr, inside: list[Node]) -> Loop:
            return Loop(index, sp.Integer(0), stop, tuple(inside))

        def along(inside: list[Node], k: sp.Symbol = k) -> Loop:
            return Loop(k, first, last, tuple(inside))

        rows, columns = range_symbol(shape[0]), range_symbol(shape[1])
        if step.symmetric:
            half, rest = halves(value, i, j, {n for n, a in arrays.items() if len(a.shape) == 3})
            inner = over(i, rows, lower(part[i, j, k - first], half))
            body.append(over(j, columns, [along([inner])]))
            whole = rest + part[i, j, k - first] + part[j, i, k - first]
            mirrored = target.base[j, i, k]
            both = along([*lower(target, whole), Set(mirrored, target)])
            body.append(over(i, rows, [over(j, i + 1, [both])]))
        else:
            inner = over(i, rows, lower(part[i, j, k - first], value))
            body.append(over(j, columns, [along([inner])]))
            copy = along([Set(target, part[i, j, k - first])])
            body.append(over(i, rows, [over(j, columns, [copy])]))
    return Block(first, last, range_symbol(size), LENGTH, tuple(body)), local


def halves(value: sp.Expr, i: sp.Symbol, j: sp.Symbol, long: set[str]) -> tuple[sp.Expr, sp.Expr]:
    """h and g with value = h(i, j) + h(j, i) + g(i, j); long arrays of h have the index j."""
    left = list(sp.Add.make_args(sp.expand(value)))
    half: list[sp.Expr] = []
    rest: list[sp.Expr] = []
    while left:
        term = left.pop(0)
        exchanged = term.xreplace({i: j, j: i})
        if exchanged == term or exchanged not in left:
            rest.append(term)
            continue
        left.remove(exchanged)
        in_long = {
            index
            for element in term.atoms(sp.Indexed)
            if array_name(element) in long
            for index in element.indices
        }
        half.append(term if i not in in_long else exchanged)
    return sp.Add(*half), sp.Add(*rest)
