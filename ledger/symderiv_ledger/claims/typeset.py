"""Statements as LaTeX, to stand beside the paper's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from symderiv_ledger.claims.statement import Relation, bounds_of, name_of, parts_of

_GREEK: Final = re.compile(
    "alpha|beta|[Gg]amma|[Dd]elta|epsilon|zeta|eta|[Tt]heta|iota|kappa|[Ll]ambda|mu|nu|[Xx]i|[Pp]i|"
    "rho|[Ss]igma|tau|[Uu]psilon|[Pp]hi|chi|[Pp]si|[Oo]mega"
)
_FUNCTIONS: Final = {
    **{name: f"\\{name}" for name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "det")},
    **{name: f"\\arc{name[1:]}" for name in ("asin", "acos", "atan")},
    "log": r"\ln",
    "Max": r"\max",
    "Min": r"\min",
    "Gamma": r"\Gamma",
    "zeta": r"\zeta",
}
_RELATIONS: Final = {
    ast.Eq: "=",
    ast.NotEq: r"\ne",
    ast.Lt: "<",
    ast.LtE: r"\le",
    ast.Gt: ">",
    ast.GtE: r"\ge",
}
_AROUND: Final = {"sqrt": r"\sqrt{%s}", "abs": r"\left|%s\right|", "delta": r"\delta_{%s}"}
_ABOVE: Final = {"transpose": "T", "inverse": "{-1}"}
_ACCENTS: Final = {"tilde": r"\tilde", "hat": r"\hat", "bar": r"\bar"}
# operators that bind more tightly have larger numbers
_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4


def statement_latex(statement: Relation) -> str:
    """Return a statement with its relations as LaTeX."""
    return _text(statement.tree)


def _text(node: ast.AST) -> str:
    return _latex(node)[0]


def _latex(node: ast.AST) -> tuple[str, int]:
    """Return a part of a statement, and how tightly it binds."""
    match node:
        case ast.Constant(value=value):
            return str(value), _ATOM
        case ast.Name(id=name):
            return _name(name), _ATOM
        case ast.UnaryOp(op=op, operand=operand):
            return ("-" if isinstance(op, ast.USub) else "+") + _within(operand, _PRODUCT), _SUM
        case ast.BinOp():
            return _binary(node)
        case ast.Subscript(slice=index):
            return _entry(name_of(node), index), _ATOM
        case ast.Call(args=arguments):
            return _call(name_of(node), node, arguments)
        case ast.Compare(left=left, ops=ops, comparators=sides):
            pairs = zip(ops, sides, strict=True)
            pieces = [f"{_RELATIONS[type(op)]} {_text(side)}" for op, side in pairs]
            return " ".join([_text(left), *pieces]), 0
    return rf"\text{{{ast.unparse(node)}}}", _ATOM


def _within(node: ast.AST, level: int) -> str:
    text, own = _latex(node)
    return text if own >= level else rf"\left({text}\right)"


def _binary(node: ast.BinOp) -> tuple[str, int]:
    match node.op:
        case ast.Div():
            return rf"\frac{{{_text(node.left)}}}{{{_text(node.right)}}}", _POWER
        case ast.Pow():
            return f"{{{_within(node.left, _ATOM)}}}^{{{_text(node.right)}}}", _POWER
        case ast.Add():
            return f"{_within(node.left, _SUM)} + {_within(node.right, _SUM)}", _SUM
        case ast.Sub():
            return f"{_within(node.left, _SUM)} - {_within(node.right, _PRODUCT)}", _SUM
    # a sign in front of a product needs no brackets
    left = _within(node.left, 0 if isinstance(node.left, ast.UnaryOp) else _PRODUCT)
    right = _within(node.right, _PRODUCT)
    between = r" \cdot " if re.match(r"\d|\\frac\{\d", right) else r"\, "
    return f"{left}{between}{right}", _PRODUCT


def _name(name: str) -> str:
    """Return a name as LaTeX: ``sigma_J`` has an index, ``tilde_lambda`` an accent."""
    head, *rest = [part for part in name.split("_") if part]
    if head in _ACCENTS and rest:
        return f"{_ACCENTS[head]}{{{_name('_'.join(rest))}}}"
    match = re.fullmatch(r"([A-Za-z]+?)(\d+)", head)
    if match and not rest:
        head, rest = match[1], [match[2]]
    shown = _letter(head)
    return f"{shown}_{{{','.join(_letter(part) for part in rest)}}}" if rest else shown


def _letter(text: str) -> str:
    if text == "oo":
        return r"\infty"
    if _GREEK.fullmatch(text):
        return f"\\{text}"
    if len(text) == 1 or text.isdigit():
        return text
    if re.fullmatch(r"d[A-Z]", text):
        return rf"\dot{{{text[1]}}}"
    return rf"\mathrm{{{text}}}"


def _entry(name: str, index: ast.expr) -> str:
    letter, shown = _name(name), ",".join(map(_text, parts_of(index)))
    return rf"{letter}\left[{shown}\right]" if "_" in letter else f"{{{letter}}}_{{{shown}}}"


def _call(name: str, node: ast.Call, arguments: Sequence[ast.expr]) -> tuple[str, int]:
    first = arguments[0] if arguments else node
    if name in ("Sum", "Product", "Integral"):
        return _bound(name, node), _PRODUCT
    if name == "Derivative":
        order = f"^{_text(arguments[2])}" if len(arguments) > 2 else ""
        variable = _text(arguments[1])
        fraction = rf"\frac{{d{order}}}{{d{variable}{order}}}"
        return f"{fraction} {_within(first, _PRODUCT)}", _PRODUCT
    if name == "If":
        condition, yes, no = map(_text, arguments)
        cases = rf"{yes} & {condition} \\ {no} & \text{{else}}"
        return rf"\begin{{cases}} {cases} \end{{cases}}", _ATOM
    if name in ("Matrix", "Vector"):
        return _matrix(name, arguments), _ATOM
    if name in _ABOVE:
        return f"{{{_within(first, _ATOM)}}}^{_ABOVE[name]}", _POWER
    if name == "kron":
        # bound as weakly as a sum: as a factor it needs brackets
        return r" \otimes ".join(_within(part, _ATOM) for part in arguments), _SUM
    shown = ", ".join(map(_text, arguments))
    if name in _AROUND:
        return _AROUND[name] % shown, _ATOM
    return rf"{_FUNCTIONS.get(name, _name(name))}\left({shown}\right)", _ATOM


def _matrix(name: str, arguments: Sequence[ast.expr]) -> str:
    columns, entries = 1, arguments
    if name == "Matrix" and len(arguments) > 2 and isinstance(arguments[1], ast.Constant):
        columns, entries = int(str(arguments[1].value)), arguments[2:]
    shown = [_text(entry) for entry in entries]
    rows = [" & ".join(shown[k : k + columns]) for k in range(0, len(shown), max(columns, 1))]
    return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"


def _bound(kind: str, node: ast.Call) -> str:
    """Return a sum, product or integral; conditions stand below the innermost sign."""
    text = _within(node.args[0], _PRODUCT)
    if kind == "Integral":
        for name, first, last in bounds_of(node):
            text = rf"\int_{{{_text(first)}}}^{{{_text(last)}}} {text}\, d{_name(name)}"
        return text
    symbol = r"\sum" if kind == "Sum" else r"\prod"
    conditions = [_text(part) for part in node.args[1:] if isinstance(part, ast.Compare)]
    for name, first, last in reversed(bounds_of(node)):
        below = ",\\ ".join([f"{_name(name)}={_text(first)}", *conditions])
        text = rf"{symbol}_{{{below}}}^{{{_text(last)}}} {text}"
        conditions = []
    return text
