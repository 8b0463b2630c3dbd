"""Small changes of Python source, each at one place.

Changed are arithmetic (other operator, dropped term or factor, dropped minus), numbers (one more,
one less, doubled), indices and ranges (off by one), comparisons, conditions (negated, removed),
pairs of functions such as min and max, arguments (exchanged where their order matters, a keyword
left out), and statements (left out). Left out on purpose, because a change there is no change of
what is computed: docstrings and all other text (names, messages, formulas as LaTeX, f-strings),
what is raised and asserted, annotations, decorators, imports, ``__all__``, ``__repr__``, and calls
that tell the reader something (logging, notices, steps of a derivation).
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

__all__ = ["Mutant", "changed_text", "is_change", "mutants"]


@dataclass(frozen=True)
class Mutant:
    """A change at one place.

    Args:
        file: Path relative to the project.
        function: Dotted name of what holds the place; empty at module level.
        operator: Kind of change.
        before, after: Text of the place, blanks and line ends as one blank.
        occurrence: Number of the place among equal ones in the function.
        span: First line, first column, last line, last column; columns in bytes, lines from 1.
        statement: First and last line of the statement's part that holds the place.
        replacement: What is written there.
    """

    file: str
    function: str
    operator: str
    before: str
    after: str
    occurrence: int
    span: tuple[int, int, int, int]
    statement: tuple[int, int]
    replacement: str

    @property
    def identity(self) -> str:
        """Sixteen digits that stay the same while lines move."""
        parts = self.file, self.function, self.operator, self.before, self.after, self.occurrence
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """For the results."""
        kept = asdict(self)
        kept["line"] = self.span[0]
        for name in ("span", "statement", "replacement"):
            del kept[name]
        return {"id": self.identity, **kept}


def changed_text(source: str, mutant: Mutant) -> str:
    """The source with the change made."""
    first, start, last, end = mutant.span
    lines = source.encode().splitlines(keepends=True)
    head = b"".join(lines[: first - 1]) + lines[first - 1][:start]
    tail = lines[last - 1][end:] + b"".join(lines[last:])
    return (head + mutant.replacement.encode() + tail).decode()


def mutants(file: str, source: str) -> list[Mutant]:
    """All changes of a file in the order of their places; see :func:`is_change`."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return finder.found


def is_change(source: str, mutant: Mutant) -> bool:
    """Whether the changed source still is Python, and says something else.

    Not asked of all changes at once: reading a file anew for each takes minutes.
    """
    try:
        tree = ast.parse(changed_text(source, mutant))
    except SyntaxError:
        return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


_ARITHMETIC: Final[dict[type[ast.operator], tuple[str, ...]]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("/",),
    ast.Div: ("*",),
    ast.FloorDiv: ("*",),
    ast.Mod: ("*",),
    ast.Pow: ("*",),
    ast.BitAnd: ("|",),
    ast.BitOr: ("&",),
    ast.LShift: (">>",),
    ast.RShift: ("<<",),
}

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, ...]]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}

