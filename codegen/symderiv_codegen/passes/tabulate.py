"""Tables of quantities that sums need repeatedly: roots, quotients and calls with one index only.

In sum_p sum_q f(p, q) a root that depends on q alone would be computed again for every p, and for
the same quantity with index p; the same holds for two successive loops. It is stored in a local
array over the range of the index, before all of these loops. Inverse roots share one array, so that
several are computed at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp
from sympy.core.function import Application

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import (
    Conditional,
    Evaluate,
    Increase,
    Loop,
    Node,
    Set,
    inner,
    names_in,
    reads,
    with_values,
    writes,
)
from symderiv_codegen.ir.many import INVERSE_ROOTS, Many
from symderiv_codegen.ir.names import NamePool, describe
from symderiv_codegen.passes.fuse import fuse
from symderiv_codegen.passes.sum_bodies import Ranges, extent, in_sum_bodies, with_front

_AT = sp.Symbol("$at", integer=True)
_HALF = sp.Rational(1, 2)

Key = tuple[sp.Symbol, sp.Expr]
"""A range, and an expression in which ``_AT`` is the index."""


@dataclass(frozen=True)
class _Table:
    """The array with the values for all indices of a range."""

    array: sp.IndexedBase
    start: sp.Expr

    def __getitem__(self, index: sp.Expr) -> sp.Indexed:
        return self.array[self.start + index]


@dataclass(frozen=True)
class _Place:
    """An expression of a statement and the loops around it, the outermost first.

    ``partial``: indices that do not take all values of their range.
    """

    expression: sp.Expr
    ranges: Ranges
    partial: frozenset[sp.Symbol]
    number: int


def tabulated(
    nodes: tuple[Node, ...],
    names: NamePool,
    known: Mapping[str, Many] | None = None,
    sizes: Collection[str] | None = None,
) -> tuple[tuple[Node, ...], list[Array]]:
    """Return the nodes with tables computed before sums, and the arrays that they need.

    Args:
        nodes: Loop nests.
        names: The register of the function.
        known: Functions of many numbers of an extension, by their names.
        sizes: Ranges over which there may be tables, because their sizes are known; None for all.
    """
    arrays: list[Array] = []
    of_one = {name: many for name, many in (known or {}).items() if many.arguments == 1}

    def rewrite(body: tuple[Node, ...], around: Ranges) -> tuple[Node, ...]:
        return _Body(body, around, of_one, sizes).with_tables(names, arrays)

    return in_sum_bodies(nodes, rewrite), arrays


class _Body:
    """A body that contains sums, with the expressions that may be tabulated."""

    def __init__(
        self,
        body: tuple[Node, ...],
        around: Ranges,
        known: Mapping[str, Many],
        sizes: Collection[str] | None,
    ) -> None:
        self._body = body
        self._sizes = sizes
        self._around = around
        self._known = known
        loops = [node for node in body if isinstance(node, Loop)]
        self._changing = set().union(*(writes(loop) for loop in loops))
        self._changing |= {
            str(node.index) for loop in loops for node in inner(loop) if isinstance(node, Loop)
        }
        self._places = [
            place for n, loop in enumerate(loops) for place in self._of(loop, {}, frozenset(), n)
        ]

    def with_tables(self, names: NamePool, arrays: list[Array]) -> tuple[Node, ...]:
        keys = self._wanted()
        keys |= self._shared_parts(keys)
        if not keys:
            return self._body
        # Parts first, as larger expressions read their tables.
        order = sorted(keys, key=lambda key: (sp.count_ops(key[1]), sp.default_sort_key(key[1])))
        index: dict[sp.Symbol, sp.Symbol] = {}
        for place in self._places:
            for symbol, size in place.ranges.items():
                index.setdefault(size, symbol)
        tables: dict[Key, _Table] = {}
        rooms: list[Array] = []
        kinds = {key: many for key in order if (many := self._together(key[1])) is not None}
        # the values of one function may be arguments of the next one
        functions = [
            each for each in (INVERSE_ROOTS, *self._known.values()) if each in kinds.values()
        ]
        common = {many: names.take(many.word) for many in functions}
        count = dict.fromkeys(functions, sp.Integer(0))
        front: list[Node] = []
        for key in order:
            size, part = key
            value = _read(part.xreplace({_AT: index[size]}), {index[size]: size}, tables)
            if key in kinds:
                many = kinds[key]
                table = _Table(sp.IndexedBase(common[many]), count[many])
                count[many] += size
                value = value.args[0]
            else:
                name = names.take(f"each_{describe(part.xreplace({_AT: index[size]}))}")
                rooms.append(Array(name, (str(size),)))
                table = _Table(sp.IndexedBase(name), sp.Integer(0))
            tables[key] = table
            inside = (Set(table[index[size]], value),)
            front.append(Loop(index[size], sp.Integer(0), size, inside))
        rooms += [many.array(common[many], count[many]) for many in functions]
        tabulation = _in_turn(front, [(m.function, common[m], count[m]) for m in functions])
        if tabulation is None:
            return self._body
        reading = [_reading(node, self._around, {}, tables) for node in self._body]
        first = next(n for n, node in enumerate(self._body) if reading[n] != node)
        whole = with_front(reading, first, tabulation)
        if whole is None:
            return self._body
        arrays += rooms
        return (*self._body[:first], *whole)

    def _together(self, part: sp.Expr) -> Many | None:
        """Return the function of many numbers that evaluates an expression, or None."""
        if _is_inverse_root(part):
            return INVERSE_ROOTS
        return self._known.get(type(part).__name__)

    def _of(
        self, node: Node, ranges: Ranges, partial: frozenset[sp.Symbol], number: int
    ) -> Iterator[_Place]:
        """Yield the expressions of statements inside loops of known ranges."""
        if isinstance(node, Loop):
            size = extent(node, {**self._around, **ranges})
            if size is None:
                return
            below = node.stop - 1
            if node.stop != size and (below not in ranges or below in partial):
                partial |= {node.index}
            for child in node.body:
                yield from self._of(child, {**ranges, node.index: size}, partial, number)
        elif isinstance(node, Set | Increase):
            yield _Place(node.value, ranges, partial, number)

    def _wanted(self) -> set[Key]:
        """Return the parts that nested sums, or several successive loops, need more than once."""
        found: dict[Key, set[int]] = {}
        nested: set[Key] = set()
        whole: set[Key] = set()
        for place in self._places:
            outermost = next(iter(place.ranges))
            for index, part in self._single(place.expression, place.ranges, _costs):
                key = place.ranges[index], part.xreplace({index: _AT})
                found.setdefault(key, set()).add(place.number)
                if index not in place.partial:
                    whole.add(key)
                    if index != outermost:
                        nested.add(key)
        wanted = nested | {key for key in whole if len(found[key]) > 1}
        wanted |= {key for key in whole if self._together(key[1]) in self._known.values()}
        # Other negative powers are powers of the inverse root, if that is tabulated.
        if self._sizes is not None:
            wanted = {(size, part) for size, part in wanted if str(size) in self._sizes}
        return {
            (size, part)
            for size, part in wanted
            if _is_inverse_root(part) or (size, _inverse_root_of(part)) not in wanted
        }

    def _shared_parts(self, keys: set[Key]) -> set[Key]:
        """Return sums inside of tabulated expressions that statements also use on their own."""
        parts = {
            (size, part)
            for size, whole in keys
            for part in sp.preorder_traversal(whole)
            if part.is_Add and part.has(_AT) and part != whole
        }
        tables = {key: _Table(sp.IndexedBase("$table"), sp.Integer(0)) for key in keys}
        shared = set()
        for place in self._places:
            left = _read(place.expression, place.ranges, tables)
            for index, part in self._single(left, place.ranges, lambda e: e.is_Add):
                shared.add((place.ranges[index], part.xreplace({index: _AT})))
        return shared & parts

    def _single(
        self, expression: sp.Expr, ranges: Ranges, wanted: Callable[[sp.Expr], bool]
    ) -> Iterator[tuple[sp.Symbol, sp.Expr]]:
        """Yield the largest wanted parts with a single index, each with its index."""
        if expression.is_Atom or isinstance(expression, sp.Indexed):
            return
        if wanted(expression):
            moving = names_in(expression) & self._changing
            index = next((index for index in ranges if {str(index)} == moving), None)
            if index is not None:
                yield index, expression
                return
        for argument in expression.args:
            yield from self._single(argument, ranges, wanted)


def _in_turn(
    front: list[Node], evaluated: list[tuple[str, str, sp.Expr]]
) -> tuple[Node, ...] | None:
    """Return loops that fill tables, and functions of whole tables, in an executable order.

    None if a function's arguments need its own values or those of a later one.
    """
    found: list[Node] = []
    left = front
    arrays = [array for _, array, _ in evaluated]
    for place, (function, array, count) in enumerate(evaluated):
        waiting = set(arrays[place:])
        behind = [node for node in left if reads(node) & waiting]
        if any(array in writes(node) for node in behind):
            return None
        found += fuse(tuple(node for node in left if node not in behind))
        found.append(Evaluate(function, (array,), count))
        left = behind
    return (*found, *fuse(tuple(left)))


def _costs(expression: sp.Expr) -> bool:
    """Return whether an expression is a root, a quotient or a call."""
    if isinstance(expression, sp.Pow):
        return not (expression.exp.is_Integer and expression.exp > 0)
    return isinstance(expression, Application)


def _is_inverse_root(expression: sp.Expr) -> bool:
    return isinstance(expression, sp.Pow) and expression.exp == -_HALF


def _inverse_root_of(expression: sp.Expr) -> sp.Expr | None:
    """Return the inverse root of which the expression is a power."""
    negative = isinstance(expression, sp.Pow) and expression.exp in (-2 * _HALF, -3 * _HALF)
    return expression.base**-_HALF if negative else None


def _read(expression: sp.Expr, ranges: Ranges, tables: Mapping[Key, _Table]) -> sp.Expr:
    """Return the expression with table elements in place of tabulated parts."""
    known: dict[sp.Expr, sp.Expr] = {}
    for index, own in ranges.items():
        for (size, part), table in tables.items():
            if size != own:
                continue
            held = part.xreplace({_AT: index})
            known[held] = table[index]
            if _is_inverse_root(held):
                known |= {held.base ** (-n * _HALF): table[index] ** n for n in (2, 3)}
    return expression.xreplace(known)


def _reading(node: Node, around: Ranges, ranges: Ranges, tables: Mapping[Key, _Table]) -> Node:
    if isinstance(node, Loop):
        size = extent(node, {**around, **ranges})
        if size is None:
            return node
        inside = {**ranges, node.index: size}
        body = tuple(_reading(child, around, inside, tables) for child in node.body)
        return replace(node, body=_without_copies(body, {t.array for t in tables.values()}))
    if isinstance(node, Set | Increase):
        return replace(node, value=_read(node.value, ranges, tables))
    if isinstance(node, Conditional):
        cases = (
            (condition, tuple(_reading(child, around, ranges, tables) for child in body))
            for condition, body in node.cases
        )
        return Conditional(tuple(cases))
    return node


def _without_copies(body: tuple[Node, ...], tables: set[sp.IndexedBase]) -> tuple[Node, ...]:
    """Return the body with table elements in place of scalars that only copy them."""
    copies = {
        node.target: node.value
        for node in body
        if isinstance(node, Set)
        and isinstance(node.target, sp.Symbol)
        and isinstance(node.value, sp.Indexed)
        and node.value.base in tables
    }
    kept = tuple(n for n in body if not (isinstance(n, Set) and n.target in copies))
    return tuple(with_values(node, copies) for node in kept)
