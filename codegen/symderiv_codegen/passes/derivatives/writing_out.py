"""Short closed forms in place of their calls in sums.

Common parts of the functions in a sum, such as roots of quantities with one index, can only be
taken out of the sum when they are visible there; often one arcsine remains in the innermost loop.
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

#: Longer closed forms remain functions: loops would be hard to read and slow to compile.
MOST_OPERATIONS = 60
#: The same limit for functions that are evaluated for all summands together.
MOST_WITH_MANY = 120

_NOTHING = Library()


def with_sums_written_out(program: Program, library: Library = _NOTHING) -> Program:
    """Return the program with short functions inlined in the procedures that ask for it.

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
    """Return the expression with calls of short functions replaced by their values.

    Functions that guard the edge of their domain stay calls, and so do all inside of cases for
    coinciding indices, where a formula may hold only under its condition. The library rewrites
    values in sums, and evaluates some functions together.
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
