"""Differences of two statements: the smallest parts that were exchanged, added or left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

Place = tuple[str, str]
_Difference = tuple[Place, int]
#: A term or a factor, with 1, or with -1 if it is subtracted or divided by.
_Entry = tuple[int, ast.AST]


def places(one: ast.AST, other: ast.AST) -> Iterator[_Difference]:
    """Yield the differences, each with its two texts (empty: missing there) and its size in parts.

    Terms of sums and factors of products are compared as such, so that a missing factor or a
    flipped sign is one small place however long the rest is.
    """
    if ast.unparse(one) == ast.unparse(other):
        return
    if _is_sum(one) or _is_sum(other):
        yield from _unmatched(*(list(_joined(side, (ast.Add, ast.Sub))) for side in (one, other)))
    elif _is_reordered(one, other):
        yield (f"order of factors in {ast.unparse(one)}", ""), 1
    elif _is_product(one) or _is_product(other):
        yield from _unmatched(*(list(_joined(side, (ast.Mult, ast.Div))) for side in (one, other)))
    else:
        mine, others = list(_parts(one)), list(_parts(other))
        if type(one) is type(other) and len(mine) == len(others) and _head(one) == _head(other):
            for left, right in zip(mine, others, strict=True):
                yield from places(left, right)
        else:
            yield (ast.unparse(one), ast.unparse(other)), max(_size(one), _size(other))


def _unmatched(mine: list[_Entry], others: list[_Entry]) -> Iterator[_Difference]:
    for sign in (1, -1):
        for entry in list(mine):
            text = ast.unparse(entry[1])
            keys = [(power, ast.unparse(other)) for power, other in others]
            if (sign * entry[0], text) in keys:
                mine.remove(entry)
                del others[keys.index((sign * entry[0], text))]
                if sign < 0:
                    yield (f"sign or place of {text}", ""), 1
    for differences in _closest_pairs(mine, others):
        yield from differences
    for _, left in mine:
        yield (ast.unparse(left), ""), _size(left)
    for _, right in others:
        yield ("", ast.unparse(right)), _size(right)


def _closest_pairs(mine: list[_Entry], others: list[_Entry]) -> list[list[_Difference]]:
    """Return differences of pairs of parts, paired such that they differ least in total.

    Both lists keep only the parts without a partner.
    """
    if not mine or not others:
        return []
    from scipy.optimize import linear_sum_assignment  # importing it takes half a second

    def pair(one: _Entry, other: _Entry) -> list[_Difference]:
        sign: list[_Difference] = [] if one[0] == other[0] else [(("sign", "sign"), 1)]
        return sign + list(places(one[1], other[1]))

    table = [[pair(one, other) for other in others] for one in mine]
    costs = [[sum(size for _, size in differences) for differences in row] for row in table]
    rows, columns = linear_sum_assignment(costs)
    differences = [table[i][j] for i, j in zip(rows, columns, strict=True)]
    mine[:] = [one for i, one in enumerate(mine) if i not in rows]
    others[:] = [one for j, one in enumerate(others) if j not in columns]
    return differences


def _is_sum(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)


def _is_product(node: ast.AST) -> bool:
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div)
    return product or isinstance(node, ast.UnaryOp)


def _is_reordered(one: ast.AST, other: ast.AST) -> bool:
    """Return whether two products have the same matrices in another order."""
    parts = ([part for _, part in _joined(side, (ast.MatMult,))] for side in (one, other))
    mine, others = (sorted(map(ast.unparse, side)) for side in parts)
    return len(mine) > 1 and mine == others


def _joined(node: ast.AST, operators: tuple[type, ...], power: int = 1) -> Iterator[_Entry]:
    """Yield terms (factors), with -1 for those that are subtracted (divided by)."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, operators):
            yield from _joined(left, operators, power)
            inverse = isinstance(op, ast.Sub | ast.Div)
            yield from _joined(right, operators, -power if inverse else power)
        case ast.UnaryOp(op=op, operand=operand) if ast.MatMult not in operators:
            if isinstance(op, ast.USub) and ast.Mult in operators:
                yield 1, ast.Constant(-1)
            elif isinstance(op, ast.USub):
                power = -power
            yield from _joined(operand, operators, power)
        case _:
            yield power, node


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    skipped = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop)
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, skipped))


def _head(node: ast.AST) -> Any:
    """Return what a node is beside its parts: a name, a number, operators."""
    match node:
        case ast.Name(id=head) | ast.Constant(value=head):
            return head
        case ast.BinOp(op=op):
            return type(op)
        case ast.Compare(ops=ops):
            return [type(op) for op in ops]
    return None


def _size(node: ast.AST) -> int:
    return sum(1 for part in ast.walk(node) if isinstance(part, ast.expr))
