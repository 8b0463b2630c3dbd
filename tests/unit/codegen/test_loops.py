"""Loops are fused and invariants hoisted where, and only where, the result stays the same."""

import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import Array, Assignment, ScalarFunction, print_numba
from symderiv_codegen.ir.loops import Loop, Remark, Set
from symderiv_codegen.passes.fuse import fuse
from unit.codegen.support import as_plain_python, one_procedure, text_of

K, M, L = sp.symbols("K M L", integer=True, positive=True)
i, j, a = (sp.Idx(name, K) for name in "ija")
n = sp.Idx("n", M)
A, B, X, Y, v, rho = map(sp.IndexedBase, ["A", "B", "X", "Y", "v", "rho"])
dX, dY, u, t = map(sp.IndexedBase, ["dX", "dY", "u", "t"])
eta = sp.Symbol("eta", real=True)
x = sp.Symbol("x", real=True)
f = sp.Function("f")
SCALAR = ScalarFunction("f", (x,), (), sp.exp(-x) / (1 + x**2), "")
RANDOM = np.random.default_rng(11)


def test_calls_under_a_condition_stay_under_it() -> None:
    g = sp.Function("g")
    only_positive = ScalarFunction("g", (x,), (), sp.log(x), "")
    value = sp.Sum(
        sp.Piecewise((X[i, j] * g(v[i] - v[0]), sp.Ne(i, 0) & sp.Ne(j, 0)), (X[i, j], True)), j
    )
    program = one_procedure(
        (Array("v", ("K",)), Array("X", ("K", "K"))),
        (Array("u", ("K",)),),
        Assignment(u[i], value),
        functions=(only_positive,),
    )
    vector, matrix, result = np.array([1.0, 2.0, 4.0]), RANDOM.normal(size=(3, 3)), np.empty(3)
    as_plain_python(print_numba(program))["p"](vector, matrix, result)
    weight = np.ones((3, 3))
    weight[1:, 1:] = np.log(vector[1:] - vector[0])[:, None]
    assert result == pytest.approx((matrix * weight).sum(axis=1), rel=1e-13)


def test_a_call_made_twice_in_one_turn_is_made_once() -> None:
    program = one_procedure(
        (Array("v", ("K",)),),
        (Array("t", ("K",)), Array("u", ("K",))),
        Assignment(t[i], f(v[i]) + 1),
        Assignment(u[i], f(v[i]) ** 2),
        functions=(SCALAR,),
    )
    assert text_of(program).count("f(v[i])") == 1


def test_a_product_in_front_of_two_loops_is_computed_once() -> None:
    s = sp.Symbol("s", real=True)
    program = one_procedure(
        (Array("v", ("K",)), Array("B", ("M",)), Array("eta"), Array("s")),
        (Array("t", ("K",)), Array("u", ("M",))),
        Assignment(t[i], eta * s * v[i]),
        Assignment(u[n], eta * s * B[n]),
    )
    assert text_of(program).count("eta * s") == 1


def test_a_remark_on_the_first_of_two_loops_goes_inside_with_its_part() -> None:
    index, first, second = sp.Symbol("i", integer=True), Remark("first"), Remark("second")
    one, two = Set(u[index], v[index]), Set(t[index], u[index])
    apart = (Loop(index, sp.Integer(0), K, (each,)) for each in (one, two))
    before = Set(eta, sp.Integer(1))
    nodes = (before, first, next(apart), second, next(apart))
    assert fuse(nodes) == (before, Loop(index, sp.Integer(0), K, (first, one, second, two)))
