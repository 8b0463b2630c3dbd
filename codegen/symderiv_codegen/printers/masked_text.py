"""Functions given as text, for several runs at a time: branches become choices lane by lane.

The body of a branch on numbers is computed if any run needs it, and kept in those runs only;
returns inside of branches become the last statement. Loops must be the same for all runs: a
function with another loop, or with numbers as indices, has no such form.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.printers.docstrings import docstring
from symderiv_codegen.printers.lines import Bracket, Text, statement


class OneByOneError(Exception):
    """The error for texts that differ from run to run in a way that masks do not express."""


OF_ONE = "_of_one"
"""The suffix of functions of one run that are called run by run."""
_WIDTH = 8


def for_lanes(
    texts: Sequence[str],
    wanted: Iterable[str],
    written: frozenset[str],
    singles: Callable[[set[str]], Sequence[str]],
) -> list[str]:
    """Return the definitions for several runs at a time that the wanted names need.

    Args:
        texts: Constants and functions with their decorators, each after those that it uses.
        wanted: Names of functions.
        written: Names of functions that are written for several runs.
        singles: Returns the definitions for one run that given names need.
    """
    functions, constants = _sorted_out(texts)
    masked, alone = {}, set()
    needed, pending = set(), [name for name in wanted if name in functions]
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        needed.add(name)
        try:
            text = functions[name]
            masked[name] = text if name in written else masked_function(text)
        except OneByOneError:
            alone.add(name)
            continue
        pending += [other for other in _names(functions[name]) if other in functions]
    before: list[str] = []
    if alone:
        others, more = _sorted_out(singles(alone))
        constants += [each for each in more if each not in constants]
        before = [_renamed(text, set(others)) for text in others.values()]
        masked |= {name: _run_by_run(others[name]) for name in alone}
    found = [*before, *(masked[name] for name in functions if name in masked)]
    used = set().union(*map(_names, found)) if found else set()
    kept = list(reversed(_closed(constants, used)))
    return ["\n".join(kept)] * bool(kept) + found


@cache
def defined(text: str) -> frozenset[str]:
    """Return the names of the functions of a text."""
    return frozenset(n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))


def _sorted_out(texts: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return functions by name, and the lines that define constants."""
    functions: dict[str, str] = {}
    constants: list[str] = []
    for text in texts:
        for node in ast.parse(text).body:
            lines = text.splitlines()
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = text
            else:
                constants.append("\n".join(lines[node.lineno - 1 : node.end_lineno]))
    return functions, constants


def _closed(constants: Sequence[str], used: set[str]) -> list[str]:
    """Return definitions of used names and of all that they use, last ones first."""
    found = []
    for text in reversed(constants):
        if any(name in used for each in ast.parse(text).body for name in _assigned_to(each)):
            found.append(text)
            used |= _names(text)
    return found


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def _renamed(text: str, functions: set[str]) -> str:
    """Return a function of one run with a suffix in its name and in those of functions it calls."""
    for name in sorted(functions & {*_names(text), ast.parse(text).body[0].name}):  # type: ignore[attr-defined]
        text = re.sub(rf"\b{name}\b", name + OF_ONE, text)
    return text


def _run_by_run(text: str) -> str:
    """Return a function that calls the function of one run for each run."""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    if any(
        isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple) for n in ast.walk(function)
    ):
        raise ProgramError(f"{function.name!r} has no form for several runs at a time")
    names = [argument.arg for argument in function.args.args]
    decorators = [f"@{ast.unparse(each)}" for each in function.decorator_list]
    each = [Text(f"lane_of({name}, lane)") for name in names]
    call = Bracket(f"{function.name}{OF_ONE}(", tuple(each))
    return "\n".join(
        [
            *decorators,
            statement(f"def {function.name}", Bracket("(", tuple(map(Text, names)), "):"), 0),
            *docstring([f"{_first_line(function)} Run by run."]),
            f"    found = 0.0 * {names[0]}",
            f"    for lane in range({_WIDTH}):",
            statement("single = ", call, 8),
            "        found = with_lane(found, lane, single)",
            "    return found",
        ]
    )


def _first_line(function: ast.FunctionDef) -> str:
    text = ast.get_docstring(function) or ""
    return " ".join(text.split("\n\n")[0].split())


def masked_function(text: str) -> str:
    """Return the text of a function for several runs at a time.

    Raises:
        OneByOneError: The function has no such form.
    """
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    plain = ast.unparse(function)
    found = _Masking(function).text()
    return text if found == plain else found


