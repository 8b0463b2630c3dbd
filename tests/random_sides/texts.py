"""Whether two sides are one formula written twice, but for the order of terms and factors.

A formula that stands in both sides may be any function of its arguments: then the statement says
nothing of it. This is so if nothing is left but the order and the brackets of sums and products.
"""

import ast
from collections import Counter

from symderiv_ledger.claims.statement import Relation

__all__ = ["same_formula"]


def same_formula(statement: Relation) -> bool:
    """Whether all sides of an equation are the same text up to order and brackets."""
    if not all(isinstance(relation, ast.Eq) for relation in statement.relations):
        return False
    return len({_text(side) for side in statement.sides}) == 1


def _text(node: ast.expr) -> str:
    """The formula in one order."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _listed("sum", _terms(node, 1))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _listed("product", _factors(node, 1))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _listed("sum", _terms(node, 1))
    if isinstance(node, ast.BinOp):
        return f"{type(node.op).__name__}({_text(node.left)}, {_text(node.right)})"
    if isinstance(node, ast.Call):
        return f"{ast.unparse(node.func)}({', '.join(_text(part) for part in node.args)})"
    if isinstance(node, ast.Tuple):
        return f"({', '.join(_text(part) for part in node.elts)})"
    return ast.unparse(node)


def _listed(kind: str, parts: Counter[str]) -> str:
    return f"{kind}({', '.join(f'{count} {text}' for text, count in sorted(parts.items()))})"


def _terms(node: ast.expr, sign: int) -> Counter[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        other = sign if isinstance(node.op, ast.Add) else -sign
        return _added(_terms(node.left, sign), _terms(node.right, other))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _terms(node.operand, -sign)
    return Counter({_text(node): sign})


def _factors(node: ast.expr, power: int) -> Counter[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        other = power if isinstance(node.op, ast.Mult) else -power
        return _added(_factors(node.left, power), _factors(node.right, other))
    if isinstance(node, ast.Constant) and node.value == 1:
        return Counter()
    return Counter({_text(node): power})


def _added(one: Counter[str], other: Counter[str]) -> Counter[str]:
    """Both, with what cancels left out."""
    both = {key: one[key] + other[key] for key in {*one, *other}}
    return Counter({key: count for key, count in both.items() if count})
