"""The hash of a claim: whether its verdict is still one on the same claim.

It is a digest of

* the print: the displays that the claim is about, and whether they had to be reconstructed, or
  where it stands in public code;
* the claim: the statement in full, its correction, the ranges of its indices, which names are
  symmetric, equal or diagonal, and whether it is a definition, said in words or not checkable;
* the points: the reference with its keys, or the function with its arguments and the code that it
  and what it uses of its own package consist of, without comments and docstrings, so that another
  function of the same module may change;
* the rule with its tolerances;
* the engine's version.

It changes when one of these does, and only then: names, notes, regimes and the order of claims are
no part of it, nor are the sources of the engine between two versions.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from functools import lru_cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any, Final

from symderiv import __version__
from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Claim, ComparisonRule, Paper, Printed

LENGTH: Final = 12


def claim_hash(paper: Paper, claim: Claim) -> str:
    """Return the first 12 hexadecimal digits of the digest.

    Raises:
        InputError: The points' module has no source.
    """
    parts = _parts(paper, claim)
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=asdict)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _parts(paper: Paper, claim: Claim) -> dict[str, Any]:
    return {
        "engine": __version__,
        "print": _print(paper.printed.get(claim.equation), claim),
        "statement": claim.statement,
        "corrected": claim.corrected,
        "ranges": claim.ranges,
        "names": [claim.symmetric, claim.equal, claim.diagonal],
        "kind": [claim.definition, claim.in_words, bool(claim.not_checkable)],
        "points": claim.tried_at,
        "code": _code(claim.tried_at),
        "rule": _rule(claim.rule),
    }


def _print(printed: Printed | None, claim: Claim) -> dict[str, Any]:
    """Return all that a print consists of but its place in the paper, the display chosen."""
    if printed is None:
        return {}
    fields = _set_fields(printed, but=("section",))
    if claim.printed is not None:
        fields["latex"] = [printed.latex[claim.printed]]
    return fields | ({"reading": claim.reading} if claim.reading else {})


def _code(tried_at: str) -> str:
    """Return a digest of the points' code; empty for a reference, which is the engine's."""
    function = tried_at.partition("(")[0]
    return "" if not function or " = " in function else code_digest(function)


def _rule(rule: ComparisonRule | None) -> list[Any]:
    """Return a rule by its name and what was set in it; a reference chooses its own from its
    keys.
    """
    if rule is None or not is_dataclass(rule):
        return []
    return [type(rule).__name__, _set_fields(rule)]


def _set_fields(value: Any, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return fields that are not at their defaults, so that a new field changes no hash."""
    return {
        one.name: getattr(value, one.name)
        for one in fields(value)
        if one.name not in but
        and (one.default is MISSING or getattr(value, one.name) != one.default)
    }


@lru_cache(maxsize=1024)
def code_digest(function: str) -> str:
    """Return a digest of a function's code and of all that it uses of its own package.

    Args:
        function: The function in full, ``"package.module.name"``.

    Raises:
        InputError: The module has no source.
    """
    digest = hashlib.sha256()
    for name, text in sorted(code_of(function).items()):
        digest.update(f"{name}\n{text}\n".encode())
    return digest.hexdigest()


def code_of(function: str) -> dict[str, str]:
    """Return the definitions that a function needs, by their names in full, without comments.

    Definitions are functions, classes and values of modules of the same top-level package; a
    statement of such a module that defines nothing belongs to all of its definitions.

    Args:
        function: The function in full, ``"package.module.name"``.

    Raises:
        InputError: The module has no source.
    """
    module, _, name = function.rpartition(".")
    wanted, definitions = [(module, name)], dict[str, str]()
    while wanted:
        module, name = wanted.pop()
        key = f"{module}.{name}"
        if key not in definitions:
            text, needs = _definition(module, name)
            wanted += needs
            if text:
                definitions[key] = text
    return definitions


