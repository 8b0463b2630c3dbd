"""Means with signs: orthants against samples and marginals, quasi-random means, one site."""

import math

import numpy as np
import pytest
from symderiv_models.localisation.sign_means import one_site_means, orthants, sign_means

from symderiv.inputs.ring_inputs import NonlinearProcess


def _signs(sites: int) -> NonlinearProcess:
    return NonlinearProcess(gain=math.inf, lengths=(1.2, 0.7), sites=sites)


@pytest.mark.parametrize("sites", [3, 4])
def test_orthants_are_as_often_as_in_samples(sites: int) -> None:
    inputs = _signs(sites)
    signs, chance, error = orthants(inputs.kernel(1))
    assert chance.sum() == pytest.approx(1.0, abs=1e-13)
    assert not np.any(error)
    drawn = inputs.sample(1, (100_000,), np.random.default_rng(1)) < 0.0
    counted = np.bincount(drawn @ (1 << np.arange(sites)), minlength=2**sites) / len(drawn)
    assert np.all(np.abs(counted - chance) < 5.0 * np.sqrt(chance / len(drawn)))
    # signs in the order in which they are returned
    np.testing.assert_array_equal(
        signs < 0.0, (np.arange(2**sites)[:, None] >> np.arange(sites)) & 1
    )


def test_pairs_of_signs_of_orthants_beyond_four_sites_are_arcsines() -> None:
    """Genz's rule, summed over three signs, against the arcsines of the other two."""
    row = _signs(5).kernel(1)
    signs, chance, error = orthants(row)
    pairs = chance @ (signs[:, 0] * signs[:, 1])
    assert pairs == pytest.approx(2.0 / np.pi * math.asin(row[1]), abs=6.0 * error.max() * 5.6)
    assert chance @ (signs[:, 0] * signs[:, 2]) == pytest.approx(
        2.0 / np.pi * math.asin(row[2]), abs=6.0 * error.max() * 5.6
    )
    assert 0.0 < error.max() < 1e-3


def test_means_with_signs_by_orthants_and_by_sobol_points() -> None:
    weights = np.array([0.9, -0.35, 0.8, 0.4])
    exact = sign_means(_signs(4), 1, weights)
    assert exact.route == "orthants"
    # the same law at a very large gain goes the other route
    near = NonlinearProcess(gain=1e7, lengths=(1.2, 0.7), sites=4)
    found = sign_means(near, 1, weights)
    assert found.route == "Sobol"
    assert np.all(np.abs(found.value - exact.value) < 5.0 * found.standard_error + 1e-6)


def test_one_site_for_the_field_is_off_by_what_its_error_function_says() -> None:
    """Two sites with signs: w = (1, 1/2) leaves sgn(w·x) = x_1, so the means are 1 and C_12."""
    inputs = NonlinearProcess(gain=math.inf, lengths=0.8, sites=2)
    weights = np.array([1.0, 0.5])
    found = sign_means(inputs, 1, weights)
    np.testing.assert_allclose(found.value, [1.0, inputs.row(1)[1]], atol=1e-13)
    image = inputs.covariance(1) @ weights
    left = weights @ image - image**2
    expected = [math.erf(a / math.sqrt(2.0 * b)) for a, b in zip(image, left, strict=True)]
    np.testing.assert_allclose(found.approximated, expected, atol=1e-12)
    np.testing.assert_allclose(one_site_means(inputs, 1, weights), expected, atol=1e-12)
