"""Flows with the noise of their steps, and the quantities shown of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from symderiv.foundation.errors import NotYetError
from symderiv.integrate.flows.sensitivities import Direction, Observed, VariedRun
from symderiv.integrate.fluctuations.gaussian_run import GaussianMotion
from symderiv.integrate.fluctuations.step_points import PointRule
from symderiv.statement.averaged_step import Reading, SlowState
from symderiv.statement.step_covariance import StepMoments, StepVariation

if TYPE_CHECKING:
    from symderiv.integrate.events.conditions import Condition

_MOST_OVERLAPS = 200
_AGREE = 2e-2


class Fluctuating(ABC):
    """A flow with the noise of its steps, in the coordinates that fluctuate.

    Attributes:
        averages: The names of the averages that are shown after the order parameters.
    """

    averages: tuple[str, ...]

    @property
    def examples(self) -> int:
        """The number of examples in a step, at one state."""
        return 1

    @property
    @abstractmethod
    def varied(self) -> VariedRun:
        """The flow without derivatives."""

    @property
    @abstractmethod
    def shown(self) -> tuple[str, ...]:
        """Names of the order parameters that are shown."""

    @abstractmethod
    def order_parameters(self, states: np.ndarray) -> np.ndarray:
        """Return the shown order parameters at flat states, shape (P, shown)."""

    @abstractmethod
    def cases(self, flat: np.ndarray) -> list[tuple[float, SlowState]]:
        """Return, for each law of examples, its probability and vectors with a state's overlaps."""

    @abstractmethod
    def held(self, step: StepVariation) -> tuple[Sequence[int], np.ndarray]:
        """Return the places of the coordinates in the moments of a step, and their factors."""

    @property
    @abstractmethod
    def reading(self) -> Reading:
        """The statement of the steps."""

    @property
    @abstractmethod
    def places(self) -> list[int]:
        """Places of the coordinates in flat states."""

    @property
    @abstractmethod
    def spread(self) -> np.ndarray:
        """Flat directions of the coordinates, shape (F, n)."""

    @cached_property
    def motion(self) -> GaussianMotion:
        """The flow with the noise of its steps."""
        rule, begin, rates = PointRule(self.reading), self.varied.course.begin, self.rates
        rows, size = self.held(StepVariation(self.reading, self.cases(begin)[0][1]))

        def noise(state: np.ndarray, coarse: bool) -> StepMoments:
            cases = [(p, StepVariation(self.reading, own)) for p, own in self.cases(state)]
            moments = rule.moments(cases, coarse)
            further = moments.further
            if moments.together is not None:
                further = further + (self.examples - 1) * moments.together
            return StepMoments(
                moments.mean[rows] * size,
                further[rows] * size,
                moments.covariance[np.ix_(rows, rows)] * np.outer(size, size),
            )

        check_means(noise(begin, False), rates(begin)[self.places])
        functions = rates, self.product(), noise
        return GaussianMotion(begin, *functions, self.places, self.spread, self.examples)

    @cached_property
    def rates(self) -> Callable[[np.ndarray], np.ndarray]:
        """The function from a flat state to its rates."""
        course, rhs = self.varied.course, self.varied.functions(None)[0]
        return lambda state: course.slope(0.0, np.ascontiguousarray(state), rhs)

    def product(self) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Return the function of the Jacobian times a direction."""
        return self.varied.tangent()

    @property
    @abstractmethod
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the shown quantities: order parameters, then averages."""
        return (*self.shown, *self.averages)

    @cached_property
    def slopes(self) -> np.ndarray:
        """Derivatives of the shown order parameters by the coordinates, shape (shown, n)."""
        flat = self.motion.spread.T
        change: np.ndarray = self.order_parameters(flat) - self.order_parameters(0.0 * flat)
        return change.T

    @property
    def linear_frame(self) -> tuple[tuple[str, ...], np.ndarray]:
        """Names of m order parameters that are linear in the coordinates, and their derivatives.

        They are the shown ones, or with several eigenvalues those of each eigenvalue.
        """
        slopes = self.slopes
        if slopes.shape[0] == slopes.shape[1]:
            return self.shown, slopes
        return self.coordinates, np.eye(slopes.shape[1])

    def run(self, alpha: np.ndarray, begin: np.ndarray) -> np.ndarray:
        """Return flat states at some times after an initial state."""
        return self.varied.run(alpha, np.ascontiguousarray(begin))

    def changes(self, flat: np.ndarray, direction: np.ndarray) -> Observed:
        """Return the derivatives of order parameters and averages along a direction, by name."""
        still = np.zeros(self.varied.course.flat.size)
        return self.varied.changes(flat, Direction(direction, still))

    def averaged(
        self, flat: np.ndarray, covariance: np.ndarray, shift: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return averages at a state, their derivatives by the coordinates, and their shifts."""

        def slope(state: np.ndarray, direction: np.ndarray) -> np.ndarray:
            changes = self.changes(state, direction)
            return np.array([float(changes[name]) for name in self.averages])

        spread = self.motion.spread
        if not self.averages:
            return np.zeros(0), np.zeros((0, spread.shape[1])), np.zeros(0)
        values, axes = np.linalg.eigh(covariance)
        size, bend = 1e-4 * (1e-2 + np.abs(flat).max()), np.zeros(len(self.averages))
        for value, axis in zip(values, axes.T, strict=True):
            if value > 1e-12 * values[-1]:
                direction = spread @ axis
                ahead, before = (slope(flat + s * size * direction, direction) for s in (1.0, -1.0))
                bend += value * (ahead - before) / (2 * size)
        slopes = np.array([slope(flat, direction) for direction in spread.T]).T
        here = self.varied.observed(flat)
        value = np.array([float(here[name]) for name in self.averages])
        return value, slopes, slopes @ shift + bend / 2

    def gaps(self, condition: Condition, states: np.ndarray, alpha: np.ndarray) -> np.ndarray:
        """Return the gaps of a condition, which are positive where it holds, shape (P,)."""
        seen = self.varied.seen(np.ascontiguousarray(states), alpha, condition.needs)
        pairs = zip(seen, alpha, strict=True)
        return np.array([condition.gap(own, float(time)) for own, time in pairs])

    def gap_deviation(
        self, condition: Condition, flat: np.ndarray, covariance: np.ndarray, alpha: float
    ) -> float:
        """Return the standard deviation of the gap of a condition."""
        here = self.varied.observed(flat)
        changes = (self.changes(flat, each) for each in self.motion.spread.T)
        slopes = np.array([condition.change(here, alpha, each, 0.0) for each in changes])
        return float(np.sqrt(max(slopes @ covariance @ slopes, 0.0)))


def check_means(moments: StepMoments, rates: np.ndarray) -> None:
    """Refuse a rule if the means of its steps, read from the statement, are not its rates.

    Raises:
        NotYetError: The two differ.
    """
    if np.abs(moments.mean - rates).max(initial=0.0) > _AGREE * (
        1e-2 + np.abs(rates).max(initial=0.0)
    ):
        raise NotYetError(
            "has steps whose means are not the rates of its equations; fluctuations of this "
            "rule are not known yet",
            argument="rule",
        )


def check_size(count: int) -> None:
    """Refuse more order parameters than the covariance is computed for.

    Raises:
        NotYetError: There are too many.
    """
    if count > _MOST_OVERLAPS:
        raise NotYetError(
            f"has {count} order parameters; their covariance is computed up to "
            f"{_MOST_OVERLAPS}: use fewer eigenvalues or units",
            argument="inputs",
        )
