"""How Gaussian fields are: calibrated on Gaussian inputs, passes wide manifolds, fails narrow."""

import math
from dataclasses import replace

import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.inputs import bound_terms, gaussianity, hidden_manifold
from symderiv.inputs.gaussian_equivalence import Gaussianity
from symderiv.inputs.latent import Sampler


def _gaussian(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs that are not independent of one another nor all of what the teacher sees."""
    c = random.standard_normal((count, 8))
    x = np.concatenate([c[:, :5], 0.5 * c[:, 2:8] + random.standard_normal((count, 6))], axis=1)
    return x, c


def _weights(N: int, D: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(7)
    return random.standard_normal((3, N)), random.standard_normal((2, D))


def _manifold(f: str, N: int, D: int) -> Sampler:
    model = hidden_manifold(N, D, f, np.random.default_rng(2).standard_normal((N, D)))
    assert model.latent.sampler is not None
    return model.latent.sampler


@pytest.mark.turns(6)
@pytest.mark.parametrize("activation", ["erf", "relu"])
def test_deviations_of_gaussian_fields_are_their_standard_errors(activation: str) -> None:
    J, W = _weights(11, 8)
    found = [
        gaussianity(_gaussian, J, W, activation=activation, samples=2000, seed=seed)
        for seed in range(40)
    ]

    def size(name: str, error: str) -> float:
        scores = [np.ravel(getattr(g, name)) / np.ravel(getattr(g, error)) for g in found]
        return float(np.sqrt(np.mean(np.square(scores))))

    for name in ("skewness", "kurtosis", "joint_skewness", "joint_kurtosis", "distance"):
        assert size(name, f"{name}_error") == pytest.approx(1.0, abs=0.35), name
    # a sixth of the squares is chi-squared over the samples, one for each of 5 * 6 * 7 / 6 moments
    assert found[0].joint_skewness_error == pytest.approx(6 * math.sqrt(2 * 35) / 210 / 2000)
    # the I2 of the sampled covariance, by another route: 2/pi arcsin for erf
    g = found[0]
    if activation == "erf":
        Q = np.cov(_sampled_fields(J, 0, 2000).T, bias=True)
        norm = np.sqrt(1.0 + np.diag(Q))
        exact = 2.0 / math.pi * np.arcsin(Q / np.outer(norm, norm))
        assert g.gaussian_correlation[:, :3] == pytest.approx(exact, abs=1e-10)


def _sampled_fields(J: np.ndarray, seed: int, samples: int) -> np.ndarray:
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    fields: np.ndarray = _gaussian(random, samples)[0] @ J.T / math.sqrt(J.shape[1])
    return fields


def _of_manifold(f: str, N: int, D: int, activation: str = "erf") -> Gaussianity:
    return gaussianity(_manifold(f, N, D), *_weights(N, D), activation=activation, samples=15_000)


@pytest.mark.parametrize("f", ["sign", "relu"])
def test_a_wide_manifold_passes(f: str) -> None:
    found = _of_manifold(f, 250, 250)
    assert found.passed, found
    assert "Gaussian within" in str(found)
    assert (found.samples, found.dimension) == (15_000, 250)
    assert found.allowance == pytest.approx(1.0 / math.sqrt(250))


@pytest.mark.parametrize(("f", "beyond"), [("sign", "kurtosis"), ("relu", "skewness")])
def test_three_latent_dimensions_fail(f: str, beyond: str) -> None:
    found = _of_manifold(f, 250, 3)
    assert not found.passed
    assert found.excess()[beyond] > found.allowance
    assert beyond in str(found)


def test_defined_terms_of_the_bound_shrink_and_the_undefined_one_does_not() -> None:
    terms = []
    for N in (100, 1600):
        random = np.random.default_rng(N)
        F = random.standard_normal((N, N // 2))
        J, W = random.standard_normal((2, N)), random.standard_normal((2, N // 2))
        terms.append(bound_terms(J, W, F, J @ J.T / N))
    small, large = terms
    assert large.dimension == pytest.approx(small.dimension / 4.0)
    assert large.teacher < 0.4 * small.teacher
    assert large.teacher <= large.teacher_frobenius <= 2.0 * large.teacher
    # rows of W A^T/sqrt(D) have squared lengths of about N/D = 2
    assert large.teacher_frobenius == pytest.approx(2.0 * 2.0 / 40.0, rel=0.2)
    assert min(small.student_with_omega, large.student_with_omega) > 0.5


def test_fields_that_depend_on_others_do_not_count_jointly() -> None:
    """Mardia's measures do not depend on the axes: those of two fields, and of four in a plane."""
    J, W = _weights(11, 8)
    two = gaussianity(_gaussian, J[:2], W[:1], samples=2000)
    more = np.concatenate([J[:2], [J[0] + J[1], 2.0 * J[0] - J[1]]])
    four = gaussianity(_gaussian, more, W[:1], samples=2000)
    for name in ("skewness", "skewness_error", "kurtosis", "kurtosis_error"):
        expected = getattr(two, f"joint_{name}")
        assert getattr(four, f"joint_{name}") == pytest.approx(expected, rel=1e-6), name


def test_standard_errors_of_skewed_fields_are_those_of_the_jackknife() -> None:
    """Moments without each sample in turn, from sums of powers; for a bounded law."""
    n = 4000

    def skewed(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        return random.random((count, 1)) ** 3, random.standard_normal((count, 1))

    one = np.ones((1, 1))
    found = gaussianity(skewed, one, one, samples=n, seed=3)
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(3)))
    x, _ = skewed(random, n)
    without = [(np.sum(x**k) - x[:, 0] ** k) / (n - 1) for k in range(5)]
    _, m, m2, m3, m4 = without
    variance = m2 - m**2
    skewness = (m3 - 3 * m * m2 + 2 * m**3) / variance**1.5
    kurtosis = (m4 - 4 * m * m3 + 6 * m**2 * m2 - 3 * m**4) / variance**2 - 3
    assert found.skewness[0] == pytest.approx(np.mean(skewness), rel=1e-3)
    assert found.kurtosis[0] == pytest.approx(np.mean(kurtosis), rel=1e-3)
    spread = math.sqrt(n - 1.0)
    assert found.skewness_error[0] == pytest.approx(spread * np.std(skewness), rel=0.02)
    assert found.kurtosis_error[0] == pytest.approx(spread * np.std(kurtosis), rel=0.02)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"J": np.ones((3, 4))}, "columns"),
        ({"J": np.ones(11)}, "shape"),
        ({"J": np.ones((0, 11))}, "shape"),
        ({"W": np.ones(8)}, "shape"),
        ({"J": np.zeros((3, 11))}, "a field without variance"),
        ({"samples": 10}, "samples"),
        ({"activation": "import os"}, "not allowed"),
        ({"activation": "tanh"}, "tanh"),
    ],
)
def test_what_cannot_be_measured_is_refused(change: dict[str, object], words: str) -> None:
    J, W = _weights(11, 8)
    arguments = {"J": J, "W": W, "samples": 2000, **change}
    with pytest.raises(InputError, match=words):
        gaussianity(_gaussian, **arguments)  # type: ignore[arg-type]


