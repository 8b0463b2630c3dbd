"""Procedures in place of their calls, so that one function holds a whole computation.

Compilers also inline, but later: a function inlined here is compiled once, with known sizes, and
not once for itself and again for every caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.walk import array_name


def with_inner_locals(procedure: Procedure, program: Program) -> Procedure:
    """Return the procedure with the local arrays of all procedures that it calls added to
    its own.
    """
    found: dict[str, Array] = {}

    def collect(caller: Procedure) -> None:
        for step in caller.body:
            if not isinstance(step, Call):
                continue
            called = program.procedure(step.procedure)
            assert called is not None
            for array in called.locals:
                if array.name in procedure.arrays or found.get(array.name, array) != array:
                    raise ProgramError(
                        f"procedure {called.name!r}: its local {array.name!r} has the name of "
                        f"another array of {procedure.name!r}, into which it is to be inlined"
                    )
                found[array.name] = array
            collect(called)

    collect(procedure)
    widened = replace(procedure, locals=procedure.locals)
    # Inner locals are not written by the procedure's own steps, so its checks are bypassed.
    object.__setattr__(widened, "locals", (*procedure.locals, *found.values()))
    return widened


def inlined_body(step: Call, called: Procedure) -> list[Assignment | Call]:
    """Return the steps of a called procedure with the names of its caller."""
    formal = [array.name for array in (*called.inputs, *called.outputs)]
    names = {a: b for a, b in zip(formal, step.arguments, strict=True) if a != b}
    if not names:
        return list(called.body)
    steps: list[Assignment | Call] = []
    for part in called.body:
        if isinstance(part, Call):
            arguments = tuple(names.get(name, name) for name in part.arguments)
            when = None if part.when is None else _renamed(part.when, names)
            steps.append(replace(part, arguments=arguments, when=when))
        else:
            target, value = _renamed(part.target, names), _renamed(part.value, names)
            steps.append(replace(part, target=target, value=value))
    return steps


def _renamed(node: sp.Basic, names: Mapping[str, str]) -> sp.Basic:
    if isinstance(node, sp.Idx):
        return node
    if isinstance(node, sp.Indexed):
        indices = tuple(_renamed(index, names) for index in node.indices)
        name = array_name(node)
        base = sp.IndexedBase(names[name]) if name in names else node.base
        return base[indices]
    if isinstance(node, sp.Symbol):
        return sp.Symbol(names[str(node)], real=True) if str(node) in names else node
    if not node.args:
        return node
    return node.func(*(_renamed(argument, names) for argument in node.args))


def first_sentence(text: str) -> str:
    """Return the text up to its first full stop, with a lower-case first letter."""
    sentence = text.split(". ")[0].strip().rstrip(".")
    return sentence[:1].lower() + sentence[1:]
