"""Closed forms with roots: the same numbers, in lowest terms, and the root of an equation."""

from types import SimpleNamespace
from typing import Any

import pytest
import sympy as sp
from flint import arb

from symderiv.analysis.plateau import plateau_report as report_module
from symderiv.analysis.plateau.plateau_algebra import FRAME, TEACHER, M, c
from symderiv.analysis.plateau.plateau_report import _accurate, plateau_report
from symderiv.analysis.plateau.teacher import teacher_of_moments
from symderiv.analysis.symmetric import CollinearState, D, Q, R, T
from symderiv.formula import activation
from symderiv.foundation.errors import ToleranceError
from symderiv.gaussian.forms.surds import positive_root, tidy, with_split_roots
from symderiv.learning.derivation import symbols as s

P, N = TEACHER + D, TEACHER - D
A, B = sp.asin(D / (2 * TEACHER)), sp.asin(sp.Rational(1, 3) / sp.sqrt(M))


def same(one: sp.Expr, other: sp.Expr) -> None:
    """The same number wherever closed forms are looked at."""
    for point in FRAME.points:
        place = dict(zip(FRAME.symbols, point, strict=True))
        first, second = (sp.N(e.xreplace(place), 30) for e in (one, other))
        assert abs(first - second) < sp.Rational(1, 10**25), place


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (sp.sqrt(sp.expand(M * P * N)), sp.sqrt(M) * sp.sqrt(P) * sp.sqrt(N)),
        (sp.sqrt(sp.expand((D - TEACHER) * (-P) / M)), sp.sqrt(P) * sp.sqrt(N) / sp.sqrt(M)),
        (sp.sqrt(sp.expand(P**3)), P * sp.sqrt(P)),
        # the sign of D is not that of one teacher for all
        (sp.sqrt(M * (D + 2 * D**2)), sp.sqrt(M) * sp.sqrt(D) * sp.sqrt(2 * D + 1)),
        (sp.sqrt(1 + sp.sqrt(M)), sp.sqrt(1 + sp.sqrt(M))),
        (sp.asin(sp.expand(M * P) / sp.sqrt(P) / M), sp.asin(sp.sqrt(P))),
    ],
)
def test_roots_are_split_into_factors_of_known_sign(given: sp.Expr, wanted: sp.Expr) -> None:
    found = with_split_roots(given, FRAME)
    if not given.has(sp.asin):
        same(found, given)
    assert found.equals(wanted)
    assert {e.base for e in found.atoms(sp.Pow)} == {e.base for e in wanted.atoms(sp.Pow)}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (P / sp.sqrt(P), sp.sqrt(P)),
        ((sp.sqrt(M) - 1) * (sp.sqrt(M) + 1) / (M - 1) + sp.sqrt(M), 1 + sp.sqrt(M)),
        (1 / (sp.sqrt(P) - sp.sqrt(N)) + 1 / (sp.sqrt(P) + sp.sqrt(N)), sp.sqrt(P) / D),
        ((TEACHER**2 - D**2) / N * A**2 + A * M / M + (P - TEACHER) / D, P * A**2 + A + 1),
        (A * B * (M**2 - 1) / (M - 1) - A**3, (M + 1) * A * B - A**3),
        ((P**2 - P * N) / (2 * P) / A, D / A),
    ],
)
def test_closed_forms_are_brought_to_lowest_terms(given: sp.Expr, wanted: sp.Expr) -> None:
    found = tidy(given, FRAME)
    same(found, given)
    assert sp.expand(found - wanted) == 0
    assert sp.count_ops(found) <= sp.count_ops(wanted) + 2


