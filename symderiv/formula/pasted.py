r"""Formulas as people paste them: LaTeX or text, with definitions, ready for SymPy.

Either is read by a small parser (:mod:`symderiv.formula.latex`, :mod:`symderiv.formula.reader`)
into the same tree and checked by the same bounds on everything that SymPy would compute, so any
text is read or refused within a fraction of a second.

Beside the functions of the reader, formulas may contain ``asin``, ``acos``, ``SignMean4`` and
``OwenT``, which occur in expectations but are no activations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from symderiv.formula.bounds import measure
from symderiv.formula.definitions import MAX_SIZE, expanded
from symderiv.formula.known_functions import CONSTANTS
from symderiv.formula.latex import parse_latex
from symderiv.formula.macros import Macro, expanded_macros, read_macro, taken_out
from symderiv.formula.reader import (
    MAX_BRACKETS,
    MAX_LENGTH,
    MAX_NESTING,
    Apply,
    Name,
    Node,
    quoted,
    read,
)
from symderiv.formula.sheet import formulas
from symderiv.foundation.errors import FormulaError

if TYPE_CHECKING:
    import sympy as sp

#: Functions of closed forms that are no activations, and their number of arguments.
SPECIAL: Final = {"asin": 1, "acos": 1, "SignMean4": 6, "OwenT": 2}
MAX_TOTAL: Final = 4 * MAX_LENGTH
MAX_DEPTH: Final = 2 * MAX_NESTING

_SPECIAL_ALIASES: Final = {"arcsin": "asin", "arccos": "acos"}
_OF_OTHER_ROOMS: Final = frozenset({"SignMean4", "OwenT"})

_IDENTIFIER = re.compile(r"(?<![\w.])[A-Za-z_]\w*", re.ASCII)
_LATEX = re.compile(r"[\\{}^]")
_SPECIAL_CALL = re.compile(
    rf"(?<![\w.])({'|'.join((*SPECIAL, *_SPECIAL_ALIASES))})[ \t]*\(", re.ASCII
)
_DEFINED = re.compile(
    r"(?:\\math(?:cal|rm|bf)\{[A-Za-z]+\}|\\?[A-Za-z]+)[0-9]*"
    r"(?:_(?:[A-Za-z0-9]+|\{[A-Za-z0-9, ]+\}))?'*",
    re.ASCII,
)
_EQUATION_NUMBER = re.compile(r"\(\s*[A-Z]?[0-9]+(?:\.[0-9]+)?[a-z]?\s*\)")


# -- a formula with its definitions ---------------------------------------------------------


@dataclass(frozen=True)
class Pasted:
    """A formula with its definitions, as it was understood.

    Args:
        definitions: Trees by name.
        formula: The tree of the formula, with definitions substituted.
        left: The left side of its equals sign; empty without one.
        notes: Sentences on parts of the text that were not read.
    """

    definitions: dict[str, Node]
    formula: Node
    left: str
    notes: tuple[str, ...]


def read_definitions(
    text: str, names: Mapping[str, str], where: Sequence[str] = ()
) -> tuple[dict[str, Node], Node]:
    """Return the definitions and the formula of :func:`read_pasted`."""
    read = read_pasted(text, names, where)
    return read.definitions, read.formula


def read_pasted(
    text: str,
    names: Mapping[str, str],
    where: Sequence[str] = (),
    macros: Sequence[str] = (),
    asked: str = "",
) -> Pasted:
    r"""Return the tree of a formula, and of its auxiliary definitions by name, all in the
    variables.

    Args:
        text: LaTeX as it stands in a paper (:mod:`symderiv.formula.sheet`) or text, at most
            2000 characters per piece and 8000 in all: the formula, or definitions and the formula,
            separated by semicolons, rows or "where", ``A_4 = ...; A_0 = ...; A_0/A_4``. Definitions
            may use one another and come in any order. The formula is the piece without an equals
            sign; if each piece has one, the one that defines ``asked``, else the one whose left
            side no other piece uses (of several: an integral I_k, else the last). In a chain of
            equations the last side is read; unused definitions are ignored.
        names: The names that may occur, without subscript marks (``"C12"``), and the variables
            that they stand for (``"c12"``).
        where: More definitions, ``NAME=FORMULA``.
        macros: LaTeX macros, ``\\erf=\\operatorname{erf}``; those that the text defines count too.
        asked: The name of the quantity that the formula should define, ``"I3"``, if it has one.

    Returns:
        Trees for :func:`build_formula`, with left side and notes.

    Raises:
        FormulaError: Not readable; one line that names the token and its position in its piece.
    """
    _check_lengths((text, *where, *macros))
    text, own = taken_out(text)
    known_macros = [*own, *map(read_macro, macros)]
    pieces = _formulas(text, known_macros)
    if len(pieces) > 1:
        pieces = [piece for piece in pieces if not _EQUATION_NUMBER.fullmatch(piece.strip())]
    if not pieces:
        raise FormulaError("the formula is empty")
    left, main, given = _main_piece(pieces, asked)
    beside = [piece for definition in where for piece in _formulas(definition, known_macros)]
    sources = _sources([*given, *beside], names)
    known = {**names, **{name: name for name in sources}}
    latex = bool(_LATEX.search(text))
    sides = main.split("=")
    tree = _read(sides[-1], known, latex)
    trees = _used(tree, sources, known, latex)
    if given and not left and not trees:
        raise FormulaError(
            f"there are two formulas, {quoted(given[-1].strip())} and {quoted(main.strip())}; the "
            "second uses nothing of the first"
        )
    order = _ordered(trees)
    done: dict[str, _Sized] = {}
    for name in order:
        done[name] = _substituted(trees[name], done)
    notes = [f"not read: {' '.join(side.split())}" for side in sides[:-1]]
    notes += [f"not used: {name}" for name in sources if name not in trees]
    result = _substituted(tree, done)
    return Pasted({name: done[name][0] for name in trees}, result[0], left, tuple(notes))


def _check_lengths(pieces: Sequence[str]) -> None:
    for piece in pieces:
        if not isinstance(piece, str):
            raise FormulaError(f"a formula must be text, not {type(piece).__name__}")
    total = sum(map(len, pieces))
    if total > MAX_TOTAL:
        raise FormulaError(f"formula and definitions have {total} characters, over {MAX_TOTAL}")


def _used(
    tree: Node, sources: Mapping[str, str], known: Mapping[str, str], latex: bool
) -> dict[str, Node]:
    """Return the trees of the definitions that a formula uses, and of those that they use."""
    trees: dict[str, Node] = {}
    waiting = [tree]
    while waiting:
        for name in sorted(_names_in(waiting.pop()) & sources.keys() - trees.keys()):
            trees[name] = _read(sources[name], known, latex)
            waiting.append(trees[name])
    return trees


def _formulas(text: str, macros: Sequence[Macro]) -> list[str]:
    return formulas(expanded_macros(text, macros) if macros else text)


def _main_piece(pieces: list[str], asked: str) -> tuple[str, str, list[str]]:
    """Return the left side and the rest of the formula, and the definitions."""
    bare = [i for i, piece in enumerate(pieces) if "=" not in piece]
    if len(bare) > 1:
        raise FormulaError(
            f"there are two formulas, {quoted(pieces[bare[0]])} and {quoted(pieces[bare[1]])}; "
            "all pieces but one must be definitions NAME = FORMULA"
        )
    index = bare[0] if bare else _root(pieces, asked)
    left, _, main = pieces[index].rpartition("=") if bare else pieces[index].partition("=")
    if not bare and not (left.strip() and all(side.strip() for side in main.split("="))):
        raise FormulaError(f"{quoted(pieces[index])} is not a definition NAME = FORMULA")
    return left.strip(), main, pieces[:index] + pieces[index + 1 :]


def _root(pieces: list[str], asked: str) -> int:
    """Return the index of the piece that states the formula.

    It has the name that is asked for, or else its left side is used by no other piece.
    """
    names = [_canonical(piece.partition("=")[0].strip()) for piece in pieces]
    used = [_canonical(piece.partition("=")[2]) for piece in pieces]
    free = [
        i
        for i, name in enumerate(names)
        if not any(name and name in other for j, other in enumerate(used) if j != i)
    ]
    if asked in names:
        return names.index(asked)
    integrals = [i for i in free if re.match(r"I[234]", names[i])]
    return (integrals or free or [len(pieces) - 1])[-1]


def _sides(piece: str) -> tuple[str, str]:
    left, sign, right = piece.partition("=")
    if not sign or "=" in right or not right.strip() or not left.strip():
        raise FormulaError(f"{quoted(piece.strip())} is not a definition NAME = FORMULA")
    return left.strip(), right


def _sources(definitions: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of definitions by name; known names and constants cannot be defined."""
    sources: dict[str, str] = {}
    for piece in definitions:
        left, right = _sides(piece)
        if not _DEFINED.fullmatch(left):
            raise FormulaError(f"{quoted(left)} is not a name that can be defined (such as A_0)")
        name = _canonical(left)
        if name in sources:
            raise FormulaError(f"{quoted(left)} is defined twice")
        sources[name] = right
    for name in sources:
        if name in names or name in CONSTANTS:
            raise FormulaError(f"{quoted(name)} already has a meaning and cannot be defined")
    return sources


