"""Statements with abbreviations, as in a paper's file, and their full form.

A file may define once what many statements share: names for parts of expressions (``[let]``), the
ranges of indices (``[indices]``), the indices of quantities (``[shapes]``, with which ``Q == P`` is
entry by entry), and it may give a correction as changes of the print. In the full form, every name
stands for itself and every sum has its range; this form is tried, mutated and shown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from symderiv.foundation.errors import FormulaError
from symderiv_ledger.claims.statement import (
    BINDERS,
    MAX_NODES,
    Range,
    Relation,
    bounds_of,
    copied,
    name_of,
    parse_ranges,
    read_tree,
)

#: Depth to which abbreviations may use each other.
MAX_DEPTH: Final = 20
#: Functions of numbers, whose arguments are no indices.
FUNCTIONS: Final = (
    *("Gamma", "abs", "acos", "asin", "atan", "cos", "erf", "exp", "log", "sin", "sqrt", "zeta"),
)

Indices = Mapping[str, Range]


class _Meaning(NamedTuple):
    parameters: tuple[str, ...]
    body: ast.expr
    nodes: int


@dataclass
class Abbreviations:
    """Names for parts of statements, e.g. ``C_k = A[k, k]/B`` or ``own(k) = Q[k, k]*h(k)``.

    The body replaces the name as a whole, as if it stood in brackets.
    """

    meanings: dict[str, _Meaning] = field(default_factory=dict)
    shapes: dict[str, ast.expr] = field(default_factory=dict)

    def shape(self, name: str, entry: str) -> None:
        """Say which entry a name alone stands for: ``Q`` for ``Q[i, j]`` if the entry is "i, j"."""
        if not isinstance(entry, str) or not name.isidentifier():
            raise FormulaError(f"shapes are given as Q = 'i, j', not {name} = {entry!r}")
        self.shapes[name] = read_tree(f"{name}[{entry}]")

    def define(self, name: str, body: str, indices: Indices) -> None:
        """Define one more abbreviation, ``"own"`` or ``"own(k, l)"``, which may use the others.

        Sums in it that give no ranges have those of ``indices``.
        """
        head = read_tree(name)
        parts = [head.func, *head.args] if isinstance(head, ast.Call) else [head]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if len(names) < len(parts):
            raise FormulaError(f"an abbreviation is called name or name(a, b), not {name!r}")
        if names[0] in self.meanings:
            raise FormulaError(f"{names[0]} is given twice")
        shapes = {key: self.shapes[key] for key in self.shapes if key not in names}
        tree = _Full({}, indices, shapes).visit(read_tree(body))
        self.meanings[names[0]] = _Meaning(tuple(names[1:]), tree, sum(1 for _ in ast.walk(tree)))

    def statement(self, text: str, indices: Indices) -> str:
        """Return a statement in full; sums without ranges get those of ``indices``."""
        tree = _Full(self.meanings, indices, self.shapes).visit(read_tree(text))
        return Relation(ast.unparse(tree)).text

    def called(self, text: str) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return the abbreviations that a statement needs, and those that are one of its sides.

        The first set includes abbreviations called by others. The first side of the statement,
        which the others are said to equal, does not count.
        """
        tree = read_tree(text)
        sides = tree.comparators if isinstance(tree, ast.Compare) else []
        whole = [name_of(side) for side in sides if isinstance(side, ast.Call | ast.Name)]
        return frozenset(self._called(tree)), tuple(n for n in whole if n in self.meanings)

    def _called(self, tree: ast.expr) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in self.meanings:
                yield node.id
                yield from self._called(self.meanings[node.id].body)


