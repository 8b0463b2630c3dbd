"""The equations of a run as lists of operations in exact numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.enclosures.traced_module import continued, traced
from symderiv.foundation.errors import NotYetError
from symderiv.foundation.packing import Packing
from symderiv.lowering.programs.exported import kept_program
from symderiv.lowering.programs.precise_module import precise_module
from symderiv.precision.balls.operations import Operations

if TYPE_CHECKING:
    import sympy as sp
    from symderiv_codegen import Procedure, Program

    from symderiv.integrate.flows.study_flow import Flow


@dataclass(frozen=True)
class TracedFlow:
    """A flow of which every number is exact: the shortest decimal of its double, or a formula.

    Attributes:
        flow: The same in doubles.
        program: Its equations.
        module: The functions of the program in numbers of any kind.
        exact: SymPy's numbers, made of roots, by the names of fields all of whose entries they are.
    """

    flow: Flow
    program: Program
    module: SimpleNamespace
    exact: Mapping[str, sp.Expr]

    @classmethod
    def of(cls, flow: Flow, exact: Mapping[str, sp.Expr]) -> TracedFlow:
        """Return the equations of a flow.

        Raises:
            NotYetError: A mean is an integral, or an activation is a sum that only comes near it.
        """
        from symderiv_codegen import PrinterError

        from symderiv.integrate.flows.tangents import equations_asked

        program = kept_program(*equations_asked(flow))
        try:
            module = precise_module(program)
        except PrinterError as error:
            raise NotYetError(
                f"has no enclosure: {error}; take an activation with closed means (erf, relu, "
                "linear, …)",
                argument="certify",
            ) from error
        return cls(flow, program, module, exact)

    @cached_property
    def start(self) -> list[Fraction]:
        """The start of what moves, in the order of :attr:`names`: shortest decimals."""
        return [Fraction(repr(value)) for value in self.values(self.flow.begin)]

    @cached_property
    def names(self) -> list[str]:
        """Names of the moving order parameters, as ``student_overlap[1,1,2]``; the number of the
        eigenvalue comes first.
        """
        names = []
        for name, place in self._moving:
            shape = self._shapes[name]
            index = np.unravel_index(place, shape) if shape else ()
            if self.flow.layout["state"][name][-1:] == ("L",):
                index = (index[-1], *index[:-1])
            names.append(f"{name}[{','.join(str(int(n) + 1) for n in index)}]")
        return names

    @cached_property
    def rates(self) -> Operations:
        """The rates of what moves."""
        return self._operations[1]

    @cached_property
    def observables(self) -> tuple[Operations, list[str]]:
        """Q, R, v where it moves and the generalisation error, and their names: ``Q[1,1]``, …"""
        procedure = self._procedure(self.program.observables)
        K, M = self.flow.state.K, self.flow.state.M
        outputs = [
            [[Fraction(0)] * K for _ in range(K)],
            [[Fraction(0)] * M for _ in range(K)],
        ]
        given = [self._stated(self._operations[0], each.name) for each in procedure.inputs]
        operations = traced(self.module, procedure.name, given, outputs)
        names = [f"Q[{i + 1},{j + 1}]" for i in range(K) for j in range(K)]
        names += [f"R[{i + 1},{n + 1}]" for i in range(K) for n in range(M)]
        weights = [(n, place) for n, (name, place) in enumerate(self._moving) if name == "v"]
        if len(weights) == K:
            operations.outputs[-1:-1] = [operations.place(("state", n)) for n, _ in weights]
            names += [f"v[{place + 1}]" for _, place in weights]
        return operations, [*names, "generalization_error"]

    def gap(self, expression: sp.Expr) -> Operations:
        """Return an expression in the observables as one more list of operations.

        Args:
            expression: SymPy's, of symbols with the names of :attr:`observables`.

        Raises:
            NotYetError: It has a function that does not enclose.
        """
        operations, names = self.observables
        return continued(operations, expression, names)

    def values(self, row: np.ndarray) -> list[float]:
        """Return what moves of a packed state in doubles."""
        views = self._packing("state").views(row)
        return [float(views[name].reshape(-1)[place]) for name, place in self._moving]

    @property
    def _moving(self) -> list[tuple[str, int]]:
        return self._operations[0]

    @cached_property
    def _operations(self) -> tuple[list[tuple[str, int]], Operations]:
        """Find what moves: entries whose rate is not zero whatever the state is."""
        fields = self.program.state.fields if self.program.state else ()
        moving = [
            (field.name, int(place))
            for field in fields
            for place in np.unique(self._mirrored(field.name))
        ]
        while True:
            operations = self._traced(moving)
            still = {
                each
                for each, output in zip(moving, operations.outputs, strict=True)
                if operations.entries[output] == ("number", Fraction(0))
            }
            if not still:
                return moving, operations
            moving = [each for each in moving if each not in still]

    def _traced(self, moving: list[tuple[str, int]]) -> Operations:
        procedure = self._procedure(self.program.right_hand_side)
        given = [self._stated(moving, each.name) for each in procedure.inputs]
        state = [field.name for field in self.program.state.fields]  # type: ignore[union-attr]
        zeros = [_nested(np.full(self._shapes[name], Fraction(0), object)) for name in state]
        operations = traced(self.module, procedure.name, given, zeros)
        begins = np.cumsum([0, *(int(np.prod(self._shapes[name])) for name in state)])
        starts = dict(zip(state, begins, strict=False))
        operations.outputs = [operations.outputs[starts[name] + place] for name, place in moving]
        return operations.live()

    def _stated(self, moving: Sequence[tuple[str, int]], name: str) -> Any:
        """Return a field as nested lists, of what moves its place in the state."""
        if name == "alpha":
            return Fraction(0)
        values = self._numbers[name].copy()
        flat, mirrored = values.reshape(-1), self._mirrored(name)
        places = {each: n for n, each in enumerate(moving)}
        for place, twin in enumerate(mirrored):
            if (name, int(twin)) in places:
                flat[place] = (places[name, int(twin)],)
        return _nested(values)

    @cached_property
    def _numbers(self) -> dict[str, np.ndarray]:
        numbers = {}
        for vector, values in (("state", self.flow.begin), ("parameters", self.flow.parameters)):
            for name, view in self._packing(vector).views(values).items():
                exact = np.empty(view.shape, object)
                for index in np.ndindex(view.shape):
                    exact[index] = self.exact.get(name, Fraction(repr(float(view[index]))))
                numbers[name] = exact
        return numbers

    def _mirrored(self, name: str) -> np.ndarray:
        """Return of each entry of a field the entry that is the same number."""
        shape = self._shapes[name]
        places = np.arange(int(np.prod(shape))).reshape(shape)
        symmetric = name in {f.name for v in self.program.vectors for f in v.fields if f.symmetric}
        return (np.minimum(places, places.swapaxes(0, 1)) if symmetric else places).reshape(-1)

    @cached_property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**self._packing("state").shapes, **self._packing("parameters").shapes}

    def _packing(self, vector: str) -> Packing:
        state = self.flow.state
        return Packing.of(self.flow.layout, vector, K=state.K, M=state.M, L=state.L)

    def _procedure(self, name: str) -> Procedure:
        procedure = self.program.procedure(name)
        assert procedure is not None
        return procedure


def _nested(values: np.ndarray) -> Any:
    # entries of object arrays may be tuples, which are no arrays
    return values.tolist() if values.ndim else values.item()
