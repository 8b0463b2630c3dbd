"""A study as a flow whose fixed points are searched for, also as a function of a key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import chebyshev

from symderiv.analysis.fixed_points.symmetric_flow import differences
from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.rate_function import flow_at, formulas_of
from symderiv.compiled_code.machine_code import MachineCode
from symderiv.foundation.errors import InputError, NotYetError

if TYPE_CHECKING:
    from symderiv.api.results.rate_function import Start
    from symderiv.enclosures.traced_flow import TracedFlow
    from symderiv.integrate.flows.study_flow import Flow
    from symderiv.problem.study import Study

_STEP, _DIGITS = 4e-3, 30
_DEGREES, _TRIED, _INTERPOLATED = (1, 4, 12, 48), np.array([-0.93, -0.41, 0.17, 0.62, 0.98]), 1e-11


@dataclass(frozen=True)
class StationaryFlow:
    """A study as a flow whose fixed points are searched for, in doubles and in formulas."""

    study: Study
    start: Start | None
    own: Flow
    flow: UnitFlow

    @classmethod
    def of(cls, study: Study, initial: Start | None) -> StationaryFlow:
        """Return the flow of a study, for a start that gives teachers and inputs.

        Raises:
            InputError: the rates depend on more than the state, or on several classes of inputs.
        """
        own = flow_at(study, start_of(study, initial))
        if own.data is not None:
            raise InputError("must be inputs of one class here", argument="inputs")
        return cls(study, initial, own, unit_flow_of(own, study.training.learning_rate))

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Return the derivatives of the rates by all coordinates."""
        return differences(self.flow.slope, values, _STEP)

    def error_at(self, values: np.ndarray, constants: np.ndarray | None = None) -> float:
        """Return the generalisation error at coordinates."""
        sizes = self.flow.sizes
        Q, R = np.empty((sizes["K"], sizes["K"])), np.empty((sizes["K"], sizes["M"]))
        state = np.ascontiguousarray(self.flow.state(values))
        module = self.own.kernel.module
        used = self.flow.constants if constants is None else constants
        return float(module.flat_observables(state, self.own.sizes, used, Q, R))

    def measured(self, values: np.ndarray, constants: np.ndarray) -> dict[str, float]:
        """Return the generalisation error at coordinates, by its name in catalogues."""
        return {"generalization_error": self.error_at(values, constants)}

    def traced(self) -> TracedFlow:
        """Return the equations as operations in exact numbers.

        Raises:
            NotYetError: a mean has no closed form.
        """
        from symderiv.enclosures.traced_flow import TracedFlow

        return TracedFlow.of(self.own, formulas_of(self.study, self.own))

    def places(self) -> list[tuple[str, int]]:
        """Return the field of each coordinate, and the coordinate's place in the field."""
        slices = self.flow.packing(0).slices
        names = [name for name, part in slices.items() for _ in range(part.stop - part.start)]
        return [
            (names[place], int(place) - slices[names[place]].start) for place in self.flow.place
        ]

    def in_balls(self) -> tuple[Any, dict[str, Any]]:
        """Return the module of the equations, and its constants in balls.

        Raises:
            NotYetError: the rule is not plain descent, or a mean has no closed form.
        """
        from symderiv.precision.balls.contexts import numbers

        if self.study.rule_keys:
            raise NotYetError(
                "only plain descent of the squared loss has proofs that no fixed point is missing"
            )
        traced = self.traced()
        with numbers(_DIGITS, "arb") as balls:
            return traced.module, traced.fields(balls, [], [])