class _Full(ast.NodeTransformer):
    def __init__(
        self, meanings: Mapping[str, _Meaning], indices: Indices, shapes: Mapping[str, ast.expr]
    ) -> None:
        self.meanings, self.indices, self.shapes = meanings, indices, shapes
        self.nodes = self.depth = 0

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.shapes:
            return copied(self.shapes[node.id])
        return self._meant(node, node.id, [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if not isinstance(node.func, ast.Name):
            return node
        name = node.func.id
        if name in ("Sum", "Product"):
            node.args[1:] = [self._range(part) for part in node.args[1:]]
        node.args = [self.visit(argument) for argument in node.args]
        return self._meant(node, name, node.args)

    def _range(self, part: ast.expr) -> ast.expr:
        """Return a known index ``k`` with its range, as ``(k, 1, K)``; else the part itself."""
        known = self.indices.get(part.id) if isinstance(part, ast.Name) else None
        if known is None:
            return part
        bounds = (copied(known.first), copied(known.last))
        return ast.Tuple([ast.Name(known.name, ast.Load()), *bounds], ast.Load())

    def _meant(self, node: ast.expr, name: str, arguments: list[ast.expr]) -> ast.expr:
        meaning = self.meanings.get(name)
        if meaning is None:
            return node
        if len(arguments) != len(meaning.parameters):
            raise FormulaError(f"the abbreviation {name} takes {len(meaning.parameters)} arguments")
        self.nodes += meaning.nodes
        if self.nodes > MAX_NODES or self.depth >= MAX_DEPTH:
            raise FormulaError(f"with the abbreviation {name} in full, the statement is too long")
        self.depth += 1
        shapes = self.shapes
        self.shapes = {key: shapes[key] for key in shapes if key not in meaning.parameters}
        body = self.visit(copied(meaning.body))
        self.shapes = shapes
        self.depth -= 1
        put: ast.expr = _Put(dict(zip(meaning.parameters, arguments, strict=True))).visit(body)
        return put


class _Put(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copied(self.values.get(node.id, node))


def replaced(text: str, changes: Mapping[str, str]) -> str:
    """Return a statement as in the file, with printed parts replaced by the true ones at once.

    A part is replaced wherever it occurs; white space does not count.
    """
    text = " ".join(text.split())
    wanted = {" ".join(old.split()): new for old, new in changes.items()}
    for old in wanted:
        if not re.search(_whole(old), text):
            raise FormulaError(f"{old!r}, which is to be corrected, is not in {text}")
    pattern = "|".join(_whole(old) for old in sorted(wanted, key=len, reverse=True))
    return re.sub(pattern, lambda found: wanted[found[0]], text) if wanted else text


def _whole(text: str) -> str:
    """Return a pattern for the text where it does not begin or end inside of a name or number."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w$", text) else ""
    return before + re.escape(text) + after


def free_ranges(text: str, indices: Indices) -> str:
    """Return the ranges of the indices that a statement leaves free, in the order of ``indices``.

    An index counts where it stands in brackets, or alone as an argument of a quantity (``v(k)``).
    """
    free = set(_free(read_tree(text), frozenset(), False))
    return ", ".join(str(known) for name, known in indices.items() if name in free)


def _free(node: ast.AST, bound: frozenset[str], is_index: bool) -> Iterator[str]:
    if isinstance(node, ast.Name):
        if is_index and node.id not in bound:
            yield node.id
    elif isinstance(node, ast.Subscript):
        yield from _free(node.slice, bound, True)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        own = {name for name, _, _ in bounds_of(node)}
        quantity = node.func.id not in (*BINDERS, *FUNCTIONS)
        for argument in node.args:
            alone = quantity and isinstance(argument, ast.Name)
            inside = is_index or alone or isinstance(argument, ast.Tuple)
            yield from _free(argument, bound | own, inside)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _free(child, bound, is_index)


def quantities(tree: ast.AST) -> set[str]:
    """Return all names in a statement but functions of numbers and the indices that it binds."""
    nodes = list(ast.walk(tree))
    binders = [n for n in nodes if isinstance(n, ast.Call) and name_of(n) in BINDERS]
    bound = {name for node in binders for name, _, _ in bounds_of(node)}
    return {n.id for n in nodes if isinstance(n, ast.Name)} - bound - {*BINDERS, *FUNCTIONS}


def read_indices(table: Mapping[str, str]) -> dict[str, Range]:
    """Return ranges from a table such as ``{k = "1..K"}``, or ``{"i, k" = "1..K"}`` for both."""
    ranges: dict[str, Range] = {}
    for names, bounds in table.items():
        for name in re.split(r"\s*,\s*", names):
            (ranges[name],) = parse_ranges(f"{name} = {bounds}")
    return ranges
