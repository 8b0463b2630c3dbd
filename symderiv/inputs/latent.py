r"""Inputs made from a latent vector c ~ N(0, I_D), on which the teacher acts: y_n = c·W_n/√D.

The student sees centred inputs x with covariance Ω = E[x xᵀ] and cross-covariance Φ = E[x cᵀ]. In
the spectral equations only the eigenvalues of Ω occur, and the vectors φ_n = √N E[x y_n] =
√(N/D) Φ W_n in its eigenbasis: r_k = J·φ, t_k = φ·φ. T = W Wᵀ/D is more than what the inputs tell
about the teacher.

For the hidden manifold x = f(u) - E f, u = F c/√D with rows of F of squared length D,

    Ω = (E f² - (E f)² - b²) I + b² F Fᵀ/D,   Φ = b F/√D,   b = E u f(u)

to leading order in 1/√D (Goldt et al. 2020, Phys. Rev. X 10, 041044; N x D here).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.inputs.array_files import read_matrix
from symderiv.inputs.covariance_spectrum import GROUPING_TOLERANCE, group_close
from symderiv.inputs.given import Given, Source
from symderiv.inputs.latent_teacher import LatentTeacher, Sampler
from symderiv.inputs.mixture import Mixture
from symderiv.inputs.model import Component, DataModel
from symderiv.inputs.nonlinearity import Nonlinearity, nonlinearity

__all__ = [
    "LatentTeacher",
    "generator",
    "hidden_manifold",
    "hidden_manifold_limit",
    "mixture_manifold",
]

#: Largest dimension in which the covariance of inputs is diagonalised with its eigenvectors.
MAX_DIMENSION = 4096
#: Default number of nodes of the limiting spectrum.
NODES = 64


def hidden_manifold(
    dimension: int, latent_dimension: int, function: str, features: np.ndarray
) -> DataModel:
    """Return inputs f(F c/√D) - E f of given features.

    Args:
        dimension: N.
        latent_dimension: D.
        function: f, a name or a formula in x.
        features: F, shape (N, D); rows are scaled to the squared length D.

    Raises:
        InputError: shapes do not fit, a row is zero, f is not acceptable, or N is too large.
    """
    N, D = dimension, latent_dimension
    if features.shape != (N, D):
        raise InputError(
            f"have the shape {features.shape}, expected (dimension, latent_dimension) = ({N}, {D})",
            argument="features",
        )
    _refuse_large(N)
    f = nonlinearity(function)
    lengths = np.linalg.norm(features, axis=1)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0.0):
        raise InputError(
            "have a row that is zero or not finite; give finite rows with at least "
            "one entry other than 0",
            argument="features",
        )
    F = features * (math.sqrt(D) / lengths)[:, None]
    left, singular, right = np.linalg.svd(F / math.sqrt(D))
    s = np.zeros(N)
    s[: singular.size] = singular**2
    linear = np.zeros((N, D))
    count = singular.size
    linear[:count] = (f.b * singular)[:, None] * right[:count]
    remarks = _remarks(f, f"D/N = {D / N:g}")
    return _model(
        "hidden-manifold",
        f.rest + f.b**2 * s,
        left,
        math.sqrt(N / D) * linear,
        remarks,
        _sampler(F / math.sqrt(D), f),
    )


def mixture_manifold(
    dimension: int, function: str, features: np.ndarray, mixture: Mixture
) -> DataModel:
    """Return a hidden manifold whose latent vectors come from a Gaussian mixture; for simulations.

    Spectrum, Q and R are those of the hidden manifold of normal latent vectors with the same
    features, with which simulations are compared; E f is that of normal latent vectors, too.

    Args:
        dimension: N.
        function: f.
        features: F, shape (N, D).
        mixture: the law of the latent vectors.

    Raises:
        InputError: see :func:`hidden_manifold`.
    """
    normal = hidden_manifold(dimension, mixture.means.shape[1], function, features)
    assert normal.latent is not None
    f = nonlinearity(function)
    F = features / np.linalg.norm(features, axis=1)[:, None]
    if mixture.assignment == "coordinate":
        reason = (
            'assignment = "coordinate" is for simulations only: the mixture is inside every '
            "coordinate, so that there are no components to average over"
        )
        if mixture.standardised:
            reason += '; its limit is data.model = "hidden-manifold"'
    else:
        reason = (
            'assignment = "sample" with means of order one in every coordinate is for simulations '
            "only: within a few examples the weights learn the directions of the means, which no "
            "equation in examples / N describes"
        )
    latent = replace(normal.latent, sampler=_sampler(F, f, mixture.sample), no_equations=reason)
    remarks = (
        f"gaussian mixture of {mixture.probabilities.size} components drawn per "
        f"{mixture.assignment}, {'' if mixture.standardised else 'not '}standardised; Q and R by "
        "the covariances of normal latent vectors",
        *normal.remarks,
    )
    return replace(normal, name="gaussian-mixture", latent=latent, remarks=remarks)


def hidden_manifold_limit(ratio: float, function: str, nodes: int = NODES) -> DataModel:
    """Return the limit N, D → ∞ at a given D/N, features with independent normal entries.

    The Marchenko–Pastur density becomes nodes; its atom at zero, for D < N, is a node of its own.

    Args:
        ratio: D/N, positive.
        function: f.
        nodes: number of nodes of the density.

    Raises:
        InputError: the ratio is not positive, there are no nodes, f is not acceptable.
    """
    if not (math.isfinite(ratio) and ratio > 0.0):
        raise InputError(f"{ratio!r} is not a positive number", argument="latent_ratio")
    if nodes < 1:
        raise InputError(f"{nodes} is below 1", argument="nodes")
    f = nonlinearity(function)
    s, weight = marchenko_pastur(ratio, nodes)
    eigenvalue = f.rest + f.b**2 * s
    share = f.b**2 * s / ratio
    component = Component(1.0, eigenvalue, weight)
    latent = LatentTeacher(None, None, None, share, None)
    remarks = _remarks(f, f"D/N = {ratio:g}, {s.size} nodes of the limiting spectrum")
    return DataModel("hidden-manifold", (component,), None, remarks, latent)


def marchenko_pastur(ratio: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for the eigenvalues s of F Fᵀ/D (N x N), descending.

    With γ = N/D and s = 1 + γ + 2 √γ cos θ the density is (2/π) sin²θ/s dθ, analytic and even in θ,
    so that the midpoint rule converges like (min(γ, 1/γ))^nodes.

    Args:
        ratio: D/N.
        nodes: number of nodes besides the atom at zero, of weight 1 - D/N for D < N.
    """
    gamma = 1.0 / ratio
    theta = np.pi * (np.arange(nodes) + 0.5) / nodes
    s = 1.0 + gamma + 2.0 * math.sqrt(gamma) * np.cos(theta)
    weight = 2.0 / nodes * np.sin(theta) ** 2 / s
    if gamma > 1.0:
        weight *= (1.0 / gamma) / weight.sum()
        return np.append(s, 0.0), np.append(weight, 1.0 - 1.0 / gamma)
    weight /= weight.sum()
    return s, weight


