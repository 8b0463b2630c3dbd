"""Gaussian mixtures: cumulants and divergences of both ways to draw a component."""

import math

import mpmath
import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.inputs.mixture import Mixture, uniform_means

P = np.array([0.2, 0.3, 0.5])


def _mixture(assignment: str, standardised: bool, means: str = "coordinate") -> Mixture:
    return Mixture(uniform_means(3, 4, 2.5, means, 1), P, assignment, standardised)


@pytest.mark.parametrize("assignment", ["sample", "coordinate"])
@pytest.mark.parametrize("standardised", [True, False])
def test_samples_have_the_stated_cumulants(assignment: str, standardised: bool) -> None:
    mixture = _mixture(assignment, standardised)
    c = mixture.sample(np.random.default_rng(2), 60_000)
    size = float(np.max(mixture.covariance()))
    assert np.cov(c.T) == pytest.approx(mixture.covariance(), abs=0.03 * size)
    mean = np.zeros(4) if standardised else mixture.mean
    assert c.mean(axis=0) == pytest.approx(mean, abs=0.02 * math.sqrt(size))
    if standardised:
        assert np.diag(mixture.covariance()) == pytest.approx(1.0)


def test_one_component_per_sample_correlates_coordinates_whatever_their_scale() -> None:
    """The reason why standardising does not make such a mixture's cumulants those of N(0, I)."""
    for D in (50, 200):
        means = uniform_means(2, D, 3.0, "common", 4)
        covariance = Mixture(means, np.array([0.5, 0.5]), "sample", True).covariance()
        spread = float(np.var(means[:, 0]))
        largest = float(np.linalg.eigvalsh(covariance)[-1])
        assert largest == pytest.approx((1.0 + D * spread) / (1.0 + spread))
        independent = Mixture(means, np.array([0.5, 0.5]), "coordinate", True).covariance()
        assert independent == pytest.approx(np.eye(D))


@pytest.mark.parametrize("standardised", [True, False])
def test_divergence_of_a_coordinate_against_an_integral(standardised: bool) -> None:
    mixture = _mixture("coordinate", standardised)
    found = mixture.divergence_per_coordinate()
    for d in (0, 3):
        scale = math.sqrt(mixture.variance[d]) if standardised else 1.0
        shift = mixture.mean[d] if standardised else 0.0
        centres = [(mu - shift) / scale for mu in mixture.means[:, d]]

        def log_ratio_times_density(
            x: mpmath.mpf, scale: float = scale, centres: list[float] = centres
        ) -> mpmath.mpf:
            density = sum(
                p * scale * mpmath.npdf((x - mu) * scale) for p, mu in zip(P, centres, strict=True)
            )
            return density * mpmath.log(density / mpmath.npdf(x))

        wanted = mpmath.quad(log_ratio_times_density, [-12, -4, -2, 0, 2, 4, 12])
        assert found[d] == pytest.approx(float(wanted), rel=1e-8)


def test_bad_mixtures_are_refused() -> None:
    with pytest.raises(InputError, match="probabilities"):
        Mixture(np.zeros((2, 3)), np.array([0.5, 0.6]), "sample", True)
    with pytest.raises(InputError, match="assignment"):
        Mixture(np.zeros((1, 3)), np.ones(1), "both", True)
    with pytest.raises(InputError, match="separation"):
        uniform_means(2, 3, -1.0, "common", 0)
    with pytest.raises(InputError, match="means"):
        uniform_means(2, 3, 1.0, "none", 0)
