"""Inputs made from latent vectors: covariances against samples, the limit, files, refusals."""

import math
from pathlib import Path

import mpmath
import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.inputs import DataModel, generator, hidden_manifold, hidden_manifold_limit
from symderiv.inputs.latent import marchenko_pastur, mixture_manifold
from symderiv.inputs.mixture import Mixture, uniform_means
from symderiv.inputs.nonlinearity import Nonlinearity, nonlinearity


def _features(N: int, D: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((N, D))


def _omega(model: DataModel) -> np.ndarray:
    variance = np.repeat(model.single().eigenvalue, model.multiplicities())
    result: np.ndarray = (model.latent.axes * variance) @ model.latent.axes.T
    return result


def _phi(model: DataModel) -> np.ndarray:
    assert model.latent.axes is not None
    N, D = model.latent.cross.shape
    result: np.ndarray = math.sqrt(D / N) * model.latent.axes @ model.latent.cross
    return result


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("sign", mpmath.sign),
        ("relu", lambda u: max(u, 0)),
        ("tanh", mpmath.tanh),
        ("x/(1+abs(x))", lambda u: u / (1 + abs(u))),
        ("log(1+exp(x))", lambda u: mpmath.log(1 + mpmath.exp(u))),
        ("x**2+x", lambda u: u**2 + u),
    ],
)
def test_gaussian_coefficients_against_quadrature(text: str, function: object) -> None:
    found = nonlinearity(text)

    def mean(power: int, factor: int) -> float:
        def integrand(u: mpmath.mpf) -> mpmath.mpf:
            return mpmath.npdf(u) * function(u) ** power * u**factor  # type: ignore[operator]

        return float(mpmath.quad(integrand, [-12, -6, -2, 0, 2, 6, 12]))

    assert found.a == pytest.approx(mean(1, 0), abs=1e-10)
    assert found.b == pytest.approx(mean(1, 1), rel=1e-10)
    assert found.c == pytest.approx(mean(2, 0), rel=1e-10)
    u = np.array([-3.0, -0.5, 0.25, 2.0])
    assert found.function(u) == pytest.approx([float(function(x)) for x in u])  # type: ignore[operator]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_variance_that_is_only_rounding_is_none(scale: float) -> None:
    """Below 1e-13 of the mean square nothing is left of the double-precision coefficients."""

    def made(rest: float) -> Nonlinearity:
        c = scale * (0.25 + 0.5 + rest)
        a, b = math.sqrt(0.25 * scale), math.sqrt(0.5 * scale)
        return Nonlinearity("f", a, b, c, (), np.sin)

    for rest in (-4e-16, 0.0, 2e-16, 5e-14):
        assert made(rest).rest == 0.0
    for rest in (1e-13, 1e-9, 0.4):
        assert made(rest).rest == pytest.approx(scale * rest, rel=2e-2)
    # exactly linear functions, whatever their coefficients
    assert all(nonlinearity(f"{k}*x/7+{k}/3").rest == 0.0 for k in range(1, 6))
    assert nonlinearity("x+x**2/100000").rest == pytest.approx(2e-10, rel=1e-3)


@pytest.mark.parametrize("text", ["sign", "relu", "tanh", "x**2+x"])
def test_covariances_are_those_of_the_inputs(text: str) -> None:
    """To leading order in 1/√D: entry by entry within sampling errors and O(1/D)."""
    N, D, count = 40, 300, 20_000
    model = hidden_manifold(N, D, text, _features(N, D))
    x, c = model.latent.sampler(np.random.default_rng(5), count)
    variance = float(np.mean(np.diag(_omega(model))))
    noise = 6.0 * variance / math.sqrt(count)
    leading = 6.0 * nonlinearity(text).c / D
    assert np.max(np.abs(x.mean(axis=0))) < 6.0 * math.sqrt(variance / count)
    assert np.max(np.abs(x.T @ x / count - _omega(model))) < 3.0 * noise + leading
    assert np.max(np.abs(x.T @ c / count - _phi(model))) < noise + leading


@pytest.mark.parametrize("ratio", [0.3, 1.0, 2.5])
def test_the_limiting_spectrum_has_the_moments_of_marchenko_and_pastur(ratio: float) -> None:
    gamma = 1.0 / ratio
    s, weight = marchenko_pastur(ratio, 200)
    moments = [
        1.0,
        1.0,
        1 + gamma,
        1 + 3 * gamma + gamma**2,
        1 + 6 * gamma + 6 * gamma**2 + gamma**3,
    ]
    for power, moment in enumerate(moments):
        assert weight @ s**power == pytest.approx(moment, rel=1e-12)
    assert (s == 0.0).sum() == (ratio < 1.0)
    F = _features(900, round(900 * ratio), 3)
    drawn = np.linalg.eigvalsh(F @ F.T / F.shape[1])
    for power in (2, 3, 4):
        assert np.mean(drawn**power) == pytest.approx(moments[power], rel=0.05)


