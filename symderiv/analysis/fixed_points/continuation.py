r"""Fixed points followed in one parameter, through folds and branch points.

Where the number of unstable directions changes, the point is located and classified: as a *Hopf*
point, if a pair of complex eigenvalues crosses the imaginary axis; as a *fold*, if the derivative
by the parameter is not in the range of the Jacobian; otherwise as a *pitchfork* or a
*transcritical* point, if branches leave it to one side or to both sides of the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eig

from symderiv.analysis.fixed_points.arclength import CurveEquations, StepPace
from symderiv.analysis.fixed_points.exchanged_flow import ExchangedFlow, kept_projector
from symderiv.analysis.fixed_points.newton_steps import Floats, Labels, newton
from symderiv.analysis.fixed_points.symmetric_flow import differences

_STEPS, _BRANCHES = 600, 40
_PACE = StepPace(5e-3, 1e-6, 4e-2, 0.9, (1.4, 1.4))
_LARGE = 1e3
_SLOPE_STEP = 2e-3
_NEUTRAL, _KERNEL = 1e-7, 1e-4
_AWAY, _APART, _ROUND = 2e-2, 1e-4, 20
_SAME, _BESIDE, _VERTEX = 1e-4, 0.1, 5e-3
_OUTSIDE, _SYMMETRIC = -1e-3, 1e-4


@dataclass(frozen=True)
class Bifurcation:
    """A point of a branch at which the number of unstable directions changes.

    Attributes:
        kind: "fold", "pitchfork", "transcritical" or "hopf"; "branch point" if no branch was found
            that leaves it.
        parameter: The value of the parameter.
        values: Coordinates.
        frequency: The frequency of a Hopf point, per unit of the flow; else 0.
    """

    kind: str
    parameter: float
    values: Floats
    frequency: float = 0.0


@dataclass(frozen=True)
class FixedPointBranch:
    """A curve of fixed points.

    Attributes:
        parameter: The values of the parameter along the curve, shape (p,).
        values: Coordinates, shape (p, n).
        index: Numbers of unstable directions, shape (p,).
        bifurcations: The bifurcations on the branch.
        ends: Why the curve ends at its first and at its last point: "range", "runs away", "stalls",
            "closed", or "bifurcation", also if an image of the curve would follow; "no vectors" if
            no vectors have the overlaps beyond it.
    """

    parameter: Floats
    values: Floats
    index: Labels
    bifurcations: tuple[Bifurcation, ...]
    ends: tuple[str, str]


@dataclass(frozen=True)
class Parameters:
    """A flow that depends on parameters.

    Attributes:
        flow: The flow at one value of each parameter; its symmetries are those at all values.
        at: A function from values of all parameters to the packed constants and the learning rate.
        ends: The range of each parameter.
    """

    flow: ExchangedFlow
    at: Callable[..., tuple[Floats, float]]
    ends: Sequence[tuple[float, float]]

    def values(self, levels: Floats) -> Floats:
        """Return the values of parameters that have levels between 0 and 1 in their ranges."""
        low, high = np.array(self.ends).T
        return np.asarray(low + (high - low) * levels)

    def levels(self, values: Floats | float) -> Floats:
        """Return the levels of parameters, from 0 to 1 in their ranges, with given values."""
        low, high = np.array(self.ends).T
        return np.asarray((values - low) / (high - low))

    def rates(self, u: Floats) -> Floats:
        """Return the rates at coordinates and levels, per unit of the learning rate there."""
        n = u.size - len(self.ends)
        constants, unit = self.at(*map(float, self.values(u[n:])))
        return self.flow.slope(u[:n], constants) * (self.flow.unit / unit)

    def slopes(self, u: Floats) -> Floats:
        """Return the derivatives of the rates by u, shape (n, n + p) for p parameters."""
        return differences(self.rates, u, _SLOPE_STEP)


@dataclass(frozen=True)
class OneParameter(Parameters, CurveEquations):
    """The equations of fixed points with one parameter."""

    _rounds, _small = 10, 1e-10

    def value(self, u: Floats) -> float:
        return float(self.values(u[-1:])[0])

    def equations(self, u: Floats) -> tuple[Floats, Floats]:
        return self.rates(u), self.slopes(u)

    def settled(self, u: Floats, size: float) -> bool:
        # at branch points steps need not become small, but rates do
        large = self.size(u)
        return bool(np.max(np.abs(self.rates(u))) < 1e-13 * large and size < 1e-4 * large)

    def unstable(self, u: Floats) -> int:
        rates = np.linalg.eigvals(self.slopes(u)[:, :-1])
        return int(np.sum(rates.real > _NEUTRAL * np.max(np.abs(rates))))


class LargestRate:
    """The largest rate of a fixed point as a function of the parameter, per unit of α.

    The fixed point is followed by Newton's method from one value of the parameter to the next.

    Args:
        problem: The equations of fixed points.
        start: A fixed point.
        begin: The value of the parameter at this fixed point.
    """

    _SHARE = 1 / 48

    def __init__(self, problem: OneParameter, start: Floats, begin: float) -> None:
        self._problem, self._known = problem, {float(problem.levels(begin)[0]): start}

    def point(self, value: float) -> Floats | None:
        """Return the fixed point at a value; None if the branch ends before."""
        problem, known = self._problem, self._known
        goal = float(problem.levels(value)[0])
        while goal not in known:
            level = min(known, key=lambda each: abs(each - goal))
            step = float(np.clip(goal - level, -self._SHARE, self._SHARE))
            there = goal if abs(goal - level) <= self._SHARE else level + step
            corrected = problem.at_parameter(known[level], there)
            apart = np.inf if corrected is None else np.max(np.abs(corrected[:-1] - known[level]))
            if corrected is None or apart > 0.5 * (1 + np.max(np.abs(known[level]))):
                return None
            known[there] = corrected[:-1]
        return known[goal]

    def __call__(self, value: float) -> float:
        """Return the largest real part of the eigenvalues; NaN beyond the end of the branch."""
        point = self.point(value)
        if point is None:
            return float("nan")
        slopes = self._problem.slopes(np.append(point, self._problem.levels(value)))[:, :-1]
        unit = self._problem.at(value)[1]
        return float(np.max(np.linalg.eigvals(slopes).real)) * unit


@dataclass(frozen=True)
class SingularPoints(CurveEquations):
    r"""Equations of fixed points with an eigenvalue on the imaginary axis.

    The unknowns are coordinates in a frame of states with one symmetry, followed by parameters.

    Besides the rates, the real part of an eigenvalue of the full Jacobian J vanishes. Its
    derivatives are those of :math:`w^T J v/(w^T v)` with the eigenvectors w and v held fixed. These
    equations are regular at symmetry-breaking bifurcations, at folds and at Hopf points.

    Attributes:
        plane: The flow with its parameters.
        frame: Orthonormal basis of the states with the symmetry, shape (n, m).
    """

    plane: Parameters
    frame: Floats

    _rounds, _small, _flat = 20, 1e-9, 1e-8

    @classmethod
    def at(cls, plane: Parameters, values: Floats) -> SingularPoints:
        """Return the equations of bifurcations with the symmetries of a given state."""
        projector = kept_projector(plane.flow, values, _SYMMETRIC)
        sizes, vectors = np.linalg.eigh((projector + projector.T) / 2)
        return cls(plane, np.asarray(vectors[:, sizes > 0.5]))

    def settled(self, u: Floats, size: float) -> bool:
        # where branches of one symmetry cross, Newton's method converges linearly: steps halve
        return size < 1e-5 * self.size(u) and bool(np.max(np.abs(self.equations(u)[0])) < 1e-6)

    def whole(self, u: Floats) -> Floats:
        """Return all coordinates, followed by the parameters, for coordinates in the frame."""
        n = self.frame.shape[1]
        return np.append(self.frame @ u[:n], u[n:])

    def inside(self, whole: Floats) -> Floats:
        """Return coordinates in the frame, followed by the parameters, for all coordinates."""
        n = len(self.frame)
        return np.append(self.frame.T @ whole[:n], whole[n:])

    def crossing(self, slopes: Floats) -> tuple[complex, Floats, Floats]:
        """Return the eigenvalue nearest to the imaginary axis, with left and right eigenvectors.

        The product of the two is one.
        """
        rates, left, right = eig(slopes[:, : len(self.frame)], left=True)
        nearest = int(np.argmin(np.abs(rates.real)))
        own, other = left[:, nearest].conj(), right[:, nearest]
        return complex(rates[nearest]), own / (own @ other), other

    def equations(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the residuals, shape (m + 1,), and their derivatives by u."""
        whole, (n, m) = self.whole(u), self.frame.shape
        slopes = self.plane.slopes(whole)
        if not np.all(np.isfinite(slopes)):
            return np.full(m + 1, np.nan), np.full((m + 1, u.size), np.nan)
        rate, left, right = self.crossing(slopes)
        axes = np.array([right.real, right.imag])

        def turned(at: Floats) -> Floats:
            """Return the real part of w^T J v at other unknowns, w and v being fixed."""
            here = self.whole(at)
            along = differences(
                lambda e: self.plane.rates(np.append(here[:n] + e @ axes, here[n:])),
                np.zeros(2),
                _SLOPE_STEP,
            )
            return np.array([(left @ (along[:, 0] + 1j * along[:, 1])).real])

        by_rates = self.frame.T @ np.hstack([slopes[:, :n] @ self.frame, slopes[:, n:]])
        missing = np.append(self.frame.T @ self.plane.rates(whole), rate.real)
        return missing, np.vstack([by_rates, differences(turned, u, _SLOPE_STEP)])


