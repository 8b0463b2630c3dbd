"""Functions given as text that generated modules paste: of many numbers, and of an extension."""

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

_DOCSTRING = re.compile(r'\A\s*r?"""[\s\S]*?"""')
_DEFINED = re.compile(r"^(?:def (\w+)|(\w+) = )", re.MULTILINE)


def pasted(
    names: Iterable[str],
    library: Library,
    decorator: str,
    given: Iterable[str] = (),
    of_many: str = "",
    instead: str = "",
) -> list[str]:
    """Return the definitions that the named functions need, in the order of their texts.

    Functions get the decorator, functions of many numbers the one ``of_many``; annotations are
    dropped, comments kept. Names that are ``given`` are defined by the module itself. Functions of
    the text ``instead`` replace those of the same names.
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
        texts: The texts, one of which contains it.
        template: Its name in the text.
        name: Its name in the module.
        names: Names in the text, with those that replace them in the module.
        doc: Its docstring, one line.
        decorator: The line before the function.
    """
    for text in texts:
        if template in _names_defined(text):
            node = _statements(text)[template]
            assert isinstance(node, ast.FunctionDef)
            plain = _without_annotations(_lines_of(text, node), node)
            for old, new in {template: name, **names}.items():
                plain = re.sub(rf"\b{old}\b", new, plain)
            plain = re.sub(r'"""[^"]*"""', lambda _: f'"""{doc}"""', plain, count=1)
            used = set(_names_used(node)) - set(names)
            return f"{decorator}\n{plain}" if decorator else plain, used
    raise LookupError(template)


@cache
def _names_defined(text: str) -> tuple[str, ...]:
    """Return the functions and constants of a text in order, without parsing it."""
    code = _DOCSTRING.sub("", text, count=1)
    return tuple(function or constant for function, constant in _DEFINED.findall(code))


@cache
def _statements(text: str) -> dict[str, ast.stmt]:
    """Return the definitions of a text by name; the text is parsed once, do not modify them."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            names = (target.id for target in node.targets if isinstance(target, ast.Name))
            found |= dict.fromkeys(names, node)
    return found


@cache
def _lines(text: str) -> list[str]:
    return text.splitlines()


def _lines_of(text: str, node: ast.stmt) -> str:
    return "\n".join(_lines(text)[node.lineno - 1 : node.end_lineno])


@cache
def _elementary() -> str:
    return resources.files(__package__).joinpath(ELEMENTARY).read_text(encoding="utf-8")


def _definitions(
    sources: Iterable[tuple[str, str]],
    wanted: set[str],
    given: set[str],
    instead: tuple[str, str] = ("", ""),
) -> list[str]:
    """Return the needed definitions of texts, each with the decorator of its text.

    Functions of the text ``instead`` replace those of the same names; it may define further ones.
    """
    others = dict.fromkeys(_names_defined(instead[0]), instead)
    places: dict[str, tuple[str, str]] = {}
    for source in sources:
        names = [name for name in _names_defined(source[0]) if name not in given]
        if clash := sorted(set(names) & set(places)):
            raise ProgramError(f"two texts define {clash[0]!r}; rename one of them")
        places |= {name: others.get(name, source) for name in names}
    places |= {name: place for name, place in others.items() if name not in places}
    needed: set[str] = set()
    pending = sorted(wanted & set(places))
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        used = _names_used(_statements(places[name][0])[name])
        pending += sorted(used & set(places) - needed)
    constants: list[str] = []
    functions: list[str] = []
    for name, (text, decorator) in places.items():
        if name not in needed:
            continue
        node = _statements(text)[name]
        lines = _lines_of(text, node)
        if isinstance(node, ast.FunctionDef):
            plain = _without_annotations(lines, node)
            functions.append(f"{decorator}\n{plain}" if decorator else plain)
        else:
            constants.append(lines)
    return (["\n".join(constants)] if constants else []) + functions


@cache
def _names_used(node: ast.stmt) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))


@cache
def _without_annotations(text: str, node: ast.FunctionDef) -> str:
    """Return the function without annotations, whose types belong to the file it comes from."""
    lines = text.splitlines()
    found = [inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef)]
    # From last to first, so that positions stay valid.
    for inner in sorted(found, key=lambda function: -function.lineno):
        names = tuple(Text(argument.arg) for argument in inner.args.args)
        head = statement(f"def {inner.name}", Bracket("(", names, "):"), inner.col_offset)
        start, end = inner.lineno - node.lineno, inner.body[0].lineno - node.lineno
        lines[start:end] = head.splitlines()
    return "\n".join(lines)
