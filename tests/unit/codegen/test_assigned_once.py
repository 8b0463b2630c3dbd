"""Names in printed programs: every collision is avoided, every wrong use is noticed."""

import keyword
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp
from support.renamed import names_of, renamed
from symderiv_codegen import (
    Array,
    Assignment,
    Procedure,
    Program,
    ProgramError,
    ScalarFunction,
    TableSum,
    TableTerm,
    TemplateFunction,
    print_fast,
    print_numba,
    print_readable,
)
from symderiv_codegen.ir.checks import RESERVED
from symderiv_codegen.ir.loops import (
    Block,
    Conditional,
    Evaluate,
    Fill,
    Groups,
    Increase,
    Invoke,
    Loop,
    Node,
    Set,
    Start,
)
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.passes.assigned_once import Frame, check_globals, check_names
from unit.codegen.test_table_sums import entries as table_entries
from unit.codegen.test_table_sums import fourfold, row
from unit.numerics.test_conditionals import everything

from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means.uncompiled import uncompiled
from symderiv.lowering.programs.program import solver_program
from symderiv.numerics import GAUSSIAN

pytestmark = pytest.mark.days(6)

SIZES = {"K": 3, "M": 2, "L": 2}


def cases_and_tables() -> Program:
    """What the solver of erf lacks: cases, tables, Schur complements, arcsines of tables."""
    size = sp.Symbol("K", integer=True, positive=True)
    i, j, p, q = (sp.Idx(name, size) for name in "ijpq")
    a, b = sp.IndexedBase("A"), sp.IndexedBase("B")
    f, c, d = sp.Function("f"), *sp.symbols("c d", positive=True)
    (w1, a1), (w2, a2) = table_entries(1), table_entries(2)
    arcs = w1 * w2 * sp.asin(a1 * a2 / (9 + c * d))
    together = TableSum("arcs", (c, d), (TableTerm((row(1), row(2)), (), arcs),), "A sum.")
    x, y, t = sp.symbols("x y t", positive=True)
    root = sp.sqrt(1 + x * y)
    plain = ScalarFunction("f", (x, y), ((t, x * root),), t / root**3, "f.")
    inside = sp.Piecewise((f(a[i, i], a[p, p]), sp.Eq(i, p)), (f(a[i, p], a[j, p]), True))
    squares = sp.Sum(sp.Sum(a[i, p] * sp.sqrt(1 + a[p, q] ** 2), p) ** 2, q)
    value = sp.Piecewise((0, sp.Eq(i, j)), (sp.Sum(inside * a[p, p], p) + squares, True))
    body = (
        Assignment(b[i, j], value),
        Assignment(sp.Symbol("whole"), sp.Sum(b[i, j] * f(a[i, j] ** 2, a[i, i]), i, j)),
    )
    arrays = (Array("A", ("K", "K")),), (Array("whole"),), (Array("B", ("K", "K")),)
    schur = [replace(everything(size), name=f"schur_{size}") for size in (2, 3, 4)]
    functions = (plain, fourfold(), together, *schur)
    constants = {"TERMS": 3, "WEIGHT": (0.25, 0.5, 1.5), "SCALE": (1.0, 2.0, 0.125)}
    procedures = (Procedure("g", "g.", *arrays, body),)
    return Program(
        "all",
        "All.",
        {},
        (),
        ("K",),
        functions,
        procedures,
        constants=constants,
        extension=GAUSSIAN,
    )


@cache
def solver() -> Program:
    return solver_program(derive_equations(learning_problem("erf")), "solver")


PROGRAMS = {"solver": solver, "cases and tables": cases_and_tables}


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]()


