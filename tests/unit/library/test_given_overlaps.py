"""Order parameters by name: of rules that follow more than Q, R and v, and of any inputs."""

import math
from typing import Any

import numpy as np
import pytest

import symderiv as sd

N, K, M = 60, 3, 2
RANDOM = np.random.default_rng(8)
J, U, A = (size * RANDOM.standard_normal((K, N)) for size in (1.0, 0.5, 0.8))
B = RANDOM.standard_normal((M, N))
V, BIASES = np.array([0.6, -0.3, 0.8]), np.array([0.1, -0.2, 0.3])
GAMMA, ETA, ETA_V, ETA_B = 2.0, 0.5, 0.4, 0.3


def overlap(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left @ right.T / left.shape[1]


ORDER: dict[str, Any] = {
    "Q": overlap(J, J),
    "R": overlap(J, B),
    "T": overlap(B, B),
    "v": V,
    "b": BIASES,
    "P": overlap(U, J),
    "W": overlap(U, U),
    "C": overlap(U, B),
    "v_velocity": [0.1, 0.3, -0.2],
    "b_velocity": [-0.2, 0.3, 0.4],
}


def problem(inputs: Any = None, **more: Any) -> sd.Problem:
    given = {"students": K, "teachers": M, "learning_rate": ETA, **more}
    return sd.Problem("linear", inputs=inputs or sd.Isotropic(N), **given)


def moving(inputs: Any = None) -> sd.Problem:
    return problem(
        inputs,
        momentum_rate=GAMMA,
        train_biases=True,
        bias_learning_rate=ETA_B,
        train_second_layer=True,
        second_layer_learning_rate=ETA_V,
        student_weights=[0.1, 0.2, 0.3],
    )


AVERAGED = {"consistency_weight": 0.5, "averaging_rate": 0.7}
AVERAGES = {"J.A": overlap(J, A), "A.A": overlap(A, A), "A.B": overlap(A, B)}


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("stated", "order"),
    [
        (moving(), ORDER),
        (moving(sd.Spectrum([1.6, 0.4], dimension=N)), ORDER),
        (problem(**AVERAGED), {**{name: ORDER[name] for name in "QRT"}, **AVERAGES}),
        (problem(sd.PowerLaw(3, exponent=1, dimension=N)), {n: ORDER[n] for n in "QRTv"}),
    ],
)
def test_a_run_has_these_slopes_at_its_start(stated: sd.Problem, order: dict[str, Any]) -> None:
    step = 1e-4
    run = stated.solve(alpha=[0, step, 2 * step], initial=order, progress=False)
    found = stated.rates(**order).to_dict()
    followed = {name: getattr(run, name) for name in ("Q", "R", "v")} | dict(run.further)
    for name, values in followed.items():
        if name in order:
            np.testing.assert_allclose(values[0], order[name], atol=1e-12, err_msg=name)
        slope = (-3 * values[0] + 4 * values[1] - values[2]) / (2 * step)
        np.testing.assert_allclose(slope, found[f"d{name}"], atol=2e-6, err_msg=name)


@pytest.mark.turns(2)
def test_averages_follow_the_weights_by_their_definition() -> None:
    """dA/dα = averaging_rate (J − A), so that A.A and A.B move without any mean."""
    found = problem(**AVERAGED).rates(**{name: ORDER[name] for name in "QRT"}, **AVERAGES)
    pull = AVERAGES["J.A"] - AVERAGES["A.A"]
    np.testing.assert_allclose(found.further["A.A"], 0.7 * (pull + pull.T), atol=1e-13)
    np.testing.assert_allclose(
        found.further["A.B"], 0.7 * (ORDER["R"] - AVERAGES["A.B"]), atol=1e-13
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"velocities": V}, "velocities: is not one of Q, R, T, v, b, P, W, C, v_velocity, "),
        ({"b_velocty": V}, "b_velocty: is not one of Q, R, T, v, b, P, W, C, v_velocity, "),
        ({"W": None}, "W: is missing; give all of P, W, C"),
        ({"P": 9 * ORDER["P"]}, "P: P, W, C at eigenvalue 1 of 1 are not overlaps of any vectors"),
        ({"C": ORDER["W"]}, "C: has shape (3, 3), expected (3, 2), or (1, 3, 2) per eigenvalue"),
        ({"b": [0.1]}, "b: has shape (1,), expected (3,)"),
    ],
)
def test_what_does_not_belong_to_the_rule_is_named(change: dict[str, Any], said: str) -> None:
    given = {name: each for name, each in {**ORDER, **change}.items() if each is not None}
    with pytest.raises(sd.InputError) as caught:
        moving().rates(**given)
    assert str(caught.value).startswith(said)
    if "b_velocty" in change:
        assert str(caught.value).endswith("did you mean b_velocity?")


def test_plain_descent_has_no_velocities_and_a_simulation_starts_at_rest() -> None:
    with pytest.raises(sd.InputError, match=r"^b: is not one of Q, R, T, v$"):
        problem().rates(**ORDER)
    with pytest.raises(sd.InputError, match=r"^b: a simulation begins with the problem's own"):
        moving().simulate(end=0.1, initial=ORDER, progress=False)
    with pytest.raises(sd.InputError, match=r"^Q: is given beside a state"):
        problem().rates(**ORDER, state="state.npz")


