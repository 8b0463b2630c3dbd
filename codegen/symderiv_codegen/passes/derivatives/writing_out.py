"""Short closed forms in place of their calls, where sums are taken over them.

What a function shares with the others of a sum (a root of what depends on one index) can only be
taken out of the sum when it is written there; often one arcsine is left in the innermost loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.ir.extension import Library
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.procedures import Assignment, Procedure
from symderiv_codegen.ir.program import Program

#: Longer closed forms stay functions: the loops would be hard to read and slow to compile.
MOST_OPERATIONS = 60
#: The same where what is left of them is evaluated for all summands together.
MOST_WITH_MANY = 120

_NOTHING = Library()


def with_sums_written_out(program: Program, library: Library = _NOTHING) -> Program:
    """Return the program with short functions written out in the procedures that ask for it.

    Args:
        program: The program.
        library: The library of the numbers that it is printed for.
    """

    def changed(procedure: Procedure) -> Procedure:
        if procedure.name not in program.written_out:
            return procedure
        steps = (
            replace(step, value=written_out(step.value, program.functions, library))
            if isinstance(step, Assignment)
            else step
            for step in procedure.body
        )
        return replace(procedure, body=tuple(steps))

    return replace(program, procedures=tuple(changed(each) for each in program.procedures))


def written_out(
    expression: sp.Expr, functions: Iterable[Function], library: Library = _NOTHING
) -> sp.Expr:
    """Return the expression with calls of short functions replaced by what they compute.

    Functions that guard the edge of their domain stay calls, and so do all where the cases of
    coinciding indices are told apart: there a formula may only hold under its condition. The
    library says how values are stated in sums, and what is evaluated together there.
    """
    if expression.has(sp.Piecewise):
        return expression
    scalars = (f for f in functions if isinstance(f, ScalarFunction))
    stated = [replace(f, value=library.in_sums(f.value)) for f in scalars]
    short = {f.name: f for f in stated if _is_short(f, frozenset(library.together))}

    def value(call: sp.Expr) -> sp.Expr:
        function = short[call.func.__name__]
        known = dict(zip(function.arguments, call.args, strict=True))
        for symbol, definition in function.definitions:
            known[symbol] = definition.xreplace(known)
        return function.value.xreplace(known)

    return expression.replace(
        lambda e: isinstance(e, AppliedUndef) and e.func.__name__ in short, value
    )


def _is_short(function: ScalarFunction, many: frozenset[str]) -> bool:
    calls = {type(call).__name__ for call in function.value.atoms(sp.Function)}
    most = MOST_WITH_MANY if calls & many else MOST_OPERATIONS
    parts = [function.value, *(definition for _, definition in function.definitions)]
    return not (
        function.guarded
        or any(part.has(sp.Piecewise, AppliedUndef) for part in parts)
        or sum(part.count_ops() for part in parts) > most
    )
