"""Reader of formulas: it makes a small immutable tree from text, through Python's syntax tree.

The text is scanned before Python's parser sees it (length, characters, brackets, digits), and of
the syntax tree only numbers, names, ``+ - * / **`` and calls of listed functions are accepted.
Nothing is ever evaluated. The result knows neither Python's syntax nor SymPy.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from symderiv.formula.known_functions import ALIASES, CONSTANTS, FUNCTIONS
from symderiv.foundation.errors import FormulaError
from symderiv.foundation.nearest import did_you_mean

MAX_LENGTH: Final = 2000
MAX_BRACKETS: Final = 25
MAX_NESTING: Final = 50
MAX_DIGITS: Final = 1000
MAX_SIGNS: Final = 10


@dataclass(frozen=True)
class Number:
    """An exact literal: ``0.1`` is 1/10."""

    value: Fraction


@dataclass(frozen=True)
class Name:
    """A variable or one of the constants ``pi`` and ``E``."""

    name: str


@dataclass(frozen=True)
class Apply:
    """An operation on arguments.

    ``operation`` is ``"+"`` or ``"*"`` (two or more arguments), ``"**"`` (base, exponent),
    ``"negative"``, ``"inverse"``, or a key of :data:`FUNCTIONS`. Long sums and products are one
    node, so that the depth of the tree is the depth of the formula's brackets.
    """

    operation: str
    arguments: tuple[Node, ...]


Node = Number | Name | Apply

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>\*\*|//|[-+*/(),])"
    r"|(?P<space>[ \t]+)"
)

# What people type from habit, and what to type instead.
HINTS: Final = {
    "^": "write ** for a power",
    "\\": "LaTeX is not read here",
    "=": "equations and keyword arguments are not allowed",
    "<": "comparisons are not allowed; write Heaviside(x)",
    ">": "comparisons are not allowed; write Heaviside(x)",
    "!": "comparisons and factorials are not allowed",
    "[": "lists and subscripts are not allowed",
    "]": "lists and subscripts are not allowed",
    "{": "braces are not allowed",
    "}": "braces are not allowed",
    "'": "strings are not allowed",
    '"': "strings are not allowed",
    ".": "attributes are not allowed, functions have their name alone",
    "%": "the remainder is not allowed",
    "|": "write Abs(x) for the modulus",
    "\n": "a formula is one line",
    "\r": "a formula is one line",
    "\0": "null characters are not allowed",
    "−": "write the ASCII minus -",
    "–": "write the ASCII minus -",
    "·": "write *",
    "×": "write *",
    "÷": "write /",
    "π": "write pi",
    "√": "write sqrt(...)",
    "²": "write **2",
    "³": "write **3",
    "Φ": "write Phi(...)",
    "φ": "write phi(...)",
    "∞": "infinity is not allowed",
}


def quoted(text: str) -> str:
    """Return ``text`` in quotes for a message: one line, ASCII (no terminal escapes), at most 40
    long.
    """
    return ascii(text if len(text) <= 40 else text[:37] + "...")


def read(text: str, variables: Iterable[str]) -> Node:
    """Return the tree of a formula in the given variables.

    Args:
        text: The formula, at most 2000 characters of ASCII on one line.
        variables: The names that stand for themselves. They hide the constants pi and E.

    Raises:
        FormulaError: anything outside the allow-list, too long, too deep, or not well formed; the
            message is one line and names the offending piece.
    """
    if not isinstance(text, str):
        raise FormulaError(f"a formula must be text, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"a formula of {len(text)} characters is longer than {MAX_LENGTH}")
    text = text.strip(" \t\n\r")
    if not text:
        raise FormulaError("the formula is empty")
    _scan(text)
    return _Converter(text, frozenset(variables)).convert(_parse(text), 0)


def _parse(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # "1if x" and its like only warn; they are no formulas either
            warnings.simplefilter("error")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        where = f" near {quoted(text[max(error.offset - 1, 0) :])}" if error.offset else ""
        raise FormulaError(
            f"cannot read the formula {quoted(text)}{where}; check its operators and brackets"
        ) from None
    except (ValueError, MemoryError, RecursionError, OverflowError, Warning):
        raise FormulaError(f"cannot read the formula {quoted(text)}") from None


def _scan(text: str) -> None:
    """Refuse, before any parsing, characters, numbers and nesting that no formula needs."""
    position = depth = signs = 0
    previous = ""  # the token directly before; "" after a space
    before = ""  # the last token, whether or not a space follows it
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            hint = HINTS.get(character, "only ASCII letters, digits and + - * / ( ) , . are read")
            raise FormulaError(f"{quoted(character)} in {quoted(text[position:])}: {hint}")
        token, kind = match.group(), match.lastgroup
        if kind == "number":
            _check_number(token)
        elif kind == "name":
            _check_name(token, previous)
        if kind != "space":
            if _ends_operand(before) and (kind in ("number", "name") or _multiplies(before, token)):
                raise FormulaError(
                    f"an operator is missing between {quoted(before)} and {quoted(token)}; "
                    "write * for a product"
                )
            signs = signs + 1 if token in ("+", "-") else 0
            if signs > MAX_SIGNS:
                raise FormulaError(f"more than {MAX_SIGNS} signs in a row")
            depth += (token == "(") - (token == ")")
            if depth > MAX_BRACKETS:
                raise FormulaError(f"brackets are nested deeper than {MAX_BRACKETS}")
            before = token
        previous = "" if kind == "space" else token
        position = match.end()


def _ends_operand(token: str) -> bool:
    return token == ")" or token[:1].isalnum() or token[:1] in ("_", ".")


def _multiplies(before: str, token: str) -> bool:
    """Return whether a bracket after this token would be a product (after a name it is a call)."""
    return token == "(" and not (before[:1].isalpha() or before[:1] == "_")


def _check_number(token: str) -> None:
    mantissa, _, exponent = token.lower().partition("e")
    if len(mantissa) > MAX_DIGITS or len(exponent) > 6 or abs(int(exponent or "0")) > MAX_DIGITS:
        raise FormulaError(f"the number {quoted(token)} has more than {MAX_DIGITS} digits")


def _check_name(token: str, previous: str) -> None:
    if keyword.iskeyword(token):
        raise FormulaError(f"{quoted(token)} is not allowed in a formula")
    if previous[:1].isdigit() or previous[:1] == ".":
        if token in ("j", "J"):
            raise FormulaError(f"complex numbers are not allowed: {quoted(previous + token)}")
        raise FormulaError(
            f"{quoted(previous + token)} is neither a number nor a name; write * for a product"
        )


class _Converter:
    """The conversion of Python's syntax tree, with an allow-list."""

    def __init__(self, text: str, variables: frozenset[str]) -> None:
        self.text = text
        self.variables = variables

    def convert(self, node: ast.expr, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise FormulaError(f"the formula is nested deeper than {MAX_NESTING}")
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.convert(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Apply("negative", (self.convert(operand, depth + 1),))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._chain(node, "+", (ast.Add, ast.Sub), "negative", depth)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._chain(node, "*", (ast.Mult, ast.Div), "inverse", depth)
            case ast.BinOp(op=ast.Pow(), left=base, right=exponent):
                pair = (self.convert(base, depth + 1), self.convert(exponent, depth + 1))
                return Apply("**", pair)
            case ast.Call():
                return self._call(node, depth)
        raise FormulaError(f"{self._source(node)} is not allowed in a formula")

    def _source(self, node: ast.expr) -> str:
        # the text is one line of ASCII, so byte offsets are character offsets
        return quoted(self.text[node.col_offset : node.end_col_offset])

    def _number(self, node: ast.Constant) -> Number:
        if type(node.value) not in (int, float):
            raise FormulaError(f"{self._source(node)} is not a number")
        # from the source text: the float 0.1 is not 1/10
        return Number(Fraction(self.text[node.col_offset : node.end_col_offset]))

    def _name(self, name: str) -> Name:
        if name in self.variables or name in CONSTANTS:
            return Name(name)
        if name in FUNCTIONS or name in ALIASES:
            raise FormulaError(f"the function {name} needs its argument: {name}(...)")
        known = sorted(self.variables | CONSTANTS.keys())
        allowed = ", ".join(known) if len(known) <= 12 else ", ".join(known[:12]) + ", ..."
        meant = did_you_mean(name, known)
        if not meant and len(self.variables) == 1:
            meant = f"; write the variable as {', '.join(self.variables)}"
        raise FormulaError(f"unknown name {quoted(name)}; known here: {allowed}{meant}")

    def _chain(
        self,
        node: ast.BinOp,
        operation: str,
        operators: tuple[type[ast.operator], type[ast.operator]],
        opposite: str,
        depth: int,
    ) -> Apply:
        """Return ``a + b - c`` as one node; a loop, since Python nests it to the left."""
        arguments: list[Node] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and isinstance(left.op, operators):
            right = self.convert(left.right, depth + 1)
            arguments.append(
                right if isinstance(left.op, operators[0]) else Apply(opposite, (right,))
            )
            left = left.left
        arguments.append(self.convert(left, depth + 1))
        arguments.reverse()
        first = arguments[0]
        if operation == "*" and isinstance(first, Apply) and first.operation == "negative":
            # Python reads -a*b as (-a)*b; people read -(a*b)
            arguments[0] = first.arguments[0]
            return Apply("negative", (Apply(operation, tuple(arguments)),))
        return Apply(operation, tuple(arguments))

    def _call(self, node: ast.Call, depth: int) -> Apply:
        if not isinstance(node.func, ast.Name):
            raise FormulaError(f"{self._source(node.func)} is not a function")
        typed = node.func.id
        name = ALIASES.get(typed, typed)
        if name not in FUNCTIONS:
            if typed in self.variables or typed in CONSTANTS:
                raise FormulaError(
                    f"{quoted(typed)} is not a function; write * for a product: {typed}*(...)"
                )
            close = difflib.get_close_matches(typed[:40], [*FUNCTIONS, *ALIASES], n=1)
            hint = f"; did you mean {close[0]}?" if close else "; known: " + ", ".join(FUNCTIONS)
            raise FormulaError(f"unknown function {quoted(typed)}{hint}")
        if node.keywords:
            raise FormulaError(f"{typed} takes no keyword arguments")
        wanted = FUNCTIONS[name].arguments
        if len(node.args) != wanted:
            raise FormulaError(
                f"{typed} takes {wanted} argument{'s' * (wanted > 1)}, not {len(node.args)}: "
                f"{self._source(node)}"
            )
        return Apply(name, tuple(self.convert(argument, depth + 1) for argument in node.args))


def to_text(node: Node) -> str:
    """Return the text of a tree without blanks; reading it gives a tree of equal meaning.

    This is the form in which outputs echo what was understood: decimals appear as fractions.
    """
    return _text(node)[0]


_ATOM, _POWER, _PRODUCT, _SUM = 0, 1, 2, 3  # the binding of a text, loosest last


def _text(node: Node) -> tuple[str, int]:
    match node:
        case Number(value=value):
            return str(value), _ATOM if value.denominator == 1 else _PRODUCT
        case Name(name=name):
            return name, _ATOM
        case Apply(operation="+", arguments=arguments):
            return _joined(arguments, "negative", "+", "-", _PRODUCT), _SUM
        case Apply(operation="*", arguments=arguments):
            return _joined(arguments, "inverse", "*", "/", _POWER), _PRODUCT
        case Apply(operation="negative", arguments=(argument,)):
            return "-" + _within(argument, _PRODUCT), _SUM
        case Apply(operation="inverse", arguments=(argument,)):
            return "1/" + _within(argument, _POWER), _PRODUCT
        case Apply(operation="**", arguments=(base, exponent)):
            return f"{_within(base, _ATOM)}**{_within(exponent, _ATOM)}", _POWER
        case Apply(operation=function, arguments=arguments):
            return f"{function}({','.join(to_text(a) for a in arguments)})", _ATOM


def _within(node: Node, loosest: int) -> str:
    text, binding = _text(node)
    return text if binding <= loosest else f"({text})"


def _joined(
    arguments: tuple[Node, ...], opposite: str, sign: str, opposite_sign: str, loosest: int
) -> str:
    """Return terms or factors in a row, with brackets after the opposite sign: a-(b+c)."""
    first, *rest = arguments
    parts = [_within(first, _PRODUCT)]  # a leading product needs no bracket in sum or product
    if isinstance(first, Apply) and first.operation == "negative" and sign == "+":
        parts = [_text(first)[0]]
    for argument in rest:
        if isinstance(argument, Apply) and argument.operation == opposite:
            parts.append(opposite_sign + _within(argument.arguments[0], loosest))
        else:
            parts.append(sign + _within(argument, loosest))
    return "".join(parts)