def test_each_deviation_has_its_own_allowance() -> None:
    """Every measure 4 standard errors and its allowance above zero, and a little beyond, alone."""
    allowance, error = 0.02, 0.001
    zero, one = np.zeros(3), np.full(3, error)
    plain = Gaussianity(
        skewness=zero,
        kurtosis=zero,
        skewness_error=one,
        kurtosis_error=one,
        joint_skewness=0.0,
        joint_skewness_error=1e-4,
        joint_kurtosis=0.0,
        joint_kurtosis_error=error,
        correlation=np.array([[0.5, 0.1, 0.2]]),
        gaussian_correlation=np.array([[0.5, 0.1, 0.2]]),
        correlation_error=np.full((1, 3), error),
        samples=1000,
        dimension=2500,
        allowance=allowance,
    )
    assert plain.passed
    ends = {
        "skewness": 2 * allowance + 4 * error,
        "kurtosis": 4 * allowance + 4 * error,
        "joint_skewness": (2 * allowance) ** 2 + 4e-4,
        "joint_kurtosis": 4 * allowance / 3 + 4 * error,
        # in units of the field's own correlation, 0.5
        "correlation": 0.5 * allowance + 4 * error,
    }
    for name, end in ends.items():
        for sign in (1, -1) if name != "joint_skewness" else (1,):
            for part, passed in ((0.99, True), (1.01, False)):
                at = getattr(plain, name)
                change = sign * part * end
                if name in ("skewness", "kurtosis"):
                    value = np.array([0.0, change, 0.0])
                elif name == "correlation":
                    value = at + np.array([[0.0, 0.0, change]])
                else:
                    value = change
                other = replace(plain, **{name: value})
                assert other.passed == passed, (name, sign, part)
                if not passed:
                    worst = max(other.excess(), key=lambda key, o=other: o.excess()[key])
                    assert worst.replace(" ", "_").removesuffix("s") == name.removesuffix("s")
