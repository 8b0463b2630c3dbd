"""Connections of fixed points: integrations that follow the unstable directions of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow, kept_projector
from symderiv.analysis.fixed_points.families import Family
from symderiv.analysis.fixed_points.newton_steps import Floats, Labels
from symderiv.analysis.fixed_points.search import Found
from symderiv.analysis.fixed_points.symmetric_flow import integrated

_STEP, _NEAR, _SYMMETRIC = 2e-3, 4e-4, 1e-9
_LASTING, _STAGES, _LARGE = 60.0, 150, 1e4
_COMBINATIONS = 4
# the largest rate at which a state may be near a family
_STILL = 1e-6
# Steps whose Q must change by more than this part of them for vectors to exist are left out.
_BENT = 0.05


@dataclass(frozen=True)
class Connection:
    """An unstable direction of a fixed point, with the fixed point to which it leads.

    Attributes:
        source: The index of the fixed point that is left.
        rate: The real part of the direction's eigenvalue, per unit of α.
        target: The index of the fixed point that is approached; None if the flow runs away or
            approaches none that is known.
        time: The time that this takes, in units of α.
    """

    source: int
    rate: float
    target: int | None
    time: float


def connections(flow: ExchangedFlow, points: Sequence[Found]) -> list[Connection]:
    """Return the connections that begin with a small step along each unstable direction.

    Both signs of a direction are followed, and some combinations of directions with equal rates;
    steps to states that vectors do not have are left out. A family is approached at any of its
    points.
    """
    images = [flow.images(each.values) for each in points]
    owners = np.repeat(np.arange(len(points)), [len(each) for each in images])
    every = np.concatenate(images) if images else np.zeros((0, flow.place.size))
    continua = {n: each for n, each in enumerate(points) if isinstance(each, Family)}
    edges: dict[tuple[int, float, int | None], Connection] = {}
    slowest = min(each.slowest for each in points) if points else 1.0
    for number, point in enumerate(points):
        for rate, start in _departures(flow, point):
            target, time = _arrival(flow, start, (every, owners), continua, slowest)
            key = number, round(rate, 10), target
            edges.setdefault(key, Connection(number, rate, target, time))
    return list(edges.values())


def _departures(flow: ExchangedFlow, point: Found) -> Iterator[tuple[float, Floats]]:
    """Yield states one step away along unstable directions, with their rates per unit of α."""
    if point.slopes is None or not point.index:
        return
    values, vectors = np.linalg.eig(point.slopes)
    rates = values.real * flow.unit
    unstable = np.flatnonzero(rates >= np.sort(rates)[-point.index])
    random = np.random.default_rng(7)
    scale = _STEP * (1 + np.max(np.abs(point.values)))
    while unstable.size:
        first = unstable[0]
        equal = np.abs(values[unstable] - values[first]) < 1e-6 * np.max(np.abs(values))
        space = np.column_stack(
            [vectors[:, unstable[equal]].real, vectors[:, unstable[equal]].imag]
        )
        basis, sizes, _ = np.linalg.svd(space, full_matrices=False)
        basis = basis[:, sizes > 1e-8]
        directions = [*basis.T, *_kept_directions(flow, point, basis)]
        if basis.shape[1] > 1:
            directions += [
                basis @ w for w in random.standard_normal((_COMBINATIONS, basis.shape[1]))
            ]
        for direction in directions:
            for sign in (1.0, -1.0):
                step = sign * scale * direction / np.max(np.abs(direction))
                start = flow.inside(point.values + step)
                if np.max(np.abs(start - point.values - step)) < _BENT * scale:
                    yield float(rates[first]), start
        unstable = unstable[~equal]


def _kept_directions(flow: ExchangedFlow, point: Found, basis: Floats) -> Iterator[Floats]:
    """Yield directions of a degenerate eigenspace that are the only ones a symmetry keeps."""
    orders, signs = flow.elements
    for number in point.stabiliser if basis.shape[1] > 1 else ():
        moved = signs[number][:, None] * basis[orders[number]]
        values, vectors = np.linalg.eig(basis.T @ moved)
        for value, vector in zip(values, vectors.T, strict=True):
            if abs(value - 1) < 1e-6 and np.sum(np.abs(values - 1) < 1e-6) == 1:
                yield basis @ vector.real


def _arrival(
    flow: ExchangedFlow,
    start: Floats,
    known: tuple[Floats, Labels],
    continua: Mapping[int, Family],
    slowest: float,
) -> tuple[int | None, float]:
    """Return the index of the fixed point that is approached, and the time α that this takes.

    The flow is projected on states with the symmetries of the start, which rounding would break.
    """
    every, owners = known
    symmetric = kept_projector(flow, start, _SYMMETRIC)
    last = min(1e7, _LASTING * flow.unit / slowest)
    ends = [0.0, *np.geomspace(1.0, last, _STAGES)]
    state = start
    for begin, end in pairwise(ends):
        reached = integrated(lambda y: symmetric @ flow.slope(y), state, end - begin, _LARGE)
        if reached is None:
            break
        state = symmetric @ reached
        apart = np.max(np.abs(every - state), axis=1)
        nearest = int(np.argmin(apart))
        if apart[nearest] < _NEAR * (1 + np.max(np.abs(state))):
            return int(owners[nearest]), float(end / flow.unit)
        if continua and np.max(np.abs(flow.slope(state))) < _STILL:
            for number, family in continua.items():
                if family.passes(state, _NEAR):
                    return number, float(end / flow.unit)
    return None, float("inf")
