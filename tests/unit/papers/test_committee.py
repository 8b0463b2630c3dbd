"""References of homogeneous committees, and what the statement language has for matrices."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from symderiv_ledger.claims.statement import parse_statement
from symderiv_ledger.claims.typeset import statement_latex
from symderiv_ledger.papers.ledger_page import _printed
from symderiv_ledger.rules.arithmetic import evaluate
from symderiv_papers.references.homogeneous import Committee, at_precision
from symderiv_papers.references.trajectories import (
    Students,
    ansatz_trajectory,
    plateau_end,
    random_students,
)

from symderiv.foundation.errors import FormulaError
from symderiv.precision.balls.contexts import numbers

COMMITTEE = Committee(
    3,
    (Fraction(3, 2), Fraction(3, 4)),
    (Fraction(1, 3), Fraction(2, 3)),
    (Fraction(5, 4), Fraction(7, 8)),
    (Fraction(1, 9), Fraction(-1, 7)),
    Fraction(1, 2),
)


def test_the_plateau_is_a_fixed_point_and_its_jacobian_has_the_closed_escape_rate() -> None:
    state = COMMITTEE.plateau()
    assert max(abs(rate) for rate in COMMITTEE.rates(state)) < mpmath.mpf(10) ** -60
    with at_precision():
        values = mpmath.eig(COMMITTEE.jacobian(state), left=False, right=False)
        growing = max(mpmath.re(value) for value in values)
        overlap = COMMITTEE.T(2) - COMMITTEE.D(2) / 2
        expected = -COMMITTEE.plateau_rate("teacher_response") * overlap.numerator
        assert abs(growing - expected / overlap.denominator) < mpmath.mpf(10) ** -34


def test_perfect_learning_is_a_fixed_point_without_error_also_at_second_order() -> None:
    full = replace(COMMITTEE, full=True)
    state = full.teacher()
    assert max(abs(rate) for rate in full.rates(state)) < mpmath.mpf(10) ** -60
    assert abs(full.generalization_error(state)) < mpmath.mpf(10) ** -60
    cross, student = full.unit_rates([*(value * 0.9 for value in state[:4]), *state[4:]])
    tiny = mpmath.mpf(10) ** -60
    assert abs(cross[1][0][0] - cross[1][2][2]) < tiny < abs(cross[1][0][0] - cross[1][0][1])
    assert abs(student[0][1][2] - student[0][2][0]) < tiny < abs(student[0][1][1])


def test_matrices_of_entries() -> None:
    with numbers(20, "mpmath") as context:
        tree = parse_statement("0 == Matrix(2, 2, 1, x, 3, 4) @ Vector(1, 1/2)").tree
        found = evaluate(tree.comparators[0], {"x": context.mpf(6)}, context)
        assert [found[0], found[1]] == [4, 5]
        with pytest.raises(FormulaError, match="4 x 1 entries"):
            evaluate(parse_statement("0 == Matrix(4, 1, 2)").tree.comparators[0], {}, context)


def test_printed_words_are_not_set_as_formulas() -> None:
    assert _printed("so that L of them vanish") == "so that L of them vanish"
    assert "<math" in _printed("$a=b$ with $c$")
    assert "<math" in _printed("a=b")


def test_matrices_are_typeset_as_such() -> None:
    statement = parse_statement("G @ Vector(1, -x) == Matrix(1, 2, a, b/2)")
    assert statement_latex(statement) == (
        r"G\, \begin{pmatrix} 1 \\ -x \end{pmatrix} = "
        r"\begin{pmatrix} a & \frac{b}{2} \end{pmatrix}"
    )


def test_trajectories_near_the_plateau_follow_the_jacobian() -> None:
    state = COMMITTEE.plateau()
    size = mpmath.mpf(10) ** -6
    moved = [x + size * (1 + k % 3) for k, x in enumerate(state)]
    found = ansatz_trajectory(COMMITTEE, moved, (0.0, 2.5))[1]
    with at_precision():
        flow = mpmath.expm(COMMITTEE.jacobian(state) * mpmath.mpf("2.5"), method="pade")
        expected = flow * mpmath.matrix([x - y for x, y in zip(moved, state, strict=True)])
    for k, value in enumerate(found):
        assert (value - float(state[k])) / 1e-6 == pytest.approx(float(expected[k]) * 1e6, abs=1e-4)


def test_single_units_move_as_the_ansatz_does_and_random_ones_have_their_variance() -> None:
    M, L = COMMITTEE.units, COMMITTEE.modes
    state = [float(x) * (1 + 0.02 * (k % 3)) for k, x in enumerate(COMMITTEE.plateau())]
    R, S, Q, C = (np.array(state[k * L : (k + 1) * L])[:, None, None] for k in range(4))
    same = np.eye(M)[None]
    start = Students(Q * same + C * (1 - same), R * same + S * (1 - same))
    target = ansatz_trajectory(COMMITTEE, state, (0.0, 3.0))[1][1]
    end, at = plateau_end(COMMITTEE, start, lambda _, cross: float(cross[0, 0] - target), 10.0)
    expected = ansatz_trajectory(COMMITTEE, state, (0.0, end))[1]
    assert expected[1] == pytest.approx(target, rel=1e-8)
    now = at(end)
    assert now.cross[0, 1, 1] == pytest.approx(expected[0], rel=1e-6)
    assert now.student[1, 2, 0] == pytest.approx(expected[3 * L + 1], rel=1e-6)
    drawn = [random_students(COMMITTEE, 1e6, 1e-2, seed).cross[0] for seed in range(300)]
    variance = float(COMMITTEE.T(0)) * 1e-4 / 1e6
    assert np.var(drawn) == pytest.approx(variance, rel=0.15)