class _Masking:
    """One function, with the names of values that differ from run to run."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self._function = function
        self._given = {argument.arg for argument in function.args.args}
        self._numbers = self._that_differ()
        self._taken = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}

    def text(self) -> str:
        """Return the function, with its decorators as they are."""
        function = self._function
        document, body = [], function.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            document, body = [body[0]], body[1:]
        early = any(_returns(each) for each in body[:-1]) or not isinstance(body[-1], ast.Return)
        if early and any(_returns(each) for each in body):
            found = self._fresh("found")
            body = [*_with_one_end(body, found), ast.Return(ast.Name(found))]
        known = set(self._given)
        function.body = [*document, *self._statements(body, known)]
        return ast.unparse(ast.fix_missing_locations(function))

    # Values that differ from run to run.

    def _that_differ(self) -> set[str]:
        """Return names of values that may differ: all that are not made of sizes and counters."""
        same = {
            name.id
            for call in ast.walk(self._function)
            if isinstance(call, ast.Call) and _called(call) == "range"
            for name in ast.walk(call)
            if isinstance(name, ast.Name)
        } & self._given
        differ = self._given - same
        while True:
            more = {
                name
                for statement in ast.walk(self._function)
                for name in _assigned_to(statement)
                if name not in differ and _differs(_value_of(statement), differ)
            }
            if not more:
                return differ
            differ |= more

    def _fresh(self, word: str) -> str:
        number, name = 1, word
        while name in self._taken:
            number += 1
            name = f"{word}_{number}"
        self._taken.add(name)
        return name

    # Statements.

    def _statements(self, body: Iterable[ast.stmt], known: set[str]) -> list[ast.stmt]:
        """Return statements for several runs; add to the names that are defined after them."""
        found: list[ast.stmt] = []
        for each in body:
            found += self._statement(each, known)
            known |= set(_assigned([each]))
        return found

    def _statement(self, node: ast.stmt, known: set[str]) -> list[ast.stmt]:
        if isinstance(node, ast.If) and _differs(node.test, self._numbers):
            return self._chosen(node, known)
        if isinstance(node, ast.If):
            test = self._expression(node.test)
            yes, no = (self._statements(part, set(known)) for part in (node.body, node.orelse))
            return [ast.If(test, yes, no)]
        if isinstance(node, ast.For):
            if _differs(node.iter, self._numbers):
                raise OneByOneError(self._function.name)
            node.body = self._statements(node.body, known)
            return [node]
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
            for place in getattr(node, "targets", []):
                self._expression(place)
            if node.value is not None:
                node.value = self._expression(node.value)
            return [node]
        raise OneByOneError(self._function.name)

    def _chosen(self, node: ast.If, known: set[str]) -> list[ast.stmt]:
        """Return both cases of a branch on numbers, each kept in the runs in which it holds."""
        when = self._fresh("when")
        found: list[ast.stmt] = [_set(when, self._expression(node.test))]
        first, second = _assigned(node.body), _assigned(node.orelse)
        # names defined in one case only are used in that case only
        both = [
            n for n in dict.fromkeys((*first, *second)) if n in known or {n} <= {*first} & {*second}
        ]
        if set(both) <= known:
            for part, names, holds in (
                (node.body, first, ast.Name(when)),
                (node.orelse, second, _call("negated", ast.Name(when))),
            ):
                if part:
                    kept = [name for name in names if name in known]
                    found.append(self._kept_where(part, kept, holds, known))
            return found
        before = {n: self._fresh(f"{n}_before") for n in both if n in known}
        found += [_set(other, ast.Name(name)) for name, other in before.items()]
        found += self._statements(node.body, set(known))
        each = {n: self._fresh(f"{n}_there") for n in both}
        found += [_set(other, ast.Name(name)) for name, other in each.items()]
        found += [_set(name, ast.Name(other)) for name, other in before.items()]
        found += self._statements(node.orelse, set(known))
        for name, other in each.items():
            found.append(_set(name, _call("chosen", *map(ast.Name, (when, other, name)))))
        return found

    def _kept_where(
        self, body: Sequence[ast.stmt], names: Sequence[str], holds: ast.expr, known: set[str]
    ) -> ast.stmt:
        """Return statements that run if any run needs them and leave the other runs unchanged."""
        before = {name: self._fresh(f"{name}_before") for name in names}
        inside = [_set(other, ast.Name(name)) for name, other in before.items()]
        inside += self._statements(body, set(known))
        for name, other in before.items():
            inside.append(_set(name, _call("chosen", holds, ast.Name(name), ast.Name(other))))
        return ast.If(_call("any_lane", holds), inside, [])

    # Expressions.

    def _expression(self, node: ast.expr) -> ast.expr:
        found: ast.expr = _Choices(self._numbers, self._function.name).visit(node)
        return found


class _Choices(ast.NodeTransformer):
    """A transformer of conditional expressions and compound conditions on numbers, lane by lane."""

    def __init__(self, numbers: set[str], where: str) -> None:
        self._numbers, self._where = numbers, where

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        differs = _differs(node.test, self._numbers)
        test, body, other = (self.visit(each) for each in (node.test, node.body, node.orelse))
        return _call("chosen", test, body, other) if differs else ast.IfExp(test, body, other)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        differs = _differs(node, self._numbers)
        values = [self.visit(each) for each in node.values]
        if not differs:
            return ast.BoolOp(node.op, values)
        sign = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
        found: ast.expr = values[0]
        for each in values[1:]:
            found = ast.BinOp(found, sign, each)
        return found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        differs = isinstance(node.op, ast.Not) and _differs(node, self._numbers)
        operand = self.visit(node.operand)
        return _call("negated", operand) if differs else ast.UnaryOp(node.op, operand)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if len(node.ops) > 1:
            raise OneByOneError(self._where)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if _differs(node.slice, self._numbers) or isinstance(node.slice, ast.Slice):
            raise OneByOneError(self._where)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id == "np" and node.func.attr != "uint64":
                raise OneByOneError(self._where)
        elif _called(node) in ("min", "max") and len(node.args) > 2:
            found = node.args[0]
            for each in node.args[1:]:
                found = _call(_called(node), found, each)
            return found
        return node


def _with_one_end(body: Sequence[ast.stmt], found: str) -> list[ast.stmt]:
    """Return statements with returns as assignments: statements after a branch that returns move
    into its other case.
    """
    done: list[ast.stmt] = []
    for number, each in enumerate(body):
        if isinstance(each, ast.Return):
            assert each.value is not None
            return [*done, _set(found, each.value)]
        if isinstance(each, ast.If) and _returns(each):
            rest = list(body[number + 1 :])
            yes = _with_one_end([*each.body, *([] if _ends(each.body) else rest)], found)
            no = _with_one_end([*each.orelse, *([] if _ends(each.orelse) else rest)], found)
            return [*done, ast.If(each.test, yes, no)]
        if _returns(each):
            raise OneByOneError(found)
        done.append(each)
    return done


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Return whether every path through statements returns."""
    return bool(body) and (
        isinstance(body[-1], ast.Return)
        or (isinstance(body[-1], ast.If) and _ends(body[-1].body) and _ends(body[-1].orelse))
    )


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(each, ast.Return) for each in ast.walk(node))


