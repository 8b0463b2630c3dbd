"""Exponents and thresholds of targets, by densities of y that are written here by hand."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0e, k1e
from scipy.stats import norm

import symderiv as sd
from symderiv.foundation.errors import NotYetError


def product() -> float:
    """Return α_c of z1 z2: y has the density K0(|y|)/π; A has (a, y) in each row."""

    def density(y: float) -> float:
        a = y * k1e(y) / k0e(y) - 1.0
        return float(2 * k0e(y) * np.exp(-y) / np.pi * (a * a + y * y))

    return 1 / (quad(density, 0, 1, epsabs=1e-13)[0] + quad(density, 1, 60, epsabs=1e-13)[0])


def noise_scale() -> float:
    """Return α_c of z·noise."""

    def density(y: float) -> float:
        return float(2 * k0e(y) * np.exp(-y) / np.pi * (y * k1e(y) / k0e(y) - 1.0) ** 2)

    return 1 / (quad(density, 0, 1, epsabs=1e-13)[0] + quad(density, 1, 60, epsabs=1e-13)[0])


def quartic() -> float:
    """Return α_c of z⁴ - 6 z² + 3: z² = 3 ± √(6 + y), with at most two squares for each y."""

    def density(r: float) -> float:  # over r = √(6 + y), dy = 2 r dr
        squares = [u for u in (3 + r, 3 - r) if u > 0]
        sizes = [2 * norm.pdf(u**0.5) / (2 * u**0.5 * 2 * r) for u in squares]
        mean = sum(s * (u - 1) for s, u in zip(sizes, squares, strict=True)) / sum(sizes)
        return float(2 * r * sum(sizes) * mean**2)

    # the root of 3 - r is taken out below r = 3
    below = quad(lambda t: 2 * t * density(3 - t * t), 0, 3**0.5, epsabs=1e-13, limit=200)[0]
    return 1 / (below + quad(density, 3, 80, epsabs=1e-13, limit=200)[0])


def noisy_length(noise: float) -> float:
    """Return α_c of |z| + noise: given y, |z| is a normal variable cut at 0."""
    s2 = 1 + noise**2

    def density(y: float) -> float:
        m, v = y / s2, noise**2 / s2
        root = v**0.5
        log = norm.logcdf(m / root)
        second = m * m + v + m * root * np.exp(norm.logpdf(m / root) - log)
        return float(2 * norm.pdf(y / s2**0.5) / s2**0.5 * np.exp(log) * (second - 1) ** 2)

    return 1 / quad(density, -12, 15, epsabs=1e-13, limit=200)[0]


def noisy_product(noise: float) -> float:
    """Return α_c of z1 z2 + noise: given y and z2, z1 is normal."""
    z = np.arange(-9, 9, 0.01) + 0.003
    y = np.arange(-40, 40, 0.02)[:, None]
    v = z * z + noise**2
    p = norm.pdf(z) * 0.01 * np.exp(-(y**2) / (2 * v)) / np.sqrt(2 * np.pi * v)
    total = p.sum(axis=1)
    a = (p * z * z).sum(axis=1) / total - 1
    b = (p * z * z * y / v).sum(axis=1) / total
    return float(1 / (0.02 * np.sum(total * (a * a + b * b))))


def noisy_square(noise: float) -> float:
    z = np.arange(-9, 9, 0.002) + 0.0003
    y = np.arange(-4, 70, 0.05)[:, None]
    p = norm.pdf(z) * 0.002 * norm.pdf((y - z * z) / noise) / noise
    total = p.sum(axis=1)
    good = total > 1e-280
    a = (p * z * z).sum(axis=1)[good] / total[good] - 1
    return float(1 / (0.05 * np.sum(total[good] * a * a)))


def two_lengths() -> float:
    """Return α_c of |z1| + |z2|: A is a multiple of 1."""
    nodes, weights = np.polynomial.legendre.leggauss(80)

    def density(y: float) -> float:
        u = y * (nodes + 1) / 2
        p = 4 * norm.pdf(u) * norm.pdf(y - u) * weights * y / 2
        return float(p @ (u * u) / p.sum() - 1) ** 2 * float(p.sum())

    return 1 / quad(density, 0, 16, epsabs=1e-13)[0]


def window() -> float:
    """Return α_c of relu(|z| - 1): 0 with a probability, else |z| is known."""
    p = norm.cdf(1) - norm.cdf(-1)
    rest = quad(lambda z: 2 * norm.pdf(z) * (z * z - 1) ** 2, 1, 40, epsabs=1e-13)[0]
    return float(1 / ((2 * norm.pdf(1)) ** 2 / p + rest))


def band() -> float:
    p = norm.cdf(1) - norm.cdf(-1)
    return float(p * (1 - p) / (2 * norm.pdf(1)) ** 2)


@pytest.mark.days(3)
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("abs(z)", lambda: 0.5),
        ("sign(z1*z2)", lambda: np.pi**2 / 4),
        ("z1**2 + z2**2", lambda: 1.0),
        ("sign(z**2 - 1)", band),
        ("relu(abs(z) - 1)", window),
        ("tanh(z1*z2)", product),
        ("z*noise", noise_scale),
        ("z**4 - 6*z**2 + 3", quartic),
        ("abs(z) + noise/2", lambda: noisy_length(0.5)),
        ("z**2 + noise/2", lambda: noisy_square(0.5)),
        ("max(abs(z1), abs(z2))", two_lengths),
        ("z1*z2 + noise/2", lambda: noisy_product(0.5)),
    ],
)
def test_thresholds_are_those_of_the_density_of_y(
    target: str, expected: Callable[[], float]
) -> None:
    found = sd.thresholds(target)
    assert found.generative_exponent == 2
    assert found.weak_recovery == pytest.approx(expected(), rel=1e-8)
    assert found.error < 1e-9


@pytest.mark.days(3)
@pytest.mark.parametrize(
    ("target", "information", "generative", "leap", "alpha", "ways"),
    [
        ("z", 1, 1, [1], 0.0, "symbols"),
        ("tanh(z)", 1, 1, [1], 0.0, "numbers"),
        ("z**3 - 3*z", 3, 1, [3], 0.0, "symbols"),
        ("z**2*exp(-z**2)", 4, 4, [4], np.inf, "numbers"),
        ("sign(z1*z2*z3)", 3, 3, [3], np.inf, "symbols"),
        ("z1 + z1*z2 + z1*z2*z3", 1, 1, [1, 1, 1], 0.0, "symbols"),
        ("z1 + z1*z2*z3", 1, 1, [1, 2], 0.0, "symbols"),
        # the committee: its sum first, differences of units by even degrees
        ("erf(z1) + erf(z2)", 1, 1, [1, 2], 0.0, "symbols"),
        # the same target in turned directions
        ("(z1 + z2)/sqrt(2) + (z1**2 - z2**2)/2", 1, 1, [1, 1], 0.0, "symbols"),
        ("sign(z1 + z2 + noise)", 1, 1, [1], 0.0, "symbols"),
        ("z*noise", None, 2, [], None, "symbols"),
    ],
)
def test_exponents(
    target: str,
    information: int | None,
    generative: int,
    leap: list[int],
    alpha: float | None,
    ways: str,
) -> None:
    found = sd.thresholds(target)
    assert found.information_exponent == information
    assert found.generative_exponent == generative
    assert list(found.leap) == leap
    assert found.decided["generative_exponent"] == ways
    if alpha is not None:
        assert found.weak_recovery == alpha


def escape(k: int, overlap: float) -> float:
    """Return η times the time at which a student on the sphere has overlap ½ with its teacher."""
    system = sd.System()
    x = system.inputs("x")
    w, B = system.vectors("w"), system.vectors("B", fixed=True)
    eta = system.parameter("eta", 1e-9)
    g = sd.activation({1: "x", 2: "x**2 - 1", 3: "x**3 - 3*x"}[k])
    system.descend((g(w @ x) - g(B @ x)) ** 2 / 2, {w: eta})
    system.constrain(w, "sphere")
    times = np.linspace(0, {1: 3, 2: 10, 3: 1 / overlap}[k], 2000) / 1e-9
    run: Any = system.solve(alpha=times, initial={"w.w": 1.0, "w.B": overlap, "B.B": 1.0})
    return float(np.interp(0.5, np.ravel(run["w.B"]), run.alpha) * 1e-9)


def test_runs_escape_as_the_leap_says() -> None:
    """From overlap N^(-1/2) the time is constant, grows with ln N, or with N^((k - 2)/2)."""
    said = {}
    for k, target in ((1, "z"), (2, "z**2 - 1"), (3, "z**3 - 3*z")):
        far, near = escape(k, 1e-2), escape(k, 1e-4)
        said[sd.thresholds(target).examples] = (far, near)
    assert said["O(N)"][1] == pytest.approx(said["O(N)"][0], rel=0.02)
    # dm/dt = 4 m (1 - m²): each factor of 100 costs ln(100)/4
    assert np.diff(said["O(N log N)"])[0] == pytest.approx(np.log(100) / 4, rel=1e-3)
    assert said["O(N^2)"][1] / said["O(N^2)"][0] == pytest.approx(100, rel=0.03)


def test_what_is_not_served_is_said() -> None:
    found = sd.thresholds("z1*z2*z3")
    assert found.weak_recovery is None
    assert found.generative_exponent == 2
    assert "level sets" in found.warnings[0]
    with pytest.raises(sd.InputError, match="target: 'x' is not a field"):
        sd.thresholds("x**2")
    with pytest.raises(sd.InputError, match="target: must be text"):
        sd.thresholds(3)
    with pytest.raises(NotYetError, match="target: has 5 fields"):
        sd.thresholds("z1*z5")
    with pytest.raises(sd.InputError, match="known only if the generative exponent is 2"):
        sd.thresholds("z").plot()


def test_means_given_y_are_drawn() -> None:
    axes = sd.thresholds("sign(z1*z2)").plot()
    assert [line.get_ydata()[0] for line in axes.get_lines()[:3]] == pytest.approx(
        [0.0, 2 / np.pi, 0.0], abs=1e-12
    )