@dataclass
class _Curve:
    """A part of a branch, which is followed from a fixed point in one direction.

    Its index is the number of unstable directions at each point, and ``known`` are bifurcations of
    other curves.
    """

    problem: OneParameter
    known: Sequence[Bifurcation]
    points: list[Floats]
    index: list[int]
    bifurcations: list[Bifurcation] = field(default_factory=list)
    starts: list[tuple[Floats, Floats | None]] = field(default_factory=list)
    end: str = "stalls"

    def walk(self, tangent: Floats) -> _Curve:
        """Follow the curve along a tangent, and return it."""
        problem, start, begun = self.problem, self.points[0], tangent
        u = start
        for reached, bent, step in problem.steps(start, tangent, _PACE):
            if not 0.0 <= reached[-1] <= 1.0:
                self.end = "range"
                inside = problem.at_end(u, reached)
                if inside is not None:
                    self._add(inside, tangent)
                break
            vertex = _vertex(problem, u, reached) if tangent[-1] * bent[-1] < 0 else None
            if vertex is not None:
                # the rest is an image of the part so far; the bifurcation is listed by the branch
                # crossed here
                self.starts += _through(problem, vertex)
                self.points.append(vertex)
                self.index.append(self.index[-1])
                self.end = "bifurcation"
                break
            self._add(reached, tangent)
            u, tangent = reached, bent
            round_ = len(self.points) > _ROUND and np.linalg.norm(u - start) < step
            if round_ and tangent @ begun > 0.9:
                self.end = "closed"
            elif problem.flow.least_gram(u[:-1], problem.at(problem.value(u))[0]) < _OUTSIDE:
                self.end = "no vectors"
            elif problem.size(u) > _LARGE:
                self.end = "runs away"
            if self.end != "stalls" or len(self.points) >= _STEPS:
                break
        return self

    def _add(self, u: Floats, tangent: Floats) -> None:
        """Add a point, and the bifurcations before it if the index changed."""
        index = self.problem.unstable(u)
        for ends in self._separated((self.points[-1], u), (self.index[-1], index), tangent):
            self._cross(ends, tangent)
            self.index[-1] = self.problem.unstable(ends[1])
        self.points.append(u)
        self.index.append(index)

    def _separated(
        self, ends: tuple[Floats, Floats], index: tuple[int, int], tangent: Floats
    ) -> list[tuple[Floats, Floats]]:
        """Return pieces of the curve between two points that contain one bifurcation each.

        Pieces in which several directions become stable or unstable are halved until each has one,
        or is too short to be divided.
        """
        if index[0] == index[1]:
            return []
        low, high = ends
        middle = None
        if abs(index[0] - index[1]) > 1 and tangent @ (high - low) > _APART:
            middle = self.problem.between(low, high, 0.5, tangent)
        if middle is None:
            return [ends]
        between = self.problem.unstable(middle)
        return [
            *self._separated((low, middle), (index[0], between), tangent),
            *self._separated((middle, high), (between, index[1]), tangent),
        ]

    def _cross(self, ends: tuple[Floats, Floats], tangent: Floats) -> None:
        """Add the bifurcation between two points, and starts on the branches there."""
        u = self._located(ends, tangent)
        self.points.append(u)
        self.index.append(self.index[-1])
        for each in self.known:
            near = abs(self.problem.levels(each.parameter)[0] - u[-1]) < 1e-3
            if near and self.problem.flow.same(u[:-1], each.values, 1e-2):
                self.bifurcations.append(each)
                return
        self.bifurcations.append(self._told_apart(u))

    def _located(self, ends: tuple[Floats, Floats], tangent: Floats) -> Floats:
        """Return the point between two at which a rate crosses zero, or else their middle."""
        problem, (low, high) = self.problem, ends
        for _ in range(3):
            middle = problem.between(low, high, 0.5, tangent)
            if middle is None:
                break
            same = problem.unstable(middle) == self.index[-1]
            low, high = (middle, high) if same else (low, middle)
        middle = (low + high) / 2
        points = SingularPoints.at(problem, middle[:-1])
        with np.errstate(all="ignore"):
            solved = newton(points.equations, points.inside(middle), 30, 1e-12, smallest=1e-8)
        if solved is None:
            return middle
        u = points.whole(solved[0])
        return u if np.linalg.norm(u - middle) < np.linalg.norm(high - low) else middle

    def _told_apart(self, u: Floats) -> Bifurcation:
        """Return the bifurcation with its kind; add starts on the branches there."""
        value = self.problem.value(u)
        slopes = self.problem.slopes(u)
        rates = np.linalg.eigvals(slopes[:, :-1])
        scale = np.max(np.abs(rates))
        nearest = int(np.argmin(np.abs(rates.real)))
        if abs(rates[nearest].imag) > _KERNEL * scale:
            frequency = abs(float(rates[nearest].imag))
            return Bifurcation("hopf", value, u[:-1], frequency)
        left, sizes, right = np.linalg.svd(slopes[:, :-1])
        kernel = sizes < max(_KERNEL * sizes[0], 2 * sizes[-1])
        by_parameter = np.max(np.abs(left[:, kernel].T @ slopes[:, -1]))
        if by_parameter > 1e-3 * np.linalg.norm(slopes[:, -1]) + 1e-7 * scale:
            return Bifurcation("fold", value, u[:-1])
        sides = []
        for direction in _directions(right[kernel]):
            ways = (_left(self.problem, u, sign * direction) for sign in (1.0, -1.0))
            leaving = [each for way in ways for each in way]
            inside = (start for start in leaving if 0.0 <= start[-1] <= 1.0)
            self.starts += [(start, start - u) for start in inside]
            sides.append([np.sign(start[-1] - u[-1]) for start in leaving])
        both = any(1.0 in side and -1.0 in side for side in sides)
        one = any(side for side in sides)
        kind = "transcritical" if both else "pitchfork" if one else "branch point"
        return Bifurcation(kind, value, u[:-1])