@lru_cache(maxsize=4096)
def _definition(module: str, name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return what a name of a module is, and what that needs; nothing if the module has no such
    name.
    """
    read = _read(module)
    if name not in read.definitions:
        return "", ()
    nodes = [read.definitions[name], *read.others]
    needs = {need: None for node in nodes for need in read.needs(node)}
    return "\n".join(read.text(node) for node in nodes), tuple(needs)


@dataclass(frozen=True)
class _Module:
    """A module's source with what it defines at its top.

    Args:
        name: The name in full.
        lines: The lines without comments.
        definitions: The statement that defines a name.
        others: Statements that define nothing.
        imported: Module and name that names stand for which it imports from its own package.
    """

    name: str
    lines: list[str]
    definitions: dict[str, ast.stmt]
    others: list[ast.stmt]
    imported: dict[str, tuple[str, str]]

    def text(self, node: ast.stmt) -> str:
        """Return the lines of a statement without docstrings and empty lines.

        Of what is imported from the engine the names are said, not the modules that hold them.
        """
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(one.lineno for one in decorators)])
        assert node.end_lineno is not None
        wanted = set(range(first, node.end_lineno + 1)) - set(_docstring_lines(node))
        names = []
        for part in ast.walk(node):
            if isinstance(part, ast.ImportFrom) and _of_engine(part):
                assert part.end_lineno is not None
                wanted -= set(range(part.lineno, part.end_lineno + 1))
                names += [f"{one.name} {one.asname or one.name}" for one in part.names]
        lines = (self.lines[number - 1].rstrip() for number in sorted(wanted))
        return "\n".join([*sorted(names), *(line for line in lines if line)])

    def needs(self, node: ast.stmt) -> Iterator[tuple[str, str]]:
        """Yield module and name of everything of the package that a statement may use."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                if part.id in self.definitions:
                    yield self.name, part.id
                elif part.id in self.imported:
                    yield self.imported[part.id]
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                module, name = self.imported.get(part.value.id, ("", ""))
                if module:
                    yield f"{module}.{name}".strip("."), part.attr


@lru_cache(maxsize=256)
def _read(module: str) -> _Module:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:  # an attribute of a class, not of a module
        return _Module(module, [], {}, [], {})
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise InputError(f"the module {module} has no source")
    source = Path(spec.origin).read_text(encoding="utf-8")
    tree = ast.parse(source)
    definitions: dict[str, ast.stmt] = {}
    others: list[ast.stmt] = []
    for node in tree.body:
        names = list(_defined(node))
        definitions.update(dict.fromkeys(names, node))
        if not names and not isinstance(node, ast.Import | ast.ImportFrom):
            others.append(node)
    others = [node for node in others if not _is_text(node)]
    return _Module(
        module, _without_comments(source), definitions, others, dict(_imports(tree, module))
    )


def _of_engine(node: ast.ImportFrom) -> bool:
    package = (node.module or "").partition(".")[0]
    return not node.level and package in ("symderiv", "symderiv_ledger", "symderiv_models")


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _imports(tree: ast.Module, module: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield imports from the same top-level package, wherever they stand."""
    for node in ast.walk(tree):
        pairs: list[tuple[str, tuple[str, str]]] = []
        if isinstance(node, ast.ImportFrom):
            written = "." * node.level + (node.module or "")
            home = resolve_name(written, module.rpartition(".")[0])
            pairs = [(one.asname or one.name, (home, one.name)) for one in node.names]
        elif isinstance(node, ast.Import):
            pairs = [(one.asname, (one.name, "")) for one in node.names if one.asname]
        for name, home_of in pairs:
            if home_of[0].split(".")[0] == module.split(".")[0]:
                yield name, home_of


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _docstring_lines(node: ast.stmt) -> Iterator[int]:
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = part.body[0]
            if _is_text(first) and len(part.body) > 1:
                assert first.end_lineno is not None
                yield from range(first.lineno, first.end_lineno + 1)


def _without_comments(source: str) -> list[str]:
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return lines
