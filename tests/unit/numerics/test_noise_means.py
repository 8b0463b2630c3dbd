"""All means of four factors of a right-hand side in one pass, as plain Python, against formulas."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from unit.numerics.test_quadrature_means import at_many, mean_of_waves, wave

import symderiv.numerics.quadratures.noise_mean as noise
import symderiv.numerics.quadratures.smooth_mean as smooth

RULE = np.array([1.2, 1.0, 6.0, 7.0, 1e-9])
LOADS = {
    "apart": np.array([[0.9, 0.2, 0.1], [0.3, -0.7, 0.4], [0.5, 0.4, -0.6]]),
    "students nearly equal": np.array([[0.9, 0.2, 0.0], [0.9, 0.2, 1e-7], [0.4, 0.5, 0.3]]),
    "opposite, one without variance": np.array([[0.9, 0.0, 0.0], [0.0, 0, 0], [-0.9, 0.0, 0.0]]),
    "nearly independent": np.array([[0.9, 1e-3, 0.0], [1e-3, 0.8, 0.0], [2e-3, 0.0, 1.0]]),
}


@pytest.mark.parametrize("name", LOADS)
def test_all_means_of_noise_are_those_of_waves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # of the student's activation, its slope and the teacher's activation, all of them cosines
    monkeypatch.setattr("unit.numerics.test_quadrature_means.FREQUENCIES", (0.5, 0.8, 0.0, 0.7))
    for module in (noise, smooth):
        monkeypatch.setattr(module, "quadrature_factors", at_many(wave), raising=False)
    monkeypatch.setattr(noise, "QUADRATURE_RULE", RULE, raising=False)
    K, M = (2, 1) if name != "apart" else (1, 2)
    c = LOADS[name] @ LOADS[name].T
    biases = np.array([0.4, -0.2, 0.1])
    found = [np.full(shape, np.nan) for shape in ((K,) * 4, (K, K, K, M), (K, K, M, M))]
    overlaps = c[:K, :K], c[:K, K:], c[K:, K:]
    noise.noise_means(*overlaps, biases[:K], biases[K:], *found)
    for i, j in product(range(K), repeat=2):
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
