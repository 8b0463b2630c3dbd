"""Fixed points in balls: existence, uniqueness and the index proved; or to many digits by mpmath.

What is proved are equations as lists of operations, of any rule or system. Over balls these enclose
the rates of all states in a box, and over power series of length two their derivatives, so that
Krawczyk's operator needs no other source of slopes. Equations with a quadrature, or with a
comparison that depends on the state, are no such lists: their fixed points are found, not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy as sp
from flint import acb, arb, ctx
from symderiv_codegen import PrinterError

from symderiv.analysis.fixed_points.unit_flow import UnitFlow
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.precision.balls.contexts import numbers
from symderiv.precision.balls.eigenvalues import enclosed_eigenvalues, index_of
from symderiv.precision.balls.expression_balls import ball
from symderiv.precision.balls.krawczyk import gradients, proved_root
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

_BITS_PER_DIGIT = 3.33
_ROUNDS = 200


@dataclass(frozen=True)
class Proof:
    """A fixed point in balls, each of which holds exactly one value.

    Attributes:
        values: Coordinates.
        eigenvalues: The eigenvalues of the Jacobian, complex.
        observed: What is observed at the point.
    """

    values: list[arb]
    eigenvalues: list[acb]
    observed: list[arb]

    @property
    def index(self) -> int | None:
        """Number of unstable directions; None where the sign of a rate is not proved."""
        return index_of(self.eigenvalues)


def proved_point(
    rates: Operations, observables: Operations, values: Sequence[float], digits: int
) -> Proof:
    """Return a box that holds exactly one fixed point, with all its eigenvalues.

    Args:
        rates, observables: Functions of the coordinates.
        values: The fixed point in doubles.
        digits: How many digits it is to have.

    Raises:
        ToleranceError: None could be enclosed.
    """
    bits = int(_BITS_PER_DIGIT * digits) + 60
    with working_bits(bits):
        at, observed = (_evaluated(each) for each in (rates, observables))
        box = proved_root(at, lambda y: list(gradients(at, y).entries()), values, bits)
        return Proof(box, enclosed_eigenvalues(gradients(at, box)), observed(box))


def _evaluated(operations: Operations) -> Callable[[Sequence[Any]], list[Any]]:
    """Return operations as a function of the state, at the present precision."""
    constants, values = operations.compiled()
    given = constants()
    return lambda state: values(state, given)


@lru_cache(maxsize=8)
def spectral_module(student: str, teacher: str | None = None) -> SimpleNamespace:
    """Return the module of plain descent whose functions take a context of numbers first.

    Raises:
        NotYetError: A mean has no closed form.
    """
    from symderiv.learning.rule.learning_rule import PLAIN
    from symderiv.lowering.programs.exported import precise_text
    from symderiv.lowering.programs.precise_module import of_text

    try:
        return of_text(precise_text(student, teacher or student, PLAIN), "exported")
    except PrinterError as error:
        raise NotYetError(
            f"the rates cannot be computed with more than 15 digits: {error}"
        ) from error


@dataclass(frozen=True)
class ExactFlow:
    """The equations of a flow in numbers of any precision.

    Attributes:
        flow: The same in doubles.
        module: What :func:`spectral_module` gives.
        exact: Formulas of fields all of whose entries they are, by name; other numbers are the
            shortest decimals of doubles.
    """

    flow: UnitFlow
    module: SimpleNamespace
    exact: Mapping[str, sp.Expr]

    def polished(self, values: np.ndarray, inverse: np.ndarray, digits: int) -> list[Any]:
        """Return a fixed point with so many digits, by Newton's method with one fixed inverse of
        the Jacobian in doubles: every round adds the digits that it has.

        Raises:
            ToleranceError: The rounds do not come to rest.
        """
        with numbers(digits + 10, "mpmath") as mp:
            refined = [mp.mpf(float(x)) for x in values]
            for _ in range(_ROUNDS):
                rates = [x / mp.mpf(self.flow.unit) for x in self._rates(mp, refined)]
                steps = [
                    mp.fsum(float(a) * r for a, r in zip(row, rates, strict=True))
                    for row in inverse
                ]
                refined = [x - step for x, step in zip(refined, steps, strict=True)]
                if max(abs(step) for step in steps) < mp.mpf(10) ** (-digits - 3):
                    return refined
        raise ToleranceError(f"{digits} digits of the fixed point were not reached")

    def observables(self, context: Any, values: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Return Q, R and the generalisation error at coordinates."""
        state, constants = self.fields(context, values)
        K, M = self.flow.sizes["K"], self.flow.sizes["M"]
        Q = [[context.zero] * K for _ in range(K)]
        R = [[context.zero] * M for _ in range(K)]
        known = {**state, **constants}
        names = ("student_overlap", "cross_overlap", "eigenvalue", "weight", "T", "v", "v_teacher")
        error = self.module.observables(context, *(known[name] for name in names), Q, R)
        return Q, R, error

    def fields(self, context: Any, values: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fields of a state and of the constants as nested lists."""
        flow, nested = self.flow, []
        for which, vector in enumerate((flow.begin, flow.constants)):
            flat: list[Any] = [context.mpf(repr(float(x))) for x in vector]
            for name, part in flow.packing(which).slices.items():
                if name in self.exact:
                    number = context.mpf(_number(self.exact[name], ctx.prec))
                    flat[part] = [number] * len(flat[part])
            if which == 0:
                places = np.arange(flow.begin.size)
                for place, value in zip(flow.place, values, strict=True):
                    flat[place] = value
                flat = [flat[p] for p in np.minimum(places, flow.mirror)]
            slots = flow.packing(which).views(np.arange(len(flat)))
            nested.append({key: _nested(flat, each) for key, each in slots.items()})
        return nested[0], nested[1]

    def _rates(self, context: Any, values: Sequence[Any]) -> list[Any]:
        state, constants = self.fields(context, values)
        zeros = [context.zero] * self.flow.begin.size
        slots = self.flow.packing(0).views(np.arange(self.flow.begin.size))
        slopes = {key: _nested(zeros, each) for key, each in slots.items()}
        self.module.right_hand_side(context, *state.values(), *constants.values(), *slopes.values())
        flat: list[Any] = [None] * len(zeros)
        for key, each in slots.items():
            for index, place in np.ndenumerate(each):
                entry = slopes[key]
                for n in index:
                    entry = entry[n]
                flat[place] = entry
        return [flat[place] for place in self.flow.place]


_number = lru_cache(maxsize=64)(ball)


def _nested(flat: Sequence[Any], places: np.ndarray) -> Any:
    if places.ndim == 0:
        return flat[int(places)]
    return [_nested(flat, part) for part in places]
