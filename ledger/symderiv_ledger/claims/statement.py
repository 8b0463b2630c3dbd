"""Claims as text that can be computed: ``dR[i, n] == eta*Sum(A[i, j]*R[j, n], (j, 1, K))``.

A statement is read into Python's syntax tree through an allow-list and is never run as Python, so
that the statements of a user's file are data. Because the tree is exactly what was written, it can
be printed back, mutated, compared with another one and evaluated in any arithmetic.

The language: ``== < <= > >=`` (chains as in print: ``a == b == c``), ``+ - * / **``, ``@`` between
matrices, names, matrices ``Matrix(2, 2, a, b, c, d)`` and columns ``Vector(a, b)``,
entries ``Q[i, j]`` with the paper's own index ranges, functions, and with bound
names ``Sum(term, (i, 1, L))``, ``Product``, ``Integral(f, (x, a, b))``, ``Derivative(f, x)``. Sums
take conditions after their ranges: ``Sum(T[n, m], (m, 1, M), m != n)``. ``If(condition, a, b)``
chooses.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Final, NamedTuple, TypeVar

from symderiv.foundation.errors import FormulaError

#: Functions whose first argument has names that the others bind.
BINDERS: Final = ("Sum", "Product", "Integral", "Derivative")

MAX_LENGTH: Final = 6000
MAX_NODES: Final = 3000
MAX_INTEGER: Final = 10**30

_OPERATORS: Final = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.MatMult),
    *(ast.USub, ast.UAdd),
)
_RELATIONS: Final = (ast.Eq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONDITIONS: Final = (*_RELATIONS, ast.NotEq)


class Relation:
    """One relation, or a chain of them, between expressions, in the language of this module.

    Raises:
        FormulaError: The text is not a statement; the message names what is not understood.
    """

    def __init__(self, text: str) -> None:
        tree = read_tree(text)
        if not isinstance(tree, ast.Compare):
            raise FormulaError("a statement is a relation such as a == b; there is none")
        _check(tree, text)
        for relation in tree.ops:
            if not isinstance(relation, _RELATIONS):
                raise FormulaError("a statement's relations are ==, <, <=, > and >=")
        self.tree = tree

    @classmethod
    def of_tree(cls, tree: ast.Compare) -> Relation:
        """Return a statement from a tree that came out of another statement."""
        made = cls.__new__(cls)
        made.tree = tree
        return made

    @functools.cached_property
    def text(self) -> str:
        """The statement, written in one standard way."""
        return ast.unparse(self.tree)

    @property
    def sides(self) -> list[ast.expr]:
        """The expressions from left to right."""
        return [self.tree.left, *self.tree.comparators]

    @property
    def relations(self) -> list[ast.cmpop]:
        """The relations between them, one fewer."""
        return self.tree.ops

    def __str__(self) -> str:
        return self.text


_Node = TypeVar("_Node", bound=ast.AST)


def copied(node: _Node, old: ast.AST | None = None, new: ast.AST | None = None) -> _Node:
    """Return a copy of a tree without positions in a text, with ``new`` in place of its node
    ``old``; operators, never changed, are shared.

    Statements are copied once per mutant, and this is ten times as fast as a deep copy.
    """
    if not node._fields:
        return node

    def of(value: Any) -> Any:
        if isinstance(value, list):
            return [of(one) for one in value]
        if value is old and new is not None:
            return copied(new)
        return copied(value, old, new) if isinstance(value, ast.AST) else value

    return type(node)(**{name: of(getattr(node, name, None)) for name in node._fields})


def name_of(node: ast.expr) -> str:
    """Return the name of a node that is a name, a call or an entry."""
    if isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    assert isinstance(node, ast.Name), ast.unparse(node)
    return node.id


def parts_of(node: ast.expr) -> list[ast.expr]:
    """Return the parts of a tuple; any other node is its own only part."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


class Range(NamedTuple):
    """An index of a statement, with its first and last value: ``i = 1..K``."""

    name: str
    first: ast.expr
    last: ast.expr

    def __str__(self) -> str:
        return f"{self.name} = {ast.unparse(self.first)}..{ast.unparse(self.last)}"


def bounds_of(node: ast.Call) -> list[Range]:
    """Return the names that a sum or an integral binds, each with its first and last value."""
    bounds = []
    for part in node.args[1:]:
        match part:
            case ast.Tuple(elts=[ast.Name(id=name), first, last]):
                bounds.append(Range(name, first, last))
    return bounds


#: Return a statement from its text, read once.
parse_statement: Final = functools.lru_cache(maxsize=4096)(Relation)


def parse_ranges(text: str) -> tuple[Range, ...]:
    """Return free indices from text such as ``"i = 1..K, l = 0..L-1"``; none from an empty text."""
    ranges = []
    for piece in filter(None, (part.strip() for part in text.split(","))):
        name, equals, bounds = piece.partition("=")
        first, dots, last = bounds.partition("..")
        if not equals or not dots or not name.strip().isidentifier():
            raise FormulaError(f"a range is written i = 1..K, not {piece!r}")
        ends = [read_tree(end) for end in (first, last)]
        for tree, end in zip(ends, (first, last), strict=True):
            _check(tree, end)
        ranges.append(Range(name.strip(), *ends))
    return tuple(ranges)


def read_tree(text: str) -> ast.expr:
    """Return the syntax tree of an unchecked text; white space does not count."""
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            f"a statement has at most {MAX_LENGTH} characters, but this one has {len(text)}"
        )
    try:
        return ast.parse(" ".join(text.split()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" at character {error.offset}" if isinstance(error, SyntaxError) else ""
        raise FormulaError(f"the statement cannot be read{where}: {text.strip()}") from None


def _check(tree: ast.expr, text: str) -> None:
    for count, node in enumerate(ast.walk(tree)):
        if count > MAX_NODES:
            raise FormulaError(f"a statement has at most {MAX_NODES} parts")
        reason = _refused(node)
        if reason:
            raise FormulaError(f"{reason} in the statement {text.strip()}")


def _refused(node: ast.AST) -> str:
    """Return what is wrong with a node; empty if it belongs to the language."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return "a number is too large" if abs(value) > MAX_INTEGER else ""
        case ast.Constant(value=value):
            return f"{value!r} is not a number"
        case ast.BinOp(op=operator) | ast.UnaryOp(op=operator):
            return "" if isinstance(operator, _OPERATORS) else "an unknown operator"
        case ast.Compare(ops=ops):
            known = all(isinstance(op, _CONDITIONS) for op in ops)
            return "" if known else "an unknown relation"
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return _refused_binder(name, node.args) if name in BINDERS else ""
        case ast.Call():
            return "a call that is not f(x)"
        case ast.Subscript(value=value):
            return "" if isinstance(value, ast.Name) else "an index on something without a name"
        case ast.Name(id=name):
            return f"the name {name}" if name.startswith("_") else ""
        case ast.Tuple() | ast.expr_context() | ast.operator() | ast.unaryop() | ast.cmpop():
            return ""
    return f"{type(node).__name__} is not understood"


def _refused_binder(name: str, arguments: list[ast.expr]) -> str:
    if len(arguments) < 2:
        return f"{name} without a range"
    if name == "Derivative":
        return "" if isinstance(arguments[1], ast.Name) else "Derivative(f, x) needs a name x"
    for bound in arguments[1:]:
        match bound:
            case ast.Compare() | ast.Tuple(elts=[ast.Name(), _, _]):
                continue
            case ast.Tuple(elts=[_, _, _]):
                return f"a range of {name} binds a name"
        return f"a range of {name} is written (i, first, last)"
    return ""
