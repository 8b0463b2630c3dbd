"""Bayes-optimal learning against integrals that are written here by hand, and published values."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar, root
from scipy.special import ndtr
from scipy.stats import norm

import symderiv as sd
from symderiv.equilibrium.optimal.field_channel import FieldChannel, NoisyFieldChannel
from symderiv.equilibrium.optimal.sign_channel import SignChannel
from symderiv.equilibrium.optimal.state_evolution import (
    GaussianPrior,
    RademacherPrior,
    StateEvolution,
)
from symderiv.equilibrium.weak_learning.stated_target import read_target

XI = np.arange(-9.0, 9.0, 0.01) + 0.003
WEIGHT = 0.01 * norm.pdf(XI)


def channel(output: str, noise: float = 0.0, flip: float = 0.0) -> Any:
    target = read_target(output)
    if target.in_signs is not None:
        return SignChannel(target, noise, flip)
    return NoisyFieldChannel(target, noise) if noise else FieldChannel(target)


@pytest.mark.parametrize(
    ("output", "options"),
    [
        ("sign(z)", {}),
        ("sign(z)", {"flip": 0.1}),
        ("sign(z)", {"noise": 0.5}),
        ("sign(z + 0.3*noise)", {}),
        ("sign(z - 1/2)*sign(z + 1)", {}),
        ("sign(z1) + sign(z2)", {}),
        ("sign(z1 - 1/3)*sign(z2)", {"noise": 0.4}),
        ("relu(z)", {}),
        ("abs(z)", {}),
        ("z**3 - z", {}),
        ("relu(z)", {"noise": 0.3}),
        ("tanh(z)", {"noise": 0.3}),
    ],
)
def test_information_grows_with_half_the_square_of_gradients(
    output: str, options: dict[str, float]
) -> None:
    """E ∫ Z ln Z and E[∇ ln Z ∇ ln Zᵀ] come from different means: one is the other's slope."""
    law = channel(output, **options)
    q = np.array([[0.6]]) if law.K == 1 else np.array([[0.5, 0.1], [0.1, 0.4]])
    turn = np.array([[1.0]]) if law.K == 1 else np.array([[0.3, -0.4], [-0.4, 0.8]])
    one = np.eye(law.K)
    square = law.information(q, one - q)[1]
    ahead, back = (law.information(q + s * turn, one - q - s * turn)[0] for s in (1e-3, -1e-3))
    assert (ahead - back) / 2e-3 == pytest.approx(0.5 * np.sum(square * turn), rel=2e-5)


def test_three_units_have_the_same_law() -> None:
    law = channel("sign(z1) + sign(z2) + sign(z3)")
    q = np.array([[0.5, 0.1, 0.05], [0.1, 0.4, 0.02], [0.05, 0.02, 0.45]])
    omega = np.array([[0.3], [-0.2], [0.5]])
    V = np.eye(3) - q
    draws = np.random.default_rng(1).multivariate_normal(omega[:, 0], V, 400000)
    y = np.sign(draws).sum(axis=1)
    Z, slopes = law.at(omega, V)
    assert Z.sum() == pytest.approx(1, abs=1e-9)
    for n, value in enumerate(law.outputs):
        assert Z[n, 0] == pytest.approx(np.mean(y == value), abs=3e-3)
        score = np.linalg.solve(V, ((draws - omega[:, 0]) * (y == value)[:, None]).mean(axis=0))
        np.testing.assert_allclose(slopes[:, n, 0], score, atol=8e-3)


@pytest.mark.parametrize("prior", [GaussianPrior(), RademacherPrior()])
def test_priors_give_overlaps_as_slopes(prior: Any) -> None:
    A, turn = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.3, -0.4], [-0.4, 0.8]])
    slope = (prior.at(A + 1e-4 * turn)[0] - prior.at(A - 1e-4 * turn)[0]) / 2e-4
    _, q, rest = prior.at(A)
    assert slope == pytest.approx(0.5 * np.sum(q * turn), abs=1e-7)
    np.testing.assert_allclose(q + rest, np.eye(2), atol=1e-14)


