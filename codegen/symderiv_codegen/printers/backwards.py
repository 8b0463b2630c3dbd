"""Programs as numba modules of their derivatives in reverse; see :mod:`..passes.reverse`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array, Vector
from symderiv_codegen.ir.loops import Node
from symderiv_codegen.ir.procedures import Assignment, Call
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.walk import calls_of
from symderiv_codegen.passes.derivatives.reverse import WEIGHT, Backwards, with_slopes
from symderiv_codegen.passes.derivatives.tangent import as_stated
from symderiv_codegen.passes.derivatives.writing_out import with_sums_written_out
from symderiv_codegen.passes.inline import with_inner_locals
from symderiv_codegen.passes.lower import Body, reversed_nests
from symderiv_codegen.printers.fast import FastModule, Form, views

_GIVEN = "_given"


def print_reverse(program: Program, moving: Collection[str]) -> str:
    """Return a module whose ``specialised(K, M)`` multiplies the Jacobian from the left.

    Its state is the weights of the rates. Its parameters are the state and the parameters of the
    program. Its derivative is the sums of weights times the derivatives of the rates by the moving
    fields, in the order of the vectors: first arrays, then numbers.

    Args:
        program: The program.
        moving: Names of fields of the state and of parameters.

    Raises:
        ProgramError: A function is an integral whose derivative is not known; or there is no
            right-hand side on vectors; or no field has such a name.
    """
    program = replace(program, procedures=tuple(map(as_stated, program.procedures)))
    if program.procedure(program.right_hand_side) is None or not program.vectors:
        raise ProgramError(f"program {program.name!r}: has no right-hand side on vectors")
    state, parameters = program.vectors
    fields = {each.name: each for each in (*state.fields, *parameters.fields)}
    if unknown := sorted(set(moving) - set(fields)):
        raise ProgramError(f"program {program.name!r}: has no field {unknown[0]!r}")
    given = replace(
        with_slopes(program, _called(with_sums_written_out(program))),
        state=Vector(state.name, tuple(_renamed(each, _GIVEN) for each in state.fields)),
        parameters=Vector(parameters.name, (*state.fields, *parameters.fields)),
        observables="",
    )
    return _ReverseModule(given, [each for name, each in fields.items() if name in moving]).module()


def _called(program: Program) -> set[str]:
    """Return the names of the functions that the right-hand side calls."""
    found: set[str] = set()
    waiting = [program.right_hand_side]
    while waiting:
        procedure = program.procedure(waiting.pop())
        assert procedure is not None
        for step in procedure.body:
            if isinstance(step, Call):
                waiting.append(step.procedure)
            elif isinstance(step, Assignment):
                found |= {call.func.__name__ for call in calls_of(step.value)}
    return found


def _renamed(array: Array, behind: str) -> Array:
    return replace(array, name=array.name + behind, symmetric=False)


@dataclass(frozen=True)
class _ReverseForm(Form):
    """The signature of the product, and the contents of its vectors."""

    weights: tuple[Array, ...]
    numbers: tuple[str, ...]

    def fields(self) -> list[str]:
        needed = {array.name for array in (*self.procedure.inputs, *self.state.fields)}
        lines = []
        for vector in (self.state, self.parameters):
            lines += views(self.access, vector.name, vector.fields, needed)
        lines.append("derivative_apart()")
        outputs = (*self.weights, *(Array(name) for name in self.numbers))
        wanted = {array.name for array in self.weights}
        return lines + views(self.access, "derivative", outputs, wanted)

    @property
    def returned(self) -> tuple[str, ...]:  # type: ignore[override]
        size = len(self.numbers)
        return tuple(
            f"derivative[start - {size - n}] = {name}" for n, name in enumerate(self.numbers)
        )


class _ReverseModule(FastModule):
    """A module with the product for given sizes of ranges."""

    def __init__(self, program: Program, moving: Sequence[Array]) -> None:
        super().__init__(program)
        self._moving = moving

    def prepared(self, program: Program) -> Program:
        """Return the program for differentiation: functions are inlined without the library of
        doubles.
        """
        return with_sums_written_out(program)

    def form(self) -> Form:
        program = self.program
        procedure = program.procedure(program.right_hand_side)
        assert procedure is not None
        assert program.state is not None
        assert program.parameters is not None
        arrays = (each for each in self._moving if each.shape)
        numbers = (each.name + WEIGHT for each in self._moving if not each.shape)
        return _ReverseForm(
            program,
            procedure,
            program.state,
            program.parameters,
            tuple(_renamed(each, WEIGHT) for each in arrays),
            tuple(numbers),
        )

    def nests_of(self, form: Form) -> Body:
        assert isinstance(form, _ReverseForm)
        own = form.procedure
        procedure = with_inner_locals(own, self.program)
        # here the rates are local arrays, and the outputs are weights
        object.__setattr__(procedure, "inputs", (*own.inputs, *form.state.fields))
        object.__setattr__(procedure, "locals", (*procedure.locals, *own.outputs))
        object.__setattr__(procedure, "outputs", form.weights)
        weights = {each.name: each.name + WEIGHT for each in self._moving}
        rates = zip(own.outputs, form.state.fields, strict=True)
        given = {rate.name: weight.name for rate, weight in rates}

        def both(body: Body) -> tuple[tuple[Node, ...], tuple[Node, ...], list[Array]]:
            arrays, extension = procedure.arrays, self.program.extension
            return Backwards(arrays, weights, given, body.names, extension).both(body.nodes)

        return reversed_nests(procedure, self.program, own.outputs, both)
