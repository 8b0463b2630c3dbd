"""Elementary functions in double sums and in sums over lists, evaluated for all summands together.

Mathematical libraries take one number at a time. If such a sum needs a function of every summand,
the loops run twice: first they write the arguments one after the other to a local array; then one
loop of ``printers/elementary.py`` replaces them by the values; then the sums read these in the same
order. Other single sums stay as they are: below about six numbers (measured on sums over four) the
library is faster than one pass of that loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import (
    Evaluate,
    Increase,
    Loop,
    Node,
    Set,
    Start,
    inner,
    names_in,
    reads,
    target_name,
    writes,
)
from symderiv_codegen.ir.many import ARCSINES, Many
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.passes.sum_bodies import in_double_sums, with_front

MANY = {sp.asin: ARCSINES}


def evaluated_together(
    nodes: tuple[Node, ...], names: NamePool, known: Mapping[str, Many] | None = None
) -> tuple[tuple[Node, ...], list[Array]]:
    """Return the nodes with functions evaluated together, and the arrays that this needs.

    Args:
        nodes: Loop nests.
        names: The register of the function.
        known: Functions of an extension, by their names.
    """
    arrays: list[Array] = []
    wanted = {**MANY, **_of_extension(nodes, known or {})}

    def rewrite(body: tuple[Node, ...]) -> tuple[Node, ...]:
        for function, many in wanted.items():
            body = _evaluated(body, function, many, names, arrays)
        return body

    return in_double_sums(nodes, rewrite), arrays


def _of_extension(
    nodes: tuple[Node, ...], known: Mapping[str, Many]
) -> dict[sp.FunctionClass, Many]:
    """Return the functions of an extension that occur in nodes."""
    calls = (
        call
        for node in nodes
        for part in inner(node)
        if isinstance(part, Set | Increase)
        for call in part.value.atoms(sp.Function)
    )
    found = {type(call) for call in calls if type(call).__name__ in known}
    return {each: known[each.__name__] for each in sorted(found, key=lambda e: e.__name__)}


def _evaluated(
    body: tuple[Node, ...],
    function: sp.FunctionClass,
    many: Many,
    names: NamePool,
    arrays: list[Array],
) -> tuple[Node, ...]:
    """Return a body of sums with one function's values read from an array."""
    loops = [node for node in body if isinstance(node, Loop) and _in_long_sum(node, function)]
    if not loops or not all(_plain(loop) for loop in loops):
        return body
    rooms = tuple(names.take(many.word) for _ in range(many.arguments + many.scratch))
    values = _Values(
        function,
        tuple(map(sp.IndexedBase, rooms[: many.arguments])),
        sp.Symbol(names.take("count"), integer=True, nonnegative=True),
    )
    written = [part for loop in loops for part in values.written(loop)]
    # Sums inside of the loops are not computed yet when the arguments are needed.
    totals = {str(n.target) for loop in loops for n in inner(loop) if isinstance(n, Increase)}
    if set().union(*(reads(part) for part in written)) & totals:
        return body
    start = Start(values.count)
    given, scratch = rooms[: many.arguments], rooms[many.arguments :]
    call = Evaluate(many.function, given, values.count, scratch)
    first = body.index(loops[0])
    whole = with_front(body, first, [start, *written, call])
    if whole is None:
        return body
    places = [n for n, node in enumerate(whole) if node in loops]
    whole[places[0] : places[0]] = [replace(start, again=True)]
    whole = [values.read(node) if node in loops else node for node in whole]
    number = sum(values.evaluations(loop) for loop in loops)
    arrays += [many.array(name, number) for name in rooms]
    return (*body[:first], *whole)


def _plain(loop: Loop) -> bool:
    return all(isinstance(node, Loop | Set | Increase) for node in inner(loop))


def _in_long_sum(loop: Loop, function: sp.FunctionClass) -> bool:
    return any(
        isinstance(part, Set | Increase) and part.value.has(function)
        for child in loop.body
        if isinstance(child, Loop) or loop.most is not None
        for part in inner(child)
    )


