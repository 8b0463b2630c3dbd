"""A sample of ``make random-sides``, and statements of each kind that must be found or be left."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from support.rotating import is_today
from symderiv_ledger.claims.claim import Claim, Point
from symderiv_ledger.papers.known_papers import names, paper
from symderiv_ledger.rules.arithmetic import Indexed
from symderiv_ledger.rules.comparison_rules import Converges, Exact, Within

from random_sides.factors import accepted_factors, approximate
from random_sides.search import answer, counted


def _point(numbers: Any) -> Iterator[Point]:
    matrix = numbers.matrix([[1, 2], [2, 5]])
    table = Indexed([[1, 2], [4, 3]], (1, 2), (1, 2))
    values = {"A": matrix, "B": matrix, "K": 2, "Q": table, "error": 1, "power": 2}
    yield Point("somewhere", values)


def _claim(statement: str, **more: Any) -> Claim:
    return Claim("1", statement, _point, more.pop("rule", Exact()), **more)


@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("acos(-c) == pi - acos(c)", {}),
        ("a*(b + c) == a*b + c*a", {}),
        ("Q[i, j] == Q[j, i]", {"symmetric": ("Q",), "ranges": "i = 1..K, j = 1..K"}),
        ("Sum(Q[i, j]*v[j], (j, 1, K)) == Sum(v[j]*Q[i, j], (j, 1, K))", {"ranges": "i = 1..K"}),
        ("f(x)**2 >= 0", {}),
        ("2*f(x) == f(x) + f(x) == 4*f(x)/2", {}),
        ("Derivative(x*f(y), x) == f(y)", {}),
        ("Integral(x*a, (x, 0, 2)) == 2*a", {}),
        ("transpose(A@B) == transpose(B)@transpose(A)", {}),
        ("If(a < b, a, b) == Min(a, b)", {}),
        # has a value above one only
        ("1/sqrt(y - 1)**2 == 1/(y - 1)", {}),
        ("a/b == a*b**(-1)", {"rule": Within(0.1)}),
        ("exp(a + b) == exp(a)*exp(b)", {"rule": Converges()}),
        ("M*Q[1, 1] == K*Q[1, 1]", {"equal": (("M", "K"),)}),
    ],
)
def test_an_identity_of_all_quantities_is_found(statement: str, more: dict[str, Any]) -> None:
    assert answer("none", _claim(statement, **more)).kind in ("any quantities", "same formula")


@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("acos(-c) == acos(c)", {}),
        ("I == 2/pi*asin(C[1, 2]/sqrt((1 + C[1, 1])*(1 + C[2, 2])))", {"symmetric": ("C",)}),
        ("Q[i, j] == Q[j, i]", {"ranges": "i = 1..K, j = 1..K"}),
        ("a < b", {}),
        ("f(x) > 0", {}),
        ("f == x/sqrt(y - 1)", {}),
        ("rate == -2*eta*lam", {"rule": Within(0.3)}),
        ("error == power", {"rule": Converges()}),
        ("A@B == B@A", {}),
        ("Derivative(f(x), x) == g(x)", {}),
        ("M*Q[1, 1] == K*Q[1, 1]", {}),
    ],
)
def test_what_depends_on_its_quantities_is_left(statement: str, more: dict[str, Any]) -> None:
    assert answer("none", _claim(statement, **more)).kind == "depends"


def test_a_step_between_prints_claims_its_algebra_unless_it_repeats_a_formula() -> None:
    step = _claim("a*(b + c) == a*b + a*c", given="equation 1")
    assert answer("none", step).kind == "step"
    again = _claim("1/a*(b*(c/d)) + e == e + b*c/(a*d)", given="equation 1")
    assert answer("none", again).kind == "same formula"


def test_a_refuted_print_is_no_construction_though_its_correction_is_an_identity() -> None:
    claim = _claim("sqrt(a)**2 == 2*a", corrected="sqrt(a)**2 == a")
    assert answer("none", claim).kind == "step"


def test_two_names_for_one_number_are_found_and_two_computations_of_it_are_not() -> None:
    def points(numbers: Any) -> Iterator[Point]:
        root = numbers.sqrt(numbers.mpf(2))
        yield Point("", {"a": root, "b": root, "c": (root**2 + 1) ** 7 / (root**2 + 1) ** 6 / root})

    one = Claim("1", "a == b", points, Exact())
    two = Claim("2", "c == 3*a/2", points, Exact())
    assert answer("none", one).kind == "same number"
    assert answer("none", two).kind == "depends"


@pytest.mark.parametrize("name", ["before 44 cosine identity", "43 given 38 and 40", "93 limit"])
def test_known_constructions_are_definitions(name: str) -> None:
    notes = "relu-localization-notes"
    (claim,) = (one for one in paper(notes).claims if one.name == name)
    assert claim.definition
    assert answer(notes, claim).is_construction


def _todays(claims: Iterable[Claim]) -> list[Claim]:
    return [claim for n, claim in enumerate(claims) if is_today(n, 80)]


@pytest.mark.days(3)
@pytest.mark.parametrize("name", names())
def test_no_claim_that_counts_is_true_by_construction(name: str) -> None:
    """An eightieth of the claims a day."""
    for claim in _todays(counted(paper(name).claims)):
        assert answer(name, claim).kind in ("depends", "step"), claim.name


@pytest.mark.parametrize("name", names())
def test_a_tolerance_does_not_hide_a_factor_of_four_thirds(name: str) -> None:
    """An eightieth of the claims a day."""
    quick = [claim for claim in approximate(paper(name).claims) if not claim.thorough]
    for claim in _todays(quick):
        assert not accepted_factors(claim), claim.name


def test_a_wide_tolerance_hides_a_factor_and_a_narrow_one_does_not() -> None:
    wide = _claim("K == 2", rule=Within(0.3))
    narrow = _claim("K == 2", rule=Within(0.2))
    assert accepted_factors(wide) == ["4/3", "3/4"]
    assert not accepted_factors(narrow)
