"""A page for each kind of error, with every message of it that stands in the sources.

Messages are read off the calls that make errors, so that a page lists what can be printed, and no
more. What a message fills in from what was given is shown as an ellipsis.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from symderiv.formula.reader import HINTS
from symderiv.foundation import errors

_ROOT: Final = Path(__file__).parents[3]
_FILLED: Final = "…"

TOPICS: Final = {
    "Calls and commands": ("api", "cli", "show"),
    "Studies: keys, starts, tasks": ("problem", "keys"),
    "Inputs and files with arrays": ("inputs",),
    "Formulas and activations": ("formula",),
    "Gaussian means and their digits": ("gaussian", "precision", "numerics"),
    "Deriving equations and modules": ("statement", "learning", "lowering", "checking"),
    "Solving": ("integrate", "enclosures", "compiled_code"),
    "Simulating": ("experiment",),
    "Stated systems": ("system",),
    "Sweeps and maps": ("sweeps",),
    "Plateau, late learning, linear networks, equilibrium": ("analysis", "equilibrium"),
    "Files": ("storage", "foundation"),
    "Papers and claims": ("symderiv_ledger",),
    "One gradient step and receptive fields": ("symderiv_models",),
}
"""Headings of a page, each with the rooms whose messages stand below it."""


_ELSEWHERE: Final = (
    "symderiv.checking.checked_module",
    "symderiv.sweeps.files.manifest",
    "symderiv_ledger.papers.verify",
    "symderiv_ledger.rules.arithmetic",
)
"""Modules with errors of their own."""


class Message(NamedTuple):
    """A message as it stands in the sources.

    Attributes:
        kind: The name of its error.
        text: What is said, with an ellipsis for what is filled in.
        room: Where it stands.
    """

    kind: str
    text: str
    room: str


def kinds() -> dict[str, type[Exception]]:
    """Return the errors and warnings that symderiv raises on purpose, by name."""
    return {name: found for name, found in _raised().items() if name == found.__name__}


@cache
def _raised() -> dict[str, type[Exception]]:
    """Return what users call each class by its own name: private ones are their public base."""
    for module in _ELSEWHERE:
        import_module(module)

    def below(found: type[Exception]) -> Iterator[type[Exception]]:
        yield found
        for each in found.__subclasses__():
            yield from below(each)

    return {
        each.__name__: next(base for base in each.__mro__ if not base.__name__.startswith("_"))
        for each in (*below(errors.SymderivError), errors.RunWarning)
    }


_COMPOSED: Final = (
    Message("InputError", "should be …; got …", "problem"),
    Message("InputError", "must be one of …; got …", "problem"),
    Message("InputError", "must be one of …, but is missing", "problem"),
    Message("InputError", "unknown key; did you mean …?", "problem"),
    Message("InputError", "unknown key here; it stands in …", "problem"),
    Message("InputError", "is missing", "problem"),
    Message("InputError", "…: No such file or directory; did you mean …?", "foundation"),
    Message(
        "InputError", "…: No such file or directory; check its name and its folder", "foundation"
    ),
)
"""Messages that are put together from what checked tables and the operating system say."""


@cache
def messages() -> tuple[Message, ...]:
    """Return all messages, each once."""
    found = dict.fromkeys(_COMPOSED)
    found |= {Message("FormulaError", f"…: {text}", "formula"): None for text in HINTS.values()}
    made = re.compile(rf"\b({'|'.join(_raised())}|conflict|warn)\(")
    sources = ((room, file.read_text(encoding="utf-8")) for room, file in _sources())
    found |= {
        Message(kind, text, room): None
        for room, source in sources
        if made.search(source)
        for kind, text in _of_file(ast.parse(source))
        if re.search(r"[A-Za-z]{2}", text)
    }
    return tuple(sorted(found))


def known(line: str) -> bool:
    """Return whether a line that was printed is one of the messages, with its argument or not."""
    return any(pattern.search(line) for pattern in _patterns())


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    # a message that is nearly all filled in would know any line
    said = [each.text for each in messages() if len(each.text.replace(_FILLED, "")) > 8]
    parts = [".*".join(map(re.escape, text.split(_FILLED))) for text in said]
    return tuple(re.compile(rf"(^|: ){part}$", re.DOTALL) for part in parts)


def error_page(kind: str) -> str:
    """Return the page of an error: when it is raised, and what it can say."""
    found = kinds()[kind]
    base = found.__mro__[1].__name__
    article = "an" if base[0] in "AEIOU" else "a"
    words = inspect.getdoc(found) or ""
    summary = words.partition("\n\nArgs:")[0].replace("``", "`")
    lines = [f"# {kind}", "", summary, "", f"In Python it is also {article} `{base}`."]
    own = [each for each in messages() if each.kind == kind]
    if own:
        lines += ["", f"In the messages below, {_FILLED} stands for what was given."]
    used: set[str] = set()
    for topic, rooms in TOPICS.items():
        said = sorted({each.text for each in own if each.room in rooms})
        if said:
            lines += ["", f"## {topic}", ""]
            lines += [f"- ``{text}``{{#{_address(text, used)}}}" for text in said]
    return "\n".join(lines) + "\n"


def _address(text: str, used: set[str]) -> str:
    """Return the anchor of a message on its page, of its first words; note that it is used."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    plain = address = "-".join(["message", *words[:9]])
    count = 1
    while address in used:
        count += 1
        address = f"{plain}-{count}"
    used.add(address)
    return address


def _sources() -> Iterator[tuple[str, Path]]:
    for file in sorted((_ROOT / "symderiv").glob("*/**/*.py")):
        yield file.relative_to(_ROOT / "symderiv").parts[0], file
    for package in ("ledger/symderiv_ledger", "models/symderiv_models"):
        for file in sorted((_ROOT / package).rglob("*.py")):
            yield package.partition("/")[2], file


def _of_file(tree: ast.Module) -> Iterator[tuple[str, str]]:
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    raised = _raised()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        # validators of tables say the key first
        kind, place = ("InputError", 1) if name == "conflict" else (name, 0)
        if name == "warn" and "RunWarning" in map(_name_of, node.args):
            kind = "RunWarning"
        if kind in raised and len(node.args) > place:
            for text in _texts(node.args[place], constants):
                filled = re.sub(rf"{_FILLED}(\s*{_FILLED})+", _FILLED, " ".join(text.split()))
                yield raised[kind].__name__, filled


def _name_of(node: ast.expr) -> str:
    return str(getattr(node, "id", ""))


def _texts(node: ast.expr, constants: dict[str, ast.expr]) -> list[str]:
    """Return the texts that an expression can be, of which each choice gives two."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        found = [""]
        for part in node.values:
            value = part.value if isinstance(part, ast.FormattedValue) else part
            ends = _texts(value, constants) if _is_named(value, constants) else [_FILLED]
            ends = _texts(part, constants) if isinstance(part, ast.Constant) else ends
            found = [begin + end for begin in found for end in ends]
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _texts(node.left, constants), _texts(node.right, constants)
        return [begin + end for begin in left for end in right]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body, constants), *_texts(node.orelse, constants)]
    if isinstance(node, ast.Name) and node.id in constants:
        return _texts(constants[node.id], {})
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "format":
        assert isinstance(node.func, ast.Attribute)
        return [re.sub(r"\{[^}]*\}", _FILLED, t) for t in _texts(node.func.value, constants)]
    return [_FILLED]


def _is_named(node: ast.expr, constants: dict[str, ast.expr]) -> bool:
    return isinstance(node, ast.Name) and isinstance(constants.get(node.id), ast.Constant)
