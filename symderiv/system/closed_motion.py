"""Equations as an indexed program: means as functions, then the rates of overlaps and scalars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program, Vector
from sympy.core.function import AppliedUndef

from symderiv.foundation.derivation_cache import derived_once, package_folders
from symderiv.foundation.errors import NotClosed, NotYetError
from symderiv.lowering.means.closed_means import upper_triangle
from symderiv.numerics import GAUSSIAN
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.register import Overlap
from symderiv.statement.stated_motion import ALL, StatedEquations
from symderiv.statement.vector_expressions import SlowVector
from symderiv.system.means.averages import Averages
from symderiv.system.means.slot_means import SlotMeans

# No user-given name contains two underscores, so these names cannot clash with one.
WEIGHT = "class__weight"
BEGIN = "time__begin"

_K = sp.Idx("k", sp.Symbol("L", integer=True))
_ONE = sp.Idx("one", sp.Symbol("I", integer=True))
_WEIGHT = Array(WEIGHT, ("L",), "multiplicities of the eigenvalues over N")
_TIME = Array("alpha", (), "time since the beginning of the piece of a run")
_BEGIN = Array(BEGIN, (), "time at the beginning of the piece of a run")

Pair = tuple[SlowVector, SlowVector]
Key = TypeVar("Key")


def overlap_name(pair: Pair, head: str = "o") -> str:
    """Return the name of the array of an overlap in programs."""
    return f"{head}__{pair[0].name}__{pair[1].name}"


def eigenvalue_name(inputs: str) -> str:
    """Return the name of the array of eigenvalues of inputs in programs."""
    return f"rho__{inputs}"


def scalar_name(symbol: sp.Symbol, head: str = "u") -> str:
    """Return the name of a slow scalar in programs."""
    return f"{head}__{symbol}"


def parameter_name(symbol: sp.Symbol) -> str:
    """Return the name of a parameter in programs."""
    return f"p__{symbol}"


@dataclass(frozen=True)
class Closed:
    """Equations whose averages are functions of covariances, scalars and parameters.

    Args:
        equations: The derived equations.
        drift, noise, scalars, observables, averages: The parts of the equations of these names,
            with averages as functions.
        means: The functions that are the means.
    """

    equations: StatedEquations
    drift: Mapping[SlowVector, Mapping[tuple[str, SlowVector], sp.Expr]]
    noise: Mapping[Pair, Mapping[str, sp.Expr]]
    scalars: Mapping[sp.Symbol, sp.Expr]
    observables: Mapping[str, sp.Expr]
    averages: Mapping[sp.Symbol, sp.Expr]
    means: SlotMeans

    @cached_property
    def spectral(self) -> tuple[str, ...]:
        """Names of the inputs whose covariance is not the identity."""
        law = self.equations.law
        return tuple(each.name for each in law.gaussian_inputs if not law.isotropic(each.name))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of vectors in the order of their declaration."""
        vectors = self.equations.statement.vectors
        return tuple((a, b) for n, a in enumerate(vectors) for b in vectors[n:])

    @cached_property
    def moving(self) -> tuple[Pair, ...]:
        """The pairs of which at least one vector moves."""
        return tuple(pair for pair in self.pairs if any(v in self.drift for v in pair))

    @cached_property
    def _expressions(self) -> tuple[sp.Expr, ...]:
        return (
            *(rate for rates in self.drift.values() for rate in rates.values()),
            *(rate for rates in self.noise.values() for rate in rates.values()),
            *self.scalars.values(),
            *self.observables.values(),
            *self.averages.values(),
        )

    @cached_property
    def needed(self) -> frozenset[Pair]:
        """The overlaps that are needed to integrate the observables and all that feeds back on
        them.

        They are the overlaps in averages, completed by those in their equations, and so on.
        """
        return self.completed(self._pairs_in(self._expressions))

    def completed(self, pairs: Iterable[Pair]) -> frozenset[Pair]:
        """Return pairs of vectors completed by all those that their equations need."""
        reached = set(pairs)
        while True:
            more = set()
            for a, b in reached:
                for one, other in ((a, b), (b, a)):
                    more |= {self.ordered(c, other) for _, c in self.drift.get(one, {})}
                for (_, c), (_, d), _ in self.equations.products(a, b):
                    more.add(self.ordered(c, d))
            if more <= reached:
                return frozenset(reached)
            reached |= more

    def ordered(self, first: SlowVector, second: SlowVector) -> Pair:
        """Return two vectors as a pair in the order of declaration."""
        place = self.equations.law.symbols.place
        return (first, second) if place(first) <= place(second) else (second, first)

    def _pairs_in(self, expressions: Iterable[sp.Expr]) -> Iterable[Pair]:
        law = self.equations.law
        for symbol in set().union(*(e.free_symbols for e in expressions)):
            meaning = law.symbols.meaning.get(symbol)
            if isinstance(meaning, Overlap):
                yield meaning.first, meaning.second
            elif symbol in law.covariances:
                covariance = law.covariances[symbol]
                yield covariance.first, covariance.second

    @cached_property
    def in_time(self) -> bool:
        """True if the time occurs other than in steps at fixed times."""
        symbols = set().union(*(e.free_symbols for e in self._expressions))
        return any(map(self.equations.law.is_time, symbols))

    @property
    def autonomous(self) -> bool:
        """True if the equations are rates that depend on the state alone."""
        return not (self.in_time or self.equations.law.jumps or self.equations.by_steps)

    @cached_property
    def program(self) -> Program:
        """The equations as an indexed program."""
        return _Writer(self).program()

    @cached_property
    def extents(self) -> Mapping[str, sp.Expr]:
        """The largest variance, modulus of a mean, and modulus of a scalar among the arguments of
        means by quadrature; empty without such means.
        """
        calls: dict[str, list[sp.Expr]] = {"variance": [], "mean": [], "scalar": []}
        for call in set().union(*(each.atoms(AppliedUndef) for each in self._expressions)):
            size = self.means.fields_of(str(call.func))
            if size is None:
                continue
            triangle = size * (size + 1) // 2
            pairs = zip(upper_triangle(size), call.args, strict=False)
            calls["variance"] += [each for (i, j), each in pairs if i == j]
            calls["mean"] += map(sp.Abs, call.args[triangle : triangle + size])
            calls["scalar"] += map(sp.Abs, call.args[triangle + size :])
        largest = {name: sorted(set(values), key=str) for name, values in calls.items() if values}
        # unevaluated: comparing the arguments takes long
        return {name: sp.Max(*values, evaluate=False) for name, values in largest.items()}

    @cached_property
    def extent_program(self) -> Program:
        """A program with one procedure for each of the extents."""
        writer, extents = _Writer(self), self.extents
        procedures = tuple(writer.average(name, value) for name, value in extents.items())
        calls = any(value.atoms(AppliedUndef) for value in extents.values())
        return replace(
            self.program,
            functions=self.program.functions if calls else (),
            procedures=procedures,
            constants=self.program.constants if calls else {},
            state=None,
            parameters=None,
        )

    @cached_property
    def differentiable_program(self) -> Program:
        """The program with derivatives of its means by quadrature.

        Raises:
            NotYetError: The derivative of a mean is not known.
        """
        joints, products = self.means.joints.with_slopes(), self.means.products.with_slopes()
        known = {each.name for each in self.program.functions}
        by_slopes = {*products.names.values()} - known
        own = {each.name: joints.functions.get(each.name, each) for each in self.program.functions}
        own |= {name: f for name, f in products.functions.items() if name not in by_slopes}
        functions = tuple(own.values())
        constants = {**joints.constants, **products.constants}
        return replace(self.program, functions=functions, constants=constants)


