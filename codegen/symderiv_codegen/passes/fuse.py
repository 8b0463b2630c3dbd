"""Fusion: neighbouring loops over the same index become one loop.

Two loops may be fused if no value passes between different turns: every array that one of them
writes and the other uses is indexed by the loop's index at the same position in both.
"""

from __future__ import annotations

import sympy as sp

from symderiv_codegen.ir.loops import (
    Conditional,
    Increase,
    Invoke,
    Loop,
    Node,
    Remark,
    Set,
    depend,
    elements,
    inner,
    reads,
    with_bodies,
    writes,
)
from symderiv_codegen.ir.walk import array_name


def fuse(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the nodes with loops fused, at every depth."""
    nodes = list(body)
    while (joined := _one_fusion(nodes)) is not None:
        nodes = joined
    return tuple(with_bodies(node, fuse) for node in nodes)


def _one_fusion(nodes: list[Node]) -> list[Node] | None:
    """Return the nodes after the first fusion that is possible, or None."""
    for position, node in enumerate(nodes):
        if not isinstance(node, Loop):
            continue
        for later in range(position + 1, len(nodes)):
            if isinstance(nodes[later], Invoke | Conditional):
                break
            if isinstance(nodes[later], Loop):
                joined = _joined(nodes, position, later)
                if joined is not None:
                    return joined
    return None


def _joined(nodes: list[Node], position: int, later: int) -> list[Node] | None:
    first, second = nodes[position], nodes[later]
    assert isinstance(first, Loop)
    assert isinstance(second, Loop)
    if (first.index, first.start, first.stop) != (second.index, second.start, second.stop):
        return None
    if not _independent_turns(first, second):
        return None
    # Nodes in between go before the fused loop if the second loop needs them, else after it.
    before: list[Node] = []
    behind: list[Node] = []
    remarks: list[Node] = []
    for node in reversed(nodes[position + 1 : later]):
        if isinstance(node, Remark):
            remarks.insert(0, node)
        elif depend(node, second) or any(depend(node, other) for other in before):
            if depend(first, node):
                return None
            before.insert(0, node)
        else:
            behind.insert(0, node)
    # A remark on the first loop moves inside, to the first loop's part.
    start = position
    if remarks and start > 0 and isinstance(nodes[start - 1], Remark):
        start -= 1
    own = tuple(nodes[start:position])
    fused = Loop(first.index, first.start, first.stop, (*own, *first.body, *remarks, *second.body))
    return [*nodes[:start], *before, fused, *behind, *nodes[later + 1 :]]


def _independent_turns(first: Loop, second: Loop) -> bool:
    if _names_set_inside(first) & (reads(second) | writes(second)):
        return False
    if _names_set_inside(second) & (reads(first) | writes(first)):
        return False
    shared = writes(first) & (reads(second) | writes(second))
    shared |= writes(second) & reads(first)
    return all(_same_place(name, first, second) for name in shared)


def _names_set_inside(loop: Loop) -> set[str]:
    """Return scalars that the loop writes: their values may pass from one turn to the next."""
    return {
        str(node.target)
        for node in inner(loop)
        if isinstance(node, Set | Increase) and isinstance(node.target, sp.Symbol)
    }


def _same_place(name: str, first: Loop, second: Loop) -> bool:
    """Return whether all accesses to the array have the loop's index at one common position."""
    if any(isinstance(node, Invoke) for loop in (first, second) for node in inner(loop)):
        return False
    used = [e for loop in (first, second) for e in elements(loop) if array_name(e) == name]
    if not used:
        return False
    places = [
        {place for place, index in enumerate(element.indices) if index == first.index}
        for element in used
    ]
    return bool(set.intersection(*places))
