"""Loops are fused and invariants hoisted where, and only where, the result stays the same."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import Array, Assignment, ScalarFunction, print_numba
from unit.codegen.support import as_plain_python, one_procedure, text_of

K, M, L = sp.symbols("K M L", integer=True, positive=True)
i, j, a = (sp.Idx(name, K) for name in "ija")
n = sp.Idx("n", M)
k = sp.Idx("k", L)
A, B, X, Y, v, rho = map(sp.IndexedBase, ["A", "B", "X", "Y", "v", "rho"])
dX, dY, u, t = map(sp.IndexedBase, ["dX", "dY", "u", "t"])
eta = sp.Symbol("eta", real=True)
x = sp.Symbol("x", real=True)
f = sp.Function("f")
SCALAR = ScalarFunction("f", (x,), (), sp.exp(-x) / (1 + x**2), "")
RANDOM = np.random.default_rng(11)


def test_everything_for_one_mode_happens_in_one_loop_over_modes() -> None:
    program = one_procedure(
        (
            *(Array("A", ("K", "K")), Array("X", ("L", "K", "K")), Array("Y", ("L", "K", "M"))),
            *(Array("rho", ("L",)), Array("eta")),
        ),
        (Array("dX", ("L", "K", "K")), Array("dY", ("L", "K", "M"))),
        Assignment(dY[k, i, n], -eta * rho[k] * sp.Sum(A[i, a] * Y[k, a, n], a)),
        Assignment(
            dX[k, i, j],
            -eta * rho[k] * (sp.Sum(A[i, a] * X[k, a, j], a) + sp.Sum(A[j, a] * X[k, a, i], a)),
            symmetric=True,
        ),
    )
    text = text_of(program)
    assert text.count("for k in range(L):") == 1
    assert text.count("for i in range(K):") == 1
    assert text.index("eta_rho_k = eta * rho[k]") < text.index("for i in range(K):")
    matrix, modes = RANDOM.normal(size=(2, 2)), RANDOM.normal(size=(4, 2, 2))
    modes += modes.transpose(0, 2, 1)
    cross, rates = RANDOM.normal(size=(4, 2, 3)), RANDOM.uniform(size=4)
    d_modes, d_cross = np.empty_like(modes), np.empty_like(cross)
    as_plain_python(print_numba(program))["p"](matrix, modes, cross, rates, 0.3, d_modes, d_cross)
    product = np.einsum("k,ia,kaj->kij", rates, matrix, modes)
    assert d_modes == pytest.approx(-0.3 * (product + product.transpose(0, 2, 1)), rel=1e-13)
    assert d_cross == pytest.approx(-0.3 * np.einsum("k,ia,kan->kin", rates, matrix, cross))


def test_a_mirrored_array_is_complete_before_it_is_read() -> None:
    program = one_procedure(
        (Array("v", ("K",)),),
        (Array("A", ("K", "K")), Array("u", ("K",))),
        Assignment(A[i, j], v[i] * v[j], symmetric=True),
        Assignment(u[i], sp.Sum(A[i, j], j)),
    )
    vector = RANDOM.normal(size=4)
    matrix, rows = np.empty((4, 4)), np.empty(4)
    as_plain_python(print_numba(program))["p"](vector, matrix, rows)
    assert matrix == pytest.approx(np.outer(vector, vector))
    assert rows == pytest.approx(vector * vector.sum())


def test_calls_without_the_inner_index_are_hoisted() -> None:
    program = one_procedure(
        (Array("v", ("K",)), Array("X", ("K", "K"))),
        (Array("u", ("K",)),),
        Assignment(u[i], sp.Sum(f(v[i]) * X[i, j] + v[j] * f(2 * v[i]), j)),
        functions=(SCALAR,),
    )
    loop = text_of(program).split("for j in")[1]
    assert "f(" not in loop


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
