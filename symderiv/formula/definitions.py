"""Replacement of shorthand functions (Phi, relu, gelu, ...) by their definitions."""

from __future__ import annotations

from functools import cache
from typing import Final

from symderiv.formula.known_functions import FUNCTIONS
from symderiv.formula.reader import Apply, Name, Node, Number, read
from symderiv.foundation.errors import FormulaError

MAX_SIZE: Final = 3000


def expanded(node: Node) -> Node:
    """Return the formula without shorthand functions.

    Raises:
        FormulaError: The result would have more than 3000 pieces: a shorthand that uses its
            argument twice doubles the formula each time it is nested.
    """
    return _expanded(node)[0]


def _expanded(node: Node) -> tuple[Node, int]:
    if not isinstance(node, Apply):
        return node, 1
    pairs = [_expanded(argument) for argument in node.arguments]
    arguments = tuple(argument for argument, _ in pairs)
    function = FUNCTIONS.get(node.operation)
    if function is not None and function.definition is not None:
        body = _definition(function.definition)
        uses, rest = _count(body)
        size = uses * pairs[0][1] + rest
        result = _substituted(body, arguments[0])
    else:
        size = 1 + sum(pair[1] for pair in pairs)
        result = Apply(node.operation, arguments)
    # arguments are shared, not copied, so nothing large exists before a formula is refused
    if size > MAX_SIZE:
        raise FormulaError(f"the formula has more than {MAX_SIZE} pieces when written out")
    return result, size


@cache
def _definition(text: str) -> Node:
    return read(text, ("x",))


def _count(node: Node) -> tuple[int, int]:
    """Return how often ``x`` occurs in a definition, and how many other pieces it has."""
    if isinstance(node, Name) and node.name == "x":
        return 1, 0
    if not isinstance(node, Apply):
        return 0, 1
    counts = [_count(argument) for argument in node.arguments]
    return sum(uses for uses, _ in counts), 1 + sum(rest for _, rest in counts)


def _substituted(body: Node, argument: Node) -> Node:
    match body:
        case Name(name="x"):
            return argument
        case Apply(operation=operation, arguments=arguments):
            return Apply(operation, tuple(_substituted(a, argument) for a in arguments))
        case Name() | Number():
            return body
