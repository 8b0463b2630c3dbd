"""Plateaus in numbers, from forms made up here: lengths, all eigenvalues, states of the full flow.

The forms of real activations take seconds to derive and are tested in ``tests/values``; what is
computed from forms does not depend on where they come from.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
from flint import arb
from support.plateau_teachers import teacher_of_modes

from symderiv.analysis import symmetric as state
from symderiv.analysis.plateau.closed_plateau import FullFlow, PlateauForms
from symderiv.analysis.plateau.full_plateau import _Numeric, equal_students, full_plateau
from symderiv.analysis.plateau.plateau_algebra import ETA, NU, TEACHER, M, c
from symderiv.analysis.plateau.plateau_report import PlateauReport
from symderiv.analysis.plateau.stability import plateau_numbers
from symderiv.analysis.plateau.teacher import (
    HomogeneousTeacher,
    teacher_of_moments,
    teacher_of_power_law,
)
from symderiv.analysis.symmetric import D
from symderiv.api.results.flows.plateau import Plateau
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.learning.derivation import symbols as s
from symderiv.precision.balls.krawczyk import enclosed_root
from symderiv.precision.balls.working import working_bits

R = sp.Rational
BITS = 100


def modes(units: int) -> HomogeneousTeacher:
    return teacher_of_modes(
        units,
        [R(3, 2), R(3, 4), R(1, 5)],
        [R(1, 4), R(1, 2), R(1, 4)],
        [R(2), R(1, 2), R(1, 3)],
        [R(units - 1, 10), -R(units - 1, 20), R(units - 1, 9)],
    )


def numbers(values: object) -> np.ndarray:
    return np.array([float(x) for x in values])  # type: ignore[attr-defined]


# -- the O(eta) flow ---------------------------------------------------------------------------


def forms(kappa: sp.Expr, length: sp.Expr | None, **changes: sp.Expr) -> PlateauForms:
    row = TEACHER + D
    given = {
        "stationarity": c**2 * row - R(1, 3) / M,
        "symmetric_stiffness": 1 + c / M,
        "difference_stiffness": kappa,
        "teacher_response": -(1 + c**2),
        "length_response": TEACHER / 5 + c,
        "one_length_response": -c * row / 7,
        "generalization_error": row / (1 + c) + TEACHER / 11,
        "length": length,
    }
    return PlateauForms(**{**given, **changes})


CLOSED = 1 / sp.sqrt(3 * M * (TEACHER + D))

# name: how often, and what multiplies -Λ and -u wᵀ, in units of the forms above
SECTORS = {
    "length": (lambda m: 1, ("a",), "length_response", "row"),
    "norm": (lambda m: 1, ("a", "a"), None, None),
    "common": (lambda m: m - 1, ("a",), "teacher_response", "theta"),
    "specialisation": (lambda m: (m - 1) ** 2, ("k",), "teacher_response", "theta"),
    "one_length": (lambda m: m - 1, ("k",), "one_length_response", "row"),
    "one_norm": (lambda m: m - 1, ("a", "k"), None, None),
    "spread": (lambda m: m * (m - 1) // 2, ("k", "k"), None, None),
}


@pytest.mark.parametrize("units", [2, 3, 5])
@pytest.mark.parametrize("kappa", [sp.Integer(0), c / 3, -c / 3])
def test_the_eigenvalues_of_every_sector_are_those_of_its_matrix(
    units: int, kappa: sp.Expr
) -> None:
    teacher, eta = modes(units), 0.7
    found = plateau_numbers(forms(kappa, CLOSED), teacher, R(7, 10), BITS)
    rho, w = np.array([1.5, 0.75, 0.2]), np.array([0.25, 0.5, 0.25])
    same, row_rest = np.array([2.0, 0.5, 1 / 3]), (units - 1) * np.array([0.1, -0.05, 1 / 9])
    vectors = {"row": same + row_rest, "theta": same - row_rest / (units - 1)}
    T1, D1 = w @ (same / rho), w @ (row_rest / rho)
    length = 1 / np.sqrt(3 * units * (T1 + D1))
    assert float(found.length) == pytest.approx(length, rel=1e-14)
    assert float(found.R) == pytest.approx(length * (T1 + D1), rel=1e-14)
    assert float(found.Q) == pytest.approx(length**2 * units * (T1 + D1), rel=1e-14)
    error = (T1 + D1) / (1 + length) + T1 / 11
    assert float(found.generalization_error) == pytest.approx(error, rel=1e-14)
    rates = {
        "a": 1 + length / units,
        "k": float(kappa.subs(c, length)),
        "teacher_response": -(1 + length**2),
        "length_response": T1 / 5 + length,
        "one_length_response": -length * (T1 + D1) / 7,
    }
    for group in found.groups:
        count, stiffness, response, vector = SECTORS[group.sector.name]
        assert group.multiplicity == count(units)
        matrix = -sum(rates[name] for name in stiffness) * np.diag(rho)
        if response and vector:
            matrix = matrix - rates[response] * np.outer(vectors[vector], w)
        expected = eta * np.sort(np.linalg.eigvals(matrix).real)[::-1]
        assert group.values is not None
        np.testing.assert_allclose(numbers(group.values), expected, atol=1e-13)
        assert (group.slope is None) == bool(response)
        if group.slope is not None:
            assert float(group.slope) * 1.5 == pytest.approx(
                eta * matrix[0, 0] if matrix[0, 0] else 0.0
            )
        if group.sector.name == "specialisation":
            assert float(found.unstable_eigenvalue) == pytest.approx(expected[0], rel=1e-13)
            assert found.escape_time is not None
            assert float(found.escape_time) == pytest.approx(1 / expected[0], rel=1e-13)
    # all of M² overlaps with teachers and M (M + 1)/2 of students, for every mode
    total = sum(group.multiplicity for group in found.groups)
    assert total == units**2 + units * (units + 1) // 2
    kinds = {group.sector.name: group.kind for group in found.groups}
    assert kinds["norm"] == "attractive"
    spread = {0: "neutral", 1: "attractive", -1: "escaping"}[int(sp.sign(kappa.subs(c, 1)))]
    assert kinds["spread"] == spread
    # a root of rank one beside neutral ones
    assert kinds["specialisation"] == ("mixed" if kappa == c / 3 else "escaping")


def test_moments_are_enough_where_differences_of_students_are_neutral() -> None:
    teacher = teacher_of_moments(3, R(6, 5), R(1, 5), R(7, 5), R(3, 10))
    found = plateau_numbers(forms(sp.Integer(0), CLOSED), teacher, R(1, 2), BITS)
    length = 1 / np.sqrt(9 * 1.4)
    rate = 0.5 * (1 + length**2) * (1.4 - 0.3 / 2)
    assert float(found.unstable_eigenvalue) == pytest.approx(rate, rel=1e-14)
    kinds = {group.sector.name: (group.kind, group.values) for group in found.groups}
    assert kinds["norm"] == ("attractive", None)
    assert kinds["spread"] == ("neutral", None)
    assert kinds["length"] == ("unknown", None)
    with pytest.raises(InputError, match="--T2, --D2"):
        plateau_numbers(forms(c / 3, CLOSED), teacher, R(1, 2), BITS)
    # isotropic inputs have a mode of their own
    isotropic = teacher_of_moments(3, R(6, 5), R(1, 5), R(6, 5), R(1, 5))
    one = plateau_numbers(forms(c / 3, CLOSED), isotropic, R(1, 2), BITS)
    rate = 0.5 * ((1 + length**2) * (1.2 - 0.1) - length / 3)
    assert float(one.unstable_eigenvalue) == pytest.approx(rate, rel=1e-14)
    stable = plateau_numbers(forms(8 * c, CLOSED), isotropic, R(1, 2), BITS)
    assert stable.unstable_eigenvalue < 0
    assert stable.escape_time is None


@pytest.mark.parametrize("bits", [60, 300])
def test_a_length_without_closed_form_is_enclosed(bits: int) -> None:
    """c³ (T + D) + c = M/4, against mpmath's root."""
    made = forms(c / 3, None, stationarity=c**3 * (TEACHER + D) + c - M / 4)
    assert made.closed is None
    teacher = teacher_of_moments(3, R(6, 5), R(1, 5), R(6, 5), R(1, 5))
    found = plateau_numbers(made, teacher, R(1, 2), bits).length
    with mpmath.workprec(bits + 120):
        exact = mpmath.findroot(lambda x: mpmath.mpf(7) / 5 * x**3 + x - mpmath.mpf(3) / 4, 0.6)
        with working_bits(bits + 120):
            assert found.contains(arb(str(exact)))
    assert found.rel_accuracy_bits() > bits
    assert found.rad() > 0


