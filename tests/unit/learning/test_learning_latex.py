"""Elements are written as in the literature; moments are recognised by their definitions."""

from __future__ import annotations

import pytest
import sympy as sp

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import terms
from symderiv.learning.derivation.moment_hierarchy import (
    _moment,
    cross_moment,
    definition,
    student_moment,
    teacher_moment,
)
from symderiv.learning.narration.learning_latex import latex

INDICES = sp.symbols("k i j n c", integer=True)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (("J", 3), "J_{kj}"),
        (("phi", 3), r"\varphi_{kj}"),
        (("phi", 4), r"\varphi_{in}^{k}"),
        (("xi", 2), r"\xi_{i}"),
        (("x_mode", 2), "x_{i}^{k}"),
        (("y_mode", 3), "y_{j}^{i,k}"),
        (("weight", 1), "w_{k}"),
        (("eigenvalue", 1), r"\rho_{k}"),
        (("eigenvalue", 2), r"\rho_{i}^{k}"),
        (("multiplicity", 1), "n_{k}"),
        (("x", 1), "x_{k}"),
        (("y", 1), "y_{k}"),
        (("xi_square", 1), "s_{k}"),
        (("F", 1), "F_{k}"),
        (("probability", 1), "p_{k}"),
        (("v", 1), "v_{k}"),
        (("dv", 1), r"\partial_v\epsilon_{k}"),
        *(((name, 2), f"{name}_{{ki}}") for name in "RTABGH"),
        *(((name, 3), f"{name}_{{ij}}^{{k}}") for name in "TABGH"),
        (("v_teacher", 1), r"\tilde v_{k}"),
        (("student_overlap", 3), "Q_{k,ij}"),
        (("cross_overlap", 3), "r_{k,ij}"),
        (("cross_overlap", 4), "r_{i,jn}^{k}"),
        (("teacher_overlap", 3), "t_{k,ij}"),
        (("teacher_overlap", 4), "t_{i,jn}^{k}"),
        (("teacher_overlap", 5), "t_{j,nc}^{k,i}"),
        (("Q", 2), "Q_{ki}"),
        (("Q", 3), "Q_{ij}^{k}"),
        (("R", 3), "R_{ij}^{k}"),
        (("Gamma", 2), r"\Gamma_{ki}"),
        (("Gamma", 3), r"\Gamma_{ij}^{k}"),
        (("student_moment", 3), "Q_{ij}^{(k)}"),
        (("cross_moment", 3), "R_{ij}^{(k)}"),
        (("teacher_moment", 3), "T_{ij}^{(k)}"),
        (("spectral_moment", 1), r"\nu_{k}"),
        (("closure", 1), "c_{k}"),
    ],
    ids=str,
)
def test_indices_have_their_places(name: tuple[str, int], written: str) -> None:
    base, count = name
    assert latex(sp.IndexedBase(base)[INDICES[:count]]) == written


@pytest.mark.parametrize("moment", [student_moment, cross_moment, teacher_moment])
def test_a_moment_is_recognised_by_its_definition(moment: sp.IndexedBase) -> None:
    for order in (3, 4):
        (term,) = terms(definition(moment[order, s.i, s.j]))
        assert _moment(term).factor == moment[order, s.i, s.j]