_PAIRS: Final = {
    name: other
    for pair in (
        ("min", "max"),
        ("any", "all"),
        ("floor", "ceil"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("zeros", "ones"),
        ("sin", "cos"),
        ("lower", "upper"),
        ("amin", "amax"),
        ("nanmin", "nanmax"),
        ("union", "intersection"),
    )
    for name, other in (pair, pair[::-1])
}

#: Functions that do not depend on the order of their arguments.
_SYMMETRIC: Final = {"gcd", "hypot", "isclose", "max", "maximum", "min", "minimum"}

#: Names of types: a name for one of their forms computes nothing.
_TYPES: Final = {
    "Annotated",
    "Callable",
    "Iterator",
    "Literal",
    "Sequence",
    "dict",
    "frozenset",
    "list",
    "tuple",
}

#: Calls whose arguments are words for the reader.
_TELLS: Final = {
    "add_step",
    "debug",
    "info",
    "log",
    "narrate",
    "notice",
    "print",
    "told",
    "tell_once",
    "warn",
    "warning",
    "Step",
}
_TELLING_OBJECTS: Final = {"log", "logger", "logging", "narration", "narrator"}

_Place = tuple[int, int, int, int]


def _place(node: Any) -> _Place:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class _Finder(ast.NodeVisitor):
    """Collects changes; ``visit_*`` decide where, the ``_*`` generators decide what."""

    def __init__(self, file: str, source: str) -> None:
        self.file, self.lines = file, source.encode().splitlines(keepends=True)
        self.found: list[Mutant] = []
        self._names: list[str] = []
        self._statement = (1, 1)
        self._counts: dict[tuple[str, ...], int] = {}

    # places

    def _text(self, place: _Place) -> str:
        first, start, last, end = place
        if first == last:
            return self.lines[first - 1][start:end].decode()
        middle = self.lines[first : last - 1]
        parts = [self.lines[first - 1][start:], *middle, self.lines[last - 1][:end]]
        return b"".join(parts).decode()

    def _add(self, operator: str, node: Any, replacement: str, place: _Place | None = None) -> None:
        place = place or _place(node)
        function = ".".join(self._names)
        before, after = " ".join(self._text(place).split()), " ".join(replacement.split())
        if before == after:
            return
        key = function, operator, before, after
        occurrence = self._counts.get(key, 0)
        self._counts[key] = occurrence + 1
        self.found.append(
            Mutant(
                self.file,
                function,
                operator,
                before,
                after,
                occurrence,
                place,
                self._statement,
                replacement,
            )
        )

    def _say(self, operator: str, node: ast.expr, changed: ast.expr) -> None:
        self._add(operator, node, f"({ast.unparse(changed)})")

    # what is walked

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            outer = self._statement
            self._statement = _header(node)
            self._visit_statement(node)
            self._statement = outer
        elif isinstance(node, ast.expr):
            self._visit_expression(node)
        else:
            self.generic_visit(node)

    def _visit_statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name in ("__repr__", "__str__"):
                return
            self._names.append(node.name)
            if not isinstance(node, ast.ClassDef):
                for default in [*node.args.defaults, *node.args.kw_defaults]:
                    if default is not None:
                        self.visit(default)
            self._body(node.body)
            self._names.pop()
        elif _for_readers(node):
            return
        else:
            for operator, replacement in _statements(node):
                self._add(operator, node, replacement)
            if isinstance(node, ast.AnnAssign):
                if node.value is not None:
                    self.visit(node.value)
                return
            for field, value in ast.iter_fields(node):
                if field in ("body", "orelse", "finalbody") and isinstance(value, list):
                    self._body(value)
                elif isinstance(value, list):
                    for each in value:
                        self.visit(each)
                elif isinstance(value, ast.AST):
                    self.visit(value)
            self._conditions(node)

    def _body(self, body: list[Any]) -> None:
        for each in body:
            self.visit(each)

    def _conditions(self, node: ast.stmt) -> None:
        if isinstance(node, ast.If):
            # a branch that only raises goes with its condition
            self._add("condition", node.test, f"(not ({self._text(_place(node.test))}))")
            if len(node.body) != 1 or not isinstance(node.body[0], ast.Raise):
                self._add("branch", node.test, "True")
            self._add("branch", node.test, "False")
        elif isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            self._add("branch", node.test, "False")
        elif isinstance(node, ast.AugAssign):
            self._augmented(node)

    def _augmented(self, node: ast.AugAssign) -> None:
        target, value = ast.unparse(node.target), ast.unparse(node.value)
        if _is_text(node.value):
            return
        for symbol in _ARITHMETIC.get(type(node.op), ()):
            self._add("arithmetic", node, f"{target} {symbol}= {value}")
        self._add("overwritten", node, f"{target} = {value}")

    def _visit_expression(self, node: ast.expr) -> None:
        if isinstance(node, ast.JoinedStr) or _is_text(node):
            return
        if isinstance(node, ast.Call) and _tells(node):
            return
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "cast"):
            # the other argument is a type
            self.visit(node.args[0 if node.func.id == "isinstance" else 1])
            return
        for kind, changes in _EXPRESSIONS.items():
            if isinstance(node, kind):
                for operator, changed in changes(node):
                    self._say(operator, node, changed)
        if isinstance(node, ast.Call):
            # zip(strict=True) asserts, it does not compute
            node.keywords = [k for k in node.keywords if k.arg != "strict"]
        self.generic_visit(node)


