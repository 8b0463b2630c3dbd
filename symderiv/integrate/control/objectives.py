"""Objectives of a control: the error at the end, its integral, or the time to an error."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from symderiv.integrate.control.controlled_flow import ControlledFlow, ControlSteps, Path


class Objective(Protocol):
    """A positive number that depends on a run and is to be minimised."""

    def value(self, flow: ControlledFlow, path: Path) -> float:
        """Return the value of the objective; infinite if the run diverges."""
        ...

    def gradient(self, flow: ControlledFlow, path: Path) -> np.ndarray:
        """Return the derivatives of the objective by the control in each piece."""
        ...


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
