"""Objectives, and the controls that make them small: constants, steepest descent, the best.

The best of all is searched by SciPy's projected quasi-Newton method L-BFGS-B with gradients of the
adjoint. On plateaus there are many local optima: short searches from the best constant, the
steepest descent and constants at the quarters of the bounds come first, and the best one goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from symderiv.foundation.progress import Tell
from symderiv.integrate.control.controlled_flow import ControlledFlow, ControlSteps, Path


class FinalError(NamedTuple):
    """The generalisation error at the end."""

    def value(self, flow: ControlledFlow, path: Path) -> float:
        """Return the generalisation error at the end."""
        return float(_finite(flow, path.states[-1:])[0])

    def gradient(self, flow: ControlledFlow, path: Path) -> np.ndarray:
        """Return the derivatives of the final error by the control in each piece."""
        return flow.gradient(path, _last(flow, path, 1.0))


class IntegratedError(NamedTuple):
    """The integral of the generalisation error over α, by Simpson's rule over pairs of steps."""

    def value(self, flow: ControlledFlow, path: Path) -> float:
        """Return the integral."""
        return float(_simpson(path.steps) @ _finite(flow, path.states))

    def gradient(self, flow: ControlledFlow, path: Path) -> np.ndarray:
        """Return the derivatives of the integral by the control in each piece."""
        slopes = np.array([flow.error_slopes(state) for state in path.states])
        return flow.gradient(path, _simpson(path.steps)[:, None] * slopes)


class TimeToError(NamedTuple):
    """The first time at which the generalisation error falls to a given number.

    For a run that ends at time α_e with a larger error ε, the value is α_e (1 + log(ε / number)),
    so that searches find controls that reach the number.

    Attributes:
        error: the generalisation error to be reached.
    """

    error: float

    def value(self, flow: ControlledFlow, path: Path) -> float:
        """Return the time, or its substitute if the error is not reached."""
        last = self.cut(flow, path)
        if last is None:
            above = _finite(flow, path.states[-1:])[0] / self.error
            return float(path.steps.alpha[-1] * (1.0 + np.log(above)))
        return float(last.steps.alpha[-1])

    def gradient(self, flow: ControlledFlow, path: Path) -> np.ndarray:
        """Return the derivatives of the time by the control in each piece."""
        last = self.cut(flow, path)
        if last is None:
            factor = path.steps.alpha[-1] / flow.errors(path.states[-1:])[0]
            return flow.gradient(path, _last(flow, path, factor))
        state = last.states[-1]
        value = last.values[last.steps.pieces[-1]]
        speed = flow.error_slopes(state) @ flow.rates(state, value)
        return flow.gradient(last, _last(flow, last, -1.0 / speed))

    def cut(self, flow: ControlledFlow, path: Path) -> Path | None:
        """Return the run cut at that time, in its last step; None if there is none."""
        from scipy.optimize import brentq

        errors = flow.errors(path.states)
        below = np.flatnonzero(errors <= self.error)
        if not below.size or below[0] == 0:
            return None
        row = int(below[0]) - 1
        piece = path.steps.pieces[row : row + 1]

        def ended(length: float) -> Path:
            one = ControlSteps(np.array([length]), piece)
            return flow.run(path.values, one, path.states[row])

        def above(length: float) -> float:
            return float(flow.errors(ended(length).states[1:])[0]) - self.error

        length = float(brentq(above, 0.0, path.steps.lengths[row], xtol=1e-15, rtol=1e-14))
        lengths = np.append(path.steps.lengths[:row], length)
        stages = np.concatenate([path.stages[:row], ended(length).stages])
        return Path(path.values, ControlSteps(lengths, path.steps.pieces[: row + 1]), stages)


Objective = FinalError | IntegratedError | TimeToError
"""A positive number that depends on a run and is to be minimised; infinite if the run diverges."""


def _finite(flow: ControlledFlow, states: np.ndarray) -> np.ndarray:
    """Return the generalisation errors at states, infinite where they are invalid."""
    if not np.isfinite(states).all():
        return np.full(len(states), np.inf)
    errors = flow.errors(states)
    return np.where(np.isfinite(errors) & (errors >= 0.0), errors, np.inf)


def _last(flow: ControlledFlow, path: Path, factor: float) -> np.ndarray:
    """Return covectors that are zero but at the end, where they are ``factor`` times dε/ds."""
    covectors = np.zeros((len(path.states), flow.moving.size))
    covectors[-1] = factor * flow.error_slopes(path.states[-1])
    return covectors


