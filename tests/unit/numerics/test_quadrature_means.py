"""Quadrature as it is pasted into modules, run as plain Python, against other integrals."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad

import symderiv.numerics.quadratures.kinked_mean as kinked
import symderiv.numerics.quadratures.smooth_mean as smooth
from symderiv.numerics.signs.shifted_signs import _mean_sign, _shifted_signs
from symderiv.numerics.templates import templates

FREQUENCIES = (0.5, 1.0, 0.7, 0.8, 0.6)
SMOOTH_RULE = np.array([0.8, 0.85, 7.4, 1.7, 1e-12])
QUICK_RULE = np.array([1.3, 1.1, 6.0, 1.7, 1e-7])
KINKED_RULE = np.array([1.5, 2.0, 7.5, 0.05, 1e-5, 1.3, 0.1])
COARSE_RULE = np.array([3.0, 3.0, 6.0, 0.2, 1e-2, 1.5, 0.2])
PLACES = (0.3, -0.2, 0.0, 0.5, -0.4)


def upper(c: np.ndarray) -> np.ndarray:
    return c[np.triu_indices(len(c))]


Moments = tuple[tuple[float, ...], tuple[float, ...]]


def moments(c: np.ndarray, b: Sequence[float] = ()) -> Moments:
    """Covariances row by row and means, as the text takes them."""
    return tuple(upper(c)), tuple(b) or (0.0,) * len(c)


def wave(kind: int, x: float) -> float:
    return math.cos(FREQUENCIES[kind] * x + 0.3 * kind)


def mean_of_waves(kinds: tuple[int, ...], c: np.ndarray, biases: Sequence[float] = ()) -> float:
    """cos is half the sum of two exponentials."""
    total = 0.0
    for signs in product((1, -1), repeat=len(kinds)):
        k = np.array([s * FREQUENCIES[n] for s, n in zip(signs, kinds, strict=True)])
        phase = sum(s * 0.3 * n for s, n in zip(signs, kinds, strict=True))
        phase += k @ biases if len(biases) else 0.0
        total += math.cos(phase) * math.exp(-k @ c @ k / 2)
    return total / 2 ** len(kinds)


def at_many(
    factor: Callable[[int, float], float],
) -> Callable[[int, np.ndarray, np.ndarray], None]:
    """Return a factor as modules have it for many numbers."""

    def many(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        values[:] = [factor(kind, each) for each in x]

    return many


@pytest.fixture
def waves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smooth, "quadrature_factors", at_many(wave), raising=False)


LOADS = np.array(
    [[1.0, 0.2, 0.0, 0.3], [0.3, 0.8, 0.1, 0.0], [-0.5, 0.4, 0.6, 0.2], [0.2, -0.6, 0.5, 0.4]]
)
COVARIANCES = {
    "generic": LOADS @ LOADS.T * 0.6,
    "rank two": (line := LOADS[:, :2]) @ line.T,
    "equal and opposite": (same := LOADS[[0, 1, 0, 1]] * [[1], [1], [-1], [1]]) @ same.T,
    "one without variance": (still := LOADS * [[1], [0], [1], [1]]) @ still.T * 0.5,
    "none": np.zeros((4, 4)),
}


@pytest.mark.usefixtures("waves")
@pytest.mark.parametrize("name", COVARIANCES)
def test_means_of_waves_by_equal_steps(name: str) -> None:
    c = COVARIANCES[name]
    for kinds in ((0, 1), (3, 2)):
        for places in ([0, 1], [2, 0], [1, 3]):
            part = c[np.ix_(places, places)]
            found = smooth._mean_of_2(SMOOTH_RULE, kinds, *moments(part))
            assert found == pytest.approx(mean_of_waves(kinds, part), abs=1e-9)
    rule = QUICK_RULE if name == "generic" else SMOOTH_RULE
    found = smooth._mean_of_4(rule, (1, 0, 3, 4), *moments(c))
    assert found == pytest.approx(mean_of_waves((1, 0, 3, 4), c), abs=3e-6)


Grid = tuple[float, np.ndarray, np.ndarray, int]


def grid_of(step: float, half: int, seconds: np.ndarray, shifted: bool, equal: bool) -> Grid:
    """Points of a plane within the reach of a rule, or of a line, as rows of them are laid."""
    starts = [0]
    for number, second in enumerate(seconds):
        middle = (number - len(seconds) // 2) % 2 * shifted / 2
        first = np.arange(-half - 1, half + 2) + middle
        inside = (step * first) ** 2 + second**2 <= SMOOTH_RULE[2] ** 2
        starts.append(starts[-1] + int((inside & (abs(first) <= half)).sum()))
    stride = (2 if shifted else 1) if equal else 0
    return step, np.array([seconds, np.ones(len(seconds))]), np.array(starts), stride


def points_of(grid: Grid) -> np.ndarray:
    """Both t of all points."""
    step, seconds, starts, _ = grid
    counts = np.diff(starts)
    first = np.concatenate([step * (np.arange(n) - (n - 1) / 2) for n in counts])
    return np.array([first, np.repeat(seconds[0], counts)])


def test_shifted_rows_take_fewer_points_where_fields_know_nothing_of_each_other() -> None:
    parts = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    longest = (smooth._longest(parts, (0, 1), (1.0, 0.0)),) * 2
    usual = smooth._step_of(longest[0], SMOOTH_RULE)
    assert smooth._step_of_shifted(SMOOTH_RULE, parts, (0, 1), longest) > 1.6 * usual
    # a field that moves along a diagonal asks for as many as without shifts
    for sign in (1.0, -1.0):
        diagonal = np.pad(np.array([[0.7, 0.0], [0.0, 0.7], [1.2, 1.2 * sign]]), ((0, 0), (0, 1)))
        longest = (smooth._longest(diagonal, (0, 1), (1.0, 0.0)),) * 2
        usual = smooth._step_of(longest[0], SMOOTH_RULE)
        shifted = smooth._step_of_shifted(SMOOTH_RULE, diagonal, (0, 1), longest)
        assert usual <= shifted < 1.6 * usual


@pytest.mark.usefixtures("waves")
@pytest.mark.parametrize(
    "parts",
    [(0.8, 0.3, 0.6), (0.8, -0.7, 1e-3), (0.01, 0.002, 0.9), (0.05, 0.8, 0.4), (0.6, 0.2, 0.0)],
)
@pytest.mark.parametrize("rows", ["one", "equal", "shifted", "few"])
def test_rows_are_means_given_the_points_of_a_grid(
    parts: tuple[float, float, float], rows: str
) -> None:
    """cos(k (y + s ξ) + a) times he_n has the mean of i^n (k s)^n exp(-(k s)²/2) / √n!."""
    (first, second, rest), kind = parts, 1
    seconds = {"one": np.zeros(1), "few": np.array([-2.0, 0.1, 0.7])}
    equal = np.arange(-10, 11) * 0.6
    grid = grid_of(0.7, 9, seconds.get(rows, equal), rows == "shifted", rows != "few")
    if rows == "few":  # such rows are only taken where fields move along them
        first = max(first, 0.2)
    points, orders = grid[2][-1], 1 if rest == 0.0 else 6
    found = np.full((orders + 1, points + 8), np.nan)
    field = first, second * (rows != "one"), rest, 0.2
    smooth._rows_of(SMOOTH_RULE, kind, field, grid, found, 1)
    y = 0.2 + np.array(field[:2]) @ points_of(grid)
    k = FREQUENCIES[kind]
    for n in range(orders):
        size = (k * rest) ** n * math.exp(-((k * rest) ** 2) / 2) / math.sqrt(math.factorial(n))
        expected = size * np.cos(k * y + 0.3 * kind + n * math.pi / 2)
        np.testing.assert_allclose(found[n, :points], expected, atol=1e-9)
    twice = math.exp(-2 * (k * rest) ** 2) * np.cos(2 * (k * y + 0.3 * kind))
    np.testing.assert_allclose(found[orders, :points], (1 + twice) / 2, atol=1e-9)


# --- kinks ------------------------------------------------------------------------------------


def distance(kind: int, x: float) -> float:
    """|x - place|."""
    return abs(x - PLACES[kind])


def give_kinked(monkeypatch: pytest.MonkeyPatch, factor: Callable[[int, float], float]) -> None:
    """Define a factor, also for many numbers, in the text of means with kinks."""
    monkeypatch.setattr(kinked, "quadrature_factor", factor, raising=False)
    monkeypatch.setattr(kinked, "quadrature_factors", at_many(factor), raising=False)


@pytest.fixture
def kinks(monkeypatch: pytest.MonkeyPatch) -> None:
    give_kinked(monkeypatch, distance)
    kinks_of = {k: np.array([PLACES[k]]) for k in range(5)}
    monkeypatch.setattr(kinked, "quadrature_kinks", kinks_of.__getitem__, raising=False)


def density(t: float) -> float:
    return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)


def mean_distance(mean: float, deviation: float) -> float:
    """E|mean + deviation t|."""
    if deviation == 0.0:
        return abs(mean)
    h = mean / deviation
    return mean * math.erf(h / math.sqrt(2)) + 2 * deviation * density(h)


def mean_of_two(kinds: tuple[int, int], c: np.ndarray) -> float:
    """Over the first field; the second one given it is a closed form."""
    root = math.sqrt(c[0, 0])
    if root == 0.0:
        return abs(PLACES[kinds[0]]) * mean_distance(-PLACES[kinds[1]], math.sqrt(c[1, 1]))
    slope = c[0, 1] / root
    rest = math.sqrt(max(c[1, 1] - slope**2, 0.0))

    def inside(t: float) -> float:
        other = mean_distance(slope * t - PLACES[kinds[1]], rest)
        return density(t) * distance(kinds[0], root * t) * other

    points = [PLACES[kinds[0]] / root] + ([PLACES[kinds[1]] / slope] if slope else [])
    return quad(inside, -9, 9, points=points, epsabs=1e-12, epsrel=1e-12, limit=200)[0]


@pytest.mark.usefixtures("kinks")
@pytest.mark.parametrize("rho", [0.0, 0.5, -0.9, 1 - 1e-5, 1 - 1e-9, 1.0, -1.0])
def test_means_of_two_distances(rho: float) -> None:
    for first, second in ((1.0, 0.7), (0.3, 1.2), (1e-3, 0.8)):
        c = np.array([[first**2, rho * first * second], [0.0, second**2]])
        c[1, 0] = c[0, 1]
        for kinds in ((0, 1), (2, 3)):
            found = kinked._kinked_mean_of_2(KINKED_RULE, kinds, *moments(c))
            assert found == pytest.approx(mean_of_two(kinds, c), abs=2e-8), (first, second)


@pytest.mark.usefixtures("kinks")
def test_fields_without_variance_are_values() -> None:
    found = kinked._kinked_mean_of_2(KINKED_RULE, (0, 1), *moments(np.zeros((2, 2))))
    assert found == pytest.approx(0.3 * 0.2)
    found = kinked._kinked_mean_of_4(KINKED_RULE, (0, 1, 3, 4), *moments(np.zeros((4, 4))))
    assert found == pytest.approx(0.3 * 0.2 * 0.5 * 0.4)


def test_two_distances_and_two_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """E[a |b| |c| d] of four fields that all know of each other.

    a and d are what b and c explain of them and rests, whose covariance remains; with standard
    fields of correlation r = sin φ the means of |b||c| with b², bc, c² are 2/π times
    3 r φ + (2 + r²) cos φ, 3 r cos φ + (1 + 2 r²) φ, and the first again; that of 1 is cos φ + r φ.
    """
    rule = np.array([2.0, 2.5, 6.5, 0.1, 1e-4, 1.5, 0.2])
    give_kinked(monkeypatch, lambda kind, x: abs(x) if kind else x)
    monkeypatch.setattr(kinked, "quadrature_kinks", lambda kind: np.zeros(kind), raising=False)
    c = COVARIANCES["generic"]
    inner, outer = [1, 2], [0, 3]
    size = np.sqrt(np.diag(c)[inner])
    shares = c[np.ix_(outer, inner)] @ np.linalg.inv(c[np.ix_(inner, inner)])
    rest = (c[np.ix_(outer, outer)] - shares @ c[np.ix_(inner, outer)])[0, 1]
    r = c[1, 2] / size.prod()
    phi = math.asin(r)
    square = 3 * r * phi + (2 + r * r) * math.cos(phi)
    mixed = 3 * r * math.cos(phi) + (1 + 2 * r * r) * phi
    u, v = (size * row for row in shares)
    expected = u[0] * v[0] * square + u[1] * v[1] * square + (u[0] * v[1] + u[1] * v[0]) * mixed
    expected += rest * (math.cos(phi) + r * phi)
    expected *= 2 / math.pi * size.prod()
    found = kinked._kinked_mean_of_4(rule, (0, 1, 1, 0), *moments(c))
    assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.usefixtures("kinks")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 3, 0, 1), (0, 2, 1, 3), (3, 0, 2, 1)])
def test_two_pairs_that_know_nothing_of_each_other(order: tuple[int, ...]) -> None:
    """The mean of four is the product of means of two, in whatever order they come."""
    pair = np.array([[0.8, 0.3], [0.3, 0.5]])
    line = np.array([[0.6, -0.6], [-0.6, 0.6]])
    whole = np.zeros((4, 4))
    whole[:2, :2], whole[2:, 2:] = pair, line
    kinds = np.array([0, 1, 3, 4])[list(order)]
    c = whole[np.ix_(order, order)]
    expected = mean_of_two((0, 1), pair) * mean_of_two((3, 4), line)
    found = kinked._kinked_mean_of_4(COARSE_RULE, kinds, *moments(c))
    assert found == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("mean", [-1.3, 0.0, 0.29, 0.3, 0.31, 0.5])
@pytest.mark.parametrize("width", [0.0, 1e-4, 0.05, 0.7])
@pytest.mark.usefixtures("kinks")
def test_the_average_over_the_last_variable(mean: float, width: float) -> None:
    expected = mean_distance(mean - PLACES[0], width)
    # the field's own mean and what the others add to it
    for own in (0.0, 0.4):
        values, cell = kinked._average_grids(0, own, width, 3.0, KINKED_RULE)
        found = kinked._average_from_grids(0, own, mean - own, width, values, cell, KINKED_RULE)
        assert found == pytest.approx(expected, abs=1e-6)


def step(kind: int, x: float) -> float:
    """1 beyond the place; kind 0 is 1 everywhere."""
    return 1.0 if kind == 0 or x > PLACES[kind] else 0.0


def both_beyond(places: tuple[float, float], c: np.ndarray) -> float:
    """Probability that two fields are beyond their places."""
    root = math.sqrt(c[0, 0])
    slope = c[0, 1] / root
    # exactly, since c holds doubles
    minor = Fraction(c[0, 0]) * Fraction(c[1, 1]) - Fraction(c[0, 1]) ** 2
    rest = math.sqrt(minor / Fraction(c[0, 0]))

    def beyond(t: float) -> float:
        return density(t) * math.erfc((places[1] - slope * t) / rest / math.sqrt(2)) / 2

    start, edge = places[0] / root, places[1] / slope
    ends = {start, 12.0, *(edge + m * rest / abs(slope) for m in (-30, -8, -4, 0, 4, 8, 30))}
    ordered = sorted(end for end in ends if start <= end <= 12)
    x, w = np.polynomial.legendre.leggauss(40)
    return sum(
        (b - a) / 2 * w[n] * beyond((a + b) / 2 + (b - a) / 2 * x[n])
        for a, b in pairwise(ordered)
        for n in range(40)
    )


@pytest.mark.parametrize("digits", [1, 2, 40, 1e5, 1e9])
@pytest.mark.parametrize("variance", [1.0, 0.8282891432332784])
def test_means_of_two_jumps_of_almost_equal_fields(
    monkeypatch: pytest.MonkeyPatch, digits: float, variance: float
) -> None:
    """They change by the root of the determinant, which plain differences know to 1e-8."""
    give_kinked(monkeypatch, step)
    monkeypatch.setattr(kinked, "quadrature_kinks", lambda k: np.array([PLACES[k]]), raising=False)
    c = np.array([[variance, variance - digits * math.ulp(variance)], [0.0, variance]])
    for kind in (1, 3):
        rule = np.array([1.5, 2.0, 9.0, 0.05, 1e-13, 1.0, 0.1])
        found = kinked._kinked_mean_of_2(rule, (kind, kind), *moments(c))
        assert found == pytest.approx(both_beyond((PLACES[kind],) * 2, c), abs=3e-12)


def test_jumps_of_later_fields_that_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the plane of two variables, where the first two factors are 1 and do not matter."""
    give_kinked(monkeypatch, step)
    none = np.zeros(0)
    kinks_of = {0: none} | {k: np.array([PLACES[k]]) for k in range(1, 5)}
    monkeypatch.setattr(kinked, "quadrature_kinks", kinks_of.__getitem__, raising=False)
    for loads in (
        [[1.0, 0.0], [0.4, 0.5], [0.9, 0.4], [0.2, 0.7]],
        [[0.6, 0.0], [0.6, 0.0], [0.9, 0.4], [0.2, 0.7]],
    ):
        c = np.array(loads) @ np.array(loads).T
        found = kinked._kinked_mean_of_4(KINKED_RULE, (0, 0, 3, 4), *moments(c))
        expected = both_beyond((PLACES[3], PLACES[4]), c[2:, 2:])
        assert found == pytest.approx(expected, abs=3e-8)