def followed(
    problem: OneParameter, starts: Sequence[Floats], begin: float
) -> list[FixedPointBranch]:
    """Return the branches through fixed points, and those that bifurcate from them.

    Args:
        problem: The equations of fixed points.
        starts: Fixed points at ``begin``.
        begin: A value of the parameter within its range.
    """
    waiting: list[tuple[Floats, Floats | None]] = [
        (np.append(values, problem.levels(begin)), None) for values in starts
    ]
    branches: list[FixedPointBranch] = []
    while waiting and len(branches) < _BRANCHES:
        start, direction = waiting.pop(0)
        if any(_contains(problem, branch, start) for branch in branches):
            continue
        tangent = problem.tangent(start, direction)
        known = [each for branch in branches for each in branch.bifurcations]
        one = _Curve(problem, known, [start], [problem.unstable(start)]).walk(tangent)
        known += one.bifurcations
        other = _Curve(problem, known, [start], one.index[:1])
        if one.end == "closed":
            other.end = "closed"
        elif direction is None:
            other.walk(-tangent)
        else:
            # the branch begins where it left another one
            other.points.append(start - direction)
            other.index *= 2
            other.end = "bifurcation"
        points = np.array([*other.points[:0:-1], *one.points])
        index = np.array([*other.index[:0:-1], *one.index])
        bifurcations = (*other.bifurcations[::-1], *one.bifurcations)
        whole = problem.values(points[:, -1]), points[:, :-1], index, bifurcations
        branches.append(FixedPointBranch(*whole, (other.end, one.end)))
        waiting += [*one.starts, *other.starts]
    return branches


