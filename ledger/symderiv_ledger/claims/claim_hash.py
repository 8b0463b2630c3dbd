"""The hash of a claim: whether its verdict is still one on the same claim.

It is a digest of the print, the claim, the rule with its tolerances, the engine's version, and the
points: the reference with its keys, or the function with its arguments and the code that it and
what it uses of its own package consist of, without comments and docstrings, so that another
function of the same module may change. Names, notes, regimes and the order of claims are no part
of it, nor are the sources of the engine between two versions.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import tokenize
from collections.abc import Iterator
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from functools import lru_cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any, Final

from symderiv import __version__
from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.claim import Claim, Paper, Printed

LENGTH: Final = 12
_ENGINE: Final = ("symderiv", "symderiv_ledger", "symderiv_models")
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: Module and name of a definition.
_Name = tuple[str, str]


def claim_hash(paper: Paper, claim: Claim) -> str:
    """Return the first 12 hexadecimal digits of the digest."""
    rule = claim.rule
    function = claim.tried_at.partition("(")[0]
    parts = {
        "engine": __version__,
        "print": _print(paper.printed.get(claim.equation), claim),
        "statement": claim.statement,
        "corrected": claim.corrected,
        "ranges": claim.ranges,
        "names": [claim.symmetric, claim.equal, claim.diagonal],
        "kind": [claim.definition, claim.in_words, bool(claim.not_checkable)],
        "points": claim.tried_at,
        # code of a reference belongs to the engine, whose version is in the hash
        "code": "" if not function or " = " in function else _code_digest(function),
        # the rule of a reference follows from its keys
        "rule": [type(rule).__name__, _set_fields(rule)] if is_dataclass(rule) else [],
    }
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=asdict)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def _print(printed: Printed | None, claim: Claim) -> dict[str, Any]:
    """Return all fields of a print but its section, with the chosen display only."""
    if printed is None:
        return {}
    fields = _set_fields(printed, but=("section",))
    if claim.printed is not None:
        fields["latex"] = [printed.latex[claim.printed]]
    return fields | ({"reading": claim.reading} if claim.reading else {})


def _set_fields(value: Any, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return fields that are not at their defaults, so that a new field changes no hash."""
    return {
        one.name: getattr(value, one.name)
        for one in fields(value)
        if one.name not in but
        and (one.default is MISSING or getattr(value, one.name) != one.default)
    }


@lru_cache(maxsize=1024)
def _code_digest(function: str) -> str:
    """Return a digest of a function's code and of all that it uses of its own package."""
    code = "".join(f"{name}\n{text}\n" for name, text in sorted(code_of(function).items()))
    return hashlib.sha256(code.encode()).hexdigest()


def code_of(function: str) -> dict[str, str]:
    """Return the definitions that a function needs, by their names in full, without comments.

    Definitions are functions, classes and values of modules of the same top-level package; a
    statement of such a module that defines nothing belongs to all of its definitions.

    Raises:
        InputError: The module has no source.
    """
    module, _, name = function.rpartition(".")
    wanted, definitions = [(module, name)], dict[str, str]()
    while wanted:
        module, name = wanted.pop()
        known = _read(module)
        if name in known.definitions and f"{module}.{name}" not in definitions:
            definitions[f"{module}.{name}"], needs = known.definition(name)
            wanted += needs
    return definitions


@dataclass(frozen=True)
class _Module:
    """A module's source with what it defines at its top."""

    name: str  # the module's name in full
    lines: list[str] = field(default_factory=list)  # its source lines without comments
    # the statement that defines it, by name
    definitions: dict[str, ast.stmt] = field(default_factory=dict)
    others: list[ast.stmt] = field(default_factory=list)  # statements that define nothing
    # module and name of what it imports from its own package, by the local name
    imported: dict[str, _Name] = field(default_factory=dict)
    # definitions as text, with what they need
    known: dict[str, tuple[str, list[_Name]]] = field(default_factory=dict)

    def definition(self, name: str) -> tuple[str, list[_Name]]:
        """Return the text of a name's definition and the names that it needs."""
        if name not in self.known:
            nodes = [self.definitions[name], *self.others]
            text = "\n".join(self.text(node) for node in nodes)
            needs = dict.fromkeys(need for node in nodes for need in self.needs(node))
            self.known[name] = text, list(needs)
        return self.known[name]

    def text(self, node: ast.stmt) -> str:
        """Return the lines of a statement without docstrings and empty lines.

        For imports from the engine only the names are kept, not the modules that hold them.
        """
        decorators = [_lines(one) for one in getattr(node, "decorator_list", [])]
        wanted = _lines(node).union(*decorators)
        names = []
        for part in ast.walk(node):
            if isinstance(part, _DEFINITIONS):
                if _is_text(part.body[0]) and len(part.body) > 1:
                    wanted -= _lines(part.body[0])
            elif isinstance(part, ast.ImportFrom) and _home(part).partition(".")[0] in _ENGINE:
                wanted -= _lines(part)
                names += [f"{one.name} {one.asname or one.name}" for one in part.names]
        lines = (self.lines[number - 1].rstrip() for number in sorted(wanted))
        return "\n".join([*sorted(names), *(line for line in lines if line)])

    def needs(self, node: ast.stmt) -> Iterator[_Name]:
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
    if spec is None:  # the name is that of a class, not of a module
        return _Module(module)
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise InputError(f"the module {module} has no source")
    source = Path(spec.origin).read_text(encoding="utf-8")
    tree = ast.parse(source)
    found = _Module(module, _without_comments(source), imported=dict(_imports(tree, module)))
    for node in tree.body:
        names = list(_defined(node))
        found.definitions.update(dict.fromkeys(names, node))
        if not names and not isinstance(node, ast.Import | ast.ImportFrom) and not _is_text(node):
            found.others.append(node)
    return found


def _defined(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, _DEFINITIONS):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from (one.id for one in ast.walk(target) if isinstance(one, ast.Name))


def _imports(tree: ast.Module, module: str) -> Iterator[tuple[str, _Name]]:
    """Yield imports from the same top-level package, wherever they stand."""
    for node in ast.walk(tree):
        pairs: list[tuple[str, _Name]] = []
        if isinstance(node, ast.ImportFrom):
            home = resolve_name(_home(node), module.rpartition(".")[0])
            pairs = [(one.asname or one.name, (home, one.name)) for one in node.names]
        elif isinstance(node, ast.Import):
            pairs = [(one.asname, (one.name, "")) for one in node.names if one.asname]
        for name, home_of in pairs:
            if home_of[0].split(".")[0] == module.split(".")[0]:
                yield name, home_of


def _home(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")


def _is_text(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _lines(node: ast.stmt | ast.expr) -> set[int]:
    return set(range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _without_comments(source: str) -> list[str]:
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return lines
