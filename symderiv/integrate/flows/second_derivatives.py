"""Second derivatives of a run by numbers of its problem: second-order variational equations.

With s' = f(s, θ) the derivative S of the state by a number p follows S' = T(s, θ; S, θ_p), where T
is the derivative of f along a direction, and the second derivative B follows

    B' = d/dh T(s + h S, θ + h θ_p; S + h B, θ_p + h θ_pp)   at h = 0.

T comes from the formulas of the rates. The derivative by h is a central difference of order six,
whose step is so short that only rounding errors remain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from symderiv.compiled_code.composed import composed
from symderiv.integrate.flows.sensitivities import Direction, Observed, VariedFlow

#: Second derivatives by a number are named by it with this suffix.
TWICE = "_twice"
_WEIGHTS = (45 / 60, -9 / 60, 1 / 60)
_SHARE = 2e-3
"""The largest step of differences, in units of the size of the state over its derivative."""


class Bend(NamedTuple):
    """Second derivatives of the flat start and the flat constants of a flow by a number.

    Attributes:
        state, parameters: The second derivatives.
        step: The largest step of the number in differences.
    """

    state: np.ndarray
    parameters: np.ndarray
    step: float


@dataclass(frozen=True)
class TwiceVariedFlow(VariedFlow):
    """A flow with derivatives along directions, and second derivatives along some of them.

    Rows of states have the second derivatives last.

    Attributes:
        bends: Second derivatives of start and constants by names of directions.
    """

    bends: Mapping[str, Bend] = field(default_factory=dict)

    @cached_property
    def begin(self) -> np.ndarray:
        """The initial state, followed by its derivatives and then its second derivatives."""
        first = VariedFlow(self.flow, self.directions).begin
        return np.concatenate([first, *(each.state for each in self.bends.values())])

    def derivatives(self, row: np.ndarray, alpha: float = 0.0) -> dict[str, Observed]:
        """Return first and second derivatives of order parameters and error.

        Second ones have the names of the directions with ``TWICE``.
        """
        changes = super().derivatives(row[: self._size * (1 + len(self.directions))], alpha)
        parts = row.reshape(-1, self._size)
        state, rest = parts[0], parts[1 + len(self.directions) :]
        for (name, bend), second in zip(self.bends.items(), rest, strict=True):
            first, direction = parts[1 + self._place(name)], self.directions[name]
            step, total = _step(state, first, bend.step), dict.fromkeys(changes[name], 0.0)
            for number, weight in enumerate(_WEIGHTS, 1):
                for away in (number * step, -number * step):
                    there = self.changes_at(
                        self.flow.parameters + away * direction.parameters,
                        state + away * first,
                        Direction(
                            first + away * second, direction.parameters + away * bend.parameters
                        ),
                    )
                    for seen, each in there.items():
                        total[seen] = total[seen] + weight * number / away * each
            changes[name + TWICE] = total
        return changes

    def _place(self, name: str) -> int:
        return list(self.directions).index(name)

    def _behind(self, number: int) -> np.ndarray:
        """Return the numbers that follow the constants.

        After those of first derivatives they are, for each second one, the derivatives of all
        parameters, the second derivatives of moving ones, and the step.
        """
        further: list[np.ndarray] = []
        for name, bend in self.bends.items():
            second = self._moved(bend.parameters)
            further += [self.directions[name].parameters, second, np.array([bend.step])]
        return np.concatenate([super()._behind(number), *further])

    @cached_property
    def _slope(self) -> Callable[..., None]:
        first = VariedFlow(self.flow, self.directions)
        places = tuple(self._place(name) for name in self.bends)
        _, tangent = self.functions(tuple(self._moving.shapes))
        parts = first._slope, tangent, len(self.directions), places, self._moving.size
        return composed(_twice_varied_rates, *parts, _WEIGHTS, _SHARE)


def _step(state: np.ndarray, first: np.ndarray, most: float) -> float:
    """Return the step of differences for a state that moves along its derivative."""
    largest = np.max(np.abs(first), initial=1e-300)
    return float(min(most, _SHARE * (1 + np.max(np.abs(state), initial=0.0)) / largest))


def _twice_varied_rates(
    varied: Any,
    tangent: Any,
    count: int,
    places: tuple[int, ...],
    moving: int,
    weights: tuple[float, ...],
    share: float,
) -> Any:
    """Return the right-hand side, to be composed, of a flow with first and second derivatives.

    Args:
        varied, tangent: The right-hand side with its directions, and the rates along one of them.
        count: The number of the directions.
        places: The indices of the directions that have second derivatives.
        moving: The count of numbers behind the parameters that belong to each direction.
        weights, share: The weights and the size of the differences.
    """

    def right_hand_side(alpha, state, sizes, parameters, derivative):  # type: ignore[no-untyped-def]
        twice = len(places)
        size = state.size // (1 + count + twice)
        constants = (parameters.size - (count + twice) * moving - twice) // (1 + twice)
        own, begin = size * (1 + count), constants + count * moving
        varied(alpha, state[:own], sizes, parameters[:begin], derivative[:own])
        given, changed = np.empty(size + constants + moving), np.empty(size)
        away_from = np.empty(size)
        for n in range(twice):
            place = places[n]
            first = state[(1 + place) * size : (2 + place) * size]
            second = state[own + n * size : own + (n + 1) * size]
            slopes = parameters[begin : begin + constants]
            begin += constants
            turned = parameters[constants + place * moving : constants + (place + 1) * moving]
            bent = parameters[begin : begin + moving]
            most = parameters[begin + moving]
            begin += moving + 1
            largest, length = 0.0, 0.0
            for a in range(size):
                largest, length = max(largest, abs(first[a])), max(length, abs(state[a]))
            step = min(most, share * (1 + length) / (largest + 1e-300))
            out = derivative[own + n * size : own + (n + 1) * size]
            out[:] = 0.0
            for number in range(6):
                factor = number // 2 + 1
                away = step * factor * (1 - 2 * (number % 2))
                # entry by entry, for the reason given in sensitivities
                for a in range(size):
                    given[a] = state[a] + away * first[a]
                    away_from[a] = first[a] + away * second[a]
                for a in range(constants):
                    given[size + a] = parameters[a] + away * slopes[a]
                for a in range(moving):
                    given[size + constants + a] = turned[a] + away * bent[a]
                tangent(alpha, away_from, sizes, given, changed)
                weight = weights[factor - 1] * factor / away
                for a in range(size):
                    out[a] += weight * changed[a]

    return right_hand_side
