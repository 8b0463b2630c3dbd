"""Functions given as text, for a generated module: of many numbers, and of an extension."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.extension import Library
from symderiv_codegen.printers.lines import Bracket, Text, statement

ELEMENTARY = "elementary.py"
"""The file beside this one with functions of many numbers at once."""


def pasted(
    names: Iterable[str],
    library: Library,
    decorator: str,
    given: Iterable[str] = (),
    of_many: str = "",
    instead: str = "",
) -> list[str]:
    """Top-level definitions that the named functions need, in the order of their texts.

    Functions get the decorator, functions of many numbers the one ``of_many``; annotations are
    dropped, comments kept. Names that are ``given`` are defined by the module itself. Functions of
    the text ``instead`` stand in the places of others of their names.
    """
    sources = [(text, of_many) for text in (_elementary(), *library.many)]
    sources += [(text, decorator) for text in library.texts]
    return _definitions(sources, set(names), set(given), (instead, decorator))


def filled_template(
    texts: Iterable[str],
    template: str,
    name: str,
    names: Mapping[str, str],
    doc: str,
    decorator: str,
) -> tuple[str, set[str]]:
    """Return a function of some texts under another name, and the names that it uses.

    Args:
        texts: Where to look for it.
        template: Its name there.
        name: Its name in the module.
        names: Names that it uses, and what stands for them in the module.
        doc: Its docstring, one line.
        decorator: The line in front.
    """
    for text in texts:
        for node in _statements(text):
            if isinstance(node, ast.FunctionDef) and node.name == template:
                assert node.end_lineno is not None
                lines = "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])
                plain = _without_annotations(lines, node)
                for old, new in {template: name, **names}.items():
                    plain = re.sub(rf"\b{old}\b", new, plain)
                plain = re.sub(r'"""[^"]*"""', lambda _: f'"""{doc}"""', plain, count=1)
                used = set(_names_used(node)) - set(names)
                return f"{decorator}\n{plain}" if decorator else plain, used
    raise LookupError(template)


@cache
def _statements(text: str) -> list[ast.stmt]:
    """Return what stands in a text, parsed once; nobody changes it."""
    return ast.parse(text).body


@cache
def _elementary() -> str:
    return resources.files(__package__).joinpath(ELEMENTARY).read_text(encoding="utf-8")


def _definitions(
    sources: Iterable[tuple[str, str]],
    wanted: set[str],
    given: set[str],
    instead: tuple[str, str] = ("", ""),
) -> list[str]:
    """Return definitions of texts, each text with the decorator of its functions.

    Functions of the text ``instead`` stand in the places of others of their names; it may have
    more of them.
    """
    source, decorator = instead
    others = {n.name: n for n in _statements(source) if isinstance(n, ast.FunctionDef)}
    nodes: dict[str, ast.stmt] = {}
    lines: dict[ast.stmt, list[str]] = {}
    decorators: dict[ast.stmt, str] = {}
    for other in others.values():
        lines[other], decorators[other] = source.splitlines(), decorator
    for source, decorator in sources:
        split = source.splitlines()
        for found in _statements(source):
            node = others.get(found.name, found) if isinstance(found, ast.FunctionDef) else found
            lines.setdefault(node, split)
            decorators.setdefault(node, decorator)
            names = [name for name in _names_defined(node) if name not in given]
            if clash := sorted(set(names) & set(nodes)):
                raise ProgramError(f"two texts define {clash[0]!r}; rename one of them")
            nodes |= dict.fromkeys(names, node)
    nodes |= {name: node for name, node in others.items() if name not in nodes}
    needed: set[str] = set()
    pending = sorted(wanted & set(nodes))
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        used = _names_used(nodes[name])
        pending += sorted(used & set(nodes) - needed)
    constants: list[str] = []
    functions: list[str] = []
    for node in dict.fromkeys(nodes[name] for name in nodes if name in needed):
        assert node.end_lineno is not None
        text = "\n".join(lines[node][node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            plain = _without_annotations(text, node)
            functions.append(f"{decorators[node]}\n{plain}" if decorators[node] else plain)
        else:
            constants.append(text)
    return (["\n".join(constants)] if constants else []) + functions


@cache
def _names_used(node: ast.stmt) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


def _names_defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


@cache
def _without_annotations(text: str, node: ast.FunctionDef) -> str:
    """Return the function with a plain head; types belong to the file it comes from."""
    lines = text.splitlines()
    found = [inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef)]
    # From the last to the first, so that line numbers stay valid.
    for inner in sorted(found, key=lambda function: -function.lineno):
        names = tuple(Text(argument.arg) for argument in inner.args.args)
        head = statement(f"def {inner.name}", Bracket("(", names, "):"), inner.col_offset)
        start, end = inner.lineno - node.lineno, inner.body[0].lineno - node.lineno
        lines[start:end] = head.splitlines()
    return "\n".join(lines)
