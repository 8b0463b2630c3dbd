r"""Means of derivatives of functions with kinks and jumps, of one field and of two.

A derivative of order m of such a function is a piecewise smooth function plus Σ J_n δ^{(m-1-n)}(v -
κ) at a kink κ, where J_n is the jump of the derivative of order n. Given u, the field v has a
normal law of mean μ = c u/a and variance s² = b - c²/a, so that

    E[δ^{(p)}(v - κ) | u] = s^{-1-p} He_p(t) φ(t),  t = (κ - μ)/s,

and between kinks Gauss' rule is applied on panels that are far from any pole of the function. The
mean over u is taken in the same way; there derivatives of E[h^{(m)}(v) | u] by u are (c/a)
E[h^{(m+1)}(v) | u].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import sympy as sp

from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError
from symderiv.gaussian.distributions import variable_of
from symderiv.lowering.means.numeric_activation import NumericActivation, X
from symderiv.numerics.nodes import gauss_panels

#: The largest total order of derivatives in means.
_ORDER = 4
_REACH, _POINTS = 8.7, 16
# The width of panels, in standard deviations and in units of the field: narrow enough for poles at
# ±i π/2.
_WIDTH = 2.5
# Edges of panels around a kink, in units of the conditional standard deviation of the other field.
_BESIDE = np.array([1.5, 3.0, 5.0, 9.0])
# The smallest conditional variance of one field given the other, relative to its own variance.
_LEAST = 1e-14
# Refinements of nodes that are tried, and the relative change of a sum below which they suffice.
_FINENESS, _CONVERGED = (1, 2, 4, 8, 16, 32), 2e-12
# The largest number of nodes that all values of the other field share.
_SHARED = 2500


@dataclass(frozen=True)
class Pieces:
    """A function that is analytic between its kinks, with its derivatives.

    Attributes:
        between: The function and its derivatives of order 1 to 4 between kinks, on arrays.
        kinks: The places where it is not analytic, ascending, shape (k,).
        jumps: The jumps of its derivatives of order 0 to 3 at these places, shape (k, 4).
        fineness: The factor by which panels must be narrower than for poles at ±i π/2.
    """

    between: tuple[Callable[[np.ndarray], np.ndarray], ...]
    kinks: np.ndarray
    jumps: np.ndarray
    fineness: int = 1


@lru_cache(maxsize=64)
def pieces_of(g: sp.Expr) -> Pieces:
    """Return a function in pieces.

    Raises:
        NotYetError: A kink is not at a root of a polynomial, or the function changes too fast.
        DivergentError: It is not finite everywhere.
    """
    stated = NumericActivation(g.xreplace({variable_of(g): X}), str(g))
    orders = [stated.derivative(n, between_kinks=True) for n in range(_ORDER + 1)]
    jumps = np.array([stated.jumps_of(n) for n in range(_ORDER)], dtype=float)
    jumps = jumps.reshape(_ORDER, len(stated.kinks)).T
    between = tuple(_on_arrays(as_function([X], each)) for each in orders)
    kinks = np.array(stated.kinks)

    def sums(fineness: int) -> list[np.ndarray]:
        summed = []
        for scale in (1.0, 1.37):
            nodes, steps = _panels(kinks, scale * fineness)
            summed += [each(nodes) * (steps * _normal(nodes)) for each in between]
        return summed

    return Pieces(between, kinks, jumps, _fine_enough(sums, str(g)))


def _fine_enough(sums: Callable[[int], list[np.ndarray]], name: str) -> int:
    """Return the refinement of nodes that sums of a function need, a power of two.

    Args:
        sums: A function from a refinement to the terms of sums that must have converged.
        name: The function in words.

    Raises:
        NotYetError: Sums have not converged with nodes 64 times finer.
    """
    finer = sums(1)
    for fineness in _FINENESS:
        these, finer = finer, sums(2 * fineness)
        changes = [abs(a.sum() - b.sum()) for a, b in zip(these, finer, strict=True)]
        sizes = [max(1.0, float(np.abs(each).sum())) for each in finer]
        if all(change <= _CONVERGED * size for change, size in zip(changes, sizes, strict=True)):
            return fineness
    raise NotYetError(
        f"{name} changes too fast for the sums of its means; take one that changes within fields "
        "of 0.02 and more",
        argument="activation",
    )


def field_mean(g: Pieces, order: int, variance: float) -> float:
    """Return the mean of a derivative of a function of one Gaussian field."""
    s = math.sqrt(variance)
    t = g.kinks / s
    nodes, steps = _panels(t, s * g.fineness)
    spikes = sum(
        float(g.jumps[:, n] @ _spike(t, order - 1 - n)) / s ** (order - n) for n in range(order)
    )
    return float(g.between[order](s * nodes) @ (steps * _normal(nodes))) + spikes


def pair_means(
    g: Pieces, h: Pieces, a: float, c: float, b: float, orders: list[tuple[int, int]]
) -> np.ndarray:
    """Return E[g^{(l)}(u) h^{(m)}(v)] for each (l, m) with l + m at most 4."""
    given = _Given(h, a, c, b)
    root = math.sqrt(a)
    fineness = max(g.fineness, h.fineness)
    nodes, steps = _panels(g.kinks / root, root * fineness, given.edges(root))
    weights = steps * _normal(nodes)
    highest = max(m for _, m in orders)
    smooth = given.means(root * nodes, highest)
    at_kinks = given.means(g.kinks, _ORDER - 1) if g.kinks.size else np.zeros((_ORDER, 0))
    t, slope = g.kinks / root, c / a
    means = []
    for order, m in orders:
        total = float((g.between[order](root * nodes) * smooth[m]) @ weights)
        for n in range(order):
            p = order - 1 - n
            # (-1)^p times the p-th derivative of the density times the mean given u
            spike = sum(
                math.comb(p, q)
                * _spike(t, q)
                / root ** (q + 1)
                * (-slope) ** (p - q)
                * at_kinks[m + p - q]
                for q in range(p + 1)
            )
            total += float(g.jumps[:, n] @ spike)
        means.append(total)
    return np.array(means)


@dataclass(frozen=True)
class _Given:
    """Conditional means of the derivatives of a function of v given u."""

    h: Pieces
    a: float
    c: float
    b: float

    @property
    def s(self) -> float:
        """The conditional standard deviation of v given u, at least the rounding error of
        covariances.
        """
        return math.sqrt(max(self.b - self.c**2 / self.a, _LEAST * self.b))

    def edges(self, root: float) -> np.ndarray:
        """Return edges of panels for u, in standard deviations, where these means change fast."""
        if not self.c or not self.h.kinks.size:
            return np.zeros(0)
        middle = self.h.kinks * self.a / (self.c * root)
        beside = _BESIDE * self.s * root / abs(self.c)
        beside = beside[beside < 2.0 * _WIDTH]
        return np.asarray(middle[:, None] + np.concatenate([-beside, [0.0], beside])).ravel()

    def means(self, u: np.ndarray, highest: int) -> np.ndarray:
        """Return conditional means of derivatives up to an order, shape (highest + 1, u)."""
        s, middle = self.s, self.c / self.a * u
        t = (self.h.kinks - middle[:, None]) / s
        means: np.ndarray = self._between(middle, t, highest)
        for m in range(highest + 1):
            for n in range(m):
                means[m] += _spike(t, m - 1 - n) @ self.h.jumps[:, n] / s ** (m - n)
        return np.asarray(means)

    def _between(self, middle: np.ndarray, t: np.ndarray, highest: int) -> np.ndarray:
        """Return the contributions to these means from between the kinks."""
        s, functions = self.s, self.h.between[: highest + 1]
        root = math.sqrt(self.b)
        fineness = self.h.fineness
        if 2.0 * _REACH * _POINTS * root * max(fineness, 1.0 / s) < _SHARED * _WIDTH:
            # all u share the values of the function, weighted by their own densities
            z, steps = _panels(self.h.kinks / root, root * max(fineness, 1.0 / s))
            law = _normal((root * z - middle[:, None]) / s) * (steps * root / s)
            values = np.array([each(root * z) for each in functions])
            return np.asarray(values @ law.T)
        z, steps = _panels(t, s * fineness)
        v, weights = middle[:, None] + s * z, steps * _normal(z)
        return np.array([np.einsum("un,un->u", each(v), weights) for each in functions])


def _spike(t: np.ndarray, order: int) -> np.ndarray:
    """Return He_p(t) φ(t)."""
    return np.asarray(np.polynomial.hermite_e.hermeval(t, np.eye(order + 1)[order]) * _normal(t))


def _normal(t: np.ndarray) -> np.ndarray:
    """Return the standard normal density."""
    return np.exp(-(t**2) / 2.0) / math.sqrt(2.0 * math.pi)


def _panels(
    kinks: np.ndarray, scale: float, further: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of panels for a standard normal variable, with edges at kinks.

    Args:
        kinks: The kinks in standard deviations, shape (..., k).
        scale: The factor, at least 1, by which panels are narrower than usual.
        further: Further edges, shape (n,).
    """
    count = math.ceil(2.0 * _REACH * max(1.0, scale) / _WIDTH)
    fixed = np.linspace(-_REACH, _REACH, count + 1)
    if further is not None:
        fixed = np.concatenate([fixed, further])
    shape = (*kinks.shape[:-1], fixed.size)
    edges = np.concatenate([kinks, np.broadcast_to(fixed, shape)], axis=-1)
    edges = np.clip(np.sort(edges, axis=-1), -_REACH, _REACH)
    if edges.ndim == 1:
        edges = np.unique(edges)
    return gauss_panels(edges, _POINTS)


def _on_arrays(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function whose values have the shape of its argument, even if it is constant."""
    return lambda values: np.broadcast_to(function(values), values.shape)
