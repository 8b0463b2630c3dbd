"""The functions of a solver module as syntax trees, with the meanings of their names.

The text is run with a stand-in for numba's decorator, so that constants are computed and
``specialised`` makes its function; nothing is compiled.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from symderiv.compiled_code.translation.ir_values import UntranslatableError

_ORDER = ("nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "fast")


@dataclass(frozen=True)
class FromRuntime:
    """A function that modules import from ``runtime.py``."""

    name: str


@dataclass(frozen=True)
class FromElsewhere:
    """A function whose code is linked, by its symbol there; it returns nothing."""

    symbol: str


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """A function that is to be compiled.

    Attributes:
        function: The Python function.
        node: Its syntax tree.
        flags: LLVM's flags for arithmetic with doubles.
    """

    function: FunctionType
    node: ast.FunctionDef
    flags: str

    @classmethod
    def of(cls, function: FunctionType) -> FunctionSource:
        """Return a function of Python, whose text is at hand; arithmetic is done as written."""
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
        assert isinstance(node, ast.FunctionDef)
        return cls(function, node, "")

    def __call__(self, *arguments: Any) -> Any:
        """Run the function in Python, as modules do to compute constants."""
        return self.function(*arguments)

    def named(self, name: str) -> Any:
        """Return the meaning of a name that is not one of the function's own variables.

        Raises:
            UntranslatableError: There is no such thing.
        """
        code, cells = self.function.__code__, self.function.__closure__ or ()
        if name in code.co_freevars:
            return cells[code.co_freevars.index(name)].cell_contents
        for scope in (self.function.__globals__, vars(builtins)):
            if name in scope:
                return scope[name]
        raise UntranslatableError(f"the name {name!r}")

    def named_within(self, name: str) -> FunctionSource:
        """Return a function by its name, which this one or a function that it calls uses.

        Raises:
            UntranslatableError: None does.
        """
        waiting, seen = [self], {self.node.name}
        while waiting:
            source = waiting.pop()
            for each in source.function.__code__.co_names:
                value = source.function.__globals__.get(each)
                if isinstance(value, FunctionSource) and each not in seen:
                    if each == name:
                        return value
                    seen.add(each)
                    waiting.append(value)
        raise UntranslatableError(f"no function {name}")


def module_names(text: str, has_runtime: bool = True) -> dict[str, Any]:
    """Return the meanings of the names of a module, functions as :class:`FunctionSource`.

    Args:
        text: The text of the module, printed by this engine.
        has_runtime: Whether it may import from a ``runtime.py``.
    """
    nodes = {
        (node.name, min((each.lineno for each in node.decorator_list), default=node.lineno)): node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }

    def njit(*_: Any, **options: Any) -> Callable[[FunctionType], FunctionSource]:
        def decorate(function: FunctionType) -> FunctionSource:
            code: CodeType = function.__code__
            node = nodes[code.co_name, code.co_firstlineno]
            return FunctionSource(function, node, _flags(options.get("fastmath", False)))

        return decorate

    def imported(
        name: str, _: object = None, __: object = None, wanted: Any = (), level: int = 0
    ) -> Any:
        if level and has_runtime and name == "runtime":
            own = {each: FromRuntime(each) for each in wanted or () if each != "DIGEST"}
            return SimpleNamespace(**own, DIGEST=0)
        known = {"math": math, "numpy": np, "numba": SimpleNamespace(njit=njit)}
        if level or name not in known:
            raise UntranslatableError(f"the import of {name}")
        return known[name]

    scope = {
        "__name__": "translated",
        "__builtins__": {**vars(builtins), "__import__": imported},
    }
    exec(compile(text, "<solver module>", "exec"), scope)  # safe: printed by this engine
    return scope


def _flags(fastmath: Any) -> str:
    """Return numba's ``fastmath`` option as LLVM's flags."""
    chosen = {"fast"} if fastmath is True else set(fastmath or ())
    return "".join(f"{word} " for word in _ORDER if word in chosen)


def assigned_names(node: ast.FunctionDef) -> Iterator[str]:
    """Yield the names of variables, once for each assignment in a function."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
