"""Covariances of a generator from samples: values, error bars, files."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.inputs import (
    estimate_generator,
    generator,
    generator_sampler,
)

N, D = 24, 10


def _features() -> np.ndarray:
    F = np.random.default_rng(3).standard_normal((N, D))
    scaled: np.ndarray = F / np.linalg.norm(F, axis=1)[:, None]
    return scaled


def _sign(rho: np.ndarray) -> np.ndarray:
    values: np.ndarray = 2.0 / math.pi * np.arcsin(np.clip(rho, -1.0, 1.0))
    return values


# f, E f, E u f, and Ω as a function of the correlations F Fᵀ, all exact at any D
EXACT = {
    "sign": (np.sign, 0.0, math.sqrt(2.0 / math.pi), _sign),
    "quadratic": (lambda u: u + u**2, 1.0, 1.0, lambda rho: rho + 2.0 * rho**2),
}


def _manifold(f: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    F = _features()
    return lambda c: f(c @ F.T)


def test_error_bars_are_the_spread_of_estimates() -> None:
    many = [
        estimate_generator(_manifold(EXACT["quadratic"][0]), D, samples=600, seed=seed)
        for seed in range(150)
    ]
    for name in ("omega", "phi", "mean"):
        attribute = "mean_x" if name == "mean" else name
        spread = np.std([getattr(found, attribute) for found in many], axis=0)
        stated = np.mean([getattr(found, f"{name}_error") for found in many], axis=0)
        assert np.median(stated / spread) == pytest.approx(1.0, abs=0.12), name
        if name == "omega":
            variances = np.diag(stated) / np.diag(spread)
            assert np.median(variances) == pytest.approx(1.0, abs=0.12)


def test_the_variance_that_is_not_linear_has_no_bias_at_few_samples() -> None:
    """A wave so short that it is noise of variance 1: regression is unbiased at any number."""
    A = _features()
    turned = np.random.default_rng(8).standard_normal((N, D))

    def noisy(c: np.ndarray) -> np.ndarray:
        x: np.ndarray = 1.0 + c @ A.T + math.sqrt(2.0) * np.sin(1e6 * c @ turned.T)
        return x

    rest = []
    for seed in range(300):
        found = estimate_generator(noisy, D, samples=2 * D + 4, seed=seed)
        rest.append(found.omega - found.phi @ found.phi.T)
    mean = np.mean(rest, axis=0)
    # 24 variances of 300 estimates with 13 degrees of freedom each
    assert np.diag(mean).mean() == pytest.approx(1.0, abs=5 * math.sqrt(2 / (13 * 300 * N)))
    assert np.abs(mean - np.eye(N)).max() < 5 * math.sqrt(2 / (13 * 300))


def test_estimates_are_a_regression_on_all_samples_whatever_their_blocks() -> None:
    """Least squares with a constant, by NumPy, on the same latent vectors."""
    outputs: list[np.ndarray] = []
    latent: list[np.ndarray] = []
    function = _manifold(EXACT["quadratic"][0])

    def told(c: np.ndarray) -> np.ndarray:
        latent.append(c)
        outputs.append(function(c))
        return outputs[-1]

    whole = estimate_generator(told, D, samples=150, block=1000)
    c, x = np.concatenate(latent), np.concatenate(outputs)
    assert len(c) == 150
    design = np.column_stack([np.ones(150), c])
    fitted = np.linalg.lstsq(design, x, rcond=None)[0]
    rest = x - design @ fitted
    np.testing.assert_allclose(whole.mean_x, fitted[0], rtol=1e-10)
    np.testing.assert_allclose(whole.phi, fitted[1:].T, rtol=1e-8, atol=1e-10)
    omega = fitted[1:].T @ fitted[1:] + rest.T @ rest / (150 - D - 1)
    np.testing.assert_allclose(whole.omega, omega, rtol=1e-8, atol=1e-10)
    for block in (1, 7, 49):
        found = estimate_generator(function, D, samples=150, block=block)
        for name in ("omega", "phi", "mean_x", "omega_error", "phi_error", "mean_error"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(whole, name), rtol=1e-9, atol=1e-11, err_msg=name
            )


def test_sampling_ends_at_the_error_asked_for() -> None:
    function = _manifold(EXACT["sign"][0])
    found = estimate_generator(function, D, samples=10**6, relative_error=0.01, block=4000)
    assert found.converged
    assert 2000 < found.samples < 10**5
    assert max(found.relative_error_omega, found.relative_error_phi) <= 0.01
    assert "converged to 0.01" in str(found)
    short = estimate_generator(function, D, samples=1000, relative_error=1e-3)
    assert not short.converged
    assert "not converged to 0.001, about" in str(short)
    assert short.samples_for(0.01) == pytest.approx(found.samples, rel=0.35)


def test_the_least_number_of_samples_and_of_those_that_may_end_early() -> None:
    function = _manifold(EXACT["sign"][0])
    assert estimate_generator(function, D, samples=2 * (D + 1)).samples == 2 * (D + 1)
    with pytest.raises(InputError, match=r"samples: 21 is below 2 \(latent_dimension \+ 1\) = 22"):
        estimate_generator(function, D, samples=2 * D + 1)
    # any error will do, but it is not asked for before 20 samples for each latent dimension
    found = estimate_generator(function, D, samples=10**4, relative_error=1e3, block=7)
    assert 20 * D <= found.samples < 20 * D + 7


def test_the_file_is_read_as_a_data_model(tmp_path: Path) -> None:
    """Few samples and nearly linear outputs: the plain averages would be refused."""
    F = _features()
    found = estimate_generator(lambda c: np.tanh(0.01 * c @ F.T), D, samples=64)
    found.save(tmp_path / "g.npz")
    model = generator(tmp_path / "g.npz")
    assert model.dimension == N
    assert "estimated from 64 samples" in model.remarks[0]
    assert model.latent.dimension == D
    with np.load(tmp_path / "g.npz") as file:
        assert file["mean_x"].shape == (N,)
        assert file["omega_error"].shape == (N, N)


def test_the_sampler_draws_centred_outputs() -> None:
    f = EXACT["quadratic"][0]
    found = estimate_generator(_manifold(f), D, samples=5000)
    x, c = generator_sampler(_manifold(f), D, found.mean_x)(np.random.default_rng(1), 3000)
    np.testing.assert_array_equal(x, _manifold(f)(c) - found.mean_x)
    assert np.abs(x.mean(axis=0)).max() < 6.0 * math.sqrt(3.0 / 3000)


@pytest.mark.parametrize(
    ("function", "keywords", "words"),
    [
        (lambda c: c[:, 0], {}, "shape"),
        (lambda c: c[:3], {}, "shape"),
        (lambda c: c[:, : 2 + len(c) % 2], {"samples": 401, "block": 100}, "shape"),
        (lambda c: np.where(c > 3.0, np.nan, c), {"samples": 20_000}, "not a finite"),
        (lambda c: c, {"samples": 5}, "samples"),
        (lambda c: c, {"relative_error": 0.0}, "relative_error"),
    ],
)
def test_bad_generators_are_refused(
    function: Callable[[np.ndarray], np.ndarray], keywords: dict[str, float], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        estimate_generator(function, D, **keywords)  # type: ignore[arg-type]
