"""The check of names that every program passes before it is printed.

A scope is the body of a function, of a loop, of a block or of a case. In every scope

- a scalar is assigned once on every path, and read only afterwards; assignments of an inner scope
  are not visible outside of it, unless all cases of a distinction make them;
- an accumulator is started, then increased where it was started or further inside, and nothing
  else writes to it; the pass that declared it may start it again in the same scope;
- indices of loops and arguments are not assigned; a loop inside another has another index;
- arrays are declared; all names of a function differ from each other and from those of its module;
  local arrays are read after a statement that writes to them;
- every name comes from the register of names of the function.

The text of a whole module defines every name that its functions take from it.

A pass that breaks one of these rules would print a program that runs and gives wrong numbers.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.loops import (
    Block,
    Conditional,
    Evaluate,
    Fill,
    Groups,
    Increase,
    Invoke,
    Loop,
    Node,
    Set,
    Start,
    expressions,
    names_in,
    target_name,
    writes,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.walk import calls_of

VALUE, INDEX, ACCUMULATOR = "value", "index", "accumulator"


@dataclass(frozen=True)
class Frame:
    """The environment of the body of a function.

    Args:
        where: The function, for messages.
        module: Names of the module: functions, constants, imports.
        scalars: Scalars with values at the start: arguments and sizes.
        inputs: Arrays that are only read.
        arrays: Arrays that are written: outputs and locals.
        names: The register of names of the function.
        result: The returned value.
    """

    where: str
    module: frozenset[str]
    scalars: tuple[str, ...]
    inputs: tuple[str, ...]
    arrays: tuple[str, ...]
    names: NamePool
    result: sp.Basic | None = None


def check_names(nodes: Sequence[Node], frame: Frame, after: str) -> None:
    """Raise an error unless the nodes keep the rules.

    Args:
        nodes: The body of a function.
        frame: The environment of the body.
        after: The pass that produced the nodes, for messages.

    Raises:
        ProgramError: A rule is broken; the message names the function, the pass and the name.
    """
    walk = _Walk(frame, f"{frame.where}, after the pass {after!r}")
    walk.declared()
    walk.body(nodes)
    if frame.result is not None:
        walk.read(frame.result)


def check_text(text: str, module: frozenset[str], where: str) -> None:
    """Raise an error if a variable of a function given as text hides a name of its module.

    Raises:
        ProgramError: A variable does.
    """
    (function,) = ast.parse(text).body
    for node in ast.walk(function):
        name = node.arg if isinstance(node, ast.arg) else None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            name = node.id
        if name in module:
            raise ProgramError(
                f"{where}, after the pass 'template': {name!r} has the name of a function, "
                "constant or import of the module"
            )


def check_globals(code: str, where: str) -> None:
    """Raise an error unless the code of a module defines every name that its functions take from
    it.

    Raises:
        ProgramError: A name is missing; otherwise this would only show when the function first
            runs.
    """
    module = symtable.symtable(code, where, "exec")
    defined = {each.get_name() for each in module.get_symbols() if _is_defined(each)}
    defined |= set(vars(builtins))
    pending = [module]
    while pending:
        scope = pending.pop()
        pending += scope.get_children()
        for each in scope.get_symbols():
            known = each.get_name() in defined or not (each.is_global() or scope is module)
            if each.is_referenced() and not known:
                raise ProgramError(
                    f"{where}: {each.get_name()!r} is used in {scope.get_name()!r} and is "
                    "not a function, constant or import of the module"
                )


def _is_defined(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


@dataclass
class _Scope:
    """The scalars of a scope by their kinds, and names used in earlier inner scopes."""

    names: dict[str, str] = field(default_factory=dict)
    past: set[str] = field(default_factory=set)
    # The loop that has this scope as its body.
    loop: Loop | None = None


class _Walk:
    """A walk through the nodes in the order in which they run."""

    def __init__(self, frame: Frame, where: str) -> None:
        self._frame = frame
        self._where = where
        self._scopes = [_Scope(dict.fromkeys(frame.scalars, INDEX))]
        self._written = set(frame.inputs)
        self._arrays = {*frame.inputs, *frame.arrays}

    def declared(self) -> None:
        """Require that the initial names differ from each other and from the module's."""
        seen: set[str] = set()
        frame = self._frame
        for name in (*frame.scalars, *frame.inputs, *frame.arrays):
            if name in seen:
                raise self._error(name, "is the name of two arrays or arguments")
            self._new(name)
            seen.add(name)

    def body(self, nodes: Iterable[Node]) -> None:
        """Check the nodes of a scope."""
        for node in nodes:
            self._node(node)

    def read(self, expression: sp.Basic) -> None:
        """Require that everything an expression reads has a value."""
        for name in sorted(names_in(expression)):
            self._known(name)
        for call in calls_of(expression):
            if str(call.func) not in self._frame.module:
                raise self._error(str(call.func), "is called and is not a function of the module")

    # Statements.

    def _node(self, node: Node) -> None:
        for expression in () if isinstance(node, Conditional) else expressions(node):
            self.read(expression)
        if isinstance(node, Set):
            self._set(node)
        elif isinstance(node, Increase):
            self._increase(str(node.target))
        elif isinstance(node, Loop):
            self._inside(node.body, [node.index], node)
        elif isinstance(node, Block):
            self._inside(node.body, [node.first, node.last])
        elif isinstance(node, Groups):
            self._inside(node.body, [node.group, node.begin])
        elif isinstance(node, Conditional):
            self._branch(node)
        elif isinstance(node, Fill):
            self._fill(node)
        elif isinstance(node, Invoke):
            self._invoke(node)
        elif isinstance(node, Evaluate):
            for array in node.arrays:
                self._known(array)
            for array in (*node.arrays, *node.scratch):
                self._write(array)

    def _set(self, node: Set) -> None:
        name = target_name(node.target)
        if isinstance(node.target, sp.Indexed):
            self._write(name)
            for index in node.target.indices:
                self.read(index)
        elif isinstance(node, Start) and node.again:
            if self._scopes[-1].names.get(name) != ACCUMULATOR:
                raise self._error(name, "is started again where it was not started")
        else:
            self._define(name, ACCUMULATOR if isinstance(node, Start) else VALUE)

    def _increase(self, name: str) -> None:
        kind = self._kind(name)
        if kind is None:
            raise self._error(name, "is increased before it is started")
        if kind != ACCUMULATOR:
            raise self._error(name, "is increased and is not a started accumulator")

    def _branch(self, node: Conditional) -> None:
        """Check all cases; names and arrays that every case of a complete distinction assigns are
        visible afterwards.
        """
        before = set(self._written)
        known: list[set[str]] = []
        written: list[set[str]] = []
        first = node.cases[0][0]
        for number, (condition, nodes) in enumerate(node.cases):
            self.read(condition)
            self._written = set(before)
            if number:
                self._written |= self._written_in_earlier_iterations(first)
            with self._scope() as scope:
                self.body(nodes)
            known.append({name for name, kind in scope.names.items() if kind != INDEX})
            written.append(self._written)
        self._written = before
        if node.cases[-1][0] == sp.true:
            self._written |= set.intersection(*written)
            for name in sorted(set.intersection(*known)):
                self._scopes[-1].past.discard(name)
                self._scopes[-1].names[name] = VALUE

    def _written_in_earlier_iterations(self, first: sp.Basic) -> set[str]:
        """Return arrays that an enclosing loop has written in earlier iterations, if its index is
        known not to be the first.
        """
        for scope in reversed(self._scopes):
            if scope.loop is not None and first == sp.Eq(scope.loop.index, scope.loop.start):
                return writes(scope.loop) & self._arrays
        return set()

    def _fill(self, node: Fill) -> None:
        if not node.array.shape:
            self._define(node.array.name, VALUE)
            return
        for size in node.array.shape:
            self._known(size)
        with self._scope() as scope:
            for index in node.indices:
                self._define(str(index), INDEX)
            scope.names.clear()
        self._write(node.array.name)

    def _invoke(self, node: Invoke) -> None:
        if node.procedure not in self._frame.module:
            raise self._error(node.procedure, "is called and is no procedure of the module")
        for name in node.arguments:
            if name in node.written:
                self._write(name)
            else:
                self._known(name)
        if node.result is not None:
            self._define(node.result, VALUE)

    # Names.

    def _inside(
        self, nodes: Iterable[Node], indices: Sequence[sp.Symbol], loop: Loop | None = None
    ) -> None:
        with self._scope(loop):
            for index in indices:
                self._define(str(index), INDEX)
            self.body(nodes)

    @contextmanager
    def _scope(self, loop: Loop | None = None) -> Iterator[_Scope]:
        inner = _Scope(loop=loop)
        self._scopes.append(inner)
        yield inner
        self._scopes.pop()
        assigned = {name for name, kind in inner.names.items() if kind != INDEX}
        self._scopes[-1].past |= assigned | inner.past

    def _kind(self, name: str) -> str | None:
        return next((s.names[name] for s in reversed(self._scopes) if name in s.names), None)

    def _known(self, name: str) -> None:
        if name in self._arrays:
            if name not in self._written:
                raise self._error(name, "is read before it is assigned")
        elif self._kind(name) is None and name not in self._frame.module:
            raise self._error(name, "is read before it is assigned")

    def _define(self, name: str, kind: str) -> None:
        found = self._kind(name)
        if found == INDEX:
            raise self._error(name, "is assigned and is an argument, a size or an index")
        if found is not None:
            raise self._error(name, "is assigned twice")
        if name in self._arrays:
            raise self._error(name, "is assigned and is the name of an array")
        if kind != INDEX and name in self._scopes[-1].past:
            raise self._error(name, "is assigned in a scope and in one inside of it")
        self._new(name)
        self._scopes[-1].names[name] = kind

    def _write(self, name: str) -> None:
        if name in self._frame.inputs:
            raise self._error(name, "is an argument and is written")
        if name not in self._frame.arrays:
            raise self._error(name, "is written and is not a declared array")
        self._written.add(name)

    def _new(self, name: str) -> None:
        if name in self._frame.module:
            raise self._error(name, "has the name of a function, constant or import of the module")
        if name not in self._frame.names:
            raise self._error(name, "does not come from the register of names")

    def _error(self, name: str, what: str) -> ProgramError:
        return ProgramError(f"{self._where}: {name!r} {what}")
