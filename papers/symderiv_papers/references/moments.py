"""States as the engine's equations have them, with what the equations say about them.

This is where references call the engine: everything here is its moment form, in any kind of
numbers, with a name for every quantity.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from symderiv_ledger.rules.arithmetic import Indexed

from symderiv.precision.moments.moment_system import RuleParameters, moment_module

__all__ = [
    "Moments",
    "Motion",
    "Overlaps",
    "generalization_error",
    "motion",
    "observables",
    "rule_numbers",
]


@dataclass(frozen=True)
class Overlaps:
    """Covariances of all fields, which gradients of the error depend on.

    Args:
        Q, R, T: Rows, shapes (K, K), (K, M), (M, M).
        v, v_teacher: Output weights (K,), (M,).
        activation: Of student and teacher.
    """

    Q: list[Any]
    R: list[Any]
    T: list[Any]
    v: list[Any]
    v_teacher: list[Any]
    activation: str = "erf"

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return self.Q, self.R, self.T, self.v, self.v_teacher

    def gradients(self, numbers: Any) -> tuple[Any, Any, Any]:
        """(1 + delta_ij) dε/dQ_ij, dε/dR_in and dε/dv_i."""
        K, M = len(self.v), len(self.v_teacher)
        A, B, dv = _zeros(K, K, numbers), _zeros(K, M, numbers), [numbers.zero] * K
        moment_module(self.activation).gradients(numbers, *self._arguments, A, B, dv)
        return A, B, dv

    def noise(self, numbers: Any) -> list[list[Any]]:
        """Return the mean of two students' forces, without noise of the labels."""
        K = len(self.v)
        found = _zeros(K, K, numbers)
        moment_module(self.activation).noise(numbers, *self._arguments, numbers.zero, found)
        return found

    def error(self, numbers: Any) -> Any:
        """ε_g."""
        return moment_module(self.activation).generalization_error(numbers, *self._arguments)


@dataclass(frozen=True)
class Moments:
    """A state of the moment hierarchy as numbers.

    Args:
        Q, R, T: Per order l = 0, 1, … the rows (K, K), (K, M), (M, M); at least L + 1 orders of T
            (T^(0) is not used by the flow), L of Q and R (higher ones are not used either).
        nu: ν_0, ν_1, …, at least L + 1.
        closure: c_0 … c_(L-1).
        v, v_teacher: Output weights (K,), (M,).
        covariance: Of the teachers' fields, where that is not T^(1).
    """

    Q: list[Any]
    R: list[Any]
    T: list[Any]
    nu: list[Any]
    closure: list[Any]
    v: list[Any]
    v_teacher: list[Any]
    covariance: Any = None

    @property
    def K(self) -> int:
        return len(self.v)

    @property
    def M(self) -> int:
        return len(self.v_teacher)

    @property
    def L(self) -> int:
        return len(self.closure)

    @property
    def teachers(self) -> Any:
        """The covariance of the teachers' fields."""
        return self.T[1] if self.covariance is None else self.covariance

    def indexed(self) -> dict[str, Any]:
        """Return names for statements: Q[l, i, j], R[l, i, n], T[l, n, m], nu[l], c[l], K, M, L."""
        K, M, top = (1, self.K), (1, self.M), (0, len(self.Q) - 1)
        return {
            "Q": Indexed(self.Q, top, K, K),
            "R": Indexed(self.R, top, K, M),
            "T": Indexed(self.T, (0, len(self.T) - 1), M, M),
            "nu": Indexed(self.nu, (0, len(self.nu) - 1)),
            "c": Indexed([*self.closure, 1], (0, self.L)),
            "K": self.K,
            "M": self.M,
            "L": self.L,
        }


@dataclass(frozen=True)
class Motion:
    """Time derivatives per order l = 0 … L-1, rows (K, K) and (K, M)."""

    dQ: list[Any]
    dR: list[Any]

    def indexed(self) -> dict[str, Any]:
        """dQ[l, i, j] and dR[l, i, n]."""
        top, K, M = (0, len(self.dQ) - 1), (1, len(self.dR[0])), (1, len(self.dR[0][0]))
        return {"dQ": Indexed(self.dQ, top, K, K), "dR": Indexed(self.dR, top, K, M)}


def motion(
    state: Moments,
    eta: Any,
    numbers: Any,
    *,
    full_order: bool = True,
    activation: str = "erf",
    teacher: str | None = None,
) -> Motion:
    """dQ^(l)/dα and dR^(l)/dα; the second layer is fixed.

    Args:
        state: The state.
        eta: Learning rate.
        numbers: The arithmetic of both.
        full_order: With the η² terms.
        activation: Of student and teacher.
        teacher: Of the teacher, where it is another one.
    """
    K, M, L = state.K, state.M, state.L
    dQ = [_zeros(K, K, numbers) for _ in range(L)]
    dR = [_zeros(K, M, numbers) for _ in range(L)]
    _module(activation, teacher).right_hand_side(
        numbers,
        state.Q[:L],
        state.R[:L],
        state.v,
        state.closure,
        state.nu[1 : L + 1],
        state.T[1 : L + 1],
        state.teachers,
        state.v_teacher,
        *rule_numbers(numbers, learning_rate=eta, full_order=numbers.mpf(int(full_order))),
        dQ,
        dR,
        [numbers.zero] * K,
    )
    return Motion(dQ, dR)


def generalization_error(state: Moments, numbers: Any, activation: str = "erf") -> Any:
    """ε_g of a state."""
    return observables(state, numbers, activation)[0]


def observables(
    state: Moments, numbers: Any, activation: str = "erf", teacher: str | None = None
) -> tuple[Any, Any, Any]:
    """ε_g, and Q^(1) and R^(1) that it depends on."""
    Q, R = _zeros(state.K, state.K, numbers), _zeros(state.K, state.M, numbers)
    error = _module(activation, teacher).observables(
        numbers,
        state.Q[: state.L],
        state.R[: state.L],
        state.closure,
        state.teachers,
        state.v,
        state.v_teacher,
        Q,
        R,
    )
    return error, Q, R


def rule_numbers(numbers: Any, **given: Any) -> list[Any]:
    """Return the numbers of the learning rule in the engine's order; those that are not given
    are zero.
    """
    return [given.get(field.name, numbers.zero) for field in fields(RuleParameters)]


def _module(student: str, teacher: str | None) -> Any:
    return moment_module(student) if teacher is None else moment_module(student, teacher)


def _zeros(rows: int, columns: int, numbers: Any) -> list[list[Any]]:
    return [[numbers.zero] * columns for _ in range(rows)]
