"""Programs of derivatives: a program and its rates along a direction (forward mode).

Every array gets a second one with the rates at which its numbers change. Scalar functions get
functions of their rates, procedures procedures of theirs, and the right-hand side becomes that of
the variational equations, whose state is the direction. The result is a program like any other, so
that all passes and printers accept it.

Short functions are inlined before anything is differentiated, and a sum stays one sum: changing
factors go inside. The passes then compute common parts of value and rate once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array, Vector
from symderiv_codegen.ir.extension import Extension
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.loops import names_in
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.tables import TableTerm
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.ir.walk import array_name, calls_of, subexpressions
from symderiv_codegen.passes.derivatives.writing_out import with_sums_written_out

RATE_SUFFIX = "_tangent"
"""The suffix of names of rates."""


def tangent(program: Program, moving: Collection[str] | None = None) -> Program:
    """Return the program of the rates of a program's right-hand side along a direction.

    Its state is the direction in which the state of the program changes. Its parameters are that
    state, the parameters, followed by the directions of those parameters that have one.

    Args:
        program: The program.
        moving: Names of the parameters that have a direction; all by default. With fewer of them
            sums have fewer terms.

    Raises:
        ProgramError: A function is an integral whose derivative is not known, with its name; or
            there is no right-hand side on vectors; or no parameter has a name in ``moving``.
    """
    if program.procedure(program.right_hand_side) is None or not program.vectors:
        raise ProgramError(f"program {program.name!r}: has no right-hand side on vectors")
    state, parameters = program.vectors
    names = {field.name for field in parameters.fields}
    if unknown := sorted(set(moving or ()) - names):
        raise ProgramError(f"program {program.name!r}: has no parameter {unknown[0]!r}")
    moved = [each for each in parameters.fields if moving is None or each.name in moving]
    explicit = with_sums_written_out(program)
    derived = _Derived(explicit)
    derived.procedure(program.right_hand_side, (*state.fields, *moved))
    others = [each for each in explicit.procedures if each.name != program.right_hand_side]
    own = {each.name for each in others}
    procedures = [*others, *(each for each in derived.procedures if each.name not in own)]
    directions = tuple(map(_rate_of, state.fields))
    fields = (*state.fields, *parameters.fields, *map(_rate_of, moved))
    return replace(
        program,
        functions=(*program.functions, *derived.functions()),
        procedures=tuple(procedures),
        state=Vector(state.name, directions),
        parameters=Vector(parameters.name, fields),
        observables="",
    )


def tangent_procedure(program: Program, name: str) -> Program:
    """Return a program with the rates of one procedure's outputs when all its inputs change.

    Raises:
        ProgramError: A function is an integral whose derivative is not known.
    """
    explicit = with_sums_written_out(program)
    procedure = explicit.procedure(name)
    if procedure is None:
        raise ProgramError(f"program {program.name!r}: has no procedure {name!r}")
    derived = _Derived(explicit)
    derived.procedure(name, procedure.inputs)
    return replace(
        program,
        functions=(*program.functions, *derived.functions()),
        procedures=(*explicit.procedures, *derived.procedures),
        state=None,
        parameters=None,
        observables="",
    )


def as_stated(procedure: Procedure) -> Procedure:
    """Return a procedure with a body: for one that is given as text, its stated body.

    Raises:
        ProgramError: The procedure has no stated body.
    """
    if not procedure.template:
        return procedure
    if not procedure.stated:
        raise ProgramError(
            f"{procedure.name!r} is an integral over all fields, whose derivative is not known"
        )
    return replace(procedure, template="", body=procedure.stated)


def _rate_of(array: Array) -> Array:
    return Array(array.name + RATE_SUFFIX, array.shape, f"rate of {array.name}", array.symmetric)


@dataclass(frozen=True)
class ExpressionRates:
    """Rates of expressions in which some names change.

    Args:
        changing: The names.
        extension: The extension with the derivatives of functions that SymPy does not know.
    """

    changing: Collection[str]
    extension: Extension

    def of(self, node: sp.Expr) -> sp.Expr:
        """Return the rate of an expression as its names change."""
        if isinstance(node, sp.Indexed):
            name = array_name(node)
            known = name in self.changing
            return sp.IndexedBase(name + RATE_SUFFIX)[node.indices] if known else sp.S.Zero
        if isinstance(node, sp.Symbol):
            return _symbol(node) if str(node) in self.changing else sp.S.Zero
        if not node.args or node.is_number or isinstance(node, sp.KroneckerDelta):
            return sp.S.Zero
        if isinstance(node, sp.Add):
            return sp.Add(*map(self.of, node.args))
        if isinstance(node, sp.Mul):
            return self._product(node)
        if isinstance(node, sp.Sum):
            return self._sum(node.function, node.limits)
        if isinstance(node, sp.Piecewise):
            cases = [(self.of(value), condition) for value, condition in node.args]
            return sp.Piecewise(*cases) if any(value != 0 for value, _ in cases) else sp.S.Zero
        return self._function(node)

    def _product(self, node: sp.Mul) -> sp.Expr:
        sums = [factor for factor in node.args if isinstance(factor, sp.Sum)]
        if len(sums) == 1 and not _polynomial(sums[0].function):
            rest = sp.Mul(*(factor for factor in node.args if factor != sums[0]))
            return self._sum(rest * sums[0].function, sums[0].limits)
        # polynomial factors stay together, so that roots and arcsines are written only once
        easy = [factor for factor in node.args if _polynomial(factor)]
        hard = [factor for factor in node.args if not _polynomial(factor)]
        factors = (sp.Mul(*easy), *hard) if hard else node.args
        terms = []
        for place, factor in enumerate(factors):
            others = (*factors[:place], *factors[place + 1 :])
            terms.append(sp.Mul(self.of(factor), *others))
        return sp.Add(*terms)

    def _sum(self, summand: sp.Expr, limits: tuple[sp.Tuple, ...]) -> sp.Expr:
        """Return the rate as one sum, or as several if they can be compiled to matrix products."""
        inside = self.of(summand)
        parts = sp.Add.make_args(inside) if _polynomial(summand) else (inside,)
        return sp.Add(*(sp.Sum(part, *limits) for part in parts if part != 0))

    def _function(self, node: sp.Expr) -> sp.Expr:
        rates = [self.of(argument) for argument in node.args]
        if all(rate == 0 for rate in rates):
            return sp.S.Zero
        if isinstance(node, AppliedUndef):
            return sp.Function(node.func.__name__ + RATE_SUFFIX)(*node.args, *rates)
        slopes = self._slopes(node)
        return sp.Add(*(s * r for s, r in zip(slopes, rates, strict=True) if r != 0))

    def _slopes(self, node: sp.Expr) -> tuple[sp.Expr, ...]:
        name = node.func.__name__
        if name in self.extension.derivatives:
            return self.extension.derivatives[name](*node.args)
        if isinstance(node, sp.sign | sp.Heaviside | sp.floor):
            return (sp.S.Zero,) * len(node.args)
        if isinstance(node, sp.Abs):
            return (sp.sign(node.args[0]),)
        if isinstance(node, sp.Pow) and node.exp.is_number:
            return node.exp * node.base ** (node.exp - 1), sp.S.Zero
        places, slopes = _known_slopes(node.func, len(node.args))
        if any(slope.has(sp.Derivative, sp.Subs, sp.DiracDelta) for slope in slopes):
            raise ProgramError(f"the derivative of {name} is not known")
        return tuple(s.xreplace(dict(zip(places, node.args, strict=True))) for s in slopes)


@cache
def _known_slopes(
    function: Callable[..., sp.Expr], count: int
) -> tuple[tuple[sp.Dummy, ...], tuple[sp.Expr, ...]]:
    """Return symbols for the arguments, and the derivatives of a function by each of them."""
    places = tuple(sp.Dummy(real=True) for _ in range(count))
    free = function(*places)
    return places, tuple(sp.diff(free, place) for place in places)


def _symbol(symbol: sp.Symbol) -> sp.Symbol:
    return sp.Symbol(f"{symbol}{RATE_SUFFIX}", real=True)


def slopes_of(function: TemplateFunction) -> tuple[sp.Expr, ...]:
    """Return the derivatives of a function given as text by its arguments.

    Raises:
        ProgramError: They are not known.
    """
    if not function.slopes:
        raise ProgramError(
            f"{function.name!r} is an integral ({function.doc[:-1]}), whose derivative is not known"
        )
    return function.slopes


def _function(function: Function, extension: Extension) -> Function:
    size = len(function.arguments)
    common = {
        "name": function.name + RATE_SUFFIX,
        "arguments": (*function.arguments, *map(_symbol, function.arguments)),
        "doc": f"Rate of {function.name}.",
        "latex": "",
        "symmetries": tuple(
            (*order, *(size + place for place in order)) for order in function.symmetries
        ),
    }
    if isinstance(function, TemplateFunction):
        rates = map(_symbol, function.arguments)
        # slopes are integrals, too: compute only those whose argument changes
        terms = (
            sp.Piecewise((slope * rate, sp.Ne(rate, 0)), (0, True))
            for slope, rate in zip(slopes_of(function), rates, strict=True)
        )
        return ScalarFunction(**common, definitions=(), value=sp.Add(*terms))  # type: ignore[arg-type]
    if isinstance(function, ScalarFunction):
        definitions, value = straight(function.arguments, function, extension)
        rest = {"definitions": definitions, "value": value, "everywhere": False}
        return replace(function, **common, **rest)  # type: ignore[arg-type]
    terms = (_term(function.arguments, term, extension) for term in function.terms)
    return replace(function, **common, terms=tuple(terms))  # type: ignore[arg-type]


def _term(arguments: tuple[sp.Symbol, ...], term: TableTerm, extension: Extension) -> TableTerm:
    definitions, value = straight(arguments, term, extension)
    return TableTerm(term.rows, definitions, value)


def used_by(function: Function) -> dict[str, Function]:
    """Return the functions that only derivatives of a function call, by their names."""
    return {each.name: each for each in getattr(function, "used", ())}


def straight(
    arguments: tuple[sp.Symbol, ...], given: ScalarFunction | TableTerm, extension: Extension
) -> tuple[tuple[tuple[sp.Symbol, sp.Expr], ...], sp.Expr]:
    """Return definitions with their rates, and the rate of the value."""
    changing = {str(symbol) for symbol in arguments}
    rates, found = ExpressionRates(changing, extension), []
    for symbol, expression in given.definitions:
        found.append((symbol, expression))
        rate = rates.of(expression)
        if rate != 0:
            found.append((_symbol(symbol), rate))
            changing.add(str(symbol))
    value = rates.of(given.value)
    used = set(value.free_symbols)
    kept = []
    for symbol, expression in reversed(found):
        if symbol in used:
            kept.append((symbol, expression))
            used |= expression.free_symbols
    return tuple(reversed(kept)), value


class _Derived:
    """A collection of procedures of rates, derived from those of a program as they are called."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._known: dict[tuple[str, tuple[str, ...]], Procedure] = {}

    @property
    def procedures(self) -> tuple[Procedure, ...]:
        """The derived procedures, each after those that it calls."""
        return tuple(self._known.values())

    def functions(self) -> list[Function]:
        """Return the rates of the functions that are called."""
        wanted = {
            call.func.__name__
            for procedure in self.procedures
            for step in procedure.body
            if isinstance(step, Assignment)
            for call in calls_of(step.value)
        }
        found: list[Function] = []
        used: dict[str, Function] = {}
        for function in reversed(self._program.functions):
            if function.name + RATE_SUFFIX in wanted:
                rate = _function(function, self._program.extension)
                wanted |= {c.func.__name__ for each in rate.expressions for c in calls_of(each)}
                found.insert(0, rate)
                used |= used_by(function)
        # a function of the program may also be the derivative of another one
        own = {each.name for each in self._program.functions}
        return [*(each for name, each in used.items() if name not in own), *found]

    def procedure(self, name: str, moving: Sequence[Array]) -> Procedure:
        """Return the procedure of the rates of the outputs, with the values that it needs."""
        key = name, tuple(array.name for array in moving)
        if key in self._known:
            return self._known[key]
        procedure = self._program.procedure(name)
        assert procedure is not None
        procedure = as_stated(procedure)
        steps = list(self._steps(procedure, {array.name for array in moving}))
        outputs = tuple(map(_rate_of, procedure.outputs))
        body = self._needed(steps, {array.name for array in outputs})
        written = {each for step in body for each in self._written(step)}
        inner = (*procedure.outputs, *procedure.locals)
        local = (each for array in inner for each in (array, _rate_of(array)))
        held = tuple(a for a in local if a.name in written and a not in outputs)
        doc = f"{procedure.doc[:-1]}: rates along a direction."
        again = sum(known == name for known, _ in self._known)
        label = name if name == self._program.right_hand_side else name + RATE_SUFFIX
        label += f"_{again + 1}" * bool(again)
        inputs = (*procedure.inputs, *map(_rate_of, moving))
        found = self._known[key] = Procedure(label, doc, inputs, outputs, held, body)
        return found

    def _steps(self, procedure: Procedure, changing: set[str]) -> Iterable[Assignment | Call]:
        """Yield every step, each followed by the one that computes its rates."""
        outputs = {array.name for array in procedure.outputs}
        for step in procedure.body:
            if isinstance(step, Call):
                yield from self._calls(step, procedure, changing)
                continue
            value = ExpressionRates(changing, self._program.extension).of(step.value)
            yield step
            if value != 0 or step.name in outputs or step.name in changing:
                changing.add(step.name)
                target = ExpressionRates({step.name}, self._program.extension).of(step.target)
                yield replace(step, target=target, value=value, comment="")

    def _calls(self, step: Call, procedure: Procedure, changing: set[str]) -> Iterable[Call]:
        called = self._program.procedure(step.procedure)
        assert called is not None
        given = dict(zip((a.name for a in called.inputs), step.arguments, strict=False))
        outputs = step.arguments[len(called.inputs) :]
        moving = [array for array in called.inputs if given[array.name] in changing]
        when = None if step.when is None else _or_changing(step.when, changing)
        yield replace(step, when=when)
        if moving or when != step.when or {a.name for a in procedure.outputs} & set(outputs):
            changing |= set(outputs)
            rates = (given[array.name] + RATE_SUFFIX for array in moving)
            arguments = (*given.values(), *rates, *(name + RATE_SUFFIX for name in outputs))
            yield Call(self.procedure(called.name, moving).name, arguments, when=when)

    def _needed(
        self, body: Sequence[Assignment | Call], wanted: set[str]
    ) -> tuple[Assignment | Call, ...]:
        """Return the steps on which wanted names depend."""
        kept: list[Assignment | Call] = []
        for step in reversed(body):
            if not wanted & set(self._written(step)):
                continue
            kept.append(step)
            if isinstance(step, Call):
                wanted |= set(step.arguments)
            else:
                wanted |= names_in(step.value)
        return tuple(reversed(kept))

    def _written(self, step: Assignment | Call) -> tuple[str, ...]:
        if isinstance(step, Assignment):
            return (step.name,)
        known = (*self._program.procedures, *self._known.values())
        called = next(each for each in known if each.name == step.procedure)
        return step.arguments[len(called.inputs) :]


def _or_changing(condition: sp.Basic, changing: Collection[str]) -> sp.Basic:
    """Return a condition that also holds where changing symbols in it have nonzero rates."""
    symbols = (s for s in sorted(condition.free_symbols, key=str) if str(s) in changing)
    return sp.Or(condition, *(sp.Ne(_symbol(symbol), 0) for symbol in symbols))


def _polynomial(expression: sp.Expr) -> bool:
    """Return whether an expression contains no function, root or quotient."""
    for part in subexpressions(expression):
        if isinstance(part, sp.Pow) and not (part.exp.is_Integer and part.exp > 0):
            return False
        if isinstance(part, sp.Function) and not isinstance(part, sp.KroneckerDelta):
            return False
    return True
