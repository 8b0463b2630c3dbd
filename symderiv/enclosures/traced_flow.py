"""Equations as lists of operations in exact numbers: those of any run, and those of studies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from symderiv.enclosures.traced_module import continued, traced
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.sensitivities import VariedFlow
from symderiv.lowering.programs.exported import kept_program
from symderiv.lowering.programs.precise_module import precise_module
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.operations import Operations, no_closed_mean

if TYPE_CHECKING:
    import sympy as sp
    from symderiv_codegen import Procedure, Program

    from symderiv.integrate.events.conditions import Condition
    from symderiv.integrate.flows.study_flow import Flow


#: The name of a field of the state, and the place of a number in it.
Place = tuple[str, int]
#: Numbers of any kind by the names of fields, as nested lists.
Fields = dict[str, Any]


@dataclass(frozen=True)
class ExactVectors:
    """A state and constants as exact numbers: shortest decimals of doubles, or formulas.

    Attributes:
        begin, constants: In doubles.
        state, parameters: How they are packed.
        exact: SymPy numbers made of roots, by names of fields; all entries of such a field are
            this number.
    """

    begin: np.ndarray
    constants: np.ndarray
    state: Packing
    parameters: Packing
    exact: Mapping[str, sp.Expr]

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """Return the numbers by field, as fractions or formulas."""
        numbers = {}
        for packing, values in ((self.state, self.begin), (self.parameters, self.constants)):
            for name, view in packing.views(values).items():
                exact = np.empty(view.shape, object)
                for index in np.ndindex(view.shape):
                    exact[index] = self.exact.get(name, Fraction(repr(float(view[index]))))
                numbers[name] = exact
        return numbers


@dataclass(frozen=True)
class TracedRates(ABC):
    """Equations in exact numbers, for runs that are proved.

    Attributes:
        program: The equations.
        module: The functions of the program in numbers of any kind.
        vectors: The start, and the constants.
    """

    program: Program
    module: SimpleNamespace
    vectors: ExactVectors

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Return the names of the moving order parameters."""

    @property
    @abstractmethod
    def observables(self) -> tuple[Operations, list[str]]:
        """Return the order parameters and averages that results have, and their names."""

    @abstractmethod
    def rows(self, times: np.ndarray) -> np.ndarray:
        """Return packed states of a run in doubles at ascending times after 0."""

    @abstractmethod
    def scales(self, sizes: Mapping[str, arb]) -> dict[str, arb]:
        """Return the scales with which errors of order parameters are compared, by name.

        Args:
            sizes: Lower bounds on the moduli of the observables, by name.
        """

    @cached_property
    def start(self) -> list[Fraction]:
        """Return the start of the moving order parameters as fractions, in the order of
        :attr:`names`.
        """
        return [Fraction(repr(value)) for value in self.values(self.vectors.begin)]

    @cached_property
    def rates(self) -> Operations:
        """Return the rates of the moving order parameters."""
        return self._operations[1]

    def gap(self, condition: Condition) -> Operations:
        """Return operations for a quantity that is positive where a condition on observables holds.

        Raises:
            InputError: It depends on a quantity that is not enclosed.
            NotYetError: It has a function that has no enclosure.
        """
        operations, names = self.observables
        gap = condition.named_gap()
        for symbol in sorted(gap.free_symbols, key=str):
            if symbol.name not in names:
                reason = f"{condition.text!r}: {symbol} has no enclosure"
                raise InputError(reason, argument="events")
        return continued(operations, gap, names)

    def values(self, row: np.ndarray) -> list[float]:
        """Return the moving order parameters of a packed state in doubles."""
        views = self.vectors.state.views(row)
        return [float(views[name].reshape(-1)[place]) for name, place in self.moving]

    @property
    def moving(self) -> list[Place]:
        """Return the order parameters that move, as places in fields."""
        return self._operations[0]

    @cached_property
    def _operations(self) -> tuple[list[Place], Operations]:
        """Return the moving order parameters and their rates.

        They are the entries whose rate is not identically zero when all others are fixed.
        """
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

    def _traced(self, moving: list[Place]) -> Operations:
        procedure = self.procedure(self.program.right_hand_side)
        given = [self._stated(moving, each.name) for each in procedure.inputs]
        state = [field.name for field in self.program.state.fields]  # type: ignore[union-attr]
        shapes = self.vectors.state.shapes
        zeros = [_nested(np.full(shapes[name], Fraction(0), object)) for name in state]
        operations = traced(self.module, procedure.name, given, zeros)
        begins = np.cumsum([0, *(int(np.prod(shapes[name])) for name in state)])
        starts = dict(zip(state, begins, strict=False))
        operations.outputs = [operations.outputs[starts[name] + place] for name, place in moving]
        return operations.live()

    def given(self, procedure: Procedure) -> list[Any]:
        """Return the arguments of a procedure; moving order parameters are indices of the state."""
        return [self._stated(self.moving, each.name) for each in procedure.inputs]

    def _stated(self, moving: Sequence[Place], name: str) -> Any:
        """Return a field as nested lists; moving order parameters are indices of the state."""
        if name == "alpha":
            return Fraction(0)
        values = self.vectors.numbers[name].copy()
        flat, mirrored = values.reshape(-1), self._mirrored(name)
        places = {each: n for n, each in enumerate(moving)}
        for place, twin in enumerate(mirrored):
            if (name, int(twin)) in places:
                flat[place] = (places[name, int(twin)],)
        return _nested(values)

    def fields(self, context: Any, moving: Sequence[Place], values: Sequence[Any]) -> Fields:
        """Return all fields as nested lists of numbers of a context.

        Args:
            context: See :class:`symderiv.precision.balls.contexts.Numbers`.
            moving, values: The moving order parameters and their values.
        """

        def number(value: Any) -> Any:
            if isinstance(value, list):
                return [number(each) for each in value]
            if isinstance(value, tuple):
                return values[value[0]]
            if isinstance(value, Fraction):
                return context.mpf(value.numerator) / context.mpf(value.denominator)
            return context.mpf(ball(value, ctx.prec))

        return {name: number(self._stated(moving, name)) for name in self.vectors.numbers}

    def rates_at(self, context: Any, moving: Sequence[Place], values: Sequence[Any]) -> list[Any]:
        """Return the rates of the moving order parameters in numbers of a context."""
        fields = {**self.fields(context, moving, values), "alpha": context.zero}
        procedure, state = self.procedure(self.program.right_hand_side), self.vectors.state
        zeros = {
            name: _nested(np.full(shape, context.zero, object))
            for name, shape in state.shapes.items()
        }
        given = (fields[each.name] for each in procedure.inputs)
        getattr(self.module, procedure.name)(context, *given, *zeros.values())
        flat = {name: np.array(each, object).reshape(-1) for name, each in zeros.items()}
        return [flat[name][place] for name, place in moving]

    def _mirrored(self, name: str) -> np.ndarray:
        """Return for each entry of a field the first entry that is equal by symmetry."""
        shape = self.vectors.numbers[name].shape
        places = np.arange(int(np.prod(shape))).reshape(shape)
        symmetric = name in {f.name for v in self.program.vectors for f in v.fields if f.symmetric}
        return (np.minimum(places, places.swapaxes(0, 1)) if symmetric else places).reshape(-1)

    def procedure(self, name: str) -> Procedure:
        """Return a procedure of the equations."""
        procedure = self.program.procedure(name)
        assert procedure is not None
        return procedure


