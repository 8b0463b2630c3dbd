"""Functions of the modules beside this one, as text for a generated module."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from importlib import resources

from symderiv_codegen.layout import Bracket, Text, statement

FILES = ("sign_mean4.py", "fields.py", "sign_mean4_mpmath.py")
"""In the order in which their definitions are pasted; each may use the ones before."""


def pasted(names: Iterable[str], decorator: str) -> list[str]:
    """Top-level definitions that the named functions need, in the order of their files.

    Functions get the decorator; annotations are dropped, comments kept.
    """
    texts = [
        resources.files(__package__).joinpath(file).read_text(encoding="utf-8") for file in FILES
    ]
    return _definitions(texts, set(names), decorator)


def _definitions(sources: Iterable[str], wanted: set[str], decorator: str) -> list[str]:
    nodes: dict[str, ast.stmt] = {}
    lines: dict[ast.stmt, list[str]] = {}
    for source in sources:
        for node in ast.parse(source).body:
            lines[node] = source.splitlines()
            nodes |= dict.fromkeys(_names_defined(node), node)
    needed: set[str] = set()
    pending = sorted(wanted & set(nodes))
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        used = {n.id for n in ast.walk(nodes[name]) if isinstance(n, ast.Name)}
        pending += sorted(used & set(nodes) - needed)
    constants: list[str] = []
    functions: list[str] = []
    for node in dict.fromkeys(nodes[name] for name in nodes if name in needed):
        assert node.end_lineno is not None
        text = "\n".join(lines[node][node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            plain = _without_annotations(text, node)
            functions.append(f"{decorator}\n{plain}" if decorator else plain)
        else:
            constants.append(text)
    return (["\n".join(constants)] if constants else []) + functions


def _names_defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _without_annotations(text: str, node: ast.FunctionDef) -> str:
    """The function with a plain head; types belong to the file it comes from."""
    lines = text.splitlines()
    found = [inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef)]
    # From the last to the first, so that line numbers stay valid.
    for inner in sorted(found, key=lambda function: -function.lineno):
        names = tuple(Text(argument.arg) for argument in inner.args.args)
        head = statement(f"def {inner.name}", Bracket("(", names, "):"), inner.col_offset)
        start, end = inner.lineno - node.lineno, inner.body[0].lineno - node.lineno
        lines[start:end] = head.splitlines()
    return "\n".join(lines)
