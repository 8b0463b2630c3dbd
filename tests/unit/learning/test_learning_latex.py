"""Elements are written as in the literature; moments are recognised by their definitions."""

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


# what the kept text of the derivation does not show
@pytest.mark.parametrize(
    ("name", "written"),
    [
        (("dv", 1), r"\partial_v\epsilon_{k}"),
        *(((name, 2), f"{name}_{{ki}}") for name in "TGH"),
        *(((name, 3), f"{name}_{{ij}}^{{k}}") for name in "TGHQR"),
        (("teacher_overlap", 4), "t_{i,jn}^{k}"),
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