def _vertex(problem: OneParameter, before: Floats, after: Floats) -> Floats | None:
    """Return the point between two at which a symmetry maps a branch onto itself.

    There the symmetry keeps the point and reverses the direction, so that the difference of a point
    and its image changes its sign.
    """
    own, other = (each[:-1] - problem.flow.images(each[:-1]) for each in (before, after))
    sizes, other_sizes = (np.linalg.norm(each, axis=1) for each in (own, other))
    along = np.sum(own * other, axis=1)
    turned = (sizes > _APART) & (other_sizes > _APART) & (along < -0.99 * sizes * other_sizes)
    for n in np.flatnonzero(turned):
        share = sizes[n] / (sizes[n] + other_sizes[n])
        guess = before + share * (after - before)
        across = np.append(own[n] / sizes[n], 0.0)
        fixed = []
        for away in (_VERTEX, 2 * _VERTEX):
            near = problem.corrected(guess + away * across, across, away)
            if near is not None:
                image = problem.flow.images(near[:-1])[n]
                fixed.append(np.append((near[:-1] + image) / 2, near[-1]))
        # the part that the symmetry keeps is even in the distance: extrapolate to distance zero
        if len(fixed) == 2:
            return np.asarray((4 * fixed[0] - fixed[1]) / 3)
    return None


