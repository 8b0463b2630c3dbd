"""The largest error of means of forces that a search over covariances finds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symderiv.lowering.means.force_fields import along_lattice
from symderiv.lowering.means.quadrature_error import LARGEST_BIAS

Floats = NDArray[np.float64]

LARGEST_VARIANCE, LARGEST_WEIGHT = 2.0, 1.5
"""The largest variance of fields and the largest output weight for which errors are stated."""

_SEED = 1998
_RANDOM, _AROUND = 10, 8


@dataclass(frozen=True)
class ForceRule:
    """The parameters of a rule; see ``symderiv.numerics.quadratures.force_mean``.

    Attributes:
        steps: Those of equal steps, for smooth integrands.
        panels: Those of panels, for integrands with kinks.
    """

    steps: tuple[float, ...]
    panels: tuple[float, ...]


@dataclass(frozen=True)
class ForcePlace:
    """A state of one student and one teacher."""

    Q: float
    correlation: float
    T: float
    v: float
    v_teacher: float
    noise: float
    flip: float
    b: float = 0.0
    c: float = 0.0


@dataclass(frozen=True)
class ForceTrial:
    """Means of forces as plain Python functions whose rule can be changed."""

    names: SimpleNamespace
    flips: bool
    biases: bool = False

    def means(self, rule: ForceRule, place: ForcePlace) -> Floats:
        """Return by a rule E[F u] for both independent variables, dv, Γ, E[F], error and loss."""
        self.names.FORCE_STEPS[:] = rule.steps
        self.names.FORCE_PANELS[:] = rule.panels
        R = place.correlation * math.sqrt(place.Q * place.T)
        fields = [np.array([[each]]) for each in (place.Q, R, place.T)]
        weights = np.array([place.v]), np.array([place.v_teacher])
        biases = np.array([place.b]), np.array([place.c])
        numbers = (place.noise, place.flip, 1.0)
        A, B, Gamma = (np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
        dv, db = np.zeros(1), np.zeros(1)
        drawn = (*fields, *weights, *biases, *numbers)
        error = self.names.mean_forces(*drawn, 1.0, 0.0, A, B, dv, Gamma, db)
        loss = self.names.loss_of_examples(*drawn, 0.0)
        rest = math.sqrt(max(1 - place.correlation**2, 0.0) * place.T)
        first = A[0, 0] * math.sqrt(place.Q)
        first += B[0, 0] * place.correlation * math.sqrt(place.T)
        return np.array([first, B[0, 0] * rest, dv[0], Gamma[0, 0], db[0], error, loss])


def finer(rule: ForceRule) -> ForceRule:
    """Return a rule whose error is far below that of another."""
    step, width, reach = rule.steps
    longest, field, far, *others = rule.panels
    panels = 0.6 * longest, 0.6 * field, far + 0.6, *others
    return ForceRule(
        (0.7 * step, 0.75 * width, reach + 0.6), (*panels[:5], 0.8, *panels[6:7], 96.0)
    )


def places(flips: bool, noisy: bool) -> Iterator[ForcePlace]:
    """Yield hard and random states: fields aligned or opposed, extreme variances and weights."""
    rng = np.random.default_rng(_SEED)
    for Q, correlation, T, v, v_teacher in (
        (1.0, 0.5, 1.0, 1.0, 1.0),
        (LARGEST_VARIANCE, 1.0, LARGEST_VARIANCE, LARGEST_WEIGHT, LARGEST_WEIGHT),
        (LARGEST_VARIANCE, -1.0, LARGEST_VARIANCE, LARGEST_WEIGHT, LARGEST_WEIGHT),
        (LARGEST_VARIANCE, 0.0, LARGEST_VARIANCE, LARGEST_WEIGHT, LARGEST_WEIGHT),
        (LARGEST_VARIANCE, 0.8, LARGEST_VARIANCE, LARGEST_WEIGHT, -LARGEST_WEIGHT),
        (LARGEST_VARIANCE, 0.5, LARGEST_VARIANCE, 1.0, 1.0),  # saturates at the kink of a hinge
        (1e-4, 0.3, LARGEST_VARIANCE, LARGEST_WEIGHT, LARGEST_WEIGHT),
        (LARGEST_VARIANCE, 1 - 1e-6, LARGEST_VARIANCE, -LARGEST_WEIGHT, LARGEST_WEIGHT),
        (LARGEST_VARIANCE, 1 - 1e-2, 0.3, LARGEST_WEIGHT, LARGEST_WEIGHT),
    ):
        yield ForcePlace(Q, correlation, T, v, v_teacher, 0.0, 0.1 if flips else 0.0)
    for _ in range(_RANDOM):
        Q, T = LARGEST_VARIANCE * rng.random(2)
        away = 10.0 ** rng.uniform(-10, 0)
        v, v_teacher = LARGEST_WEIGHT * rng.uniform(-1, 1, 2)
        yield ForcePlace(Q, float(rng.choice([-1, 1])) * (1 - away), T, v, v_teacher, 0.0, 0.0)
    if noisy:
        most = LARGEST_VARIANCE, LARGEST_WEIGHT
        yield ForcePlace(most[0], 0.7, most[0], most[1], most[1], 0.5, 0.0)


def largest_deviation(
    trial: ForceTrial, rule: ForceRule, enough: float, flags: Mapping[str, Any]
) -> float:
    """Return the largest deviation from a much finer rule; stop once above ``enough``."""
    reference = finer(rule)

    def off(place: ForcePlace) -> float:
        try:
            apart = np.abs(trial.means(rule, place) - trial.means(reference, place))
        except (ValueError, ZeroDivisionError):  # a pole: compiled functions are not finite
            return math.inf
        return float(apart.max()) if np.all(np.isfinite(apart)) else math.inf

    # label noise is an integration variable, unless it acts like one more teacher
    noisy = not flags["KINKED"] and bool(flags["SIGN_TARGET"])
    noisy = noisy and not along_lattice(flags, 1, 1, False)
    largest, worst = 0.0, None
    tried = list(places(trial.flips, noisy))
    if flags["KINKED"] and not flags["SIGN_TARGET"]:
        tried = tried[:9:2] + tried[9:11]  # each state takes a second
    if trial.biases:
        drawn = np.random.default_rng(_SEED).uniform(-LARGEST_BIAS, LARGEST_BIAS, (len(tried), 2))
        # half of the states have biases at the ends of the interval
        drawn[::2] = LARGEST_BIAS * np.sign(drawn[::2])
        pairs = zip(tried, drawn.tolist(), strict=True)
        tried = [replace(place, b=b, c=c) for place, (b, c) in pairs]
    for place in tried:
        error = off(place)
        if error >= largest:
            largest, worst = error, place
        if not largest <= enough:
            return largest
    rng = np.random.default_rng(_SEED)
    for _ in range(_AROUND if len(tried) > 9 else 2):
        assert worst is not None
        kicked = [value * math.exp(0.2 * rng.normal()) for value in (worst.Q, worst.T)]
        Q, T = (min(value, LARGEST_VARIANCE) for value in kicked)
        place = replace(worst, Q=Q, T=T)
        error = off(place)
        if error > largest:
            largest, worst = error, place
    return largest
