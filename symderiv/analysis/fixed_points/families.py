"""Families of fixed points: continua, each listed once, with its dimension and its extent.

At a fixed point of a family some directions are neutral and lead to further fixed points. Finite
steps along them, corrected by Newton's method, distinguish these from directions that are neutral
to first order only; the number of independent ones is the dimension. Two points are of one family
if such steps lead from one to the other or to an image of it. All steps are made in
:class:`.VectorStates`, so that they do not leave the states that vectors have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from symderiv.analysis.fixed_points.newton_steps import Floats
from symderiv.analysis.fixed_points.search import Found, spectrum
from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.analysis.fixed_points.vector_states import VectorStates, slopes_inside

# Relative singular values: of the slopes, below which a direction is neutral, and of the
# derivatives of order parameters, above which it moves these.
_KERNEL, _MOVES = 1e-4, 1e-4
# The length of steps that distinguish a family from directions neutral to first order only, and the
# number of random ones for each direction.
_STEP, _TRIED = 0.02, 3
# Newton's method may change the length of a step by this factor at most; also the smallest singular
# value of unit steps that span a family.
_TURNED = 0.2
# Steps along a family: the longest, relative to the state, the shortest, and their largest number.
_LONGEST, _SHORTEST, _WALK = 0.3, 1e-6, 300
# Number of random directions tried beside the gradient, and the gradient that counts as zero.
_ASIDE, _FLAT = 6, 1e-4
# Order parameters that count as infinite, and unknowns of a state beyond which steps end.
_LARGE, _FAR = 20.0, 1e3
# Relative distance below which two states are the same; the least progress towards a goal in a
# step.
_SAME, _NEARER = 1e-5, 1e-3
# Numbers of images under symmetries: those towards which steps are made, and those counted at most.
_IMAGES, _MOST_IMAGES = 12, 48
# Largest relative distances: of a point found again on an edge, and of degenerate roots.
_NEAR, _LOOSE = 1e-2, 1e-2
# Rates within so many errors of the slopes cannot be distinguished from zero.
_UNSURE = 10.0


@dataclass(frozen=True)
class Family(Found):
    """A continuum of fixed points, represented by its member with most symmetries.

    Attributes:
        eigenvalues: The eigenvalues across the family, and a zero for each dimension.
        states: The parametrisation of states near it.
        z: The unknowns of the member from which the others are reached.
        along: Directions within the family, as orthonormal columns in these unknowns.
        members: The fixed points that were found in it.
    """

    states: VectorStates = field(kw_only=True)
    z: Floats = field(kw_only=True)
    along: Floats = field(kw_only=True)
    members: tuple[Found, ...] = field(kw_only=True)

    @property
    def dimension(self) -> int:
        """The dimension of the family."""
        return int(self.along.shape[1])

    def leads_to(self, values: Floats, close: float = _SAME) -> bool:
        """Return whether the family goes through a fixed point or an image of it."""
        flow = self.states.flow
        states, z, along = self.states, self.z, self.along
        if not flow.physical(values):
            states, z = VectorStates(flow, None), states.values(z)
            along = _tangent(states, z)
        images = np.unique(flow.images(values).round(9), axis=0)
        nearest = np.argsort(np.max(np.abs(images - states.values(z)), axis=1))[:_IMAGES]
        return any(_reaches(states, z, along, images[n], close) for n in nearest)

    def passes(self, values: Floats, close: float) -> bool:
        """Return whether a member of the family is near a state whose rates are small."""
        flow = self.states.flow
        states, start = VectorStates.of(flow, flow.inside(values))
        z = states.settled(start)
        if z is None:
            return False
        there = states.values(z)
        near = np.max(np.abs(there - values)) < close * (1 + np.max(np.abs(values)))
        return bool(near) and self.leads_to(there, close)

    def extent(self, observed: Floats) -> tuple[Floats, Floats]:
        """Return the least and largest values, perhaps infinite, of observables on the family.

        Args:
            observed: Coefficients of the coordinates, shape (m, n).
        """
        random = np.random.default_rng(19)
        states, starts = self.states, [self.z]
        # by symmetry, the state itself may be a saddle of an observable: start beside it too
        aside = self.along @ random.standard_normal(self.dimension)
        for sign in (1.0, -1.0):
            beside = _stepped(states, self.z, sign * _STEP * aside)
            starts += [] if beside is None else [beside]

        def end(weights: Floats) -> float:
            start = max(starts, key=lambda z: float(weights @ states.values(z)))
            return _end(states, start, self.along, weights)

        ends = [[sign * end(sign * row) for row in observed] for sign in (-1.0, 1.0)]
        return np.array(ends[0]), np.array(ends[1])


def _reaches(states: VectorStates, z: Floats, inside: Floats, goal: Floats, close: float) -> bool:
    """Return whether steps among fixed points lead from one state to another."""
    there = states.near(z, goal)
    for _ in range(_WALK):
        if there is None:
            return False
        if np.max(np.abs(states.values(z) - goal)) < close * (1 + np.max(np.abs(goal))):
            return True
        inside = _carried(_tangent(states, z), inside)
        reached = _stepped(states, z, inside @ (inside.T @ (there - z)))
        if reached is None:
            return False
        # distances of vectors: those of overlaps may grow on a straight way, as Q is quadratic
        apart, there = np.linalg.norm(there - z), states.near(reached, goal)
        left = np.inf if there is None else np.linalg.norm(there - reached)
        if apart - left < _NEARER * np.linalg.norm(reached - z):
            return False
        z = reached
    return False


def _end(states: VectorStates, z: Floats, inside: Floats, weights: Floats) -> float:
    """Return the largest value of an observable that uphill steps among fixed points reach."""
    longest, random = _STEP, np.random.default_rng(17)

    def height(x: Floats) -> float:
        return float(weights @ states.values(x))

    for _ in range(_WALK):
        inside = _carried(_tangent(states, z), inside)
        uphill = inside @ (inside.T @ (weights @ states.moved(z)))
        size = np.linalg.norm(uphill)
        if size < _FLAT:
            break
        # where the gradient leads no further, directions beside it may
        aside = random.standard_normal((_ASIDE * (inside.shape[1] > 1), inside.shape[1]))
        ways = [uphill / size, *(uphill / size + inside @ each for each in aside)]
        steps = (_stepped(states, z, longest * way, height) for way in ways)
        reached = next((each for each in steps if each is not None), None)
        if reached is None:
            break
        longest, z = 2 * float(np.linalg.norm(reached - z)), reached
        if height(z) > _LARGE:
            return np.inf
        if np.max(np.abs(z)) > _FAR:
            break
    return height(z)


def _tangent(states: VectorStates, z: Floats) -> Floats:
    """Return neutral directions that move coordinates, as orthonormal columns in the unknowns."""
    with np.errstate(all="ignore"):
        slopes, moved = states.slopes(z), states.moved(z)
    if not np.all(np.isfinite(slopes)):
        return np.zeros((z.size, 0))
    _, sizes, rows = np.linalg.svd(slopes)
    neutral = rows[np.sum(sizes > _KERNEL * sizes[0]) :].T
    _, sizes, right = np.linalg.svd(moved @ neutral, full_matrices=False)
    return np.asarray(neutral @ right[sizes > _MOVES * np.max(np.abs(moved))].T)


def _stepped(
    states: VectorStates,
    z: Floats,
    step: Floats,
    height: Callable[[Floats], float] | None = None,
) -> Floats | None:
    """Return the fixed point after a step, or after a shorter one; None if there is none."""
    size = float(np.linalg.norm(step))
    share = min(1.0, _LONGEST * (1 + float(np.max(np.abs(z)))) / max(size, 1e-300))
    while share * size > _SHORTEST:
        reached = states.settled(z + share * step)
        if reached is not None:
            moved = float(np.linalg.norm(reached - z))
            near = _TURNED * share * size < moved < share * size / _TURNED
            if near and (height is None or height(reached) > height(z)):
                return reached
        share /= 2
    return None


def _along(states: VectorStates, z: Floats) -> Floats:
    """Return the directions in which finite steps lead to fixed points, as orthonormal columns.

    Directions in which rates change with the square of a step are not among them.
    """
    inside = _tangent(states, z)
    here, ways = states.values(z), []
    random = np.random.default_rng(13)
    for _ in range(_TRIED * inside.shape[1]):
        step = inside @ random.standard_normal(inside.shape[1])
        step *= _STEP / np.linalg.norm(step)
        for sign in (1.0, -1.0):
            reached = states.settled(z + sign * step)
            if reached is not None:
                way = np.linalg.norm(states.values(reached) - here)
                if way > np.linalg.norm(states.values(z + sign * step) - here) / 4:
                    ways.append((reached - z) / np.linalg.norm(reached - z))
                    break
    if not ways:
        return np.zeros((z.size, 0))
    left, sizes, _ = np.linalg.svd(np.array(ways).T, full_matrices=False)
    return _carried(inside, left[:, sizes > _TURNED])


def _carried(inside: Floats, before: Floats) -> Floats:
    """Return the neutral directions nearest to given directions of the family at a state nearby."""
    left, sizes, _ = np.linalg.svd(inside @ (inside.T @ before), full_matrices=False)
    return np.asarray(left[:, sizes > 0.5])


def families(
    flow: UnitFlow, level: Callable[[Floats], float], points: Sequence[Found]
) -> list[Found]:
    """Return fixed points with families in place of their members.

    All members of a family have one error, ``level``.

    If rates have a kink on the edge of the cone of states that vectors have, derivatives of points
    there are taken from inside, and points without vectors are left out: the equations do not hold
    for them.
    """
    known = list(points) if flow.smooth else _with_vectors(flow, points)
    starts = [
        (number, _begun(flow, point))
        for number, point in enumerate(known)
        if point.neutral or point.slopes is None
    ]
    # families of states of vectors, and of more dimensions, come first: others lie on their edges
    starts.sort(
        key=lambda each: (_rank(each[1].states) >= 0, each[1].dimension, _rank(each[1].states)),
        reverse=True,
    )
    listed: list[tuple[Family, list[int]]] = []
    for number, start in starts:
        height = level(start.values)
        for family, numbers in listed:
            if abs(level(family.values) - height) < _SAME and _one(family, start):
                numbers.append(number)
                break
        else:
            if start.dimension:
                listed.append((start, [number]))
    owned = {number for _, numbers in listed for number in numbers}
    whole = [_represented(family, [known[n] for n in numbers]) for family, numbers in listed]
    return [*(each for n, each in enumerate(known) if n not in owned), *whole]


def _begun(flow: UnitFlow, point: Found) -> Family:
    """Return the family through a point; its dimension is 0 if the point is isolated."""
    states, start = VectorStates.of(flow, point.values)
    z = states.settled(start)
    along = np.zeros((start.size, 0)) if z is None else _along(states, z)
    settled = start if z is None else z
    rates = _eigenvalues(states, settled, along, point) if along.size else point.eigenvalues
    own = vars(point) | {"eigenvalues": rates}
    return Family(**own, states=states, z=settled, along=along, members=())


def _one(family: Family, other: Family) -> bool:
    """Return whether two families are the same.

    They are if all rates across them are equal, as for images under rotations that no exchange of
    units makes, or if steps from one lead to a point of the other.
    """
    # with further neutral directions, a root is known to the square root of rounding only
    degenerate = not other.dimension or other.neutral > other.dimension
    if family.dimension == other.dimension and not (family.slopes is None or other.slopes is None):
        ends = [np.sort(each.eigenvalues.real) for each in (family, other)]
        if np.max(np.abs(ends[0] - ends[1])) < _SAME * np.max(np.abs(ends)):
            return True
    return family.leads_to(other.values, _LOOSE if degenerate else _SAME)


def _rank(states: VectorStates) -> int:
    return -1 if states.ranks is None else sum(states.ranks)


def _eigenvalues(
    states: VectorStates, z: Floats, along: Floats, point: Found
) -> npt.NDArray[np.complex128]:
    """Return the eigenvalues of a point of a family: those across it, and a zero per dimension.

    Those across are zero where they cannot be distinguished from it.
    """
    if point.slopes is None:
        return point.eigenvalues
    across = np.linalg.svd(states.moved(z) @ along)[0][:, along.shape[1] :]
    rates = spectrum(across.T @ point.slopes @ across, states.flow.unit)
    rates[np.abs(rates) < point.resolved * np.max(np.abs(rates), initial=0.0)] = 0.0
    every = np.concatenate([rates, np.zeros(along.shape[1])])
    return np.asarray(every[np.argsort(-every.real, kind="stable")])


def _represented(family: Family, members: Sequence[Found]) -> Family:
    """Return a family represented by its member with most symmetries, if possible of vectors."""
    flow = family.states.flow
    real = [each for each in members if flow.physical(each.values)] or members
    for chosen in sorted(real, key=lambda each: each.orbit):
        states, start = VectorStates.of(flow, chosen.values)
        # members of lower rank lie on an edge
        if _rank(states) == _rank(family.states):
            along = _along(states, start)
            if along.shape[1] == family.dimension:
                break
    images = np.unique(flow.images(chosen.values).round(9), axis=0)[:_MOST_IMAGES]
    joined = sum(_reaches(states, start, along, image, _SAME) for image in images)
    changed = {
        "states": states,
        "z": start,
        "along": along,
        "eigenvalues": _eigenvalues(states, start, along, chosen),
        "orbit": len(images) // max(1, joined),
        "members": tuple(real),
    }
    return replace(family, **vars(chosen) | changed)


def _with_vectors(flow: UnitFlow, points: Sequence[Found]) -> list[Found]:
    """Return the points that vectors have, with derivatives from inside where rates have kinks."""
    known: list[Found] = []
    for point in points:
        if flow.physical(point.values) and flow.differentiable(point.values):
            known.append(point)
            continue
        states, start = VectorStates.of(flow, flow.inside(point.values))
        z = states.settled(start)
        values = point.values if z is None else states.values(z)
        near = np.max(np.abs(values - point.values)) < _NEAR * (1 + np.max(np.abs(values)))
        if z is None or not near:
            if not flow.physical(point.values):
                continue
            values = point.values
        if any(flow.same(each.values, values) for each in known):
            continue
        known.append(_inside(flow, values))
    return known


def _inside(flow: UnitFlow, values: Floats) -> Found:
    """Return a fixed point on the edge, with derivatives from inside."""
    chosen, orbit, stabiliser = flow.canonical(values)
    residual = float(np.max(np.abs(flow.slope(chosen))))
    slopes, error = slopes_inside(flow, chosen) or (None, 0.0)
    if slopes is None:
        return Found(chosen, orbit, stabiliser, residual, None, np.zeros(0, np.complex128))
    resolved = _UNSURE * error / float(np.max(np.abs(slopes)))
    rates = spectrum(slopes, flow.unit)
    return Found(chosen, orbit, stabiliser, residual, slopes, rates, max(resolved, 1e-7))
