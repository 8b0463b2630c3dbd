"""E[x_i sgn(w·x)] of nonlinear Gaussian processes, and how far the notes' approximation is off.

At infinite gain it is a sum over orthants of the Gaussian beneath: exact up to four sites (pairs of
signs are arcsines, four signs one integral), by Genz's quasi-random rule beyond, with its standard
error. At finite gain, and for many sites, it is a mean over scrambled Sobol points, with theirs.

The notes take one site for the whole field: given x_i, the rest of w·x as Gaussian with the right
mean and variance. Then E[x_i sgn S] = E[x erf(a_i x/√2)] over the law of one site, with
a_i = (Σ w)_i/√(w·Σ w − (Σ w)_i²) for unit variance. That is exact for Gaussian inputs, and an
approximation for all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import erf, ndtri

from symderiv.inputs import ring
from symderiv.inputs.ring import Floats
from symderiv.inputs.ring_inputs import NonlinearProcess
from symderiv.numerics.nodes import gauss_hermite
from symderiv.numerics.signs.sign_mean4 import sign_mean4

__all__ = ["SampledSignMeans", "one_site_flow", "one_site_means", "orthants", "sign_means"]

#: Largest number of sites for which all orthants are summed.
MAX_ORTHANT_SITES = 8
#: Largest number of sites for which the probabilities of orthants are exact.
MAX_EXACT_SITES = 4
_NODES = 200
# Number of independent randomisations, whose spread gives the error.
_REPEATS = 16
_ORTHANT_POINTS = 1000


@dataclass(frozen=True)
class SampledSignMeans:
    """The means E[x_i sgn(w·x)] of one class.

    Attributes:
        value: shape (D,).
        standard_error: its standard error, shape (D,); 0 where the sum over orthants is exact
            (to 1e-12).
        approximated: the approximation by the marginal of site i, shape (D,).
        route: ``"orthants"``, ``"orthants by Genz"`` or ``"Sobol"``.
    """

    value: Floats
    standard_error: Floats
    approximated: Floats
    route: str


def sign_means(
    inputs: NonlinearProcess, label: int, weights: Floats, *, points: int = 2**16, seed: int = 0
) -> SampledSignMeans:
    """Return the means for weights of shape (D,), by the best route for the gain and D.

    Args:
        inputs: the process.
        label: the label of the class.
        weights: shape (D,).
        points: inputs of all randomisations together, where the route is a mean over inputs.
        seed: the seed of the randomisations.

    >>> import symderiv as sd
    >>> found = sign_means(sd.NLGP(gain=0.01, lengths=(2, 1)).law, 1, np.eye(40)[0] + 0.5)
    >>> bool(np.all(abs(found.value - found.approximated) < 5 * found.standard_error))
    True
    """
    near = one_site_means(inputs, label, weights)
    if math.isinf(inputs.gain) and inputs.sites <= MAX_ORTHANT_SITES:
        signs, chance, error = orthants(inputs.kernel(label), seed=seed)
        signed = signs * np.sign(signs @ weights)[:, None]
        means = chance @ signed
        exact = inputs.sites <= MAX_EXACT_SITES
        route = "orthants" if exact else "orthants by Genz"
        spread = np.sqrt(error**2 @ signed**2)
        return SampledSignMeans(means, np.asarray(spread), near, route)
    each = _sobol(inputs, label, weights, points // _REPEATS, seed)
    spread = np.std(each, axis=0, ddof=1) / math.sqrt(_REPEATS)
    return SampledSignMeans(np.mean(each, axis=0), spread, near, "Sobol")


def orthants(row: Floats, *, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities that n Gaussians of unit variance on a ring have given signs.

    Args:
        row: first row of their circulant covariance, shape (n,), n at most 8.
        seed: the seed of the quasi-random rule for n > 4.

    Returns:
        Signs (2^n, n), their probabilities, and standard errors of these.
    """
    n = row.size
    covariance: Floats = ring.circulant(row)
    bits = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    signs: Floats = np.where(bits == 1, -1.0, 1.0)
    if n <= MAX_EXACT_SITES:
        total = np.ones(2**n)
        for i, j in combinations(range(n), 2):
            pair = 2.0 / np.pi * math.asin(covariance[i, j])
            total += pair * signs[:, i] * signs[:, j]
        if n == MAX_EXACT_SITES:
            four = sign_mean4(*(float(covariance[i, j]) for i, j in combinations(range(4), 2)))
            total += four * np.prod(signs, axis=1)
        return signs, np.asarray(total / 2**n), np.zeros(2**n)
    chance, error = _genz(covariance, signs, seed)
    return signs, chance, error


