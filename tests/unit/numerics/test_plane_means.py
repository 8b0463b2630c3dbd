"""Means of four factors with kinks over points of a plane, as plain Python, against formulas."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

import symderiv.numerics.quadratures.across_mean as across
import symderiv.numerics.quadratures.line_mean as line_mean
import symderiv.numerics.quadratures.plane_lines as plane_lines
import symderiv.numerics.quadratures.plane_mean as plane
import symderiv.numerics.quadratures.polar_mean as polar
import symderiv.numerics.quadratures.smoothed as smoothed
from symderiv.lowering.means.quadrature_rules import error_of_panels

RULE = np.array([12.0, 22.0, 6.4, 1.0, 1e-7, 0.0, 0.3, 15.0, 0.0])
FACTORS = {
    0: lambda x: 1.0 if x > 0 else -1.0,
    1: lambda x: x / (1 + abs(x)),
    2: lambda x: (1 + abs(x)) ** -2,
    3: lambda x: x if x > 0 else math.exp(x) - 1,
    5: lambda x: max(x, 0.0) ** 2,
    6: lambda x: -1.0 / math.cosh(x) ** 2,
    7: lambda x: math.exp(-x * x),
    8: lambda x: 1.0,
}


@pytest.fixture(autouse=True)
def _factors(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (plane, across, smoothed):
        monkeypatch.setattr(
            module, "quadrature_factor", lambda kind, x: FACTORS[kind](x), raising=False
        )

    def many(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        values[:] = [FACTORS[kind](each) for each in x]

    for module in (plane, across, smoothed, polar, line_mean):
        monkeypatch.setattr(module, "quadrature_factors", many, raising=False)
    monkeypatch.setattr(plane_lines, "quadrature_kinks", lambda kind: np.zeros(1), raising=False)


def mean_of_4(covariance: np.ndarray, kinds: tuple[int, ...], rule: np.ndarray = RULE) -> float:
    """E[f_a(x_a) f_b(x_b) f_c(x_c) f_d(x_d)] of fields that are zero in the mean."""
    moments = tuple(map(float, covariance[np.triu_indices(4)]))
    return float(plane._plane_mean_of_4(rule, kinds, moments, (0.0,) * 4))


def mean_of_signs(loads: list[list[float]]) -> tuple[float, float]:
    """The mean of four signs found, and that of the first two times that of the last two."""
    matrix = np.array(loads)
    c = matrix @ matrix.T
    found = mean_of_4(c, (0, 0, 0, 0))
    scale = np.sqrt(np.diag(c))
    rho = np.clip(c / np.outer(scale, scale), -1, 1)
    product = math.asin(rho[0, 1]) * math.asin(rho[2, 3]) * (2 / math.pi) ** 2
    return found, product


@pytest.mark.parametrize("apart", [0.6, 0.05, 1e-4])
@pytest.mark.parametrize("turned", [False, True])
def test_means_of_signs_are_arcsines(apart: float, turned: bool) -> None:
    """Two pairs of fields that know nothing of each other, each pair anything to nearly equal."""
    loads = [
        [0.9, 0.0, 0.0, 0.0],
        [0.8, apart, 0.0, 0.0],
        [0.0, 0.0, 0.7, 0.0],
        [0.0, 0.0, -1.1, 1.3 * apart],
    ]
    found, product = mean_of_signs(loads)
    assert found == pytest.approx(product, abs=3e-6)
    if turned:
        # the pairs lie across the plane of the first two fields
        across = [loads[n] for n in (0, 2, 1, 3)]
        assert mean_of_signs(across)[0] == pytest.approx(product, abs=3e-6)


FINE = np.array([21.0, 26.6, 7.0, 1.0, 2e-11, 1.0, 0.3, 18.6, 0.0])
SLOPE_OF_1 = 4  # number of the derivative of factor 1


def _panels(ends: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Gauss' rule with twenty points in each panel."""
    x, w = np.polynomial.legendre.leggauss(20)
    places = [0.5 * (a + b) + 0.5 * (b - a) * x for a, b in pairwise(ends)]
    return np.concatenate(places), np.concatenate([0.5 * (b - a) * w for a, b in pairwise(ends)])


