"""Means of four factors by one series of powers, as plain Python, against a sum of arcsines."""

import math
from itertools import product

import numpy as np
import pytest

import symderiv.numerics.quadratures.mixture_noise as mixture

REMAINDER = 1e-11
STUDENT = np.array([[0.2, 0.5, 0.3], [0.4, 0.9, 1.7]])
TEACHER = np.array([[0.3, 0.6, 0.7, 0.4], [0.3, 0.8, 1.2, 2.5]])
SQUARE = np.array([[0.4, 0.6], [0.7, 1.1]])
RESTS = 0.5, -0.25
LOADS = {
    "apart": np.array([[0.9, 0.2, 0.1], [0.3, -0.7, 0.4], [0.5, 0.4, -0.6], [0.2, 0.9, 0.3]]),
    "students nearly equal": np.array([[0.9, 0.2], [0.9, 0.2 + 1e-8], [0.4, 0.5], [1.3, -0.2]]),
    "opposite, one without variance": np.array([[0.9, 0.3], [0.0, 0.0], [-0.9, -0.3], [0.9, 0.3]]),
    "so large that arcsines are taken": np.array([[9.0, 2.0], [3.0, -7.0], [5.0, 4.0], [8.0, 1.0]]),
    "one large": np.array([[0.3, 0.1, 0.2], [0.1, 0.2, 0.0], [0.2, 0.1, 40.0], [0.4, 0.1, 0.3]]),
}


def rule_of(room: int) -> np.ndarray:
    columns = [
        np.pad(column, (room - column.size, 0)) for each in (STUDENT, TEACHER) for column in each
    ]
    return np.concatenate([[room, SQUARE.shape[1], REMAINDER, *RESTS], *columns, *SQUARE])


def arcsines(values: np.ndarray, count: int) -> None:
    values[:count] = np.arcsin(values[:count])


def expected(c: np.ndarray, pair: tuple[int, int], others: tuple[int, int], K: int) -> float:
    """The mean of slopes of a pair of students times the activations of two fields."""
    i, j = pair
    places, total = list(others), 0.0
    slopes = [(w, [(i, math.sqrt(2.0) * a, a * a)]) for w, a in SQUARE.T]
    if i != j:
        first, second = ([(w, (n, a, a)) for w, a in STUDENT.T] for n in pair)
        slopes = [(w * v, [one, two]) for (w, one), (v, two) in product(first, second)]
    for weight, factors in slopes:
        # exp(-a² x²) of each field: all fields under it by the matrix of these fields alone
        where, precision = [n for n, *_ in factors], np.diag([2.0 * a * a for _, a, _ in factors])
        inner = np.eye(len(where)) + precision @ c[np.ix_(where, where)]
        left = c - c[:, where] @ np.linalg.solve(inner, precision) @ c[where]
        slope = math.prod(s for *_, s in factors) * (4.0 / math.pi)
        both = 0.0
        columns = [STUDENT if n < K else TEACHER for n in places]
        for (v, a), (w, b) in product(columns[0].T, columns[1].T):
            (d11, d12), (_, d22) = left[np.ix_(places, places)]
            s = 2.0 * a * b * d12 / math.sqrt((1.0 + 2.0 * a * a * d11) * (1.0 + 2.0 * b * b * d22))
            both += v * w * (2.0 / math.pi) * math.asin(min(max(s, -1.0), 1.0))
        rests = [RESTS[n >= K] for n in places]
        total += weight * slope / math.sqrt(np.linalg.det(inner)) * (both + rests[0] * rests[1])
    return total


@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("name", LOADS)
def test_all_means_of_noise_are_sums_of_arcsines(
    name: str, K: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mixture, "_arcsines", arcsines, raising=False)
    rule, c = rule_of(16 if K == 1 else 8), LOADS[name] @ LOADS[name].T
    fields, room = len(c), 16 if K == 1 else 8
    M = fields - K
    overlaps = c[:K, :K], c[:K, K:], c[K:, K:]
    shapes = (K,) * 4, (K, K, K, M), (K, K, M, M)
    found = tuple(np.full(shape, np.nan) for shape in shapes)
    rooms = (fields, fields + 1), (3, fields, room), (4, 8), (fields, 4), (room * room,)
    work = tuple(np.full(shape, np.nan) for shape in rooms)
    joined = np.full((fields, fields), np.nan), np.full((fields, fields), np.nan)
    mixture._mixture_noise(rule, overlaps, work, joined, found)
    largest = 0.0
    for i, j in product(range(K), repeat=2):
        for a, b in product(range(fields), repeat=2):
            if a >= K > b:
                continue
            array = found[(a >= K) + (b >= K)]
            mean = array[i, j, a - K * (a >= K), b - K * (b >= K)]
            largest = max(largest, abs(mean - expected(c, (i, j), (a, b), K)))
    # each of the products of slopes leaves at most the remainder
    assert largest <= STUDENT.shape[1] ** 2 * (4.0 / math.pi**2) * REMAINDER + 1e-15


def test_the_remainder_ends_the_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coarse remainder gives coarser means: the bound is what ends the series."""
    monkeypatch.setattr(mixture, "_arcsines", arcsines, raising=False)
    c = LOADS["apart"] @ LOADS["apart"].T
    errors = []
    for remainder in (1e-3, 1e-6):
        rule = rule_of(8)
        rule[2] = remainder
        work = (
            np.empty((4, 5)),
            np.empty((3, 4, 8)),
            np.empty((4, 8)),
            np.empty((4, 4)),
            np.empty(64),
        )
        means = np.empty((4, 4))
        mixture._mixture_sums(rule, c, (1, 0), 2, work, means)
        errors.append(abs(means[2, 2] - expected(c, (1, 0), (2, 2), 2)))
    assert 1e-8 < errors[0] < 9 * 1e-3
    assert 1e-13 < errors[1] < 9 * 1e-6
