"""Conditions for several runs at a time: code runs if any run needs it, and is masked.

The values of a scalar differ from run to run, and so does whether a condition on it holds. If the
other case of a condition only sets arrays to zero, the arrays are set to zero afterwards in the
runs in which the condition does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import Conditional, Fill, Loop, Node, Set, with_bodies
from symderiv_codegen.ir.walk import range_symbol


def differs(condition: sp.Basic) -> bool:
    """Return whether a condition depends on numbers, and not on indices alone."""
    indices = all(symbol.is_integer for symbol in condition.free_symbols)
    return bool(condition.has(sp.Indexed) or not indices)


def masked(nodes: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[Array]]:
    """Return the nodes for several runs at a time; no array is added.

    A condition without another case only saves work: where it does not hold, its body has no
    effect.

    Raises:
        ProgramError: A condition chooses between two computations.
    """
    return tuple(_masked(node) for node in nodes), []


def _masked(node: Node) -> Node:
    node = with_bodies(node, lambda body: masked(body)[0])
    if not isinstance(node, Conditional) or not any(differs(when) for when, _ in node.cases):
        return node
    (when, body), *others = node.cases
    if not others:
        return node
    (last, zeros), *more = others
    if more or last != sp.true or not all(isinstance(each, Fill) for each in zeros):
        raise ProgramError(f"no form for several runs at a time: cases of {when}")
    kept = [_zero_elsewhere(each, when) for each in zeros if isinstance(each, Fill)]
    return Conditional(((when, (*body, *kept)), (last, zeros)))


def _zero_elsewhere(fill: Fill, when: sp.Basic) -> Node:
    """Return loops that set the elements of an array to zero unless a condition holds."""
    indices: Sequence[sp.Symbol] = fill.indices[: len(fill.array.shape)]
    if not indices:
        raise ProgramError(f"no form for several runs at a time: {fill.array.name} is a scalar")
    element = sp.IndexedBase(fill.array.name)[tuple(indices)]
    nest: Node = Set(element, sp.Piecewise((element, when), (sp.S.Zero, True)))
    for index, size in zip(reversed(indices), reversed(fill.array.shape), strict=True):
        nest = Loop(index, sp.Integer(0), range_symbol(size), (nest,))
    return nest
