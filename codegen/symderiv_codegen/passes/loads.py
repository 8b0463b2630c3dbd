"""Array elements that a loop body reads several times get a name at its beginning.

The machine code does not change, but each reading is text that numba has to type and to translate:
case distinctions that pass the same arguments to many functions consist of little else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from symderiv_codegen.ir.loops import (
    Block,
    Conditional,
    Groups,
    Loop,
    Node,
    Set,
    expressions,
    inner,
    with_values,
    writes,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.walk import array_name, subexpressions


def with_named_elements(nodes: tuple[Node, ...], names: NamePool) -> tuple[Node, ...]:
    """Return the nodes with repeatedly read elements named, each as far outside as possible."""
    return tuple(_named_inside(node, names) for node in nodes)


def _named_inside(node: Node, names: NamePool) -> Node:
    if isinstance(node, Conditional):
        cases = ((c, with_named_elements(body, names)) for c, body in node.cases)
        return Conditional(tuple(cases))
    # long loops load their data in their own way
    if not isinstance(node, Loop) or any(isinstance(part, Block | Groups) for part in inner(node)):
        return node
    changing = set().union(*(writes(child) for child in node.body))
    changing |= {str(n.index) for n in _loops(node.body)}
    reads = Counter(element for child in node.body for element in _read(child))
    found = {
        element: names.symbol_for(element)
        for element, count in reads.items()
        if count > 1
        and node.index in element.free_symbols
        and not changing & {array_name(element), *map(str, element.free_symbols)}
    }
    body = tuple(with_values(child, found) for child in node.body)
    first = tuple(Set(symbol, element) for element, symbol in found.items())
    return replace(node, body=(*first, *with_named_elements(body, names)))


def _loops(nodes: tuple[Node, ...]) -> Iterator[Loop]:
    for node in nodes:
        yield from (part for part in inner(node) if isinstance(part, Loop))


def _read(node: Node) -> Iterator[sp.Indexed]:
    """Yield every element that is read inside the node, in order and with repetitions."""
    for part in inner(node):
        for expression in expressions(part):
            for found in subexpressions(expression):
                if isinstance(found, sp.Indexed):
                    yield found