@pytest.mark.parametrize(
    ("equation", "height", "root"),
    [
        (c**2 * P - 1 / M, c, 1 / (sp.sqrt(M) * sp.sqrt(P))),
        (c**4 * P**2 - M**2, c, sp.sqrt(M) / sp.sqrt(P)),
        # two kinds of roots are squared away
        (c * sp.sqrt(1 + TEACHER) - sp.sqrt(1 + c**2 * TEACHER), c, sp.Integer(1)),
        (sp.sqrt(1 + c * M) - 3 + (c - c**2) * 0, c, 8 / M),
        # one kind is a factor
        (sp.sqrt(1 + c) * (c - M), c, M),
        # roots without the unknown are numbers
        (
            sp.sqrt(M) * (c - 1) + c * sp.sqrt(TEACHER) + c * sp.sqrt(P),
            c,
            sp.sqrt(M) / (sp.sqrt(M) + sp.sqrt(TEACHER) + sp.sqrt(P)),
        ),
        # what squaring adds is left out: c = 1 solves -sqrt(c) = c - 2
        (sp.sqrt(c) + 2 - c, c, sp.Integer(4)),
        # the lower one of two
        ((c - 1) * (c - 20), (c - 20) ** 2, sp.Integer(20)),
        ((c - 1) * (c - 20), (c - 1) ** 2, sp.Integer(1)),
        # none is the lower one for all teachers
        ((c - 1) * (c - 2), (c - M / 2) ** 2, None),
        (c + 1, c, None),
        (c**5 + c - 1, c, None),
        (sp.asin(c / 10) - c / M, c, None),
        (sp.sqrt(1 + c) + sp.sqrt(2 + c) + sp.sqrt(3 + c) - 6, c, None),
    ],
)
def test_the_positive_root_of_least_height(
    equation: sp.Expr, height: sp.Expr, root: sp.Expr | None
) -> None:
    found = positive_root(equation, c, FRAME, height)
    if root is None:
        assert found is None
    else:
        assert found is not None
        assert sp.simplify(found - root) == 0


def test_means_of_a_common_field_are_in_the_order_parameters() -> None:
    x, y, z = sp.symbols("x1 y1 y2", real=True)
    mean = CollinearState._expectation
    assert mean(sp.Integer(3), [x, y]) == 3
    for integrand, value in (
        (x**2, Q),
        (x * y, R),
        (y**2, T),
        (y * z, D / (s.M - 1)),
        (x**2 * y * z, Q * D / (s.M - 1) + 2 * R**2),
    ):
        assert sp.expand(mean(integrand, [x, y, z]) - value) == 0


# -- how many digits a plateau has -------------------------------------------------------------


TWO = arb(2)


def plateau(R: Any, unstable: Any = TWO, groups: tuple[Any, ...] = ()) -> SimpleNamespace:
    return SimpleNamespace(
        R=R,
        Q=arb(1),
        generalization_error=arb(1),
        unstable_eigenvalue=unstable,
        groups=groups,
        rates={"difference_stiffness": arb(1)},
        escape_time=None,
    )


def test_a_plateau_is_accurate_when_all_its_numbers_are() -> None:
    coarse, tiny = arb(1, 2.0**-20), arb(0, 2.0**-60)
    assert _accurate(plateau(arb(1, 2.0**-45)), 10)  # type: ignore[arg-type]
    assert not _accurate(plateau(coarse), 10)  # type: ignore[arg-type]
    assert _accurate(plateau(arb(0), tiny), 10)  # type: ignore[arg-type]
    assert not _accurate(plateau(arb(1), arb(0, 2.0**-20)), 10)  # type: ignore[arg-type]
    for values, accurate in (((arb(3), arb(0)), True), ((arb(3), coarse), False), (None, True)):
        group = SimpleNamespace(values=values)
        assert _accurate(plateau(arb(1), groups=(group,)), 10) == accurate  # type: ignore[arg-type]


def test_a_plateau_is_computed_again_with_more_bits_until_it_has_its_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []

    def numbers(forms: object, teacher: object, rate: object, bits: int) -> SimpleNamespace:
        asked.append(bits)
        return plateau(arb(1, 2.0 ** (60 - bits)))

    teacher = teacher_of_moments(2, *map(sp.Integer, (1, 0, 1, 0)))
    monkeypatch.setattr(report_module, "derived", lambda _: (None, None))
    monkeypatch.setattr(report_module, "plateau_numbers", numbers)
    found = plateau_report(activation("erf"), teacher, sp.Rational(1, 100), 10)
    assert (found.digits, len(asked)) == (10, 2)
    assert asked[1] == 2 * asked[0]
    monkeypatch.setattr(report_module, "plateau_numbers", lambda *_: plateau(arb(1, 1e-3)))
    with pytest.raises(ToleranceError, match="300 digits of the plateau were not reached"):
        plateau_report(activation("erf"), teacher, sp.Rational(1, 100), 300)