def values(program: Program) -> list[float]:
    """What everything in a program gives, at arguments that depend on their places only."""
    module = uncompiled(print_numba(program))
    found: list[float] = []
    for function in program.functions:
        numbers = np.linspace(0.05, 0.2, len(function.arguments))
        size = int((8 * len(numbers) + 1) ** 0.5 - 1) // 2
        place = 0
        for step in range(size, 0, -1):  # variances of a covariance, should it be one
            if place < len(numbers):
                numbers[place] += 1
            place += step
        found.append(getattr(module, function.name)(*numbers.tolist()))
    sizes = dict(zip(program.ranges, SIZES.values(), strict=False))

    def array(shape: tuple[str, ...], shift: float) -> Any:
        lengths = [sizes[size] for size in shape]
        numbers = np.sin(np.arange(np.prod(lengths, dtype=int)) + shift).reshape(lengths) / 9
        if len(lengths) > 1 and lengths[0] == lengths[1]:
            numbers = numbers + np.swapaxes(numbers, 0, 1)
            numbers[np.arange(lengths[0]), np.arange(lengths[0])] += 1
        return numbers if lengths else float(numbers)

    for procedure in program.procedures:
        inputs = [array(each.shape, n) for n, each in enumerate(procedure.inputs)]
        outputs = [np.zeros([sizes[s] for s in each.shape]) for each in procedure.array_outputs]
        result = getattr(module, procedure.name)(*inputs, *outputs)
        found += [result] if procedure.result else []
        found += [number for output in outputs for number in output.ravel().tolist()]
    if program.state and program.parameters:
        vectors = [
            np.concatenate([np.ravel(array(each.shape, n)) for n, each in enumerate(vector.fields)])
            for vector in (program.state, program.parameters)
        ]
        lengths = np.array([sizes[size] for size in program.ranges])
        for text in (print_readable(program), print_fast(program)):
            derivative = np.zeros_like(vectors[0])
            flat = getattr(uncompiled(text), f"flat_{program.right_hand_side}")
            flat(0.0, vectors[0], lengths, vectors[1], derivative)
            found += derivative.tolist()
    return found


