"""Small changes that turn a true statement into a false one: a check must notice each of them.

The operators are fixed here, before any claim is looked at, and are applied wherever they fit:
a flipped sign, a factor 2, a changed or shifted index, exchanged indices, one size for another
(K for M), a number increased by one, matrices in another order or not transposed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeGuard

from symderiv_ledger.claims.statement import (
    BINDERS,
    Relation,
    bounds_of,
    copied,
    name_of,
    parse_ranges,
    parts_of,
)

_Put = Callable[[ast.expr], None]
#: Sizes that papers confuse.
_SIZES: Final = {"K": ("M",), "M": ("K",), "L": ("M",), "N": ("L",)}
#: Functions whose first argument is doubled.
_DOUBLED: Final = ("Sum", "Product", "Integral", "sqrt", "exp", "log", "asin", "erf")


@dataclass(frozen=True)
class Mutant:
    """A changed statement.

    Args:
        operator: One of :data:`OPERATORS`.
        change: What was changed, e.g. ``"R[i, n] -> R[n, i]"``.
        statement: The result.
    """

    operator: str
    change: str
    statement: Relation


def mutants(statement: Relation, ranges: str = "") -> list[Mutant]:
    """Return all first-order mutants of a statement, each text once, in a fixed order.

    The left side of the first relation, which names the engine's quantity, is never changed.

    Args:
        statement: The statement that is true.
        ranges: Its free indices, which count as names of indices.
    """
    indices = _index_names(statement) | {free.name for free in parse_ranges(ranges)}
    by_text: dict[str, Mutant] = {}
    for operator, changes in OPERATORS.items():
        for position, (node, _) in enumerate(_changeable(statement.tree)):
            for change, replacement in changes(node, indices):
                tree = statement.copy()
                put = _changeable(tree)[position][1]
                put(copied(replacement))
                mutant = Relation.of_tree(tree)
                if mutant.text != statement.text and mutant.text not in by_text:
                    by_text[mutant.text] = Mutant(operator, change, mutant)
    for whole in _whole_sides(statement):
        by_text.setdefault(whole.statement.text, whole)
    return list(by_text.values())


def _whole_sides(statement: Relation) -> Iterator[Mutant]:
    """Yield each side right of the first relation doubled, and with the other sign."""
    for number, side in enumerate(statement.sides[1:]):
        if isinstance(side, ast.Constant) and side.value == 0:
            continue
        changes = {
            "factor 2": _double(side),
            "flipped sign": ast.UnaryOp(ast.USub(), side),
        }
        for operator, changed in changes.items():
            tree = statement.copy()
            tree.comparators[number] = copied(changed)
            words = f"the whole right side: {operator}"
            yield Mutant(operator, words, Relation.of_tree(tree))


def _index_names(statement: Relation) -> set[str]:
    """Return the names that sums and integrals of a statement bind."""
    return {
        name
        for node in ast.walk(statement.tree)
        if isinstance(node, ast.Call) and name_of(node) in ("Sum", "Product")
        for name, _, _ in bounds_of(node)
    }


def _changeable(tree: ast.Compare) -> list[tuple[ast.expr, _Put]]:
    """Return expressions right of the first relation, each with a function that replaces it.

    They come in the order of a walk, without the names that sums bind.
    """
    places: list[tuple[ast.expr, _Put]] = []

    def visit(node: ast.AST, put: _Put) -> None:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Tuple):
            places.append((node, put))
        if isinstance(node, ast.Call):
            inside(node.args, name_of(node))
        elif not isinstance(node, ast.Subscript):
            for name, value in ast.iter_fields(node):
                if isinstance(value, ast.AST):
                    visit(value, partial(setattr, node, name))
                elif isinstance(value, list):
                    inside(value)

    def inside(parts: list[Any], function: str = "") -> None:
        for number, part in enumerate(parts):
            if number and function in BINDERS and isinstance(part, ast.Tuple):
                for end in (1, 2):
                    visit(part.elts[end], partial(part.elts.__setitem__, end))
            elif not (function == "Derivative" and number == 1):
                visit(part, partial(parts.__setitem__, number))

    inside(tree.comparators)
    return places


_Changes = Iterator[tuple[str, ast.expr]]


def _says(before: ast.expr, after: ast.expr) -> tuple[str, ast.expr]:
    return f"{ast.unparse(before)} -> {ast.unparse(after)}", after


def _double(node: ast.expr) -> ast.expr:
    return ast.BinOp(ast.Constant(2), ast.Mult(), node)


def _flipped_sign(node: ast.expr, indices: set[str]) -> _Changes:
    if _is_sum(node):
        if _is_index(node, indices):
            return
        other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield _says(node, ast.BinOp(node.left, other, node.right))
        yield _says(node, ast.BinOp(ast.UnaryOp(ast.USub(), node.left), node.op, node.right))
    elif isinstance(node, ast.UnaryOp) and not _is_index(node, indices):
        yield _says(node, node.operand)


def _factor_two(node: ast.expr, indices: set[str]) -> _Changes:
    """Yield doubled terms of sums and arguments of functions; factors of products stay."""
    if _is_sum(node):
        if _is_index(node, indices):
            return
        if not _is_sum(node.left):
            yield _says(node, ast.BinOp(_double(node.left), node.op, node.right))
        if not _is_sum(node.right):
            yield _says(node, ast.BinOp(node.left, node.op, _double(node.right)))
    elif isinstance(node, ast.Call) and name_of(node) in _DOUBLED:
        yield _says(node, ast.Call(node.func, [_double(node.args[0]), *node.args[1:]], []))


def _changed_index(node: ast.expr, indices: set[str]) -> _Changes:
    if not isinstance(node, ast.Subscript):
        return
    parts = parts_of(node.slice)
    for number, part in enumerate(parts):
        if isinstance(part, ast.Name):
            for name in sorted(indices - {part.id}):
                yield _says(node, _with_part(node, parts, number, ast.Name(name, ast.Load())))
        elif _is_sum(part):
            yield _says(node, _with_part(node, parts, number, part.left))
    if len(parts) == 2 and ast.unparse(parts[0]) != ast.unparse(parts[1]):
        both = ast.Tuple([parts[1], parts[0]], ast.Load())
        yield _says(node, ast.Subscript(node.value, both, ast.Load()))


def _shifted_index(node: ast.expr, _: set[str]) -> _Changes:
    if not isinstance(node, ast.Subscript):
        return
    parts = parts_of(node.slice)
    for number, part in enumerate(parts):
        shifted = ast.BinOp(part, ast.Add(), ast.Constant(1))
        yield _says(node, _with_part(node, parts, number, shifted))


def _with_part(
    node: ast.Subscript, parts: list[ast.expr], number: int, part: ast.expr
) -> ast.Subscript:
    new = [*parts[:number], part, *parts[number + 1 :]]
    inside = new[0] if len(new) == 1 else ast.Tuple(new, ast.Load())
    return ast.Subscript(node.value, inside, ast.Load())


def _other_size(node: ast.expr, _: set[str]) -> _Changes:
    if isinstance(node, ast.Name):
        for other in _SIZES.get(node.id, ()):
            yield _says(node, ast.Name(other, ast.Load()))


def _next_number(node: ast.expr, _: set[str]) -> _Changes:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield _says(node, ast.Constant(node.value + 1))


def _matrix_order(node: ast.expr, _: set[str]) -> _Changes:
    """Yield a product with exchanged factors, or a matrix without its transpose or inverse."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield _says(node, ast.BinOp(node.right, ast.MatMult(), node.left))
    elif isinstance(node, ast.Call) and name_of(node) in ("transpose", "inverse"):
        yield _says(node, node.args[0])


def _is_sum(node: ast.AST) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _is_index(node: ast.expr, indices: set[str]) -> bool:
    """Return whether an expression is made of indices and numbers only, such as l + 1."""
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return bool(names) and names <= indices


_Operator = Callable[[ast.expr, set[str]], _Changes]

#: The operators by name, in the order in which they are applied.
OPERATORS: Final[dict[str, _Operator]] = {
    "flipped sign": _flipped_sign,
    "factor 2": _factor_two,
    "changed index": _changed_index,
    "shifted index": _shifted_index,
    "other size": _other_size,
    "next number": _next_number,
    "order of matrices": _matrix_order,
}
