"""What may be declared, how it is understood, and what is refused by the argument it is about."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symderiv as sd
from symderiv.foundation.errors import InputError, NotClosed, ShapeError
from symderiv.statement.register import Latent


def _plain() -> tuple[sd.System, Any, Any, Any]:
    P = sd.System()
    return P, P.inputs("x"), P.vectors("w", 2), P.vectors("B", fixed=True)


def test_numbers_of_vectors_are_whole_and_have_a_bound() -> None:
    P = sd.System()
    assert len(P.vectors("a", 64)) == 64
    assert len(P.vectors("b", np.int64(1))) == 1
    assert P.inputs("t", length=3)[2].position == 2
    copies = P.inputs("e", episode=3).copies
    assert [(each.position, each.copy) for each in copies] == [(0, 0), (0, 1), (0, 2)]
    for number in (0, 65, -1):
        with pytest.raises(InputError, match="from 1 to 64"):
            P.vectors("c", number)
    for number in (True, 2.0, "2"):
        with pytest.raises(InputError, match="whole number"):
            P.scalars("c", number)
    with pytest.raises(NotClosed, match="grows with N"):
        P.vectors("c", sp.Symbol("K"))
    # what was refused has left no name behind
    assert len(P.vectors("c", 2)) == 2


def test_a_correlation_is_a_matrix_of_ones_on_its_diagonal() -> None:
    third = sp.Rational(1, 3)
    for given in (
        [[1, third], [third, 1]],
        np.array([[1, 1], [1, 1]]),
        sp.Matrix([[1, -1], [-1, 1]]),
    ):
        P = sd.System()
        P.inputs("x", length=2, correlation=given)
        (inputs,) = P.statement.inputs
        assert inputs.correlation == sp.ImmutableMatrix(given)
    wrong: list[tuple[Any, type[Exception], str]] = [
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], ShapeError, "2 x 2"),
        ([[1, third], [0, 1]], InputError, "symmetric"),
        ([[2, 0], [0, 1]], InputError, "ones on the diagonal"),
        ([[1, 1.01], [1.01, 1]], InputError, "positive semidefinite"),
    ]
    for given, kind, words in wrong:
        with pytest.raises(kind, match=words):
            sd.System().inputs("x", length=2, correlation=given)
    with pytest.raises(InputError, match="needs a length"):
        sd.System().inputs("x", correlation=[[1]])
    with pytest.raises(InputError, match="not both"):
        sd.System().inputs("x", length=2, episode=2)
    with pytest.raises(InputError, match="is list, not an input model"):
        sd.System().inputs("x", [2.0, 0.5])


def test_laws_of_latents_are_values_with_probabilities() -> None:
    P = sd.System()
    c, r, d = P.latents("c"), P.latents("r", "rademacher"), P.latents("d", {0.5: 0.25, -1: 0.75}, 2)
    meaning = P.statement.symbols.of(Latent)
    assert meaning[c].law == "gaussian"
    assert meaning[c].values == ()
    assert meaning[r].values == ((-1, Fraction(1, 2)), (1, Fraction(1, 2)))
    half = sp.Rational(1, 2)
    assert meaning[d[1]].values == ((half, Fraction(1, 4)), (-1, Fraction(3, 4)))
    assert [str(each) for each in d] == ["d1", "d2"]
    for law, words in (
        ("normal", "must be"),
        ({}, "must be"),
        ({1: 0.5, 2: 0.6}, "sum to 1"),
        ({1: 1.5, 2: -0.5}, "not a probability"),
        ({1: sp.sqrt(2) / 2, 2: 1 - sp.sqrt(2) / 2}, "not a probability"),
    ):
        with pytest.raises(InputError, match=words):
            P.latents("e", law)
    assert P.latents("f", {3: 1, 4: 0}).is_real


NAMES = ["a__b", "pi", "E", "I", "for", "_a", "1a", "a b", "", None]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_means_something_else_is_refused(name: Any) -> None:
    for declare in ("vectors", "scalars", "latents", "parameter", "inputs"):
        with pytest.raises(InputError):
            getattr(sd.System(), declare)(name)


def test_members_of_families_take_their_names() -> None:
    P, *_ = _plain()
    P.scalars("u", 2), P.latents("c", number=2), P.inputs("t", length=2)
    for taken in ("w1", "w2", "u1", "c2", "t1", "w", "x"):
        with pytest.raises(InputError, match=f"'{taken}' is the name of"):
            P.scalars(taken)
    P.scalars("w3")


def test_parameters_have_exact_values_or_none() -> None:
    P = sd.System()
    eta, gain = P.parameter("eta", 0.1), P.parameter("gain")
    values = P.statement.symbols.parameters
    assert values[eta] == sp.Rational(1, 10)
    assert values[gain] is sp.nan
    with pytest.raises(InputError, match="must be a number"):
        P.parameter("other", 2 * eta)


def test_arrays_of_scalars_are_arrays_and_targets() -> None:
    P, x, w, _ = _plain()
    u = P.scalars("u", 2)
    assert (2 * u)[1] == 2 * u[1]
    assert u.sum() == u[0] + u[1]
    assert (u == u).all()
    P.update({u: -u, w: [x, -x]})
    P.descend((w @ x).sum() * u[0], {u: [1, 2]})
    step = P.statement.step()
    field = (w @ x).sum()
    assert sp.expand(step.scalars[u[0]].scalar + u[0] + field) == 0
    assert step.scalars[u[1]].scalar == -u[1]
    assert step.vectors[w[1]].inputs[x] == -1


def test_a_zero_change_moves_nothing_and_a_system_tells_what_moves() -> None:
    P, x, w, B = _plain()
    P.update({w: [0, x]})
    assert list(P.statement.step().vectors) == [w[1]]
    assert repr(P) == "System: w moves by 1 statement"
    P.update({w[0]: B})
    assert repr(P) == "System: w moves by 2 statements"
    P.scalars("u", 2)
    assert repr(P) == "System: w, u move by 2 statements"
    assert repr(sd.System()) == "System: nothing moves by 0 statements"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "either end or alpha"),
        ({"end": 1, "alpha": [1]}, "either end or alpha"),
        ({"alpha": []}, "finite ascending"),
        ({"alpha": [[1.0]]}, "finite ascending"),
        ({"alpha": [-1.0, 1.0]}, "finite ascending"),
        ({"alpha": [0.0, np.inf]}, "finite ascending"),
        ({"alpha": [1.0, 1.0]}, "must ascend"),
        ({"alpha": [2.0, 1.0]}, "must ascend"),
        ({"alpha": [1.0], "points": 3}, "alpha: is given together with points"),
        ({"end": 1, "points": 0}, "points: should be greater"),
        ({"end": 1, "spacing": "even"}, "spacing: should be 'log' or 'linear'"),
        ({"end": -1}, "end: should be greater"),
    ],
)
def test_times_ascend_from_zero(given: dict[str, Any], words: str) -> None:
    P = sd.System()
    P.inputs("x")
    u = P.scalars("u")
    P.update({u: -u})
    with pytest.raises(InputError, match=words):
        P.solve(**given, initial={"u": 1.0})


def test_times_up_to_an_end_are_those_of_problems() -> None:
    P, _, w, _ = _plain()
    P.update({w[0]: -w[0] / 10})
    how: Any = {"points": 4, "spacing": "log", "initial": {"w.w": np.eye(2), "w.B": [[0], [0]]}}
    run = P.solve(5, **how)
    assert run.alpha == pytest.approx([0, 0.01, 0.01 * np.sqrt(500), 5], rel=1e-12)
    assert run["w.w"][:, 0, 0] == pytest.approx(np.exp(-run.alpha / 5), rel=1e-7)
    # times of a simulation are whole steps
    assert P.simulate(100, runs=1, end=5, **how).alpha == pytest.approx(run.alpha, abs=0.01)
    del how["points"]
    how["spacing"] = "linear"
    assert P.solve(5, **how).alpha == pytest.approx(np.linspace(0, 5, 200))
