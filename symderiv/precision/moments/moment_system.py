"""The moment form as a system of ordinary differential equations in any kind of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.foundation.packing import Packing
from symderiv.precision.balls.contexts import Numbers, RealNumber


class Overlaps(Protocol):
    """Overlaps per eigenvalue, as :class:`symderiv.State` has them."""

    @property
    def K(self) -> int: ...
    @property
    def M(self) -> int: ...
    @property
    def L(self) -> int: ...
    @property
    def eigenvalue(self) -> np.ndarray: ...
    @property
    def weight(self) -> np.ndarray: ...
    @property
    def student_overlap(self) -> np.ndarray: ...
    @property
    def cross_overlap(self) -> np.ndarray: ...
    @property
    def teacher_overlap(self) -> np.ndarray: ...
    @property
    def teacher_covariance(self) -> np.ndarray: ...
    @property
    def student_weights(self) -> np.ndarray: ...
    @property
    def teacher_weights(self) -> np.ndarray: ...


@dataclass(frozen=True)
class RuleParameters:
    """The numbers of the learning rule, in the order and units of the generated modules."""

    learning_rate: float
    second_layer_learning_rate: float = 0.0
    weight_decay: float = 0.0
    second_layer_weight_decay: float = 0.0
    label_noise: float = 0.0
    full_order: bool = True


_Rows = list[list[RealNumber]]
_Blocks = list[list[list[RealNumber]]]


@lru_cache(maxsize=8)
def moment_module(student: str, teacher: str | None = None) -> SimpleNamespace:
    """Return the generated module of the moment form, whose functions take a context of numbers.

    Args:
        student, teacher: Activations as names or formulas in ``x``; None: the same.
    """
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.rule.learning_problem import learning_problem
    from symderiv.lowering.programs.moment_program import moment_program
    from symderiv.lowering.programs.precise_module import precise_module

    equations = derive_equations(learning_problem(student, teacher))
    return precise_module(moment_program(equations, "moments"))


class MomentSystem:
    """A state and a learning rule as moments and their flow, in one kind of numbers.

    Args:
        module: The module from :func:`moment_module`.
        state: Doubles, taken as exact.
        rates: Doubles, taken as exact.
        context: The context from :func:`symderiv.precision.numbers`; the system lives as long as
            its block.
    """

    def __init__(
        self, module: SimpleNamespace, state: Overlaps, rates: RuleParameters, context: Numbers
    ) -> None:
        self._module = module
        self._context = c = context
        self.K, self.M, self.L = state.K, state.M, state.L
        if np.any(state.eigenvalue <= 0):
            raise InputError(
                "the moment form needs positive eigenvalues; leave those out along which inputs "
                "vanish"
            )
        self._rho = _exact(state.eigenvalue, c)
        self._weight = _exact(state.weight, c)
        student, cross, teacher = (
            _exact(overlap.reshape(self.L, -1), c)
            for overlap in (state.student_overlap, state.cross_overlap, state.teacher_overlap)
        )
        v = _exact(state.student_weights, c)
        self._packing = Packing.of(module.LAYOUT, "state", K=self.K, M=self.M, L=self.L)
        self.start = self._packed(self._moments(student, 0), self._moments(cross, -1), v)
        self._teacher = _nested(self._moments(teacher, -1), self.L, self.M, self.M)
        self._T = _exact(state.teacher_covariance, c)
        self._v_teacher = _exact(state.teacher_weights, c)
        ones = [[c.one]] * self.L
        self._nu = self._moments(ones, 1)
        self._closure = _closure(self._rho, c)
        self._rates = [
            c.mpf(float(value))
            for value in (
                rates.learning_rate,
                rates.second_layer_learning_rate,
                rates.weight_decay,
                rates.second_layer_weight_decay,
                rates.label_noise,
                rates.full_order,
            )
        ]
        # T^(l) for l = 0 … L - 1, the scale of R^(l) beside Q^(l)
        diagonal = [[row[n * self.M + n] for n in range(self.M)] for row in teacher]
        lower = self._moments(diagonal, -2)
        self._teacher_scale = [
            max(abs(x) for x in lower[l * self.M : (l + 1) * self.M]) for l in range(self.L)
        ]

    def _moments(self, values: _Rows, power: int) -> list[RealNumber]:
        """Return Σ_k w_k rho_k^(l + power) values_k for l = 0 … L - 1, in one list."""
        c = self._context
        columns = range(len(values[0]))
        factors = [w * rho**power for w, rho in zip(self._weight, self._rho, strict=True)]
        result = []
        for _ in range(self.L):
            result += [
                c.fsum(f * row[i] for f, row in zip(factors, values, strict=True)) for i in columns
            ]
            factors = [f * rho for f, rho in zip(factors, self._rho, strict=True)]
        return result

    def split(self, y: Sequence[RealNumber]) -> tuple[_Blocks, _Blocks, list[RealNumber]]:
        """Return Q^(l), R^(l) as nested lists (L, K, K), (L, K, M), and v."""
        K, M, L = self.K, self.M, self.L
        place = self._packing.slices
        return (
            _nested(y[place["student_moment"]], L, K, K),
            _nested(y[place["cross_moment"]], L, K, M),
            list(y[place["v"]]),
        )

    def _packed(
        self, student: list[RealNumber], cross: list[RealNumber], v: list[RealNumber]
    ) -> list[RealNumber]:
        """Return the flat state with these entries, the reverse of :meth:`split`."""
        y: list[RealNumber] = [self._context.zero] * self._packing.size
        for name, entries in (("student_moment", student), ("cross_moment", cross), ("v", v)):
            y[self._packing.slices[name]] = entries
        return y

    def right_hand_side(self, y: list[RealNumber]) -> list[RealNumber]:
        """Return dy/dα for a state y that is packed like ``start``."""
        c = self._context
        d_student, d_cross, d_v = self.split([c.zero] * len(y))
        self._module.right_hand_side(
            c,
            *self.split(y),
            self._closure,
            self._nu,
            self._teacher,
            self._T,
            self._v_teacher,
            *self._rates,
            d_student,
            d_cross,
            d_v,
        )
        return self._packed(_entries(d_student), _entries(d_cross), d_v)

    def observables(self, y: list[RealNumber]) -> tuple[_Rows, _Rows, list[RealNumber], RealNumber]:
        """Return Q, R as nested lists, v, and the generalisation error."""
        c = self._context
        student, cross, v = self.split(y)
        Q, R = _zeros(c, self.K, self.K), _zeros(c, self.K, self.M)
        error = self._module.observables(
            c, student, cross, self._closure, self._T, v, self._v_teacher, Q, R
        )
        return Q, R, v, error

    def size(self, error: list[RealNumber], y: list[RealNumber]) -> float:
        """Return the largest error of a moment relative to its order's scale, or NaN."""
        c = self._context
        # NaN is tested for separately, because comparisons ignore it
        if math.isnan(float(c.fsum(error) * 0)):
            return math.nan
        d_student, d_cross, d_v = self.split(error)
        student, _, v = self.split(y)
        worst: RealNumber = c.zero
        for l in range(self.L):
            scale = max(abs(student[l][i][i]) for i in range(self.K))
            off = max(abs(x) for row in d_student[l] for x in row)
            worst = max(worst, _ratio(off, scale))
            off = max(abs(x) for row in d_cross[l] for x in row)
            worst = max(worst, _ratio(off, c.sqrt(scale * self._teacher_scale[l])))
        scale = max(abs(x) for x in (*v, *self._v_teacher))
        return float(max(worst, _ratio(max(abs(x) for x in d_v), scale)))

    def rate(self) -> float:
        """Return 2η times the size of the matrix A at the start, which bounds how fast overlaps
        change.
        """
        c = self._context
        Q, R, v, _ = self.observables(self.start)
        A, B, dv = _zeros(c, self.K, self.K), _zeros(c, self.K, self.M), [c.zero] * self.K
        self._module.gradients(c, Q, R, self._T, v, self._v_teacher, A, B, dv)
        size = math.sqrt(sum(float(x) ** 2 for row in A for x in row))
        return 2 * float(self._rates[0]) * size


