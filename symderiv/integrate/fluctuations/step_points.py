"""Rules for the moments of one step: points in the space of an example's Gaussian variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from symderiv.checking.field_points import lattice_points
from symderiv.numerics.nodes import gauss_hermite, normal_steps
from symderiv.statement.averaged_step import Reading, StateFrame
from symderiv.statement.step_covariance import StepMoments, StepVariation, mixed

Floats = NDArray[np.float64]

_MOST = 400_000
"""The largest number of points of a grid; a lattice is taken where more would be needed."""
_SAMPLED = 2048
_FACTORS = 4
"""The number of factors in the product of two squared forces, for the width of its Gaussian
factors."""


@dataclass(frozen=True)
class PointRule:
    """A rule for means over the Gaussian variables of a statement.

    Forces that are polynomials of all variables have means by Gauss-Hermite rules, which are exact;
    smooth ones by a grid of equal steps, finer along variables in which fields vary more; those
    with kinks, or of many variables, by a randomised lattice.

    Args:
        reading: The statement.
    """

    reading: Reading

    @cached_property
    def _forces(self) -> list[sp.Expr]:
        step = self.reading.statement.step()
        changes = [*step.vectors.values(), *step.scalars.values()]
        forces = [change.scalar for change in changes]
        forces += [rate for change in changes for rate in change.vectors.values()]
        return forces + [force for change in changes for force in change.inputs.values()]

    @cached_property
    def degree(self) -> int | None:
        """The degree of the changes in all variables; None if they are not polynomials."""
        symbols = [*self.reading.fields, *self.reading.gaussian_latents]
        if self.reading.means or not all(each.is_polynomial(*symbols) for each in self._forces):
            return None
        if not symbols:
            return 0
        force = max(_degree(each, symbols) for each in self._forces)
        return max(force + 1, 2 * force)

    @cached_property
    def _linear(self) -> list[bool]:
        """True for each latent in which all forces are at most linear."""
        return [
            all(each.is_polynomial(s) and _degree(each, [s]) <= 1 for each in self._forces)
            for s in self.reading.gaussian_latents
        ]

    def moments(
        self, cases: Sequence[tuple[float, StepVariation]], coarse: bool = False
    ) -> StepMoments:
        """Return the moments of a step at a state.

        Args:
            cases: For every law of examples its probability and the step's variation under it.
            coarse: True takes fewer points, for an estimate of the error.
        """
        points = [self._points(step.frame, coarse) for _, step in cases]
        averages = dict.fromkeys(self.reading.means, 0.0)
        for (share, step), own in zip(cases, points, strict=True):
            for symbol, value in step.averages(*own).items():
                averages[symbol] += share * value
        moments = [
            (share, step.moments(*own, averages))
            for (share, step), own in zip(cases, points, strict=True)
        ]
        return cases[0][1].constrained(mixed(moments))

    def _points(self, frame: StateFrame, coarse: bool) -> tuple[Floats, Floats]:
        return self._grid(frame, coarse) or self._lattice(frame, coarse)

    def _lattice(self, frame: StateFrame, coarse: bool) -> tuple[Floats, Floats]:
        z, weights = _lattice_of(frame.dimension)
        part = slice(0, z.shape[0] // 4 if coarse else None)
        return z[part], weights[part] / weights[part].sum()

    def _grid(self, frame: StateFrame, coarse: bool) -> tuple[Floats, Floats] | None:
        """Return a grid; None if forces have kinks or it would have too many points."""
        if self.degree is not None:
            return gauss_hermite(self.degree + 1, frame.dimension)
        if self.reading.kinks:
            return None
        axes = [self._steps(each, coarse) for each in _scales(frame)]
        latents = (self._steps(1.0, coarse), gauss_hermite(3))
        axes += [latents[linear] for linear in self._linear]
        count = int(np.prod([len(weights) for _, weights in axes]))
        if count > _MOST:
            return None
        grids = np.meshgrid(*(np.ravel(nodes) for nodes, _ in axes), indexing="ij")
        shares = np.meshgrid(*(weights for _, weights in axes), indexing="ij")
        weights = np.prod([each.ravel() for each in shares], axis=0)
        return np.array([each.ravel() for each in grids]).T, weights / weights.sum()

    @staticmethod
    def _steps(scale: float, coarse: bool) -> tuple[Floats, Floats]:
        """Return equal steps with an error of exp(-2π²/s) for products of Gaussian factors."""
        square, reach = (3.2, 4.2) if coarse else (2.2, 4.8)
        return normal_steps(reach, float(np.sqrt(square / (1 + _FACTORS * scale**2))))


@lru_cache(maxsize=4)
def _lattice_of(dimension: int) -> tuple[Floats, Floats]:
    clouds = list(lattice_points(dimension, _SAMPLED, 5))
    return np.concatenate([z for z, _ in clouds]), np.concatenate([w for _, w in clouds])


def _degree(expression: sp.Expr, symbols: list[sp.Symbol]) -> int:
    if not expression.free_symbols & set(symbols):
        return 0
    return int(sp.Poly(expression, *symbols).total_degree())


def _scales(frame: StateFrame) -> list[float]:
    """Return the largest standard deviation of a field along each Gaussian variable."""
    scales = np.zeros(frame.first_latent)
    for atom, (rows, _) in frame.rows.items():
        place = frame.places[atom]
        scales[place : place + rows.shape[1]] = np.sqrt((rows**2).max(axis=0, initial=0.0))
    return list(scales)