def perceptron(q: float) -> tuple[float, float]:
    """Return E[(∂ ln Z)²] and E Σ Z ln Z of a sign, by hand."""
    u = np.sqrt(q / (1 - q)) * XI
    square = 2 * WEIGHT @ (norm.pdf(u) ** 2 / np.maximum(ndtr(u), 1e-200)) / (1 - q)
    Z = np.maximum(ndtr(u), 1e-200)
    return float(square), float(2 * WEIGHT @ (Z * np.log(Z)))


def test_perceptron_with_gaussian_weights() -> None:
    found = sd.Problem("sign", students=1, teachers=1).equilibrium(
        alpha=[0.5, 2, 5], kind="bayes-optimal"
    )
    for n, alpha in enumerate((0.5, 2, 5)):

        def gap(q: float, alpha: float = alpha) -> float:
            conjugate = alpha * perceptron(q)[0]
            return conjugate / (1 + conjugate) - q

        q = brentq(gap, 1e-6, 1 - 1e-6, xtol=1e-14)
        assert found.overlap[n][0][0] == pytest.approx(q, abs=1e-8)
        assert found.error[n] == pytest.approx((1 - 2 / np.pi * np.arcsin(q)) / 2, abs=1e-8)
    assert found.transitions == []


@pytest.mark.turns(4)
def test_perceptron_with_weights_of_one_learns_at_once() -> None:
    """Values of Györgyi (1990) and Sompolinsky, Tishby, Seung (1990): 1.245 and 1.493."""
    found = sd.Problem("sign", students=1, teachers=1).equilibrium(
        alpha=np.arange(1.0, 1.7, 0.1), kind="bayes-optimal", prior="rademacher"
    )
    first, last = found.transitions
    assert (first["kind"], last["kind"], last["branch"]) == (
        "first-order",
        "spinodal",
        "uninformed",
    )

    def state(A: float) -> tuple[float, float, float]:
        """Return q, α and the free entropy of the fixed point with this q̂."""
        field = A + np.sqrt(A) * XI
        q = float(WEIGHT @ np.tanh(field))
        square, information = perceptron(q)
        alpha = A / square
        logs = float(WEIGHT @ np.logaddexp(field, -field)) - np.log(2) - A / 2
        return q, alpha, logs + alpha * information - A * q / 2

    top = minimize_scalar(lambda A: -state(A)[1], bracket=(2.0, 3.0, 4.0), tol=1e-12)
    assert last["alpha"] == pytest.approx(-top.fun, abs=1e-8)
    A = brentq(lambda A: state(A)[2] + np.log(2), 0.5, float(top.x))
    assert first["alpha"] == pytest.approx(state(A)[1], abs=1e-8)
    assert first["alpha"] == pytest.approx(1.245, abs=5e-4)
    assert last["alpha"] == pytest.approx(1.493, abs=5e-4)


@pytest.mark.turns(4)
def test_a_product_of_signs_is_found_at_its_threshold() -> None:
    problem = sd.Problem("sign", students=1, teachers=2)
    found = problem.equilibrium(
        alpha=[2.2, 2.7], kind="bayes-optimal", output="sign(z1*z2)", prior="gaussian"
    )
    (one,) = found.transitions
    assert one["kind"] == "continuous"
    assert one["alpha"] == pytest.approx(sd.thresholds("sign(z1*z2)").weak_recovery, rel=1e-6)


@pytest.mark.parametrize("output", ["sign(z1)*sign(z2)", "sign(z1 + z2/2) + sign(z1 - z2)"])
def test_points_that_crowd_where_signs_change_give_the_means_of_even_ones(output: str) -> None:
    law = channel(output)
    V = 0.019 * np.array([[1.0, 0.4], [0.4, 1.2]])
    q = np.eye(2) - V
    crowded = (*law.information(q, V), law.mean_square(q, V))
    law.__dict__["_forms"] = None  # even points
    even = (*law.information(q, V), law.mean_square(q, V))
    for one, other in zip(crowded, even, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-11 * float(np.abs(other).max()))


