"""Means of fields given y, at the nodes of a quadrature over y.

Three kinds of targets are possible. For one field, level sets are points on the monotone pieces of
y. For two normal variables and a positively homogeneous y, there are rays with y = ρ^d c(θ). With
additive noise, y has a smooth density.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import sympy as sp
from scipy.special import ndtr

from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget, zeros
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError
from symderiv.numerics.nodes import gauss_panels, normal_steps

_REACH = 9.5
_FLAT = 1e-12

Orders = list[tuple[int, ...]]
#: The nodes y, the weights and the means, see :class:`LevelMeans`.
_Nodes = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LevelMeans:
    """A quadrature over y, with conditional means.

    Attributes:
        y: The nodes, shape (q,), as values of a function with the same level sets.
        weights: The probabilities of the nodes, shape (q,).
        means: E[∏ He(z) | y] at each node, shape (orders, q).
    """

    y: np.ndarray
    weights: np.ndarray
    means: np.ndarray

    def sizes(self) -> np.ndarray:
        """Return E|E[∏ He(z) | y]| for each order."""
        sizes: np.ndarray = np.abs(self.means) @ self.weights
        return sizes

    def squares(self) -> np.ndarray:
        """Return the means of products of two conditional means, for all pairs of orders."""
        products: np.ndarray = (self.means * self.weights) @ self.means.T
        return products


def level_means(target: FewFieldTarget, orders: Orders, fine: int) -> LevelMeans:
    """Return conditional means given y at nodes whose number doubles with ``fine``.

    Raises:
        NotYetError: The target is of none of these kinds.
    """
    if len(target.variables) == 1:
        return FieldLevels(target, fine).means(orders)
    degree = _degree(target)
    if len(target.variables) == 2 and degree:
        return _rays(target, degree, orders, fine)
    if target.additive is not None and len(target.fields) <= 2:
        return _smooth(target, orders, fine)
    raise NotYetError(
        f"the level sets of {target.expression} are not known: they are for one field, for two "
        "variables if y is positively homogeneous, for functions of signs, and with additive noise",
        argument="target",
    )


def _hermite(orders: Orders, points: np.ndarray) -> np.ndarray:
    """Return ∏ He(z) at points (r, …), shape (orders, …)."""
    basis = np.eye(max(map(max, orders)) + 1)
    return np.array(
        [
            math.prod(
                np.polynomial.hermite_e.hermeval(z, basis[n]) if n else np.ones_like(z)
                for z, n in zip(points, each, strict=True)
            )
            for each in orders
        ]
    )


def _ends(fine: int) -> _Nodes:
    """Return nodes as shares from both ends of an interval and weights, for integrands singular at
    ends.
    """
    step = 0.2 / 2**fine
    t = step * np.arange(-math.floor(3.7 / step), math.floor(3.7 / step) + 1)
    u = math.pi * np.sinh(t)
    low = 1.0 / (1.0 + np.exp(-u))
    return low, low[::-1], step * math.pi * np.cosh(t) * low * low[::-1]


def _kinks(expression: sp.Expr, variable: sp.Symbol, low: float, high: float) -> list[float]:
    """Return the places where an expression of one variable has kinks, jumps or no derivative."""
    inner = [each.args[0] for each in expression.atoms(sp.Abs, sp.sign)]
    inner.append(sp.diff(expression, variable).doit())
    places: list[float] = []
    for each in inner:
        given = each.replace(sp.DiracDelta, lambda *_: sp.S.Zero)
        given = given.replace(sp.Derivative, lambda *_: sp.S.Zero)
        if not given.free_symbols:
            continue
        function = as_function([variable], given)
        places += zeros(partial(_finite, function), low, high)
    return _apart([low, *places, high])


def _finite(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.nan_to_num(function(x) + 0.0 * x)


def _apart(values: list[float]) -> list[float]:
    distinct: list[float] = []
    for each in sorted(values):
        if not distinct or each - distinct[-1] > 1e-9:
            distinct.append(each)
    return distinct


def _joined(parts: list[_Nodes]) -> _Nodes:
    y, weights, means = (np.hstack([part[n] for part in parts]) for n in range(3))
    return y, weights, means


class FieldLevels:
    """The monotone pieces of a target of one field, and its level sets.

    Attributes:
        f, slope: A function of which y is an increasing function, and its derivative.
        pieces: The ends of pieces on which y is monotone or constant.
    """

    def __init__(self, target: FewFieldTarget, fine: int) -> None:
        (z,) = target.fields
        form = target.level_form
        slope = sp.diff(form, z).replace(sp.DiracDelta, lambda *_: sp.S.Zero)
        self.fine = fine
        self.f, self.slope = (_numbers(each, z) for each in (form, slope))
        ends = _kinks(form, z, -_REACH, _REACH)
        self.pieces = list(itertools.pairwise(ends))
        inner = np.linspace(0.05, 0.95, 7)
        self.flat = [
            bool(np.abs(self.slope(a + (b - a) * inner)).max() < _FLAT) for a, b in self.pieces
        ]
        self.edges = [self._edge(a, b) for a, b in self.pieces]

    def _edge(self, a: float, b: float) -> tuple[float, float]:
        inside = (b - a) * 1e-14
        low, high = self.f(np.array([a + inside, b - inside]))
        return float(low), float(high)

    def means(self, orders: Orders) -> LevelMeans:
        parts = [self._level(n, orders) for n, flat in enumerate(self.flat) if not flat]
        parts += self._atoms(orders)
        return LevelMeans(*_joined(parts))

    def _level(self, n: int, orders: Orders) -> _Nodes:
        parts = []
        for z, weights, points, slopes in self._sets(n, math.inf):
            sizes = np.exp(-(points**2) / 2) / slopes
            total = sizes.sum(axis=1)
            good = np.isfinite(total) & (total > 0.0)
            means = (_hermite(orders, points[None]) * sizes).sum(axis=2)[:, good] / total[good]
            weights = weights * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            parts.append((self.f(z)[good], weights[good], means))
        return _joined(parts)

    def nodes(self, width: float) -> tuple[np.ndarray, np.ndarray]:
        """Return Gauss nodes and weights on parts of pieces of at most a width."""
        edges = [np.linspace(a, b, 2 + int((b - a) / width)) for a, b in self.pieces]
        return gauss_panels(np.unique(np.hstack(edges)), 12)

    def sets(self, width: float) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield nodes z (n,) with weights, and the points of their level sets with slopes, (n, m).

        Args:
            width: The largest width of a part with its own nodes.
        """
        for n, flat in enumerate(self.flat):
            if not flat:
                yield from self._sets(n, width)

    def _sets(self, n: int, width: float) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the level sets of a piece, divided at values where other pieces begin or end."""
        a, b = self.pieces[n]
        inside = [v for edge in self.edges for v in edge if self._within(v, n)]
        cuts = _apart([a, *self._root(n, np.array(sorted(set(inside)))).tolist(), b])
        low, high, shares = _ends(self.fine)
        for left, right in itertools.pairwise(cuts):
            middle = float(self.f(np.array([(left + right) / 2]))[0])
            others = [
                m
                for m in range(len(self.pieces))
                if m != n and not self.flat[m] and self._within(middle, m)
            ]
            parts = max(1, math.ceil((right - left) / width))
            for one, other in itertools.pairwise(np.linspace(left, right, parts + 1)):
                z = np.where(low < 0.5, one + (other - one) * low, other - (other - one) * high)
                points = np.array([z, *(self._root(m, self.f(z)) for m in others)]).T
                slopes = np.abs(self.slope(points))
                regular = np.isfinite(slopes).all(axis=1) & (slopes > 0.0).all(axis=1)
                yield z[regular], (other - one) * shares[regular], points[regular], slopes[regular]

    def _within(self, value: float, n: int) -> bool:
        low, high = sorted(self.edges[n])
        return bool(low < value < high)

    def _root(self, n: int, y: np.ndarray) -> np.ndarray:
        """Return the points at which a monotone piece has given values."""
        a, b = self.pieces[n]
        rises = self.edges[n][0] < self.edges[n][1]
        low, high = np.full(y.shape, a), np.full(y.shape, b)
        for _ in range(70):
            middle = (low + high) / 2
            left = (self.f(middle) < y) == rises
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        root: np.ndarray = (low + high) / 2
        return root

    def atoms(self) -> list[np.ndarray]:
        """Return the intervals, shape (n, 2), on which y is constant, grouped by its value."""
        values: dict[float, list[tuple[float, float]]] = {}
        for (low, _), piece, flat in zip(self.edges, self.pieces, self.flat, strict=True):
            if flat:
                values.setdefault(round(low, 12), []).append(piece)
        return [np.where(np.abs(p) < _REACH, p, 4.0 * np.array(p)) for p in values.values()]

    def _atoms(self, orders: Orders) -> list[_Nodes]:
        """Return the nodes for the values that y has with positive probability."""
        atoms_of_value = []
        for ends in self.atoms():
            p = float(np.sum(ndtr(ends[:, 1]) - ndtr(ends[:, 0])))
            lower = _hermite([(n - 1,) for (n,) in orders], ends[None])
            density = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
            sums = -np.diff(lower * density, axis=-1).sum(axis=(1, 2))
            y = self.f(ends[:1].mean(axis=1))
            atoms_of_value.append((y, np.array([p]), (sums / p)[:, None]))
        return atoms_of_value


def _numbers(expression: sp.Expr, z: sp.Symbol) -> Callable[[np.ndarray], np.ndarray]:
    function = as_function([z], expression)

    def values(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            numbers: np.ndarray = function(x) + 0.0 * x
        return numbers

    return values


def _degree(target: FewFieldTarget) -> float | None:
    """Return d if y(λz) = λ^d y(z) holds at random points, up to rounding, else None."""
    points = np.random.default_rng(1).normal(size=(len(target.variables), 24))
    form = target.level_form
    one = target.values(points, form)
    used = one != 0.0
    if not used.any() or not np.isfinite(one).all():
        return None
    rates = [
        np.log(np.abs(target.values(factor * points, form)[used] / one[used])) / math.log(factor)
        for factor in (1.7, 3.0)
    ]
    d = float(np.median(rates))
    same = all(np.sign(target.values(1.7 * points, form)) == np.sign(one))
    return d if d > 1e-6 and same and np.ptp(rates) < 1e-10 else None


def _rays(target: FewFieldTarget, d: float, orders: Orders, fine: int) -> LevelMeans:
    """Return nodes y = ± t^d; on the ray with angle θ the radius is ρ = t |c(θ)|^(-1/d)."""
    angle = sp.Symbol("angle", real=True)
    first, second = target.variables
    on_circle = target.level_form.xreplace({first: sp.cos(angle), second: sp.sin(angle)})
    c = _numbers(on_circle, angle)
    start = 0.1234  # an angle at which nothing special is likely to happen
    ends = _kinks(on_circle, angle, start, start + 2 * math.pi)
    ends = _apart([*ends, *zeros(c, ends[0], ends[-1])])
    low, high, shares = _ends(fine)
    sides: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {-1: [], 0: [], 1: []}
    for a, b in itertools.pairwise(ends):
        theta = np.where(low < 0.5, a + (b - a) * low, b - (b - a) * high)
        size = np.abs(c(np.linspace(a, b, 7)[1:-1])).max()
        side = 0 if size < _FLAT else int(np.sign(c(np.array([(a + b) / 2]))[0]))
        sides[side].append((theta, (b - a) * shares / (2 * math.pi)))
    rays = [
        _side(c, d, side, np.hstack(parts), orders, fine) for side, parts in sides.items() if parts
    ]
    return LevelMeans(*_joined(rays))


def _side(
    c: Callable[[np.ndarray], np.ndarray],
    d: float,
    side: int,
    parts: np.ndarray,
    orders: Orders,
    fine: int,
) -> _Nodes:
    """Return the nodes with y of one sign, or with y = 0."""
    theta, shares = parts
    rays = np.array([np.cos(theta), np.sin(theta)])[: len(orders[0])]
    if side == 0:
        rho, rest = gauss_panels(np.linspace(0.0, 13.0, 9), 20)
        radial = rest * rho * np.exp(-rho * rho / 2)
        he = _hermite(orders, rho * rays[..., None])
        p = float(shares.sum())
        return np.zeros(1), np.array([p]), np.einsum("oar,a,r->o", he, shares, radial)[:, None] / p
    size: np.ndarray = np.abs(c(theta))
    good = size > 0.0
    k, shares, rays = size[good] ** (-1.0 / d), shares[good], rays[:, good]
    step = 0.08 / 2**fine
    u = np.arange(-36.0, math.log(13.0 / k.min()), step)
    t = np.exp(u)[:, None]
    rho = t * k
    mass = shares * rho * rho * np.exp(-rho * rho / 2)
    density = mass.sum(axis=1)
    he = _hermite(orders, rho * rays[:, None])
    with np.errstate(all="ignore"):
        means = (mass * he).sum(axis=2) / density
    good = density > 1e-290
    return side * t[good, 0] ** d, step * density[good], means[:, good]


def _smooth(target: FewFieldTarget, orders: Orders, fine: int) -> LevelMeans:
    """Return equally spaced nodes of y = g(z) + noise, as all functions of y are smooth."""
    assert target.additive is not None
    g, noise = target.additive
    r = len(target.fields)
    if r == 1:
        edges = np.array(_kinks(g, target.fields[0], -8.0, 8.0))
        edges = np.hstack(
            [np.linspace(a, b, 2 + int(8 * (b - a))) for a, b in itertools.pairwise(edges)]
        )
        z, weights = gauss_panels(np.unique(edges), 12 * 2**fine)
        points, weights = z[None], weights * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    else:
        if g.atoms(sp.Abs, sp.sign):
            raise NotYetError(
                "a function of two fields with kinks and additive noise is not known yet",
                argument="target",
            )
        z, w = normal_steps(7.5, 0.14 / 1.3**fine)
        points = np.array(np.meshgrid(z, z, indexing="ij")).reshape(2, -1)
        weights = np.outer(w, w).ravel()
    values = np.asarray(as_function(target.fields, g)(*points)) + 0.0 * points[0]
    used = weights > 1e-17
    points, weights, values = points[:, used], weights[used], values[used]
    step = noise / 2.0 / 1.5**fine
    y = np.arange(values.min() - 8.5 * noise, values.max() + 8.5 * noise, step)
    if y.size * weights.size > 2e8:
        raise NotYetError(
            f"noise of size {noise:g} is too small to be resolved; take more noise, or none",
            argument="target",
        )
    rows = np.vstack([np.ones_like(weights), _hermite(orders, points)]) * weights
    sums = np.hstack(
        [_convolved(rows, values, part, noise) for part in np.array_split(y, 1 + y.size // 200)]
    )
    good = sums[0] > 1e-280
    return LevelMeans(y[good], step * sums[0, good], sums[1:, good] / sums[0, good])


def _convolved(rows: np.ndarray, values: np.ndarray, y: np.ndarray, noise: float) -> np.ndarray:
    kernel = np.exp(-(((y - values[:, None]) / noise) ** 2) / 2) / (noise * math.sqrt(2 * math.pi))
    convolved: np.ndarray = rows @ kernel
    return convolved
