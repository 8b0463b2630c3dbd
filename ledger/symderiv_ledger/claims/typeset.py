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
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
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
_AROUND: Final = {
    "sqrt": r"\sqrt{%s}",
    "abs": r"\left|%s\right|",
    "delta": r"\delta_{%s}",
}
_ABOVE: Final = {"transpose": "T", "inverse": "{-1}"}
_ACCENTS: Final = {"tilde": r"\tilde", "hat": r"\hat", "bar": r"\bar"}
# operators that bind more tightly have larger numbers
_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4


def statement_latex(statement: Relation) -> str:
    """Return a statement with its relations as LaTeX."""
    return expression_latex(statement.tree)


def expression_latex(node: ast.AST) -> str:
    """Return an expression of the statement language as LaTeX."""
    return _latex(node)[0]


def _latex(node: ast.AST) -> tuple[str, int]:
    if isinstance(node, ast.Constant):
        return str(node.value), _ATOM
    if isinstance(node, ast.Name):
        return _name(node.id), _ATOM
    if isinstance(node, ast.UnaryOp):
        sign = "-" if isinstance(node.op, ast.USub) else "+"
        return sign + _within(node.operand, _PRODUCT), _SUM
    if isinstance(node, ast.BinOp):
        return _binary(node)
    if isinstance(node, ast.Subscript):
        return _entry(name_of(node), node.slice), _ATOM
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.Compare):
        pieces = [expression_latex(node.left)]
        for relation, side in zip(node.ops, node.comparators, strict=True):
            pieces += [_RELATIONS[type(relation)], expression_latex(side)]
        return " ".join(pieces), 0
    return rf"\text{{{ast.unparse(node)}}}", _ATOM


def _within(node: ast.AST, level: int) -> str:
    text, own = _latex(node)
    return text if own >= level else rf"\left({text}\right)"


def _binary(node: ast.BinOp) -> tuple[str, int]:
    if isinstance(node.op, ast.Div):
        top, bottom = expression_latex(node.left), expression_latex(node.right)
        return rf"\frac{{{top}}}{{{bottom}}}", _POWER
    if isinstance(node.op, ast.Pow):
        base, level = _latex(node.left)
        base = base if level >= _ATOM else rf"\left({base}\right)"
        return f"{{{base}}}^{{{expression_latex(node.right)}}}", _POWER
    if isinstance(node.op, ast.Add | ast.Sub):
        sign = "+" if isinstance(node.op, ast.Add) else "-"
        right = _within(node.right, _SUM if sign == "+" else _PRODUCT)
        return f"{_within(node.left, _SUM)} {sign} {right}", _SUM
    # a sign in front of a product needs no brackets
    first = isinstance(node.left, ast.UnaryOp)
    left = expression_latex(node.left) if first else _within(node.left, _PRODUCT)
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
    letter, shown = _name(name), ",".join(map(expression_latex, parts_of(index)))
    return rf"{letter}\left[{shown}\right]" if "_" in letter else f"{{{letter}}}_{{{shown}}}"


def _call(node: ast.Call) -> tuple[str, int]:
    name = name_of(node)
    if name in ("Sum", "Product"):
        return _big(r"\sum" if name == "Sum" else r"\prod", node), _PRODUCT
    if name == "Integral":
        text = _within(node.args[0], _PRODUCT)
        for bound, *ends in bounds_of(node):
            first, last = map(expression_latex, ends)
            text = rf"\int_{{{first}}}^{{{last}}} {text}\, d{_name(bound)}"
        return text, _PRODUCT
    if name == "Derivative":
        order = f"^{expression_latex(node.args[2])}" if len(node.args) > 2 else ""
        variable = expression_latex(node.args[1])
        return rf"\frac{{d{order}}}{{d{variable}{order}}} {_within(node.args[0], _PRODUCT)}", 2
    if name == "If":
        condition, yes, no = (expression_latex(part) for part in node.args)
        cases = rf"{yes} & {condition} \\ {no} & \text{{else}}"
        return rf"\begin{{cases}} {cases} \end{{cases}}", _ATOM
    if name in ("Matrix", "Vector"):
        return _matrix(name, node.args), _ATOM
    arguments = ", ".join(expression_latex(argument) for argument in node.args)
    if name in _AROUND:
        return _AROUND[name] % arguments, _ATOM
    if name in _ABOVE:
        return f"{{{_within(node.args[0], _ATOM)}}}^{_ABOVE[name]}", _POWER
    if name == "kron":
        # bound as weakly as a sum: as a factor it needs brackets
        return r" \otimes ".join(_within(part, _ATOM) for part in node.args), _SUM
    shown = _FUNCTIONS.get(name, _name(name))
    return rf"{shown}\left({arguments}\right)", _ATOM


def _matrix(name: str, arguments: Sequence[ast.expr]) -> str:
    columns, entries = 1, arguments
    if name == "Matrix" and len(arguments) > 2 and isinstance(arguments[1], ast.Constant):
        columns, entries = int(str(arguments[1].value)), arguments[2:]
    shown = [expression_latex(entry) for entry in entries]
    rows = [" & ".join(shown[k : k + columns]) for k in range(0, len(shown), max(columns, 1))]
    return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"


def _big(symbol: str, node: ast.Call) -> str:
    text = _within(node.args[0], _PRODUCT)
    conditions = [expression_latex(part) for part in node.args[1:] if isinstance(part, ast.Compare)]
    for name, *ends in reversed(bounds_of(node)):
        first, last = map(expression_latex, ends)
        below = ",\\ ".join([f"{_name(name)}={first}", *conditions])
        text = rf"{symbol}_{{{below}}}^{{{last}}} {text}"
        conditions = []
    return text
