"""Small changes that turn a true statement into a false one: a check must notice each of them.

The operators are fixed here, before any claim is looked at, and are applied wherever they fit:
a flipped sign, a factor 2, a changed or shifted index, exchanged indices, one size for another
(K for M), a number increased by one, matrices in another order or not transposed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeGuard

from symderiv_ledger.claims.statement import (
    BINDERS,
    Relation,
    bounds_of,
    copied,
    name_of,
    parse_ranges,
    parts_of,
)

#: Sizes that papers confuse.
_SIZES: Final = {"K": "M", "M": "K", "L": "M", "N": "L"}
#: Functions whose first argument is doubled.
_DOUBLED: Final = ("Sum", "Product", "Integral", "sqrt", "exp", "log", "asin", "erf")


@dataclass(frozen=True)
class Mutant:
    """A changed statement."""

    operator: str  # one of :data:`OPERATORS`
    change: str  # what was changed, e.g. ``"R[i, n] -> R[n, i]"``
    statement: Relation  # the result

    def __str__(self) -> str:
        return f"{self.operator}: {self.change}"


def mutants(statement: Relation, ranges: str = "") -> list[Mutant]:
    """Return all first-order mutants of a statement, each text once, in a fixed order.

    The left side of the first relation, which names the engine's quantity, is never changed. Each
    of the other sides is also doubled, and taken with the other sign, as a whole.
    """
    calls = [node for node in ast.walk(statement.tree) if isinstance(node, ast.Call)]
    sums = [node for node in calls if name_of(node) in ("Sum", "Product")]
    bound = {index.name for node in sums for index in bounds_of(node)}
    indices = bound | {free.name for free in parse_ranges(ranges)}
    by_text: dict[str, Mutant] = {}

    def keep(operator: str, change: str, node: ast.expr, new: ast.expr) -> None:
        mutant = Relation.of_tree(copied(statement.tree, node, new))
        if mutant.text != statement.text:
            by_text.setdefault(mutant.text, Mutant(operator, change, mutant))

    nodes = [node for side in statement.sides[1:] for node in _changeable(side)]
    for operator, changes in OPERATORS.items():
        for node in nodes:
            for new in changes(node, indices):
                keep(operator, f"{ast.unparse(node)} -> {ast.unparse(new)}", node, new)
    for side in statement.sides[1:]:
        if not (isinstance(side, ast.Constant) and side.value == 0):
            keep("factor 2", "the whole right side: factor 2", side, _double(side))
            negated = ast.UnaryOp(ast.USub(), side)
            keep("flipped sign", "the whole right side: flipped sign", side, negated)
    return list(by_text.values())


def _changeable(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in a node in the order of a walk, without names that sums bind."""
    if isinstance(node, ast.expr) and not isinstance(node, ast.Tuple):
        yield node
    if isinstance(node, ast.Subscript):
        return
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call):
        parts = list(node.args)
        if name_of(node) == "Derivative":
            del parts[1]
        elif name_of(node) in BINDERS:
            bounds = (parts_of(part) for part in node.args[1:])
            parts[1:] = [end for bound in bounds for end in bound[len(bound) > 1 :]]
    for part in parts:
        yield from _changeable(part)


def _double(node: ast.expr) -> ast.expr:
    return ast.BinOp(ast.Constant(2), ast.Mult(), node)


def _flipped_sign(node: ast.expr, indices: set[str]) -> Iterator[ast.expr]:
    if _is_index(node, indices):
        return
    if _is_sum(node):
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield ast.BinOp(node.left, other, node.right)
        yield ast.BinOp(ast.UnaryOp(ast.USub(), node.left), node.op, node.right)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand


def _factor_two(node: ast.expr, indices: set[str]) -> Iterator[ast.expr]:
    """Yield doubled terms of sums and arguments of functions; factors of products stay."""
    if _is_sum(node) and not _is_index(node, indices):
        if not _is_sum(node.left):
            yield ast.BinOp(_double(node.left), node.op, node.right)
        if not _is_sum(node.right):
            yield ast.BinOp(node.left, node.op, _double(node.right))
    elif isinstance(node, ast.Call) and name_of(node) in _DOUBLED:
        yield ast.Call(node.func, [_double(node.args[0]), *node.args[1:]], [])


def _changed_index(node: ast.expr, indices: set[str]) -> Iterator[ast.expr]:
    if not isinstance(node, ast.Subscript):
        return
    parts = parts_of(node.slice)
    for number, part in enumerate(parts):
        if isinstance(part, ast.Name):
            for name in sorted(indices - {part.id}):
                yield _with_part(node, number, ast.Name(name, ast.Load()))
        elif _is_sum(part):
            yield _with_part(node, number, part.left)
    if len(parts) == 2 and ast.unparse(parts[0]) != ast.unparse(parts[1]):
        both = ast.Tuple([parts[1], parts[0]], ast.Load())
        yield ast.Subscript(node.value, both, ast.Load())


def _shifted_index(node: ast.expr, _: set[str]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Subscript):
        for number, part in enumerate(parts_of(node.slice)):
            yield _with_part(node, number, ast.BinOp(part, ast.Add(), ast.Constant(1)))


def _with_part(node: ast.Subscript, number: int, part: ast.expr) -> ast.Subscript:
    parts = list(parts_of(node.slice))
    parts[number] = part
    inside = part if len(parts) == 1 else ast.Tuple(parts, ast.Load())
    return ast.Subscript(node.value, inside, ast.Load())


def _other_size(node: ast.expr, _: set[str]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Name) and node.id in _SIZES:
        yield ast.Name(_SIZES[node.id], ast.Load())


def _next_number(node: ast.expr, _: set[str]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)


def _matrix_order(node: ast.expr, _: set[str]) -> Iterator[ast.expr]:
    """Yield a product with exchanged factors, or a matrix without its transpose or inverse."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield ast.BinOp(node.right, ast.MatMult(), node.left)
    elif isinstance(node, ast.Call) and name_of(node) in ("transpose", "inverse"):
        yield node.args[0]


def _is_sum(node: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _is_index(node: ast.expr, indices: set[str]) -> bool:
    """Return whether an expression is made of indices and numbers only, such as l + 1."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bool(names) and names <= indices


#: The operators by name, in the order in which they are applied.
OPERATORS: Final[dict[str, Callable[[ast.expr, set[str]], Iterator[ast.expr]]]] = {
    "flipped sign": _flipped_sign,
    "factor 2": _factor_two,
    "changed index": _changed_index,
    "shifted index": _shifted_index,
    "other size": _other_size,
    "next number": _next_number,
    "order of matrices": _matrix_order,
}
