"""One linear student and teacher, as the engine's own equations have them.

Everything here comes out of :func:`symderiv.learning.derive_equations` for the activation x. Flows
and trajectories are those of the eigenspaces (nothing is closed by Cayley-Hamilton there); the
blocks of the linear system of the moments are read off the engine's moment form by probing it with
unit vectors.

Conventions: L distinct eigenvalues λ_l with equal multiplicities; q, r, t are the means of J_a²,
J_a B_a and B_a² over the coordinates of an eigenspace, and Q^(l) = (1/L) Σ_k λ_k^l q_k and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any

from flint import arb, arb_mat

from symderiv.precision.balls.contexts import numbers as numbers_of
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.moments import Moments, motion, rule_numbers

__all__ = [
    "Case",
    "LinearNetwork",
    "eigenvalues_of",
    "eigenvectors_of",
    "exponential",
    "power_law",
    "spectral_module",
]

_GUARD_DIGITS = 30
# With the shift kept, so that the iteration cannot leave its eigenvalue.
_FIXED_STEPS = 3


@dataclass(frozen=True)
class Case:
    """The exact numbers of one linear network.

    Args:
        spectrum: The distinct eigenvalues, or (L, β) of a power law of mean 1 if ``law`` is set.
        rate: η.
        time: α.
        variance: σ_J²: the initial student is drawn, so q = σ_J² and r = 0, if ``student`` is None.
        law: Is ``spectrum`` a power law's (L, β)?
        teacher: t per eigenspace; None: its mean over teachers, 1.
        student: q per eigenspace at the start.
        cross: r per eigenspace at the start.
    """

    spectrum: tuple[Fraction, ...]
    rate: Fraction
    time: Fraction
    variance: Fraction = Fraction(1, 4)
    law: bool = False
    teacher: tuple[Fraction, ...] | None = None
    student: tuple[Fraction, ...] | None = None
    cross: tuple[Fraction, ...] | None = None

    def __str__(self) -> str:
        if self.law:
            spectrum = f"L = {self.spectrum[0]}, beta = {float(self.spectrum[1]):g}"
        else:
            spectrum = f"eigenvalues {', '.join(f'{float(x):g}' for x in self.spectrum)}"
        return (
            f"{spectrum}, eta = {float(self.rate):g}, alpha = {float(self.time):g}, "
            f"sigma_J^2 = {float(self.variance):g}"
        )


def power_law(size: int, exponent: Any, numbers: Any) -> list[Any]:
    """λ_l = λ_+ l^-(1+β), l = 1 … L, of mean 1."""
    shape = [numbers.mpf(l) ** (-1 - exponent) for l in range(1, size + 1)]
    mean = numbers.fsum(shape) / size
    return [x / mean for x in shape]


class LinearNetwork:
    """A case in one kind of numbers.

    Args:
        case: The exact numbers.
        numbers: mpmath numbers, from :func:`symderiv.precision.numbers`.
    """

    def __init__(self, case: Case, numbers: Any) -> None:
        self.case, self.numbers = case, numbers
        if case.law:
            size, exponent = case.spectrum
            self.eigenvalue = power_law(int(size), as_number(exponent, numbers), numbers)
        else:
            self.eigenvalue = [as_number(x, numbers) for x in case.spectrum]
        self.L = len(self.eigenvalue)
        self.eta, self.alpha = as_number(case.rate, numbers), as_number(case.time, numbers)
        self.variance = as_number(case.variance, numbers)
        self.teacher = self._spread(case.teacher, numbers.one)
        self.student = self._spread(case.student, self.variance)
        self.cross = self._spread(case.cross, numbers.zero)
        #: Eigenspaces that learn, counted from the first; the others stay as they are.
        self.trained = self.L

    def _spread(self, values: tuple[Fraction, ...] | None, same: Any) -> list[Any]:
        if values is None:
            return [same] * self.L
        return [as_number(value, self.numbers) for value in values]

    def moments(self, values: list[Any]) -> list[Any]:
        """(1/L) Σ_k λ_k^l x_k for l = 0 … L + 1."""
        powers, result = list(values), []
        for _ in range(self.L + 2):
            result.append(self.numbers.fsum(powers) / self.L)
            powers = [x * rho for x, rho in zip(powers, self.eigenvalue, strict=True)]
        return result

    @cached_property
    def closure(self) -> list[Any]:
        """c_0 … c_L of the polynomial with the distinct eigenvalues as its roots."""
        coefficients: list[Any] = [self.numbers.one]
        for rho in self.eigenvalue:
            shifted = [self.numbers.zero, *coefficients]
            for place, coefficient in enumerate(coefficients):
                shifted[place] = shifted[place] - rho * coefficient
            coefficients = shifted
        return coefficients

    def flow(
        self, student: list[Any], cross: list[Any], full: bool = True
    ) -> tuple[list[Any], list[Any]]:
        """dq/dα and dr/dα per eigenspace; without the terms of order η² if not ``full``."""
        n, rho, columns = self.numbers, self.eigenvalue, range(self.L)
        weight = [n.one / self.L] * self.L
        d_student, d_cross = [[[n.zero] * self.L]], [[[n.zero] * self.L]]
        spectral_module().right_hand_side(
            n, [[student]], [[[rho[k] * cross[k] for k in columns]]], [n.one], rho, weight,
            [[[rho[k] ** 2 * self.teacher[k] for k in columns]]],
            [[self.moments(self.teacher)[1]]], [n.one],
            *rule_numbers(n, learning_rate=self.eta, full_order=n.mpf(int(full))),
            d_student, d_cross, [n.zero],
        )  # fmt: skip
        frozen = [n.zero] * (self.L - self.trained)
        learning = range(self.trained)
        return (
            [*(d_student[0][0][k] for k in learning), *frozen],
            [*(d_cross[0][0][k] / rho[k] for k in learning), *frozen],
        )

    def error(self, student: list[Any], cross: list[Any]) -> Any:
        """ε_g of overlaps per eigenspace."""
        n, rho = self.numbers, self.eigenvalue
        Q, R = [[n.zero]], [[n.zero]]
        return spectral_module().observables(
            n, [[student]], [[[x * y for x, y in zip(rho, cross, strict=True)]]], rho,
            [n.one / self.L] * self.L, [[self.moments(self.teacher)[1]]], [n.one], [n.one], Q, R,
        )  # fmt: skip

    def at(self, full: bool = True, time: Any = None) -> tuple[list[Any], list[Any]]:
        """q and r per eigenspace at the time α, from the flow as a linear system."""
        n, size = self.numbers, 2 * self.L

        def derivative(state: list[Any]) -> list[Any]:
            d_student, d_cross = self.flow(state[: self.L], state[self.L :], full)
            return [*d_student, *d_cross]

        constant = derivative([n.zero] * size)
        matrix = n.matrix(size + 1, size + 1)
        for column in range(size):
            unit = [n.one if row == column else n.zero for row in range(size)]
            for row, value in enumerate(derivative(unit)):
                matrix[row, column] = value - constant[row]
        for row, value in enumerate(constant):
            matrix[row, size] = value
        moved = exponential(matrix * (self.alpha if time is None else time), n)
        start = [*self.student, *self.cross, n.one]
        state = [
            n.fsum(moved[row, column] * start[column] for column in range(size + 1))
            for row in range(size)
        ]
        return state[: self.L], state[self.L :]

    @cached_property
    def blocks(self) -> SimpleNamespace:
        """The linear system of the moments, by probing the engine's moment form.

        ``RR``, ``QR``, ``QQ`` (matrices) and ``R``, ``Q`` (columns), all divided by η; ``noise``:
        the part of ``QQ`` that is of order η, divided by η once more.
        """
        n, L = self.numbers, self.L
        zero = [n.zero] * L

        def probed(full: bool) -> SimpleNamespace:
            found = SimpleNamespace(RR=n.matrix(L), QR=n.matrix(L), QQ=n.matrix(L))
            d_student, d_cross = self.moment_flow(zero, zero, full)
            found.Q, found.R = n.matrix(d_student) / self.eta, n.matrix(d_cross) / self.eta
            for column in range(L):
                unit = [n.one if row == column else n.zero for row in range(L)]
                for row, value in enumerate(self.moment_flow(unit, zero, full)[0]):
                    found.QQ[row, column] = value / self.eta - found.Q[row]
                from_cross = self.moment_flow(zero, unit, full)
                for row in range(L):
                    found.QR[row, column] = from_cross[0][row] / self.eta - found.Q[row]
                    found.RR[row, column] = from_cross[1][row] / self.eta - found.R[row]
            return found

        found = probed(True)
        found.noise = (found.QQ - probed(False).QQ) / self.eta
        return found

    def moment_flow(
        self, student: list[Any], cross: list[Any], full: bool = True
    ) -> tuple[list[Any], list[Any]]:
        """dQ^(l)/dα and dR^(l)/dα, l = 0 … L - 1, for any values of the moments."""
        n, L = self.numbers, self.L
        teacher, spectral = self.moments(self.teacher), self.moments([n.one] * L)
        state = Moments(
            Q=[[[x]] for x in student],
            R=[[[x]] for x in cross],
            T=[[[x]] for x in teacher],
            nu=spectral,
            closure=self.closure[:L],
            v=[n.one],
            v_teacher=[n.one],
        )
        found = motion(state, self.eta, n, full_order=full, activation="linear")
        return [x[0][0] for x in found.dQ], [x[0][0] for x in found.dR]

    def certified_rates(self) -> list[Any]:
        """Decay rates of ε_g, ascending: roots of the secular equation, enclosed in balls."""
        from symderiv.analysis.linear.exact_spectrum import (
            ExactLinear,
            exact_power_law,
            secular_rates,
        )
        from symderiv.analysis.plateau.teacher import rational_ball

        case = self.case

        def spectrum() -> tuple[list[Any], list[Any]]:
            return [rational_ball(x) for x in case.spectrum], [arb(1) / self.L] * self.L

        if case.law:
            spectrum = exact_power_law(self.L, case.spectrum[1])
        with numbers_of(self.numbers.dps + _GUARD_DIGITS, "arb") as balls:
            problem = ExactLinear(spectrum, self.L, case.rate, 1 + case.variance)
            rates = secular_rates(problem)[0]
            return [+self.numbers.mpf(balls.as_mpf(rate)) for rate in rates]


@lru_cache(maxsize=1)
def spectral_module() -> Any:
    """Return the generated module of the eigenspaces for any kind of numbers."""
    from symderiv_codegen import print_mpmath

    from symderiv.learning.derivation.learning_equations import derive_equations
    from symderiv.learning.rule.learning_problem import learning_problem
    from symderiv.lowering.programs.program import solver_program

    text = print_mpmath(solver_program(derive_equations(learning_problem("linear")), "spectral"))
    names: dict[str, Any] = {}
    # the text comes from our own printer
    exec(compile(text, "spectral", "exec"), names)
    return SimpleNamespace(**names)


def exponential(matrix: Any, numbers: Any) -> Any:
    """Return the matrix exponential of mpmath numbers, computed in balls (faster than in
    mpmath).
    """
    with numbers_of(numbers.dps + _GUARD_DIGITS, "arb") as balls:
        result = arb_mat(
            [[arb(matrix[i, j]) for j in range(matrix.cols)] for i in range(matrix.rows)]
        ).exp()
        found = numbers.matrix(matrix.rows, matrix.cols)
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                found[i, j] = +numbers.mpf(balls.as_mpf(result[i, j]))
    return found


def eigenvalues_of(matrix: Any, numbers: Any) -> list[Any]:
    """Return the eigenvalues of a matrix that has real simple ones, in ascending order."""
    return [value for value, _ in _eigenpairs(matrix, numbers)]


def eigenvectors_of(matrix: Any, numbers: Any) -> Any:
    """Right eigenvectors as columns, in the order of :func:`eigenvalues_of`, first entries 1."""
    columns = [vector for _, vector in _eigenpairs(matrix, numbers)]
    result = numbers.matrix(matrix.rows, matrix.rows)
    for k, vector in enumerate(columns):
        for i in range(matrix.rows):
            result[i, k] = vector[i] / vector[0]
    return result


def _eigenpairs(matrix: Any, numbers: Any) -> list[tuple[Any, Any]]:
    """Inverse iteration at the doubles' eigenvalues, then with Rayleigh quotients, for all digits.

    Left and right vectors together converge cubically.
    """
    import numpy as np

    size = matrix.rows
    doubles = np.array([[float(matrix[i, j]) for j in range(size)] for i in range(size)])
    pairs = []
    for start in sorted(np.linalg.eigvals(doubles).real):
        # not the double itself, which may be the eigenvalue
        value = numbers.mpf(float(start)) * (1 + numbers.mpf(10) ** -14)
        right, left = numbers.matrix([1] * size), numbers.matrix([1] * size)
        for step in range(_FIXED_STEPS + numbers.dps.bit_length()):
            shifted = matrix - value * numbers.eye(size)
            try:
                right = numbers.lu_solve(shifted, right)
                left = numbers.lu_solve(shifted.T, left)
            except ZeroDivisionError:
                break
            right, left = right / numbers.norm(right), left / numbers.norm(left)
            if step >= _FIXED_STEPS:
                value = (left.T * matrix * right)[0] / (left.T * right)[0]
        pairs.append((value, right))
    return sorted(pairs, key=lambda pair: pair[0])
