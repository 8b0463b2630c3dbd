"""Branches of stationary states of a free energy, followed in α through folds.

A branch is a curve in (state, α). Order parameters that are equal at its begin stay equal, as the
symmetry of the begin asks for, so that Newton's method is regular where a branch of less symmetry
leaves. The whole matrix of second derivatives decides what is stable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from symderiv.analysis.fixed_points.newton_steps import newton
from symderiv.equilibrium.free_energy import FreeEnergy
from symderiv.foundation.errors import ToleranceError

__all__ = [
    "Branch",
    "BranchCurve",
    "BranchEquations",
    "Stationary",
    "described",
    "followed",
    "pieces_of",
    "stationary",
]

_SMALL, _ROUND, _SETTLED = 1e-12, 1e-8, 1e-9
_STEPS, _NEWTON = 1500, 12
_LONGEST, _FIRST, _SHORTEST = 0.04, 1e-3, 1e-7


@dataclass(frozen=True)
class Stationary:
    """A state at which the derivatives of the free energy vanish.

    Attributes:
        alpha: α.
        x: Free order parameters, see :class:`FreeEnergy`.
        value: The free energy.
        error: ε_g.
        eigenvalues: Those of the second derivatives, ascending.
    """

    alpha: float
    x: np.ndarray
    value: float
    error: float
    eigenvalues: np.ndarray

    @property
    def stable(self) -> bool:
        """True at a minimum of the free energy."""
        return bool(self.eigenvalues[0] > 0.0)


@dataclass(frozen=True)
class BranchCurve:
    """Stationary states along a curve.

    Attributes:
        equations: In the frame of its symmetry.
        states: In the order of the curve.
        ends: Why it ends at its begin and at its end.
    """

    equations: BranchEquations
    states: list[Stationary]
    ends: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Branch:
    """A part of a curve along which α grows: there is one state at each α.

    Attributes:
        equations: In the frame of its symmetry.
        states: With ascending α.
        folds: Whether its begin and its end are folds.
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

    def between(self, n: int, share: float) -> Stationary:
        """Return a state between two neighbours, by the share of the distance from the first.

        Raises:
            ToleranceError: Newton's method does not converge to it.
        """
        one, other = (self.equations.point(each) for each in self.states[n : n + 2])
        corrected = self.equations.corrected(one + share * (other - one), _unit(other - one))
        if corrected is None:
            raise ToleranceError(f"a branch was lost near alpha = {self.states[n].alpha:g}")
        return self.equations.described(corrected[0])

    def at(self, alpha: float) -> Stationary:
        """Return the state at an α between the ends."""
        alphas = [each.alpha for each in self.states]
        n = min(max(int(np.searchsorted(alphas, alpha)), 1), len(alphas) - 1) - 1
        one, other = self.states[n], self.states[n + 1]
        if alpha in (one.alpha, other.alpha):
            return one if alpha == one.alpha else other
        share = (alpha - one.alpha) / (other.alpha - one.alpha)
        along = other.x - one.x
        # states change with the root of α where a branch begins or turns
        for part in (share, share**0.5, 1.0 - (1.0 - share) ** 0.5):
            try:
                state = stationary(self.equations.energy, one.x + part * along, alpha, self.frame)
            except ToleranceError:
                continue
            place = (state.x - one.x) @ along / (along @ along)
            aside = np.abs(state.x - one.x - place * along).max()
            if 0.0 < place < 1.0 and aside < 0.3 * np.abs(along).max():
                return state
        # near a fold: by the place between the neighbours
        share = brentq(lambda s: self.between(n, s).alpha - alpha, 0.0, 1.0, xtol=1e-15)
        return replace(self.between(n, float(share)), alpha=alpha)


def _unit(vector: np.ndarray) -> np.ndarray:
    unit: np.ndarray = vector / np.linalg.norm(vector)
    return unit


def described(energy: FreeEnergy, x: np.ndarray, alpha: float) -> Stationary:
    """Return a stationary state with its free energy, error and eigenvalues."""
    value, _, bend = energy.at(x, alpha)
    return Stationary(alpha, x, value, energy.error(x)[0], np.linalg.eigvalsh(bend))


def stationary(
    energy: FreeEnergy, guess: np.ndarray, alpha: float, frame: np.ndarray
) -> Stationary:
    """Return the stationary state near a guess, by Newton's method in a frame.

    Raises:
        ToleranceError: It does not converge to one.
    """
    x = frame @ (frame.T @ guess)
    for _ in range(3 * _NEWTON):
        if not energy.inside(x):
            break
        _, slope, bend = energy.at(x, alpha)
        step = -np.linalg.lstsq(frame.T @ bend @ frame, frame.T @ slope, rcond=1e-14)[0]
        change = frame @ step
        size = float(np.abs(change).max())
        x = x + change * min(1.0, 0.3 / size if size else 1.0)
        if size < _SMALL * 100 and energy.inside(x):
            slope = energy.at(x, alpha)[1]
            if np.abs(slope).max() < _SETTLED * (1.0 + alpha):
                return described(energy, x, alpha)
    raise ToleranceError(f"no stationary state was found near a guess at alpha = {alpha:g}")