def closed(equations: StatedEquations) -> Closed:
    """Return the equations with all averages expressed by functions.

    Raises:
        NotClosed: A mean does not exist or cannot be computed.
    """

    def source(target: SlowVector | sp.Symbol) -> str:
        return "; ".join(equations.step.source.get(target, ()))

    # the noise first: if a mean of squares diverges, the message should name it
    parts = [
        (rate, source(a)) for (a, _), rates in equations.noise.items() for rate in rates.values()
    ]
    parts += [(rate, source(a)) for a, rates in equations.drift.items() for rate in rates.values()]
    parts += [(rate, source(u)) for u, rate in equations.scalars.items()]
    parts += [(value, f"observe({name}=…)") for name, value in equations.observables.items()]
    parts += [(value, f"average({value})") for value in equations.averages.values()]
    law, expressions = equations.law, tuple(expression for expression, _ in parts)
    asked = _Asked(law, tuple(line for _, line in parts))
    lowered, covariances, means = _taken(expressions, law.told(expressions), asked)
    law.know_covariances(covariances)
    in_order = iter(lowered)

    def taken(keys: Iterable[Key]) -> dict[Key, sp.Expr]:
        return {key: next(in_order) for key in keys}

    noise = {pair: taken(rates) for pair, rates in equations.noise.items()}
    drift = {vector: taken(rates) for vector, rates in equations.drift.items()}
    scalars, observables = taken(equations.scalars), taken(equations.observables)
    return Closed(equations, drift, noise, scalars, observables, taken(equations.averages), means)


