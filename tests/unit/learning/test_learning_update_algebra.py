"""The update algebra: renaming, contraction, means of noise."""

import pytest
import sympy as sp

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import mean_over_example
from symderiv.learning.derivation.indexed_sums import (
    Term,
    at,
    derivative,
    terms,
)

STUDENT = sp.Sum(s.v[s.p] * s.StudentActivation(0, s.x[s.p]), (s.p, 0, s.K - 1))


def unrolled(expression: sp.Expr, K: int = 3, M: int = 2) -> sp.Expr:
    """Sums written out at small sizes, as an independent reading of an expression."""
    result = expression.xreplace({s.K: sp.Integer(K), s.M: sp.Integer(M)})
    for total in sorted(result.atoms(sp.Sum), key=lambda t: len(str(t)), reverse=True):
        if result.has(total):
            values = total.function
            for index, low, high in total.limits:
                values = sp.Add(
                    *(values.xreplace({index: sp.Integer(a)}) for a in range(low, high + 1))
                )
            result = result.xreplace({total: unrolled(values, K, M)})
    return sp.expand(result)


def test_differentiation_does_not_capture_the_index_of_the_variable() -> None:
    for index in s.STUDENTS:
        slope = derivative(STUDENT**2, s.x[index])
        expected = sp.diff(unrolled(STUDENT**2), s.x[1])
        assert unrolled(at(slope, {index: sp.Integer(1)})) == sp.expand(expected)


def test_moving_to_other_indices_does_not_capture_them() -> None:
    force = derivative(STUDENT**2, s.x[s.i])
    for index in s.STUDENTS[1:]:
        moved = at(force, {s.i: index})
        assert unrolled(moved.xreplace({index: sp.Integer(2)})) == unrolled(
            force.xreplace({s.i: sp.Integer(2)})
        )


def test_an_empty_summand_counts_its_range() -> None:
    assert Term(s.v[s.i], ((s.p, 0, s.K - 1),)).expression() == s.K * s.v[s.i]


def test_powers_of_the_label_noise_have_the_moments_of_a_standard_normal() -> None:
    expression = (s.v[s.i] - s.sigma * s.zeta) ** 2
    assert mean_over_example(sp.expand(expression)) == s.v[s.i] ** 2 + s.sigma**2
    for power, moment in enumerate((1, 0, 1, 0, 3, 0, 15)):
        assert mean_over_example(s.zeta**power) == moment


@pytest.mark.parametrize("free", [s.v[s.p], s.v[s.p] * s.v[s.q], s.Q[s.p, s.q]])
def test_a_product_does_not_capture_free_indices_with_the_name_of_a_summed_one(free) -> None:
    """v_p Σ_p v_p is one number v_p times the sum; so is Σ_p ... times Σ_p ... with both free."""
    other = sp.Sum(s.v[s.q] * s.Q[s.q, s.p], (s.q, 0, s.K - 1))
    for product in (free * STUDENT, free * other, free * STUDENT * other, STUDENT * other * other):
        spread_out = sp.Add(*(term.expression() for term in terms(product)))
        place = {s.p: sp.Integer(1), s.q: sp.Integer(2)}

        def at_place(e: sp.Expr, place: dict[sp.Idx, sp.Integer] = place) -> sp.Expr:
            # sums first: their own indices are not the free ones
            return sp.expand(unrolled(e).xreplace(place))

        expected = sp.Mul(*(at_place(factor) for factor in sp.Mul.make_args(product)))
        assert at_place(spread_out) == sp.expand(expected)


def test_indices_that_are_taken_get_letters_of_their_own() -> None:
    x = sp.IndexedBase("x")
    term = Term(
        x[s.i] * x[s.j] ** 2, ((s.i, sp.Integer(0), s.K - 1), (s.j, sp.Integer(0), s.K - 1))
    )
    found = term.renamed({s.i, s.j})
    first, second = found.bound
    assert len({first, second, s.i, s.j}) == 4
    assert found.factor == x[first] * x[second] ** 2
