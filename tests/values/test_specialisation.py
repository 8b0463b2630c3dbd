"""Committees of three order parameters against free energies of all, and published limits."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import symderiv as sd
from symderiv.equilibrium.committee import CommitteeState, SymmetricCommittee, digits_of_equal_units
from symderiv.equilibrium.free_energy import FreeEnergy
from symderiv.foundation.errors import NotYetError


def all_order_parameters(name: str, K: int, state: CommitteeState) -> tuple[FreeEnergy, np.ndarray]:
    """Return the free energy of all order parameters, and the state in them."""
    g, v = sd.activation(name).expression, np.full(K, K**-0.5)
    S = (state.m - state.difference) / K
    R = np.full((K, K), S) + state.difference * np.eye(K)
    Q = np.full((K, K), state.C) + (1.0 - state.C) * np.eye(K)
    energy = FreeEnergy(g, g, v, v, np.eye(K))
    return energy, energy.free(Q, R)


@pytest.mark.parametrize(("name", "K"), [("erf", 4), ("relu", 3), ("x**3/6 + x**2 + x", 5)])
def test_transitions_are_those_of_all_order_parameters(name: str, K: int) -> None:
    committee = SymmetricCommittee(sd.activation(name).expression, K)
    found = committee.specialising
    values = []
    for state in (found.before, found.after):
        energy, x = all_order_parameters(name, K, state)
        value, slope, bend = energy.at(x, K * state.alpha)
        assert np.abs(slope).max() < 1e-8
        assert np.linalg.eigvalsh(bend)[0] > 0.0
        assert value == pytest.approx(K * state.free_energy, rel=1e-11)
        assert energy.error(x)[0] == pytest.approx(state.error, rel=1e-10)
        values.append(value)
    assert found.kind == "first-order"
    assert values[0] == pytest.approx(values[1], rel=1e-10)
    assert found.specialised_from < found.alpha < found.equal_until
    # where equal units cease to be stable, and at the fold, a curvature vanishes
    fold = min(committee.states, key=lambda each: each.alpha)
    for alpha, near in ((found.equal_until, None), (found.specialised_from, fold)):
        least = []
        for factor in (1 - 1e-5, 1 + 1e-5):
            state = committee.equal(alpha * factor) if near is None else near
            energy, x = all_order_parameters(name, K, state)
            least.append(np.linalg.eigvalsh(energy.at(x, K * state.alpha)[2])[0])
            if near is not None:
                assert state.alpha >= alpha
        if near is None:
            assert least[0] > 0.0 > least[1]


@pytest.mark.parametrize(("name", "K"), [("erf", 2), ("relu", 3)])
def test_equations_in_symbols_hold_where_a_curvature_of_all_order_parameters_vanishes(
    name: str, K: int
) -> None:
    committee = SymmetricCommittee(sd.activation(name).expression, K)
    first = committee.at(0.0)
    start = first.C, first.m / K, first.alpha
    digits = digits_of_equal_units(sd.activation(name).expression, K, start, 20)
    assert digits is not None
    assert len(digits) == 21
    energy, x = all_order_parameters(name, K, committee.equal(float(digits)))
    curvatures = np.linalg.eigvalsh(energy.at(x, K * float(digits))[2])
    assert np.abs(curvatures).min() < 1e-11 * np.abs(curvatures).max()


@pytest.mark.turns(2)
def test_many_units_are_those_of_others_and_the_limit_of_some() -> None:
    # Oostwal, Straat and Biehl, Physica A 564 (2021) 125517: four digits
    erf = sd.Problem("erf", students=2, teachers=2).specialisation(units=[2, 50, math.inf])
    assert erf.kind == ["continuous", "first-order", "first-order"]
    assert erf.specialised_from[2] == pytest.approx(60.99, abs=0.01)
    assert erf.alpha_per_unit[2] == pytest.approx(69.09, abs=0.01)
    assert erf.closed_form == "infinite"
    assert erf.equations[0] == "2*R*alpha*(1 - C)/(pi*(4 - R**2)**(3/2)) - 1"
    assert [float(each) for each in erf.equal_until_digits[:2]] == pytest.approx(
        list(erf.equal_until[:2]), rel=1e-11
    )
    assert erf.equal_until_digits[2] is None
    # corrections are of order 1/K
    assert abs(erf.alpha_per_unit[1] - erf.alpha_per_unit[2]) < 0.05 * erf.alpha_per_unit[2]
    relu = sd.Problem("relu", students=2, teachers=2).specialisation(units=[50, math.inf])
    assert relu.kind[1] == "continuous"
    assert relu.closed_form == "2*pi"
    assert relu.equal_until == pytest.approx([2 * np.pi] * 2, rel=1e-4)


def test_equal_units_of_infinitely_many_lose_stability_by_the_mean_curvature() -> None:
    def curvature(x: float) -> float:
        slope = 1.0 / (1.0 + math.exp(-x))
        return slope * (1.0 - slope) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    mean = quad(curvature, -12, 12, epsabs=1e-13)[0]
    found = sd.Problem("softplus", students=2, teachers=2).specialisation(units=[math.inf])
    assert found.equal_until[0] == pytest.approx(mean**-2, rel=1e-9)


@pytest.mark.parametrize("units", [[1], [2.5], [3, 2], [51], [], [float("nan")], "ab", [-math.inf]])
def test_numbers_of_units_that_are_none_are_refused(units: object) -> None:
    with pytest.raises(sd.InputError) as refused:
        sd.Problem("erf", students=2, teachers=2).specialisation(units=units)  # type: ignore[arg-type]
    assert refused.value.argument == "units"


@pytest.mark.parametrize(
    ("name", "words"), [("x**2", "equal students learn nothing"), ("2*x", "never specialise")]
)
def test_activations_without_a_transition_are_refused(name: str, words: str) -> None:
    with pytest.raises(NotYetError, match=words):
        sd.Problem(name, students=2, teachers=2).specialisation(units=[3])


@pytest.mark.turns(2)
def test_transitions_are_drawn() -> None:
    axes = sd.Problem("relu", students=2, teachers=2).specialisation(units=[2, 3, math.inf]).plot()
    assert [each.get_text() for each in axes.get_xticklabels()] == ["2", "3", "∞"]


def test_what_has_no_free_energy_is_refused_here_too() -> None:
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.5, momentum=0.5)
    with pytest.raises(NotYetError, match="momentum"):
        problem.specialisation(units=[2])
