"""Repeated calls with the same arguments in one loop body are made once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.ir.loops import (
    Increase,
    Node,
    Set,
    expressions,
    names_in,
    with_bodies,
    writes,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.walk import subexpressions


def share(body: tuple[Node, ...], names: NamePool) -> tuple[Node, ...]:
    """Return the nodes with repeated calls of a body computed before their first use.

    Only statements that always run are considered, so that no additional call is made.
    """
    nodes = [with_bodies(node, lambda inside: share(inside, names)) for node in body]
    for call in _repeated(nodes):
        places = [place for place, node in enumerate(nodes) if call in set(_calls(node))]
        if len(places) == 0:
            continue
        between = nodes[places[0] : places[-1]]
        if names_in(call) & set().union(*(writes(node) for node in between)):
            continue
        symbol = sp.Symbol(names.take(f"{call.func.__name__}_value"), real=True)
        nodes = [_replaced(node, call, symbol) for node in nodes]
        nodes.insert(places[0], Set(symbol, call))
    return tuple(nodes)


def _calls(node: Node) -> Iterator[AppliedUndef]:
    """Yield calls in the node's own expression, as often as they occur."""
    if isinstance(node, Set | Increase):
        for expression in expressions(node):
            for part in subexpressions(expression):
                if isinstance(part, AppliedUndef):
                    yield part


def _repeated(nodes: list[Node]) -> list[AppliedUndef]:
    """Return calls that occur more than once, outer calls before the calls in their arguments."""
    counts = Counter(call for node in nodes for call in _calls(node))
    found = [call for call, count in counts.items() if count > 1]
    return sorted(found, key=lambda call: (-sp.count_ops(call), sp.default_sort_key(call)))


def _replaced(node: Node, call: AppliedUndef, symbol: sp.Symbol) -> Node:
    if isinstance(node, Set | Increase):
        return replace(node, value=node.value.xreplace({call: symbol}))
    return node
