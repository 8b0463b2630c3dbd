"""Loop nests in reverse: derivatives of a weighted sum of the outputs by each input.

The body of a right-hand side runs forward once, which leaves its arrays. Then its nodes follow in
reverse order: for each statement ``target = value``, the weight of the target times the derivative
of the value by each number that it reads is added to the weight (adjoint) of that number. Scalars
of a loop are computed again at the beginning of each turn, as far as derivatives need them. The
work is a few times that of the right-hand side, however many inputs there are.

Derivatives are those of :mod:`symderiv_codegen.passes.derivatives.tangent`; rates of functions of
several numbers become one function for each argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv_codegen.errors import ProgramError
from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.extension import Extension
from symderiv_codegen.ir.functions import Function, ScalarFunction
from symderiv_codegen.ir.loops import (
    Conditional,
    Fill,
    Increase,
    Loop,
    Node,
    Remark,
    Set,
    Start,
    elements,
    inner,
    reads,
    target_name,
    writes,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.tables import TableTerm
from symderiv_codegen.ir.templates import TemplateFunction
from symderiv_codegen.ir.walk import array_name, calls_of, range_symbol, subexpressions
from symderiv_codegen.passes.derivatives.tangent import (
    RATE_SUFFIX,
    ExpressionRates,
    slopes_of,
    straight,
    used_by,
)

WEIGHT = "_weight"
"""The suffix of names of weights."""

_SLOPE = "_slope"
# functions whose arguments become numbers of their own
_PARTED = (sp.asin, sp.acos, sp.atan, sp.exp, sp.log, sp.erf, sp.tanh)


def with_slopes(program: Program, called: Iterable[str]) -> Program:
    """Return the program with the derivatives of functions by each of their arguments.

    Raises:
        ProgramError: A function is an integral whose derivative is not known.
    """
    wanted = set(called)
    found: list[Function] = []
    used: dict[str, Function] = {}
    known = {function.name for function in program.functions}
    for function in reversed(program.functions):
        if function.name in wanted:
            slopes = [
                _slope(function, n, program.extension) for n in range(len(function.arguments))
            ]
            found = [*slopes, *found]
            used |= used_by(function)
            own = {
                c.func.__name__ for each in slopes for e in each.expressions for c in calls_of(e)
            }
            # the slopes that it calls must be added, too
            wanted |= {name.rsplit(_SLOPE, 1)[0] for name in own} & known
    return replace(program, functions=(*program.functions, *used.values(), *found))


def _slope(function: Function, place: int, extension: Extension) -> Function:
    argument = function.arguments[place]
    common = {
        "name": f"{function.name}{_SLOPE}{place + 1}",
        "doc": f"Derivative of {function.name} by its argument {place + 1}.",
        "latex": "",
        "symmetries": (),
    }
    if isinstance(function, TemplateFunction):
        slope = slopes_of(function)[place]
        return ScalarFunction(**common, arguments=function.arguments, definitions=(), value=slope)  # type: ignore[arg-type]
    one = {sp.Symbol(f"{argument}{RATE_SUFFIX}", real=True): sp.S.One}

    def by_argument(given: ScalarFunction | TableTerm) -> dict[str, object]:
        definitions, value = straight((argument,), given, extension)
        steps = ((symbol, _by_slopes(each.xreplace(one))) for symbol, each in definitions)
        return {"definitions": tuple(steps), "value": _by_slopes(value.xreplace(one))}

    if isinstance(function, ScalarFunction):
        rest = {**by_argument(function), "everywhere": False}
        return replace(function, **common, **rest)  # type: ignore[arg-type]
    terms = (TableTerm(term.rows, **by_argument(term)) for term in function.terms)  # type: ignore[arg-type]
    return replace(function, **common, terms=tuple(terms))  # type: ignore[arg-type]


def _by_slopes(expression: sp.Expr) -> sp.Expr:
    """Return an expression with each rate of a function replaced by the sum of slopes
    times rates.
    """
    found: dict[sp.Basic, sp.Basic] = {}
    for call in subexpressions(expression):
        if isinstance(call, AppliedUndef) and call.func.__name__.endswith(RATE_SUFFIX):
            size = len(call.args) // 2
            arguments, rates = call.args[:size], call.args[size:]
            name = call.func.__name__.removesuffix(RATE_SUFFIX)
            found[call] = sp.Add(
                *(
                    _by_slopes(rate) * sp.Function(f"{name}{_SLOPE}{n + 1}")(*arguments)
                    for n, rate in enumerate(rates)
                    if rate != 0
                )
            )
    return expression.xreplace(found) if found else expression


class Backwards:
    """A body with the same body in reverse.

    Args:
        arrays: All arrays of the body, by name.
        weights: Names of the weights of inputs, by the inputs that have some.
        given: The arrays of the weights of the body's results, by the results.
        names: The register of names.
        extension: The extension of the program.
    """

    def __init__(
        self,
        arrays: Mapping[str, Array],
        weights: Mapping[str, str],
        given: Mapping[str, str],
        names: NamePool,
        extension: Extension,
    ) -> None:
        self._arrays, self._names = arrays, names
        self._weights, self._inputs = {**weights, **given}, tuple(weights)
        self._given, self._mirrored = given, dict[sp.Indexed, sp.Indexed]()
        self._moving = set(weights)
        self._rates = ExpressionRates(self._moving, extension)
        self._elements: set[str] = set()
        self._sums: set[str] = set()

    def both(
        self, nodes: tuple[Node, ...]
    ) -> tuple[tuple[Node, ...], tuple[Node, ...], list[Array]]:
        """Return the needed part of a body, its reverse, and the arrays for both.

        In the body every number except sums is assigned once.
        """
        # other local arrays have been turned into scalars
        self._elements = {array_name(e) for node in nodes for e in elements(node)} | {*self._inputs}
        parts = (part for each in nodes for part in inner(each))
        self._sums = {target_name(each.target) for each in parts if isinstance(each, Increase)}
        while self._spread(nodes):
            pass
        own = _visible(nodes)
        back = [part for node in reversed(nodes) for part in self._reversed(node, own)]
        wanted = set().union(*(reads(node) for node in back)) & {*own, *self._elements}
        forward = _needed(nodes, wanted, set(), arrays=True)
        numbers = [name for name in self._inputs if not self._arrays[name].shape]
        assert all(self._names.take(self.weight(name)) == self.weight(name) for name in numbers)
        started = [Start(self._symbol(n)) for n in (*numbers, *sorted(own & self._moving))]
        begun = [name for name in self._weights if self._is_array(name) and name not in self._given]
        added = [
            replace(self._arrays[name], name=self.weight(name), symmetric=False)
            for name in begun
            if name not in self._inputs
        ]
        zeros = (self._zeros(name, self.weight(name)) for name in begun)
        return tuple(map(self._everywhere, forward)), (*started, *zeros, *back), added

    def _is_array(self, name: str) -> bool:
        return name in self._elements and bool(self._arrays[name].shape)

    def _everywhere(self, node: Node) -> Node:
        """Return a case distinction in which each case sets arrays of other cases to zero."""
        if not isinstance(node, Conditional):
            return node
        written = [{*chain(*map(writes, body))} & self._elements for _, body in node.cases]
        every = set().union(*written)
        cases = list(zip(node.cases, written, strict=True))
        if node.cases[-1][0] != sp.true:
            cases.append(((sp.true, ()), set()))
        return Conditional(
            tuple(
                (condition, (*body, *(self._zeros(name, name) for name in sorted(every - own))))
                for (condition, body), own in cases
            )
        )

    def _zeros(self, name: str, into: str) -> Node:
        """Return the loops that set an array of the shape of another to zero."""
        shape = self._arrays[name].shape
        indices = [sp.Symbol(self._names.take(f"a{n}"), integer=True) for n in range(len(shape))]
        node: Node = Set(sp.IndexedBase(into)[indices], sp.S.Zero)
        for index, size in zip(reversed(indices), reversed(shape), strict=True):
            node = Loop(index, sp.S.Zero, range_symbol(size), (node,))
        return node

    def weight(self, name: str) -> str:
        """Return the name of the weight of a number or array."""
        if name not in self._weights:
            self._weights[name] = self._names.take(name + WEIGHT)
        return self._weights[name]

    def _spread(self, nodes: Iterable[Node]) -> bool:
        """Mark numbers that depend on moving ones as moving; return whether there were new ones."""
        before = len(self._moving)
        for node in (part for each in nodes for part in inner(each)):
            if isinstance(node, Set | Increase) and self._rates.of(node.value) != 0:
                self._moving.add(target_name(node.target))
        return len(self._moving) > before

    def _symbol(self, name: str) -> sp.Symbol:
        return sp.Symbol(self.weight(name), real=True)

    def _of(self, target: sp.Symbol | sp.Indexed) -> sp.Symbol | sp.Indexed:
        """Return the weight of a scalar or of an element."""
        if isinstance(target, sp.Indexed):
            return sp.IndexedBase(self.weight(array_name(target)))[target.indices]
        return self._symbol(str(target))

    def _body(self, nodes: Sequence[Node], known: set[str]) -> list[Node]:
        """Return a body in reverse, preceded by the computation of the scalars that it needs."""
        nodes = self._parted(nodes)
        own = _visible(nodes) - known
        inside = known | own
        back = [part for node in reversed(nodes) for part in self._reversed(node, inside)]
        if not back:
            return []
        wanted = set().union(*(reads(node) for node in back)) & own
        started: list[Node] = [Start(self._symbol(n)) for n in sorted(own & self._moving)]
        return [*_needed(nodes, wanted, known), *started, *back]

    def _parted(self, nodes: Sequence[Node]) -> list[Node]:
        """Return nodes in which moving roots, quotients, and sums inside of products are separate
        numbers, so that parts of several derivatives are computed once.
        """
        found: list[Node] = []
        known: dict[sp.Expr, sp.Symbol] = {}
        for node in nodes:
            if isinstance(node, Set | Increase) and target_name(node.target) in self._moving:
                parts = dict(known)
                value = self._in_parts(node.value, parts)
                new = {each: symbol for each, symbol in parts.items() if each not in known}
                if value in new.values():
                    # the whole value needs no second name
                    value, _ = new.popitem()
                found += [Set(symbol, each) for each, symbol in new.items()]
                known |= {each: new[each] for each in new if self._stays(each)}
                node = replace(node, value=value)
            found.append(node)
        return found

    def _stays(self, value: sp.Expr) -> bool:
        """Return whether a value is constant throughout a body."""
        return not value.has(sp.Indexed) and self._sums.isdisjoint(map(str, value.free_symbols))

    def _in_parts(self, value: sp.Expr, parts: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
        """Return an expression with symbols for parts that are computed once, and add these to
        ``parts``.
        """
        if not self._is_composed(value):
            return value
        if isinstance(value, sp.Pow) and value.exp.is_Rational and value.exp.is_negative:
            unit = sp.Rational(1, value.exp.q)
            inverse = self._named(self._part(value.base, parts) ** -unit, parts)
            return inverse ** (-value.exp / unit)
        if isinstance(value, sp.Add):
            return sp.Add(*(self._in_parts(each, parts) for each in value.args))
        if isinstance(value, sp.Mul | sp.Pow):
            part = (self._part if isinstance(e, sp.Add) else self._in_parts for e in value.args)
            return value.func(*(way(e, parts) for way, e in zip(part, value.args, strict=True)))
        if isinstance(value, _PARTED):
            return value.func(*(self._part(each, parts) for each in value.args))
        return value

    def _part(self, value: sp.Expr, parts: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
        """Return the symbol of a part, or the part itself if it needs none."""
        return self._named(self._in_parts(value, parts), parts)

    def _named(self, value: sp.Expr, parts: dict[sp.Expr, sp.Symbol]) -> sp.Expr:
        if not self._is_composed(value):
            return value
        if value not in parts:
            parts[value] = sp.Symbol(self._names.take("part"), real=True)
            self._moving.add(str(parts[value]))
        return parts[value]

    def _is_composed(self, value: sp.Expr) -> bool:
        atom = value.is_Atom or isinstance(value, sp.Indexed)
        return not atom and self._rates.of(value) != 0

    def _reversed(self, node: Node, known: set[str]) -> list[Node]:
        if isinstance(node, Loop):
            body = self._body(node.body, known)
            return [replace(node, body=tuple(body))] if body else []
        if isinstance(node, Conditional):
            cases = [(c, self._body(nodes, known)) for c, nodes in node.cases]
            return [branch for branch in (_distinction(cases),) if branch is not None]
        if isinstance(node, Start | Remark | Fill):
            return []
        if isinstance(node, Set | Increase):
            return self._statement(node) if target_name(node.target) in self._moving else []
        raise ProgramError(f"{type(node).__name__} {node} has no derivative")

    def _statement(self, node: Set | Increase) -> list[Node]:
        target, value = node.target, node.value
        both = isinstance(target, sp.Indexed) and isinstance(value, sp.Indexed)
        if both and target.base == value.base:
            return self._mirror(target, value)
        weight = self._of(target)
        if weight in self._mirrored:
            weight += self._mirrored[weight]
        found: list[Node] = []
        if not isinstance(weight, sp.Symbol):
            # an element may be read again: take its weight before others grow
            symbol = sp.Symbol(self._names.take("weight"), real=True)
            found.append(Set(symbol, weight))
            weight = symbol
        rate = _by_slopes(self._rates.of(value))
        base, power = value.as_base_exp()
        if power.is_negative and isinstance(target, sp.Symbol):
            # write the derivative of a root or a quotient in terms of its value
            rate = rate.xreplace({base ** (power - 1): target ** ((power - 1) / power)})
        tangents = {each: read for read, each in self._tangents(value).items()}
        for one, read in tangents.items():
            slope = rate.xreplace({each: sp.Integer(each == one) for each in tangents})
            if slope != 0:
                found.append(self._more(read, weight * slope))
        return found

    def _more(self, read: sp.Expr, value: sp.Expr) -> Node:
        own = self._of(read)
        return Set(own, own + value) if isinstance(own, sp.Indexed) else Increase(own, value)

    def _mirror(self, target: sp.Indexed, value: sp.Indexed) -> list[Node]:
        """Return nodes that add the weight of a mirrored element to that of the element
        it copies.
        """
        pairs = zip(target.indices, value.indices, strict=True)
        same = sp.Mul(*(sp.KroneckerDelta(a, b) for a, b in pairs if a != b))
        # both indices of a pair are exchanged, so that their equalities coincide
        same = sp.Mul(*same.args[:1]) if same.is_Mul else same
        own, more = self._of(value), (1 - same) * self._of(target)
        if array_name(value) in self._given:
            # weights of results are not written to
            self._mirrored[own] = more
            return []
        return [Set(own, own + more)]

    def _tangents(self, value: sp.Expr) -> dict[sp.Expr, sp.Expr]:
        """Return the rates of the moving numbers that a value reads."""
        found: dict[sp.Expr, sp.Expr] = {}
        for part in subexpressions(value):
            if isinstance(part, sp.Indexed | sp.Symbol) and target_name(part) in self._moving:
                rate = self._rates.of(part)
                if rate != 0:
                    found[part] = rate
        return found


def _visible(nodes: Iterable[Node]) -> set[str]:
    """Return the scalars that are visible after nodes: set there, or set in all cases."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Set) and not isinstance(node.target, sp.Indexed):
            found.add(str(node.target))
        elif isinstance(node, Conditional) and node.cases[-1][0] == sp.true:
            found |= set.intersection(*(_visible(body) for _, body in node.cases))
    return found


