"""All means of a right-hand side in one pass, as plain Python, against formulas."""

from itertools import product

import numpy as np
import pytest
from unit.numerics.test_quadrature_means import at_many, mean_of_waves, wave

import symderiv.numerics.quadratures.noise_mean as noise
import symderiv.numerics.quadratures.pair_series as pairs
import symderiv.numerics.quadratures.smooth_mean as smooth

RULE = np.array([1.1, 0.95, 6.6, 1.9, 1e-8])
LOADS = {
    "apart": np.array([[0.9, 0.2, 0.1], [0.3, -0.7, 0.4], [0.5, 0.4, -0.6]]),
    "students nearly equal": np.array([[0.9, 0.2, 0.0], [0.9, 0.2, 1e-7], [0.4, 0.5, 0.3]]),
    "opposite, one without variance": np.array([[0.9, 0.0, 0.0], [0.0, 0, 0], [-0.9, 0.0, 0.0]]),
    "nearly independent": np.array([[0.9, 1e-3, 0.0], [1e-3, 0.8, 0.0], [2e-3, 0.0, 1.0]]),
}


def overlaps(c: np.ndarray, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return c[:K, :K], c[:K, K:], c[K:, K:]


@pytest.mark.parametrize("name", LOADS)
def test_all_means_of_noise_are_those_of_waves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # of the student's activation, its slope and the teacher's activation, all of them cosines
    monkeypatch.setattr("unit.numerics.test_quadrature_means.FREQUENCIES", (0.5, 0.8, 0.0, 0.7))
    for module in (noise, smooth):
        monkeypatch.setattr(module, "quadrature_factors", at_many(wave), raising=False)
    K, M = (2, 1) if name != "apart" else (1, 2)
    c = LOADS[name] @ LOADS[name].T
    biases = np.array([0.4, -0.2, 0.1])
    shapes = (K,) * 4, (K, K, K, M), (K, K, M, M), (K, K)
    found = tuple(np.full(shape, np.nan) for shape in shapes)
    noise._noise_means(RULE, (*overlaps(c, K), biases[:K], biases[K:]), found)
    for i, j in product(range(K), repeat=2):
        slopes = mean_of_waves((1, 1), c[np.ix_([i, j], [i, j])], biases[[i, j]])
        assert found[3][i, j] == pytest.approx(slopes, abs=1e-7)
        for a, b in product(range(K + M), repeat=2):
            if a >= K > b:
                continue
            places = [i, j, a, b]
            kinds = (1, 1, 0 if a < K else 3, 0 if b < K else 3)
            expected = mean_of_waves(kinds, c[np.ix_(places, places)], biases[places])
            array = found[(a >= K) + (b >= K)]
            assert array[i, j, a - K * (a >= K), b - K * (b >= K)] == pytest.approx(
                expected, abs=1e-7
            )


@pytest.mark.parametrize("name", LOADS)
def test_all_means_of_two_factors_are_those_of_waves(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # value, slope and curvature of the student, value and slope of the teacher, all of them cosines
    frequencies = (0.5, 0.8, 0.6, 0.7, 0.9)
    monkeypatch.setattr("unit.numerics.test_quadrature_means.FREQUENCIES", frequencies)
    monkeypatch.setattr(smooth, "quadrature_factors", at_many(wave), raising=False)
    c, biases = LOADS[name] @ LOADS[name].T, np.array([0.4, -0.2, 0.1])
    for K in (1, 2):
        M = 3 - K
        shapes = (K, K), (K, M), (M, M)
        values, slopes, curvatures = (
            tuple(np.full(shape, np.nan) for shape in shapes[:count]) for count in (3, 2, 2)
        )
        rule, fields = np.array([0.8, 0.85, 7.0, 1.7, 1e-12]), (biases[:K], biases[K:])
        pairs._pair_means(rule, (*overlaps(c, K), *fields), values, slopes, curvatures)
        for kinds, found in (((0, 0), values), ((1, 1), slopes), ((2, 0), curvatures)):
            for (first, second), array in zip(((0, 0), (0, 1), (1, 1)), found, strict=False):
                numbers = kinds[0] + 3 * first, kinds[1] + 3 * second
                for a, b in np.ndindex(array.shape):
                    places = [a + K * first, b + K * second]
                    expected = mean_of_waves(numbers, c[np.ix_(places, places)], biases[places])
                    assert array[a, b] == pytest.approx(expected, abs=1e-9), (K, numbers, a, b)


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("apart", [1e-12, 1e-8, 1e-4])
def test_parts_in_a_plane_give_nearly_singular_covariances_back(rank: int, apart: float) -> None:
    """Rounding of the second field's rest changed covariances by up to 0.05 here."""
    rng = np.random.default_rng(11)
    for _ in range(500):
        loads = rng.normal(size=(4, rank))
        loads /= np.linalg.norm(loads, axis=1, keepdims=True)
        loads[1] = loads[0] * (1 - apart) + rng.normal(size=rank) * np.sqrt(apart)
        loads *= rng.uniform(0.3, 1.4, size=(4, 1))
        covariance = loads @ loads.T
        parts = noise._parts_in_plane(covariance, 0, 1)
        found = parts @ parts.T
        left = noise._correlation_left(covariance, parts, 2, 3)
        found[2, 3] += parts[2, 2] * parts[3, 2] * (left - 1)
        found[3, 2] = found[2, 3]
        assert np.abs(found - covariance).max() < 2e-14
