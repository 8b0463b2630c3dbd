"""Common parts of exports to languages that have sums and tables: one formula, one line.

Functions take arrays and return arrays; nothing is written in place. Every assignment of a
procedure is the definition of an array by its entries, with sums over named indices, as it was
stated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Constant, Program
from symderiv_codegen.ir.tables import TableSum
from symderiv_codegen.ir.walk import Total, free_names, plain_index, with_plain_indices
from symderiv_codegen.passes.self_contained import self_contained
from symderiv_codegen.printers.docstrings import arrays_of
from symderiv_codegen.printers.expressions import ATOM, PrintedExpression
from symderiv_codegen.printers.header import program_digest
from symderiv_codegen.printers.lines import Piece, Text, statement
from symderiv_codegen.printers.numba import NumbaExpressions


@dataclass(frozen=True)
class Example:
    """Numbers for the example at the end of an export.

    Attributes:
        sizes: The sizes of the ranges of the program, by name.
        values: The values of the fields of its state and its parameters, by name, flat in C order.
        end: The time up to which the example integrates.
        steps: The number of steps, which have a fixed length.
    """

    sizes: dict[str, int]
    values: dict[str, tuple[float, ...]]
    end: float = 10.0
    steps: int = 1000


@dataclass(frozen=True)
class Limits:
    """Indices of a sum or an array with the names of their ranges, outermost first."""

    indices: tuple[str, ...]
    sizes: tuple[str, ...]


class FormulaExpressions(NumbaExpressions):
    """A printer of expressions with sums, which knows the surrounding indices."""

    name = "formula"

    def __init__(self, functions: Sequence[str], around: tuple[str, ...] = ()) -> None:
        """Make a printer.

        Args:
            functions: Names of the functions that may be called.
            around: Indices of the array whose entries are printed.
        """
        super().__init__(functions)
        self.around = around

    def number(self, value: sp.Rational) -> PrintedExpression:
        """Return a number; quotients of long integers become doubles."""
        if max(abs(value.p), value.q) > 10**15:
            return PrintedExpression(Text(repr(float(value))), ATOM)
        return super().number(value)

    def within(self, indices: tuple[str, ...]) -> FormulaExpressions:
        """Return a printer for the inside of a sum over indices."""
        return type(self)(tuple(self._functions), indices)


def plain_statement(head: str, piece: Piece, indent: int) -> str:
    """Return a statement without trailing commas, for languages that do not allow them."""
    return re.sub(r",(\n *[)\]}])", r"\1", statement(head, piece, indent))


def limits_of(node: Total) -> tuple[Limits, sp.Expr]:
    """Return the limits of a sum over several indices, and the summand."""
    indices: list[str] = []
    sizes: list[str] = []
    inside: sp.Expr = node
    while isinstance(inside, Total):
        index, low, high = inside.limit
        assert low == 0
        indices.append(str(index))
        sizes.append(str(high + 1))
        inside = inside.summand
    return Limits(tuple(indices), tuple(sizes)), inside


def stated(value: sp.Expr) -> sp.Expr:
    """Return an assigned value with plain indices and sums as the generator's own nodes."""
    return with_plain_indices(value)


@dataclass
class Parts:
    """The parts of a printed module in their order, each a text."""

    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    procedures: list[str] = field(default_factory=list)