def _simpson(steps: ControlSteps) -> np.ndarray:
    """Return Simpson's weights at the ends of steps that come in pairs of equal length."""
    weights = np.zeros(steps.lengths.size + 1)
    h = steps.lengths[::2] / 3.0
    weights[:-1:2] += h
    weights[1::2] += 4.0 * h
    weights[2::2] += h
    return weights


_TRIED = 33
# stands for the logarithm of an infinite objective; line searches then take shorter steps
_DIVERGED = 1e3
# steps are halved until log objectives of constant controls change less than this, or so often
_ALIKE, _MOST_HALVES = 1e-2, 256
# restarts forget the curvature; largest numbers of iterations of a search and of a scouting one
_RESTARTS, _MOST, _SCOUTED = 4, 1000, 30
# a search has converged if it moves the control by less than this part of its range
_STILL = 1e-6


@dataclass(frozen=True)
class ControlFound:
    """A control that was found, with its objective and the error along its run.

    Attributes:
        values: the control in each piece, shape (P,).
        objective: the value of the objective.
        alpha, errors: times of the ends of the steps, and the generalisation errors there.
    """

    values: np.ndarray
    objective: float
    alpha: np.ndarray
    errors: np.ndarray


@dataclass(frozen=True)
class Arc:
    """A run of consecutive pieces in which a control stays at a bound, or between the bounds.

    Attributes:
        kind: "lower bound", "upper bound", "interior", or "idle" where the control has no effect.
        begin, end: times.
    """

    kind: str
    begin: float
    end: float


