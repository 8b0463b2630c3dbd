"""Branches of stationary states of a free energy, followed in α through folds.

A branch is a curve in (state, α). It is restricted to the symmetry of its first state, so that
Newton's method is regular where a branch of less symmetry bifurcates. Stability is decided by the
whole matrix of second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from symderiv.analysis.fixed_points.arclength import CurveEquations, StepPace
from symderiv.equilibrium.free_energy import FreeEnergy
from symderiv.foundation.errors import ToleranceError

FLAT = 1e-9
"""Curvatures below this share of the largest one count as zero: near specialisation, states on a
circle may differ by only the sixth power of their distance from it."""
_SMALL, _ROUND, _STEPS = 1e-12, 1e-8, 1500
_PACE = StepPace(5e-3, 1e-7, 0.04, 0.97, (1.6, 0.8))
_FIRST = 1e-3


@dataclass(frozen=True)
class Stationary:
    """A state at which the gradient of the free energy vanishes.

    Attributes:
        alpha: α.
        x: Free order parameters, see :class:`FreeEnergy`.
        value: The free energy.
        error: ε_g.
        eigenvalues: The eigenvalues of the Hessian, ascending.
    """

    alpha: float
    x: np.ndarray
    value: float
    error: float
    eigenvalues: np.ndarray

    @property
    def stable(self) -> bool:
        """True at a minimum of the free energy."""
        return bool(self.eigenvalues[0] > -FLAT * self.eigenvalues[-1])


@dataclass(frozen=True)
class Branch:
    """A part of a curve between folds: it has one state at each α.

    Attributes:
        equations: The equations in the frame of its symmetry.
        states: The states with ascending α.
        folds: Whether its beginning and its end are folds.
    """

    equations: BranchEquations
    states: list[Stationary]
    folds: tuple[bool, bool]

    @property
    def frame(self) -> np.ndarray:
        """The frame of its symmetry, shape (n, m)."""
        return self.equations.frame

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest α."""
        return self.states[0].alpha, self.states[-1].alpha

    def where(self, n: int, value: Callable[[Stationary], float]) -> Stationary | None:
        """Return the state between two neighbours at which a number vanishes; None if it does not
        change sign.

        Raises:
            ToleranceError: The branch is lost between them.
        """
        one, other = (self.equations.point(each) for each in self.states[n : n + 2])
        equations = self.equations
        point = equations.where(
            lambda u: value(equations.described(u)), one, other, _unit(other - one)
        )
        return None if point is None else equations.described(point)

    def at(self, alpha: float) -> Stationary:
        """Return the state at an α between the ends."""
        alphas = [each.alpha for each in self.states]
        n = min(max(int(np.searchsorted(alphas, alpha)), 1), len(alphas) - 1) - 1
        one, other = self.states[n], self.states[n + 1]
        if alpha in (one.alpha, other.alpha):
            return one if alpha == one.alpha else other
        share = (alpha - one.alpha) / (other.alpha - one.alpha)
        along = other.x - one.x
        # near folds and bifurcations states change with the root of α
        for part in (share, share**0.5, 1.0 - (1.0 - share) ** 0.5):
            state = self.equations.stationary(one.x + part * along, alpha)
            if state is None:
                continue
            place = (state.x - one.x) @ along / (along @ along)
            aside = np.abs(state.x - one.x - place * along).max()
            if 0.0 < place < 1.0 and aside < 0.3 * np.abs(along).max():
                return state
        # near a fold: find the place between the neighbours
        state_there = self.where(n, lambda state: state.alpha - alpha)
        if state_there is None:
            raise ToleranceError(f"a branch was lost near alpha = {alpha:g}")
        return replace(state_there, alpha=alpha)


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def described(energy: FreeEnergy, x: np.ndarray, alpha: float) -> Stationary:
    """Return a stationary state with its free energy, error and eigenvalues."""
    value, _, bend = energy.at(x, alpha)
    return Stationary(alpha, x, value, energy.error(x)[0], np.linalg.eigvalsh(bend))


def followed(
    energy: FreeEnergy,
    begin: Stationary,
    most: float,
    frame: np.ndarray,
    along: np.ndarray | None = None,
) -> tuple[BranchEquations, list[Stationary]]:
    """Return the equations of a branch and its states, followed in both directions from one of
    them, up to α = most and down to α = 0.

    Args:
        energy: The free energy.
        begin: A state on the branch.
        most: The largest α.
        frame: The frame of its symmetry.
        along: A direction (m + 1,) in the frame and α/most, to go in this one direction only.
    """
    scaled = BranchEquations(energy, frame, most)
    start = scaled.point(begin)
    if along is None:
        tangent = scaled.tangent(start, np.append(np.zeros(start.size - 1), 1.0))
        before = _one_side(scaled, start, -tangent, _PACE)
        after = _one_side(scaled, start, tangent, _PACE)
    else:
        before, after = [], _one_side(scaled, start, _unit(along), replace(_PACE, first=_FIRST))
    return scaled, [scaled.described(each) for each in (*reversed(before), start, *after)]