def unit_flow_of(own: Flow, learning_rate: float) -> UnitFlow:
    """Return the flow of a study in its independent coordinates."""
    right_hand_side = own.kernel.right_hand_side_for(own.state.K, own.state.M)
    at, used, change = (np.array(each) for each in (own.begin, own.parameters, own.begin))
    # arguments are bound once, because rates are computed many thousand times
    arguments = 0.0, at, own.sizes, used, change
    call = (
        right_hand_side.bound(*arguments)
        if isinstance(right_hand_side, MachineCode)
        else partial(right_hand_side, *arguments)
    )

    def rates(state: np.ndarray, constants: np.ndarray) -> np.ndarray:
        at[:], used[:] = state, constants
        call()
        return change.copy()

    sizes = {"K": own.state.K, "M": own.state.M, "L": own.state.L}
    layout = own.layout["state"], own.layout["parameters"]
    return UnitFlow(rates, layout, sizes, own.begin.copy(), own.parameters.copy(), learning_rate)


def overlaps_at(stated: StationaryFlow, values: np.ndarray) -> dict[str, Any]:
    """Return Q and R at coordinates, or at many of them."""
    state, flow = stated.own.state, stated.flow
    views = flow.packing(0).views(np.array([flow.state(each) for each in np.atleast_2d(values)]))
    Q = views["student_overlap"] @ (state.weight * state.eigenvalue)
    R = views["cross_overlap"] @ state.weight
    only = values.ndim == 1
    return {"Q": (Q[0] if only else Q).tolist(), "R": (R[0] if only else R).tolist()}


def constants_along(
    stated: StationaryFlow, ends: Mapping[str, tuple[float, float]]
) -> Callable[..., tuple[np.ndarray, float]]:
    """Return a function from the values of keys to a run's constants and its learning rate.

    It interpolates by polynomials at Chebyshev points between the ends; constants that are linear
    in the keys are exact.

    Raises:
        InputError: polynomials of degree 48 have errors above 1e-11, or entries of the state that
            do not move depend on the keys.
    """
    flow, keys = stated.flow, " and ".join(ends)
    still = np.setdiff1d(np.arange(flow.begin.size), [*flow.place, *flow.mirror[flow.place]])
    low, high = np.array(list(ends.values())).T
    middle, half = (low + high) / 2, (high - low) / 2

    def packed(*shares: float) -> np.ndarray:
        values = (middle + half * np.array(shares)).tolist()
        study = stated.study.changed(dict(zip(ends, values, strict=True)))
        there = StationaryFlow.of(study, stated.start).flow
        if there.begin.shape != flow.begin.shape or not np.allclose(
            there.begin[still], flow.begin[still]
        ):
            raise InputError(f"{keys} changes the start; it cannot be followed", argument="follow")
        return np.append(there.constants, there.unit)

    tried = [tuple(np.roll(_TRIED, 2 * n)[k] for n in range(len(ends))) for k in range(5)]
    wanted = np.array([packed(*shares) for shares in tried])
    for degree in _DEGREES:
        nodes = chebyshev.chebpts1(degree + 1)
        given = np.array([packed(*shares) for shares in product(nodes, repeat=len(ends))])
        whole = given.reshape(*(nodes.size,) * len(ends), -1)
        fit = np.linalg.inv(chebyshev.chebvander(nodes, degree))
        for axis in range(len(ends)):
            whole = np.moveaxis(np.tensordot(fit, whole, (1, axis)), 0, axis)
        interpolated = np.array([_polynomial(whole, shares) for shares in tried])
        if np.all(
            np.abs(interpolated - wanted) <= _INTERPOLATED * (1e-3 + np.abs(wanted).max(axis=0))
        ):
            break
    else:
        raise InputError(
            f"{keys} does not enter the equations smoothly; it cannot be followed",
            argument="follow",
        )

    # kept, because differences vary all coordinates at the same values
    @lru_cache(maxsize=64)
    def at(*values: float) -> tuple[np.ndarray, float]:
        constants = _polynomial(whole, (np.array(values) - middle) / half)
        return constants[:-1].copy(), float(constants[-1])

    return at


def _polynomial(coefficients: np.ndarray, shares: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return Chebyshev polynomials in several variables at numbers from -1 to 1."""
    for x in shares:
        powers = chebyshev.chebvander(x, len(coefficients) - 1).ravel()
        coefficients = np.tensordot(powers, coefficients, (0, 0))
    return coefficients