def _header(node: ast.stmt) -> tuple[int, int]:
    """Lines of a statement without the statements inside."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body:
        return node.lineno, max(node.lineno, body[0].lineno - 1)
    return node.lineno, node.end_lineno or node.lineno


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _has_text(node: ast.expr) -> bool:
    """Whether a sum or product is one of texts."""
    return any(_is_text(n) or isinstance(n, ast.JoinedStr) for n in ast.walk(node))


def _tells(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return node.func.id in _TELLS
    if isinstance(node.func, ast.Attribute):
        value = node.func.value
        owner = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
        return node.func.attr in _TELLS or owner.strip("_") in _TELLING_OBJECTS
    return False


def _for_readers(node: ast.stmt) -> bool:
    """Statements that compute nothing, or only what is said."""
    names = ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal
    if isinstance(node, names | ast.Raise | ast.Assert):
        return True
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, ast.Expr):
        return _is_text(node.value) or _tells(node.value)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value
        if isinstance(value, ast.Subscript) and getattr(value.value, "id", "") in _TYPES:
            return True
        return any(isinstance(t, ast.Name) and t.id in ("__all__", "__slots__") for t in targets)
    return False


def _statements(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Whole statements that can be left out."""
    if isinstance(node, ast.AugAssign):
        droppable = not _is_text(node.value)
    elif isinstance(node, ast.Expr):
        droppable = isinstance(node.value, ast.Call)
    elif isinstance(node, ast.Assign):
        # x = f(x): the name exists without it
        used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        droppable = all(
            isinstance(t, ast.Subscript | ast.Attribute) or getattr(t, "id", "") in used
            for t in node.targets
        )
    else:
        droppable = isinstance(node, ast.Continue | ast.Break)
    if droppable:
        yield "dropped", "pass"


_Changes = Iterator[tuple[str, ast.expr]]


def _binary(node: ast.BinOp) -> _Changes:
    if _has_text(node.left) or _has_text(node.right):
        return
    if isinstance(node.op, ast.MatMult):
        yield "order", ast.BinOp(node.right, ast.MatMult(), node.left)
        return
    for symbol in _ARITHMETIC.get(type(node.op), ()):
        operator = ast.parse(f"a {symbol} b", mode="eval").body
        assert isinstance(operator, ast.BinOp)
        yield "arithmetic", ast.BinOp(node.left, operator.op, node.right)
    if isinstance(node.op, ast.Add | ast.Mult):
        yield "dropped", node.left
        yield "dropped", node.right
    elif isinstance(node.op, ast.Sub | ast.Div):
        yield "dropped", node.left


def _unary(node: ast.UnaryOp) -> _Changes:
    if isinstance(node.op, ast.USub | ast.Not):
        yield "sign" if isinstance(node.op, ast.USub) else "condition", node.operand


def _constant(node: ast.Constant) -> _Changes:
    value = node.value
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int):
        yield "constant", ast.Constant(value + 1)
        if value > 0:
            yield "constant", ast.Constant(value - 1)
    elif isinstance(value, float):
        yield "constant", ast.Constant(2 * value if value else 1.0)


def _comparison(node: ast.Compare) -> _Changes:
    for number, operator in enumerate(node.ops):
        for symbol in _COMPARISONS[type(operator)]:
            parsed = ast.parse(f"a {symbol} b", mode="eval").body
            assert isinstance(parsed, ast.Compare)
            ops = [*node.ops[:number], parsed.ops[0], *node.ops[number + 1 :]]
            yield "comparison", ast.Compare(node.left, ops, node.comparators)


