"""Diagonal plus low rank against dense eigenvalues and against 60-digit Newton steps."""

import math
from importlib.util import find_spec, module_from_spec
from types import ModuleType

import flint
import mpmath
import numpy as np
import pytest
from flint import arb

from symderiv.analysis.low_rank import (
    LowRankSpectrum,
    exponential_sum,
    low_rank_spectrum,
    secular_roots,
)
from symderiv.compiled_code import compiled
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.inputs.spectra import power_law
from symderiv.precision.balls.working import working_bits

SEED = 11
COUPLINGS = {
    "positive": [[2.0, 0.5], [0.5, 1.0]],
    "negative": [[-1.0, 0.3], [0.3, -0.5]],
    "indefinite": [[0.7, 1.1], [1.1, -0.4]],
    "hollow": [[0.0, 1.0], [1.0, 0.0]],
    "strong": [[300.0, -20.0], [-20.0, 5.0]],
    "weak": [[1e-9, 2e-10], [2e-10, -3e-9]],
}
CLOSE_POLES = {
    "apart": [[1.0, 2.0, 3.0], [1.1, 2.2, 3.3]],
    "of both classes": [[1.0, 2.0, 3.0], [1.0, 2.0 + 4e-16, 3.5]],
    "all": [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]],
}


@pytest.fixture(scope="module")
def loops() -> ModuleType:
    """The loops as plain Python: what this file calls of them is compiled longer than it runs."""
    spec = find_spec("symderiv.analysis.low_rank_loops")
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "compiled", lambda *_, **__: lambda function: function)
        spec.loader.exec_module(module)
    return module


def roots_of(pole: np.ndarray, strength: np.ndarray, numerator: np.ndarray) -> LowRankSpectrum:
    """Of Σ a_k/(d_k - s) = 1."""
    return low_rank_spectrum(pole[None], strength[None], [[-1.0]], numerator[None, None])


def linear_problem(L: int, exponent: float, eta: float) -> tuple[np.ndarray, np.ndarray]:
    component = power_law(L, exponent).single()
    rho = component.eigenvalue[::-1].copy()
    return 2.0 * eta * rho, eta**2 * component.weight * rho**2


def errors_in_60_digits(pole: np.ndarray, strength: np.ndarray) -> tuple[float, float, float]:
    """Largest relative errors of roots, of offsets, and of slopes."""
    roots = roots_of(pole, strength, pole)
    worst = [0.0, 0.0, 0.0]
    before = flint.ctx.dps
    flint.ctx.dps = 60
    try:
        d, a = ([flint.arb(float(x)) for x in array] for array in (pole, strength))
        for j in range(pole.size):
            origin, offset = flint.arb(float(roots.origin[j])), flint.arb(float(roots.offset[j]))
            s = origin + offset
            for _ in range(4):
                value, slope = flint.arb(-1), flint.arb(0)
                for x, y in zip(d, a, strict=True):
                    value += y / (x - s)
                    slope += y / (x - s) ** 2
                s = (s - value / slope).mid()
            exact = (s, s - origin, slope)
            found = (origin + offset, offset, flint.arb(float(roots.slope[j])))
            for place, (one, two) in enumerate(zip(exact, found, strict=True)):
                worst[place] = max(worst[place], abs(float((one - two) / one)))
            # between its poles, so every root is there once
            assert s < d[j]
            assert j == 0 or s > d[j - 1]
    finally:
        flint.ctx.dps = before
    return worst[0], worst[1], worst[2]


@pytest.mark.parametrize("exponent", [0.25, 1.0, 1.5])
@pytest.mark.parametrize(
    ("L", "eta"), [(1, 0.5), (2, 1.7), (9, 1.99), (60, 0.01), (60, 1.0), (20, 2.7)]
)
def test_roots_are_accurate_to_the_last_places(L: int, exponent: float, eta: float) -> None:
    root, offset, slope = errors_in_60_digits(*linear_problem(L, exponent, eta))
    # near the limit of stability the lowest root is as uncertain as 1 - eta/2
    assert root < 1e-14 if eta < 1.9 else root < 1e-13
    assert offset < 1e-13
    assert slope < 2e-13


