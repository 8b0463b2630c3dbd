"""Contraction: a local array that lives within one turn of its loops becomes a scalar.

A local array that connects two assignments over the same indices is needed only as long as their
loops are separate. Once they are fused, each turn reads the element it has just written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import (
    Conditional,
    Increase,
    Loop,
    Node,
    Set,
    elements,
    reads,
    writes,
)
from symderiv_codegen.ir.walk import array_name


def contract(body: tuple[Node, ...], local: Iterable[Array]) -> tuple[Node, ...]:
    """Return the nodes with such arrays replaced by scalars of the same names."""
    for array in local:
        if not array.shape:
            continue
        element = _only_element(body, array.name)
        if element is not None:
            scalar = sp.Symbol(array.name, real=True)
            body = tuple(_replaced(node, element, scalar) for node in body)
    return body


def _only_element(body: tuple[Node, ...], name: str) -> sp.Indexed | None:
    """Return the one element of an array that all nodes use, if its indices belong to loops around
    all uses, else None.
    """
    bound: set[sp.Basic] = set()
    touching = [node for node in body if name in reads(node) | writes(node)]
    used = {e for node in touching for e in elements(node) if array_name(e) == name}
    if len(used) != 1:
        return None
    (element,) = used
    while len(touching) == 1 and isinstance(touching[0], Loop):
        bound.add(touching[0].index)
        touching = [node for node in touching[0].body if name in reads(node) | writes(node)]
    return element if bound >= set(element.indices) else None


def _replaced(node: Node, element: sp.Indexed, scalar: sp.Symbol) -> Node:
    if isinstance(node, Set):
        target = scalar if node.target == element else node.target
        return replace(node, target=target, value=node.value.xreplace({element: scalar}))
    if isinstance(node, Increase):
        return Increase(node.target, node.value.xreplace({element: scalar}))
    if isinstance(node, Loop):
        inside = tuple(_replaced(child, element, scalar) for child in node.body)
        return Loop(node.index, node.start, node.stop, inside)
    if isinstance(node, Conditional):
        return Conditional(
            tuple(
                (
                    condition.xreplace({element: scalar}),
                    tuple(_replaced(child, element, scalar) for child in inside),
                )
                for condition, inside in node.cases
            )
        )
    return node
