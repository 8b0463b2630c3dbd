"""Whole modules: what they say of themselves, and the same bytes every time."""

from dataclasses import replace
from functools import cache

import pytest
import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    Program,
    is_unchanged,
    print_latex,
    print_mpmath,
    print_numba,
    program_digest,
)
from symderiv_kernels.fast import linear as fast_linear
from unit.codegen.support import one_procedure

from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.programs.program import solver_program


@cache
def erf_program() -> Program:
    """The solver of erf: everything that modules are made of."""
    return solver_program(derive_equations(learning_problem("erf")), "erf")


@pytest.fixture(scope="module")
def text() -> str:
    return print_numba(erf_program())


def test_the_form_for_known_sizes_is_made_once_and_has_a_largest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # not compiled, and kept for this test alone
    monkeypatch.setattr(fast_linear, "njit", lambda *_, **__: lambda function: function)
    monkeypatch.setattr(fast_linear, "_SPECIALISED", {})
    assert fast_linear.specialised(3, 2) is fast_linear.specialised(3, 2)
    with pytest.raises(ValueError, match="do not fit"):
        fast_linear.specialised(1000, 1000)


def test_a_module_states_its_digest_and_notices_an_edit(text: str) -> None:
    assert is_unchanged(text)
    assert program_digest(erf_program()) in text
    assert not is_unchanged(text.replace("math.sqrt(", "math.cbrt(", 1))
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
    assert r"\sum_{p=1}^{K} \sum_{q=1}^{K} i_{2}\left({Q}_{pp}, {Q}_{pq}, {Q}_{qq}\right)" in latex
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