@dataclass(frozen=True)
class TracedFlow(TracedRates):
    """The equations of a study in exact numbers.

    Attributes:
        flow: The equations in doubles.
    """

    flow: Flow

    @classmethod
    def of(cls, flow: Flow, exact: Mapping[str, sp.Expr]) -> TracedFlow:
        """Return the exact equations of a flow.

        Args:
            flow: The flow in doubles.
            exact: See :class:`ExactVectors`.

        Raises:
            NotYetError: A mean is an integral, or an activation is approximated by a sum.
        """
        from symderiv.integrate.flows.tangents import equations_asked

        sizes = {"K": flow.state.K, "M": flow.state.M, "L": flow.state.L}
        state, parameters = (
            Packing.of(flow.layout, name, **sizes) for name in ("state", "parameters")
        )
        try:
            program = kept_program(*equations_asked(flow))
        except NotYetError as error:
            # other arguments say what else there are no equations for
            raise no_closed_mean() if error.argument == "activation" else error from None
        vectors = ExactVectors(flow.begin, flow.parameters, state, parameters, exact)
        return cls(program, module_of(program), vectors, flow)

    @cached_property
    def names(self) -> list[str]:
        """Return names of the moving order parameters, as ``student_overlap[1,1,2]``.

        The number of the eigenvalue comes first.
        """
        names = []
        for name, place in self.moving:
            shape = self.vectors.state.shapes[name]
            index = np.unravel_index(place, shape) if shape else ()
            if self.flow.layout["state"][name][-1:] == ("L",):
                index = (index[-1], *index[:-1])
            names.append(f"{name}[{','.join(str(int(n) + 1) for n in index)}]")
        return names

    @cached_property
    def observables(self) -> tuple[Operations, list[str]]:
        """Return Q, R, v where it moves and the generalisation error, with names ``Q[1,1]``, …."""
        procedure = self.procedure(self.program.observables)
        K, M = self.flow.state.K, self.flow.state.M
        outputs = [
            [[Fraction(0)] * K for _ in range(K)],
            [[Fraction(0)] * M for _ in range(K)],
        ]
        operations = traced(self.module, procedure.name, self.given(procedure), outputs)
        names = [f"Q[{i + 1},{j + 1}]" for i in range(K) for j in range(K)]
        names += [f"R[{i + 1},{n + 1}]" for i in range(K) for n in range(M)]
        weights = [(n, place) for n, (name, place) in enumerate(self.moving) if name == "v"]
        if len(weights) == K:
            operations.outputs[-1:-1] = [operations.place(("state", n)) for n, _ in weights]
            names += [f"v[{place + 1}]" for _, place in weights]
        return operations, [*names, "generalization_error"]

    def observed_at(
        self, context: Any, moving: Sequence[Place], values: Sequence[Any]
    ) -> tuple[Any, Any, Any]:
        """Return Q, R and the generalisation error in numbers of a context."""
        procedure = self.procedure(self.program.observables)
        fields = self.fields(context, moving, values)
        K, M = self.flow.state.K, self.flow.state.M
        Q, R = ([[context.zero] * size for _ in range(K)] for size in (K, M))
        given = (fields[each.name] for each in procedure.inputs)
        error = getattr(self.module, procedure.name)(context, *given, Q, R)
        return Q, R, error

    def rows(self, times: np.ndarray) -> np.ndarray:
        return VariedFlow(self.flow, {}).run(times)

    def scales(self, sizes: Mapping[str, arb]) -> dict[str, arb]:
        """Return the scales max Q of Q, sqrt(max Q max T) of R and max v of v, by name."""
        largest = {
            letter: max(
                (sizes[name] for name in sizes if name[0] == letter), default=arb(0), key=float
            )
            for letter in "Qv"
        }
        largest["R"] = (largest["Q"] * arb(float(np.max(np.abs(self.flow.state.T))))).sqrt()
        return {name: largest[name[0]] for name in sizes if name[0] in largest}


def module_of(program: Program) -> SimpleNamespace:
    """Return the functions of a program in numbers of any kind.

    Raises:
        NotYetError: An activation is approximated by a sum.
    """
    from symderiv_codegen import PrinterError

    try:
        return precise_module(program)
    except PrinterError as error:
        raise no_closed_mean() from error


def _nested(values: np.ndarray) -> Any:
    # tolist keeps tuples that are entries of an object array
    return values.tolist() if values.ndim else values.item()
