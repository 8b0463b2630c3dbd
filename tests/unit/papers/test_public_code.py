"""What is said of public code: every accusation in fairness, its right form by steps of SGD."""

import numpy as np
import pytest
from scipy.special import erf, ndtr
from scipy.stats import norm
from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.papers.known_papers import paper
from symderiv_papers.public_code.autoencoders import (
    SETTINGS,
    Setting,
    mean_fields,
    noise_by_definition,
)
from symderiv_papers.public_code.episodes import two_students

import symderiv as sd
from symderiv.precision.balls.contexts import numbers


def _accusing() -> list[Claim]:
    whole = paper("public-code")
    return [one for one in whole.claims if whole.printed[one.equation].code and one.corrected]


def test_every_accusation_says_how_it_is_reached_what_is_meant_and_what_changes() -> None:
    claims = _accusing()
    assert len(claims) > 30
    for claim in claims:
        said = claim.accusation
        assert said is not None
        assert min(map(len, (said.reached, said.meant, said.changes))) > 6
        assert (said.noted == "not reached") <= said.reached.startswith("no"), claim.name
        assert said.noted or said.reached.startswith("yes"), claim.name


def _weights(one: Setting, N: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Weights with exactly the overlaps Q, shape (2, N), and means μ of the classes with them."""
    basis = np.linalg.qr(rng.normal(size=(N, 2)))[0].T
    w = np.sqrt(N) * np.linalg.cholesky(np.array(one.Q)) @ basis
    # μ·w_i/√N = M_i, in the span of the weights
    means = np.array(one.M) @ np.linalg.inv(np.array(one.Q)) @ w / np.sqrt(N)
    return w, means


def _loss(one: Setting, w: np.ndarray, x1: np.ndarray, x0: np.ndarray) -> float:
    x = one.alpha * x0 + one.beta * x1
    made = one.b * x + np.tanh(x @ w.T / np.sqrt(x.size)) @ w / np.sqrt(x.size)
    return float(np.sum((x1 - made) ** 2))


def _step(one: Setting, w: np.ndarray, x1: np.ndarray, x0: np.ndarray) -> np.ndarray:
    """Minus half the gradient of the loss of each example, shape (examples, 2, N)."""
    root = np.sqrt(w.shape[1])
    x = one.alpha * x0 + one.beta * x1
    g = np.tanh(x @ w.T / root)
    left = x1 - one.b * x - g @ w / root
    back = (left @ w.T / root) * (1 - g**2)
    return (g[:, :, None] * left[:, None] + back[:, :, None] * x[:, None]) / root


@pytest.mark.turns(6)
@pytest.mark.parametrize("one", SETTINGS)
def test_the_noise_of_an_autoencoder_is_that_of_steps_of_sgd(one: Setting) -> None:
    rng = np.random.default_rng(5)
    N, examples = 600, 400
    w, means = _weights(one, N, rng)
    x1, x0 = rng.normal(size=(1, N)), rng.normal(size=(1, N))
    shift = rng.normal(size=w.shape)
    slope = (_loss(one, w + 1e-5 * shift, x1[0], x0[0]) - _loss(
        one, w - 1e-5 * shift, x1[0], x0[0])) / 2e-5  # fmt: skip
    assert slope == pytest.approx(-2 * np.sum(_step(one, w, x1, x0)[0] * shift), rel=1e-6)
    found = []
    for _ in range(60):
        drawn = means[rng.integers(len(means), size=examples)]
        step = _step(one, w, drawn + rng.normal(size=(examples, N)), rng.normal(size=(examples, N)))
        found.append(np.einsum("sin,skn->ik", step, step) / examples)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    true = noise_by_definition(one)
    # beside the errors, terms of the order of 1/N
    allowed = 4 * error + 3 / N
    assert np.all(np.abs(np.mean(found, axis=0) - true) < allowed)
    # what the notebook has in place of (1 - b beta) b is seen
    mean, left = mean_fields(one), 1 - one.b * one.beta
    crossed = np.array([[mean("dd01", i, k, i, k) for k in range(2)] for i in range(2)])
    off = (left**one.b - left * one.b) * one.alpha * (one.alpha**2 + one.beta**2)
    assert np.max(np.abs(off * (crossed + crossed.T)) / allowed) > 2


@pytest.mark.turns(6)
def test_the_overlap_of_two_students_changes_as_in_steps_of_learning() -> None:
    """One step from the point's overlaps, on many episodes, against the sums over outcomes."""
    with numbers(20, "mpmath") as context:
        point = next(iter(two_students(context)))
    value = {name: float(number) for name, number in point.values.items()}
    T, N, episodes = int(value["T"]), 300, 3000
    rng = np.random.default_rng(2)
    rows = np.array(
        [
            [value["Q1"], value["Q12"], value["R1"]],
            [value["Q12"], value["Q2"], value["R2"]],
            [value["R1"], value["R2"], 1.0],
        ]
    )
    w = np.sqrt(N) * np.linalg.cholesky(rows) @ np.linalg.qr(rng.normal(size=(N, 3)))[0].T
    found = []
    for _ in range(40):
        x = rng.normal(size=(episodes, T, N))
        answers = np.sign(x @ w.T)
        right = answers[:, :, :2] == answers[:, :, 2:]
        own = right.all(axis=1) * np.array([value["r1"], value["r2"]])
        both = value["r12"] * (~right).all(axis=(1, 2))
        shares = own[:, ::-1] * np.array([value["tau2"], value["tau1"]])
        reward = own + shares + both[:, None]
        step = np.einsum("et,etn->en", answers[:, :, 0], x) * reward[:, :1]
        other = np.einsum("et,etn->en", answers[:, :, 1], x) * reward[:, 1:]
        step, other = (value["eta"] / T / np.sqrt(N) * one for one in (step, other))
        change = (w[0] + step) * (w[1] + other) - w[0] * w[1]
        found.append(change.sum(axis=1).mean())
    error = np.std(found) / np.sqrt(len(found))
    wrong = value["tau2"] * (value["tau2"] - 1) * value["eta"] ** 2 / T * value["r2"] ** 2 / 9
    assert error < abs(wrong) / 8
    assert abs(np.mean(found) - value["dQ12"]) < 4 * error + 5 / N


def _overlap(alpha: float, narrow: bool) -> float:
    """Return the fixed point for sign(z1 z2), q times the identity, as ``sign_two.py`` steps.

    With ``narrow`` its mean of the sign of z2 ends at ten variances on both sides of zero.
    """
    step = 0.2
    x = step * np.arange(-32, 33) + 0.003
    weights = np.outer(norm.pdf(x), norm.pdf(x)) * step**2
    q = 0.5
    for _ in range(60):
        V = 1.0 - q
        first, second = np.meshgrid(q**0.5 * x, q**0.5 * x, indexing="ij")
        signs = [erf(w / (2 * V) ** 0.5) for w in (first, second)]
        taken = signs[1]
        if narrow:
            below, middle, above = (ndtr((end - second) / V**0.5) for end in (-10 * V, 0.0, 10 * V))
            taken = above - 2 * middle + below
        square = 0.0
        for y in (1, -1):
            true, Z = ((1 + y * signs[0] * one) / 2 for one in (signs[1], taken))
            slope = norm.pdf(first, 0.0, V**0.5) * signs[1]
            seen = true > 1e-14
            square += float(np.sum((weights * true * slope**2)[seen] / Z[seen] ** 2))
        q = 0.7 * alpha * square / (1 + alpha * square) + 0.3 * q
    return q


def test_limits_of_an_integral_change_large_overlaps() -> None:
    """What is said of sign_two.py; the right overlap is also that of the engine."""
    alpha, right = 5.0, 0.824
    assert _overlap(alpha, narrow=True) == pytest.approx(0.778, abs=6e-4)
    assert _overlap(alpha, narrow=False) == pytest.approx(right, abs=6e-4)
    found = sd.Problem("sign", students=1, teachers=2).equilibrium(
        alpha=[alpha], kind="bayes-optimal", output="sign(z1*z2)"
    )
    assert found.overlap[0][0][0] == pytest.approx(right, abs=6e-4)