def _split(mean: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of mean + width ξ, split at zero, with their weights, in one more axis."""
    x, w = _panels([0.0, 0.25, 0.5, 0.75, 1.0])
    cut = np.clip(-mean / width, -8.0, 8.0)[..., None]
    t = np.concatenate([-8.0 + (cut + 8.0) * x, cut + (8.0 - cut) * x], axis=-1)
    weights = np.concatenate([(cut + 8.0) * w, (8.0 - cut) * w], axis=-1)
    return mean[..., None] + width * t, weights * np.exp(-t * t / 2) / math.sqrt(2 * math.pi)


def given_one_field(
    own: float, first: tuple[float, float], rests: np.ndarray
) -> tuple[np.ndarray, float]:
    """The covariance of four fields, and the mean of two slopes and two values of factor 1.

    The second field is ``own`` times t; the first is a t + b v, and the others are multiples of t
    plus ``rests``, all independent of v: rows are the multiple and what two more variables add.
    """
    (a, b), below = first, 10.0 ** np.arange(-7, 0.0, 0.5)
    t, weights = _panels([*-np.array([8.0, 4.0, 2.0, 1.0]), *-below[::-1], 0.0, *below, 1, 2, 4, 8])
    softsign, slope = (lambda x: x / (1 + abs(x))), (lambda x: (1 + abs(x)) ** -2.0)
    x0, w0 = _split(a * t, b)
    total = weights * np.exp(-t * t / 2) / math.sqrt(2 * math.pi) * slope(own * t)
    total *= (slope(x0) * w0).sum(-1)
    (m2, s2, _), (m3, both, s3) = rests
    x2, w2 = _split(m2 * t, s2)
    x3, w3 = _split(m3 * t[:, None] + both * (x2 - m2 * t[:, None]) / s2, s3)
    total *= (softsign(x2) * w2 * (softsign(x3) * w3).sum(-1)).sum(-1)
    loads = np.array([[a, b, 0, 0], [own, 0, 0, 0], [m2, 0, s2, 0], [m3, 0, both, s3]])
    return loads @ loads.T, float(total.sum())


@pytest.mark.days(2)
@pytest.mark.parametrize(
    ("own", "first", "rests"),
    [
        # layers of widths 0.04 and 2e-5 where t2 is nearly zero: off by 2e-8 before
        (0.6874, (-0.0346, 1.1964), [[-1.4132, 0.0535, 0.0], [-1.4142, 0.0, 2.1e-5]]),
        # rests that move against each other
        (0.0916, (0.0995, 0.1178), [[-1.05, 0.5, 0.0], [1.1, 0.42, 0.28]]),
    ],
)
def test_means_of_slopes_and_values_are_nested_integrals(
    own: float,
    first: tuple[float, float],
    rests: list[list[float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(FACTORS, SLOPE_OF_1, lambda x: 1 / (1 + abs(x)) ** 2)
    c, expected = given_one_field(own, first, np.array(rests))
    found = mean_of_4(c, (SLOPE_OF_1, SLOPE_OF_1, 1, 1), FINE)
    assert found == pytest.approx(expected, abs=9e-11)


def test_one_pass_gives_the_means_of_each_pair_of_students(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plane, "QUADRATURE_RULE", RULE, raising=False)
    rng = np.random.default_rng(2)
    loads = rng.normal(size=(4, 4)) / 2
    c = loads @ loads.T
    K, M = 3, 1
    shapes = (K,) * 4, (K, K, K, M), (K, K, M, M), (K, K)
    *found, slopes = (np.full(shape, np.nan) for shape in shapes)
    plane.kinked_noise_means(
        c[:K, :K], c[:K, K:], c[K:, K:], np.zeros(K), np.zeros(M), *found, slopes
    )
    for array in found:
        assert np.isfinite(array).all()
    for i in range(K):
        for j in range(K):
            moments = c[i, i], c[i, j], c[j, j]
            expected = polar._polar_mean_of_2(SECTORS, (1, 1), moments, (0.0, 0.0))
            assert slopes[i, j] == pytest.approx(expected, abs=1e-6)
    for i, j, a, b in ((0, 0, 1, 3), (1, 1, 3, 0), (2, 2, 0, 1), (0, 2, 1, 3), (1, 2, 2, 0)):
        places = [i, j, a, b]
        kinds = (1, 1, *(3 if n >= K else 0 for n in (a, b)))
        expected = mean_of_4(c[np.ix_(places, places)], kinds)
        array = found[(a >= K) + (b >= K)]
        ends = sorted((a, b))
        assert array[i, j, ends[0], ends[1] - K * (ends[1] >= K)] == pytest.approx(
            expected, abs=1e-6
        )


def test_points_are_where_tables_of_factors_reach() -> None:
    """Beyond, a table holds whatever was in memory, which no weight makes negligible."""
    parts = np.array([[1.0, 0.0, 0.0], [0.9, 0.05, 0.0], [0.8, 0.04, 0.5], [0.6, -0.05, 0.4]])
    rests, kinks, line = np.zeros((4, 4)), np.zeros((4, 1)), np.empty((2, 2000))
    for t1 in (4.0, 6.0, 6.3, 6.39):
        count = plane._line_of_second(t1, ((0, 1), parts, rests, kinks), RULE, line)
        assert count == 0 or (t1**2 + line[0, :count] ** 2).max() < RULE[2] ** 2
        if t1 < 5:
            # all of a Gauss-Hermite rule
            assert 1 < count < 20
            assert line[1, :count].sum() == pytest.approx(1.0, rel=1e-13)


SECTORS = np.array([0.0] * 7 + [18.0, 0.0, 20.0])


@pytest.mark.parametrize("radii", [12.0, 20.0, 28.0])
@pytest.mark.parametrize(("c11", "c12", "c22"), [(1.2, 0.5, 0.8), (1.0, -1.0 + 1e-9, 1.0)])
def test_sectors_give_the_means_of_signs_and_of_moduli(
    c11: float, c12: float, c22: float, radii: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors = {0: np.sign, 1: np.abs}

    def many(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        values[:] = factors[kind](x)

    monkeypatch.setattr(polar, "quadrature_factors", many, raising=False)
    # what is read was written before
    monkeypatch.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
    both = math.sqrt(c11 * c22)
    rho = c12 / both
    signs = 2 / math.pi * math.asin(rho)
    moduli = 2 / math.pi * both * (math.sqrt(1 - rho * rho) + rho * math.asin(rho))
    for kind, expected in ((0, signs), (1, moduli)):
        rule = np.r_[SECTORS[:-1], radii]
        found = polar._polar_mean_of_2(rule, (kind, kind), (c11, c12, c22), (0.0, 0.0))
        assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("sides", [18.0, 12.0])
def test_all_pairs_of_a_student_with_a_kink_and_a_teacher_that_jumps(
    sides: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """g = max(0, x) and h = sign(y) + 2 max(0, y): means are angles, those with deltas widths."""

    def many(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        ramp = np.maximum(x, 0.0) + (np.sign(x) + np.maximum(x, 0.0) if kind == 3 else 0.0)
        values[:] = np.heaviside(x, 0.5) if kind == 1 else 0.0 if kind == 2 else ramp

    def all_of(owner: int, x: np.ndarray, values: np.ndarray) -> None:
        values[:2] = np.maximum(x, 0.0), np.heaviside(x, 0.5)
        values[:2] *= 1 + owner
        values[0] += owner * np.sign(x)

    one = np.ones(1)
    numbers = {"STUDENT_KINKS": 0 * one, "STUDENT_SLOPE_JUMPS": one}
    numbers |= {"TEACHER_KINKS": 0 * one, "TEACHER_JUMPS": 2 * one}
    numbers["QUADRATURE_PAIR_RULE"] = np.r_[SECTORS[:7], sides, SECTORS[8:]]
    functions = {"quadrature_factors": many, "quadrature_values_and_slopes": all_of}
    for name, each in (numbers | functions).items():
        monkeypatch.setattr(polar, name, each, raising=False)
    K, M, loads = 2, 3, np.random.default_rng(8).normal(size=(5, 6))
    loads[4] = -0.7 * loads[0]  # a teacher's field that is a student's
    c = loads @ loads.T
    students, both = ([np.full((K, n), np.nan) for _ in range(3)] for n in (K, M))
    arrays = (each for pair in zip(students, both, strict=True) for each in pair)
    polar.polar_pair_means(c[:K, :K], c[:K, K:], c[K:, K:], np.zeros(K), np.zeros(M), *arrays)
    for i in range(K):
        for j in range(K + M):
            si, sj = math.sqrt(c[i, i]), math.sqrt(c[j, j])
            rho = float(np.clip(c[i, j] / (si * sj), -1.0, 1.0))
            angle, rest = math.acos(rho), math.sqrt(1 - rho * rho)
            value = si * sj * (rest + (math.pi - angle) * rho) / (2 * math.pi)
            slope, curvature = (math.pi - angle) / (2 * math.pi), sj * rest / (4 * math.pi * si)
            if j >= K:
                curvature *= 2
                value = 2 * value + si * rho / math.sqrt(2 * math.pi)
                slope = 2 * slope + 1 / (math.sqrt(2 * math.pi) * sj)
            found = [each[i, j - K * (j >= K)] for each in (both if j >= K else students)]
            assert found == pytest.approx([value, slope, curvature], abs=1e-8)


@pytest.mark.parametrize("room", [10, 40])
def test_a_line_without_room_for_its_points_has_no_mean(room: int) -> None:
    """Compiled code does not look where it writes."""
    cuts = np.zeros((4, 2))
    count = plane_lines._cut_at(cuts, 0, np.zeros(1), (0.2, 0.7, 1e-5), RULE, 1.0)
    whole, line = np.empty((2, plane_lines._LINE)), np.full((2, room), 7.0)
    assert plane_lines._points(cuts.copy(), count, 0.0, RULE, whole) > room
    used = plane_lines._points(cuts, count, 0.0, RULE, line)
    assert used <= room
    assert math.isnan(line[1, :used].sum())


def signs_and_moduli(rows: np.ndarray, rest: float) -> float:
    """E[sgn(a) sgn(b) |c| |d|] of fields of a plane, of which d has a rest, by angles."""
    sizes, angles = np.hypot(*rows.T), np.arctan2(rows[:, 1], rows[:, 0])

    def modulus(y: float) -> float:
        if rest == 0.0:
            return abs(y)
        density = rest * math.sqrt(2 / math.pi) * math.exp(-0.5 * (y / rest) ** 2)
        return float(y * (2 * ndtr(y / rest) - 1) + density)

    def at(angle: float) -> float:
        a, b, c, d = sizes * np.cos(angle - angles)
        ends = [0.0, *(k * rest / max(abs(d), 1e-12) for k in (1, 5, 20)), 2.0, 12.0]
        ends = sorted(min(each, 12.0) for each in ends)
        along = sum(
            quad(lambda r: r * r * math.exp(-r * r / 2) * modulus(r * d), *both, epsabs=1e-14)[0]
            for both in pairwise(ends)
        )
        return float(np.sign(a * b) * abs(c) * along)

    turns = np.sort(np.r_[(angles + math.pi / 2) % math.pi, 0.0, math.pi])
    return sum(quad(at, *ends, epsabs=1e-12)[0] for ends in pairwise(turns)) / math.pi


@pytest.mark.parametrize("rest", [1e-7, 0.02])
def test_rests_that_add_nothing_are_left_out(rest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines have room for the points of a plane, but not for those of layers of width 1e-7."""
    rows = np.array([[1.1, 0.0], [0.7, 0.6], [-0.5, 0.8], [0.4, 0.9]])
    c = rows @ rows.T
    c[3, 3] += rest**2
    monkeypatch.setitem(FACTORS, 4, abs)
    monkeypatch.setattr(plane, "_LINE", 130)
    found = mean_of_4(c, (0, 0, 4, 4), np.r_[RULE[:8], 1e-11])
    expected = signs_and_moduli(rows, 0.0 if rest < 1e-6 else rest)
    assert found == pytest.approx(expected, abs=1e-8)


def test_a_plane_without_room_for_its_first_line_has_no_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once the points were dropped, and the mean was 0.09 off."""
    rows = np.array([[1.1, 0.0], [0.7, 0.6], [-0.5, 0.8], [0.4, 0.9]])
    monkeypatch.setattr(plane, "_LINE", 30)
    assert math.isnan(mean_of_4(rows @ rows.T, (0, 0, 1, 1)))


def test_fields_that_are_nearly_one_keep_their_digits() -> None:
    """Lines of polynomials were off by 1e-5 here; truth is a sum over the axes of the fields."""
    loads = np.array(
        [
            [0.220003161, 0.0, 0.0, 0.0],
            [-0.25657455, 7.25224144e-3, 0.0, 0.0],
            [-0.692887258, 8.79350356e-4, 4.09141414e-3, 0.0],
            [-0.743107117, 1.07010925e-3, 4.43487716e-3, 1.10977114e-4],
        ]
    )
    c = loads @ loads.T
    found = mean_of_4(c, (2, 2, 1, 1))
    values, axes = np.linalg.eigh(c)
    along = axes * np.sqrt(values)
    z = np.linspace(-8.5, 8.5, 20001)
    weight = np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    # across the long axis fields hardly change
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    known = 0.0
    for first, share in zip(nodes, weights / weights.sum(), strict=True):
        for second, other in zip(nodes, weights / weights.sum(), strict=True):
            x = along[:, 3:] * z + along[:, 2:3] * first + along[:, 1:2] * second
            slopes = (1 + abs(x[0])) ** -2 * (1 + abs(x[1])) ** -2
            product = slopes * x[2] / (1 + abs(x[2])) * x[3] / (1 + abs(x[3]))
            known += share * other * (weight @ product)
    assert found == pytest.approx(known, abs=1e-7)


# hard tanh with two kinks, max(0, x - 0.3) with one, a slope of hard tanh
HARD, RAMP, STEP = 6, 7, 8
SEVERAL = {HARD: [-1.0, 1.0], RAMP: [0.3], STEP: [-1.0, 1.0]}


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors with kinks at several places."""
    monkeypatch.setitem(FACTORS, HARD, lambda x: max(-1.0, min(1.0, x)))
    monkeypatch.setitem(FACTORS, RAMP, lambda x: max(0.0, x - 0.3))
    monkeypatch.setitem(FACTORS, STEP, lambda x: float(abs(x) < 1))
    kinks = {kind: np.array(places) for kind, places in SEVERAL.items()}
    monkeypatch.setattr(plane_lines, "quadrature_kinks", kinks.__getitem__, raising=False)


def averaged_ramp(y: np.ndarray, width: float) -> np.ndarray:
    """E[max(0, y + width ξ)]."""
    z = y / width
    return y * ndtr(z) + width * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def averaged(kind: int, y: np.ndarray, width: float) -> np.ndarray:
    if kind == RAMP:
        return averaged_ramp(y - 0.3, width)
    return averaged_ramp(y + 1, width) - averaged_ramp(y - 1, width) - 1


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize(
    ("widths", "correlation"),
    [
        ((0.9, 0.7), 0.2),
        ((0.6, 1.2), 0.985),
        # narrow layers take plain Python half a minute
        pytest.param((0.6, 0.5), -0.9, marks=pytest.mark.turns(12)),
        pytest.param((0.16, 0.12), -0.9, marks=pytest.mark.turns(12)),
        pytest.param((0.12, 0.1), 0.4, marks=pytest.mark.turns(12)),
    ],
)
def test_factors_may_have_several_kinks(widths: tuple[float, float], correlation: float) -> None:
    """Given the plane, averages are error functions; what two share is a third integral."""
    parts = np.array([[1.1, 0.0], [0.5, 0.9], [-0.6, 0.8], [0.7, 0.4]])
    own = [width * math.sqrt(1 - abs(correlation)) for width in widths]
    shared = [width * math.sqrt(abs(correlation)) for width in widths]
    shared[1] = math.copysign(shared[1], correlation)
    loads = np.zeros((4, 5))
    loads[:, :2], loads[2:, 2], loads[2, 3], loads[3, 4] = parts, shared, *own
    found = mean_of_4(loads @ loads.T, (STEP, STEP, HARD, RAMP))
    eta, shares = _panels(list(np.linspace(-8.5, 8.5, 35)))
    shares = shares * np.exp(-eta * eta / 2) / math.sqrt(2 * math.pi)
    expected = 0.0
    for t1, weight1 in zip(*_panels([-1 / 1.1, 0.0, 1 / 1.1]), strict=True):
        ends = np.linspace(-1 - 0.5 * t1, 1 - 0.5 * t1, 3) / 0.9
        t2, weight2 = _panels(list(ends))
        y, z = (parts[n, 0] * t1 + parts[n, 1] * t2[:, None] + shared[n - 2] * eta for n in (2, 3))
        inner = (averaged(HARD, y, own[0]) * averaged(RAMP, z, own[1])) @ shares
        density = np.exp(-(t1**2 + t2**2) / 2) / (2 * math.pi)
        expected += weight1 * float(weight2 * density @ inner)
    assert found == pytest.approx(expected, abs=2e-10)


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("correlation", [0.3, -0.95, 1 - 1e-9, 1.0])
def test_means_of_two_go_over_a_line(correlation: float) -> None:
    rule = np.array([0.5, 0.5, 8.0, 0.01, 1e-13, 1.0, 0.03, 30.0])
    moments = (1.7, correlation * math.sqrt(1.7 * 0.6), 0.6)
    width = math.sqrt(0.6 * (1 - correlation**2))

    def integrand(t: float) -> float:
        y = np.array(correlation * math.sqrt(0.6) * t)
        other = averaged(RAMP, y, width) if width > 0 else max(0.0, float(y) - 0.3)
        return FACTORS[HARD](math.sqrt(1.7) * t) * float(other) * math.exp(-t * t / 2)

    kink, layer = 0.3 / (correlation * math.sqrt(0.6)), 12 * width
    kinks = [-1 / math.sqrt(1.7), 1 / math.sqrt(1.7), kink - layer, kink, kink + layer]
    ends = sorted({-9.0, *(k for k in kinks if abs(k) < 9), 9.0})
    pieces = [quad(integrand, a, b, epsabs=1e-13, limit=200)[0] for a, b in pairwise(ends)]
    expected = sum(pieces) / math.sqrt(2 * math.pi)
    for kinds, own in (((HARD, RAMP), moments), ((RAMP, HARD), moments[::-1])):
        found = line_mean._line_mean_of_2(rule, kinds, own, (0.0, 0.0))
        assert found == pytest.approx(expected, abs=3e-11)


@pytest.mark.parametrize("scale", [1.0, 0.75])
def test_the_scale_of_factors_decides_where_fields_are_nearly_in_the_plane(scale: float) -> None:
    """E[relu(√2 t)² (-1/cosh²(0.3 t + 0.1 v)) exp(-2 t²)]; the last field has a rest of 1e-6."""
    t, weights = _panels([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0])
    v, of_v = np.polynomial.hermite_e.hermegauss(40)
    sech = (np.cosh(0.3 * t[:, None] + 0.1 * v) ** -2.0) @ of_v / math.sqrt(2 * math.pi)
    exact = -np.sum(weights * 2 * t * t * np.exp(-2.5 * t * t) * sech) / math.sqrt(2 * math.pi)
    root = math.sqrt(2)
    loads = np.array([[root, 0, 0, 0], [0.3, 0.1, 0, 0], [-root, 0, 1e-6, 0], [0, 0, 0, 0]])
    rule = np.array([14.0, 26.6, 7.5, scale, 2e-11, 0.0, 0.3, 18.6, 0.0])
    found = mean_of_4(loads @ loads.T, (5, 6, 7, 8), rule)
    if scale < 1.0:
        assert found == pytest.approx(exact, abs=5e-12)
    else:
        # panels that grow are too long for exp(-x²)
        assert 2e-11 < abs(found - exact) < 2e-10


def test_the_scale_is_measured() -> None:
    """Panels that grow do for functions that vary less away from kinks, and for straight pieces."""
    errors = {
        (name, scale): error_of_panels(factor, kinks, scale, 2.0)
        for name, factor, kinks in (
            ("Gaussian", FACTORS[7], [0.0]),
            ("softsign", FACTORS[1], [0.0]),
            ("pieces", lambda x: abs(x + 0.5) - abs(x - 1) / 2, [-0.5, 1.0]),
        )
        for scale in (1.0, 0.75)
    }
    assert errors["Gaussian", 1.0] > 5e-11 > 2e-11 > errors["Gaussian", 0.75]
    assert errors["softsign", 1.0] < 5e-12
    assert errors["pieces", 1.0] < 1e-14