def test_the_gradient_of_a_sign_grows_with_the_root_of_what_is_not_known() -> None:
    """E[(∂ ln Z)²] √V tends to a number, E over ω of a density one at the boundary."""
    one = 4 * sum(norm.pdf(x) ** 2 / ndtr(x) for x in XI) * 0.01 / np.sqrt(2 * np.pi) / 4
    for V in (1e-6, 1e-9):
        _, square = channel("sign(z1)*sign(z2)").information((1 - V) * np.eye(2), V * np.eye(2))
        assert square[0, 0] * V**0.5 == pytest.approx(2 * one, rel=2e-3)


@pytest.mark.turns(4)
def test_a_committee_of_weights_of_one_has_the_stored_overlaps_and_its_spinodal() -> None:
    """Overlaps of public code (TheCommitteeMachine); a spinodal is the largest α of a branch."""
    problem = sd.Problem("sign", students=1, teachers=2)
    found = problem.equilibrium(
        alpha=[1.85, 2.15],
        kind="bayes-optimal",
        output="sign(sign(z1) + sign(z2))",
        prior="rademacher",
    )
    np.testing.assert_allclose(found.overlap[0][0], [0.502467, 0.213741], atol=3e-4)
    assert found.overlap[1][0][0] == 1.0
    (last,) = found.transitions
    assert last["kind"] == "spinodal"
    evolution = StateEvolution(channel("sign(sign(z1) + sign(z2))"), RademacherPrior())
    near = [1.9, 1.6]

    def alpha(diagonal: float) -> float:
        """Return α of the fixed point with this entry of q̂ on its diagonal."""

        def gap(values: Any) -> Any:
            conjugate = np.array([[diagonal, values[1]], [values[1], diagonal]])
            return (evolution.step(values[0], conjugate) - conjugate)[0]

        near[:] = root(gap, near, tol=1e-12).x
        return near[0]

    top = minimize_scalar(lambda d: -alpha(d), bounds=(1.9, 2.2), method="bounded")
    assert last["alpha"] == pytest.approx(-top.fun, abs=1e-8)


@pytest.mark.turns(4)
def test_two_units_of_a_committee_specialise() -> None:
    """The state without specialisation loses stability where 1/α = E[Σ Z (∂ₐ² ln Z)²]."""
    problem = sd.Problem("sign", students=1, teachers=2)
    found = problem.equilibrium(
        alpha=[2.0, 2.2], kind="bayes-optimal", output="sign(z1) + sign(z2)"
    )
    (one,) = found.transitions
    z = np.arange(0.0, 12.0, 0.004) + 0.002

    def law(q0: float) -> tuple[float, float]:
        """Return E[Σ Z (∂_s ln Z)²] and E[Σ Z (∂ₐ² ln Z)²] at q = q0 for all pairs."""
        v, c = 1 - q0, -q0
        m = np.sqrt(q0) * XI[::20]
        rest = v - c * c / v
        both = []
        for sign in (1, -1):
            w = sign * m[:, None]
            both.append(
                0.004
                * (norm.pdf(z, w, v**0.5) * ndtr((w + c / v * (z - w)) / rest**0.5)).sum(axis=1)
            )
        Z = [both[0], both[1], 1 - both[0] - both[1]]
        # slopes of P(z1 > 0, z2 > 0) by its means, at equal means
        edge, inner = norm.pdf(m / v**0.5) / v**0.5, m * (1 - c / v) / rest**0.5
        first = [edge * ndtr(inner), -edge * ndtr(-inner)]
        mixed = edge * norm.pdf(inner) / rest**0.5
        second = [
            -m / v * edge * ndtr(inner) - mixed * c / v,
            m / v * edge * ndtr(-inner) - mixed * c / v,
        ]
        along = [2**0.5 * each for each in first]
        across = [each - mixed for each in second]
        along.append(-along[0] - along[1])
        across.append(-across[0] - across[1])
        shares = 20 * WEIGHT[::20]
        total = [
            float(sum(shares @ (d**2 / np.maximum(p, 1e-30)) for d, p in zip(each, Z, strict=True)))
            for each in (along, across)
        ]
        return total[0], total[1]

    def growth(alpha: float) -> float:
        def gap(q0: float) -> float:
            conjugate = alpha * law(q0)[0]
            return conjugate / (1 + conjugate) - 2 * q0

        return alpha * law(brentq(gap, 0.2, 0.45, xtol=1e-13))[1] - 1

    assert one["alpha"] == pytest.approx(brentq(growth, 2.0, 2.2, xtol=1e-11), abs=1e-6)