def generator(path: Source, *, name: str | None = None) -> DataModel:
    """Return inputs of a generator by their statistics: Ω (N, N) and Φ (N, D) of an .npz file.

    Args:
        path: a file with the arrays ``omega`` and ``phi``, as E[x xᵀ] and E[x cᵀ] of centred x.
        name: the name of the file in messages.

    Raises:
        InputError: an array is missing or not acceptable, shapes do not fit, Ω is not a covariance,
            or Φ is inconsistent with inputs of covariance Ω.
    """
    name = name or path.name
    changed = 0 if isinstance(path, Given) or not path.exists() else path.stat().st_mtime_ns
    omega, phi = _read_generator(path, changed, name)
    N, D = phi.shape
    values, axes = np.linalg.eigh(omega)
    values, axes = values[::-1].copy(), axes[:, ::-1]
    rounding = N * float(np.finfo(np.float64).eps) * float(values[0])
    if values[-1] < -1e3 * rounding:
        raise InputError(
            f"{name}: omega is not a covariance: it has the eigenvalue {values[-1]:.3g}",
            argument="file",
        )
    values[values <= rounding] = 0.0
    cross = axes.T @ phi
    alive = values > 0.0
    explained = (cross[alive] / values[alive, None]).T @ cross[alive]
    largest = float(np.linalg.eigvalsh(explained)[-1])
    dead = float(np.max(np.abs(cross[~alive]), initial=0.0))
    if largest > 1.0 + 1e-6 or dead > 1e-6 * math.sqrt(float(values[0])):
        raise InputError(
            f"{name}: phi and omega do not fit: the best linear guess of a latent coordinate "
            f"from the inputs would have the variance {largest:.6g}, more than 1",
            argument="file",
        )
    cross[~alive] = 0.0
    remarks = (
        f"generator of {name}, N = {N}, D = {D}{_estimated(path, name)}; in a simulation inputs "
        "and latent vectors are drawn as Gaussian with these covariances",
    )
    sampler = _gaussian_sampler(values, axes, cross)
    return _model("generator", values, axes, math.sqrt(N / D) * cross, remarks, sampler)