def invented(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the printed program that its author did not choose and may not be refused."""
    pools: list[NamePool] = []
    begin = NamePool.__init__

    def recorded(self: NamePool, in_use: Any) -> None:
        pools.append(self)
        begin(self, in_use)

    with monkeypatch.context() as patch:
        patch.setattr(NamePool, "__init__", recorded)
        print_numba(program)
        if program.small:
            print_fast(program)
    mine = names_of(program) | program.module_names | set(program.flat_names)
    found = {name for pool in pools for name in pool} - mine - RESERVED
    return sorted(n for n in found if n.isidentifier() and n[0] != "_" and not keyword.iskeyword(n))


def test_names_of_the_author_never_change_a_value(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = invented(program, monkeypatch)
    mine = sorted(names_of(program))
    fixed = {"alpha", program.right_hand_side, program.observables}
    mine = [name for name in mine if name not in fixed]
    expected = values(program)
    for turn in range(-(-len(taken) // len(mine))):
        chosen = taken[turn * len(mine) :]
        other = renamed(program, dict(zip(mine, chosen, strict=False)))
        assert values(other) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.turns(6)
def test_names_of_all_passes_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {name for make in PROGRAMS.values() for name in invented(make(), monkeypatch)}
    words = {"total", "sum_1", "k1", "count", "arcsines", "inverse_roots", "case", "part", "first"}
    words |= {"group", "begin", "row", "before", "i0", "block_K_K", "room_Q", "x1", "volume_12"}
    assert words <= found


def test_names_that_the_flat_functions_need_are_refused() -> None:
    program = solver()
    for name in program.flat_names:
        if name in {"alpha", "state", "parameters"}:
            continue
        with pytest.raises(ProgramError, match=f"'{name}'"):
            print_numba(renamed(program, {"weight_decay": name}))


K, i, j = (sp.Symbol(name, integer=True) for name in "Kij")
x, y, z = sp.symbols("x y z", real=True)
A, OUT = sp.IndexedBase("A"), sp.IndexedBase("out")
FILLED = Array("out", ("K",))
ONE = sp.Integer(1)


def over(index: sp.Symbol, *body: Node) -> Loop:
    return Loop(index, sp.Integer(0), K, body)


def either(*cases: tuple[Node, ...]) -> Conditional:
    conditions = [*(sp.Eq(K, n) for n in range(len(cases) - 1)), sp.true]
    return Conditional(tuple(zip(conditions, cases, strict=True)))


def frame(**changes: Any) -> Frame:
    names = NamePool({"K", "i", "j", "x", "y", "z", "A", "out", "given", "f", "TABLE", "math"})
    default = {
        "where": "function 'g'",
        "module": frozenset({"f", "TABLE", "math"}),
        "scalars": ("K", "given"),
        "inputs": ("A",),
        "arrays": ("out",),
        "names": names,
        "result": None,
    }
    return Frame(**{**default, **changes})


WRONG: dict[str, tuple[tuple[Node, ...], str]] = {
    "two values": ((Set(x, ONE), Set(x, A[K])), "'x' is assigned twice"),
    "a value over a sum": (
        (Start(x), over(i, Set(x, ONE), Increase(x, ONE))),
        "'x' is assigned tw",
    ),
    "a sum over a sum": ((Start(x), over(i, Start(x), Increase(x, ONE))), "'x' is assigned twice"),
    "two sums": ((Start(x), Increase(x, ONE), Start(x), Increase(x, ONE)), "'x' is assigned twice"),
    "a value increased": ((Set(x, ONE), Increase(x, ONE)), "'x' is increased and is not a started"),
    "not started": ((Increase(x, ONE),), "'x' is increased before"),
    "started elsewhere": ((over(i, Start(x)), Increase(x, ONE)), "'x' is increased before"),
    "closed by cases": ((either((Start(x),), (Set(x, ONE),)), Increase(x, ONE)), "not a started"),
    "again elsewhere": ((Start(x), over(i, Start(x, again=True))), "'x' is started again where"),
    "again a value": ((Set(x, ONE), Start(x, again=True)), "'x' is started again where"),
    "inside, then outside": ((over(i, Set(x, ONE)), Set(x, ONE)), "scope and in one inside"),
    "in a case, then again": ((either((Set(x, ONE),), ()), Set(x, ONE)), "scope and in one inside"),
    "unknown": ((Set(x, y),), "'y' is read before"),
    "later": ((over(i, Set(x, y), Set(y, ONE)),), "'y' is read before"),
    "from a loop": ((over(i, Set(x, ONE)), Set(y, x)), "'x' is read before"),
    "from one case": ((either((Set(x, ONE),), ()), Set(y, x)), "'x' is read before"),
    "a bound": ((Loop(i, sp.Integer(0), x, ()),), "'x' is read before"),
    "a condition": ((Conditional(((sp.Eq(x, 1), ()), (sp.true, ()))),), "'x' is read before"),
    "an index of a target": ((Set(OUT[i], ONE),), "'i' is read before"),
    "an index of a read": ((Set(x, A[i]),), "'i' is read before"),
    "a target of a sum": ((Set(x, OUT[K]),), "'out' is read before"),
    "an array of one case": ((either((Set(OUT[K], ONE),), ()), Set(x, OUT[K])), "'out' is read"),
    "the first turn": (
        (over(i, either((Set(x, OUT[0]),), ()), Set(OUT[0], ONE)),),
        "'out' is read",
    ),
    "evaluated": ((Evaluate("f", ("out",), K),), "'out' is read before"),
    "an index set": ((over(i, Set(i, ONE)),), "'i' is assigned and is an argument, a size or an"),
    "one index twice": ((over(i, over(i)),), "'i' is assigned and is an argument, a size or an"),
    "an index that is a value": ((Set(x, ONE), over(x)), "'x' is assigned twice"),
    "ends of blocks": ((over(i, Block(i, y, K, 4, ())),), "'i' is assigned and is an argument"),
    "groups": ((over(i, Groups(x, i, "K", ())),), "'i' is assigned and is an argument"),
    "zeros at an index": ((over(i, Fill(FILLED, (i,))),), "'i' is assigned and is an argument"),
    "an argument": ((Set(sp.Symbol("given"), ONE),), "'given' is assigned and is an argument"),
    "an input": ((Set(A[K], ONE),), "'A' is an argument and is written"),
    "an input of a call": ((Invoke("f", ("A",), ("A",), None),), "'A' is an argument and is wri"),
    "zeros in an input": ((Fill(Array("A", ("K",)), (i,)),), "'A' is an argument and is written"),
    "no array": ((Set(sp.IndexedBase("z")[K], ONE),), "'z' is written and is not a declared"),
    "an array as a scalar": ((Set(sp.Symbol("out"), ONE),), "'out' is assigned and is the name of"),
    "a function": ((Set(sp.Symbol("f"), ONE),), "'f' has the name of a function"),
    "an index like a table": ((over(sp.Symbol("TABLE")),), "'TABLE' has the name of a function"),
    "an import": ((Set(sp.Symbol("math"), ONE),), "'math' has the name of a function"),
    "no function": ((Set(x, sp.Function("h")(ONE)),), "'h' is called and is not a function"),
    "no procedure": ((Invoke("h", (), (), None),), "'h' is called and is no procedure"),
    "a result twice": ((Set(x, ONE), Invoke("f", ("A",), (), "x")), "'x' is assigned twice"),
    "unregistered": ((Set(sp.Symbol("mine"), ONE),), "'mine' does not come from the register"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_function_and_pass(case: str) -> None:
    nodes, message = WRONG[case]
    with pytest.raises(ProgramError, match=rf"^function 'g', after the pass 'some': .*{message}"):
        check_names(nodes, frame(), "some")


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        *(({"inputs": ("A", "A")}, "A"), ({"arrays": ("out", "A")}, "A")),
        *(({"scalars": ("K", "A")}, "A"), ({"scalars": ("K", "f")}, "f")),
        *(({"arrays": ("TABLE",)}, "TABLE"), ({"arrays": ("mine",)}, "mine")),
        ({"result": x}, "x"),
    ],
)
def test_what_a_function_begins_and_ends_with_is_checked(
    changes: dict[str, Any], name: str
) -> None:
    with pytest.raises(ProgramError, match=f"'{name}'"):
        check_names((), frame(**changes), "some")


@pytest.mark.turns(6)
def test_every_kind_of_function_is_checked_before_it_is_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    def recorded(nodes: tuple[Node, ...], frame: Frame, after: str) -> None:
        seen.append(f"{frame.where}: {after}")

    for place in ("passes.lower", "printers.module", "printers.numba"):
        monkeypatch.setattr(f"symderiv_codegen.{place}.check_names", recorded)
    print_numba(cases_and_tables())
    for where in ("f", "schur_4"):
        assert f"function '{where}': straight line" in seen
    assert "function 'total_of': table sum" in seen
    assert seen[-1] == "procedure 'g': share"
    print_fast(solver())
    assert "procedure 'right_hand_side': blocks" in seen


def test_names_put_into_a_template_do_not_meet_its_variables() -> None:
    def program(factor: str) -> Program:
        c = sp.symbols("c11 c12 c22", real=True)
        plain = ScalarFunction(factor, (sp.Symbol("x"),), (), sp.Symbol("x") ** 2, "f.")
        kind, x = sp.symbols("kind x")
        given = kind, x, sp.Symbol("values")
        chosen = ScalarFunction("quadrature_factors", given, (), kind * x, "f by number.")
        names = (("kind_1", factor), ("kind_2", factor))
        mean = TemplateFunction("mean", c, "mean_of_2", names, "A mean.")
        functions, rule = (plain, chosen, mean), {"QUADRATURE_PAIR_RULE": (1.0,)}
        return Program("one", "One.", {}, (), (), functions, (), constants=rule, extension=GAUSSIAN)

    assert "def mean(" in print_numba(program("square"))
    with pytest.raises(ProgramError, match=r"function 'mean', .*'c12' has the name of a"):
        print_numba(program("c12"))


COMPLETE = """
import math

TABLE = (1.0, 2.0)
_made = {}


def outer(x):
    def inner(y):
        return y * x + TABLE[0]

    _made[x] = inner
    return [inner(each) for each in range(3)] + [math.sqrt(x)]
"""


@pytest.mark.parametrize("name", ["math", "TABLE", "_made"])
def test_a_name_that_the_module_does_not_define_is_noticed(name: str) -> None:
    check_globals(COMPLETE, "module 'm'")
    lines = [line for line in COMPLETE.split("\n") if not line.startswith((f"import {name}", name))]
    with pytest.raises(ProgramError, match=rf"module 'm': '{name}' is used in '(outer|inner)'"):
        check_globals("\n".join(lines), "module 'm'")


def test_local_names_of_another_function_are_no_names_of_the_module() -> None:
    with pytest.raises(ProgramError, match="'a' is used in 'g'"):
        check_globals("def f():\n    a = 1\n    return a\n\ndef g():\n    return a\n", "here")
    with pytest.raises(ProgramError, match="'b' is used in 'top'"):
        check_globals("a = b\n", "here")