def _boolean(node: ast.BoolOp) -> _Changes:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "condition", ast.BoolOp(other, node.values)
    for number in range(len(node.values)):
        left = [*node.values[:number], *node.values[number + 1 :]]
        yield "dropped", left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def _choice(node: ast.IfExp) -> _Changes:
    if not _has_text(node.body) and not _has_text(node.orelse):
        yield "branch", node.body
        yield "branch", node.orelse


def _call(node: ast.Call) -> _Changes:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _PAIRS:
        other = _PAIRS[name]
        function: ast.expr = ast.Name(other, ast.Load())
        if isinstance(node.func, ast.Attribute):
            function = ast.Attribute(node.func.value, other, ast.Load())
        yield "function", ast.Call(function, node.args, node.keywords)
    plain = [a for a in node.args if not isinstance(a, ast.Starred) and not _is_text(a)]
    if name == "range" and len(plain) == len(node.args):
        low, high, *step = plain if len(plain) > 1 else [ast.Constant(0), *plain]
        yield "index", _called(node, [_plus(low, 1), high, *step])
        yield "index", _called(node, [low, _plus(high, -1), *step])
    elif len(plain) >= 2 and len(plain) == len(node.args) and name not in _SYMMETRIC:
        for i in range(len(plain) - 1):
            args = list(node.args)
            args[i], args[i + 1] = args[i + 1], args[i]
            if ast.unparse(args[i]) != ast.unparse(args[i + 1]):
                yield "arguments", _called(node, args)
    for number, keyword in enumerate(node.keywords):
        if keyword.arg not in (None, "strict") and not _has_text(keyword.value):
            rest = [*node.keywords[:number], *node.keywords[number + 1 :]]
            yield "arguments", ast.Call(node.func, node.args, rest)


def _called(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, args, node.keywords)


def _plus(node: ast.expr, step: int) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + step)
    return ast.BinOp(node, ast.Add() if step > 0 else ast.Sub(), ast.Constant(1))


def _subscript(node: ast.Subscript) -> _Changes:
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    for number, part in enumerate(parts):
        for changed in _shifted(part):
            inside = [*parts[:number], changed, *parts[number + 1 :]]
            index = inside[0] if len(inside) == 1 else ast.Tuple(inside, ast.Load())
            yield "index", ast.Subscript(node.value, index, node.ctx)
    if len(parts) == 2 and all(isinstance(p, ast.Name) for p in parts):
        both = ast.Tuple(parts[::-1], ast.Load())
        yield "order", ast.Subscript(node.value, both, node.ctx)


def _shifted(part: ast.expr) -> Iterator[ast.expr]:
    """An index or an end of a slice off by one; numbers are changed as such."""
    if isinstance(part, ast.Name | ast.BinOp) and not _has_text(part):
        yield _plus(part, -1)
    elif isinstance(part, ast.Slice):
        for end in ("lower", "upper"):
            value = getattr(part, end)
            if isinstance(value, ast.Name | ast.BinOp):
                ends = {"lower": part.lower, "upper": part.upper, "step": part.step}
                yield ast.Slice(**{**ends, end: _plus(value, -1)})


def _comprehension(node: Any) -> _Changes:
    for number, generator in enumerate(node.generators):
        if generator.ifs:
            free = ast.comprehension(generator.target, generator.iter, [], generator.is_async)
            generators = [*node.generators[:number], free, *node.generators[number + 1 :]]
            fields = {**dict(ast.iter_fields(node)), "generators": generators}
            yield "condition", type(node)(**fields)


_EXPRESSIONS: Final[dict[Any, Callable[[Any], _Changes]]] = {
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Constant: _constant,
    ast.Compare: _comparison,
    ast.BoolOp: _boolean,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.Subscript: _subscript,
    (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp): _comprehension,
}
