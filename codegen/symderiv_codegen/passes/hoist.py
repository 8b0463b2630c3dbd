"""Loop-invariant code motion: values that do not change in a loop are computed before it.

Calls, roots, quotients and products of at least two quantities are moved; single array elements
stay, as the compiler keeps them in registers. Code under a condition keeps its calls and quotients
(they may only make sense under that condition); its products may move.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from symderiv_codegen.ir.loops import (
    Conditional,
    Increase,
    Loop,
    Node,
    Set,
    inner,
    names_in,
    writes,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.walk import rebuilt


def hoist(body: tuple[Node, ...], names: NamePool) -> tuple[Node, ...]:
    """Return the nodes with invariants computed before their loops, outermost loops first."""
    result: list[Node] = []
    known: dict[sp.Expr, sp.Symbol] = {}
    for node in body:
        if isinstance(node, Loop):
            moved = _Invariants(node, names, known)
            changed = moved.rewrite(node, under_condition=False)
            assert isinstance(changed, Loop)
            result += [Set(symbol, value) for value, symbol in moved.found.items()]
            known |= moved.found
            result.append(
                Loop(changed.index, changed.start, changed.stop, hoist(changed.body, names))
            )
        elif isinstance(node, Conditional):
            result.append(Conditional(tuple((c, hoist(inside, names)) for c, inside in node.cases)))
        else:
            result.append(node)
        changed_names = writes(node)
        known = {e: symbol for e, symbol in known.items() if not names_in(e) & changed_names}
    return tuple(result)


class _Invariants:
    """The invariants of one loop, which are replaced by names."""

    def __init__(self, loop: Loop, names: NamePool, known: Mapping[sp.Expr, sp.Symbol]) -> None:
        self._changing = writes(loop)
        self._changing |= {str(node.index) for node in inner(loop) if isinstance(node, Loop)}
        self._names = names
        self._known = known
        self.found: dict[sp.Expr, sp.Symbol] = {}

    def rewrite(self, node: Node, under_condition: bool) -> Node:
        """Return the node with its invariants replaced."""
        if isinstance(node, Set):
            return replace(node, value=self._replace(node.value, under_condition))
        if isinstance(node, Increase):
            return Increase(node.target, self._replace(node.value, under_condition))
        if isinstance(node, Loop):
            body = tuple(self.rewrite(child, under_condition) for child in node.body)
            return Loop(node.index, node.start, node.stop, body)
        if isinstance(node, Conditional):
            return Conditional(
                tuple((c, tuple(self.rewrite(n, True) for n in body)) for c, body in node.cases)
            )
        return node

    def _fixed(self, expression: sp.Basic) -> bool:
        return not names_in(expression) & self._changing

    def _replace(self, expression: sp.Expr, under_condition: bool) -> sp.Expr:
        if expression.is_Atom or isinstance(expression, sp.Indexed | sp.Piecewise):
            return expression
        if self._fixed(expression) and _worth_a_name(expression, under_condition):
            coefficient, rest = _without_number(expression)
            return coefficient * self._name(rest)
        if isinstance(expression, sp.Mul | sp.Add):
            fixed = [a for a in expression.args if self._fixed(a) and not a.is_number]
            part = expression.func(*fixed)
            if len(fixed) < len(expression.args) and _worth_a_name(part, under_condition):
                others = [a for a in expression.args if a not in fixed]
                changed = [self._replace(a, under_condition) for a in others]
                return expression.func(self._name(part), *changed)
        return rebuilt(expression, [self._replace(a, under_condition) for a in expression.args])

    def _name(self, expression: sp.Expr) -> sp.Symbol:
        if expression in self._known:
            return self._known[expression]
        if expression not in self.found:
            self.found[expression] = self._names.symbol_for(expression)
        return self.found[expression]


def _without_number(expression: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    if isinstance(expression, sp.Mul):
        coefficient, rest = expression.as_coeff_Mul()
        return coefficient, rest
    return sp.Integer(1), expression


def _worth_a_name(expression: sp.Expr, under_condition: bool) -> bool:
    """Return whether an invariant expression is expensive enough to be computed before its loop."""
    if expression.is_Atom or isinstance(expression, sp.Indexed) or expression.is_number:
        return False
    if isinstance(expression, sp.Mul | sp.Add):
        quantities = [a for a in expression.args if not a.is_number]
        simple = all(a.is_Atom or isinstance(a, sp.Indexed) for a in quantities)
        if under_condition:
            return simple and isinstance(expression, sp.Mul) and len(quantities) > 1
        return len(quantities) > 1 or any(_worth_a_name(a, False) for a in quantities)
    return not under_condition
