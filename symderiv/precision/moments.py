r"""Trajectories of the moment form with as many digits as it takes.

The equations are the engine's own moment hierarchy (:mod:`symderiv.learning.moment_form`), printed
for multiprecision numbers; here they are given numbers and integrated. The spectral form in doubles
is the way to solve a study. This form is its independent check, and it is what papers are written
in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final, Protocol

import numpy as np

from symderiv.errors import InputError, ToleranceError
from symderiv.precision.contexts import numbers
from symderiv.precision.digits import Plan, moment_digits, require_double
from symderiv.precision.stepper import Steps, trajectory

__all__ = ["MomentSystem", "MomentTrajectory", "Rates", "moment_module", "moment_trajectory"]

# Integrations of one trajectory, until two agree.
_MOST_RUNS: Final = 5
# Late in learning the matrix A may be larger than at the start, which is where it is known.
_RATE_FACTOR: Final = 1.5


class Overlaps(Protocol):
    """Overlaps per eigenvalue, as :class:`symderiv.dynamics.State` has them."""

    @property
    def K(self) -> int: ...
    @property
    def M(self) -> int: ...
    @property
    def L(self) -> int: ...

    eigenvalue: np.ndarray
    weight: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    teacher_overlap: np.ndarray
    teacher_covariance: np.ndarray
    student_weights: np.ndarray
    teacher_weights: np.ndarray


@dataclass(frozen=True)
class Rates:
    """The numbers of the learning rule, in the order and units of the generated modules."""

    learning_rate: float
    second_layer_learning_rate: float = 0.0
    weight_decay: float = 0.0
    second_layer_weight_decay: float = 0.0
    label_noise: float = 0.0
    full_order: bool = True


@dataclass(frozen=True)
class MomentTrajectory:
    """Learning curves from moments. Arrays hold mpmath numbers with all digits computed.

    Attributes:
        alpha: Times, shape (P,), doubles.
        Q, R, v: Shapes (P, K, K), (P, K, M), (P, K).
        generalization_error: Shape (P,).
        digits: Digits that the result has, the least over times, as the comparison says.
        agreement: Largest relative difference of the generalisation error, and of Q, R, v relative
            to their scales, to the same trajectory with fewer digits and a larger tolerance.
        working_digits: Digits of the better run, whose numbers these are.
        compared_digits: Digits of the run that it was compared with.
        tolerance: Local tolerance of the better run.
        plan: Why so many digits.
        evaluations: Right-hand sides of all runs.
        seconds: CPU seconds of all runs.
    """

    alpha: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    generalization_error: np.ndarray
    digits: float
    agreement: float
    working_digits: int
    compared_digits: int
    tolerance: float
    plan: Plan
    evaluations: int
    seconds: float


@lru_cache(maxsize=8)
def moment_module(student: str, teacher: str | None = None) -> Any:
    """The generated module of the moment form; its functions take a context of numbers first.

    Args:
        student, teacher: Activations as names or formulas in ``x``; None: the same.
    """
    from symderiv_codegen import print_mpmath

    from symderiv.learning import derive_equations, learning_problem, moment_program

    equations = derive_equations(learning_problem(student, teacher))
    text = print_mpmath(moment_program(equations, "moments"))
    names: dict[str, Any] = {}
    # the text comes from our own printer; formulas were read by the allow-list before
    exec(compile(text, "moments", "exec"), names)
    return SimpleNamespace(**names)


class MomentSystem:
    """A state and a learning rule as moments and their flow, in one kind of numbers.

    Args:
        module: From :func:`moment_module`.
        state: Doubles, taken as exact.
        rates: Doubles, taken as exact.
        context: From :func:`symderiv.precision.numbers`; the system lives as long as its block.
    """

    def __init__(self, module: Any, state: Overlaps, rates: Rates, context: Any) -> None:
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
        self.start = [*self._moments(student, 0), *self._moments(cross, -1), *v]
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

    def _moments(self, values: list[list[Any]], power: int) -> list[Any]:
        """Sum of w rho^(l + power) values, for l = 0 … L - 1, in one list."""
        c = self._context
        columns = range(len(values[0]))
        factors = [w * rho**power for w, rho in zip(self._weight, self._rho, strict=True)]
        result = []
        for _ in range(self.L):
            result += [c.fsum(f * row[i] for f, row in zip(factors, values, strict=True))
                       for i in columns]  # fmt: skip
            factors = [f * rho for f, rho in zip(factors, self._rho, strict=True)]
        return result

    def split(self, y: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
        """Q^(l), R^(l) as nested lists (L, K, K), (L, K, M), and v."""
        K, M, L = self.K, self.M, self.L
        cross, weights = L * K * K, L * K * (K + M)
        return (
            _nested(y[:cross], L, K, K),
            _nested(y[cross:weights], L, K, M),
            list(y[weights:]),
        )

    def right_hand_side(self, y: list[Any]) -> list[Any]:
        """dy/dα for y as ``start``."""
        c = self._context
        d_student, d_cross, d_v = self.split([c.zero] * len(y))
        self._module.right_hand_side(
            c, *self.split(y), self._closure, self._nu, self._teacher, self._T, self._v_teacher,
            *self._rates, d_student, d_cross, d_v,
        )  # fmt: skip
        flat = [x for block in (d_student, d_cross) for rows in block for row in rows for x in row]
        return flat + d_v

    def observables(self, y: list[Any]) -> tuple[Any, Any, list[Any], Any]:
        """Q, R as nested lists, v, and the generalisation error."""
        c = self._context
        student, cross, v = self.split(y)
        Q, R = _zeros(c, self.K, self.K), _zeros(c, self.K, self.M)
        error = self._module.observables(
            c, student, cross, self._closure, self._T, v, self._v_teacher, Q, R
        )
        return Q, R, v, error

    def size(self, error: list[Any], y: list[Any]) -> float:
        """The largest error of a moment relative to the scale of its order, as a float."""
        c = self._context
        d_student, d_cross, d_v = self.split(error)
        student, _, v = self.split(y)
        worst: Any = c.zero
        for l in range(self.L):
            scale = max(abs(student[l][i][i]) for i in range(self.K))
            off = max(abs(x) for row in d_student[l] for x in row)
            worst = max(worst, _ratio(off, scale))
            off = max(abs(x) for row in d_cross[l] for x in row)
            worst = max(worst, _ratio(off, c.sqrt(scale * self._teacher_scale[l])))
        scale = max(abs(x) for x in (*v, *self._v_teacher))
        return float(max(worst, _ratio(max(abs(x) for x in d_v), scale)))

    def rate(self) -> float:
        """2η times the size of the matrix A at the start: how fast overlaps change at most."""
        c = self._context
        Q, R, v, _ = self.observables(self.start)
        A, B, dv = _zeros(c, self.K, self.K), _zeros(c, self.K, self.M), [c.zero] * self.K
        self._module.gradients(c, Q, R, self._T, v, self._v_teacher, A, B, dv)
        size = math.sqrt(sum(float(x) ** 2 for row in A for x in row))
        return 2 * float(self._rates[0]) * size


def moment_trajectory(
    state: Overlaps,
    rates: Rates,
    times: Sequence[float] | np.ndarray,
    student: str = "erf",
    teacher: str | None = None,
    *,
    digits: int = 12,
    backend: str = "arb",
) -> MomentTrajectory:
    """Learning curves by the moment form, with so many digits of the generalisation error.

    The working digits are planned from the spectrum and the times; the trajectory is computed
    again with more digits and a smaller tolerance, and both are compared. If they do not agree to
    the digits wanted, that is repeated with as many more as were missing.

    Args:
        state: Where it starts: a :class:`symderiv.dynamics.State`, taken as exact.
        rates: The learning rule.
        times: Ascending, >= 0.
        student, teacher: Activations as names or formulas in ``x``.
        digits: Relative accuracy wanted, 1 to 50.
        backend: "arb", or "mpmath", which is slower by an order of magnitude; "float64" only where
            the plan says that doubles suffice.

    Raises:
        InputError: An argument is out of range, or an eigenvalue is zero or occurs twice.
        ToleranceError: The digits were not reached, or doubles are refused.
    """
    if not 1 <= digits <= 50:
        raise InputError(f"digits must be between 1 and 50, not {digits}")
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or times.size == 0:
        raise InputError("times must be a list of at least one number")
    module = moment_module(student, teacher)
    with numbers(30) as c:
        rate = _RATE_FACTOR * MomentSystem(module, state, rates, c).rate()
    plan = moment_digits(state.eigenvalue, state.weight, digits + 1, float(times[-1]), rate)
    if backend == "float64":
        require_double(plan)
    steps = Steps()
    began = time.process_time()
    working, tolerance = plan.digits, 10.0 ** -(digits + 1)
    before = _run(module, state, rates, times, working, tolerance, backend, steps)
    agreement = math.inf
    for _ in range(_MOST_RUNS - 1):
        compared = working
        missing = math.ceil(math.log10(agreement) + digits) if agreement < math.inf else 0
        working += 4 + max(plan.digits // 8, missing, 0)
        tolerance *= 10.0 ** -(1 + max(missing, 0))
        run = _run(module, state, rates, times, working, tolerance, backend, steps)
        agreement = _difference(before, run)
        if agreement <= 10.0**-digits:
            alpha, (Q, R, v, error) = times, run
            seconds = time.process_time() - began
            reached = -math.log10(agreement) if agreement > 0 else float(compared)
            return MomentTrajectory(
                alpha, Q, R, v, error, reached, agreement, working, compared, tolerance, plan,
                steps.evaluations, seconds,
            )  # fmt: skip
        before = run
    raise ToleranceError(
        f"moments with {compared} and {working} digits differ by {agreement:.1e}, more than the "
        f"{digits} digits wanted; ask for fewer digits or an earlier end"
    )


_Curves = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _run(
    module: Any,
    state: Overlaps,
    rates: Rates,
    times: np.ndarray,
    digits: int,
    tolerance: float,
    backend: str,
    steps: Steps,
) -> _Curves:
    """Q, R, v and the error at all times, as arrays of mpmath numbers."""
    with numbers(digits, backend) as c:
        system = MomentSystem(module, state, rates, c)
        states = trajectory(
            system.right_hand_side, system.start, times.tolist(), tolerance,
            size=system.size, point=c.point, steps=steps,
        )  # fmt: skip
        curves = [system.observables(y) for y in states]
        return tuple(  # type: ignore[return-value]
            np.array([_mapped(c.as_mpf, curve[part]) for curve in curves], dtype=object)
            for part in range(4)
        )


def _difference(first: _Curves, second: _Curves) -> float:
    """The largest relative difference of the errors, and of Q, R, v relative to their scales."""
    worst = 0.0
    for part, (a, b) in enumerate(zip(first, second, strict=True)):
        axes = tuple(range(1, b.ndim))
        off, scale = abs(a - b), abs(b)
        if axes:
            off, scale = off.max(axis=axes), scale.max(axis=axes)
        if part == 1:  # R may vanish
            scale = np.maximum(scale, abs(second[0]).max(axis=(1, 2)))
        worst = max(
            worst, *(float(x / s) if s else float(x) for x, s in zip(off, scale, strict=True))
        )
    return worst


def _exact(values: np.ndarray, context: Any) -> Any:
    return _mapped(context.mpf, np.asarray(values, dtype=np.float64).tolist())


def _mapped(function: Any, values: Any) -> Any:
    if isinstance(values, list):
        return [_mapped(function, value) for value in values]
    return function(values)


def _nested(flat: Sequence[Any], first: int, rows: int, columns: int) -> list[list[list[Any]]]:
    return [
        [list(flat[(l * rows + i) * columns : (l * rows + i + 1) * columns]) for i in range(rows)]
        for l in range(first)
    ]


def _zeros(context: Any, rows: int, columns: int) -> list[list[Any]]:
    return [[context.zero] * columns for _ in range(rows)]


def _ratio(off: Any, scale: Any) -> Any:
    if scale > 0:
        return off / scale
    return off * 0 if off == 0 else math.inf


def _closure(rho: list[Any], context: Any) -> list[Any]:
    from symderiv.learning.moments import closure_coefficients

    return [context.mpf(1) * value for value in closure_coefficients(rho)]
