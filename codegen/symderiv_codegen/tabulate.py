"""Tables of what an inner sum needs again for every turn of the sum around it.

In sum_p sum_q f(p, q) a root or a quotient that depends on q alone would be computed for every p.
It goes into a local array over q in front of both sums. Where the sums run over the same units, the
same quantity at p stands in the same table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp
from sympy.core.function import Application

from symderiv_codegen.fuse import fuse
from symderiv_codegen.loops import (
    Branch,
    Increase,
    Loop,
    Node,
    Set,
    inner,
    names_in,
    writes,
)
from symderiv_codegen.names import NamePool, describe
from symderiv_codegen.program import Array
from symderiv_codegen.sum_bodies import extent, in_sum_bodies

Ranges = Mapping[sp.Symbol, sp.Symbol]

_AT = sp.Symbol("$at", integer=True)


@dataclass(frozen=True)
class _Place:
    """An expression of a statement and the loops of the sum around it."""

    expression: sp.Expr
    ranges: Ranges


def tabulated(nodes: tuple[Node, ...], names: NamePool) -> tuple[tuple[Node, ...], list[Array]]:
    """The same nodes with tables in front of nested sums, and the arrays that they need."""
    arrays: list[Array] = []

    def rewrite(body: tuple[Node, ...]) -> tuple[Node, ...]:
        return _with_tables(body, names, arrays)

    return in_sum_bodies(nodes, rewrite), arrays


def _with_tables(body: tuple[Node, ...], names: NamePool, arrays: list[Array]) -> tuple[Node, ...]:
    loops = [node for node in body if isinstance(node, Loop)]
    changing = set().union(*(writes(loop) for loop in loops))
    changing |= {str(n.index) for loop in loops for n in inner(loop) if isinstance(n, Loop)}
    places = [place for loop in loops for place in _places(loop, {})]
    found: dict[tuple[sp.Symbol, sp.Expr], sp.Symbol] = {}
    for place in places:
        outermost = next(iter(place.ranges))
        for index, part in _single(place.expression, place.ranges, changing, _costs):
            if index != outermost:
                found.setdefault((place.ranges[index], part.xreplace({index: _AT})), index)
    if not found:
        return body
    for key, index in _shared_parts(found, places, changing):
        found.setdefault(key, index)
    # Parts first: what contains them reads their tables.
    order = sorted(found, key=lambda key: (sp.count_ops(key[1]), sp.default_sort_key(key[1])))
    tables: dict[tuple[sp.Symbol, sp.Expr], sp.IndexedBase] = {}
    for size, part in order:
        at = part.xreplace({_AT: found[size, part]})
        name = names.take(f"each_{describe(at)}")
        arrays.append(Array(name, (str(size),)))
        tables[size, part] = sp.IndexedBase(name)
    front: list[Node] = []
    for number, (size, part) in enumerate(order):
        index = found[size, part]
        known = {key: tables[key] for key in order[:number]}
        value = _read(part.xreplace({_AT: index}), {index: size}, known)
        front.append(Loop(index, sp.Integer(0), size, (Set(tables[size, part][index], value),)))
    first = next(n for n, node in enumerate(body) if isinstance(node, Loop))
    after = tuple(_reading(node, {}, tables) for node in body[first:])
    return (*body[:first], *fuse(tuple(front)), *after)


def _places(node: Node, ranges: Ranges) -> Iterator[_Place]:
    """The expressions of statements inside loops of known ranges."""
    if isinstance(node, Loop):
        size = extent(node, dict(ranges))
        if size is not None:
            for child in node.body:
                yield from _places(child, {**ranges, node.index: size})
    elif isinstance(node, Set | Increase):
        yield _Place(node.value, ranges)


def _single(
    expression: sp.Expr, ranges: Ranges, changing: set[str], wanted: Callable[[sp.Expr], bool]
) -> Iterator[tuple[sp.Symbol, sp.Expr]]:
    """The largest wanted parts that change with one index only, each with its index."""
    if expression.is_Atom or isinstance(expression, sp.Indexed):
        return
    if wanted(expression):
        moving = names_in(expression) & changing
        index = next((index for index in ranges if {str(index)} == moving), None)
        if index is not None:
            yield index, expression
            return
    for argument in expression.args:
        yield from _single(argument, ranges, changing, wanted)


def _costs(expression: sp.Expr) -> bool:
    """Roots, quotients and calls."""
    if isinstance(expression, sp.Pow):
        return not (expression.exp.is_Integer and expression.exp > 0)
    return isinstance(expression, Application)


def _shared_parts(
    found: Mapping[tuple[sp.Symbol, sp.Expr], sp.Symbol],
    places: list[_Place],
    changing: set[str],
) -> Iterator[tuple[tuple[sp.Symbol, sp.Expr], sp.Symbol]]:
    """Sums inside of tabulated expressions that statements use on their own, too."""
    parts = {
        (size, part): index
        for (size, whole), index in found.items()
        for part in sp.preorder_traversal(whole)
        if part.is_Add and part.has(_AT) and part != whole
    }
    tables = {key: sp.IndexedBase("$table") for key in found}
    for place in places:
        left = _read(place.expression, place.ranges, tables)
        for index, part in _single(left, place.ranges, changing, lambda e: e.is_Add):
            key = place.ranges[index], part.xreplace({index: _AT})
            if key in parts:
                yield key, parts[key]


def _read(
    expression: sp.Expr,
    ranges: Ranges,
    tables: Mapping[tuple[sp.Symbol, sp.Expr], sp.IndexedBase],
) -> sp.Expr:
    """The expression with tables in the place of what they hold."""
    known = {
        part.xreplace({_AT: index}): table[index]
        for index, own in ranges.items()
        for (size, part), table in tables.items()
        if size == own
    }
    return expression.xreplace(known)


def _reading(
    node: Node, ranges: Ranges, tables: Mapping[tuple[sp.Symbol, sp.Expr], sp.IndexedBase]
) -> Node:
    if isinstance(node, Loop):
        size = extent(node, dict(ranges))
        if size is None:
            return node
        inside = {**ranges, node.index: size}
        body = tuple(_reading(child, inside, tables) for child in node.body)
        return replace(node, body=_without_copies(body, set(tables.values())))
    if isinstance(node, Set | Increase):
        return replace(node, value=_read(node.value, ranges, tables))
    if isinstance(node, Branch):
        return Branch(
            tuple((c, tuple(_reading(n, ranges, tables) for n in body)) for c, body in node.cases)
        )
    return node


def _without_copies(body: tuple[Node, ...], tables: Collection[sp.IndexedBase]) -> tuple[Node, ...]:
    """Elements of tables in the place of scalars that only repeat them."""
    copies = {
        node.target: node.value
        for node in body
        if isinstance(node, Set)
        and isinstance(node.target, sp.Symbol)
        and isinstance(node.value, sp.Indexed)
        and node.value.base in tables
    }
    kept = tuple(n for n in body if not (isinstance(n, Set) and n.target in copies))
    return tuple(_substituted(node, copies) for node in kept)


def _substituted(node: Node, values: Mapping[sp.Basic, sp.Expr]) -> Node:
    if isinstance(node, Set | Increase):
        return replace(node, value=node.value.xreplace(values))
    if isinstance(node, Loop):
        return replace(node, body=tuple(_substituted(child, values) for child in node.body))
    if isinstance(node, Branch):
        return Branch(
            tuple((c, tuple(_substituted(n, values) for n in body)) for c, body in node.cases)
        )
    return node
