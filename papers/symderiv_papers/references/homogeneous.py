r"""Homogeneous committees K = M: teachers, the ansatz R, S, Q, C, its rates and their Jacobian.

Teachers are equal up to exchanges, T_nn = T and T_nm = D/(M - 1), D the sum of a row without its
diagonal; so are students in states of the ansatz: R_ii = R, R_in = S, Q_ii = Q, Q_ij = C. All
output weights are 1/√M. The rates come from the full equations for all units that the engine
derived (:mod:`~symderiv_papers.references.moments`); nothing is collapsed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import mpmath
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv.precision.balls.contexts import numbers
from symderiv_papers.references.exact import as_number, as_numbers
from symderiv_papers.references.moments import Moments, Motion, generalization_error, motion

__all__ = [
    "DIGITS",
    "Committee",
    "Flow",
    "Teachers",
    "at_precision",
    "central_differences",
]

DIGITS: Final = 70
#: Derivatives of rates are central differences over 10^-STEP, whose error is far below the digits.
STEP: Final = 20

Numbers = Sequence[Any]


@contextmanager
def at_precision() -> Iterator[None]:
    """mpmath's numbers with the digits of these references."""
    with mpmath.workdps(DIGITS):
        yield


@dataclass(frozen=True)
class Teachers:
    """Homogeneous teachers and the spectrum of the inputs, all exact.

    Args:
        units: K = M.
        eigenvalue, weight: Of the inputs' covariance, shape (L,); weights add up to 1.
        diagonal: B_n·B_n of the teachers in each eigenspace, shape (L,).
        row: Sum of B_n·B_m over the other m in each eigenspace, shape (L,).
    """

    units: int
    eigenvalue: tuple[Fraction, ...]
    weight: tuple[Fraction, ...]
    diagonal: tuple[Fraction, ...]
    row: tuple[Fraction, ...]

    @property
    def modes(self) -> int:
        """L."""
        return len(self.eigenvalue)

    def moment(self, values: Numbers, order: int) -> Fraction:
        """Return sum over eigenspaces of weight × eigenvalue^order × value."""
        terms = zip(self.weight, self.eigenvalue, values, strict=True)
        return sum((w * rho**order * value for w, rho, value in terms), Fraction(0))

    def T(self, order: int) -> Fraction:
        """T^(order), the diagonal."""
        return self.moment(self.diagonal, order)

    def D(self, order: int) -> Fraction:
        """D^(order), the sum of a row without its diagonal."""
        return self.moment(self.row, order)

    def nu(self, order: int) -> Fraction:
        """ν_order, the moment of the spectrum."""
        return self.moment([Fraction(1)] * self.modes, order)

    def rows(self, order: int) -> list[list[Fraction]]:
        """T_nm^(order)."""
        return matrix(self.T(order), self.D(order) / (self.units - 1), self.units)

    @cached_property
    def closure(self) -> list[Fraction]:
        """c_0 … c_(L-1) of ∏ (x - ρ_k) = x^L + Σ c_l x^l."""
        return [Fraction(value) for value in closure_coefficients(list(self.eigenvalue))]

    @property
    def label(self) -> str:
        """Sizes and first-order statistics."""
        return f"M = {self.units}, L = {self.modes}, T1 = {self.T(1)}, D1 = {self.D(1)}"

    def indexed(self, numbers: Any) -> dict[str, Any]:
        """Return names for statements: T[l], D[l], nu[l] to l = 2 L + 2, c[l], lambda_[k], M, K,
        L.
        """
        top = 2 * self.modes + 2
        moments = {"T": self.T, "D": self.D, "nu": self.nu}
        found: dict[str, Any] = {
            name: Indexed([as_number(of(l), numbers) for l in range(top + 1)], (0, top))
            for name, of in moments.items()
        }
        found["lambda_"] = Indexed(as_numbers(self.eigenvalue, numbers), (1, self.modes))
        found["c"] = Indexed([*as_numbers(self.closure, numbers), 1], (0, self.modes))
        return {**found, "M": self.units, "K": self.units, "L": self.modes}

    def without_students(self, numbers: Any) -> Moments:
        """Return what a state knows of its teachers: orders 0 … L + 1; Q and R are still to
        come.
        """
        weights = [1 / numbers.sqrt(numbers.mpf(self.units))] * self.units
        orders = range(self.modes + 2)
        return Moments(
            Q=[],
            R=[],
            T=[as_numbers(self.rows(l), numbers) for l in orders],
            nu=[as_number(self.nu(l), numbers) for l in orders],
            closure=as_numbers(self.closure, numbers),
            v=weights,
            v_teacher=weights,
        )


