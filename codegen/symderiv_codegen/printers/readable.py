"""Programs as numba modules to be read: the mathematics in the order in which it is stated.

Every function is called where it is summed and every definition is as stated; the compiler has to
find common subexpressions. The same functions after all passes are in the fast module
(:mod:`symderiv_codegen.printers.fast`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.extension import Extension
from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Assignment, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.walk import calls_of
from symderiv_codegen.passes.coincidence import without_cases
from symderiv_codegen.passes.lower import Body, loop_nests
from symderiv_codegen.passes.scalars import StraightLine, as_defined
from symderiv_codegen.printers.numba import NumbaModule

NUMERICS = "# How the functions above are evaluated without loss of digits."


class ReadableModule(NumbaModule):
    """A module whose functions and loops are those of the program, and nothing else."""

    name = "readable"

    def prepared(self, program: Program) -> Program:
        """Return the program without cases that only save work, and without functions that only
        these call.
        """
        continuous = {
            function.name
            for function in program.functions
            if isinstance(function, ScalarFunction)
            and function.everywhere
            and _stable(function, program.extension)
        }

        def general(procedure: Procedure) -> Procedure:
            steps = (
                replace(step, value=without_cases(step.value, continuous))
                if isinstance(step, Assignment)
                else step
                for step in procedure.body
            )
            return replace(procedure, body=tuple(steps))

        changed = replace(program, procedures=tuple(map(general, program.procedures)))
        unused = _called(program) - _called(changed)
        functions = (each for each in program.functions if each.name not in unused)
        return replace(changed, functions=tuple(functions))

    def pasted(self, plain: bool = True) -> list[str]:
        return super().pasted(plain)

    def ordered(self, pasted: list[str], own: list[str]) -> list[str]:
        """Return the parts in order: auxiliary numerical functions come last."""
        if not pasted:
            return own
        return [*own, f"{NUMERICS}\n\n\n{pasted[0]}", *pasted[1:]]

    def allocations(self, arrays: Sequence[Array], names: NamePool) -> list[str]:
        return [f"{array.name} = {self.allocation(array)}" for array in arrays]

    def scalars(self, function: ScalarFunction, names: NamePool) -> StraightLine:
        return as_defined(function)

    def nests(self, procedure: Procedure) -> Body:
        return loop_nests(procedure, self.program, plain=True)


def _stable(function: ScalarFunction, extension: Extension) -> bool:
    """Return whether the printed function keeps its digits where arguments coincide."""
    names = NamePool(function.names)
    return not function.guarded or extension.restated(function, names).complete


def _called(program: Program) -> set[str]:
    """Return names of all functions that expressions of the program call."""
    assignments = (
        step.value
        for procedure in program.procedures
        for step in procedure.body
        if isinstance(step, Assignment)
    )
    own = (expression for function in program.functions for expression in function.expressions)
    return {call.func.__name__ for value in (*assignments, *own) for call in calls_of(value)}


def print_readable(program: Program) -> str:
    """Return the program as the text of a readable numba module.

    Raises:
        PrinterError: An expression contains a node without a rule.
    """
    return ReadableModule(program).module()