def _gaussian_sampler(values: np.ndarray, axes: np.ndarray, cross: np.ndarray) -> Sampler:
    """Return a sampler of Gaussian (x, c), E[x xᵀ] = Ω, E[x cᵀ] = Φ, E[c cᵀ] = I: draws x, then c
    given x.
    """
    alive = values > 0.0
    guess = np.zeros_like(cross)
    guess[alive] = cross[alive] / values[alive, None]
    left = np.eye(cross.shape[1]) - guess.T @ cross
    variances, directions = np.linalg.eigh(0.5 * (left + left.T))
    remainder = directions * np.sqrt(np.clip(variances, 0.0, None))
    deviation = np.sqrt(values)

    def sample(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        z = random.standard_normal((count, values.size)) * deviation
        rest = random.standard_normal((count, cross.shape[1]))
        return z @ axes.T, z @ guess + rest @ remainder.T

    return sample


@lru_cache(maxsize=4)
def _read_generator(path: Source, changed: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    del changed  # a file that was written anew is read anew
    arrays = []
    for key in ("omega", "phi"):
        _, array = read_matrix(path, (key,), key, name=name)
        values = array.astype(np.float64)
        if not np.all(np.isfinite(values)):
            raise InputError(
                f"{name}: {key} holds a value that is not a finite number", argument="file"
            )
        arrays.append(values)
    omega, phi = arrays
    if omega.shape[0] != omega.shape[1]:
        raise InputError(
            f"{name}: omega has the shape {omega.shape}; it must be square", argument="file"
        )
    if phi.shape[0] != omega.shape[0]:
        raise InputError(
            f"{name}: phi has {phi.shape[0]} rows and omega {omega.shape[0]}; both must have N",
            argument="file",
        )
    _refuse_large(omega.shape[0])
    size = float(np.max(np.abs(omega)))
    if float(np.max(np.abs(omega - omega.T))) > 1e-5 * size:
        raise InputError(f"{name}: omega is not symmetric", argument="file")
    return 0.5 * (omega + omega.T), phi


def _estimated(path: Source, name: str) -> str:
    """Return, in words, the number of samples behind a file's covariances, if the file
    states it.
    """
    try:
        _, estimate = read_matrix(path, ("estimate",), "estimate", name=name)
    except InputError:
        return ""
    if estimate.shape != (1, 3):
        return ""
    samples, omega, phi = (float(value) for value in estimate[0])
    return (
        f", estimated from {samples:.0f} samples (relative standard errors: omega {omega:.2g}, "
        f"phi {phi:.2g})"
    )


def _model(
    name: str,
    values: np.ndarray,
    axes: np.ndarray,
    cross: np.ndarray,
    remarks: tuple[str, ...],
    sampler: Sampler,
) -> DataModel:
    """Return a model in the eigenbasis of Ω; eigenvalues equal up to rounding are merged."""
    N = values.size
    order = np.argsort(values)[::-1]
    values, axes, cross = values[order], axes[:, order], cross[order]
    groups = group_close(values, GROUPING_TOLERANCE)
    weight = groups.multiplicity / N
    first = np.concatenate(([0], np.cumsum(groups.multiplicity)[:-1]))
    share = np.add.reduceat(np.sum(cross**2, axis=1), first) / groups.multiplicity
    component = Component(1.0, groups.eigenvalue, weight)
    latent = LatentTeacher(cross.shape[1], axes, cross, share, sampler)
    return DataModel(name, (component,), N, remarks, latent)


def _sampler(
    features: np.ndarray,
    f: Nonlinearity,
    draw: Callable[[np.random.Generator, int], np.ndarray] | None = None,
) -> Sampler:
    """Return a sampler of inputs f(F c) - E f for latent vectors that are normal or drawn by a
    function.
    """
    transposed = np.ascontiguousarray(features.T)

    def sample(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        if draw is None:
            c = random.standard_normal((count, transposed.shape[0]))
        else:
            c = draw(random, count)
        return f.function(c @ transposed) - f.a, c

    return sample


def _remarks(f: Nonlinearity, words: str) -> tuple[str, ...]:
    mean = "" if f.a == 0.0 else f"; the mean E f = {f.a:.6g} is subtracted from the inputs"
    return (
        f"hidden manifold of f(x) = {f.text}, {words}: b = E u f = {f.b:.6g}, "
        f"E f^2 - (E f)^2 - b^2 = {f.rest:.6g}{mean}",
    )


def _refuse_large(N: int) -> None:
    if N > MAX_DIMENSION:
        raise InputError(
            f"{N} is above {MAX_DIMENSION}, the largest whose eigenvectors are computed",
            argument="dimension",
        )
