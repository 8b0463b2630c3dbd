"""Exported Julia without Julia: read by tree-sitter's grammar of the language."""

from collections.abc import Iterator

import tree_sitter_julia
from tree_sitter import Language, Node, Parser

_PARSER = Parser(Language(tree_sitter_julia.language()))

#: Names of Julia itself that exports use.
BASE = frozenset(
    """
    Float64 Val SArray SVector Tuple pi size sum exp sin cos tan sinh cosh tanh asin acos atan asinh
    log sqrt abs min max floor zero sign vcat vec println abspath PROGRAM_FILE __FILE__
    """.split()  # noqa: SIM905
)


def errors(text: str) -> list[str]:
    """Places that the grammar does not know, with their lines."""
    return [
        f"line {node.start_point[0] + 1}: {_text(node)[:60]!r}"
        for node in _nodes(_tree(text))
        if node.is_error or node.is_missing
    ]


def unknown_names(text: str) -> set[str]:
    """Names that are used and neither defined in the file, nor imported, nor of Julia itself."""
    used, defined = set(), set(BASE)
    for node in _nodes(_tree(text)):
        if node.type != "identifier":
            continue
        (defined if _defines(node) else used).add(_text(node))
    return used - defined


def _defines(node: Node) -> bool:
    """Whether an identifier is given a meaning where it stands; scopes are not told apart."""
    parent = node.parent
    while parent is not None and parent.type in ("open_tuple", "tuple_expression"):
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type in ("assignment", "for_binding", "named_field"):
        return parent.children[0] == node
    if parent.type in ("using_statement", "selected_import", "where_expression"):
        return True
    if parent.type in ("typed_expression", "unary_typed_expression", "curly_expression"):
        return parent.parent is not None and _in_head(parent)
    if parent.type in ("argument_list", "call_expression"):
        return _in_head(parent)
    return False


def _in_head(node: Node) -> bool:
    """Whether it stands in the first line of a function."""
    above: Node | None = node
    while above is not None and above.type != "signature":
        above = above.parent
    return above is not None


def _tree(text: str) -> Node:
    return _PARSER.parse(text.encode()).root_node


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _text(node: Node) -> str:
    assert node.text is not None
    return node.text.decode()
