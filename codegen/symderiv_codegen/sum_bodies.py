"""Where sums are taken: bodies of loops whose own loops all add up something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import sympy as sp

from symderiv_codegen.loops import Block, Branch, Increase, Loop, Node, Set, inner

Rewrite = Callable[[tuple[Node, ...]], tuple[Node, ...]]


def in_sum_bodies(nodes: tuple[Node, ...], rewrite: Rewrite) -> tuple[Node, ...]:
    """The nodes with every outermost body that contains loops of sums rewritten."""
    if any(isinstance(node, Loop) and adds_up(node) for node in nodes):
        return rewrite(nodes)
    changed: list[Node] = []
    for node in nodes:
        if isinstance(node, Loop | Block):
            node = replace(node, body=in_sum_bodies(node.body, rewrite))
        elif isinstance(node, Branch):
            node = Branch(tuple((c, in_sum_bodies(body, rewrite)) for c, body in node.cases))
        changed.append(node)
    return tuple(changed)


def adds_up(loop: Loop) -> bool:
    """Whether the loop adds to a quantity that lives longer than one of its turns."""
    increased = {node.target for node in inner(loop) if isinstance(node, Increase)}
    started = {node.target for node in inner(loop) if isinstance(node, Set)}
    return bool(increased - started)


def extent(loop: Loop, ranges: dict[sp.Symbol, sp.Symbol]) -> sp.Symbol | None:
    """The range that the index of a loop runs over, in full or up to the index of a loop around.

    Args:
        loop: The loop.
        ranges: The ranges of the loops around it, by index.
    """
    if loop.start != 0:
        return None
    if isinstance(loop.stop, sp.Symbol):
        return loop.stop
    return ranges.get(loop.stop - 1)