EIGENVALUES = np.array([2.0, 0.75, 0.25])
SPECTRUM = sd.Spectrum(list(EIGENVALUES), weights=[0.25, 0.5, 0.25], dimension=N)


def per_eigenvalue() -> dict[str, np.ndarray]:
    """Means over the coordinates of each eigenspace, as a state file defines them."""
    found: dict[str, list[np.ndarray]] = {"Q": [], "R": [], "T": []}
    for rho, part in zip(EIGENVALUES, np.split(np.arange(N), [15, 45]), strict=True):
        phi = rho * B[:, part]
        for name, left, right in (
            ("Q", J[:, part], J[:, part]),
            ("R", J[:, part], phi),
            ("T", phi, phi),
        ):
            found[name].append(overlap(left, right))
    return {name: np.stack(each) for name, each in found.items()}


def assert_same_state(found: sd.State, wanted: sd.State) -> None:
    for name in (
        *("eigenvalue", "student_overlap", "cross_overlap", "teacher_overlap"),
        "teacher_covariance",
    ):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), rtol=1e-12, atol=1e-13, err_msg=name
        )


def start(stated: sd.Problem, given: dict[str, Any]) -> sd.State:
    return stated.solve(initial=given, end=0.01, points=2, progress=False).initial


def test_overlaps_per_eigenvalue_are_those_of_the_weights() -> None:
    stated = problem(SPECTRUM)
    found = start(stated, per_eigenvalue())
    assert_same_state(found, start(stated, {"J": J, "B": B}))
    drawn = stated.solve(end=0.01, points=2, progress=False).initial
    given = {
        name: getattr(drawn, f"{long}_overlap") for name, long in (("Q", "student"), ("R", "cross"))
    }
    assert_same_state(start(stated, given), drawn)


def test_a_total_is_divided_as_by_vectors_alike_in_all_coordinates() -> None:
    # the same 15 coordinates again and again: all eigenspaces have the same J.J, J.B and B.B
    alike = {name: np.tile(each[:, :15], 4) for name, each in (("J", J), ("B", B))}
    for inputs in (SPECTRUM, sd.PowerLaw(4, exponent=1, dimension=N), sd.Isotropic(N)):
        wanted = start(problem(inputs), alike)
        totals = {"Q": wanted.Q, "R": wanted.R, "T": wanted.T}
        assert_same_state(start(problem(inputs), totals), wanted)


@pytest.mark.parametrize(
    "inputs",
    [
        sd.HiddenManifold("erf", dimension=N, latent_dimension=30),
        sd.HiddenManifold("relu", latent_ratio=0.5),
        sd.GaussianMixture(
            probabilities=[0.3, 0.7], eigenvalues=[[2, 0.5], [0.5, 1.5]], dimension=N
        ),
    ],
)
def test_totals_of_the_mean_start_give_the_mean_start(inputs: Any) -> None:
    stated = problem(inputs, draw="mean", student_std=0.7)
    wanted = stated.solve(end=0.01, points=2, progress=False).initial
    totals = {"Q": wanted.Q, "R": wanted.R, "T": wanted.T}
    assert_same_state(start(stated, totals), wanted)


def test_totals_that_do_not_fix_a_start_are_refused_with_what_to_give() -> None:
    stated = problem(sd.HiddenManifold("erf", dimension=N, latent_dimension=30))
    totals = {name: 0.1 * ORDER[name] for name in "QR"} | {"T": ORDER["T"]}
    with pytest.raises(sd.InputError, match=r"^R: a total does not say .*, or weights J and B$"):
        stated.solve(end=1, initial=totals)
    L = stated.solve(end=0.01, points=2, progress=False).initial.L
    by_mode = {"Q": ORDER["Q"], "R": np.zeros((L, K, M)), "T": np.tile(np.eye(M), (L, 1, 1))}
    with pytest.raises(sd.InputError, match=r"^T: teachers act on more than the inputs"):
        stated.solve(end=1, initial=by_mode)


def test_weights_of_latent_inputs_have_the_overlaps_of_the_covariances() -> None:
    D = 24
    mixing = RANDOM.standard_normal((N, D)) / math.sqrt(D)
    omega = mixing @ mixing.T + 0.3 * np.eye(N)
    latent = RANDOM.standard_normal((M, D))
    found = start(problem(sd.Generator(omega=omega, phi=mixing)), {"J": J, "B": latent})
    cross = math.sqrt(N / D) * mixing @ latent.T
    for power in (1, 2, 3):
        share = found.weight * found.eigenvalue**power
        wanted = J @ np.linalg.matrix_power(omega, power) @ J.T / N
        np.testing.assert_allclose(
            np.einsum("k,kij->ij", share, found.student_overlap), wanted, rtol=1e-9, atol=1e-11
        )
        wanted = J @ np.linalg.matrix_power(omega, power) @ cross / N
        np.testing.assert_allclose(
            np.einsum("k,kin->in", share, found.cross_overlap), wanted, rtol=1e-9, atol=1e-11
        )
    np.testing.assert_allclose(found.R, J @ cross / N, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.T, latent @ latent.T / D, rtol=1e-12)
