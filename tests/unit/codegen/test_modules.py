"""Whole modules: values, the flat functions, self-containedness, the same bytes every time."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    is_unchanged,
    print_fast,
    print_latex,
    print_mpmath,
    print_numba,
    program_digest,
)
from unit.codegen.erf_program import erf_program
from unit.codegen.support import as_fast_module, as_module, as_multiprecision, one_procedure

mp = mpmath.mp
K, M, L = 3, 2, 4


@pytest.fixture(scope="module")
def text() -> str:
    return print_numba(erf_program())


@pytest.fixture(scope="module")
def compiled(text: str, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    directory = tmp_path_factory.mktemp("generated")
    return as_module(text, directory, "erf_by_hand")


@pytest.fixture(scope="module")
def multi() -> dict[str, Any]:
    return as_multiprecision(print_mpmath(erf_program()))


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    """Overlaps of random vectors, so that everything is a possible state."""
    random = np.random.default_rng(3)
    eigenvalue = random.uniform(0.5, 2, L)
    weight = random.uniform(0.5, 2, L)
    weight /= weight.sum()
    J, B = random.normal(size=(L, K, 6)), random.normal(size=(L, M, 6))
    rho = eigenvalue[:, None, None]
    teacher_overlap = rho**2 * np.einsum("kna,kma->knm", B, B) / 6
    return {
        "student_overlap": np.einsum("kia,kja->kij", J, J) / 6,
        "cross_overlap": rho * np.einsum("kia,kna->kin", J, B) / 6,
        "v": random.normal(size=K),
        "eigenvalue": eigenvalue,
        "weight": weight,
        "teacher_overlap": teacher_overlap,
        "T": np.einsum("k,knm->nm", weight / eigenvalue, teacher_overlap),
        "v_teacher": random.normal(size=M),
        "learning_rate": 0.3,
        "second_layer_learning_rate": 0.2,
        "weight_decay": 0.05,
        "second_layer_weight_decay": 0.03,
        "label_noise": 0.4,
        "full_order": 1.0,
    }


def _order_parameters(state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    Q = np.einsum("k,k,kij->ij", state["weight"], state["eigenvalue"], state["student_overlap"])
    return Q, np.einsum("k,kin->in", state["weight"], state["cross_overlap"])


def _shapes() -> dict[str, tuple[int, ...]]:
    return {"student_overlap": (L, K, K), "cross_overlap": (L, K, M), "v": (K,)}


def _derivative(module: ModuleType, state: dict[str, Any]) -> dict[str, np.ndarray]:
    result = {name: np.empty(shape) for name, shape in _shapes().items()}
    module.right_hand_side(*state.values(), *result.values())
    return result


def _to_lists(value: Any) -> Any:
    if isinstance(value, np.ndarray | list):
        return [_to_lists(part) for part in value]
    return mp.mpf(float(value))


def _zeros(shape: tuple[int, ...]) -> Any:
    return [_zeros(shape[1:]) for _ in range(shape[0])] if shape else mp.zero


@pytest.mark.turns(6)
@pytest.mark.parametrize("full_order", [0.0, 1.0])
def test_compiled_and_multiprecision_right_hand_sides_agree(
    compiled: ModuleType, multi: dict[str, Any], state: dict[str, Any], full_order: float
) -> None:
    point = {**state, "full_order": full_order}
    ours = _derivative(compiled, point)
    with mpmath.workdps(30):
        precise = {name: _zeros(shape) for name, shape in _shapes().items()}
        multi["right_hand_side"](mp, *map(_to_lists, point.values()), *precise.values())
        for name, value in ours.items():
            expected = np.array(precise[name], dtype=object).astype(float)
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_multiprecision_functions_work_on_arrays_of_objects(
    multi: dict[str, Any], state: dict[str, Any]
) -> None:
    as_objects = np.vectorize(mp.mpf, otypes=[object])
    Q = np.empty((K, K), dtype=object)
    R = np.empty((K, M), dtype=object)
    names = ("student_overlap", "cross_overlap", "eigenvalue", "weight")
    multi["order_parameters"](mp, *(as_objects(state[name]) for name in names), Q, R)
    expected = _order_parameters(state)
    assert Q.astype(float) == pytest.approx(expected[0], rel=1e-13)
    assert R.astype(float) == pytest.approx(expected[1], rel=1e-13)


def test_loops_over_modes_agree_with_matrix_products(
    compiled: ModuleType, state: dict[str, Any]
) -> None:
    Q, R = _order_parameters(state)
    A, B, dv, Gamma = np.empty((K, K)), np.empty((K, M)), np.empty(K), np.empty((K, K))
    macroscopic = (Q, R, state["T"], state["v"], state["v_teacher"])
    compiled.gradients(*macroscopic, A, B, dv)
    compiled.noise(*macroscopic, state["label_noise"], Gamma)
    rho = state["eigenvalue"][:, None, None]
    Qk, rk, tk = state["student_overlap"], state["cross_overlap"], state["teacher_overlap"]
    eta, kappa = state["learning_rate"], state["weight_decay"]
    half = -eta * (rho * (A @ Qk) + B @ rk.transpose(0, 2, 1))
    expected = {
        "student_overlap": half + half.transpose(0, 2, 1) + eta**2 * rho * Gamma - 2 * kappa * Qk,
        "cross_overlap": -eta * (rho * (A @ rk) + B @ tk) - kappa * rk,
        "v": -state["second_layer_learning_rate"] * dv
        - state["second_layer_weight_decay"] * state["v"],
    }
    for name, value in _derivative(compiled, state).items():
        assert value == pytest.approx(expected[name], rel=1e-12, abs=1e-14)


def test_gradients_are_the_derivatives_of_the_error(
    multi: dict[str, Any], state: dict[str, Any]
) -> None:
    Q, R = _order_parameters(state)
    with mpmath.workdps(40):
        point = [_to_lists(x) for x in (Q, R, state["T"], state["v"], state["v_teacher"])]
        A, B, dv = _zeros((K, K)), _zeros((K, M)), _zeros((K,))
        multi["gradients"](mp, *point, A, B, dv)

        def slope(entries: list[tuple[list[Any], int]]) -> Any:
            """Central difference of the error when the entries are moved together."""
            errors = []
            step = mp.mpf(10) ** -13
            for move in (step, -2 * step, step):
                for row, place in entries:
                    row[place] += move
                errors.append(multi["generalization_error"](mp, *point))
            return (errors[0] - errors[1]) / (2 * step)

        for i in range(K):
            for j in range(i + 1):
                pair = [(point[0][i], j)] + [(point[0][j], i)] * (i != j)
                assert abs((1 + (i == j)) * slope(pair) - A[i][j]) < 1e-20
            for n in range(M):
                assert abs(slope([(point[1][i], n)]) - B[i][n]) < 1e-20
            assert abs(slope([(point[3], i)]) - dv[i]) < 1e-20


def test_flat_functions_unpack_what_they_are_given(
    compiled: ModuleType, state: dict[str, Any]
) -> None:
    names = list(state)
    unknown = np.concatenate([state[name].ravel() for name in names[:3]])
    parameters = np.concatenate([np.ravel(state[name]) for name in names[3:]])
    sizes = np.array([K, M, L])
    derivative = np.empty_like(unknown)
    compiled.flat_right_hand_side(0.0, unknown, sizes, parameters, derivative)
    expected = np.concatenate([part.ravel() for part in _derivative(compiled, state).values()])
    assert derivative.tolist() == expected.tolist()
    Q, R = np.empty((K, K)), np.empty((K, M))
    error = compiled.flat_observables(unknown, sizes, parameters, Q, R)
    assert pytest.approx(_order_parameters(state)[0], rel=1e-14) == Q
    assert error == compiled.generalization_error(Q, R, state["T"], state["v"], state["v_teacher"])


@pytest.mark.turns(6)
def test_the_form_for_known_sizes_computes_the_same(
    compiled: ModuleType, state: dict[str, Any], tmp_path: Path
) -> None:
    """One function with everything inlined, its arrays on the stack or, when large, not."""
    small = print_fast(replace(erf_program(), small=("K", "M")))
    names = list(state)
    unknown = np.concatenate([state[name].ravel() for name in names[:3]])
    parameters = np.concatenate([np.ravel(state[name]) for name in names[3:]])
    expected = np.concatenate([part.ravel() for part in _derivative(compiled, state).values()])
    module = as_fast_module(small, tmp_path, "known")
    derivative = np.empty_like(unknown)
    module.specialised(K, M)(0.0, unknown, np.array([K, M, L]), parameters, derivative)
    np.testing.assert_allclose(derivative, expected, rtol=1e-13, atol=1e-15)
    assert module.specialised(K, M) is module.specialised(K, M)
    with pytest.raises(ValueError, match="do not fit"):
        module.specialised(1000, 1000)


def test_a_module_needs_only_math_numpy_and_numba(text: str) -> None:
    imported = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module).split(".")[0])
    assert imported == {"math", "numpy", "numba"}


def test_a_module_works_alone_in_another_directory(text: str, tmp_path: Path) -> None:
    (tmp_path / "copied.py").write_text(text, encoding="utf-8")
    program = (
        "import sys, copied\n"
        "print(round(copied.i2.py_func(1.0, 0.5, 2.0), 12), copied.FORMAT)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('sympy', 'symderiv_codegen')])\n"
    )
    # Interpreted: compiling is tested above, and slow.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    program = program.replace(".py_func", "")
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, '.')\n{program}"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    expected = 2 / np.pi * np.arcsin(0.5 / np.sqrt(6))
    assert done.stdout.splitlines() == [f"{round(expected, 12)} 1", "[]"]


DUMP = """
import sys
sys.path[:0] = {paths!r}
from unit.codegen.erf_program import erf_program
from symderiv_codegen import digest, print_numba, print_latex, print_mpmath
program = erf_program()
print([digest(f(program)) for f in (print_numba, print_mpmath, print_latex)])
"""


@pytest.mark.turns(6)
def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    tests = str(Path(__file__).parents[2])
    printed = set()
    for seed in ("1", "2", "77"):
        done = subprocess.run(
            [sys.executable, "-c", DUMP.replace("{paths!r}", repr([tests]))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1


def test_a_module_states_its_digest_and_notices_an_edit(text: str) -> None:
    assert is_unchanged(text)
    assert program_digest(erf_program()) in text
    assert not is_unchanged(text.replace("math.sqrt(determinant)", "math.sqrt(determinants)", 1))
    assert not is_unchanged("x = 1\n")


def test_the_docstring_shows_the_equations_of_the_program_where_it_has_some() -> None:
    program = replace(one_procedure((), ()), equations=("Q = sum_k w_k\n  Q_k", "R = 0"))
    assert "\n\nEquations:\n    Q = sum_k w_k\n      Q_k\n    R = 0\n\n" in print_numba(program)
    assert "Equations:" not in print_numba(replace(program, equations=()))


def test_no_line_is_too_long_and_nothing_ends_in_blanks(text: str) -> None:
    for printed in (text, print_mpmath(erf_program())):
        for line in printed.splitlines():
            assert len(line) <= 100
            assert line == line.rstrip()


def test_latex_has_the_sums_and_the_declared_names() -> None:
    latex = print_latex(erf_program())
    assert r"\sum_{j=1}^{K} \sum_{i=1}^{K} I_2\left({Q}_{ii}, {Q}_{ij}, {Q}_{jj}\right)" in latex
    assert latex.count(r"\[") == latex.count(r"\]") > 15


GOLDEN = '''\
def p(A, x, gain, y):
    """p.

    Inputs: A (K, M), x (M), gain.
    Outputs, in place: y (K).
    """
    K = A.shape[0]
    M = x.shape[0]
    # a matrix times a vector
    for i in range(K):
        sum_over_n = 0.0
        for n in range(M):
            sum_over_n += A[i, n] * x[n]
        y[i] = gain * sum_over_n
'''


def test_a_small_procedure_reads_as_one_would_write_it() -> None:
    rows, columns = sp.symbols("K M", integer=True)
    i, n = sp.Idx("i", rows), sp.Idx("n", columns)
    A, x, y = map(sp.IndexedBase, "Axy")
    program = one_procedure(
        (Array("A", ("K", "M"), "a matrix"), Array("x", ("M",)), Array("gain")),
        (Array("y", ("K",)),),
        Assignment(
            y[i],
            sp.Sum(sp.Symbol("gain", real=True) * A[i, n] * x[n], n),
            comment="a matrix times a vector",
        ),
    )
    assert print_numba(program).endswith(GOLDEN)
