"""Loop nests: what an indexed program becomes before it is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.walk import array_name, arrays_in, free_names, subexpressions


@dataclass(frozen=True)
class Set:
    """The statement ``target = value``."""

    target: sp.Symbol | sp.Indexed
    value: sp.Expr


@dataclass(frozen=True)
class Start(Set):
    """An accumulator before its first :class:`Increase`; nothing else writes to it.

    ``again``: whether it is a restart, by the pass that declared it, in the same body.
    """

    value: sp.Expr = sp.S.Zero
    again: bool = False


@dataclass(frozen=True)
class Increase:
    """The statement ``target += value`` for an accumulator."""

    target: sp.Symbol
    value: sp.Expr


@dataclass(frozen=True)
class Loop:
    """The loop ``for index in range(start, stop)``.

    ``most``: for a loop over a list made by the function, the largest possible length of the list.
    """

    index: sp.Symbol
    start: sp.Expr
    stop: sp.Expr
    body: tuple[Node, ...]
    most: sp.Expr | None = None


@dataclass(frozen=True)
class Conditional:
    """The statement ``if``/``elif``/``else``; the condition of ``else`` is ``sp.true``."""

    cases: tuple[tuple[sp.Basic, tuple[Node, ...]], ...]


@dataclass(frozen=True)
class Invoke:
    """A call of a procedure; ``result`` receives its scalar output."""

    procedure: str
    arguments: tuple[str, ...]
    written: tuple[str, ...]
    result: str | None


@dataclass(frozen=True)
class Fill:
    """Zeros in a whole array; ``indices`` are those of the loops."""

    array: Array
    indices: tuple[sp.Symbol, ...] = ()


@dataclass(frozen=True)
class Remark:
    """A comment on the code that follows."""

    text: str


@dataclass(frozen=True)
class Block:
    """A loop over blocks of a long range; inside, ``first`` and ``last`` are the ends of
    a block.
    """

    first: sp.Symbol
    last: sp.Symbol
    stop: sp.Expr
    length: int
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Evaluate:
    """A call of a function of the first ``count`` elements of arrays, which overwrites the first
    array.

    ``scratch`` are arrays that it uses as workspace.
    """

    function: str
    arrays: tuple[str, ...]
    count: sp.Expr
    scratch: tuple[str, ...] = ()


@dataclass(frozen=True)
class Groups:
    """A loop over groups of neighbouring rows of a short range, as many as a compiler unrolls.

    ``group`` is the number of a group, ``begin`` its first row. The last group may overlap the one
    before: its body must allow rows to be computed twice.
    """

    group: sp.Symbol
    begin: sp.Symbol
    size: str
    body: tuple[Node, ...]


Node = Set | Increase | Loop | Conditional | Invoke | Fill | Remark | Block | Evaluate | Groups


def inner(node: Node) -> Iterator[Node]:
    """Yield the node and all nodes inside it, in order."""
    yield node
    bodies: Iterable[tuple[Node, ...]] = ()
    if isinstance(node, Loop | Block | Groups):
        bodies = (node.body,)
    elif isinstance(node, Conditional):
        bodies = tuple(body for _, body in node.cases)
    for body in bodies:
        for child in body:
            yield from inner(child)


def with_bodies(node: Node, change: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Node:
    """Return the node with its immediate bodies changed."""
    if isinstance(node, Loop | Block | Groups):
        return replace(node, body=change(node.body))
    if isinstance(node, Conditional):
        return Conditional(tuple((condition, change(body)) for condition, body in node.cases))
    return node


def with_values(node: Node, values: Mapping[sp.Basic, sp.Basic]) -> Node:
    """Return the node with expressions replaced in all values that are assigned or added in it."""
    if isinstance(node, Set | Increase):
        return replace(node, value=node.value.xreplace(values))
    return with_bodies(node, lambda body: tuple(with_values(child, values) for child in body))


def expressions(node: Node) -> tuple[sp.Basic, ...]:
    """Return the expressions a node itself reads (not those of nodes inside it)."""
    if isinstance(node, Set | Increase):
        return (node.value,)
    if isinstance(node, Loop):
        return (node.start, node.stop)
    if isinstance(node, Block):
        return (node.stop,)
    if isinstance(node, Conditional):
        return tuple(condition for condition, _ in node.cases)
    if isinstance(node, Evaluate):
        return (node.count,)
    return ()


def names_in(expression: sp.Basic) -> frozenset[str]:
    """Return names of symbols, indices and arrays of an expression."""
    return free_names(expression) | arrays_in(expression)


def target_name(target: sp.Symbol | sp.Indexed) -> str:
    """Return the name of the array or scalar that is written."""
    return array_name(target) if isinstance(target, sp.Indexed) else str(target.name)


def reads(node: Node) -> set[str]:
    """Return names read by the node or inside it (indices of its own loops included)."""
    found: set[str] = set()
    for part in inner(node):
        for expression in expressions(part):
            found |= names_in(expression)
        if isinstance(part, Increase):
            found.add(str(part.target))
        if isinstance(part, Invoke):
            found.update(part.arguments)
        if isinstance(part, Evaluate):
            found.update(part.arrays)
    return found


def writes(node: Node) -> set[str]:
    """Return names of arrays and scalars written by the node or inside it."""
    found: set[str] = set()
    for part in inner(node):
        if isinstance(part, Set | Increase):
            found.add(target_name(part.target))
        elif isinstance(part, Invoke):
            found.update(part.written)
        elif isinstance(part, Fill):
            found.add(part.array.name)
        elif isinstance(part, Evaluate):
            found.update((*part.arrays, *part.scratch))
    return found


def depend(first: Node, second: Node) -> bool:
    """Return whether the order of two nodes matters."""
    written, also_written = writes(first), writes(second)
    return bool(written & (reads(second) | also_written) or also_written & reads(first))


def elements(node: Node) -> Iterator[sp.Indexed]:
    """Yield every array element read or written inside the node."""
    for part in inner(node):
        if isinstance(part, Set) and isinstance(part.target, sp.Indexed):
            yield part.target
        for expression in expressions(part):
            for found in subexpressions(expression):
                if isinstance(found, sp.Indexed):
                    yield found
