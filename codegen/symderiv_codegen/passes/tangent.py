"""Programs of derivatives: a program and its rates along a direction (forward mode).

Every array gets a second one with the rates at which its numbers change. Scalar functions get
functions of their rates, procedures procedures of theirs, and the right-hand side becomes that of
the variational equations, whose state is the old one with the direction behind it. The result is a
program like any other, so that all passes and printers take it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array, Vector
from symderiv_codegen.ir.extension import Extension
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.tables import TableTerm
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.ir.walk import array_name

BEHIND = "_tangent"
"""Behind the names of what changes stand the names of its rates."""


def tangent(program: Program) -> Program:
    """Return the program whose right-hand side is that of a program and of its derivatives.

    Its state is that of the program, and behind it the direction; so are its parameters.

    Raises:
        ProgramError: A function is an integral whose derivative is not known, with its name; or
            there is no right-hand side on vectors.
    """
    if program.procedure(program.right_hand_side) is None or not program.vectors:
        raise ProgramError(f"program {program.name!r}: has no right-hand side on vectors")
    functions = [*program.functions]
    functions += [_function(each, program.extension) for each in program.functions]
    procedures = [each for each in program.procedures if each.name != program.right_hand_side]
    derived = [_procedure(each, program) for each in procedures]
    state, parameters = map(_with_rates, program.vectors)
    return replace(
        program,
        functions=tuple(functions),
        procedures=(*procedures, *derived, _right_hand_side(program)),
        state=state,
        parameters=parameters,
        observables="",
    )


def _with_rates(vector: Vector) -> Vector:
    return Vector(vector.name, (*vector.fields, *map(_rate_of, vector.fields)))


def _rate_of(array: Array) -> Array:
    return Array(array.name + BEHIND, array.shape, f"rate of {array.name}", array.symmetric)


@dataclass(frozen=True)
class _Rates:
    """Rates of expressions in which some names change.

    Args:
        changing: The names.
        extension: With the derivatives of functions that SymPy does not know.
    """

    changing: Collection[str]
    extension: Extension

    def of(self, node: sp.Expr) -> sp.Expr:
        """Return the rate of an expression."""
        if isinstance(node, sp.Indexed):
            name = array_name(node)
            known = name in self.changing
            return sp.IndexedBase(name + BEHIND)[node.indices] if known else sp.S.Zero
        if isinstance(node, sp.Symbol):
            return _symbol(node) if str(node) in self.changing else sp.S.Zero
        if not node.args or node.is_number or isinstance(node, sp.KroneckerDelta):
            return sp.S.Zero
        if isinstance(node, sp.Add):
            return sp.Add(*map(self.of, node.args))
        if isinstance(node, sp.Mul):
            return self._product(node)
        if isinstance(node, sp.Sum):
            inside = self.of(node.function)
            return sp.Sum(inside, *node.limits) if inside != 0 else sp.S.Zero
        if isinstance(node, sp.Piecewise):
            cases = [(self.of(value), condition) for value, condition in node.args]
            return sp.Piecewise(*cases) if any(value != 0 for value, _ in cases) else sp.S.Zero
        return self._function(node)

    def _product(self, node: sp.Mul) -> sp.Expr:
        terms = []
        for place, factor in enumerate(node.args):
            others = (*node.args[:place], *node.args[place + 1 :])
            terms.append(sp.Mul(self.of(factor), *others))
        return sp.Add(*terms)

    def _function(self, node: sp.Expr) -> sp.Expr:
        rates = [self.of(argument) for argument in node.args]
        if all(rate == 0 for rate in rates):
            return sp.S.Zero
        if isinstance(node, AppliedUndef):
            return sp.Function(node.func.__name__ + BEHIND)(*node.args, *rates)
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
        places = [sp.Dummy(real=True) for _ in node.args]
        free = node.func(*places)
        slopes = [sp.diff(free, place) for place in places]
        if any(slope.has(sp.Derivative, sp.Subs, sp.DiracDelta) for slope in slopes):
            raise ProgramError(f"the derivative of {name} is not known")
        return tuple(s.xreplace(dict(zip(places, node.args, strict=True))) for s in slopes)


def _symbol(symbol: sp.Symbol) -> sp.Symbol:
    return sp.Symbol(f"{symbol}{BEHIND}", real=True)


def _function(function: Function, extension: Extension) -> Function:
    if isinstance(function, TemplateFunction):
        raise ProgramError(
            f"{function.name!r} is an integral ({function.doc[:-1]}), whose derivative is not known"
        )
    size = len(function.arguments)
    common = {
        "name": function.name + BEHIND,
        "arguments": (*function.arguments, *map(_symbol, function.arguments)),
        "doc": f"Rate of {function.name}.",
        "latex": "",
        "symmetries": tuple(
            (*order, *(size + place for place in order)) for order in function.symmetries
        ),
    }
    if isinstance(function, ScalarFunction):
        definitions, value = _straight(function.arguments, function, extension)
        rest = {"definitions": definitions, "value": value, "everywhere": False}
        return replace(function, **common, **rest)  # type: ignore[arg-type]
    terms = (_term(function.arguments, term, extension) for term in function.terms)
    return replace(function, **common, terms=tuple(terms))  # type: ignore[arg-type]


def _term(arguments: tuple[sp.Symbol, ...], term: TableTerm, extension: Extension) -> TableTerm:
    definitions, value = _straight(arguments, term, extension)
    return TableTerm(term.rows, definitions, value)


def _straight(
    arguments: tuple[sp.Symbol, ...], given: ScalarFunction | TableTerm, extension: Extension
) -> tuple[tuple[tuple[sp.Symbol, sp.Expr], ...], sp.Expr]:
    """Return definitions with their rates, and the rate of the value."""
    changing = {str(symbol) for symbol in arguments}
    rates, found = _Rates(changing, extension), []
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


def _procedure(procedure: Procedure, program: Program) -> Procedure:
    """Return the procedure of the rates of the outputs; it computes of the values what it needs."""
    body = tuple(_steps(procedure, program))
    outputs = tuple(map(_rate_of, procedure.outputs))
    kept = _needed(body, {array.name for array in outputs})
    return _assembled(procedure, procedure.name + BEHIND, outputs, kept)


def _right_hand_side(program: Program) -> Procedure:
    procedure = program.procedure(program.right_hand_side)
    assert procedure is not None
    outputs = (*procedure.outputs, *map(_rate_of, procedure.outputs))
    body = tuple(_steps(procedure, program))
    return _assembled(procedure, procedure.name, outputs, body)


def _assembled(
    procedure: Procedure, name: str, outputs: tuple[Array, ...], body: tuple[Assignment | Call, ...]
) -> Procedure:
    if procedure.template:
        raise ProgramError(
            f"{procedure.name!r} is an integral over all fields, whose derivative is not known"
        )
    written = {name for step in body for name in _written(step)}
    given = {array.name for array in outputs}
    inner = (*procedure.outputs, *procedure.locals)
    local = (each for array in inner for each in (array, _rate_of(array)))
    held = tuple(a for a in local if a.name in written and a.name not in given)
    moving = tuple(_rate_of(array) for array in procedure.inputs if array.name != "alpha")
    doc = f"{procedure.doc[:-1]}, and rates along a direction."
    return Procedure(name, doc, (*procedure.inputs, *moving), outputs, held, body)


def _written(step: Assignment | Call) -> Iterable[str]:
    return (step.name,) if isinstance(step, Assignment) else step.arguments


def _steps(procedure: Procedure, program: Program) -> Iterable[Assignment | Call]:
    """Yield every step, and behind it the one that gives its rates."""
    changing = set(procedure.arrays) - {"alpha"}
    rates = _Rates(changing, program.extension)
    for step in procedure.body:
        if isinstance(step, Assignment):
            target = rates.of(step.target)
            yield step
            yield replace(step, target=target, value=rates.of(step.value), comment="")
            continue
        called = program.procedure(step.procedure)
        assert called is not None
        when = None if step.when is None else _or_changing(step.when)
        inputs = step.arguments[: len(called.inputs)]
        outputs = step.arguments[len(called.inputs) :]
        moving = (name + BEHIND for name in inputs if name != "alpha")
        yield replace(step, when=when)
        arguments = (*inputs, *moving, *(name + BEHIND for name in outputs))
        yield Call(called.name + BEHIND, arguments, when=when)


def _or_changing(condition: sp.Basic) -> sp.Basic:
    """Return whether something is to be computed: also where it only begins to count."""
    symbols = sorted(condition.free_symbols, key=str)
    return sp.Or(condition, *(sp.Ne(_symbol(symbol), 0) for symbol in symbols))


def _needed(body: tuple[Assignment | Call, ...], wanted: set[str]) -> tuple[Assignment | Call, ...]:
    """Return the steps that something wanted depends on."""
    kept: list[Assignment | Call] = []
    for step in reversed(body):
        if not isinstance(step, Assignment):
            wanted |= set(step.arguments)
            kept.append(step)
        elif step.name in wanted:
            elements = step.value.atoms(sp.Indexed)
            wanted |= {array_name(each) for each in elements}
            wanted |= {str(symbol) for symbol in step.value.free_symbols}
            kept.append(step)
    return tuple(reversed(kept))
