r"""Linear networks: ε_g(α) averaged over teacher and initial student weights, at any η.

All curves come from :func:`symderiv.analysis.linear.system.linear_system`. Weights of student and
teacher are independent normal numbers of variance S² and T, so the deviation J - B has variance
S² + T in every direction. Spectra are pairs (eigenvalue ρ_k, weight w_k = multiplicity/N).

Source:
    The setting is :cite:`WorschechRosenow2024`, section 4; every formula is derived here. Where the
    printed ones differ see ``docs/notes/linear-networks.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.analysis.linear.decay import ExponentialSum, decay_of
from symderiv.analysis.linear.system import linear_system
from symderiv.analysis.low_rank import Floats, exponential_sum
from symderiv.foundation.errors import InputError

#: Largest number of directions; it takes minutes to compute.
MAX_EIGENVALUES = 200_000
#: Largest dimension of a covariance matrix.
MAX_ROTATED = 4096
SMALLEST_LEARNING_RATE = 1e-100
# Bounds of eigenvalues, so that squares and their inverses stay within the range of a double.
_RANGE = 1e-60


@dataclass(frozen=True)
class Directions:
    """Independent directions of the trained weights, in which a linear student learns.

    Attributes:
        eigenvalue: ρ_k > 0 of the trained directions, shape (n,).
        weight: w_k > 0, their multiplicities over N, shape (n,).
        deviation: initial mean of (J - B)² along each direction, in units of S² + T, shape (n,).
        frozen: the part of E[δ²] that training cannot reach, in units of S² + T.
    """

    eigenvalue: Floats
    weight: Floats
    deviation: Floats
    frozen: float


def eigendirections(eigenvalue: Floats, weight: Floats, trainable: int | None = None) -> Directions:
    """Return the directions if the ``trainable`` largest eigenvalues are trained.

    Args:
        eigenvalue: ρ_k ≥ 0, descending, shape (L,).
        weight: w_k, shape (L,).
        trainable: how many of the L are trained; all when left out.

    Raises:
        InputError: ``trainable`` is not from 1 to L.
    """
    count = eigenvalue.size if trainable is None else trainable
    if not 1 <= count <= eigenvalue.size:
        raise InputError(
            f"{count} is not between 1 and the {eigenvalue.size} directions", argument="trainable"
        )
    if eigenvalue.size > MAX_EIGENVALUES:
        raise InputError(
            f"{eigenvalue.size} are more than the {MAX_EIGENVALUES} that this analysis treats "
            "one by one; group them",
            argument="distinct_eigenvalues",
        )
    positive = eigenvalue[:count] > 0.0
    if not np.min(eigenvalue[:count][positive], initial=math.inf) > _RANGE * eigenvalue[0]:
        raise InputError(
            f"the smallest is below {_RANGE:g} of the largest; leave out "
            "directions along which inputs hardly vary",
            argument="distinct_eigenvalues",
        )
    rho, w = eigenvalue[:count][positive], weight[:count][positive]
    frozen = math.fsum(weight[count:] * eigenvalue[count:])
    return Directions(rho, w, np.ones(rho.size), frozen)


def coordinate_directions(covariance: Floats, trainable: int) -> Directions:
    r"""Return the directions if the first coordinates of some basis are trained.

    The covariance need not be diagonal in it. With Σ in blocks Σ̃ (trained), Σ_x, Σ̂ (frozen) the
    trained weights settle at d̃* = -Σ̃⁻¹ Σ_x d̂, where d = J - B. Around it they relax with the
    eigenvalues λ̃ of Σ̃ as in an eigenbasis, from the mean square 1 + g_k/λ̃_k² with g = diag(Uᵀ
    Σ_x Σ_xᵀ U), and the part of E[δ²] that remains is d̂ᵀ(Σ̂ - Σ_xᵀ Σ̃⁻¹ Σ_x)d̂/N.

    Args:
        covariance: Σ, symmetric, positive semi-definite, shape (N, N).
        trainable: how many coordinates are trained, from 1 to N.

    Raises:
        InputError: ``trainable`` is out of range, or the trained inputs are all constant.
    """
    N = covariance.shape[0]
    if not 1 <= trainable <= N:
        raise InputError(
            f"{trainable} is not between 1 and the {N} directions", argument="trainable"
        )
    inner = covariance[:trainable, :trainable]
    cross = covariance[:trainable, trainable:]
    if not np.trace(inner) > 0.0:
        raise InputError(
            f"the first {trainable} inputs are constant; train more", argument="trainable"
        )
    values, vectors = np.linalg.eigh(inner)
    # Combinations in which inputs do not vary learn nothing; Σ_x vanishes on them, as Σ ≥ 0.
    there = values > N * np.finfo(np.float64).eps * values[-1]
    values = values[there]
    g = np.sum((vectors[:, there].T @ cross) ** 2, axis=1)
    frozen = float(np.trace(covariance[trainable:, trainable:]) - np.sum(g / values)) / N
    return Directions(
        values[::-1].copy(),
        np.full(values.size, 1.0 / N),
        (1.0 + g / values**2)[::-1].copy(),
        max(frozen, 0.0),
    )


def rotated_covariance(eigenvalue: Floats, seed: int) -> Floats:
    """Return a covariance with one input per eigenvalue, in a random orthonormal basis (Haar).

    Args:
        eigenvalue: shape (N,).
        seed: the seed of the basis.

    Raises:
        InputError: N is larger than :data:`MAX_ROTATED`.
    """
    if eigenvalue.size > MAX_ROTATED:
        raise InputError(
            f"{eigenvalue.size} are more than the {MAX_ROTATED} that are "
            "rotated; use the eigenbasis",
            argument="distinct_eigenvalues",
        )
    random = np.random.default_rng(seed)
    normal = random.standard_normal((eigenvalue.size, eigenvalue.size))
    basis, triangle = np.linalg.qr(normal)
    basis *= np.sign(np.diag(triangle))
    matrix: Floats = (basis * eigenvalue) @ basis.T
    return 0.5 * (matrix + matrix.T)


def stability_limit(directions: Directions) -> float:
    """Return the learning rate at which the slowest rate vanishes: 1 = Σ b_k c_k/d_k there.

    The secular function at 0 is linear in η, so its value at one η gives the limit: 2 over
    the sum of the trained eigenvalues divided by N.
    """
    d, b, c = linear_system().numbers(1.0, directions.eigenvalue, directions.weight)
    return 1.0 / math.fsum(b * c / d)


def check_learning_rate(directions: Directions, learning_rate: float) -> None:
    """Refuse a learning rate at which the error does not decay.

    Raises:
        InputError: the learning rate is not positive and finite, or not below
            :func:`stability_limit`.
    """
    if not (math.isfinite(learning_rate) and learning_rate > 0.0):
        raise InputError(f"{learning_rate!r} is not a positive number", argument="learning_rate")
    if learning_rate < SMALLEST_LEARNING_RATE:
        raise InputError(
            f"{learning_rate!r} is below {SMALLEST_LEARNING_RATE:g}, where its "
            "square leaves the range of a double",
            argument="learning_rate",
        )
    limit = stability_limit(directions)
    # the limit is known up to rounding only
    if learning_rate >= limit * (1.0 - 1e-14):
        raise InputError(
            f"{learning_rate:g} is not below the stability limit {limit:.12g} "
            "(2 over the trained eigenvalues' sum divided by N): the error would grow",
            argument="learning_rate",
        )


def generalization_error(
    directions: Directions, learning_rate: float, deviation: Any = 1.0
) -> ExponentialSum:
    """Return ⟨ε_g⟩(α) at any learning rate, in the limit N → ∞.

    Args:
        directions: the trained directions.
        learning_rate: η > 0; above :func:`stability_limit` the first rate is negative.
        deviation: S² + T, or the mean of (J - B)² of each direction, shape (n,), in place of
            an average (then without ``directions.frozen``).
    """
    system = linear_system()
    d, b, c = system.numbers(learning_rate, directions.eigenvalue, directions.weight)
    scale = np.asarray(deviation, dtype=np.float64)
    constant = directions.frozen * float(scale) if scale.ndim == 0 else 0.0
    start = directions.deviation * scale if scale.ndim == 0 else scale
    return decay_of(d, b, c, start, constant).scaled(system.factor)


def small_learning_rate(
    directions: Directions, learning_rate: float, alpha: Any, deviation: float = 1.0
) -> Floats:
    """Return the limit η → 0 at fixed η α: no noise, every direction decays at its own rate d_k.

    Args:
        directions: the trained directions.
        learning_rate: η.
        alpha: times, any shape.
        deviation: S² + T.
    """
    system = linear_system()
    d, _, c = system.numbers(learning_rate, directions.eigenvalue, directions.weight)
    times = np.asarray(alpha, dtype=np.float64)
    curve = exponential_sum(times, d, c * directions.deviation)
    return system.factor * deviation * (curve + directions.frozen)


def finite_dimension(
    eigenvalue: Floats,
    multiplicity: Floats,
    learning_rate: float,
    deviation: float = 1.0,
    trainable: int | None = None,
) -> ExponentialSum:
    r"""Return the exact mean error of SGD on Gaussian inputs at finite N, per update (use
    ``after``).

    One update is d ← (1 - (η/N) ξ ξᵀ) d. Its second moments C_k = E[d_a²] in the eigenspace k close
    on themselves because E[ξ_a² ξ_b²] = λ_a λ_b (1 + 2 δ_ab):

    .. math:: C_k' = C_k - \frac{2\eta}{N} \lambda_k \Bigl(1 - \frac{\eta\lambda_k}{N}\Bigr) C_k
              + \frac{\eta^2}{N^2} \lambda_k \sum_h n_h \lambda_h C_h .

    The term η λ_k/N in brackets is what the limit N → ∞ drops; it is of order 1 for the largest
    eigenvalues of a power law with L = N.

    Args:
        eigenvalue: λ_k > 0, descending, shape (L,).
        multiplicity: n_k, sum N, shape (L,).
        learning_rate: η.
        deviation: S² + T.
        trainable: train the first so many eigenvalues only.

    Raises:
        InputError: η is so large that the mean error grows, or ``trainable`` is out of range.
    """
    N = float(np.sum(multiplicity))
    directions = eigendirections(eigenvalue, multiplicity / N, trainable)
    rho, count = directions.eigenvalue, N * directions.weight
    limit = finite_stability_limit(rho, count, N)
    if learning_rate >= limit:
        raise InputError(
            f"{learning_rate:g} is not below {limit:.12g}, where the mean error of "
            f"SGD at N = {N:g} starts to grow",
            argument="learning_rate",
        )
    small = learning_rate / N
    diagonal = 2.0 * small * rho * (1.0 - small * rho)
    source = small * small * rho
    start = np.full(rho.size, deviation)
    curve = decay_of(diagonal, source, count * rho, start, directions.frozen * deviation * N)
    return curve.scaled(linear_system().factor / N)


def finite_stability_limit(eigenvalue: Floats, multiplicity: Floats, dimension: float) -> float:
    """Return the η at which the exact mean error of SGD stops decaying: Σ n λ η/(2N(1 - ηλ/N)) = 1.

    Args:
        eigenvalue: λ_k > 0 of the trained directions, shape (L,).
        multiplicity: n_k, shape (L,).
        dimension: N.
    """
    share = eigenvalue / dimension

    def excess(eta: float) -> float:
        return 0.5 * eta * math.fsum(multiplicity * share / (1.0 - eta * share)) - 1.0

    low, high = 0.0, 1.0 / float(np.max(share))
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if excess(middle) > 0.0:
            high = middle
        else:
            low = middle
    return low