def _canonical(name: str) -> str:
    """Return a name without marks: ``A_{4}``, ``A_4`` and ``A4`` are one name."""
    return re.sub(r"\\math(?:cal|rm|bf)|[\\_{} ,]", "", name)


def _ordered(trees: Mapping[str, Node]) -> list[str]:
    """Return the names of definitions, each after those that it uses."""
    waiting = {name: _names_in(tree) & trees.keys() for name, tree in trees.items()}
    order: list[str] = []
    while waiting:
        ready = [name for name, needs in waiting.items() if needs <= set(order)]
        if not ready:
            raise FormulaError(f"the definition of {quoted(min(waiting))} refers to itself")
        order += ready
        for name in ready:
            del waiting[name]
    return order


def _names_in(node: Node) -> set[str]:
    if isinstance(node, Name):
        return {node.name}
    if isinstance(node, Apply):
        return set().union(*(_names_in(argument) for argument in node.arguments))
    return set()


_Sized = tuple[Node, int, int]  # a tree, its number of pieces written out, its depth


def _substituted(node: Node, definitions: Mapping[str, _Sized]) -> _Sized:
    """Return the tree with definitions substituted; they are shared, not copied."""
    if isinstance(node, Name) and node.name in definitions:
        return definitions[node.name]
    if not isinstance(node, Apply):
        return node, 1, 1
    arguments = [_substituted(argument, definitions) for argument in node.arguments]
    size = 1 + sum(argument[1] for argument in arguments)
    depth = 1 + max(argument[2] for argument in arguments)
    if size > MAX_SIZE:
        raise FormulaError(f"the formula has more than {MAX_SIZE} pieces when written out")
    if depth > MAX_DEPTH:
        raise FormulaError(f"the formula is nested deeper than {MAX_DEPTH} when written out")
    return Apply(node.operation, tuple(argument[0] for argument in arguments)), size, depth


