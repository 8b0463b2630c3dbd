"""Programs refuse what is not well formed, where it is written and in one line."""

from collections.abc import Callable

import pytest
import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    Call,
    Procedure,
    Program,
    ProgramError,
    ScalarFunction,
    Vector,
)

K, M = sp.symbols("K M", integer=True)
i, j = sp.Idx("i", K), sp.Idx("j", K)
n = sp.Idx("n", M)
Q, R, v, out = map(sp.IndexedBase, ["Q", "R", "v", "out"])
x, y, s = sp.symbols("x y s", real=True)
SQUARE, VECTOR = Array("Q", ("K", "K")), Array("v", ("K",))
OUT = Array("out", ("K",))


def procedure(*body: Assignment | Call, **changes: tuple[Array, ...]) -> Procedure:
    return Procedure(
        "p",
        "",
        changes.get("inputs", (SQUARE, VECTOR)),
        changes.get("outputs", (OUT,)),
        changes.get("local", ()),
        body,
    )


def program(*procedures: Procedure, functions: tuple[ScalarFunction, ...] = ()) -> Program:
    return Program("q", "", {}, (), ("K", "M"), functions, procedures)


total = sp.Symbol("total")
FOLDED = sp.Sum(v[i] * sp.Sum(sp.Piecewise((Q[i, j], sp.Eq(i, j)), (v[j], True)), j), i)


def of_state(state: Array, parameter: Array) -> Program:
    rhs = Procedure("right_hand_side", "", (VECTOR,), (OUT,), (), (Assignment(out[i], v[i]),))
    vectors = {"state": Vector("state", (state,)), "parameters": Vector("p", (parameter,))}
    return Program("q", "", {}, (), ("K",), (), (rhs,), **vectors)


CASES: list[tuple[str, Callable[[], object]]] = [
    ("floating-point number 0.5", lambda: Assignment(out[i], 0.5 * v[i])),
    ("floating-point number", lambda: ScalarFunction("f", (x,), (), 0.25 * x, "")),
    ("undeclared symbol 'y'", lambda: ScalarFunction("f", (x,), (), x * y, "")),
    ("undeclared symbol 'y'", lambda: ScalarFunction("f", (x,), ((s, y), (y, x)), s, "")),
    ("declared twice", lambda: ScalarFunction("f", (x, x), (), x, "")),
    ("indices and sums", lambda: ScalarFunction("f", (x,), (), x * v[i], "")),
    ("not a permutation", lambda: ScalarFunction("f", (x, y), (), x, "", symmetries=((0, 0),))),
    ("choose an identifier", lambda: Array("lambda")),
    ("choose an identifier", lambda: Array("_ratio")),
    ("symmetric needs two", lambda: Array("Q", ("K", "M"), symmetric=True)),
    ("write i instead", lambda: Assignment(out[i + 1], v[i])),
    ("declared twice", lambda: Assignment(Q[i, i], v[i])),
    ("undeclared name 's'", lambda: procedure(Assignment(out[i], s * v[i]))),
    ("undeclared array 'R'", lambda: procedure(Assignment(out[i], R[i, i]))),
    ("undeclared name 'j'", lambda: procedure(Assignment(out[i], Q[i, j]))),
    ("has 2 indices", lambda: procedure(Assignment(out[i], Q[i]))),
    ("runs over M, not K", lambda: procedure(Assignment(out[i], sp.Sum(Q[i, n], n)))),
    ("is an input", lambda: procedure(Assignment(v[i], Q[i, i]))),
    ("never assigned", lambda: procedure()),
    ("already in use", lambda: procedure(Assignment(out[i], sp.Sum(Q[i, i], i)))),
    ("name of an array or range", lambda: procedure(Assignment(out[sp.Idx("v")], 1 + 0 * x))),
    (
        "at most one output is a scalar",
        lambda: procedure(outputs=(Array("a"), Array("b"))),
    ),
    (
        "no argument tells the range 'M'",
        lambda: procedure(Assignment(out[i], v[i]), local=(Array("w", ("M",)),)),
    ),
    (
        "unknown range 'K'",
        lambda: Program("q", "", {}, (), (), (), (procedure(Assignment(out[i], v[i])),)),
    ),
    (
        "unknown function 'g'",
        lambda: program(procedure(Assignment(out[i], sp.Function("g")(v[i])))),
    ),
    (
        "takes 1 arguments, not 2",
        lambda: program(
            procedure(Assignment(out[i], sp.Function("f")(v[i], v[i]))),
            functions=(ScalarFunction("f", (x,), (), x, ""),),
        ),
    ),
    ("read before it is assigned", lambda: program(procedure(Assignment(out[i], 2 * out[i])))),
    (
        "unknown procedure 'r'",
        lambda: program(procedure(Call("r", ("v", "out")))),
    ),
    (
        "has shape \\('K', 'K'\\)",
        lambda: program(
            procedure(Assignment(out[i], v[i])),
            Procedure("r", "", (SQUARE,), (OUT,), (), (Call("p", ("Q", "Q", "out")),)),
        ),
    ),
    (
        "name of a function",
        lambda: program(
            procedure(Assignment(out[i], v[i])), functions=(ScalarFunction("v", (x,), (), x, ""),)
        ),
    ),
    ("declared twice", lambda: Vector("state", (VECTOR, VECTOR))),
    # SymPy moves the cases over (i, j) in front of the inner sum, where j means nothing
    (
        "undeclared name 'j'",
        lambda: procedure(Assignment(total, FOLDED), outputs=(Array("total"),)),
    ),
    ("derivatives of the fields of 'state'", lambda: of_state(SQUARE, VECTOR)),
    ("not a field of state or parameters", lambda: of_state(Array("w", ("K",)), Array("u"))),
]


@pytest.mark.parametrize(("message", "build"), CASES, ids=[str(c) for c in range(len(CASES))])
def test_a_malformed_program_is_refused_with_its_reason(
    message: str, build: Callable[[], object]
) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)
