"""The fixed point to which a proved run tends, from a ball of states that the flow contracts.

In coordinates along the eigenvectors of the Jacobian at a state c, distances between trajectories
shrink at least at the rate m, if the symmetric part of the Jacobian is below -m over the whole ball
(the logarithmic norm). If, moreover, c itself moves more slowly than m times the radius, no
trajectory leaves the ball. Then there is one fixed point in it, at most the speed of c over m away,
and every trajectory that enters the ball tends to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from symderiv.enclosures.proved_step import StateSet, VectorField
from symderiv.precision.balls.operations import Operations

_ITERATIONS = 40
# Eigenvectors that are more nearly parallel are not used as coordinates.
_MOST_CONDITION = 1e8
_WIDER = arb(1) + arb(2) ** -20
# Slack for the program that checks the record, whose rounding differs.
_SLOWER = arb(1) - arb(2) ** -20


@dataclass(frozen=True)
class Attraction:
    """A fixed point to which all trajectories from a set of states tend.

    Attributes:
        point: Balls that hold the fixed point.
        rate: Distances to it shrink at least as exp(-rate α).
        radius: The radius of the ball that the flow contracts, in coordinates along eigenvectors.
        distance: A bound, in these coordinates, on the distance of the fixed point from the centre.
    """

    point: StateSet
    rate: arb
    radius: arb
    distance: arb


def attraction(rates: Operations, region: StateSet) -> Attraction | None:
    """Return the fixed point to which a set of states tends, or None if that is not proved.

    Args:
        rates: The rates of the state.
        region: The states from which trajectories begin.
    """
    try:
        return _attraction(rates, region)
    except (ZeroDivisionError, ValueError):
        # a matrix of balls has no inverse, or the box holds states without rates
        return None


def _attraction(rates: Operations, region: StateSet) -> Attraction | None:
    field = VectorField.of(rates)
    centre = stationary(field, [x.mid() for x in region.hull])
    if centre is None:
        return None
    axes = _eigenvectors(field.slopes(centre))
    if axes is None:
        return None
    inverse = axes.inv()
    away = _length(inverse, [x - c for x, c in zip(region.hull, centre, strict=True)])
    speed = _length(inverse, field.rates(centre))
    # wide enough that the fixed point itself is inside
    radius = (away * _WIDER + arb(2) ** -40).upper()
    box = _hull(centre, axes, radius)
    rate = -_logarithmic_norm(inverse * field.slopes(box) * axes) * _SLOWER
    if not (rate > 0 and speed < rate * radius):
        return None
    rest = (speed / rate).upper()
    point = StateSet(centre, axes, [arb(0, rest)] * field.size)
    return Attraction(point, rate.lower(), radius, rest)


def stationary(field: VectorField, state: list[arb]) -> list[arb] | None:
    """Return an approximate fixed point by Newton's method from a state, or None if it diverges."""
    last = None
    for _ in range(_ITERATIONS):
        step = field.slopes(state).solve(arb_mat(field.size, 1, field.rates(state))).entries()
        size = sum((abs(x) for x in step), arb(0)).mid()
        if not size.is_finite() or (last is not None and size > 10 * last + 1):
            return None
        state = [(x - y).mid() for x, y in zip(state, step, strict=True)]
        if last is not None and not size < last / 2:
            return state
        last = size
    return None


def _eigenvectors(slopes: arb_mat) -> arb_mat | None:
    """Return exact numbers close to eigenvectors; complex pairs give real and imaginary parts."""
    size = slopes.nrows()
    matrix = np.array([float(x.mid()) for x in slopes.entries()]).reshape(size, size)
    if not np.all(np.isfinite(matrix)):
        return None
    eigenvalues, vectors = np.linalg.eig(matrix)
    columns = []
    for value, vector in zip(eigenvalues, vectors.T, strict=True):
        columns.append(vector.real if value.imag >= 0 else vector.imag)
    axes = np.array(columns).T
    if not np.linalg.cond(axes) < _MOST_CONDITION or np.max(eigenvalues.real) >= 0:
        return None
    return arb_mat(size, size, [arb(float(x)) for x in axes.ravel()])


def _length(inverse: arb_mat, values: Sequence[arb]) -> arb:
    """Return a bound on the length of a vector in the coordinates along eigenvectors."""
    moved = (inverse * arb_mat(len(values), 1, list(values))).entries()
    # upper ends, because the root of a ball around zero is undefined
    sizes = [abs(x).upper() for x in moved]
    return sum((x * x for x in sizes), arb(0)).sqrt().upper()


def _hull(centre: Sequence[arb], axes: arb_mat, radius: arb) -> list[arb]:
    """Return a box around all states whose coordinate vectors have at most this length."""
    box = []
    for n, middle in enumerate(centre):
        row = sum((axes[n, m] * axes[n, m] for m in range(len(centre))), arb(0)).sqrt()
        box.append(middle + arb(0, (row * radius).upper()))
    return box


def _logarithmic_norm(matrix: arb_mat) -> arb:
    """Return a bound on the largest eigenvalue of the symmetric part, by Gershgorin's discs."""
    size = matrix.nrows()
    rows = [
        matrix[n, n]
        + sum((abs(matrix[n, m] + matrix[m, n]) / 2 for m in range(size) if m != n), arb(0))
        for n in range(size)
    ]
    largest = rows[0]
    for each in rows[1:]:
        largest = largest.max(each)
    return largest.upper()