class FormulaModule:
    """A walk through a program; subclasses define how each part is written in a language."""

    name = "formula"

    def __init__(self, program: Program) -> None:
        self.source = program
        self.program = self_contained(program)
        self.names = tuple(f.name for f in self.program.functions)

    # Details of a language.

    def constant(self, name: str, value: Constant) -> str:
        """Return the definition of a constant, or an empty text if the language needs none."""
        raise NotImplementedError

    def scalar(self, function: ScalarFunction) -> str:
        """Return a scalar function."""
        raise NotImplementedError

    def table_sum(self, function: TableSum) -> str:
        """Return a sum over tables."""
        raise NotImplementedError

    def head(self, procedure: Procedure, sizes: Sequence[tuple[str, str]]) -> list[str]:
        """Return the first lines of a procedure; ``sizes`` are names of ranges and their values."""
        raise NotImplementedError

    def assignment(self, step: Assignment, limits: Limits, value: sp.Expr) -> list[str]:
        """Return one array or scalar by its formula."""
        raise NotImplementedError

    def call(self, step: Call, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        """Return a call of another procedure; if its condition does not hold, its outputs
        are zero.
        """
        raise NotImplementedError

    def tail(self, procedure: Procedure) -> list[str]:
        """Return the last lines of a procedure."""
        raise NotImplementedError

    def size(self, array: Array, axis: int) -> str:
        """Return the number of elements along an axis."""
        raise NotImplementedError

    # Common to all languages.

    def parts(self) -> Parts:
        """Return all constants, functions and procedures."""
        used = {
            name
            for function in self.program.functions
            if isinstance(function, TableSum)
            for term in function.terms
            for row in term.rows
            for name in (row.size, *(table for _, table in row.entries))
        }
        constants = [
            self.constant(name, value)
            for name, value in self.program.constants.items()
            if name in used
        ]
        return Parts(
            constants,
            [self._function(each) for each in self.program.functions],
            [self._procedure(each) for each in self.program.procedures],
        )

    def _function(self, function: Function) -> str:
        if isinstance(function, TableSum):
            return self.table_sum(function)
        assert isinstance(function, ScalarFunction)
        return self.scalar(function)

    def _procedure(self, procedure: Procedure) -> str:
        called = {each.name: each for each in self.program.procedures}
        body: list[str] = []
        for step in procedure.body:
            if isinstance(step, Call):
                inputs = len(called[step.procedure].inputs)
                body += self.call(step, step.arguments[:inputs], step.arguments[inputs:])
                continue
            shape = procedure.arrays[step.name].shape
            limits = Limits(tuple(str(plain_index(i)) for i in step.indices), shape)
            body += self.assignment(step, limits, stated(step.value))
        needed = set(self.ranges(procedure))
        sizes = []
        for size in self.program.ranges:
            visible = [a for a in procedure.inputs if size in a.shape]
            if size in needed and visible:
                array = min(visible, key=lambda a: a.shape.index(size))
                sizes.append((size, self.size(array, array.shape.index(size))))
        return "\n".join([*self.head(procedure, sizes), *body, *self.tail(procedure)])

    def ranges(self, procedure: Procedure) -> Iterator[str]:
        """Yield names of the ranges in the assignments of a procedure."""
        for step in procedure.body:
            if isinstance(step, Assignment):
                yield from procedure.arrays[step.name].shape
                for total in stated(step.value).atoms(Total):
                    yield from (str(n) for n in free_names(total.limit[2]))

    def flat_vectors(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Return the fields of the state and of the parameters."""
        return tuple(vector.fields for vector in self.source.vectors)  # type: ignore[return-value]

    def right_hand_side(self) -> Procedure:
        """Return the procedure whose outputs are time derivatives."""
        found = self.program.procedure(self.program.right_hand_side)
        assert found is not None
        return found

    def observables(self) -> Procedure:
        """Return the procedure that evaluates a state."""
        found = self.program.procedure(self.program.observables)
        assert found is not None
        return found


def described(program: Program, paragraphs: Sequence[str]) -> list[str]:
    """Return the description of an export as paragraphs without comment signs."""
    found = [program.title, *paragraphs]
    if program.recipe:
        width = max(map(len, program.recipe))
        rows = [f"    {key:<{width}}  {value}" for key, value in program.recipe.items()]
        found.append("\n".join(["Recipe:", *rows]))
    lines = [f"    {line}" for equation in program.equations for line in equation.split("\n")]
    found.append("\n".join(["Equations:", *lines]))
    found.append("\n".join(["Arrays and numbers:", *arrays_of(program)]))
    found.append(f"Program (SHA-256): {program_digest(program)}")
    return found
