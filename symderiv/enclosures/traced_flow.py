"""Equations as lists of operations in exact numbers: those of any run, and those of studies."""

from __future__ import annotations

import functools
import itertools
import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from symderiv.enclosures.exact_laws import (
    ExactLaw,
    ExactPiece,
    ExactVectors,
    classes_of,
    decimal,
)
from symderiv.enclosures.proved_run import Stage
from symderiv.enclosures.traced_module import continued, traced
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.packing import Packing
from symderiv.integrate.flows.sensitivities import VariedFlow
from symderiv.lowering.programs.exported import kept_program
from symderiv.lowering.programs.precise_module import precise_module
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.operations import Operations, Recorder, no_closed_mean

if TYPE_CHECKING:
    import sympy as sp
    from symderiv_codegen import Procedure, Program

    from symderiv.integrate.events.conditions import Condition
    from symderiv.integrate.flows.study_flow import Flow


#: The name of a field of the state, and the place of a number in it.
Place = tuple[str, int]
#: Numbers of any kind by the names of fields, as nested lists.
Fields = dict[str, Any]


TIME: Place = ("alpha", 0)
"""The place of time, which is a component of the state where equations contain it."""


@dataclass(frozen=True)
class TracedRates(ABC):
    """Equations in exact numbers, for runs that are proved.

    Attributes:
        program: The equations.
        module: The functions of the program in numbers of any kind.
        vectors: The start in doubles, and how the state and the constants are packed.
        usual: The exact numbers with which states are interpreted.
        pieces: The equations from times on at which they jump; the first one begins at 0.
    """

    program: Program
    module: SimpleNamespace
    vectors: ExactVectors
    usual: ExactLaw
    pieces: tuple[ExactPiece, ...]

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

    @property
    def in_time(self) -> bool:
        """Return whether the rates contain the time, which is then the last of :attr:`moving`."""
        return any(law.in_time for piece in self.pieces for law in piece.laws)

    @cached_property
    def start(self) -> list[Fraction]:
        """Return the start of the moving order parameters as fractions, in the order of
        :attr:`names`.
        """
        return [decimal(value) for value in self.values(self.vectors.begin)]

    @property
    def rates(self) -> Operations:
        """Return the rates of the moving order parameters, of a run whose rates do not jump."""
        (stage,) = self.stages
        return stage.rates

    @cached_property
    def stages(self) -> list[Stage]:
        """Return the rates of the moving order parameters, from each time on at which they jump."""
        begins = (piece.begin for piece in self.pieces)
        return list(itertools.starmap(Stage, zip(begins, self._operations[1], strict=True)))

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

    def values(self, row: np.ndarray, time: float = 0.0) -> list[float]:
        """Return the moving order parameters of a packed state in doubles."""
        views = {**self.vectors.state.views(row), TIME[0]: np.array([time])}
        return [float(views[name].reshape(-1)[place]) for name, place in self.moving]

    @property
    def moving(self) -> list[Place]:
        """Return the order parameters that move, as places in fields."""
        return self._operations[0]

    @cached_property
    def _operations(self) -> tuple[list[Place], list[Operations]]:
        """Return the moving order parameters and their rates in each piece.

        They are the entries whose rate is not identically zero in all pieces when all others are
        fixed.
        """
        fields = self.program.state.fields if self.program.state else ()
        moving = [
            (field.name, int(place))
            for field in fields
            for place in np.unique(self._mirrored(field.name))
        ]
        clock = [TIME] if self.in_time else []
        while True:
            operations = [self._traced([*moving, *clock], piece.laws) for piece in self.pieces]
            zero = [
                [each.entries[output] == ("number", Fraction(0)) for output in each.outputs]
                for each in operations
            ]
            still = {each for each, *known in zip(moving, *zero, strict=False) if all(known)}
            if not still:
                return ([*moving, *clock] if moving else []), operations
            moving = [each for each in moving if each not in still]

    def _traced(self, moving: list[Place], laws: Sequence[ExactLaw]) -> Operations:
        """Return the rates of moving order parameters, averaged over kinds of examples."""
        procedure = self.procedure(self.program.right_hand_side)
        state = [field.name for field in self.program.state.fields]  # type: ignore[union-attr]
        shapes = self.vectors.state.shapes
        zeros = [_nested(np.full(shapes[name], Fraction(0), object)) for name in state]
        together: Operations | None = None
        for law in laws:
            given = [self._stated(moving, each.name, law) for each in procedure.inputs]
            clock = moving.index(TIME) if TIME in moving else None
            together = traced(self.module, procedure.name, given, zeros, together, clock)
        assert together is not None
        begins = np.cumsum([0, *(int(np.prod(shapes[name])) for name in state)])
        starts, size = dict(zip(state, begins, strict=False)), int(begins[-1])
        recorder = Recorder(together.copied())

        def rate(place: Place) -> Any:
            if place == TIME:
                return recorder.one
            terms = (
                recorder.at(together.outputs[n * size + starts[place[0]] + place[1]])
                * (law.share / law.factor(*place))
                for n, law in enumerate(laws)
            )
            return functools.reduce(operator.add, terms)

        return recorder.recording([rate(place) for place in moving])

    def given(self, procedure: Procedure, law: ExactLaw | None = None) -> list[Any]:
        """Return the arguments of a procedure; moving order parameters are indices of the state.

        Args:
            procedure: The procedure.
            law: The numbers; those with which states are interpreted by default.
        """
        return [self._stated(self.moving, each.name, law) for each in procedure.inputs]

    def _stated(self, moving: Sequence[Place], name: str, law: ExactLaw | None = None) -> Any:
        """Return a field as nested lists; moving order parameters are indices of the state, with
        their factors.
        """
        places = {each: n for n, each in enumerate(moving)}
        if name == TIME[0]:
            return (places[TIME], Fraction(1)) if TIME in places else Fraction(0)
        law = law or self.usual
        values = law.numbers[name].copy()
        flat, mirrored = values.reshape(-1), self._mirrored(name)
        for place, twin in enumerate(mirrored):
            factor = law.factor(name, place)
            if (name, int(twin)) in places:
                flat[place] = (places[name, int(twin)], factor)
            elif factor != 1:
                flat[place] = flat[place] * factor
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
                return values[value[0]]  # equations at averaged eigenvalues have no factors
            if isinstance(value, Fraction):
                return context.mpf(value.numerator) / context.mpf(value.denominator)
            return context.mpf(ball(value, ctx.prec))

        return {name: number(self._stated(moving, name)) for name in self.usual.numbers}

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
        shape = self.usual.numbers[name].shape
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
            NotYetError: A mean is an integral, an activation is approximated by a sum, or a class
                of inputs has an eigenvalue of zero.
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
        packed = flow.begin, flow.unfactored, state, parameters, exact
        vectors = ExactVectors(*packed)
        if flow.data is not None:
            usual, laws = classes_of(vectors, flow.data)
            pieces = [ExactPiece(0.0, laws)]
        else:
            known = [(begin, ExactVectors(*packed, factors)) for begin, factors in flow.factors]
            pieces = [ExactPiece(begin, (ExactLaw(each.numbers),)) for begin, each in known]
            usual = pieces[0].laws[0]
        return cls(program, module_of(program), vectors, usual, tuple(pieces), flow)

    @cached_property
    def names(self) -> list[str]:
        """Return names of the moving order parameters, as ``student_overlap[1,1,2]``.

        The number of the eigenvalue comes first.
        """
        names = []
        for name, place in self.moving:
            if (name, place) == TIME:
                names.append(name)
                continue
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
        operations = self._averaged(procedure, operations, outputs)
        names = [f"Q[{i + 1},{j + 1}]" for i in range(K) for j in range(K)]
        names += [f"R[{i + 1},{n + 1}]" for i in range(K) for n in range(M)]
        weights = [(n, place) for n, (name, place) in enumerate(self.moving) if name == "v"]
        if len(weights) == K:
            operations.outputs[-1:-1] = [operations.place(("state", n)) for n, _ in weights]
            names += [f"v[{place + 1}]" for _, place in weights]
        return operations, [*names, "generalization_error"]

    def _averaged(
        self, procedure: Procedure, operations: Operations, outputs: Sequence[Any]
    ) -> Operations:
        """Return observables whose last one, the error, is averaged over classes of inputs."""
        (piece, *_), size = self.pieces, len(operations.outputs)
        if len(piece.laws) == 1:
            return operations
        for law in piece.laws:
            given = self.given(procedure, law)
            operations = traced(self.module, procedure.name, given, outputs, operations)
        recorder = Recorder(operations.copied())
        # the error at averaged eigenvalues comes first
        own = map(recorder.at, operations.outputs[2 * size - 1 :: size])
        means = (law.share * each for law, each in zip(piece.laws, own, strict=True))
        shown = map(recorder.at, operations.outputs[: size - 1])
        return recorder.recording([*shown, functools.reduce(operator.add, means)])

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
