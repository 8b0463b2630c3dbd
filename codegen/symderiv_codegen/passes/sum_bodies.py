"""Bodies of loops that contain loops of sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import sympy as sp

from symderiv_codegen.ir.loops import (
    Increase,
    Loop,
    Node,
    Set,
    depend,
    inner,
    reads,
    with_bodies,
    writes,
)

Ranges = Mapping[sp.Symbol, sp.Symbol]
"""The ranges that indices run over."""

Rewrite = Callable[[tuple[Node, ...], Ranges], tuple[Node, ...]]


def in_sum_bodies(
    nodes: tuple[Node, ...], rewrite: Rewrite, ranges: Ranges | None = None
) -> tuple[Node, ...]:
    """Return the nodes with every outermost body that contains loops of sums rewritten.

    Args:
        nodes: Loop nests.
        rewrite: A function of a body and the ranges of the loops around it.
        ranges: The ranges of loops around the nodes.
    """
    around = ranges or {}
    if any(isinstance(node, Loop) and adds_up(node) for node in nodes):
        return rewrite(nodes, around)

    def changed(node: Node) -> Node:
        inside = around
        if isinstance(node, Loop) and (size := extent(node, around)) is not None:
            inside = {**around, node.index: size}
        return with_bodies(node, lambda body: in_sum_bodies(body, rewrite, inside))

    return tuple(map(changed, nodes))


def in_double_sums(
    nodes: tuple[Node, ...], rewrite: Callable[[tuple[Node, ...]], tuple[Node, ...]]
) -> tuple[Node, ...]:
    """Return the nodes with every innermost body of double sums, or sums over lists, rewritten."""
    body = tuple(
        with_bodies(each, lambda inside: in_double_sums(inside, rewrite)) for each in nodes
    )
    sums = [node for node in body if isinstance(node, Loop) and adds_up(node)]
    if body == nodes and any(loop.most is not None or _contains_sum(loop) for loop in sums):
        return rewrite(body)
    return body


def _contains_sum(loop: Loop) -> bool:
    loops = [node for node in inner(loop) if isinstance(node, Loop) and node != loop]
    return any(adds_up(node) for node in loops)


def adds_up(loop: Loop) -> bool:
    """Return whether the loop adds to a quantity that outlives its turns."""
    increased = {node.target for node in inner(loop) if isinstance(node, Increase)}
    started = {node.target for node in inner(loop) if isinstance(node, Set)}
    return bool(increased - started)


def extent(loop: Loop, ranges: Ranges) -> sp.Symbol | None:
    """Return the range of a loop's index, which takes all of it or, in a triangular loop, a part;
    else None.
    """
    if loop.start != 0:
        return None
    return loop.stop if isinstance(loop.stop, sp.Symbol) else ranges.get(loop.stop - 1)


def with_front(body: Sequence[Node], first: int, front: Iterable[Node]) -> list[Node] | None:
    """Return a body from the place ``first`` on with nodes inserted, preceded by all they need.

    Returns:
        The nodes from that place on, or None if the inserted nodes need a value that a later loop
        computes.
    """
    added = list(front)
    own = set().union(*(writes(node) for node in added))
    own |= {str(node.index) for each in added for node in inner(each) if isinstance(node, Loop)}
    needed = set().union(*(reads(node) for node in added)) - own
    ahead: list[Node] = []
    behind: list[Node] = []
    for node in reversed(body[first:]):
        if not writes(node) & needed:
            behind.insert(0, node)
        elif isinstance(node, Set):
            ahead.insert(0, node)
            needed |= reads(node)
        else:
            return None
    places = {id(node): place for place, node in enumerate(body)}
    if any(places[id(b)] < places[id(a)] and depend(a, b) for a in ahead for b in behind):
        return None
    return [*ahead, *added, *behind]