def _read(text: str, names: Mapping[str, str], latex: bool) -> Node:
    """Return the tree of one formula.

    If other pieces are LaTeX, one without LaTeX marks may be, too: ``A B`` is then a product.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"a formula of {len(text)} characters is longer than {MAX_LENGTH}")
    if _LATEX.search(text):
        return parse_latex(text, names)
    try:
        return _read_text(text, names)
    except FormulaError:
        if not latex:
            raise
    return parse_latex(text, names)


# -- plain text ------------------------------------------------------------------------------


def _read_text(text: str, names: Mapping[str, str]) -> Node:
    """Return the tree of a formula in text, hiding functions of closed forms from the reader."""
    if _deepest(text) > MAX_BRACKETS:
        raise FormulaError(f"brackets are nested deeper than {MAX_BRACKETS}")
    aliases = {}
    for word in _IDENTIFIER.findall(text):
        if word.startswith("_"):
            raise FormulaError(f"{quoted(word)} is not a name; names begin with a letter")
        if _canonical(word) in names:
            aliases[word] = names[_canonical(word)]
    return _read_calls(text, aliases, sorted(set(names.values())))


def _deepest(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest


def _read_calls(text: str, aliases: Mapping[str, str], known: Sequence[str]) -> Node:
    calls: dict[str, Node] = {}
    outside, position = "", 0
    while match := _SPECIAL_CALL.search(text, position):
        typed = match.group(1)
        name = _SPECIAL_ALIASES.get(typed, typed)
        parts, end = _call_parts(text, match.end())
        if len(parts) != SPECIAL[name]:
            raise FormulaError(
                f"{typed} takes {SPECIAL[name]} argument{'s' * (SPECIAL[name] > 1)}, "
                f"not {len(parts)}"
            )
        label = f"_call{len(calls)}"
        calls[label] = Apply(name, tuple(_read_calls(part, aliases, known) for part in parts))
        # with blanks, a missing operator before or after it is still noticed
        outside += f"{text[position : match.start()]} {label} "
        position = end
    tree = read(outside + text[position:], (*known, *aliases, *calls))
    return _renamed(tree, {**{a: Name(v) for a, v in aliases.items()}, **calls})


def _call_parts(text: str, start: int) -> tuple[list[str], int]:
    """Return the arguments between a bracket that opened before ``start`` and its closing one."""
    depth, parts = 1, [""]
    for position in range(start, len(text)):
        character = text[position]
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return parts, position + 1
        if character == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += character
    raise FormulaError(f"a bracket is not closed: {quoted(text[start - 1 :])}")


def _renamed(node: Node, replacements: Mapping[str, Node]) -> Node:
    match node:
        case Name(name=name):
            return replacements.get(name, node)
        case Apply(operation=operation, arguments=arguments):
            return Apply(operation, tuple(_renamed(a, replacements) for a in arguments))
    return node


# -- from the tree to SymPy -------------------------------------------------------------------


def build_formula(
    node: Node, variables: Iterable[str], functions: Mapping[str, Any] | None = None
) -> sp.Expr:
    """Return the SymPy expression of a tree of :func:`read_definitions`, exact, in real symbols.

    Args:
        node: The tree.
        variables: The names in it.
        functions: The classes of ``SignMean4`` and ``OwenT``, from the room that defines them.

    Raises:
        FormulaError: It could become too large to handle, or is infinite or not real.
    """
    variables = tuple(variables)
    node = expanded(node)
    measure(_measurable(node), dict.fromkeys(variables))

    import sympy as sp

    from symderiv.formula.symbolic import build

    known = functions or {}
    if unknown := sorted(_called(node) & _OF_OTHER_ROOMS - known.keys()):
        raise FormulaError(f"the function {unknown[0]} is not known here")
    expression = build(node, variables, known)
    if expression.has(sp.I, sp.zoo, sp.oo, -sp.oo, sp.nan):
        raise FormulaError("the formula is infinite or not real for every covariance")
    return expression


def _called(node: Node) -> set[str]:
    """Return the operations and functions of a formula."""
    if not isinstance(node, Apply):
        return set()
    return {node.operation}.union(*map(_called, node.arguments))


def _measurable(node: Node) -> Node:
    """Return the tree with functions of other rooms replaced by atan, whose bounds are known."""
    if not isinstance(node, Apply):
        return node
    arguments = tuple(map(_measurable, node.arguments))
    if node.operation not in _OF_OTHER_ROOMS:
        return Apply(node.operation, arguments)
    return Apply("atan", (Apply("+", arguments),))