@dataclass(frozen=True)
class _Asked:
    """Arguments that do not enter the cache key, since the text of the law contains them.

    Attributes:
        law: The law of the fields.
        lines: The statement that each expression follows from, for messages.
    """

    law: FieldLaw = field(repr=False, compare=False)
    lines: tuple[str, ...] = field(repr=False, compare=False)


# not shared between systems, as they may add means
@derived_once(imports=(__name__,), also=package_folders("symderiv_codegen"), remembered=0)
def _taken(
    expressions: tuple[sp.Expr, ...], _told: str, asked: _Asked
) -> tuple[list[sp.Expr], set[tuple[tuple[str, ...], str, str]], SlotMeans]:
    """Return expressions with averages as functions, the covariances in them, and the means.

    Raises:
        NotClosed: A mean does not exist or cannot be computed.
    """
    means = SlotMeans()
    averages = Averages(asked.law, means)
    lowered = [averages.lowered(*each) for each in zip(expressions, asked.lines, strict=True)]
    try:
        _ = means.all_functions, means.constants  # chooses the rules of quadrature
    except NotYetError as error:
        raise NotClosed(f"means without closed form cannot be computed: {error}") from error
    return lowered, asked.law.covariances_in(lowered), means


class _Writer:
    """A writer of the program, with one local for every mean, coefficient and covariance."""

    def __init__(self, closed: Closed) -> None:
        self.closed = closed
        self.law = closed.equations.law
        self.symbols = self.law.symbols

    def program(self) -> Program:
        closed, state, parameters = self.closed, self._state(), self._parameters()
        return Program(
            name="system",
            title="Order parameters of a stated learning problem.",
            recipe={},
            equations=(),
            ranges=("K", "M", "L", "I"),
            small=("I",),
            functions=closed.means.all_functions,
            constants=closed.means.constants,
            procedures=(
                *(self.average(name, value) for name, value in closed.observables.items()),
                self._rates((*state, *parameters, *self._clock)),
            ),
            state=Vector("state", tuple(state)),
            parameters=Vector("parameters", tuple(parameters)),
            extension=GAUSSIAN,
        )

    def _state(self) -> list[Array]:
        """Return the arrays of the state in order."""
        state = [self._overlap(pair) for pair in self.closed.moving]
        return state + [Array(scalar_name(u), ("I",), "slow scalar") for u in self.symbols.scalars]

    def _parameters(self) -> list[Array]:
        """Return the arrays of the parameters in order."""
        pairs = self.closed.pairs
        parameters = [self._overlap(pair) for pair in pairs if pair not in self.closed.moving]
        parameters += [_WEIGHT, *(self._eigenvalue(name) for name in self.closed.spectral)]
        names = map(parameter_name, self.symbols.parameters)
        return [*parameters, *(Array(name, (), "parameter") for name in names), *self._times]

    def _overlap(self, pair: Pair, prefix: str = "o") -> Array:
        a, b = pair
        return Array(overlap_name(pair, prefix), ("L",), f"{a.name}·{b.name}/N")

    def _eigenvalue(self, inputs: str) -> Array:
        return Array(eigenvalue_name(inputs), ("L",), f"eigenvalues of the inputs {inputs}")

    def _element(self, array: Array) -> sp.Expr:
        return sp.IndexedBase(array.name)[_K]

    def _of_pair(self, first: SlowVector, second: SlowVector) -> sp.Expr:
        return self._element(self._overlap(self.closed.ordered(first, second)))

    def average(self, name: str, value: sp.Expr) -> Procedure:
        """Return the procedure of an observable, or of another function of the state."""
        body, fields = _ProcedureBody(self), (*self._state(), *self._parameters(), *self._clock)
        output = Array(f"{name}__mean", (), f"the average {name}")
        body.assign(sp.Symbol(output.name), value)
        return body.procedure(f"observe_{name}", f"The average {name}.", fields, (output,))

    def _rates(self, fields: tuple[Array, ...]) -> Procedure:
        body, closed = _ProcedureBody(self), self.closed
        drift = {
            vector: {
                (inputs, c): body.local(f"drift__{vector.name}__{c.name}__{inputs or 'all'}", rate)
                for (inputs, c), rate in rates.items()
            }
            for vector, rates in closed.drift.items()
        }
        noise = {
            pair: {
                inputs: body.local(f"noise__{pair[0].name}__{pair[1].name}__{inputs}", rate)
                for inputs, rate in rates.items()
            }
            for pair, rates in closed.noise.items()
        }
        outputs = []
        for pair in closed.moving:
            a, b = pair
            total = sp.S.Zero
            for one, other in ((a, b), (b, a)):
                for (inputs, c), rate in drift.get(one, {}).items():
                    total += self._scale(inputs) * rate * self._of_pair(c, other)
            for inputs, rate in (noise.get((a, b)) or noise.get((b, a)) or {}).items():
                total += self._scale(inputs) * rate
            if closed.equations.by_steps:
                for (inputs, c), rate in drift.get(a, {}).items():
                    for (others, d), factor in drift.get(b, {}).items():
                        scale = self._scale(inputs) * self._scale(others)
                        total += scale * rate * factor * self._of_pair(c, d)
            outputs.append(self._overlap(pair, "d"))
            body.assign(self._element(outputs[-1]), total)
        for u in self.symbols.scalars:
            output = Array(scalar_name(u, "d"), ("I",), "rate of a slow scalar")
            outputs.append(output)
            rate = closed.scalars.get(u, sp.S.Zero)
            body.assign(sp.IndexedBase(output.name)[_ONE], rate)
        words = "Rates of change; time is steps over input dimension."
        if closed.equations.by_steps:
            words = "What a step adds; time is the number of steps."
        return body.procedure("right_hand_side", words, fields, tuple(outputs))

    @property
    def _clock(self) -> list[Array]:
        return [_TIME] if self.closed.in_time else []

    @property
    def _times(self) -> list[Array]:
        """Parameters for jumps in time, and for the start of a piece of a run."""
        jumps = [
            Array(str(symbol), (), f"1 where {place} > 0, else 0")
            for symbol, place in self.law.jumps.items()
        ]
        return [*jumps, _BEGIN] if self.closed.in_time else jumps

    def _scale(self, inputs: str) -> sp.Expr:
        if inputs == ALL or inputs not in self.closed.spectral:
            return sp.S.One
        return self._element(self._eigenvalue(inputs))

    def definition(self, symbol: sp.Symbol) -> sp.Expr | None:
        """Return a symbol of the equations in terms of the arrays of the program."""
        meaning = self.symbols.meaning.get(symbol)
        k = sp.Idx("l", sp.Symbol("L", integer=True))
        if isinstance(meaning, Overlap):
            value = self._of_pair(meaning.first, meaning.second)
            weight = sp.IndexedBase(_WEIGHT.name)[k]
            return sp.Sum(weight * value.xreplace({_K: k}), k)
        if symbol in self.law.covariances:
            covariance = self.law.covariances[symbol]
            value = self._of_pair(covariance.first, covariance.second).xreplace({_K: k})
            scale = sp.Mul(*(self._scale(each).xreplace({_K: k}) for each in covariance.inputs))
            return sp.Sum(sp.IndexedBase(_WEIGHT.name)[k] * scale * value, k)
        if symbol.name.startswith("trace__"):
            names = symbol.name.removeprefix("trace__").split("__")
            scale = sp.Mul(*(self._scale(name).xreplace({_K: k}) for name in names))
            return sp.Sum(sp.IndexedBase(_WEIGHT.name)[k] * scale, k)
        if symbol in self.symbols.scalars:
            return sp.IndexedBase(scalar_name(symbol))[0]
        if symbol in self.symbols.parameters:
            return sp.Symbol(parameter_name(symbol), real=True)
        if self.law.is_time(symbol):
            return sp.Symbol(_TIME.name, real=True) + sp.Symbol(_BEGIN.name, real=True)
        return self.closed.averages.get(symbol)


