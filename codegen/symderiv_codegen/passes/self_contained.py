"""Programs whose special functions and guarded operations are functions of the program itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import sympy as sp

from symderiv_codegen.errors import PrinterError
from symderiv_codegen.ir.extension import NO_EXTENSION
from symderiv_codegen.ir.functions import Function
from symderiv_codegen.ir.portable import Portable, helpers
from symderiv_codegen.ir.procedures import Assignment, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.tables import Row, TableSum, TableTerm
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.ir.walk import calls_of

ALWAYS = ("Heaviside", "sign", "SoftPlus")
HALF = sp.Rational(1, 2)


def self_contained(program: Program) -> Program:
    """Return the program with external functions that it uses added as functions of its own.

    Raises:
        PrinterError: A function is a text for compiled Python and nothing else.
    """
    portable = program.extension.portable()
    own = tuple(_function(each, portable) for each in program.functions)
    procedures = tuple(_procedure(each, portable) for each in program.procedures)
    needed = _needed(portable, own, procedures)
    used = {row.size for f in needed for row in _rows(f)}
    used |= {table for f in needed for row in _rows(f) for _, table in row.entries}
    tables = {name: value for name, value in portable.constants.items() if name in used}
    return replace(
        program,
        functions=(*needed, *own),
        procedures=procedures,
        constants={**program.constants, **tables},
        extension=NO_EXTENSION,
    )


def _rows(function: Function) -> list[Row]:
    return (
        [row for term in function.terms for row in term.rows]
        if isinstance(function, TableSum)
        else []
    )


def _function(function: Function, portable: Portable) -> Function:
    if isinstance(function, TemplateFunction):
        raise PrinterError(
            f"{function.name!r} is an integral that only compiled modules evaluate "
            "(symderiv generate)"
        )
    guarded = function.guarded

    def changed(expression: sp.Expr) -> sp.Expr:
        return _rewritten(expression, portable, guarded)

    if isinstance(function, TableSum):
        terms = tuple(
            TableTerm(t.rows, tuple((s, changed(e)) for s, e in t.definitions), changed(t.value))
            for t in function.terms
        )
        return replace(function, terms=terms, guarded=False)
    definitions = tuple((symbol, changed(e)) for symbol, e in function.definitions)
    return replace(function, definitions=definitions, value=changed(function.value), guarded=False)


def _procedure(procedure: Procedure, portable: Portable) -> Procedure:
    if procedure.template:
        raise PrinterError(
            f"{procedure.name!r} is an integral that only compiled modules evaluate "
            "(symderiv generate)"
        )
    body = (
        replace(step, value=_rewritten(step.value, portable, False))
        if isinstance(step, Assignment)
        else step
        for step in procedure.body
    )
    return replace(procedure, body=tuple(body))


def _needed(
    portable: Portable, own: Iterable[Function], procedures: Iterable[Procedure]
) -> tuple[Function, ...]:
    """Return the special functions and helpers that functions and procedures call,
    directly or not.
    """
    assigned = (s.value for p in procedures for s in p.body if isinstance(s, Assignment))
    waiting = _called((*assigned, *(e for f in own for e in f.expressions)))
    specials = {each.name: each for each in portable.definitions(waiting)}
    plain = {each.name: each for each in helpers().values()}
    found: dict[str, Function] = {}
    while waiting:
        name = waiting.pop()
        if name in found or name not in {**plain, **specials}:
            continue
        found[name] = plain.get(name) or _function(specials[name], portable)
        waiting |= _called(found[name].expressions)
    return tuple(found[name] for name in (*plain, *specials) if name in found)


def _called(expressions: Iterable[sp.Expr]) -> set[str]:
    return {str(call.func) for each in expressions for call in calls_of(each)}


def _rewritten(node: sp.Expr, portable: Portable, guarded: bool) -> sp.Expr:
    """Return the expression with calls in place of special functions and guarded operations."""
    if not node.args or isinstance(node, sp.Indexed):
        return node
    if guarded and isinstance(node, sp.Mul):
        return _product(node, portable)
    if guarded and isinstance(node, sp.Pow) and node.exp.is_Rational and not node.base.is_number:
        return _power(node, portable)
    arguments = [_rewritten(each, portable, guarded) for each in node.args]
    name = node.func.__name__
    if name in portable.functions:
        return sp.Function(portable.functions[name])(*arguments)
    if name in ALWAYS or (guarded and name in helpers() and not arguments[0].is_number):
        return _call(name, arguments[0])
    same = all(new is old for new, old in zip(arguments, node.args, strict=True))
    return node if same else node.func(*arguments)


def _call(helper: str, *arguments: sp.Expr) -> sp.Expr:
    return sp.Function(helpers()[helper].name)(*arguments)


def _product(node: sp.Mul, portable: Portable) -> sp.Expr:
    """Return a product with one guarded quotient by all factors in its denominator."""
    above, below, numbers = [], [], []
    for factor in node.args:
        if factor.is_number:
            numbers.append(factor)
        elif isinstance(factor, sp.Pow) and factor.exp.is_Rational and factor.exp < 0:
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    left = [_rewritten(each, portable, True) for each in above]
    if not below:
        return sp.Mul(*numbers, *left)
    right = [_rewritten(each, portable, True) for each in below]
    return sp.Mul(*numbers, _call("/", sp.Mul(*left), sp.Mul(*right)))


def _power(node: sp.Pow, portable: Portable) -> sp.Expr:
    base, exponent = _rewritten(node.base, portable, True), node.exp
    if exponent < 0:
        return _call("/", sp.Integer(1), _rewritten(node.base**-exponent, portable, True))
    if exponent.q == 2:
        return base ** (exponent - HALF) * _call("sqrt", base)
    return base**exponent
