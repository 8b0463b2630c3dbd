"""Where sums are taken: bodies of loops whose own loops all add up something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import sympy as sp

from symderiv_codegen.loops import Block, Branch, Increase, Loop, Node, Set, inner

Ranges = Mapping[sp.Symbol, sp.Symbol]
"""The ranges that indices run over."""

Rewrite = Callable[[tuple[Node, ...], Ranges], tuple[Node, ...]]


def in_sum_bodies(
    nodes: tuple[Node, ...], rewrite: Rewrite, ranges: Ranges | None = None
) -> tuple[Node, ...]:
    """The nodes with every outermost body that contains loops of sums rewritten.

    Args:
        nodes: Loop nests.
        rewrite: Gets a body and the ranges of the loops around it.
        ranges: The ranges of loops around the nodes.
    """
    around = ranges or {}
    if any(isinstance(node, Loop) and adds_up(node) for node in nodes):
        return rewrite(nodes, around)
    changed: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop):
            size = extent(node, around)
            inside = around if size is None else {**around, node.index: size}
            node = replace(node, body=in_sum_bodies(node.body, rewrite, inside))
        elif isinstance(node, Block):
            node = replace(node, body=in_sum_bodies(node.body, rewrite, around))
        elif isinstance(node, Branch):
            node = Branch(
                tuple((c, in_sum_bodies(body, rewrite, around)) for c, body in node.cases)
            )
        changed.append(node)
    return tuple(changed)


def adds_up(loop: Loop) -> bool:
    """Whether the loop adds to a quantity that lives longer than one of its turns."""
    increased = {node.target for node in inner(loop) if isinstance(node, Increase)}
    started = {node.target for node in inner(loop) if isinstance(node, Set)}
    return bool(increased - started)


def extent(loop: Loop, ranges: Ranges) -> sp.Symbol | None:
    """The range of a loop's index, of which it takes all or, below a loop around it, a part."""
    if loop.start != 0:
        return None
    return loop.stop if isinstance(loop.stop, sp.Symbol) else ranges.get(loop.stop - 1)
