"""Programs with other names for everything that their author named."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import sympy as sp
from symderiv_codegen import Array, Program, ScalarFunction, TableSum, Vector
from symderiv_codegen.ir.walk import array_name, subexpressions
from sympy.core.function import AppliedUndef

WORDS = frozenset({"doc", "title", "recipe", "equations", "latex", "comment"})


def names_of(thing: Any) -> set[str]:
    """Every name in a program (or part of one), by its author."""
    if isinstance(thing, sp.Basic):
        nodes = list(subexpressions(thing))
        found = {str(n) for n in nodes if isinstance(n, sp.Symbol | sp.Idx)}
        found |= {array_name(n) for n in nodes if isinstance(n, sp.Indexed)}
        return found | {n.func.__name__ for n in nodes if isinstance(n, AppliedUndef)}
    if isinstance(thing, tuple | list):
        return set().union(*(names_of(part) for part in thing))
    if not is_dataclass(thing):
        return set()
    own = {thing.name} if isinstance(thing, Array | ScalarFunction | TableSum | Vector) else set()
    if isinstance(thing, Program):
        own = {*thing.ranges, *thing.constants, *(p.name for p in thing.procedures)}
    parts = (getattr(thing, f.name) for f in fields(thing) if f.name not in WORDS)
    return own.union(*(names_of(part) for part in parts if not isinstance(part, str)))


def renamed(thing: Any, names: Mapping[str, str]) -> Any:
    """The same program (or part of one) with other names."""
    if isinstance(thing, str):
        return names.get(thing, thing)
    if isinstance(thing, sp.Basic):
        return _expression(thing, names)
    if isinstance(thing, tuple | list):
        return type(thing)(renamed(part, names) for part in thing)
    if isinstance(thing, Mapping):
        return {names.get(key, key): value for key, value in thing.items()}
    if not is_dataclass(thing):
        return thing
    parts = {f.name: getattr(thing, f.name) for f in fields(thing) if f.name not in WORDS}
    return replace(thing, **{name: renamed(part, names) for name, part in parts.items()})


def _expression(node: sp.Basic, names: Mapping[str, str]) -> sp.Basic:
    if isinstance(node, sp.Idx):
        return sp.Idx(
            _expression(node.label, names), tuple(_expression(e, names) for e in node.args[1])
        )
    if isinstance(node, sp.Symbol):
        return sp.Symbol(names.get(str(node), str(node)), **node._assumptions_orig)
    if isinstance(node, sp.Indexed):
        base = sp.IndexedBase(names.get(array_name(node), array_name(node)))
        return base[tuple(_expression(index, names) for index in node.indices)]
    if not node.args:
        return node
    arguments = [_expression(argument, names) for argument in node.args]
    if isinstance(node, AppliedUndef):
        name = node.func.__name__
        return sp.Function(names.get(name, name))(*arguments)
    return node.func(*arguments)