def _exact(values: np.ndarray, context: Numbers) -> Any:
    return mapped(context.mpf, np.asarray(values, dtype=np.float64).tolist())


def mapped(function: Any, values: Any) -> Any:
    if isinstance(values, list):
        return [mapped(function, value) for value in values]
    return function(values)


def _nested(flat: Sequence[RealNumber], first: int, rows: int, columns: int) -> _Blocks:
    return [
        [list(flat[(l * rows + i) * columns : (l * rows + i + 1) * columns]) for i in range(rows)]
        for l in range(first)
    ]


def _entries(blocks: _Blocks) -> list[RealNumber]:
    """Return the entries of nested lists in order, the reverse of :func:`_nested`."""
    return [x for rows in blocks for row in rows for x in row]


def _zeros(context: Numbers, rows: int, columns: int) -> _Rows:
    return [[context.zero] * columns for _ in range(rows)]


def _ratio(off: RealNumber, scale: RealNumber) -> RealNumber:
    if scale > 0:
        return off / scale
    return off * 0 if off == 0 else math.inf


def _closure(rho: list[RealNumber], context: Numbers) -> list[RealNumber]:
    from symderiv.learning.derivation.moment_hierarchy import closure_coefficients

    return [context.mpf(1) * value for value in closure_coefficients(rho)]