@dataclass(frozen=True)
class Committee(Teachers):
    """A problem: teachers, learning rate and activation.

    Args:
        learning_rate: η.
        full: With the terms of order η².
        activation: A name or a formula.
    """

    learning_rate: Fraction = Fraction(1)
    full: bool = False
    activation: str = "erf"

    def plateau_length(self) -> Any:
        """c, with J_i = c Σ_n B_n on the symmetric plateau (first order in η), mpmath."""
        return self._closed("length")

    def plateau_rate(self, name: str) -> Any:
        """η times a field of :class:`~symderiv.analysis.plateau.PlateauForms`, mpmath."""
        with at_precision():
            return as_number(self.learning_rate, mpmath) * self._closed(name)

    def _closed(self, name: str) -> Any:
        return _closed_form(self.activation, name, self.units, self.T(1), self.D(1))

    def plateau(self) -> list[Any]:
        """Return the plateau as R^(l), S^(l), Q^(l), C^(l), l = 0 … L - 1, in this order; length
        4L.
        """
        with at_precision():
            c = self.plateau_length()
            rows = [as_number(self.T(l) + self.D(l), mpmath) for l in range(self.modes)]
            cross, student = [c * x for x in rows], [c * c * self.units * x for x in rows]
            return [*cross, *cross, *student, *student]

    def teacher(self) -> list[Any]:
        """Perfect learning in the same order: students equal to the teachers."""
        with at_precision():
            same = [as_number(self.T(l), mpmath) for l in range(self.modes)]
            other = [as_number(self.D(l) / (self.units - 1), mpmath) for l in range(self.modes)]
            return [*same, *other, *same, *other]

    def rates(self, state: Numbers) -> list[Any]:
        """d/dα of R^(l), S^(l), Q^(l), C^(l) in a state of this form, mpmath numbers."""
        with numbers(DIGITS, "arb") as balls:
            return [balls.as_mpf(x) for x in Flow(self, balls)([balls.mpf(x) for x in state])]

    def unit_rates(self, state: Numbers) -> tuple[Any, Any]:
        """d/dα of R^(l)_in and of Q^(l)_ij, nested lists (L, M, M) of mpmath numbers."""
        with numbers(DIGITS, "arb") as balls:
            flow = Flow(self, balls)
            found = flow.of_units(*flow.units([balls.mpf(x) for x in state]))
            cross, student = (
                [[[balls.as_mpf(x) for x in row] for row in order] for order in block]
                for block in (found.dR, found.dQ)
            )
            return cross, student

    def generalization_error(self, state: Numbers) -> Any:
        """ε_g of a state of this form, an mpmath number."""
        with numbers(DIGITS, "arb") as balls:
            return balls.as_mpf(Flow(self, balls).error([balls.mpf(x) for x in state]))

    def jacobian(self, state: Numbers) -> Any:
        """Return derivatives of the rates by the state, an mpmath matrix, shape (4L, 4L)."""
        with numbers(DIGITS, "arb") as balls, at_precision():
            step = balls.mpf(10) ** -STEP
            at = [balls.mpf(x) for x in state]
            columns = central_differences(Flow(self, balls), at, step)
            return mpmath.matrix([[balls.as_mpf(x) for x in column] for column in columns]).T


class Flow:
    """Rates and error of a committee in one kind of numbers."""

    def __init__(self, committee: Committee, context: Any) -> None:
        self.context, self.committee = context, committee
        self.modes = committee.modes
        self.eta = as_number(committee.learning_rate, context)
        self.teachers = committee.without_students(context)

    def units(self, state: list[Any]) -> tuple[Any, Any]:
        """Q^(l) and R^(l) of all units from R, S, Q, C of all orders."""
        L, M = self.modes, self.committee.units
        R, S, Q, C = (state[k * L : (k + 1) * L] for k in range(4))
        return ansatz(Q, C, M), ansatz(R, S, M)

    def of_units(self, student: Any, cross: Any) -> Motion:
        """Return rates of R^(l) and Q^(l) of all units."""
        full, activation = self.committee.full, self.committee.activation
        state = replace(self.teachers, Q=student, R=cross)
        return motion(state, self.eta, self.context, full_order=full, activation=activation)

    def __call__(self, state: list[Any]) -> list[Any]:
        found = self.of_units(*self.units(state))
        return [
            block[l][0][other]
            for block in (found.dR, found.dQ)
            for other in (0, 1)
            for l in range(self.modes)
        ]

    def error(self, state: list[Any]) -> Any:
        """ε_g of a state of the ansatz."""
        student, cross = self.units(state)
        whole = replace(self.teachers, Q=student, R=cross)
        return generalization_error(whole, self.context, self.committee.activation)


def matrix(same: Any, other: Any, units: int) -> list[list[Any]]:
    """Return one value on the diagonal, one beside it."""
    return [[same if i == n else other for n in range(units)] for i in range(units)]


def ansatz(same: Sequence[Any], other: Sequence[Any], units: int) -> list[Any]:
    """Such a matrix per order."""
    return [matrix(a, b, units) for a, b in zip(same, other, strict=True)]


def central_differences(
    function: Callable[[list[Any]], list[Any]], point: Sequence[Any], step: Any
) -> list[list[Any]]:
    """Return derivatives of a vector function, one column per variable."""
    columns = []
    for place in range(len(point)):
        ends = []
        for sign in (1, -1):
            moved = list(point)
            moved[place] = moved[place] + sign * step
            ends.append(function(moved))
        columns.append([(a - b) / (2 * step) for a, b in zip(*ends, strict=True)])
    return columns


@lru_cache(maxsize=256)
def _closed_form(activation: str, name: str, units: int, T: Fraction, D: Fraction) -> Any:
    import sympy as sp

    from symderiv.analysis.plateau.plateau_algebra import SYMBOLS, c
    from symderiv.gaussian.forms.evaluate import number

    forms = _forms(activation)
    value = getattr(forms, name).xreplace({c: forms.length})
    exact = (sp.Integer(units), sp.Rational(T), sp.Rational(D))
    return number(value.xreplace(dict(zip(SYMBOLS, exact, strict=True))), DIGITS)


@lru_cache(maxsize=4)
def _forms(activation: str) -> Any:
    from symderiv.analysis.plateau.plateau_forms import plateau_forms
    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.rule.learning_problem import learning_problem

    return plateau_forms(derive_equations(learning_problem(activation)))