def followed(
    energy: FreeEnergy,
    begin: Stationary,
    most: float,
    frame: np.ndarray,
    along: np.ndarray | None = None,
) -> BranchCurve:
    """Follow a branch from a state to both sides, up to α = most and down to α = 0.

    Args:
        energy: The free energy.
        begin: A state on the branch.
        most: The largest α.
        frame: The frame of its symmetry.
        along: A direction (m + 1,) in the frame and α/most, to go in this one direction only.
    """
    scaled = BranchEquations(energy, frame, most)
    start = scaled.point(begin)
    tangent = scaled.tangent(start) if along is None else _unit(along)
    one, first = _one_side(scaled, start, tangent, _LONGEST / 8 if along is None else _FIRST)
    other, last = (
        ([], "begin") if along is not None else _one_side(scaled, start, -tangent, _LONGEST / 8)
    )
    points = [*reversed(other), start, *one]
    return BranchCurve(scaled, [scaled.described(each) for each in points], (last, first))


class BranchEquations:
    """Equations of a branch in its frame, with α in units of the largest one."""

    def __init__(self, energy: FreeEnergy, frame: np.ndarray, most: float) -> None:
        self.energy, self.frame, self.most = energy, frame, most

    def point(self, state: Stationary) -> np.ndarray:
        """Return a state in the frame, with α behind it, shape (m + 1,)."""
        return np.append(self.frame.T @ state.x, state.alpha / self.most)

    def described(self, point: np.ndarray) -> Stationary:
        """Return what a point is, see :class:`Stationary`."""
        return described(self.energy, self.frame @ point[:-1], float(point[-1] * self.most))

    def inside(self, point: np.ndarray) -> bool:
        """Return whether vectors have the overlaps of a point."""
        return self.energy.inside(self.frame @ point[:-1])

    def equations(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes (m,) and their derivatives (m, m + 1)."""
        x, alpha = self.frame @ point[:-1], point[-1] * self.most
        error, entropy = self.energy.error(x), self.energy.entropy(x)
        slope = self.frame.T @ (alpha * error[1] - entropy[1])
        bend = self.frame.T @ (alpha * error[2] - entropy[2]) @ self.frame
        return slope, np.column_stack([bend, self.most * (self.frame.T @ error[1])])

    def tangent(self, point: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Return the direction of the branch, onwards from the one before or to larger α."""
        _, _, rows = np.linalg.svd(self.equations(point)[1])
        direction: np.ndarray = rows[-1]
        towards = direction[-1] if before is None else direction @ before
        return direction if towards >= 0.0 else -direction

    def corrected(self, guess: np.ndarray, tangent: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Return the point of the branch in the plane of a guess, and how many steps it took."""

        def equations(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if not self.inside(point):
                return np.full(guess.size, np.nan), np.empty((guess.size, guess.size))
            slope, bend = self.equations(point)
            return np.append(slope, tangent @ (point - guess)), np.vstack([bend, tangent])

        solved = newton(equations, guess, _NEWTON - 1, _SMALL)
        if solved is None or not self.inside(solved[0]):
            return None
        point, size, count = solved
        # near where branches cross, rounding leaves more than the tolerance of the change
        near = size < _ROUND and np.abs(self.equations(point)[0]).max() < 10 * _SMALL
        settled = size < _SMALL * (1 + np.abs(point).max())
        return (point, count) if settled or near else None


def _one_side(
    scaled: BranchEquations, start: np.ndarray, tangent: np.ndarray, length: float
) -> tuple[list[np.ndarray], str]:
    points: list[np.ndarray] = []
    point = start
    while len(points) < _STEPS:
        ahead = scaled.corrected(point + length * tangent, tangent)
        turned = None if ahead is None else scaled.tangent(ahead[0], tangent)
        if ahead is None or turned is None or turned @ tangent < 0.97:
            length /= 2.0
            if length < _SHORTEST:
                return points, "the boundary of what vectors can have"
            continue
        new, steps = ahead
        if not 0.0 < new[-1] <= 1.0:
            edge = 1.0 if new[-1] > 1.0 else 0.0
            last = _at_alpha(scaled, point, new, edge)
            if last is not None and np.abs(last - point).max() > _SHORTEST:
                points.append(last)
            return points, "the range of alpha"
        points.append(new)
        point, tangent = new, turned
        length = min(length * (1.6 if steps < 5 else 0.8), _LONGEST)
    return points, "too many steps"


def _at_alpha(
    scaled: BranchEquations, one: np.ndarray, other: np.ndarray, alpha: float
) -> np.ndarray | None:
    share = (alpha - one[-1]) / (other[-1] - one[-1])
    guess = one + share * (other - one)
    direction = np.zeros(guess.size)
    direction[-1] = 1.0
    at_alpha = scaled.corrected(guess, direction)
    return None if at_alpha is None else at_alpha[0]


def pieces_of(curve: BranchCurve) -> list[Branch]:
    """Return the parts of a curve between its folds, which are located."""
    equations, states = curve.equations, curve.states
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
    """Return the state at which α is extremal, and whether the middle one of three is behind it.

    Args:
        equations: The equations of the curve.
        around: Three states in a row, α of the middle one is extremal among them.
    """
    one, middle, other = (equations.point(each) for each in around)
    direction = _unit(other - one)

    def along(share: float) -> np.ndarray:
        extremal = equations.corrected(one + share * (other - one), direction)
        if extremal is None:
            raise ToleranceError("a fold of a branch was not located")
        return extremal[0]

    def speed(share: float) -> float:
        return float(equations.tangent(along(share), direction)[-1])

    try:
        share = float(brentq(speed, 0.0, 1.0, xtol=1e-15, rtol=1e-14))
        fold = along(share)
    except (ToleranceError, ValueError):
        # branches cross where this one turns: the fold is known to the steps only
        return around[1], False
    return equations.described(fold), bool(direction @ (middle - fold) > 0.0)