def test_the_limit_is_approached_by_drawn_features() -> None:
    limit = hidden_manifold_limit(0.5, "sign")
    component = limit.single()
    wanted = float(component.weight @ (limit.latent.share / component.eigenvalue))
    errors = []
    for N in (100, 800):
        drawn = hidden_manifold(N, N // 2, "sign", _features(N, N // 2, N))
        assert drawn.latent is not None
        one = drawn.single()
        errors.append(abs(one.weight @ (drawn.latent.share / one.eigenvalue) - wanted))
    assert errors[1] < 0.3 * errors[0] + 1e-4
    assert errors[1] < 2e-3


def test_a_generator_is_its_two_covariances(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    N, D = 30, 12
    mixing = rng.standard_normal((N, D)) / math.sqrt(D)
    omega = mixing @ mixing.T + 0.3 * np.eye(N)
    path = tmp_path / "statistics.npz"
    np.savez(path, omega=omega, phi=mixing)
    model = generator(path)
    assert _omega(model) == pytest.approx(omega, abs=1e-12)
    assert _phi(model) == pytest.approx(mixing, abs=1e-12)
    x, c = model.latent.sampler(rng, 40_000)
    assert x.T @ x / 40_000 == pytest.approx(omega, abs=0.1)
    assert x.T @ c / 40_000 == pytest.approx(mixing, abs=0.06)
    assert c.T @ c / 40_000 == pytest.approx(np.eye(D), abs=0.04)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phi": None}, "no array phi"),
        ({"phi": np.ones((5, 2))}, "rows"),
        ({"omega": np.ones((4, 3))}, "square"),
        ({"omega": np.diag([1.0, 1.0, 1.0, -1.0])}, "not a covariance"),
        ({"omega": np.full((4, 4), np.nan)}, "not a finite number"),
        ({"phi": np.array([[0.5, 0.0], [0.0, np.inf], [0.0, 0.0], [0.0, 0.0]])}, "not a finite"),
        ({"omega": np.eye(4) + np.triu(np.ones((4, 4)), 1)}, "not symmetric"),
        ({"phi": 3.0 * np.eye(4)[:, :2]}, "do not fit"),
    ],
)
def test_bad_statistics_are_refused(
    tmp_path: Path, change: dict[str, np.ndarray | None], words: str
) -> None:
    arrays = {"omega": np.eye(4), "phi": 0.5 * np.eye(4)[:, :2], **change}
    path = tmp_path / "bad.npz"
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(InputError, match=words):
        generator(path)


@pytest.mark.parametrize(("size", "fits"), [(0.7, True), (0.75, False)])
def test_inputs_of_different_variance_tell_no_more_of_a_coordinate_than_it_varies(
    tmp_path: Path, size: float, fits: bool
) -> None:
    """c is a sum of both inputs in units of their deviations: of variance 2 size^2."""
    path = tmp_path / "two.npz"
    np.savez(path, omega=np.diag([4.0, 1.0]), phi=size * np.array([[2.0], [1.0]]))
    if fits:
        assert _phi(generator(path)).ravel() == pytest.approx([2 * size, size])
    else:
        with pytest.raises(InputError, match=r"the variance 1\.125, more than 1"):
            generator(path)


@pytest.mark.parametrize(("small", "dead"), [(2.0, True), (4.0, True), (5.0, False)])
def test_variances_within_rounding_of_the_largest_are_zero(
    tmp_path: Path, small: float, dead: bool
) -> None:
    """N times the distance of 1 to the next double, N = 4, and not beyond."""
    least = small * 2.0**-52
    path = tmp_path / "small.npz"
    np.savez(path, omega=np.diag([1.0, 1.0, least, least]), phi=0.5 * np.eye(4)[:, :2])
    found = generator(path).single().eigenvalue
    assert found[-1] == (0.0 if dead else least)
    assert found[0] == 1.0


@pytest.mark.parametrize("assignment", ["sample", "coordinate"])
def test_inputs_of_a_mixture_are_the_manifold_of_its_latent_vectors(assignment: str) -> None:
    N, D = 30, 12
    F = _features(N, D)
    mixture = Mixture(uniform_means(2, D, 1.5, "coordinate", 1), np.full(2, 0.5), assignment, True)
    model, normal = mixture_manifold(N, "x**2", F, mixture), hidden_manifold(N, D, "x**2", F)
    assert model.latent.no_equations is not None
    assert assignment in model.latent.no_equations
    np.testing.assert_array_equal(_omega(model), _omega(normal))
    np.testing.assert_array_equal(_phi(model), _phi(normal))
    x, c = model.latent.sampler(np.random.default_rng(8), 50)
    np.testing.assert_array_equal(c, mixture.sample(np.random.default_rng(8), 50))
    unit = F / np.sqrt(np.sum(F**2, axis=1, keepdims=True))
    # E u^2 = 1 of a normal u is subtracted
    np.testing.assert_allclose(x, (c @ unit.T) ** 2 - 1.0, atol=1e-12)


def test_bad_manifolds_are_refused() -> None:
    with pytest.raises(InputError, match="expected"):
        hidden_manifold(10, 5, "sign", _features(5, 10))
    with pytest.raises(InputError, match="zero"):
        hidden_manifold(10, 5, "sign", np.zeros((10, 5)))
    with pytest.raises(InputError, match="constant"):
        hidden_manifold(10, 5, "2", _features(10, 5))
    with pytest.raises(InputError, match="latent_ratio"):
        hidden_manifold_limit(-1.0, "sign")
    with pytest.raises(InputError, match="largest"):
        hidden_manifold(5000, 2, "sign", _features(5000, 2))


def test_messages_name_the_file_or_what_it_is_called(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", omega=np.diag([1.0, -1.0]), phi=np.eye(2))
    with pytest.raises(InputError, match=r"^file: g\.npz: omega is not a covariance"):
        generator(tmp_path / "g.npz")
    with pytest.raises(InputError, match=r"^file: mine: omega is not a covariance"):
        generator(tmp_path / "g.npz", name="mine")


@pytest.mark.parametrize("text", ["3", "0*x-2", "x/x"])
def test_constant_inputs_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is constant"):
        nonlinearity(text)