def _genz(covariance: Floats, signs: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return the same probabilities by Genz's rule; opposite signs share one."""
    from scipy.stats import multivariate_normal

    half, zero = len(signs) // 2, np.zeros(len(covariance))
    chances = np.empty((_REPEATS, half))
    for repeat in range(_REPEATS):
        random = np.random.default_rng([seed, 5, repeat])
        for index in range(half):
            turned = covariance * np.outer(signs[index], signs[index])
            law = multivariate_normal(
                zero, turned, allow_singular=True, maxpts=_ORTHANT_POINTS, abseps=0.0, releps=0.0,
                seed=random,
            )  # fmt: skip
            chances[repeat, index] = law.cdf(zero)
    mean = np.mean(chances, axis=0)
    error = np.std(chances, axis=0, ddof=1) / math.sqrt(_REPEATS)
    # the second half has the opposite signs of the first, in reverse order
    return np.concatenate([mean, mean[::-1]]), np.concatenate([error, error[::-1]])


def _sobol(inputs: NonlinearProcess, label: int, weights: Floats, points: int, seed: int) -> Floats:
    """Return means over independently scrambled Sobol points, shape (repeats, D)."""
    from scipy.stats import qmc

    root = ring.root(inputs.kernel(label))
    power = max(int(math.log2(max(points, 2))), 1)
    means = []
    for repeat in range(_REPEATS):
        rule = qmc.Sobol(inputs.sites, seed=np.random.default_rng([seed, 4, repeat]))
        x = inputs.values(ndtri(np.clip(rule.random_base2(power), 1e-16, 1.0 - 1e-16)) @ root)
        means.append(np.mean(x * np.sign(x @ weights)[:, None], axis=0))
    return np.stack(means)


def one_site_means(inputs: NonlinearProcess, label: int, weights: Floats) -> Floats:
    """Return E[x_i sgn(w·x)] by the marginal of each site, shape (D,), for weights (D,)."""
    image = ring.circulant(inputs.row(label)) @ weights
    left = np.maximum(weights @ image - image**2, 0.0)
    with np.errstate(divide="ignore"):
        slope = image / np.sqrt(left)
    # one site is a function of one standard Gaussian variable
    z, density = gauss_hermite(_NODES)
    site = inputs.values(z[:, 0])
    conditional = site * erf(slope[:, None] * site / np.sqrt(2.0))
    return np.asarray(conditional @ density)


def one_site_flow(
    inputs: NonlinearProcess, weights: Floats, end: float, *, step: float = 0.1
) -> Floats:
    """Return w(t) of one ReLU unit with the one-site means, shape (D,), by steps of descent.

    For inputs symmetric about 0 E[S 1(S > 0) x] is Σw/2 exactly, so that the flow of the notes'
    equation 4 for one unit is dw/dt = E[x sgn S | 1]/4 − (Σ_1 + Σ_0) w/4: only the signed mean is
    approximated.
    """
    both = ring.circulant(inputs.row(1) + inputs.row(0))
    for _ in range(round(end / step)):
        weights = weights + 0.25 * step * (one_site_means(inputs, 1, weights) - both @ weights)
    return weights