class BranchEquations(CurveEquations):
    """Equations of a branch in its frame, with α in units of the largest one."""

    _rounds, _small, _flat = 11, _SMALL, FLAT

    def __init__(self, energy: FreeEnergy, frame: np.ndarray, most: float) -> None:
        self.energy, self.frame, self.most = energy, frame, most

    def point(self, state: Stationary) -> np.ndarray:
        """Return a state in coordinates of the frame, with α appended, shape (m + 1,)."""
        return np.append(self.frame.T @ state.x, state.alpha / self.most)

    def described(self, point: np.ndarray) -> Stationary:
        """Return the state at a point, see :class:`Stationary`."""
        return described(self.energy, self.frame @ point[:-1], float(point[-1] * self.most))

    def stationary(self, guess: np.ndarray, alpha: float) -> Stationary | None:
        """Return the stationary state near a guess, if Newton's method converges to one."""
        point = self.at_parameter(self.frame.T @ guess, alpha / self.most)
        return None if point is None else replace(self.described(point), alpha=alpha)

    def equations(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient (m,) and its derivatives (m, m + 1); nan where no vectors have such
        overlaps.
        """
        x, alpha = self.frame @ point[:-1], point[-1] * self.most
        if not self.energy.inside(x):
            return np.full(point.size - 1, np.nan), np.full((point.size - 1, point.size), np.nan)
        error, entropy = self.energy.error(x), self.energy.entropy(x)
        slope = self.frame.T @ (alpha * error[1] - entropy[1])
        bend = self.frame.T @ (alpha * error[2] - entropy[2]) @ self.frame
        return slope, np.column_stack([bend, self.most * (self.frame.T @ error[1])])

    def size(self, point: np.ndarray) -> float:
        return 1.0

    def settled(self, point: np.ndarray, size: float) -> bool:
        if not self.energy.inside(self.frame @ point[:-1]):
            return False
        if size < _SMALL * (1 + np.abs(point).max()):
            return True
        # near crossings of branches, rounding exceeds the tolerance of the change
        return size < _ROUND and bool(np.abs(self.equations(point)[0]).max() < 10 * _SMALL)


def _one_side(
    scaled: BranchEquations, start: np.ndarray, tangent: np.ndarray, pace: StepPace
) -> list[np.ndarray]:
    """Return the points of the curve in one direction, without the first one."""
    points = [start]
    for ahead, _, _ in scaled.steps(start, tangent, pace):
        if not 0.0 < ahead[-1] <= 1.0:
            last = scaled.at_end(points[-1], ahead)
            if last is not None and np.abs(last - points[-1]).max() > pace.least:
                points.append(last)
            break
        points.append(ahead)
        if len(points) > _STEPS:
            break
    return points[1:]


def pieces_of(equations: BranchEquations, states: list[Stationary]) -> list[Branch]:
    """Return the parts of a curve between its folds, whose places are computed."""
    grows = np.diff([each.alpha for each in states]) > 0.0
    turns = [n + 1 for n in range(len(grows) - 1) if grows[n] != grows[n + 1]]
    pieces: list[Branch] = []
    part: list[Stationary] = []
    begin, from_fold = 0, False
    for n in [*turns, len(states)]:
        to_fold = n < len(states)
        part += states[begin:n]
        rest: list[Stationary] = []
        if to_fold:
            fold, passed = _fold(equations, states[n - 1 : n + 2])
            part += [fold] if passed else [states[n], fold]
            rest = [fold, states[n]] if passed else [fold]
        if len(part) > 1:
            down = part[0].alpha > part[-1].alpha
            folds = (to_fold, from_fold) if down else (from_fold, to_fold)
            pieces.append(Branch(equations, part[::-1] if down else part, folds))
        part, begin, from_fold = rest, n + 1, to_fold
    return pieces


def _fold(equations: BranchEquations, around: list[Stationary]) -> tuple[Stationary, bool]:
    """Return the state at which α is extremal, and whether the middle one of three lies beyond it.

    Args:
        equations: The equations of the curve.
        around: Three states in a row, α of the middle one is extremal among them.
    """
    one, middle, other = (equations.point(each) for each in around)
    direction = _unit(other - one)

    try:
        fold = equations.where(
            lambda u: float(equations.tangent(u, direction)[-1]), one, other, direction
        )
    except ToleranceError:
        fold = None
    if fold is None:
        # branches cross at this fold: its place is known up to the steps only
        return around[1], False
    return equations.described(fold), bool(direction @ (middle - fold) > 0.0)