@pytest.mark.parametrize("lowest", [R(3, 7), R(7, 3), R(1, 2), R(2)])
def test_of_several_lengths_the_stable_one_of_least_error_is_taken(lowest: sp.Rational) -> None:
    phi = (c - lowest) * (c - 1) * (c - 1 / lowest)
    made = forms(c, None, stationarity=phi, generalization_error=(c - lowest) ** 2 + 1)
    found = plateau_numbers(made, modes(2), R(1), BITS).length
    with working_bits(400):
        assert found.contains(arb(int(lowest.p)) / int(lowest.q))
    with pytest.raises(ToleranceError, match="no symmetric plateau was found"):
        # 1 is a maximum of the error along the line
        plateau_numbers(forms(c, None, stationarity=1 - c), modes(2), R(1), BITS)


def test_one_rate_is_said_in_closed_form_where_it_is_one() -> None:
    """That of all inputs without a stiffness of differences, else that of isotropic ones."""
    place = {"M": 3, "T": 2, "D": 1, "T2": 5, "D2": 3, "eta": 7}

    def value(text: str) -> sp.Expr:
        return sp.sympify(text, {name: sp.Integer(number) for name, number in place.items()})

    length = 1 / sp.sqrt(27)
    with_modes = forms(sp.Integer(0), CLOSED).texts
    rate = 7 * (1 + length**2) * (5 - R(3, 2))
    assert sp.simplify(value(with_modes["unstable_eigenvalue"]) - rate) == 0
    assert sp.simplify(value(with_modes["escape_time"]) - 1 / rate) == 0
    isotropic = forms(c / 3, CLOSED).texts
    rate = 7 * ((1 + length**2) * (2 - R(1, 2)) - length / 3)
    assert sp.simplify(value(isotropic["unstable_eigenvalue_isotropic"]) - rate) == 0
    assert "unstable_eigenvalue" not in isotropic
    assert "equation_of_c" in forms(c, None).texts