def test_poles_that_nearly_coincide_and_strengths_of_all_sizes() -> None:
    random = np.random.default_rng(SEED)
    pole = np.sort(random.uniform(0.5, 1.0, 30))
    pole[5] = np.nextafter(pole[4], 2.0)
    pole[11] = pole[10] * (1.0 + 1e-14)
    pole[20:23] = pole[20] * (1.0 + np.array([0.0, 1e-9, 2e-9]))
    strength = 10.0 ** random.uniform(-40.0, -2.0, 30)
    root, offset, _ = errors_in_60_digits(pole, strength)
    assert root < 1e-15
    assert offset < 1e-13


@pytest.mark.parametrize("bounds", [(1.0, 3.0), (-3.0, -1.0), (1e-9, 2.0), (-2.0, -1e-9)])
def test_steps_that_leave_the_bracket_end_in_its_middle(
    bounds: tuple[float, float], loops: ModuleType
) -> None:
    """Far apart, in the middle of their logarithms: offsets from poles may be tiny."""
    lower, upper = bounds
    between = loops._between
    middle = 0.5 * (lower + upper)
    if max(bounds, key=abs) / min(bounds, key=abs) > 4.0:
        middle = math.copysign(math.sqrt(lower * upper), lower)
    for step in (10.0, -10.0):
        assert between(lower, upper, step, 1.5) == pytest.approx(middle, rel=1e-14)
    assert between(lower, upper, 0.0, 0.7 * lower + 0.3 * upper) == 0.7 * lower + 0.3 * upper
    assert between(-1e-9, 2.0, 5.0, 0.0) == 0.5 * (2.0 - 1e-9)


