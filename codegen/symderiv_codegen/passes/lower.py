"""Translation of assignments with sums into loop nests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.functions import Function
from symderiv_codegen.ir.loops import (
    Conditional,
    Fill,
    Increase,
    Invoke,
    Loop,
    Node,
    Remark,
    Set,
    Start,
    elements,
    inner,
    names_in,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Assignment, Call, Procedure
from symderiv_codegen.ir.program import Program
from symderiv_codegen.ir.walk import (
    Temporary,
    Total,
    array_name,
    plain_index,
    range_symbol,
    subexpressions,
    with_plain_indices,
)
from symderiv_codegen.passes.assigned_once import Frame, check_names
from symderiv_codegen.passes.blocks import LongLoops, Lower, long_axis, sums_long_range
from symderiv_codegen.passes.coincidence import tidy_condition
from symderiv_codegen.passes.contract import contract
from symderiv_codegen.passes.fuse import fuse
from symderiv_codegen.passes.hoist import hoist
from symderiv_codegen.passes.inline import first_sentence, inlined_body
from symderiv_codegen.passes.loads import with_named_elements
from symderiv_codegen.passes.share import share
from symderiv_codegen.passes.sums import SumRewriter
from symderiv_codegen.passes.tabulate import tabulated
from symderiv_codegen.passes.together import evaluated_together

Pass = Callable[[tuple[Node, ...]], tuple[tuple[Node, ...], list[Array]]]
"""A change of a body; it returns the new body and the local arrays that it adds."""


@dataclass(frozen=True)
class Body:
    """The checked body of a function: its nodes, the local arrays they need, and its names."""

    nodes: tuple[Node, ...]
    arrays: tuple[Array, ...]
    names: NamePool


def loop_nests(procedure: Procedure, program: Program, plain: bool = False) -> Body:
    """Return the body of a procedure as loop nests: sums rewritten, loops fused, invariants
    hoisted.

    Args:
        procedure: A procedure of the program.
        program: The program.
        plain: Whether the text is to be read: nothing is hoisted, and repeated expressions stay
            repeated.

    Raises:
        ProgramError: A name of the program has another meaning in the module.
    """
    sizes = {n for array in (*procedure.inputs, *procedure.outputs) for n in array.shape}
    ranges = tuple(size for size in program.ranges if size in sizes)
    passes = _Passes(procedure, program, ranges, (procedure,))
    lowering = passes.lowering
    procedures = {p.name: p for p in program.procedures}
    nodes: list[Node] = []
    for step in procedure.body:
        if isinstance(step, Call):
            nodes += lowering.call(step, procedures[step.procedure])
        else:
            nodes += lowering.assignment(step)
    passes.begin(nodes)
    passes.fused(procedure.locals)
    if not plain:
        passes.shared()
    return passes.done()


def inlined_nests(
    procedure: Procedure, program: Program, last: Mapping[str, Pass] | None = None
) -> Body:
    """Return the body of a procedure with those that it calls inlined, and its long loops.

    Args:
        procedure: The result of :func:`symderiv_codegen.passes.inline.with_inner_locals`.
        program: The program with a state and parameters.
        last: Further passes, by name.

    Raises:
        ProgramError: A name of the program has another meaning in the module.
    """
    given = {array.name for array in procedure.inputs}
    own = (name for name in program.flat_names if name not in given)
    passes = _Passes(procedure, program, (*program.ranges, *own), program.procedures)
    lowering = passes.lowering
    procedures = {p.name: p for p in program.procedures}
    nodes: list[Node] = []
    long: list[Assignment] = []
    for step in procedure.body:
        if isinstance(step, Call):
            called = procedures[step.procedure]
            apart = sums_long_range(called, program.small)
            nodes += lowering.call(step, called, None if apart else procedures)
        elif long_axis(step, procedure.arrays, program.small):
            long.append(step)
        else:
            nodes += lowering.assignment(step)
    known = program.extension.doubles.together
    passes.begin(nodes)
    # Arrays that a long loop reads stay arrays.
    read = set().union(*(names_in(step.value) for step in long))
    passes.fused([array for array in procedure.locals if array.name not in read])
    passes.shared()
    small = program.small
    passes.apply("tabulate", lambda body: tabulated(body, lowering.names, known, small))
    passes.apply("together", lambda body: evaluated_together(body, lowering.names, known))
    passes.apply("loads", lambda body: (with_named_elements(body, lowering.names), []))
    if long:
        lower = Lower(lowering.rewritten, lowering.assigned)
        loops = LongLoops(procedure.arrays, program.mostly_zero, lower, lowering.names)
        in_front, block = loops.nodes(long)
        block = replace(block, body=hoist(block.body, lowering.names))
        behind = (*fuse(tuple(in_front)), block)
        passes.apply("blocks", lambda body: ((*body, *behind), loops.local))
    for name, change in (last or {}).items():
        passes.apply(name, change)
    return passes.done()


def reversed_nests(
    procedure: Procedure,
    program: Program,
    results: Collection[Array],
    both: Callable[[Body], tuple[tuple[Node, ...], tuple[Node, ...], list[Array]]],
) -> Body:
    """Return the body of a procedure with all that it calls inlined, followed by its reverse.

    Args:
        procedure, program: As in :func:`inlined_nests`.
        results: The local arrays that stay arrays.
        both: Returns the needed part of a body, its reverse, and the arrays for both.
    """
    given = {array.name for array in procedure.inputs}
    own = (name for name in program.flat_names if name not in given)
    passes = _Passes(procedure, program, (*program.ranges, *own), program.procedures)
    lowering, procedures = passes.lowering, {p.name: p for p in program.procedures}
    nodes: list[Node] = []
    for step in procedure.body:
        if isinstance(step, Call):
            nodes += lowering.call(step, procedures[step.procedure], procedures)
        else:
            nodes += lowering.assignment(step)
    passes.begin(nodes)
    passes.fused([array for array in procedure.locals if array not in results])
    passes.shared()
    passes.apply("loads", lambda body: (with_named_elements(body, lowering.names), []))
    known, small = program.extension.doubles.together, program.small

    def followed(body: tuple[Node, ...]) -> tuple[tuple[Node, ...], list[Array]]:
        forward, back, arrays = both(Body(body, (), lowering.names))
        forward, tables = tabulated(forward, lowering.names, known, small)
        forward, values = evaluated_together(forward, lowering.names, known)
        return (*forward, *back), [*arrays, *tables, *values]

    passes.apply("reverse", followed)
    return passes.done()


class _Passes:
    """A sequence of passes over one body, with a check of names after each of them."""

    def __init__(
        self,
        procedure: Procedure,
        program: Program,
        given: Sequence[str],
        indexed: Sequence[Procedure],
    ) -> None:
        """Start with an empty body.

        Args:
            procedure: The procedure.
            program: Its program.
            given: Scalars in the text in addition to the procedure's own: sizes.
            indexed: The procedures whose indices may occur in the body.
        """
        taken = {*program.module_names, *program.ranges, *given, *procedure.arrays}
        names = NamePool(taken.union(*(_indices(each) for each in indexed)))
        functions = {function.name: function for function in program.functions}
        self.lowering = _Lowering(procedure, functions, names)
        self._procedure = procedure
        self._module = program.module_names
        self._given = given
        self._nodes: tuple[Node, ...] = ()
        self._added: list[Array] = []

    def begin(self, nodes: Sequence[Node]) -> None:
        """Begin with the nodes of the steps."""
        self.apply("lower", lambda _: (tuple(nodes), []))

    def fused(self, local: Iterable[Array]) -> None:
        """Fuse loops over the same range, and turn arrays that live within one turn into
        scalars.
        """
        self.apply("fuse", lambda body: (fuse(body), []))
        self.apply("contract", lambda body: (contract(body, local), []))

    def shared(self) -> None:
        """Move invariants out of loops, and compute repeated expressions once."""
        names = self.lowering.names
        self.apply("hoist", lambda body: (hoist(body, names), []))
        self.apply("share", lambda body: (share(body, names), []))

    def apply(self, name: str, change: Pass) -> None:
        """Apply one pass, and check names afterwards."""
        self._nodes, arrays = change(self._nodes)
        self._added += arrays
        check_names(self._nodes, self._frame(), name)

    def done(self) -> Body:
        """Return the body after all passes."""
        return Body(self._nodes, self._arrays(), self.lowering.names)

    def _arrays(self) -> tuple[Array, ...]:
        return (*_still_arrays(self._procedure, self._nodes), *self._added)

    def _frame(self) -> Frame:
        procedure = self._procedure
        inputs = procedure.inputs
        result = procedure.result
        return Frame(
            where=f"procedure {procedure.name!r}",
            module=self._module,
            scalars=(*self._given, *(array.name for array in inputs if not array.shape)),
            inputs=tuple(array.name for array in inputs if array.shape),
            arrays=tuple(a.name for a in (*procedure.array_outputs, *self._arrays())),
            names=self.lowering.names,
            result=sp.Symbol(result.name) if result else None,
        )


def _still_arrays(procedure: Procedure, nodes: Sequence[Node]) -> list[Array]:
    """Return the local arrays that have not become scalars."""
    used = {array_name(element) for node in nodes for element in elements(node)}
    parts = [part for node in nodes for part in inner(node)]
    used |= {name for part in parts if isinstance(part, Invoke) for name in part.arguments}
    return [array for array in procedure.locals if array.shape and array.name in used]


def _indices(procedure: Procedure) -> set[str]:
    """Return names of all indices of a procedure, free and bound."""
    found: set[str] = set()
    for step in procedure.body:
        if isinstance(step, Assignment):
            found |= {str(index) for index in step.indices}
            for node in subexpressions(step.value):
                if isinstance(node, sp.Sum):
                    found |= {str(limit[0]) for limit in node.limits}
    return found


class _Lowering:
    """A translator of the steps of one procedure into nodes, with the names of temporaries."""

    def __init__(
        self, procedure: Procedure, functions: Mapping[str, Function], names: NamePool
    ) -> None:
        self.names = names
        self._procedure = procedure
        self._zeros: list[sp.Symbol] = []
        self._sums = SumRewriter(procedure.arrays, functions)

    def call(
        self, step: Call, called: Procedure, procedures: Mapping[str, Procedure] | None = None
    ) -> list[Node]:
        """Return the call of a procedure, inside a conditional if it has a condition.

        If ``procedures`` are given, a procedure with a body is inlined.
        """
        remark: list[Node] = [Remark(step.comment)] if step.comment else []
        actual = dict(zip((*called.inputs, *called.outputs), step.arguments, strict=True))
        written = tuple(actual[array] for array in called.outputs)
        if procedures is not None and not called.template:
            return self._inlined(step, called, written, procedures)
        result = actual[called.result] if called.result else None
        passed = tuple(name for array, name in actual.items() if array != called.result)
        invoke = Invoke(called.name, passed, written, result)
        if step.when is None:
            return [*remark, invoke]
        zero = tuple(self._fill(name) for name in written)
        return [*remark, Conditional(((step.when, (invoke,)), (sp.true, zero)))]

    def _inlined(
        self,
        step: Call,
        called: Procedure,
        written: tuple[str, ...],
        procedures: Mapping[str, Procedure],
    ) -> list[Node]:
        nodes: list[Node] = [Remark(step.comment or f"{called.name}: {first_sentence(called.doc)}")]
        for part in inlined_body(step, called):
            if isinstance(part, Call):
                nodes += self.call(part, procedures[part.procedure], procedures)
            else:
                nodes += self.assignment(part)
        if step.when is None:
            return nodes
        zero = tuple(self._fill(name) for name in written)
        return [Conditional(((step.when, tuple(nodes)), (sp.true, zero)))]

    def _fill(self, name: str) -> Fill:
        """Return zeros for an array; all such loops of a procedure share their indices."""
        array = self._procedure.arrays[name]
        while len(self._zeros) < len(array.shape):
            wish = f"i{len(self._zeros)}"
            self._zeros.append(sp.Symbol(self.names.take(wish), integer=True))
        return Fill(array, tuple(self._zeros[: len(array.shape)]))

    def rewritten(self, value: sp.Expr) -> sp.Expr:
        """Return a value with its sums rewritten."""
        return self._sums.rewrite(value)

    def assigned(self, target: sp.Expr, value: sp.Expr) -> list[Node]:
        """Return nodes that assign a value with sums to one element."""
        body: list[Node] = []
        self._set(target, self._sums.rewrite(value), body)
        return body

    def assignment(self, step: Assignment) -> list[Node]:
        """Return the loop nest over the free indices of an assignment."""
        target = with_plain_indices(step.target)
        indices = [plain_index(index) for index in step.indices]
        body: list[Node] = []
        self._set(target, self._sums.rewrite(step.value), body)
        array = self._procedure.arrays[step.name]
        pair = array.pair if step.symmetric else None
        if pair is not None:
            exchanged = list(indices)
            exchanged[pair : pair + 2] = reversed(indices[pair : pair + 2])
            body.append(Set(target.base[tuple(exchanged)], target))
        nest = tuple(body)
        for position in reversed(range(len(indices))):
            stop: sp.Expr = range_symbol(array.shape[position])
            if pair is not None and position == pair + 1:
                stop = indices[pair] + 1
            nest = (Loop(indices[position], sp.Integer(0), stop, nest),)
        return [Remark(step.comment), *nest] if step.comment else list(nest)

    def _set(self, target: sp.Symbol | sp.Indexed, value: sp.Expr, body: list[Node]) -> None:
        """Append ``target = value`` to a body; a case distinction at the top becomes branches."""
        if isinstance(value, sp.Piecewise) and not _inline(value):
            body.append(self._branches(target, value))
        elif isinstance(value, Total) and isinstance(target, sp.Symbol):
            self._total(target, value, body)
        else:
            body.append(Set(target, self._value(value, body)))

    def _branches(self, target: sp.Symbol | sp.Indexed, value: sp.Piecewise) -> Conditional:
        cases = []
        for expression, condition in value.args:
            inside: list[Node] = []
            self._set(target, expression, inside)
            cases.append((tidy_condition(condition), tuple(inside)))
        return Conditional(tuple(cases))

    def _value(self, expression: sp.Expr, body: list[Node]) -> sp.Expr:
        """Return the expression with its sums and cases evaluated beforehand in ``body``."""
        if isinstance(expression, sp.Indexed) or not expression.has(Total, sp.Piecewise):
            return expression
        if isinstance(expression, Total):
            name = self.names.take(f"sum_over_{expression.limit[0]}")
            return self._total(Temporary(name, real=True), expression, body)
        if isinstance(expression, sp.Piecewise):
            if _inline(expression):
                return expression
            case = Temporary(self.names.take("case"), real=True)
            body.append(self._branches(case, expression))
            return case
        return expression.func(*(self._value(argument, body) for argument in expression.args))

    def _total(self, total: sp.Symbol, value: Total, body: list[Node]) -> sp.Symbol:
        """Compute a sum in ``total``; return ``total``."""
        index, low, high = value.limit
        inside: list[Node] = []
        self._increase(total, value.summand, inside)
        body.append(Start(total))
        body.append(Loop(index, low, high + 1, tuple(inside)))
        return total

    def _increase(self, total: sp.Symbol, value: sp.Expr, body: list[Node]) -> None:
        """Append ``total += value``; nested sums add to the same total, vanishing cases are left
        out.
        """
        if isinstance(value, Total):
            index, low, high = value.limit
            inside: list[Node] = []
            self._increase(total, value.summand, inside)
            body.append(Loop(index, low, high + 1, tuple(inside)))
            return
        for case in sp.Mul.make_args(value):
            if not isinstance(case, sp.Piecewise) or all(e != 0 for e, _ in case.args):
                continue
            rest = sp.Mul(*(factor for factor in sp.Mul.make_args(value) if factor != case))
            cases: list[tuple[sp.Basic, tuple[Node, ...]]] = []
            excluded: list[sp.Basic] = []
            for expression, condition in case.args:
                if expression == 0:
                    excluded.append(condition)
                    continue
                inside = []
                self._increase(total, rest * expression, inside)
                holds = sp.And(condition, *(sp.Not(e) for e in excluded))
                cases.append((tidy_condition(holds), tuple(inside)))
            body.append(Conditional(tuple(cases)))
            return
        body.append(Increase(total, self._value(value, body)))


def _inline(value: sp.Piecewise) -> bool:
    """Return whether cases are short enough for a conditional expression: numbers and names."""
    return len(value.args) == 2 and all(
        expression.is_Number or isinstance(expression, sp.Symbol) for expression, _ in value.args
    )
