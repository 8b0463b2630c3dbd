"""Rates from the definition of one step of gradient descent: no Gaussian calculus at all.

The fields are linear in independent standard normal numbers z, and so is the mean of the inputs
given the fields. With F_i = v_i g'(x_i) δ every rate is a mean of z F_i, F_i F_j, g(x_i) δ or δ²
over z, which is taken by quasi-Monte Carlo, for two fields by nested quadrature, for smooth
functions by a product of Gauss-Hermite rules.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pairs.activations import Activation
from pairs.states import Rates, State

Array = NDArray[np.float64]

SCRAMBLES = 16


@dataclass(frozen=True)
class StatedError:
    """What a module says of the functions it uses in the place of the activations.

    For mixtures: bounds on the errors of values and slopes of the student's and the teacher's
    activation. For quadrature: ``mean``, a bound on the error of every mean.
    """

    student: float = 0.0
    student_slope: float = 0.0
    teacher: float = 0.0
    mean: float = 0.0


@dataclass(frozen=True)
class Reference:
    """Derivatives by examples/N as one vector: dQ (K, K, L), dr (K, M, L), dv (K), ε_g.

    Attributes:
        value: The rates.
        error: Standard error, or the difference of two rules.
        allowed: What the module's stated error may change, propagated to every number.
        scale: Size of the terms that a number is made of, for rounding and relative resolution.
    """

    value: Array
    error: Array
    allowed: Array
    scale: Array


def by_sampling(
    state: State,
    rates: Rates,
    student: Activation,
    teacher: Activation,
    stated: StatedError,
    log2_count: int = 14,
    seed: int = 0,
) -> Reference:
    """Scrambled Sobol points; the standard error is that of independent scrambles."""
    basis, triangle = _span(state)
    rank = len(triangle.T)
    # Heavy tails of polynomials: wider points, weighted.
    width = 1.35 if student.growing or teacher.growing else 1.0
    z = width * _normal_points(rank, log2_count, seed)
    weights = None
    if width > 1:
        radius = np.einsum("dn,dn->n", z, z)
        weights = width**rank * np.exp(-0.5 * radius * (1 - width**-2))
    means = _means(state, student, teacher, stated, triangle @ z, z, weights, SCRAMBLES)
    runs = np.stack([_rates(state, rates, basis, each) for each in means])
    value = runs.mean(axis=0)
    error = runs.std(axis=0, ddof=1) / np.sqrt(SCRAMBLES)
    average = _Means(*(np.mean(part, axis=0) for part in zip(*_tuples(means), strict=True)))
    allowed, scale = _allowed(state, rates, basis, average, stated)
    return Reference(value, error, allowed, scale)


def by_nested_quadrature(
    state: State, rates: Rates, student: Activation, teacher: Activation, stated: StatedError
) -> Reference:
    """K = M = 1, kinks at 0 between panels; the error is the change under a coarser rule."""
    return _by_two_rules(state, rates, (student, teacher), stated, _nested_points, (14, 20))


def by_hermite(
    state: State, rates: Rates, student: Activation, teacher: Activation, nodes: int
) -> Reference:
    """Any units with smooth activations; the error is the change under four nodes fewer."""
    both = student, teacher
    return _by_two_rules(state, rates, both, StatedError(), _hermite_points, (nodes - 4, nodes))


def _by_two_rules(
    state: State,
    rates: Rates,
    both: tuple[Activation, Activation],
    stated: StatedError,
    points: Callable[[Array, int], tuple[Array, Array]],
    orders: tuple[int, int],
) -> Reference:
    basis, triangle = _span(state)
    found = []
    for order in orders:
        z, weights = points(triangle, order)
        (means,) = _means(state, *both, stated, triangle @ z, z, weights, 1)
        found.append((_rates(state, rates, basis, means), means))
    (coarse, _), (fine, means) = found
    allowed, scale = _allowed(state, rates, basis, means, stated)
    return Reference(fine, np.abs(fine - coarse), allowed, scale)


def _span(state: State) -> tuple[Array, Array]:
    """Orthonormal directions (N + H, d) of the inputs that the fields see, and fields over them.

    Nothing is inverted, so that fields may coincide.
    """
    basis, upper = np.linalg.qr(state.factor.T)
    return basis, upper.T


@cache
def _normal_points(dimension: int, log2_count: int, seed: int) -> Array:
    from scipy.special import ndtri
    from scipy.stats import qmc

    runs = []
    for scramble in range(SCRAMBLES):
        rng = np.random.default_rng([seed, dimension, scramble])
        points = qmc.Sobol(dimension, scramble=True, rng=rng).random_base2(log2_count)
        runs.append(ndtri(np.clip(points, 1e-15, 1 - 1e-15)).T)
    return np.hstack(runs)


def _hermite_points(triangle: Array, nodes: int) -> tuple[Array, Array]:
    """A product of rules, exact for powers below twice the nodes of every z."""
    one, weight = np.polynomial.hermite_e.hermegauss(nodes)
    weight = weight / weight.sum()
    size = len(triangle.T)
    points = np.stack([axis.ravel() for axis in np.meshgrid(*[one] * size, indexing="ij")])
    weights = np.ones(1)
    for _ in range(size):
        weights = np.multiply.outer(weights, weight).ravel()
    return points, weights


def _nested_points(triangle: Array, order: int) -> tuple[Array, Array]:
    """Points z (2, n) and weights for fields x = s z_1, y = a z_1 + b z_2 with kinks at 0.

    The inner integral is split where y = 0. As a function of z_1 it changes over |z_1| of order
    b/a, so the outer panels shrink towards 0 geometrically.
    """
    reach = 9.5
    _, (a, b) = triangle
    nodes, gauss = np.polynomial.legendre.leggauss(order)

    def panels(ends: Array) -> tuple[Array, Array]:
        # ends (..., e) ascending -> points and weights (..., (e - 1) order)
        half = np.diff(ends, axis=-1)[..., None] / 2
        middle = ends[..., :-1, None] + half
        points = middle + half * nodes
        shape = (*ends.shape[:-1], -1)
        return points.reshape(shape), (half * gauss).reshape(shape)

    if abs(b) < 1e-13:
        ends = np.concatenate([np.linspace(-reach, 0, 13), np.linspace(0, reach, 13)[1:]])
        outer, weight = panels(ends)
        z = np.stack([outer, np.zeros_like(outer)])
        return z, weight * np.exp(-0.5 * outer**2) / np.sqrt(2 * np.pi)
    scale = min(abs(b / a), 1.0) if a else 1.0
    small = scale * np.array([1, 2, 3, 4.5, 6, 8, 10, 12])
    large = np.linspace(0, reach, 13)[1:]
    grow = small[-1] * 2.0 ** np.arange(1, 40)
    side = np.unique(np.concatenate([small, grow, large]))
    side = side[side <= reach]
    outer, outer_weight = panels(np.concatenate([-side[::-1], [0.0], side]))
    kink = np.clip(-a * outer / b, -reach, reach)
    share = np.linspace(0, 1, 9)
    left = -reach + (kink[:, None] + reach) * share
    right = kink[:, None] + (reach - kink[:, None]) * share[1:]
    inner, inner_weight = panels(np.hstack([left, right]))
    z = np.stack([np.broadcast_to(outer[:, None], inner.shape), inner])
    weights = outer_weight[:, None] * inner_weight * np.exp(-0.5 * np.sum(z**2, axis=0))
    return z.reshape(2, -1), weights.ravel() / (2 * np.pi)


@dataclass(frozen=True)
class _Means:
    """Means over z; the last four only bound errors."""

    force: Array  # E[z F_i]  (d, K)
    products: Array  # E[F_i F_j]
    slopes: Array  # E[v_i g'_i v_j g'_j]
    values: Array  # E[g_i δ]
    error: Array  # E[δ²]/2
    size: Array  # E|z F_i|
    force_bound: Array  # E|z| ΔF_i
    products_bound: Array  # E|F_i| ΔF_j + ...
    slopes_bound: Array
    values_bound: Array
    error_bound: Array
    values_size: Array


def _tuples(means: list[_Means]) -> Iterator[tuple[Array, ...]]:
    for each in means:
        yield tuple(getattr(each, name) for name in _Means.__dataclass_fields__)


def _means(
    state: State,
    student: Activation,
    teacher: Activation,
    stated: StatedError,
    fields: Array,
    z: Array,
    weights: Array | None,
    parts: int,
) -> list[_Means]:
    """Means over each of ``parts`` equal stretches of the points."""
    K = len(state.J)
    g, slope = student.value(fields[:K]), state.v[:, None] * student.slope(fields[:K])
    delta = state.v @ g - state.v_teacher @ teacher.value(fields[K:])
    force = slope * delta
    count = fields.shape[1] // parts
    if weights is None:
        weights = np.full(fields.shape[1], 1.0 / count)
    elif parts > 1:
        weights = weights / count
    # The stated error of the activations, to first and second order in it.
    off = np.abs(state.v).sum() * stated.student + np.abs(state.v_teacher).sum() * stated.teacher
    bent = np.abs(state.v) * stated.student_slope
    approximate = off > 0 or bent.any()
    found = []
    for part in range(parts):
        at = slice(part * count, (part + 1) * count)
        w, d, f, s = weights[at], delta[at], force[:, at], slope[:, at]
        weighted = f * w
        zero = np.zeros(K)
        bounds = [
            *(zero[:, None] * np.zeros(len(z)), np.zeros((K, K)), np.zeros((K, K)), zero),
            np.zeros(()),
        ]
        size = np.abs(z[:, at]) @ np.abs(weighted).T
        values_size = np.abs(g[:, at] * d) @ w
        if approximate:
            change = bent[:, None] * (np.abs(d) + off) + np.abs(s) * off
            cross = np.abs(weighted) @ change.T
            mean_slope = np.abs(s) @ w
            steep = np.outer(mean_slope, bent)
            bounds = [
                (np.abs(z[:, at]) * w) @ change.T,
                cross + cross.T + (change * w) @ change.T,
                steep + steep.T + np.outer(bent, bent),
                stated.student * (np.abs(d) @ w + off) + off * (np.abs(g[:, at]) @ w),
                np.asarray(off * (np.abs(d) @ w) + off**2 / 2),
            ]
        else:
            bounds[0] = np.zeros((len(z), K))
        found.append(
            _Means(
                z[:, at] @ weighted.T,
                weighted @ f.T,
                (s * w) @ s.T,
                g[:, at] @ (w * d),
                np.asarray(0.5 * (w @ d**2)),
                size,
                *bounds,
                values_size,
            )
        )
    return found


def _rates(state: State, rates: Rates, basis: Array, means: _Means) -> Array:
    N = len(state.mode)
    root = np.sqrt(state.eigenvalue[state.mode])
    # E[ξ_a F_i] = √ρ_a (basis E[z F])_a
    step = -rates.learning_rate * np.sqrt(N) * (root[:, None] * (basis[:N] @ means.force)).T
    dJ = step - rates.weight_decay * state.J
    noise = means.products + rates.label_noise**2 * means.slopes
    half = state.overlap(dJ, state.J)
    dQ = half + half.transpose(1, 0, 2)
    dQ += rates.full_order * rates.learning_rate**2 * noise[:, :, None] * state.eigenvalue
    dr = state.overlap(dJ, state.phi)
    dv = -rates.second_layer_learning_rate * means.values
    dv -= rates.second_layer_weight_decay * state.v
    return np.concatenate([dQ.ravel(), dr.ravel(), dv, [means.error]])


def _allowed(
    state: State, rates: Rates, basis: Array, means: _Means, stated: StatedError
) -> tuple[Array, Array]:
    """The stated error in every rate, and the size of the terms of every rate."""
    N = len(state.mode)
    root = np.sqrt(state.eigenvalue[state.mode])[:, None] * rates.learning_rate * np.sqrt(N)
    moved = (root * (np.abs(basis[:N]) @ means.force_bound)).T
    size = (root * (np.abs(basis[:N]) @ means.size)).T + rates.weight_decay * np.abs(state.J)
    squared = rates.learning_rate**2 * state.eigenvalue
    noise = means.products_bound + rates.label_noise**2 * means.slopes_bound
    terms = np.abs(means.products) + rates.label_noise**2 * np.abs(means.slopes)
    diagonal = np.sqrt(np.outer(np.diag(terms), np.diag(terms)))
    allowed = _joined(state, moved, noise[:, :, None] * squared)
    scale = _joined(state, size, diagonal[:, :, None] * squared)
    second = rates.second_layer_learning_rate
    allowed = np.concatenate([*allowed, second * means.values_bound, [means.error_bound]])
    scale = np.concatenate([*scale, second * means.values_size + 0.1, [means.error + 1e-3]])
    if stated.mean:
        allowed = allowed + _means_allowed(state, rates, stated.mean)
    return allowed, scale


def _joined(state: State, moved: Array, noise: Array) -> tuple[Array, Array]:
    half = state.overlap(moved, np.abs(state.J))
    dQ = half + half.transpose(1, 0, 2) + noise
    return dQ.ravel(), state.overlap(moved, np.abs(state.phi)).ravel()


def _means_allowed(state: State, rates: Rates, mean: float) -> Array:
    """An error of every mean E[..] of the equations, through sums that the rates are of them."""
    v, w = np.abs(state.v), np.abs(state.v_teacher)
    total = v.sum() + w.sum()
    # i2_11 is half of E[g'' h]
    A = np.outer(v, v) * mean + np.diag(2 * v * total * mean)
    B = np.outer(v, w) * mean
    # dJ = -η (A J ρ + B φ): one row per student
    moved = A @ np.abs(state.J) * state.eigenvalue[state.mode] + B @ np.abs(state.phi)
    noise = np.outer(v, v) * (total**2 + rates.label_noise**2) * mean
    squared = rates.learning_rate**2 * state.eigenvalue
    parts = _joined(state, rates.learning_rate * moved, noise[:, :, None] * squared)
    second = rates.second_layer_learning_rate * total * mean * np.ones(len(v))
    return np.concatenate([*parts, second, [total**2 * mean / 2]])
