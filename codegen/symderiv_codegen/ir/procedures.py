"""Procedures: assignments to arrays and calls, between declared inputs, outputs and locals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy as sp

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.checks import check_distinct, check_exact, check_identifier
from symderiv_codegen.ir.walk import array_name, free_names, rebound_indices, subexpressions

OMITTED_IF_EMPTY = "omitted if empty"
"""Metadata of a field that program digests leave out if it is empty."""


@dataclass(frozen=True)
class Assignment:
    """``target = value`` for every value of the target's indices.

    ``symmetric``: whether the target is invariant under exchange of the indices i, j of its two
    neighbouring axes of one range, so that only j <= i is computed and mirrored.
    """

    target: sp.Indexed | sp.Symbol
    value: sp.Expr
    symmetric: bool = False
    comment: str = ""

    def __post_init__(self) -> None:
        where = f"assignment to {self.target}"
        if not isinstance(self.target, sp.Indexed | sp.Symbol) or isinstance(self.target, sp.Idx):
            raise ProgramError(f"{where}: a target is an array element or a scalar symbol")
        check_exact(self.value, where)
        names = [str(index) for index in self.indices]
        if any(not isinstance(index, sp.Idx | sp.Symbol) for index in self.indices):
            raise ProgramError(
                f"{where}: the indices of a target are plain, write i instead of i+1"
            )
        check_distinct(names, where)
        if self.symmetric and len(names) < 2:
            raise ProgramError(f"{where}: symmetric needs two indices")

    @property
    def name(self) -> str:
        """The name of the array or scalar that is written."""
        is_element = isinstance(self.target, sp.Indexed)
        return array_name(self.target) if is_element else str(self.target.name)

    @property
    def indices(self) -> tuple[sp.Basic, ...]:
        """The free indices of the assignment, outermost first."""
        return tuple(self.target.indices) if isinstance(self.target, sp.Indexed) else ()


@dataclass(frozen=True)
class Call:
    """A call of another procedure: names of its inputs in order, then of its outputs.

    ``when``: a condition on scalars; if it does not hold, the procedure is skipped and its outputs
    are zero.
    """

    procedure: str
    arguments: tuple[str, ...]
    when: sp.Basic | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        if self.when is not None:
            check_exact(self.when, f"call of {self.procedure!r}")


@dataclass(frozen=True)
class Procedure:
    """Assignments and calls in order, between declared inputs, outputs and locals.

    Output arrays are written in place and must be completely assigned; at most one output is a
    scalar, and it is what the procedure returns.

    Args:
        template: Name of a function in the texts of the program's extension for doubles, which
            replaces a body: its arguments are those of the procedure.
        names: For names in the template, the names in the module that replace them.
        stated: What the template computes, as a body that can be differentiated; empty if this is
            not known.
    """

    name: str
    doc: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    locals: tuple[Array, ...]
    body: tuple[Assignment | Call, ...]
    template: str = field(default="", metadata={OMITTED_IF_EMPTY: True})
    names: tuple[tuple[str, str], ...] = field(default=(), metadata={OMITTED_IF_EMPTY: True})
    stated: tuple[Assignment, ...] = field(default=(), metadata={OMITTED_IF_EMPTY: True})

    def __post_init__(self) -> None:
        where = f"procedure {self.name!r}"
        check_identifier(self.name, "procedure")
        check_distinct([array.name for array in self.arrays.values()] + [self.name], where)
        declared = len(self.inputs) + len(self.outputs) + len(self.locals)
        if len(self.arrays) != declared:
            check_distinct([a.name for a in (*self.inputs, *self.outputs, *self.locals)], where)
        if sum(not array.shape for array in self.outputs) > 1:
            raise ProgramError(f"{where}: at most one output is a scalar")
        visible = {name for array in (*self.inputs, *self.outputs) for name in array.shape}
        for array in self.locals:
            if unknown := sorted(set(array.shape) - visible):
                raise ProgramError(f"{where}: no argument tells the range {unknown[0]!r}")
        for step in self.body:
            if isinstance(step, Assignment):
                self._check_assignment(step)
        if self.template and (self.body or self.locals):
            raise ProgramError(f"{where}: a template has no body")
        missing = [] if self.template else self._never_written()
        if missing:
            raise ProgramError(f"{where}: {missing[0]!r} is never assigned")

    @property
    def arrays(self) -> dict[str, Array]:
        """All declared arrays by name."""
        return {array.name: array for array in (*self.inputs, *self.outputs, *self.locals)}

    @property
    def result(self) -> Array | None:
        """The scalar that the procedure returns, if it has one."""
        return next((array for array in self.outputs if not array.shape), None)

    @property
    def array_outputs(self) -> tuple[Array, ...]:
        """The outputs that are written in place."""
        return tuple(array for array in self.outputs if array.shape)

    def _never_written(self) -> list[str]:
        assigned = {step.name for step in self.body if isinstance(step, Assignment)}
        called = {name for step in self.body if isinstance(step, Call) for name in step.arguments}
        wanted = [array.name for array in (*self.outputs, *self.locals)]
        return [name for name in wanted if name not in assigned | called]

    def _check_assignment(self, step: Assignment) -> None:
        where = f"procedure {self.name!r}, assignment to {step.target}"
        arrays = self.arrays
        if step.name not in arrays:
            raise ProgramError(f"{where}: undeclared name {step.name!r}")
        if any(array.name == step.name for array in self.inputs):
            raise ProgramError(f"{where}: {step.name!r} is an input and cannot be written")
        _check_element(step.target, arrays, where)
        if step.symmetric and arrays[step.name].pair is None:
            raise ProgramError(f"{where}: symmetric needs two neighbouring axes of one range")
        for node in subexpressions(step.value):
            if isinstance(node, sp.Indexed):
                _check_element(node, arrays, where)
        scalars = {array.name for array in arrays.values() if not array.shape}
        ranges = {name for array in arrays.values() for name in array.shape}
        free = {str(index) for index in step.indices}
        if clash := sorted(free & (set(arrays) | ranges)):
            raise ProgramError(f"{where}: index {clash[0]!r} has the name of an array or range")
        if unknown := sorted(free_names(step.value) - scalars - ranges - free):
            raise ProgramError(f"{where}: undeclared name {unknown[0]!r}")
        if clash := rebound_indices(step.value, free | set(arrays) | ranges):
            raise ProgramError(f"{where}: index {clash[0]!r} of a sum is already in use")


def _check_element(element: sp.Basic, arrays: Mapping[str, Array], where: str) -> None:
    """Check the number and the ranges of the indices of an array element, or of a scalar."""
    name = array_name(element) if isinstance(element, sp.Indexed) else str(element.name)
    indices = tuple(element.indices) if isinstance(element, sp.Indexed) else ()
    if name not in arrays:
        raise ProgramError(f"{where}: undeclared array {name!r}")
    shape = arrays[name].shape
    if len(indices) != len(shape):
        raise ProgramError(
            f"{where}: {name!r} has {len(shape)} indices, {element} has {len(indices)}"
        )
    for index, size in zip(indices, shape, strict=True):
        if not isinstance(index, sp.Idx) or index.upper is None:
            continue
        if index.lower != 0 or str(index.upper + 1) != size:
            raise ProgramError(
                f"{where}: index {index} of {element} runs over {index.upper + 1}, not {size}"
            )
