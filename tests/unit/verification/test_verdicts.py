"""The checker itself: statements, verdicts, mutants. It must be able to say every verdict."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import sympy as sp
from symderiv_ledger.claims.claim import Claim, ComparisonRule, Point
from symderiv_ledger.claims.mutations import mutants
from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.formulas.differences import places
from symderiv_ledger.papers.verify import verify_claim
from symderiv_ledger.rules.arithmetic import Indexed, Values, evaluate
from symderiv_ledger.rules.comparison_rules import (
    Bound,
    Converges,
    Exact,
    Measured,
    Symbolic,
    Within,
    WithinErrorBars,
)
from symderiv_ledger.rules.equivalence import are_equivalent

from symderiv.foundation.errors import FormulaError, ToleranceError
from symderiv.precision.balls.contexts import numbers


def _matrix(numbers: Any, K: int, M: int) -> Indexed:
    rows = [[numbers.mpf(3 * i - 2 * j) / 7 + i * j for j in range(M)] for i in range(K)]
    return Indexed(rows, (1, K), (1, M))


def _points(numbers: Any) -> Iterator[Point]:
    for K, M in ((2, 3), (3, 2)):
        A, B = _matrix(numbers, K, K), _matrix(numbers, K, M)
        product = [
            [sum(A[i, j] * B[j, n] for j in range(1, K + 1)) for n in range(1, M + 1)]
            for i in range(1, K + 1)
        ]
        values = {"K": K, "M": M, "A": A, "B": B, "P": Indexed(product, (1, K), (1, M))}
        yield Point(f"K = {K}, M = {M}", Values(values))


RANGES = "i = 1..K, n = 1..M"
RIGHT = "P[i, n] == Sum(A[i, j]*B[j, n], (j, 1, K))"


@pytest.mark.parametrize(
    ("statement", "corrected", "verdict"),
    [
        (RIGHT, "", "holds"),
        ("P[i, n] == Sum(A[j, i]*B[j, n], (j, 1, K))", RIGHT, "misprint"),
        ("P[i, n] == Sum(A[i, j]*B[j, n], (j, 1, M))", RIGHT, "misprint"),
        ("P[i, n] == -Sum(A[i, j]*B[j, n], (j, 1, K))", RIGHT, "misprint"),
        ("P[i, n] == 2*Sum(A[i, j]*B[j, n], (j, 1, K))", RIGHT, "misprint"),
        ("P[i, n] < 0", RIGHT, "false"),
    ],
)
def test_verdicts_of_exact_statements(statement: str, corrected: str, verdict: str) -> None:
    claim = Claim("1", statement, _points, Exact(), RANGES, corrected=corrected)
    found = verify_claim(claim, with_mutants=True)
    assert found.verdict == verdict
    assert found.mutants.wanted > 4
    assert not found.mutants.survivors


def test_a_print_that_fails_needs_a_correction_that_passes() -> None:
    wrong = "P[i, n] == 2*Sum(A[i, j]*B[j, n], (j, 1, K))"
    with pytest.raises(ToleranceError, match="no correction"):
        verify_claim(Claim("1", wrong, _points, Exact(), RANGES))
    with pytest.raises(ToleranceError, match="the correction of equation 1 fails"):
        verify_claim(Claim("1", wrong, _points, Exact(), RANGES, corrected=wrong))
    with pytest.raises(ToleranceError, match="has a correction, but the print passes"):
        verify_claim(Claim("1", RIGHT, _points, Exact(), RANGES, corrected=wrong))


def test_words_that_fail_are_false() -> None:
    wrong = "P[i, n] == 2*Sum(A[i, j]*B[j, n], (j, 1, K))"
    claim = Claim("1", wrong, _points, Exact(), RANGES, corrected=RIGHT, in_words=True)
    assert verify_claim(claim).verdict == "false"


def test_definitions_and_what_cannot_be_checked() -> None:
    assert verify_claim(Claim("1", definition=True)).verdict == "definition"
    assert verify_claim(Claim("1", not_checkable="no data")).verdict == "not-checkable"
    checked = Claim("1", RIGHT, _points, Exact(), RANGES, definition=True)
    assert verify_claim(checked).verdict == "definition"
    with pytest.raises(ToleranceError, match="no statement"):
        verify_claim(Claim("1"))


def _small(numbers: Any) -> Iterable[Point]:
    for power in (2, 3, 4):
        x = numbers.mpf(10) ** -power
        yield Point(f"x = 1e-{power}", {"x": x, "f": numbers.sin(x)}, float(x))


@pytest.mark.parametrize(
    ("statement", "order", "passes"),
    [
        ("f == x - x**3/6", 4, True),
        ("f == x - x**3/6", 5, False),
        ("f == x", 2, True),
        ("f == x - x**3/5", 4, False),
        ("f == 2*x", 1, False),
    ],
)
def test_order_of_convergence(statement: str, order: int, passes: bool) -> None:
    rule = Converges(order)
    with numbers(40, "mpmath") as context:
        tested = rule.test(parse_statement(statement), "", _small(context), context)
    assert tested.passed is passes
    assert tested.counterexample is None or not passes


def test_tolerances_and_error_bars() -> None:
    point = Point("one", {"a": 1.0, "b": 1.009, "m": Measured(1.02, 0.006)})
    with numbers(16, "mpmath") as context:
        assert Within(0.01).test(parse_statement("a == b"), "", [point], context).passed
        assert not Within(0.001).test(parse_statement("a == b"), "", [point], context).passed
        bars = WithinErrorBars(4.0)
        assert bars.test(parse_statement("a == m"), "", [point], context).passed
        assert not bars.test(parse_statement("a == 2*m"), "", [point], context).passed
        assert not WithinErrorBars(3.0).test(parse_statement("m < a"), "", [point], context).passed


@pytest.mark.parametrize("rule", [Within(0.1), Within(0.1, "size"), Bound(), Converges()])
@pytest.mark.parametrize("statement", ["nought == nothing", "nothing == nought"])
def test_a_side_that_is_no_number_is_not_zero(rule: ComparisonRule, statement: str) -> None:
    with numbers(30, "mpmath") as context:
        values = {"nought": context.mpf(0), "nothing": context.mpf("nan"), "size": context.mpf(0)}
        points = [Point(f"at {x}", {**values, "x": context.mpf(x)}, parameter=x) for x in (1, 2)]
        bounded = f"{statement} < x" if isinstance(rule, Bound) else statement
        assert not rule.test(parse_statement(bounded), "", points, context).passed


def test_balls_prove_a_failure() -> None:
    def points(numbers: Any) -> Iterator[Point]:
        yield Point("x = 2/7", {"x": numbers.mpf(2) / 7})

    holds = Claim("1", "sin(x)**2 == 1 - cos(x)**2", points, Exact(backend="arb"))
    assert verify_claim(holds).verdict == "holds"
    fails = Claim("1", "sin(x) == cos(x)", points, Exact(backend="arb"))
    with pytest.raises(ToleranceError, match="fails at x = 2/7"):
        verify_claim(fails)


def test_a_mutant_without_a_value_is_rejected_by_balls() -> None:
    def points(numbers: Any) -> Iterator[Point]:
        x = numbers.mpf(5) / 7
        yield Point("x = 5/7", {"x": x, "f": numbers.asin(x)})

    found = verify_claim(
        Claim("1", "f == asin(x)", points, Exact(backend="arb")), with_mutants=True
    )
    assert found.mutants.caught == found.mutants.wanted == 3  # asin(2*x) is not real


def test_symbolic_identities() -> None:
    def points(_: Any) -> Iterator[Point]:
        a, b = sp.symbols("a b")
        yield Point("all a, b", {"a": a, "b": b})

    right = Claim("1", "(a + b)**2 == a**2 + 2*a*b + b**2", points, Symbolic())
    found = verify_claim(right, with_mutants=True)
    assert found.verdict == "holds"
    assert found.mutants.caught >= 5


@pytest.mark.parametrize(
    "text",
    [
        *("a = b", "a", "a == b.c", "__import__('os') == 1", "a == [1]", "a == (lambda: 1)()"),
        *("a == Sum(b)", "a == f(x=1)", "a == 'text'", "a == 10**40", "a != b"),
        *("a == b if c else d", "_a == 1", "a == Sum(b, (i, 1))"),
    ],
)
def test_what_is_not_a_statement_is_refused(text: str) -> None:
    if text == "a == 10**40":
        text = f"a == {10**40}"
    with pytest.raises(FormulaError):
        Relation(text)


def test_values_are_lazy_and_indices_bounded() -> None:
    asked = []

    def slow() -> int:
        asked.append(1)
        return 3

    values = Values({"K": 2}, {"s": slow, "t": slow})
    with numbers(20, "mpmath") as context:
        tree = parse_statement("0 == Sum(s + i, (i, 1, K), i != 2)").tree.comparators[0]
        assert evaluate(tree, values, context) == 4
        assert len(asked) == 1
        with pytest.raises(FormulaError, match="division by zero"):
            evaluate(parse_statement("0 == s/(K - 2)").tree.comparators[0], values, context)


def test_mutants_come_from_fixed_operators() -> None:
    statement = parse_statement("a[i] == Sum(b[i, j] - 2*c[j], (j, 1, K))")
    made = {mutant.statement.text for mutant in mutants(statement, "i = 1..M")}
    for text in (
        "a[i] == Sum(b[i, j] + 2 * c[j], (j, 1, K))",
        "a[i] == Sum(b[j, i] - 2 * c[j], (j, 1, K))",
        "a[i] == Sum(b[i, j] - 2 * c[i], (j, 1, K))",
        "a[i] == Sum(b[i, j] - 2 * c[j], (j, 1, M))",
        "a[i] == Sum(2 * b[i, j] - 2 * c[j], (j, 1, K))",
        "a[i] == Sum(b[i, j] - 3 * c[j], (j, 1, K))",
    ):
        assert text in made


def test_equivalent_mutants_are_proved() -> None:
    def same(a: str, b: str, **more: Any) -> bool:
        return are_equivalent(parse_statement(a), parse_statement(b), **more)

    assert same("a == b*(c + d)", "a == b*c + b*d")
    assert not same("a == b*(c + d)", "a == b*c - b*d")
    assert same("a == Q[i, j]", "a == Q[j, i]", symmetric=("Q",))
    assert not same("a == Q[i, j]", "a == Q[j, i]")
    assert same("a == U@f(Q[i, j])", "a == U@f(Q[j, i])", symmetric=("Q",))
    assert not same("a == U@V", "a == V@U")
    assert same("a == Sum(b[i], (i, 1, K))", "a == Sum(b[j], (j, 1, K))")
    assert same("a == Sum(b[i], (i, 1, K))", "a == Sum(b[i], (i, 1, M))", equal=(("K", "M"),))
    assert same("a == delta(i, j)*b[i]", "a == delta(i, j)*b[j]")
    assert not same("a == delta(i, j)*b[i]", "a == delta(i, k)*b[j]")
    inside = "a == Sum(D[i, j]*b[{}], (i, 1, K), (j, 1, K))"
    assert same(inside.format("i"), inside.format("j"), diagonal=("D",))
    assert not same(inside.format("i"), inside.format("j"))
    assert same("a == (-1)**(L + 1 + i)", "a == (-1)**(3*L - i - 1)")
    assert not same("a == (-1)**(L + 1 + i)", "a == (-1)**(L + i)")
    assert same("0 == Sum(b[i], (i, 1, K))", "0 == Sum(2*b[i], (i, 1, K))")
    assert not same("0 == b[1] + c", "0 == b[1] + 2*c")
    assert not same("a == b", "a == 2*b")
    assert same(
        "a == Sum(Q[i, j], (i, 1, K), (j, 1, K))", "a == Sum(Q[j, i], (i, 1, K), (j, 1, K))"
    )


def test_matrices_in_the_wrong_order_are_one_small_place() -> None:
    def sizes(a: str, b: str) -> list[int]:
        return [size for _, size in places(parse_statement(a).tree, parse_statement(b).tree)]

    assert sizes("a == b + c @ (d + e) @ f", "a == b + f @ (c @ (d + e))") == [1]
    assert sizes("a == b @ c", "a == c @ b") == [1]
    assert sizes("a == b @ c", "a == c @ d") != [1]
