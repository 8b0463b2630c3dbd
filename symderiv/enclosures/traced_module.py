"""The functions of a printed module, and expressions in their results, as lists of operations."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import sympy as sp

from symderiv.enclosures.exact_laws import ALPHA
from symderiv.formula.walker import Meaning, added, constant, multiplied, value_of
from symderiv.foundation.errors import NotYetError
from symderiv.precision.balls.operations import Operations, Recorded, Recorder, refusing_integrals

# functions without their guards, as evaluation in balls proves that arguments are in the domain
_GUARDED = {
    "_clipped_sqrt": lambda mp, x: mp.sqrt(x),
    "_clipped_asin": lambda mp, x: mp.asin(x),
    "_ratio": lambda mp, numerator, denominator: mp.mpf(numerator) / denominator,
}


def traced(
    module: SimpleNamespace,
    name: str,
    arguments: Sequence[Any],
    outputs: Sequence[Any],
    before: Operations | None = None,
    clock: int | None = None,
) -> Operations:
    """Return the operations of one function of a printed module.

    Args:
        module: See :func:`symderiv.lowering.programs.precise_module.precise_module`.
        name: The name of the function.
        arguments: Its arguments after the context, as nested lists; a component of the state is
            its index with a factor in a tuple, other numbers are exact fractions, SymPy numbers
            made of roots, or formulas in the time.
        outputs: Nested lists in which the function leaves its results; see ``arguments``. Its
            return value comes after them.
        before: Operations whose results come first.
        clock: The index of the time in the state, if arguments contain it.

    Raises:
        NotYetError: There is an operation, a function or a comparison without enclosure.
    """
    recorder = Recorder(before and before.copied())

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(each) for each in value]
        if isinstance(value, tuple):
            return component(value[0]) * value[1]
        if isinstance(value, sp.Basic):
            known = {} if clock is None else {ALPHA: component(clock)}
            recorded = value_of(value, _RecordedFormulas(recorder), known)
            return _InTime(recorded.operations, recorded.place) if value.has(ALPHA) else recorded
        return recorder.mpf(value)

    def component(place: int) -> Recorded:
        return recorder.at(recorder.operations.place(("state", place)))

    function = getattr(module, name)
    names = function.__globals__
    own = {key: names[key] for key in _GUARDED if key in names}
    try:
        names.update({key: _GUARDED[key] for key in own})
        places = [number(each) for each in outputs]
        with refusing_integrals():
            returned = function(recorder, *map(number, arguments), *places)
    except NotYetError as error:
        raise error.renamed("certify") from None
    finally:
        names.update(own)
    earlier = [recorder.at(place) for place in before.outputs] if before else []
    last = [] if returned is None else [returned]
    return recorder.recording([*earlier, *_flat(places), *last])


class _InTime(Recorded):
    """A formula in time that is not constant, so that it is not equal to any number.

    Where code has a branch for such a number, the other branch is right at all times but single
    ones, and by continuity there, too.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None


def continued(operations: Operations, expression: sp.Expr, names: Sequence[str]) -> Operations:
    """Return operations that end with an expression in the outputs, which have these names.

    Raises:
        NotYetError: There is an operation without enclosure.
    """
    recorder = Recorder(operations.copied())
    known = dict(zip(names, operations.outputs, strict=True))
    symbols = {each: recorder.at(known[each.name]) for each in expression.free_symbols}
    return recorder.recording([value_of(expression, _RecordedFormulas(recorder), symbols)])


@dataclass(frozen=True)
class _RecordedFormulas:
    """The domain of recorded formulas made of fractions, roots, powers, exp, log, sin and cos."""

    recorder: Recorder

    def meaning(self, node: sp.Expr) -> Meaning:
        if node.is_Rational:
            return constant(self.recorder.mpf(Fraction(int(node.p), int(node.q))))
        if node.is_Add:
            return added(node.args)
        if node.is_Mul:
            return multiplied(node.args)
        if node.is_Pow and (2 * node.exp).is_Integer:
            power = int(2 * node.exp)
            return (lambda base: self._half_power(base, power)), (node.base,)
        if isinstance(node, sp.exp | sp.log | sp.sin | sp.cos):
            return getattr(self.recorder, node.func.__name__), node.args
        if node.is_Pow:
            return operator.pow, node.args
        if node in (sp.pi, sp.E):
            return constant(self.recorder.pi if node == sp.pi else self.recorder.exp(1))
        raise NotYetError(
            f"has no enclosure: {node} is not made of fractions, roots, powers, exp, log, sin and "
            "cos"
        )

    def _half_power(self, base: Recorded, power: int) -> Recorded:
        root = base if power % 2 == 0 else base.function("sqrt")
        raised = root ** (abs(power) // (2 if power % 2 == 0 else 1))
        return raised if power > 0 else 1 / raised


def _flat(values: Any) -> Iterable[Any]:
    if isinstance(values, list):
        for each in values:
            yield from _flat(each)
    else:
        yield values
