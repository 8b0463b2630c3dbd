r"""Means of products of functions of Gaussian fields by nested sums, for checks.

The fields are z = L t with independent t of variance one and a triangular L. The sum over t_j,
given the earlier ones, has equal steps where the functions of z_j are smooth, else Gauss' rule
between their kinks; points outside of a sphere are dropped early. There are no tables and no closed
forms: where the covariance is not nearly singular, a hundred thousand points give four to eight
digits of a mean of four fields, with an estimate of the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symderiv.numerics.nodes import gauss_panels, normal_steps

Floats = NDArray[np.float64]


Function = Callable[[Floats], Floats]


@dataclass(frozen=True)
class OfField:
    """The product of the functions of one field, and the places where it is not smooth."""

    value: Function
    kinks: tuple[float, ...]


@dataclass(frozen=True)
class Points:
    """The density of points: step in units of fields, nodes between kinks, radius of the sphere."""

    step: float
    nodes: int
    radius: float

    def times(self, finer: float) -> Points:
        """Return a density that is finer by this factor."""
        return Points(self.step / finer, round(self.nodes * finer), self.radius)


FEW = Points(0.5, 14, 7.0), Points(0.4, 18, 7.6)
"""A coarse and a fine sum over one or two fields."""

MORE = Points(0.62, 7, 5.8), Points(0.48, 9, 6.4)
"""A coarse and a fine sum over three or four fields."""


def nested_mean(
    fields: Sequence[OfField], covariance: Floats, finer: float = 1.0
) -> tuple[float, float]:
    """Return the mean of a product.

    Args:
        fields: Up to four factors, each a function of one field.
        covariance: The covariance of the fields, positive definite.
        finer: The number of points in every direction, relative to the usual one.

    Returns:
        The mean, and its difference from a coarser sum, which is mostly ten times its error.

    Raises:
        numpy.linalg.LinAlgError: The covariance is singular.
    """
    root = np.asarray(np.linalg.cholesky(covariance), dtype=float)
    pair = FEW if len(fields) < 3 else MORE
    coarse, fine = (_sum(fields, root, points.times(finer)) for points in pair)
    return fine, abs(fine - coarse)


def resolving(fields: Sequence[OfField], covariance: Floats) -> float | None:
    """Return how much finer than usual the sums must be to resolve the functions.

    Returns:
        The argument for :func:`nested_mean`; None if too many points would be needed.
    """
    pair, most = (FEW, 16.0) if len(fields) < 3 else (MORE, 1.0)
    finer = 1.0
    for place, field in enumerate(fields):
        square = [OfField(_squared(field.value), field.kinks)]
        root = covariance[place : place + 1, place : place + 1] ** 0.5
        known = _sum(square, root, pair[1].times(10.0))
        while abs(_sum(square, root, pair[0].times(finer)) - known) > 1e-3 * known:
            finer *= 2
            if finer > most:
                return None
    return finer


def _squared(function: Function) -> Function:
    return lambda z: function(z) ** 2


def _sum(fields: Sequence[OfField], root: Floats, points: Points) -> float:
    t, product, square = np.zeros((1, 0)), np.ones(1), np.zeros(1)
    for j, field in enumerate(fields):
        shift = t @ root[j, :j]
        reach = float(np.abs(root[j:, j]).max())
        places, weights = _one_variable(field.kinks, shift, root[j, j], reach, points)
        near = (square[:, None] + places**2 < points.radius**2) & (weights > 0)
        row, _ = np.nonzero(near)
        new = places[near]
        square = square[row] + new**2
        product = product[row] * weights[near] * field.value(shift[row] + root[j, j] * new)
        t = np.column_stack([t[row], new])
    return float(product.sum())


def _one_variable(
    kinks: tuple[float, ...], shift: Floats, slope: float, reach: float, points: Points
) -> tuple[Floats, Floats]:
    """Return points of one t and their weights, a row for each point of the earlier ones.

    The next field is ``shift + slope t``; all later fields change by at most ``reach t``.
    """
    radius = points.radius
    if not kinks:
        step = points.step / max(1.0, reach)
        t, weights = normal_steps(radius, step)
        shape = (len(shift), t.size)
        return np.broadcast_to(t, shape), np.broadcast_to(weights, shape)
    ends = [np.full(len(shift), edge) for edge in (-radius, radius)]
    ends += [np.clip((kink - shift) / slope, -radius, radius) for kink in kinks]
    edges = _longest_halved(np.sort(np.stack(ends, axis=1), axis=1))
    places, lengths = gauss_panels(edges, points.nodes)
    return places, lengths * np.exp(-(places**2) / 2) / (2 * np.pi) ** 0.5


def _longest_halved(edges: Floats) -> Floats:
    """Return ascending edges with one more in the middle of each row's longest panel."""
    longest = np.argmax(np.diff(edges), axis=1)
    rows = np.arange(len(edges))
    middle = (edges[rows, longest] + edges[rows, longest + 1]) / 2
    return np.sort(np.column_stack([edges, middle]), axis=1)
