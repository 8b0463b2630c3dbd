"""Covariances of inputs on a ring against quadrature, enumeration and samples."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import erf

from symderiv.foundation.errors import InputError
from symderiv.inputs import ring
from symderiv.inputs.ring_inputs import GaussianRing
from symderiv.problem.input_models import NLGP, SinglePulse


@pytest.mark.parametrize(("convention", "inner"), [("erf(u/sqrt(2))", 0.5), ("erf(u)", 1.0)])
def test_the_covariance_of_a_nonlinear_process_is_its_integral(
    convention: str, inner: float
) -> None:
    gain, length = 1.7, 1.8
    inputs = NLGP(gain=gain, lengths=length, sites=12, convention=convention)

    def mean(c: float) -> float:
        def density(u: float, v: float) -> float:
            scale = math.sqrt(1.0 - c * c)
            second = c * u + scale * v
            value = erf(gain * math.sqrt(inner) * u) * erf(gain * math.sqrt(inner) * second)
            return float(value * math.exp(-0.5 * (u * u + v * v)) / (2.0 * math.pi))

        return float(dblquad(density, -9, 9, -9, 9, epsabs=1e-10)[0])

    kernel = math.exp(-((2.0 / length) ** 2))
    variance = mean(1.0 - 1e-15)
    assert inputs.row(1)[2] == pytest.approx(mean(kernel) / variance, abs=1e-8)
    assert inputs.row(1)[0] == pytest.approx(1.0, abs=1e-14)


def test_limits_of_the_gain() -> None:
    kernel = ring.gaussian_kernel(12, 2.0)
    faint = NLGP(gain=1e-4, lengths=(2.0, 1.0), sites=12)
    np.testing.assert_allclose(faint.row(1), kernel, atol=1e-7)
    signs = NLGP(gain=math.inf, lengths=(2.0, 1.0), sites=12)
    np.testing.assert_allclose(signs.row(1), 2.0 / np.pi * np.arcsin(kernel), atol=1e-14)
    drawn = signs.sample(0, (5,), np.random.default_rng(0))
    assert set(np.unique(drawn)) == {-1.0, 1.0}


@pytest.mark.parametrize("complement", [True, False])
def test_the_covariance_of_pulses_is_that_of_all_of_them(complement: bool) -> None:
    sites, least, most = 9, 5, 7
    inputs = SinglePulse(lengths=((least, most), 2), sites=sites, complement=complement)
    every = []
    for start, length in product(range(sites), range(least, most + 1)):
        pulse = np.zeros(sites)
        pulse[[(start + step) % sites for step in range(length)]] = 1.0
        every += [pulse, 1.0 - pulse] if complement else [pulse]
    exact = np.cov(np.array(every).T, bias=True)
    np.testing.assert_allclose(inputs.covariance(1), exact / exact[0, 0], atol=1e-13)
    drawn = inputs.sample(1, (3000,), np.random.default_rng(1))
    assert abs(np.mean(drawn)) < 0.1
    assert np.mean(drawn**2) == pytest.approx(1.0, abs=0.1)


def test_samples_have_the_covariance_that_is_stated() -> None:
    rng = np.random.default_rng(2)
    inputs = NLGP(gain=3.0, lengths=(1.9, 1.0), sites=10)
    for source in (inputs, inputs.surrogate()):
        for label in (0, 1):
            drawn = source.sample(label, (40000,), rng)
            np.testing.assert_allclose(np.cov(drawn.T), source.covariance(label), atol=0.04)


def test_the_real_fourier_basis_diagonalises() -> None:
    for sites in (7, 8):
        row = ring.gaussian_kernel(sites, 1.3)
        basis = ring.fourier_basis(sites)
        np.testing.assert_allclose(basis.T @ basis, np.eye(sites), atol=1e-13)
        diagonal = basis.T @ ring.circulant(row) @ basis
        np.testing.assert_allclose(diagonal, np.diag(ring.eigenvalues(row)), atol=1e-13)
        root = ring.root(row)
        np.testing.assert_allclose(root @ root, ring.circulant(row), atol=1e-13)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: NLGP(gain=0.0, lengths=(2, 1)), "gain"),
        (lambda: NLGP(gain=math.nan, lengths=(2, 1)), "gain"),
        (lambda: NLGP(gain=1.0, lengths=(2, -1)), "lengths"),
        (lambda: NLGP(gain=1.0, lengths=(30, 1)), "lengths"),
        (lambda: NLGP(gain=1.0, lengths=(2, 1), sites=1), "sites"),
        (lambda: NLGP(gain=1.0, lengths=(2, 1), convention="tanh"), "convention"),
        (lambda: SinglePulse(lengths=(0, 2)), "lengths"),
        (lambda: SinglePulse(lengths=(40, 2)), "lengths"),
        (lambda: GaussianRing(((1.0, 0.3, 0.1), (1.0, 0.3, 0.3))), "rows"),
        (lambda: GaussianRing(((1.0, -0.9, -0.9), (1.0, 0.3, 0.3))), "rows"),
    ],
)
def test_what_is_no_input_is_refused(make: object, argument: str) -> None:
    with pytest.raises(InputError) as raised:
        make()  # type: ignore[operator]
    assert raised.value.argument == argument