@pytest.mark.usefixtures("kinks")
def test_the_slope_of_what_jumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """E[|a - k| d/db (|b - s| + 3 θ(b - s))]: a delta function, and the slope between the kinks."""
    c11, c12, c22 = 0.8, 0.3, 0.5
    monkeypatch.setattr(kinked, "QUADRATURE_PAIR_RULE", KINKED_RULE, raising=False)
    monkeypatch.setattr(kinked, "TEACHER_KINKS", np.array([PLACES[3], 9.0]), raising=False)
    monkeypatch.setattr(kinked, "TEACHER_JUMPS", np.array([3.0, 0.0]), raising=False)
    between = kinked._kinked_mean_of_2(KINKED_RULE, (1, 3), (c11, c12, c22), (0.0, 0.0))
    # the template as a module has it
    known = {"QUADRATURE_PAIR_RULE": KINKED_RULE, "kind_1": 1, "kind_2": 3}
    space = {**vars(kinked), **known}
    exec("\n\n".join(templates()), space)
    rest = math.sqrt(c11 - c12**2 / c22)
    weight = density(PLACES[3] / math.sqrt(c22)) / math.sqrt(c22)
    expected = 3 * weight * mean_distance(c12 / c22 * PLACES[3] - PLACES[1], rest) + between
    assert space["kinked_mean_of_slopes"](c11, c12, c22) == pytest.approx(expected, rel=1e-8)
    moved = space["shifted_kinked_mean_of_slopes"](c11, c12, c22, 0.3, -0.2)
    # as if all places of both fields had moved the other way
    monkeypatch.setattr(kinked, "TEACHER_KINKS", np.array([PLACES[3] + 0.2, 9.0]), raising=False)
    weight = density((PLACES[3] + 0.2) / math.sqrt(c22)) / math.sqrt(c22)
    shift = 0.3 + c12 / c22 * (PLACES[3] + 0.2) - PLACES[1]
    jumps = kinked._at_jumps(1, (c11, c12, c22), (0.3, 0.0))
    assert jumps == pytest.approx(3 * weight * mean_distance(shift, rest), rel=1e-8)
    between = kinked._kinked_mean_of_2(KINKED_RULE, (1, 3), (c11, c12, c22), (0.3, -0.2))
    assert moved == pytest.approx(jumps + between, rel=1e-8)
    # a field without variance is at the place of its delta function, or never
    assert kinked._mean_at(KINKED_RULE, 1, 0.4, (0.0, 0.0, 1.0), (0.0, 0.0)) == 0.0
    assert kinked._mean_at(KINKED_RULE, 1, 0.0, (0.0, 0.0, 1.0), (0.0, 0.0)) == math.inf