# -- teachers ----------------------------------------------------------------------------------


def test_a_power_law_is_the_mean_teacher_of_its_spectrum() -> None:
    teacher = teacher_of_power_law(3, 7, R(1, 2))
    found = teacher.modes(BITS)
    rho = np.arange(1, 8) ** -1.5
    rho /= rho.mean()
    np.testing.assert_allclose(numbers(found.eigenvalue), rho)
    np.testing.assert_allclose(numbers(found.difference), rho**2)
    np.testing.assert_allclose(numbers(found.row_sum), rho**2)
    np.testing.assert_allclose(numbers(teacher.moments(BITS)), [1, 0, np.mean(rho**2), 0])
    assert teacher_of_power_law(2, 4096, R(0)).modes is not None
    np.testing.assert_allclose(
        numbers(teacher_of_power_law(2, 1, R(1)).moments(BITS)), [1, 0, 1, 0]
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: teacher_of_moments(1, R(1), R(0), R(1), R(0)), "units: 1"),
        (lambda: teacher_of_moments(3, R(0), R(0), R(1), R(0)), "T1: 0"),
        (lambda: teacher_of_moments(3, R(1), R(2), R(1), R(0)), "D1: 2"),
        (lambda: teacher_of_moments(3, R(1), R(0), R(1), R(-1)), "D2: -1"),
        (lambda: teacher_of_power_law(2, 0, R(1)), "distinct_eigenvalues: 0"),
        (lambda: teacher_of_power_law(2, 4097, R(1)), "distinct_eigenvalues: 4097"),
        (lambda: teacher_of_power_law(2, 4, R(-1)), "exponent: -1"),
    ],
)
def test_teachers_that_are_none_are_refused(make: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()  # type: ignore[operator]


# -- the full flow -----------------------------------------------------------------------------


def flow(growth: sp.Expr, noise: bool = True) -> FullFlow:
    """Linear equations with R = (T + D)/2 and Q - C = η ν_1/10; Q_s = ... / (1 - growth)."""
    kappa = R(1, 2) if noise else state.Q - state.C - state.T / 10
    half = ETA * NU / 2
    total = state.Q + (s.M - 1) * state.C
    return FullFlow(
        (
            state.R - (state.T + state.D) / 2,
            (1 - growth) * total - s.M * state.R,
            kappa * (state.Q - state.C) - (half / 10 if noise else 0),
        ),
        state.Q + 2 * state.C - state.R,
        kappa,
        -1 - state.R**2,
        noise,
    )


@pytest.mark.parametrize("noise", [True, False])
def test_the_state_that_small_students_approach_is_enclosed(noise: bool) -> None:
    units, eta = 3, R(4, 5)
    teacher = modes(units)
    found = full_plateau(flow(R(0), noise), teacher, eta, BITS)
    T1, D1, _, _ = (Fraction(str(float(x))) for x in teacher.moments(BITS))
    mean = 0.25 * 1.5 + 0.5 * 0.75 + 0.25 * 0.2
    cross = float(T1 + D1) / 2
    spread = 0.8 * mean / 10 if noise else float(T1) / 10
    C = (units * cross - spread) / units
    assert float(found.R) == pytest.approx(cross, rel=1e-13)
    assert float(found.C) == pytest.approx(C, rel=1e-13)
    assert float(found.Q) == pytest.approx(C + spread, rel=1e-13)
    assert float(found.generalization_error) == pytest.approx(3 * C + spread - cross, rel=1e-13)
    known = teacher.modes(BITS)
    coupling = 0.8 * (1 + cross**2) * np.outer(numbers(known.difference), numbers(known.weight))
    matrix = coupling - (0.4 * np.diag(numbers(known.eigenvalue)) if noise else 0.0)
    rate = np.max(np.linalg.eigvals(matrix).real)
    assert float(found.unstable_eigenvalue) == pytest.approx(rate, rel=1e-13)
    for value in (found.Q, found.C, found.R, found.generalization_error):
        assert value.rel_accuracy_bits() > BITS


def test_equal_students_leave_out_the_equation_of_their_difference() -> None:
    teacher = teacher_of_moments(2, R(1), R(0), R(1), R(0))
    found = equal_students(flow(ETA / 4), teacher, R(2), BITS, (1.2, 0.4))
    assert float(found.R) == pytest.approx(0.5, rel=1e-14)
    assert float(found.Q) == float(found.C) == pytest.approx(1.0, rel=1e-14)
    assert all(value.rel_accuracy_bits() > BITS for value in (found.Q, found.R))
    escape = equal_students(flow(ETA / 4), modes(2), R(2), BITS, (1.2, 0.4)).unstable_eigenvalue
    assert escape.rel_accuracy_bits() > BITS - 15
    other = full_plateau(flow(ETA / 4), teacher, R(2), BITS)
    # students that differ: Q - C = η/10 around the same mean
    assert float(other.Q) == pytest.approx(1.1, rel=1e-14)
    assert float(other.C) == pytest.approx(0.9, rel=1e-14)


def test_a_report_shows_the_states_that_were_found() -> None:
    teacher = teacher_of_moments(2, R(1), R(0), R(1), R(0))
    made = forms(c / 3, CLOSED)
    shown = PlateauReport(
        "g", teacher, R(2), 10, made, plateau_numbers(made, teacher, R(2), BITS), None
    )
    without = Plateau(shown).to_text()
    state = full_plateau(flow(ETA / 4), teacher, R(2), BITS)
    for name, words in (("spread", "spread plateau"), ("full", "full flow"), ("equal", "same, Q")):
        assert words not in without
        (line,) = (
            line
            for line in Plateau(replace(shown, **{name: state})).to_text().splitlines()
            if line.startswith(words)
        )
        assert "Q = 1.1" in line
        assert "C = 0.9" in line


def test_a_rate_without_plateau_is_refused_with_the_one_up_to_which_there_is() -> None:
    """Q_s = 3 R / (1 - η ν_1/4): stationary up to η = 4, in isotropic inputs."""
    teacher = teacher_of_moments(3, R(1), R(0), R(1), R(0))
    with pytest.raises(InputError, match=r"learning_rate: 9 .* only up to ([\d.]+) ") as caught:
        full_plateau(flow(ETA * NU / 4), teacher, R(9), BITS)
    assert float(str(caught.value).partition("up to ")[2].split()[0]) == pytest.approx(4, rel=1e-3)
    near = full_plateau(flow(ETA * NU / 4), teacher, R(39, 10), BITS)
    assert float(near.Q + 2 * near.C) == pytest.approx(1.5 / 0.025, rel=1e-12)


def test_a_box_with_exactly_one_solution() -> None:
    x, y, a = sp.symbols("x y a")
    circle, line = x**2 + y**2 - a, x - 3 * y
    found = enclosed_root([circle, line], [x, y], {a: arb(10)}, [2.5, 1.2], BITS)
    assert Counter(bool(value.contains(n)) for value, n in zip(found, (3, 1), strict=True)) == {
        True: 2
    }
    assert all(0 < value.rad() < arb(2) ** -60 for value in found)
    # a line that touches the circle has a double solution, no line a unique one
    for touching in (x - 4, x - x):
        with pytest.raises(ToleranceError, match="could not be enclosed"):
            enclosed_root([circle, touching], [x, y], {a: arb(10)}, [3.0, 0.5], BITS)


def test_students_may_differ_much_on_the_plateau() -> None:
    spread = 9 * state.T / 10
    made = flow(R(0), noise=False)
    third = (state.Q - state.C - spread) * (state.Q - state.C)
    made = replace(made, equations=(*made.equations[:2], third))
    teacher = teacher_of_moments(2, R(1), R(0), R(1), R(0))
    found = _Numeric(made, teacher).solved(np.array([0.9, 0.06, 0.5]), 0.1)
    assert found is not None
    np.testing.assert_allclose(found, [0.95, 0.05, 0.5], rtol=1e-9)
