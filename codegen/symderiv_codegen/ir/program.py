"""The indexed program: the input of the printers.

A program is data. It says *what* is computed (scalar functions, assignments to arrays with
explicit sums over index ranges, the order of procedures), never *how*: loops, temporaries and the
order of operations are the business of the passes, text is the business of the printers.

Everything is exact. An expression that contains a floating-point number is refused, and so is an
undeclared name, so that a mistake is detected where it is made and not in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array, Vector
from symderiv_codegen.ir.checks import RESERVED, check_distinct, check_identifier
from symderiv_codegen.ir.extension import NO_EXTENSION, Extension
from symderiv_codegen.ir.functions import Function
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.walk import arrays_in, calls_of, free_names

Constant = str | int | float | tuple[float, ...]


@dataclass(frozen=True)
class Program:
    """All that a printer needs for one module.

    Args:
        name: Name of the module.
        title: One line that says what the module computes.
        recipe: What the module was made from, in the order in which it is printed.
        equations: Lines of plain text for the header: the equations the module implements.
        ranges: Names of the index ranges; also the order of ``sizes`` in the flat functions.
        functions: Scalar functions; each may call earlier ones.
        procedures: Procedures; each may call earlier ones.
        state: The unknowns of the differential equation, as one flat vector.
        parameters: Everything else its right-hand side needs, as one flat vector.
        constants: Module-level constants, e.g. ``{"FORMAT": 1}``; a tuple of floats is a table.
        small: Ranges so short that their sizes are worth knowing at compile time; the flat form of
            the right-hand side is then made for each set of sizes by ``specialised``.
        written_out: Procedures in whose sums short functions are inlined where speed matters.
        mostly_zero: Scalars that are zero in most uses; terms with such a factor are then left out
            of long loops.
        right_hand_side: Name of the procedure whose outputs are the time derivatives of the fields
            of ``state`` in order; it gets a ``flat_`` form when it exists.
        observables: Name of the procedure that evaluates a state; it gets a ``flat_`` form when it
            exists.
        extension: Functions beyond the elementary ones that its expressions use: how they are
            evaluated, which does not belong to the content of the program.
    """

    name: str
    title: str
    recipe: Mapping[str, str]
    equations: tuple[str, ...]
    ranges: tuple[str, ...]
    functions: tuple[Function, ...]
    procedures: tuple[Procedure, ...]
    state: Vector | None = None
    parameters: Vector | None = None
    constants: Mapping[str, Constant] = field(default_factory=dict)
    small: tuple[str, ...] = ()
    written_out: tuple[str, ...] = ()
    mostly_zero: tuple[str, ...] = ()
    right_hand_side: str = "right_hand_side"
    observables: str = "observables"
    extension: Extension = field(default=NO_EXTENSION, compare=False)

    def __post_init__(self) -> None:
        check_identifier(self.name, "program")
        if unknown := sorted(set(self.small) - set(self.ranges)):
            raise ProgramError(f"program {self.name!r}: {unknown[0]!r} is not one of its ranges")
        for name in (*self.ranges, *self.constants):
            check_identifier(name, f"program {self.name!r}, name")
        check_distinct(
            [
                *self.ranges,
                *self.constants,
                *self._named(),
            ],
            f"program {self.name!r}",
        )
        declared = (*self.ranges, *self.constants, *self._named())
        if clash := sorted(self.extension.names & set(declared)):
            raise ProgramError(
                f"program {self.name!r}: {clash[0]!r} is a function of {self.extension.name}"
            )
        arity: dict[str, int] = {}
        for function in self.functions:
            for expression in function.expressions:
                _check_calls(expression, arity, f"function {function.name!r}")
            arity[function.name] = len(function.arguments)
        known: dict[str, Procedure] = {}
        for procedure in self.procedures:
            self._check_procedure(procedure, arity, known)
            known[procedure.name] = procedure
        for vector in (self.state, self.parameters):
            if vector is not None:
                self._check_ranges(vector.fields, f"vector {vector.name!r}")
        self._check_flat()

    @property
    def module_names(self) -> frozenset[str]:
        """Names of the module that prints the program, which no local name may hide."""
        flat = (f"flat_{self.right_hand_side}", f"flat_{self.observables}", "specialised")
        return RESERVED.union(self._named(), self.constants, flat, self.extension.names)

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """State and parameters; empty unless both exist."""
        if self.state is None or self.parameters is None:
            return ()
        return self.state, self.parameters

    @property
    def flat_names(self) -> tuple[str, ...]:
        """Names in the flat right-hand side other than ranges and fields."""
        if self.state is None or self.parameters is None:
            return ()
        kinds = ("width", "padded", "groups", "rows", "number")
        lengths = (f"{kind}_{size}" for size in self.small for kind in kinds)
        vectors = (self.state.name, "sizes", self.parameters.name, "derivative")
        words = ("start", "room", "digest", "parts", "most", "arrays", "rates")
        return ("alpha", *vectors, *words, *lengths)

    def _named(self) -> list[str]:
        """Return names of its functions and procedures."""
        return [each.name for each in (*self.functions, *self.procedures)]

    def procedure(self, name: str) -> Procedure | None:
        """Return the procedure of that name, if there is one."""
        return next((p for p in self.procedures if p.name == name), None)

    def _check_ranges(self, arrays: Iterable[Array], where: str) -> None:
        for array in arrays:
            for size in array.shape:
                if size not in self.ranges:
                    raise ProgramError(f"{where}: array {array.name!r} has unknown range {size!r}")

    def _check_procedure(
        self, procedure: Procedure, arity: Mapping[str, int], known: Mapping[str, Procedure]
    ) -> None:
        where = f"procedure {procedure.name!r}"
        self._check_ranges(procedure.arrays.values(), where)
        written = {array.name for array in procedure.inputs}
        if clash := sorted(set(procedure.arrays) & set(self._named())):
            raise ProgramError(f"{where}: array {clash[0]!r} has the name of a function")
        for step in procedure.body:
            if isinstance(step, Assignment):
                _check_calls(step.value, arity, where)
                reads = arrays_in(step.value)
                reads |= free_names(step.value) & set(procedure.arrays)
                if early := sorted(reads - written):
                    raise ProgramError(f"{where}: {early[0]!r} is read before it is assigned")
                written.add(step.name)
            else:
                _check_call(step, procedure, known, written, where)

    def _check_flat(self) -> None:
        procedure = self.procedure(self.right_hand_side)
        if procedure is None or self.state is None or self.parameters is None:
            return
        shapes = [array.shape for array in self.state.fields]
        if [array.shape for array in procedure.outputs] != shapes:
            raise ProgramError(
                f"procedure {procedure.name!r}: its outputs are the derivatives of the fields of "
                f"{self.state.name!r}, in the same order and shapes"
            )
        fields = {
            array.name: array.shape for array in (*self.state.fields, *self.parameters.fields)
        }
        if len(fields) != len(self.state.fields) + len(self.parameters.fields):
            raise ProgramError("state and parameters have a field in common")
        own = set(self.flat_names) - {"alpha"} | {"specialised"}
        if clash := sorted(own & {*fields, *self.ranges}):
            raise ProgramError(f"field {clash[0]!r}: the flat functions use this name themselves")
        for flat in filter(None, (procedure, self.procedure(self.observables))):
            for array in flat.inputs:
                if fields.get(array.name) != array.shape and array.name != "alpha":
                    raise ProgramError(
                        f"procedure {flat.name!r}: input {array.name!r} of shape {array.shape} is "
                        "not a field of state or parameters"
                    )


def _check_calls(expression: sp.Basic, arity: Mapping[str, int], where: str) -> None:
    for call in calls_of(expression):
        assert isinstance(call, AppliedUndef)
        name = str(call.func)
        if name not in arity:
            raise ProgramError(f"{where}: calls unknown function {name!r} (order matters)")
        if len(call.args) != arity[name]:
            raise ProgramError(
                f"{where}: {name!r} takes {arity[name]} arguments, not {len(call.args)}"
            )


def _check_call(
    step: Call,
    procedure: Procedure,
    known: Mapping[str, Procedure],
    written: set[str],
    where: str,
) -> None:
    """Check that arguments of a call fit in number and shape, are written before, and
    keep inputs.
    """
    if step.procedure not in known:
        raise ProgramError(f"{where}: calls unknown procedure {step.procedure!r} (order matters)")
    called = known[step.procedure]
    formal = (*called.inputs, *called.outputs)
    if len(step.arguments) != len(formal):
        raise ProgramError(
            f"{where}: {called.name!r} takes {len(formal)} arguments (inputs, then outputs), "
            f"not {len(step.arguments)}"
        )
    for position, (name, array) in enumerate(zip(step.arguments, formal, strict=True)):
        declared = procedure.arrays.get(name)
        if declared is None:
            raise ProgramError(f"{where}: undeclared argument {name!r} of {called.name!r}")
        if declared.shape != array.shape:
            raise ProgramError(
                f"{where}: argument {name!r} of {called.name!r} has shape {declared.shape}, "
                f"not {array.shape}"
            )
        if position < len(called.inputs):
            if name not in written:
                raise ProgramError(f"{where}: {name!r} is read before it is assigned")
        elif any(name == given.name for given in procedure.inputs):
            raise ProgramError(f"{where}: {name!r} is an input and cannot be written")
        else:
            written.add(name)
    outputs = step.arguments[len(called.inputs) :]
    if any(
        first == second for first, second in pairwise(sorted(step.arguments)) if first in outputs
    ):
        raise ProgramError(f"{where}: an output of {called.name!r} is passed twice")
    if step.when is not None:
        scalars = {array.name for array in procedure.arrays.values() if not array.shape}
        if unknown := sorted(free_names(step.when) - scalars):
            raise ProgramError(f"{where}: condition uses {unknown[0]!r}, which is not a scalar")