def _assigned(body: Iterable[ast.stmt]) -> list[str]:
    """Return the names that statements assign to, in order."""
    return list(
        dict.fromkeys(
            name for each in body for inner in ast.walk(each) for name in _assigned_to(inner)
        )
    )


def _assigned_to(node: ast.AST) -> list[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.For):
        targets = [node.target]
    parts = (part for target in targets for part in _parts(target))
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _parts(target: ast.expr) -> Iterable[ast.expr]:
    """Yield the targets of an assignment, without indices."""
    if isinstance(target, ast.Tuple):
        for each in target.elts:
            yield from _parts(each)
    else:
        yield target.value if isinstance(target, ast.Subscript) else target


def _value_of(node: ast.AST) -> ast.expr:
    if isinstance(node, ast.For):
        return node.iter
    assert isinstance(node, ast.Assign | ast.AugAssign)
    value: ast.expr = node.value
    return value


def _differs(node: ast.expr, numbers: set[str]) -> bool:
    """Return whether an expression contains anything that differs from run to run."""
    if isinstance(node, ast.Attribute) and node.attr in ("size", "shape"):
        return False
    if isinstance(node, ast.Name):
        return node.id in numbers
    return any(_differs(each, numbers) for each in ast.iter_child_nodes(node))  # type: ignore[arg-type]


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name)], value)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name), list(arguments), [])