# --- biases -----------------------------------------------------------------------------------

BIASES = np.array([0.7, -0.4, 0.0, 1.1])


@pytest.mark.usefixtures("waves")
def test_biases_of_analytic_factors_are_phases() -> None:
    c, kinds = COVARIANCES["generic"], (1, 0, 3, 4)
    found = smooth._mean_of_4(QUICK_RULE, kinds, *moments(c, BIASES))
    assert found == pytest.approx(mean_of_waves(kinds, c, BIASES), abs=3e-6)
    for places in ([0, 1], [3, 0]):
        part, shift = c[np.ix_(places, places)], BIASES[places]
        found = smooth._mean_of_2(SMOOTH_RULE, (0, 1), *moments(part, shift))
        assert found == pytest.approx(mean_of_waves((0, 1), part, shift), abs=1e-9)


@pytest.mark.usefixtures("kinks")
def test_biases_move_kinks(monkeypatch: pytest.MonkeyPatch) -> None:
    """|z + b - place| is the distance from place - b, in two and in four nearly aligned fields."""
    lines = np.outer([0.8, -0.5, 0.6, 1.1], [1.0, 0.0]) + np.outer([0, 0, 1e-4, 0.3], [0.0, 1.0])
    c = lines @ lines.T
    kinds = (0, 1, 3, 4)
    with_biases = kinked._kinked_mean_of_4(COARSE_RULE, kinds, *moments(c, BIASES))
    pair = kinked._kinked_mean_of_2(KINKED_RULE, (0, 1), *moments(c[:2, :2], BIASES[:2]))
    moved = {k: p - b for k, p, b in zip(kinds, (0.3, -0.2, 0.5, -0.4), BIASES, strict=True)}
    give_kinked(monkeypatch, lambda k, x: abs(x - moved[k]))
    monkeypatch.setattr(kinked, "quadrature_kinks", lambda k: np.array([moved[k]]), raising=False)
    without = kinked._kinked_mean_of_4(COARSE_RULE, kinds, *moments(c))
    assert with_biases == pytest.approx(without, rel=1e-12)
    assert pair == pytest.approx(
        kinked._kinked_mean_of_2(KINKED_RULE, (0, 1), *moments(c[:2, :2])), rel=1e-12
    )