def _through(problem: OneParameter, vertex: Floats) -> Iterator[tuple[Floats, None]]:
    """Yield a fixed point near a vertex on the branch that has the vertex's symmetry."""
    for away in (_AWAY, -_AWAY):
        level = vertex[-1] + away
        beside = problem.at_parameter(vertex[:-1], level)
        if 0.0 <= level <= 1.0 and beside is not None:
            yield beside, None
            return


def _directions(kernel: Floats) -> Iterator[Floats]:
    """Yield the basis vectors of a kernel, and some random combinations if there are several."""
    yield from kernel
    if len(kernel) > 1:
        random = np.random.default_rng(5)
        for weights in random.standard_normal((6, len(kernel))):
            yield weights @ kernel / np.linalg.norm(weights)


def _left(problem: OneParameter, u: Floats, direction: Floats) -> Iterator[Floats]:
    """Yield the fixed point displaced a little along a direction, if it is on another branch."""
    across = np.append(direction, 0.0)
    for away in (_AWAY, _AWAY / 8):
        displaced = problem.corrected(u + away * across, across, float(across @ u) + away)
        if displaced is None or np.max(np.abs(displaced - u)) > 10 * away:
            continue
        same = problem.at_parameter(u[:-1], float(displaced[-1]))
        flow = problem.flow
        if same is None or np.max(np.abs(same[:-1] - displaced[:-1])) > _SAME:
            if same is None or not flow.same(displaced[:-1], same[:-1], _SAME):
                yield displaced
            return


def _contains(problem: OneParameter, branch: FixedPointBranch, u: Floats) -> bool:
    """Return whether a branch goes through a fixed point or one of its images."""
    value = problem.value(u)
    parameter = branch.parameter
    for n in np.flatnonzero((parameter[:-1] - value) * (parameter[1:] - value) <= 0):
        width = parameter[n + 1] - parameter[n]
        share = (value - parameter[n]) / width if width else 0.0
        guess = (1 - share) * branch.values[n] + share * branch.values[n + 1]
        if not problem.flow.same(u[:-1], guess, _BESIDE):
            continue
        images = problem.flow.images(u[:-1])
        image = np.append(images[np.argmin(np.max(np.abs(images - guess), axis=1))], u[-1])
        ends = problem.levels(parameter[n : n + 2])
        across = np.append(branch.values[n + 1] - branch.values[n], ends[1] - ends[0])
        across /= max(float(np.linalg.norm(across)), 1e-300)
        # Newton's method across the branch, because at fixed parameter it fails near folds
        on_branch = problem.corrected(np.append(guess, u[-1]), across, float(across @ image))
        size = 1 + np.max(np.abs(image))
        if on_branch is not None and np.max(np.abs(on_branch - image)) < _SAME * size:
            return True
    return False
