"""All branches of stationary states that are found, and the transitions of the equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, pairwise, product

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import brentq, minimize

from symderiv.analysis.fixed_points.exchanged_flow import UnitEntries
from symderiv.equilibrium.branches import (
    FLAT,
    Branch,
    BranchEquations,
    Stationary,
    described,
    followed,
    pieces_of,
)
from symderiv.equilibrium.free_energy import FreeEnergy
from symderiv.foundation.errors import ToleranceError

_SAME, _FLAT, _NULL = 1e-6, 1e-9, 1e-5
_EQUAL, _COMMUTES = 1e-7, 1e-8
_BEGUN, _FIRST = 1e-2, 1e-3
_STARTS, _MOST_CURVES = 6, 40
_GRID = 400


#: The start of a curve: a state, the direction if it leaves another branch there, and a frame.
_Begin = tuple[Stationary, "np.ndarray | None", np.ndarray]


@dataclass(frozen=True)
class Transition:
    """A value of α at which the equilibrium changes.

    Attributes:
        kind: "continuous", where a state loses stability to one that bifurcates from it;
            "first-order", where another state takes over as the one of smallest free energy;
            "spinodal", where a state ceases to be stable or to exist.
        alpha: The value of α.
        branches: The indices of the branches.
    """

    kind: str
    alpha: float
    branches: tuple[int, ...]


class Landscape:
    """The branches of a free energy between α = 0 and the largest α."""

    def __init__(
        self,
        energy: FreeEnergy,
        most: float,
        progress: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.energy, self.most, self._progress = energy, most, progress
        self._symmetries = list(symmetries_of(energy))
        #: Parts of curves between folds, with one state at each α.
        self.branches: list[Branch] = []
        self._curves = 0
        #: Bifurcations: (index of the branch, α, whether a stable branch leaves it there).
        self._points: list[tuple[int, float, bool]] = []
        self._search()

    @cached_property
    def transitions(self) -> list[Transition]:
        """The transitions, sorted by α."""
        transitions = [*self._breaks(), *self._folds(), *self._exchanges()]
        return sorted(transitions, key=lambda each: each.alpha)

    def stable_at(self, alpha: float) -> list[tuple[int, Stationary]]:
        """Return the stable states at an α with the indices of their branches."""
        states = []
        for number, branch in enumerate(self.branches):
            state = state_at(branch, alpha)
            if state is not None and state.stable:
                states.append((number, state))
        return states

    def _search(self) -> None:
        energy = self.energy
        Q = np.eye(energy.K) / (energy.decay or 1.0)
        x = energy.free(Q, np.zeros((energy.K, energy.M)))
        self._follow_all(described(energy, x, 0.0))
        self._progress(0.5)
        for share in (1.0, 0.5, 0.2):
            for state in self._minima(share * self.most):
                if not self._known(state):
                    self._follow_all(state)
            self._progress(1.0 - share / 2)

    def _frame(self, x: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of the states with the symmetry of a state, shape (n, m)."""
        still = np.eye(x.size)
        moved = [g - still for g in self._symmetries if np.abs(g @ x - x).max() < _EQUAL]
        return np.asarray(null_space(np.vstack(moved))) if moved else still

    def _follow_all(self, begin: Stationary) -> None:
        """Follow the curve through a state and all curves that bifurcate from it."""
        waiting: list[_Begin] = [(begin, None, self._frame(begin.x))]
        while waiting and self._curves < _MOST_CURVES:
            waiting += self._follow(*waiting.pop(0))

    def _follow(
        self, begin: Stationary, along: np.ndarray | None, frame: np.ndarray
    ) -> list[_Begin]:
        """Follow one curve; return the starts of those that bifurcate from it."""
        equations, states = followed(self.energy, begin, self.most, frame, along)
        middle = states[len(states) // 2]
        if len(states) < 3 or (self._curves and self._known(middle)):
            return []
        self._curves += 1
        further: list[_Begin] = []
        for branch in pieces_of(equations, states):
            if branch.ends[1] - branch.ends[0] < _SAME * self.most:
                continue  # between two folds at a crossing of branches
            number = len(self.branches)
            self.branches.append(branch)
            for state, directions in self._leaving(branch, None if along is None else begin):
                firsts = [(each, self._first(state, *each)) for each in directions]
                begun = [(each, first) for each, first in firsts if first is not None]
                stable = any(first.stable for _, first in begun)
                self._points.append((number, state.alpha, stable))
                further += [(state, *each) for each, _ in begun]
        return further

    def _leaving(
        self, branch: Branch, born: Stationary | None
    ) -> Iterator[tuple[Stationary, list[tuple[np.ndarray, np.ndarray]]]]:
        """Yield the states from which branches of less symmetry bifurcate, with their
        directions.
        """
        rest = null_space(branch.frame.T)
        if rest.shape[1] == 0:
            return

        def across(state: Stationary) -> np.ndarray:
            bend = self.energy.at(state.x, state.alpha)[2]
            return np.asarray(np.linalg.eigvalsh(rest.T @ bend @ rest))

        values = [across(each) for each in branch.states]
        for n in range(len(values) - 1):
            ends = values[n : n + 2]
            before, after = (int(np.sum(each < -FLAT * np.abs(each).max())) for each in ends)
            states = branch.states[n : n + 2]
            # eigenvalues also vanish where the branch itself leaves another one
            at_begin = born is not None and any(
                np.abs(each.x - born.x).max() < _SAME for each in states
            )
            signs = np.sign([each[min(before, after)] for each in ends])
            if before == after or signs[0] == signs[1] or at_begin or states[0].alpha <= 0.0:
                continue
            place = min(before, after)
            try:
                state = _zero(branch, n, across, place)
            except ToleranceError:
                continue  # branches of the same symmetry cross here
            bend = rest.T @ self.energy.at(state.x, state.alpha)[2] @ rest
            sizes, vectors = np.linalg.eigh(bend)
            null = rest @ vectors[:, np.abs(sizes) < _NULL * np.abs(sizes).max()]
            if null.shape[1]:
                yield state, list(self._directions(state, null))

    def _directions(
        self, state: Stationary, null: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield directions (m + 1,) in a null space, each with the frame of its symmetry."""
        seen: list[np.ndarray] = []
        for pattern in self._patterns():
            direction = null @ (null.T @ pattern)
            size = np.linalg.norm(direction)
            if size < 1e-3 * np.linalg.norm(pattern):
                continue
            for sign in (1.0, -1.0):
                each = sign * direction / size
                if any(np.abs(np.sort(each) - np.sort(other)).max() < _SAME for other in seen):
                    continue
                seen.append(each)
                frame = self._frame(state.x + _BEGUN * each)
                yield np.append(frame.T @ each, 0.0), frame

    def _patterns(self) -> Iterator[np.ndarray]:
        energy = self.energy
        none = np.zeros((energy.K, energy.K))
        one_each = np.zeros((energy.K, energy.M))
        one_each[np.arange(energy.K), np.arange(energy.K) % energy.M] = 1.0
        first = np.zeros_like(one_each)
        first[0, 0] = 1.0
        yield energy.free(none, one_each)
        yield energy.free(none, first)
        random = np.random.default_rng(0)
        for _ in range(2):
            yield random.normal(size=energy.size)

    def _first(self, state: Stationary, along: np.ndarray, frame: np.ndarray) -> Stationary | None:
        """Return a state of a branch near its bifurcation, or None."""
        equations = BranchEquations(self.energy, frame, self.most)
        first = equations.corrected(equations.point(state) + _FIRST * along, along)
        return None if first is None else equations.described(first)

    def _minima(self, alpha: float) -> Iterator[Stationary]:
        """Yield minima at an α, from random starts and from students close to one teacher each."""
        energy, random = self.energy, np.random.default_rng(1)
        whole = BranchEquations(energy, np.eye(energy.size), self.most)
        for n in range(_STARTS):
            x = energy.drawn(random, 0.9 - 0.3 * n if n < 2 else None)
            minimum = minimize(
                lambda x: self._walled(x, alpha)[0],
                x,
                jac=lambda x: self._walled(x, alpha)[1],
                hess=lambda x: self._walled(x, alpha)[2],
                method="trust-exact",
                options={"initial_trust_radius": 0.05, "max_trust_radius": 0.3, "gtol": 1e-7},
            )
            if not energy.inside(minimum.x):
                continue
            state = whole.stationary(minimum.x, alpha)
            if state is not None and state.stable:
                yield state

    def _walled(self, x: np.ndarray, alpha: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the free energy with derivatives; infinite if no vectors have the overlaps x."""
        inside = self.energy.inside(x)
        return self.energy.at(x, alpha) if inside else (np.inf, np.zeros(x.size), np.eye(x.size))

    def _known(self, state: Stationary) -> bool:
        for branch in self.branches:
            other = state_at(branch, state.alpha)
            if other is not None and _same(other, state, len(self.energy.pairs)):
                return True
        return False

    def _breaks(self) -> Iterator[Transition]:
        for number, alpha, stable in self._points:
            branch = self.branches[number]
            low, high = branch.ends
            if min(alpha - low, high - alpha) < _FLAT * alpha:
                continue  # where the branch itself leaves another one
            around = [min(max(alpha * (1 + s * 1e-4), low), high) for s in (-1, 1)]
            beside = (state_at(branch, each) for each in around)
            if any(each is not None and each.stable for each in beside):
                yield Transition("continuous" if stable else "spinodal", alpha, (number,))

    def _folds(self) -> Iterator[Transition]:
        seen: list[float] = []
        for number, branch in enumerate(self.branches):
            for fold, place in zip(branch.folds, (0, -1), strict=True):
                alpha = branch.states[place].alpha
                inside = branch.states[1 if place == 0 else -2]
                new = all(abs(alpha - each) > _FLAT * alpha for each in seen)
                if fold and inside.stable and new:
                    seen.append(alpha)
                    yield Transition("spinodal", alpha, (number,))

    def _exchanges(self) -> Iterator[Transition]:
        grid = np.linspace(0.0, self.most, _GRID + 1)[1:].tolist()
        lowest = cache(self._lowest)
        for first, last in pairwise(grid):
            ends = [each.ends for each in self.branches]
            if sum(begin <= last and first <= end for begin, end in ends) < 2:
                continue
            one, other = lowest(first), lowest(last)
            if one is None or other is None or one == other:
                continue
            place = self._equal(one, other, first, last)
            if place is not None:
                yield Transition("first-order", place, (one, other))

    def _lowest(self, alpha: float) -> int | None:
        states = self.stable_at(alpha)
        return min(states, key=lambda each: each[1].value)[0] if states else None

    def _equal(self, one: int, other: int, first: float, last: float) -> float | None:
        """Return the α between two values at which two branches have equal free energies,
        or None.
        """
        pair = self.branches[one], self.branches[other]
        low = max(first, *(each.ends[0] for each in pair))
        high = min(last, *(each.ends[1] for each in pair))
        if low >= high:
            return None

        def gap(alpha: float) -> float:
            return pair[0].at(alpha).value - pair[1].at(alpha).value

        try:
            if gap(low) * gap(high) >= 0.0:
                return None
            alpha = float(brentq(gap, low, high, xtol=1e-13, rtol=1e-13))
            apart = np.abs(pair[0].at(alpha).x - pair[1].at(alpha).x).max()
        except ToleranceError:
            return None  # one branch leaves the other here
        return alpha if apart > 1e-4 else None


def state_at(branch: Branch, alpha: float) -> Stationary | None:
    """Return the state of a branch at an α; None if it has none or none is found."""
    if not branch.ends[0] <= alpha <= branch.ends[1]:
        return None
    try:
        return branch.at(alpha)
    except ToleranceError:
        return None


def _zero(
    branch: Branch, n: int, values: Callable[[Stationary], np.ndarray], place: int
) -> Stationary:
    """Return the state between two neighbours on a branch at which one of several numbers
    vanishes.
    """

    def value(state: Stationary) -> float:
        return float(values(state)[place])

    ends = [value(each) for each in branch.states[n : n + 2]]
    crossing = branch.where(n, value) if ends[0] * ends[1] < 0.0 else None
    return crossing or branch.states[n if abs(ends[0]) < abs(ends[1]) else n + 1]


def _same(one: Stationary, other: Stationary, pairs: int) -> bool:
    if abs(one.value - other.value) > _SAME or abs(one.error - other.error) > _SAME:
        return False
    parts = ((each.x[:pairs], each.x[pairs:]) for each in (one, other))
    return all(
        np.abs(np.sort(a) - np.sort(b)).max(initial=0.0) < 1e-5 for a, b in zip(*parts, strict=True)
    )


def symmetries_of(energy: FreeEnergy) -> Iterator[np.ndarray]:
    """Yield symmetries of the free energy as signed permutations: exchanges of two students, of two
    teachers or of both, and sign changes of units with even activations.
    """
    K, M = energy.K, energy.M
    students = [("Q", (int(i), int(j)), True) for i, j in energy.pairs]
    teachers = [("R", (i, K + n), False) for i, n in np.ndindex(K, M)]
    entries = UnitEntries.of(K + M, [*students, *teachers])
    x, still = energy.drawn(np.random.default_rng(2)), np.eye(energy.size)
    slope = energy.at(x, 1.0)[1]
    for moved, signs in _candidates(K, M):
        image = still[entries.places(moved)] * entries.factors(signs)[:, None]
        gaps = energy.at(image @ x, 1.0)[1] - image @ slope
        moves = not np.array_equal(image, still)
        if moves and np.abs(gaps).max() < _COMMUTES * np.abs(slope).max():
            yield image


def _candidates(K: int, M: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield candidates for symmetries: units in another order, and signs of units."""
    still, whole = np.arange(K + M), np.ones(K + M)
    students, teachers = ([still], [still])
    for swaps, low, high in ((students, 0, K), (teachers, K, K + M)):
        for i, j in combinations(range(low, high), 2):
            moved = still.copy()
            moved[[i, j]] = j, i
            swaps.append(moved)
    yield from ((one[other], whole) for one, other in product(students, teachers))
    own = [*(1.0 - 2.0 * np.eye(K)), np.ones(K)]
    others = [*(1.0 - 2.0 * np.eye(M)), np.ones(M), -np.ones(M)]
    yield from ((still, np.append(*each)) for each in product(own, others))