@pytest.mark.turns(4)
def test_one_to_one_outputs_are_linear() -> None:
    problem = sd.Problem("tanh", students=1, teachers=1)
    found = problem.equilibrium(alpha=[0.2, 0.5], kind="bayes-optimal")
    np.testing.assert_allclose(np.ravel(found.overlap), [0.2, 0.5], atol=1e-7)
    noisy = sd.Problem("linear", students=1, teachers=1, label_noise=0.7).equilibrium(
        alpha=[0.5, 2.0], kind="bayes-optimal"
    )
    for alpha, overlap, error in zip([0.5, 2.0], noisy.overlap, noisy.error, strict=True):
        q = overlap[0][0]
        assert q / (1 - q) == pytest.approx(alpha / (0.49 + 1 - q), abs=1e-7)
        assert error == pytest.approx((1 - q) / 2, abs=1e-7)


@pytest.mark.parametrize(
    ("given", "asked", "said"),
    [
        ({}, {"prior": "cauchy"}, "prior: 'cauchy' is not one of"),
        ({}, {"output": "sign(z1"}, "output: "),
        (
            {},
            {"output": "sign(z1**2 - 9/20)", "prior": "rademacher", "alpha": [1.6]},
            "near to exact knowledge",
        ),
        ({"teachers": 2}, {"output": "sign(z1)"}, "output: has 1 fields, but"),
        ({"teachers": 4}, {}, "teachers: must be at most 3 for Bayes"),
        ({"activation": "erf", "teachers": 2}, {}, "output: must be a function of signs"),
        ({"momentum": 0.5}, {}, "kind: Bayes-optimal learning with"),
        ({"inputs": sd.Spectrum([1.0, 2.0])}, {}, "inputs: Bayes-optimal learning from spectrum"),
    ],
)
def test_what_is_not_known_is_refused(
    given: dict[str, Any], asked: dict[str, Any], said: str
) -> None:
    problem = sd.Problem(**{"activation": "sign", "students": 1, "teachers": 1, **given})
    with pytest.raises(sd.SymderivError, match=said.replace("(", r"\(")):
        problem.equilibrium(**{"alpha": [1.0], "kind": "bayes-optimal", **asked})


def test_noise_that_no_sign_is_lost_in_changes_nothing_but_the_entropy() -> None:
    """A tenth of noise on ±1: what weights of ±1 can be known from is the sign itself."""
    alpha = [1.0, 1.4, 1.6]
    found, noisy = (
        sd.Problem("sign", students=1, teachers=1, label_noise=noise).equilibrium(
            alpha=alpha, kind="bayes-optimal", prior="rademacher"
        )
        for noise in (0.0, 0.1)
    )
    assert [each["kind"] for each in noisy.transitions] == ["first-order", "spinodal"]
    for one, other in zip(found.transitions, noisy.transitions, strict=True):
        assert other["alpha"] == pytest.approx(one["alpha"], rel=1e-9)
    np.testing.assert_allclose(noisy.error, found.error, atol=1e-9)
    assert np.all(np.array(noisy.informed["overlap"]) == 1.0)
    # of the noise alone there is ∫ Z ln Z dy = -ln(2π e σ²)/2 for each example
    apart = np.array(noisy.informed["free_entropy"]) - np.array(found.informed["free_entropy"])
    np.testing.assert_allclose(apart, -np.array(alpha) * np.log(2 * np.pi * np.e * 0.01) / 2)


def test_states_are_shown_and_drawn() -> None:
    found = sd.Problem(
        "linear", students=1, teachers=1, target="sign", loss="logistic"
    ).equilibrium(alpha=[0.5, 1.0], kind="bayes-optimal", prior="rademacher")
    assert "rademacher" in found.to_text()
    for quantity in ("error", "overlap", "free_entropy"):
        assert len(found.plot(quantity).get_lines()) == 2
        found.plot(quantity, ax=found.plot(quantity))
    with pytest.raises(sd.InputError, match="quantity: 'R' is not one of"):
        found.plot("R")
    assert np.shape(found.overlap) == (2, 1, 1)