@pytest.mark.parametrize(("b1", "b2"), [(0.6, -0.9), (-1.4, 0.2)])
@pytest.mark.parametrize("rho", [0.4, -0.99999])
def test_two_steps_with_biases(
    monkeypatch: pytest.MonkeyPatch, rho: float, b1: float, b2: float
) -> None:
    """E[H(x + b) H(y + c)] through the mean of two signs."""
    give_kinked(monkeypatch, lambda kind, x: float(x > 0))
    monkeypatch.setattr(kinked, "quadrature_kinks", lambda kind: np.zeros(1), raising=False)
    found = kinked._kinked_mean_of_2(KINKED_RULE, (1, 1), (1.3, 1.3 * rho, 1.3), (b1, b2))
    h, k = b1 / math.sqrt(1.3), b2 / math.sqrt(1.3)
    wanted = (1 + _mean_sign(h) + _mean_sign(k) + _shifted_signs(h, k, rho)) / 4
    assert found == pytest.approx(wanted, abs=3e-9)


STEEP_RULE = np.array([0.14, 0.926, 6.8, 0.257, 2e-10])


@pytest.fixture
def steep(monkeypatch: pytest.MonkeyPatch) -> None:
    """tanh(3 x) and its slope."""

    def many(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        values[:] = np.tanh(3 * x) if kind == 0 else 3 / np.cosh(3 * x) ** 2

    monkeypatch.setattr(smooth, "quadrature_factors", many, raising=False)


LINE = np.arange(-8.0, 8.0, 0.02)
NORMAL = 0.02 * np.exp(-(LINE**2) / 2) / math.sqrt(2 * math.pi)


@pytest.mark.usefixtures("steep")
@pytest.mark.parametrize(("apart", "sign"), [(1e-7, 1), (1e-7, -1), (1e-3, 1)])
def test_steep_factors_of_nearly_equal_fields_have_few_terms(apart: float, sign: int) -> None:
    """Their sum over orders would have thousands; what the two fields share is a variable."""
    width = 1.4
    loads = np.zeros((4, 4))
    loads[:2, 0], loads[2, 2], loads[3, 2:] = (width, -width), width, (sign * width, apart)
    found = smooth._mean_of_4(STEEP_RULE, (1, 1, 0, 0), *moments(loads @ loads.T))
    slopes = NORMAL @ (3 / np.cosh(3 * width * LINE) ** 2) ** 2
    # a difference of this size changes the mean by its square
    values = sign * NORMAL @ np.tanh(3 * width * LINE) ** 2
    assert found == pytest.approx(slopes * values, abs=2e-7 + 20 * apart**2)


@pytest.mark.usefixtures("steep")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 3, 0, 1)])
def test_steep_factors_of_fields_that_hardly_move_in_the_plane(order: tuple[int, ...]) -> None:
    """Their averages over a wide rest need points as dense as steep factors ask for."""
    loads = np.array([[1.4, 0.0], [0.0, 1e-6], [-0.04, 0.776], [0.07, -1.41]])
    covariance = (loads @ loads.T)[np.ix_(order, order)]
    kinds = tuple((1, 1, 0, 0)[n] for n in order)
    found = smooth._mean_of_4(STEEP_RULE, kinds, *moments(covariance))
    x, y, z, w = loads @ np.stack(np.meshgrid(LINE, LINE)).reshape(2, -1)
    product_of = 9 / np.cosh(3 * x) ** 2 / np.cosh(3 * y) ** 2 * np.tanh(3 * z) * np.tanh(3 * w)
    expected = product_of @ np.outer(NORMAL, NORMAL).ravel()
    assert found == pytest.approx(expected, abs=3e-7)