@dataclass(frozen=True)
class ControlSearch:
    """A search for the control that minimises an objective.

    Args:
        flow: the flow that depends on the control.
        objective: the number to be minimised.
        bounds: the bounds of the control.
        edges: the edges of the pieces, shape (P + 1,), from 0 on.
        halves: pairs of steps in each piece.
        made: the list that grows by one entry with each gradient, for the progress.
        tell: see :class:`symderiv.foundation.progress.Progress`.
    """

    flow: ControlledFlow
    objective: Objective
    bounds: tuple[float, float]
    edges: np.ndarray
    tell: Tell
    halves: int = 1
    made: list[int] = field(default_factory=list)

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return int(self.edges.size) - 1

    @property
    def steps(self) -> ControlSteps:
        """The time steps of all pieces together."""
        inside = 2 * self.halves
        lengths = np.repeat(np.diff(self.edges) / inside, inside)
        return ControlSteps(lengths, np.repeat(np.arange(self.pieces, dtype=np.int64), inside))

    def run(self, values: np.ndarray) -> Path:
        """Return the run under a control."""
        return self.flow.run(values, self.steps)

    def finer(self) -> ControlSearch:
        """Return this search with steps half as long."""
        return replace(self, halves=2 * self.halves)

    def fine_enough(self) -> ControlSearch:
        """Return the search with steps so short that halving them hardly changes objectives."""
        search = self
        told = search._of_constants()
        while search.halves < _MOST_HALVES:
            finer = search.finer()
            closer = finer._of_constants()
            if np.allclose(told, closer, rtol=_ALIKE, atol=_ALIKE):
                break
            search, told = finer, closer
        return search

    def _of_constants(self) -> np.ndarray:
        low, high = self.bounds
        rates = low + (high - low) * np.linspace(0.0, 1.0, 9)
        return np.log([self._value(np.full(self.pieces, rate)) for rate in rates])

    def outcome_of(self, values: np.ndarray) -> ControlFound:
        """Return a control with its objective and the error along its run."""
        path = self.run(values)
        errors = self.flow.errors(path.states)
        value = self.objective.value(self.flow, path)
        return ControlFound(values, float(value), path.steps.alpha, errors)

    def _value(self, values: np.ndarray) -> float:
        value = float(self.objective.value(self.flow, self.run(values)))
        return value if np.isfinite(value) else np.inf

    def constant(self) -> ControlFound:
        """Return the best constant."""
        best = self._least(lambda u: self._value(np.full(self.pieces, u)))
        return self.outcome_of(np.full(self.pieces, best))

    def greedy(self) -> ControlFound:
        """Return the control that at the beginning of every piece makes the error fall fastest."""
        values, state = np.zeros(self.pieces), self.flow.course.begin
        inside = 2 * self.halves
        lengths = np.diff(self.edges) / inside
        for piece, length in enumerate(lengths):
            values[piece] = self._steepest(state)
            steps = ControlSteps(np.full(inside, length), np.full(inside, piece, dtype=np.int64))
            state = self.flow.run(values, steps, state).states[-1].copy()
            if not np.isfinite(state).all():
                break
        return self.outcome_of(values)

    def _steepest(self, state: np.ndarray) -> float:
        """Return the value of the control for which the error falls fastest at a state."""
        slopes = self.flow.error_slopes(state)
        return self._least(lambda u: float(slopes @ self.flow.rates(state, u)))

    def _least(self, function: Callable[[float], float]) -> float:
        """Return the control that minimises a function: the best on a grid, refined nearby."""
        from scipy.optimize import minimize_scalar

        grid = np.linspace(*self.bounds, _TRIED)
        tried = np.array([function(float(u)) for u in grid])
        tried[np.isnan(tried)] = np.inf
        place = int(np.argmin(tried))
        low, high = grid[max(place - 1, 0)], grid[min(place + 1, _TRIED - 1)]
        near = minimize_scalar(
            lambda u: min(float(function(float(u))), 1e300),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-10 * (self.bounds[1] - self.bounds[0])},
        )
        return float(near.x) if near.fun < tried[place] else float(grid[place])

    def starts(self, *others: ControlFound) -> list[np.ndarray]:
        """Return controls to start from: given ones, and constants at quarters of the bounds."""
        low, high = self.bounds
        quarters = [np.full(self.pieces, low + (high - low) * n / 4.0) for n in (1, 2, 3)]
        finite = [each.values for each in others if np.isfinite(each.objective)]
        return finite + [each for each in quarters if np.isfinite(self._value(each))]

    def scouted(self, starts: list[np.ndarray]) -> list[ControlFound]:
        """Return the ends of short searches from some controls, the best first."""
        ends = [self.outcome_of(self._search(start, _SCOUTED)[0]) for start in starts]
        return sorted(ends, key=lambda each: each.objective)

    def best(self, start: np.ndarray) -> ControlFound:
        """Return the local optimum to which searches from a control converge, with restarts."""
        values = start
        for _ in range(_RESTARTS):
            before = values
            values, moved = self._search(before, _MOST)
            if moved < _STILL:
                break
        return self.outcome_of(values)

    def _search(self, start: np.ndarray, most: int) -> tuple[np.ndarray, float]:
        """Return the end of an L-BFGS-B search of at most ``most`` iterations, and how far it
        moved.
        """
        from scipy.optimize import minimize

        low, high = self.bounds

        def evaluated(scaled: np.ndarray) -> tuple[float, np.ndarray]:
            self.made.append(1)
            count = len(self.made)
            self.tell(f"optimising, run {count}", 1.0 - 0.995**count)
            path = self.run(low + (high - low) * scaled)
            value = float(self.objective.value(self.flow, path))
            if not np.isfinite(value):
                return _DIVERGED, np.zeros(scaled.size)
            slopes = self.objective.gradient(self.flow, path) * (high - low) / value
            return float(np.log(value)), slopes

        options = {"ftol": 1e-15, "gtol": 1e-8, "maxiter": most, "maxcor": 30}
        scaled = np.clip((start - low) / (high - low), 0.0, 1.0)
        end = minimize(
            evaluated,
            scaled,
            jac=True,
            method="L-BFGS-B",
            options=options,
            bounds=[(0.0, 1.0)] * self.pieces,
        )
        return low + (high - low) * end.x, float(np.max(np.abs(end.x - scaled)))

    def slopes(self, control: ControlFound) -> np.ndarray:
        """Return the mean of ∂H/∂u over each piece, with the Hamiltonian H, in units of the
        objective.

        To first order it is the relative change of the objective if the control moves through its
        whole range during the whole run.
        """
        path = self.run(control.values)
        gradient = self.objective.gradient(self.flow, path) / np.diff(self.edges)
        scale = (self.bounds[1] - self.bounds[0]) * self.edges[-1] / control.objective
        scaled: np.ndarray = gradient * scale
        return scaled

    def arcs(self, values: np.ndarray, slopes: np.ndarray) -> list[Arc]:
        """Return the arcs of a control: consecutive pieces of one kind, put together."""
        low, high = self.bounds
        kinds = np.where(values <= low, "lower bound", "interior").astype(object)
        kinds[values >= high] = "upper bound"
        kinds[slopes == 0.0] = "idle"
        cuts = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
        begins, ends = np.concatenate([[0], cuts]), np.append(cuts, kinds.size)
        return [
            Arc(str(kinds[begin]), float(self.edges[begin]), float(self.edges[end]))
            for begin, end in zip(begins, ends, strict=True)
        ]