@pytest.mark.parametrize("strength", [(0.3, 0.2), (0.02, 0.7), (0.7, 0.02)])
def test_between_two_poles_the_start_is_the_root(
    strength: tuple[float, float], loops: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With others it is that of the two nearest poles and what the others are in the middle."""
    monkeypatch.setattr(loops, "_MOST_ITERATIONS", 0)
    pole = np.array([[1.0, 1.5]])
    problem = loops.SecularProblem(
        pole, np.array([strength]), np.full((2, 1, 1), -1.0), 1.0, np.empty((1, 2))
    )
    at = loops.Interval(1.0, 1.5, 1, 0, 1)
    origin, offset, _ = loops._root(problem, at)
    s = origin + offset
    assert 1.0 < s < 1.5
    assert strength[0] / (1.0 - s) + strength[1] / (1.5 - s) == pytest.approx(1.0, rel=1e-12)


def test_many_times_are_summed_in_blocks_whose_ends_are_not_lost() -> None:
    rate, amplitude = np.linspace(0.1, 3.0, 4000), np.linspace(1.0, 2.0, 4000)
    alpha = np.linspace(0.0, 4.0, 501)  # of 250 in a block
    found = exponential_sum(alpha, rate, amplitude)
    for n in (0, 249, 250, 251, 499, 500):
        expected = math.fsum(amplitude * np.exp(-rate * alpha[n]))
        assert found[n] == pytest.approx(expected, rel=1e-14)
    assert exponential_sum(np.array(1.5), rate, amplitude).shape == ()


# -- two classes ---------------------------------------------------------------------------------


def dense(pole: np.ndarray, strength: np.ndarray, coupling: np.ndarray) -> np.ndarray:
    L = pole.shape[1]
    U = np.zeros((2 * L, 2))
    U[:L, 0], U[L:, 1] = strength
    return np.asarray(np.diag(pole.ravel()) + U @ coupling @ U.T)


def compare(pole: np.ndarray, strength: np.ndarray, coupling: np.ndarray, seed: int) -> None:
    """With eigenvalues of the matrix in 40 digits, and products of projections on its axes."""
    vectors = np.random.default_rng(seed).standard_normal((3, *pole.shape))
    found = low_rank_spectrum(pole, strength**2, coupling, vectors * strength)
    with mpmath.workdps(40):
        exact, axes = mpmath.eigsy(mpmath.matrix(dense(pole, strength, coupling).tolist()))
        values = np.array([float(x) for x in exact])
        axes = np.array(axes.tolist(), dtype=float)
    assert np.all(np.diff(found.value) >= 0)
    np.testing.assert_allclose(found.value, values, rtol=2e-14, atol=1e-14 * np.abs(values).max())
    expected = axes.T @ vectors.reshape(3, -1).T
    # the sign of an eigenvector is free: products of projections are not
    for a in range(3):
        for b in range(3):
            np.testing.assert_allclose(
                found.projection[:, a] * found.projection[:, b],
                expected[:, a] * expected[:, b],
                rtol=1e-8,
                atol=1e-10,
            )


@pytest.mark.parametrize("name", COUPLINGS)
@pytest.mark.parametrize("L", [1, 2, 7])
@pytest.mark.parametrize("shift", [0.0, -1.5, -4.0])
def test_eigenvalues_and_projections_are_those_of_the_matrix(
    name: str, L: int, shift: float
) -> None:
    """With positive poles, of both signs, and negative ones, in no order."""
    rng = np.random.default_rng(L)
    pole = rng.uniform(0.1, 3.0, (2, L)) + shift
    compare(pole, rng.uniform(0.2, 1.0, (2, L)), np.array(COUPLINGS[name]), L)


@pytest.mark.parametrize("poles", CLOSE_POLES)
@pytest.mark.parametrize("name", sorted(COUPLINGS.keys() - {"weak"}))
def test_poles_of_both_classes_may_coincide_and_lie_as_close_as_doubles_do(
    name: str, poles: str
) -> None:
    strength = np.array([[0.5, 0.4, 0.3], [0.2, 0.6, 0.1]])
    found = low_rank_spectrum(
        pole := np.array(CLOSE_POLES[poles]), strength**2, COUPLINGS[name], np.empty((0, 2, 3))
    )
    assert found.projection.shape == (6, 0)
    exact = np.linalg.eigvalsh(dense(pole, strength, np.array(COUPLINGS[name])))
    np.testing.assert_allclose(found.value, exact, atol=2e-15 * np.abs(exact).max())


def test_an_eigenvalue_near_zero_keeps_the_digits_of_its_equation_there() -> None:
    """S⁻¹ + W(0) = -[[1/2, 1/2], [1/2, 1/2 + 2⁻³⁰]], all of it exact in doubles."""
    pole = np.array([[1.0, 2.0], [1.0, 4.0]])
    square = np.array([[0.25, 1.0], [0.25, 1.0 - 2.0**-28]])
    coupling = np.array([[-1.0, 0.5], [0.5, -1.25]])
    found = low_rank_spectrum(pole, square, coupling, np.empty((0, 2, 2)))
    with mpmath.workdps(60):
        root = [mpmath.sqrt(x) for x in square.ravel()]
        matrix = mpmath.diag(pole.ravel().tolist())
        for i in range(4):
            for j in range(4):
                matrix[i, j] += root[i] * coupling[i // 2, j // 2] * root[j]
        exact = float(mpmath.eigsy(matrix, eigvals_only=True)[0])
    assert 1e-10 < exact < 1e-8
    assert found.value[0] == pytest.approx(exact, rel=1e-15)


def test_positive_eigenvalues_of_two_by_two_matrices_are_counted(loops: ModuleType) -> None:
    """By their eigenvalues, each with its vector."""
    rng = np.random.default_rng(0)
    matrices = rng.standard_normal((200, 3))
    for a, b, c in [*matrices, (1, 1, 1), (-1, 1, -1), (0, 0, 0), (2, 0, 0), (0, 0, -2), (0, 1, 0)]:
        matrix = np.array([[a, b], [b, c]], dtype=float)
        exact = np.linalg.eigvalsh(matrix)[::-1]
        for k, value in enumerate(exact):
            found, *vector = loops.eigenvalue(float(a), float(b), float(c), k + 1)
            assert found == pytest.approx(value, abs=1e-14)
            np.testing.assert_allclose(matrix @ vector, value * np.array(vector), atol=1e-14)
            assert np.hypot(*vector) == pytest.approx(1.0)


def test_what_has_no_such_spectrum_is_refused() -> None:
    pole = np.array([[1.0, 3.0], [2.0, 2.0]])
    with pytest.raises(InputError, match="merged into one"):
        low_rank_spectrum(pole, np.ones((2, 2)), np.eye(2), np.empty((0, 2, 2)))
    with pytest.raises(InputError, match="singular"):
        low_rank_spectrum(pole.T, np.ones((2, 2)), np.ones((2, 2)), np.empty((0, 2, 2)))


# -- any number of digits ------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [1, 2, 9])
def test_roots_on_balls_are_the_eigenvalues(sign: int, size: int) -> None:
    rng = np.random.default_rng(size)
    poles = np.sort(rng.uniform(-2, 1, size))
    strengths = sign * 10.0 ** rng.uniform(-12, 0, size)
    u = np.sqrt(np.abs(strengths))
    exact = np.linalg.eigvalsh(np.diag(poles) - sign * np.outer(u, u))
    balls = [arb(x) for x in poles], [arb(x) for x in strengths]
    found = {}
    for bits in (100, 200):
        with working_bits(bits):
            found[bits] = secular_roots(*balls)
    np.testing.assert_allclose([float(x) for x, _ in found[100]], exact, atol=2e-14)
    # the last of twice the digits is inside, and the radius is that of the digits asked for
    for coarse, fine in zip(found[100], found[200], strict=True):
        for one, other in zip(coarse, fine, strict=True):
            assert one.contains(other)
            assert one.rad() < arb(2) ** -80 * abs(one)
    with working_bits(200):
        for root, slope in found[200]:
            parts = [(a, d - root) for d, a in zip(*balls, strict=True)]
            assert sum((a / gap for a, gap in parts), arb(-1)).contains(0)
            exact_slope = abs(sum((a / gap**2 for a, gap in parts), arb(0)))
            assert abs(exact_slope / slope - 1) < arb(2) ** -100


@pytest.mark.parametrize(
    "strengths", [("40", "30"), ("-40", "-30"), ("30", "1e6"), ("1e-9", "1e-8")]
)
def test_the_outermost_root_may_be_far_from_its_pole(strengths: tuple[str, str]) -> None:
    """1 + h_1/(s - p_1) + h_2/(s - p_2) = 0 is (s - p_1 + h_1)(s - p_2 + h_2) = h_1 h_2."""
    with mpmath.workdps(90):
        p, q = map(mpmath.mpf, strengths)
        middle = (3 - p - q) / 2
        apart = mpmath.sqrt(middle**2 - (1 - p) * (2 - q) + p * q)
        exact = [middle - apart, middle + apart]
        slopes = [abs(p) / (1 - s) ** 2 + abs(q) / (2 - s) ** 2 for s in exact]
        texts = [tuple(map(str, each)) for each in zip(exact, slopes, strict=True)]
    with working_bits(200):
        h = [arb(x) for x in strengths]
        for (found, slope), (root, own) in zip(
            secular_roots([arb(1), arb(2)], h), texts, strict=True
        ):
            assert found.rel_accuracy_bits() > 180
            assert ((found - 1 + h[0]) * (found - 2 + h[1]) - h[0] * h[1]).contains(0)
            assert abs(found / arb(root) - 1) < arb(10) ** -55
            assert abs(slope / arb(own) - 1) < arb(10) ** -45


def test_what_has_no_roots_of_this_kind_is_refused() -> None:
    with pytest.raises(ToleranceError, match="different signs"):
        secular_roots([arb(1), arb(2)], [arb(1), arb(-1)])
    # balls that overlap, and numbers that are the same as doubles
    for gap in (0, 1):
        with working_bits(200), pytest.raises(ToleranceError, match="too close"):
            secular_roots([arb(1), 1 + gap * arb(2) ** -60], [arb(1), arb(1)])
    # what the input leaves open is more than how far poles are apart
    wide = arb(1, 0.4)
    with pytest.raises(ToleranceError, match="not enclosed"):
        secular_roots([arb(1), arb(2)], [wide, 10 * wide])