class _ProcedureBody:
    """The body of a procedure, with a local for each mean and covariance."""

    def __init__(self, writer: _Writer) -> None:
        self.writer = writer
        self.steps: list[Assignment] = []
        self.locals: list[Array] = []
        self._known: dict[sp.Expr, sp.Expr] = {}
        self._number = 0

    def local(self, name: str, value: sp.Expr) -> sp.Expr:
        """Return a local scalar with a value, or the value itself if it is a number or a symbol."""
        value = self._expressed(value)
        if value.is_number or value.is_Symbol:
            return value
        return self._named(name, value)

    def _named(self, name: str, value: sp.Expr) -> sp.Symbol:
        """Return a local scalar of this name with a value."""
        self.locals.append(Array(name, ()))
        local = sp.Symbol(name, real=True)
        self.steps.append(Assignment(local, value))
        return local

    def assign(self, target: sp.Expr, value: sp.Expr) -> None:
        """Assign a value to an output."""
        self.steps.append(Assignment(target, self._expressed(value)))

    def _expressed(self, value: sp.Expr) -> sp.Expr:
        for symbol in sorted(value.free_symbols, key=str):
            if symbol in self._known or isinstance(symbol, sp.Idx | sp.Indexed):
                continue
            definition = self.writer.definition(symbol)
            if definition is None:
                continue
            if isinstance(definition, sp.Sum):
                definition = self._named(symbol.name, definition)
            elif symbol in self.writer.closed.averages:
                definition = self.local(symbol.name, definition)
            self._known[symbol] = definition
        value = value.xreplace(self._known)
        calls = sorted(value.atoms(AppliedUndef), key=str)
        for call in calls:
            if call not in self._known:
                self._number += 1
                self._known[call] = self._named(f"m__{self._number}", call)
        return value.xreplace({call: self._known[call] for call in calls})

    def procedure(
        self, name: str, doc: str, inputs: tuple[Array, ...], outputs: tuple[Array, ...]
    ) -> Procedure:
        """Return the procedure of the assignments made so far."""
        return Procedure(name, doc, inputs, outputs, tuple(self.locals), tuple(self.steps))