def _distinction(cases: Iterable[tuple[sp.Basic, Sequence[Node]]]) -> Conditional | None:
    """Return the cases with statements as one conditional, or None if there are none."""
    kept: list[tuple[sp.Basic, tuple[Node, ...]]] = []
    before: list[sp.Basic] = []
    for condition, body in cases:
        if body:
            kept.append((sp.And(condition, *map(sp.Not, before)), tuple(body)))
        else:
            before.append(condition)
    return Conditional(tuple(kept)) if kept else None


def _needed(
    nodes: Sequence[Node], wanted: set[str], known: set[str], arrays: bool = False
) -> list[Node]:
    """Return the nodes that compute the wanted scalars (also arrays if asked), with all that these
    need.
    """
    kept: list[Node] = []
    for node in reversed(nodes):
        part: Node | None = None
        if isinstance(node, Loop):
            body = _needed(node.body, wanted, known, arrays)
            part = replace(node, body=tuple(body)) if body else None
        elif isinstance(node, Conditional):
            part = _distinction([(c, _needed(b, wanted, known, arrays)) for c, b in node.cases])
        elif isinstance(node, Fill):
            part = node if arrays and node.array.name in wanted else None
        elif isinstance(node, Set | Increase):
            name, scalar = target_name(node.target), not isinstance(node.target, sp.Indexed)
            part = node if name in wanted - known and (scalar or arrays) else None
        if part is not None:
            wanted |= reads(part)
            kept.insert(0, part)
    return kept