@dataclass(frozen=True)
class _Values:
    """Loops that write the arguments of a function to arrays, or read its values from one."""

    function: sp.FunctionClass
    arrays: tuple[sp.IndexedBase, ...]
    count: sp.Symbol

    def _calls(self, statement: Set | Increase) -> dict[sp.Expr, sp.Expr]:
        """Return the outermost calls in a statement, with the places of their values."""
        found = set(_outermost(statement.value, self.function))
        calls = sorted(found, key=sp.default_sort_key)
        return {call: self.count + n for n, call in enumerate(calls)}

    def _counted(self, calls: Iterable[sp.Expr]) -> list[Node]:
        number = len(list(calls))
        return [Increase(self.count, sp.Integer(number))] if number else []

    def written(self, loop: Loop) -> list[Node]:
        """Return the loop reduced to the computation of the arguments."""
        body: list[Node] = []
        for node in loop.body:
            if isinstance(node, Loop):
                body += self.written(node)
            elif isinstance(node, Set | Increase):
                calls = self._calls(node)
                body += [
                    Set(array[place], argument)
                    for call, place in calls.items()
                    for array, argument in zip(self.arrays, call.args, strict=True)
                ]
                body += self._counted(calls)
                if not calls and isinstance(node, Set):
                    body.append(node)
        own = {str(self.count), *(str(array.label) for array in self.arrays)}
        needed = _without_unread(body, own)
        return [replace(loop, body=tuple(needed))] if needed else []

    def read(self, loop: Loop) -> Loop:
        """Return the loop with stored values in place of calls."""
        body: list[Node] = []
        for node in loop.body:
            if isinstance(node, Loop):
                body.append(self.read(node))
            elif isinstance(node, Set | Increase):
                calls = self._calls(node)
                known = {call: self.arrays[0][place] for call, place in calls.items()}
                body.append(replace(node, value=node.value.xreplace(known)))
                body += self._counted(calls)
        kept = {target_name(n.target) for n in body if isinstance(n, Increase)}
        outside = {target_name(n.target) for n in inner(loop) if isinstance(n, Increase)}
        return replace(loop, body=tuple(_without_unread(body, kept | outside)))

    def evaluations(self, loop: Loop) -> sp.Expr:
        """Return the number of values that the loop needs, in terms of ranges and outer indices."""
        total: sp.Expr = sp.Integer(0)
        for node in loop.body:
            if isinstance(node, Loop):
                total += self.evaluations(node)
            elif isinstance(node, Set | Increase):
                total += len(self._calls(node))
        if loop.most is not None:
            return total * loop.most
        # Faulhaber's sums, term by term: SymPy's summation imports its solvers
        numbers = sp.Poly(total, loop.index).all_coeffs()[::-1]
        return sp.Add(*(each * _powers(n, loop) for n, each in enumerate(numbers))).expand()


def _powers(exponent: int, loop: Loop) -> sp.Expr:
    """Return the sum of a power of the index over all turns of a loop."""
    below = (sp.bernoulli(exponent + 1, end) for end in (loop.stop, loop.start))
    return sp.Add(next(below), -next(below)) / (exponent + 1)


def _outermost(expression: sp.Expr, function: sp.FunctionClass) -> Iterator[sp.Expr]:
    if isinstance(expression, function):
        yield expression
        return
    for argument in expression.args:
        yield from _outermost(argument, function)


def _without_unread(body: Iterable[Node], wanted: set[str]) -> list[Node]:
    """Return the nodes without assignments to scalars that no later one of them reads."""
    kept: list[Node] = []
    live = set(wanted)
    for node in reversed(list(body)):
        if not writes(node) & live:
            continue
        live |= reads(node) | {n for e in _indices(node) for n in names_in(e)}
        kept.insert(0, node)
    return kept


def _indices(node: Node) -> Iterator[sp.Expr]:
    for part in inner(node):
        if isinstance(part, Set) and isinstance(part.target, sp.Indexed):
            yield from part.target.indices
