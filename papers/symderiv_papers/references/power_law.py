"""Power-law sums at small learning rates, from first principles: what scaling claims are about.

The error of a linear network at η → 0 is a sum of u e^(-zu) with u = k^-(1+β), z = 2ηλ_+α. Its
terms come from the engine's linear system, integrals from quadrature in ln x, derivatives from a
recursion, so that no printed closed form is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import mpmath
import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.analysis.linear.system import linear_system
from symderiv_papers.references.exact import as_number

__all__ = [
    "PowerLawSum",
    "eigenvalues",
    "exponent_in_time",
    "grid",
    "largest",
    "periodized_bernoulli",
    "window_length",
]

# Beyond the digits asked for.
_GUARD = 8


@lru_cache(maxsize=64)
def _powers(bits: int, beta: Fraction, first: int, last: int) -> tuple[Any, ...]:
    with mpmath.mp.workprec(bits):
        power = -(1 + mpmath.mpf(beta.numerator) / beta.denominator)
        return tuple(mpmath.mpf(k) ** power for k in range(first, last + 1))


def largest(numbers: Any, beta: Fraction, L: int) -> Any:
    """λ_+ of L eigenvalues λ_+ k^-(1+β) with mean 1."""
    return numbers.mpf(L) / numbers.fsum(_powers(numbers.prec + _GUARD, beta, 1, L))


def eigenvalues(numbers: Any, beta: Fraction, L: int) -> list[Any]:
    """λ_k, k = 1 … L, with mean 1."""
    top = largest(numbers, beta, L)
    return [top * u for u in _powers(numbers.prec + _GUARD, beta, 1, L)]


def periodized_bernoulli(numbers: Any) -> Callable[[int, Any], Any]:
    """P_k(x) = B_k(x - ⌊x⌋)."""
    return lambda k, x: numbers.bernpoly(k, x - numbers.floor(x))


@lru_cache(maxsize=20_000)
def _sum(bits: int, beta: Fraction, first: int, last: int, z: Any) -> Any:
    with mpmath.mp.workprec(bits):
        return mpmath.fsum(u * mpmath.exp(-z * u) for u in _powers(bits, beta, first, last))


@lru_cache(maxsize=20_000)
def _integral(bits: int, beta: Fraction, first: int, last: int, z: Any) -> Any:
    """∫ u e^(-zu) dx over [first, last], in t = ln x, where the integrand is smooth."""
    with mpmath.mp.workprec(bits):
        b = mpmath.mpf(beta.numerator) / beta.denominator
        low, high = mpmath.log(first), mpmath.log(last)
        pieces = max(1, int((high - low) * (1 + b)))
        ends = [low + (high - low) * i / pieces for i in range(pieces + 1)]
        return mpmath.quad(
            lambda t: mpmath.exp(-b * t - z * mpmath.exp(-(1 + b) * t)),
            ends,
            method="gauss-legendre",
        )


@dataclass(frozen=True)
class PowerLawSum:
    """A small-η error of a power law at one time, and what the claims compare it with.

    "The printed f" is (1 + σ_J²) λ_+/L u e^(-zu), u = x^-(1+β), twice the summand of the error.

    Attributes:
        numbers: The arithmetic.
        beta: β.
        L: Number of eigenvalues.
        z: 2ηλ_+α as a decimal text; the time follows from it.
        first: Sums and integrals of the printed f run from here ...
        last: ... to here; 0 for L.
        top: λ_+; None for the value that makes the mean eigenvalue 1.
        learning_rate: η.
        student_std: σ_J.
    """

    numbers: Any
    beta: Fraction
    L: int
    z: str
    first: int = 1
    last: int = 0
    top: Fraction | None = None
    learning_rate: Fraction = Fraction(3, 10)
    student_std: Fraction = Fraction(2, 3)

    @cached_property
    def names(self) -> dict[str, Any]:
        """The parameters under the names of statements."""
        numbers = self.numbers
        eta = as_number(self.learning_rate, numbers)
        if self.top is None:
            top = largest(numbers, self.beta, self.L)
        else:
            top = as_number(self.top, numbers)
        return {
            "L": self.L,
            "M": 1,
            "K": 1,
            "N": 2 * self.L,
            "m": self.first,
            "n": self.last or self.L,
            "beta": as_number(self.beta, numbers),
            "eta": eta,
            "lambda_plus": top,
            "sigma_J": as_number(self.student_std, numbers),
            "alpha": numbers.mpf(self.z) / (2 * eta * top),
        }

    def point(self, series: str = "", parameter: float | None = None, **more: Any) -> Point:
        """Return the case with all names that statements use.

        Args:
            series: See :class:`~symderiv_ledger.claims.claim.Point`.
            parameter: The same.
            **more: Further names, with functions of no argument that give their values.
        """
        names, start = self.names, replace(self, z="0")
        ends = names["m"], names["n"]
        known = names | {
            "f": lambda x: self.derivative(0, x),
            "D": self.derivative,
            "f0": lambda x: start.derivative(0, x),
            "D0": start.derivative,
            "P": periodized_bernoulli(self.numbers),
        }
        lazy = {
            "total": lambda: self.scale * self.total(*ends),
            "integral": lambda: self.scale * self.integral(*ends),
            "excess": lambda: self.scale * (self.total(*ends) - self.integral(*ends)),
            "term": lambda: Indexed(self.terms(), (1, self.L)),
            "epsilon_g": lambda: self.scale / 2 * self.total(1, self.L),
            "Delta": lambda: Indexed(start.deltas(), (1, self.L - 1)),
        }
        label = f"beta = {self.beta}, L = {self.L}, z = {self.z}"
        if ends != (1, self.L):
            label += f", m = {self.first}, n = {self.last}"
        return Point(label, Values(known, lazy | more), parameter, series)

    @property
    def scale(self) -> Any:
        """λ_+ (1 + σ_J²)/L, the printed f at u = 1 and z = 0."""
        names = self.names
        return (1 + names["sigma_J"] ** 2) * names["lambda_plus"] / self.L

    def terms(self) -> list[Any]:
        """Return the summands of ε_g(α) at η → 0, from the engine's decay rates and weights."""
        names, system = self.names, linear_system()
        factor = self.numbers.mpf(system.factor) * (1 + names["sigma_J"] ** 2)
        found = []
        for eigenvalue in eigenvalues(self.numbers, self.beta, self.L):
            rate, _, weight = system.numbers(names["eta"], eigenvalue, self.numbers.one / self.L)
            found.append(factor * weight * self.numbers.exp(-rate * names["alpha"]))
        return found

    def deltas(self) -> list[Any]:
        """Return per interval [k, k + 1]: half of u e^(-zu) at both ends minus its integral."""
        return [self.total(k, k + 1) / 2 - self.integral(k, k + 1) for k in range(1, self.L)]

    def total(self, first: int, last: int) -> Any:
        """Σ u e^(-zu) over integers."""
        bits = self.numbers.prec + _GUARD
        return self.numbers.mpf(_sum(bits, self.beta, first, last, self._z()))

    def integral(self, first: int, last: int) -> Any:
        """∫ u e^(-zu) dx by quadrature."""
        bits = self.numbers.prec + _GUARD
        return self.numbers.mpf(_integral(bits, self.beta, first, last, self._z()))

    def _z(self) -> Any:
        return mpmath.mp.make_mpf(self.numbers.mpf(self.z)._mpf_)

    def derivative(self, order: int, x: Any) -> Any:
        r"""Return the derivative of the printed f at x.

        :math:`f^{(n)} = u x^{-n} e^{-zu} \sum_j a_{nj} (zu)^j`, from
        :math:`x\,du/dx = -(1+\beta)u`.
        """
        power = 1 + as_number(self.beta, self.numbers)
        u = self.numbers.mpf(x) ** -power
        v = self.numbers.mpf(self.z) * u
        polynomial = self.numbers.zero
        for coefficient in reversed(_coefficients(self.beta, order)):
            polynomial = polynomial * v + as_number(coefficient, self.numbers)
        return self.scale * u * self.numbers.exp(-v) * polynomial / self.numbers.mpf(x) ** order


@lru_cache(maxsize=64)
def _coefficients(beta: Fraction, order: int) -> tuple[Fraction, ...]:
    row = [Fraction(1)]
    for n in range(order):
        following = [Fraction(0)] * (len(row) + 1)
        for j, a in enumerate(row):
            following[j] -= a * ((1 + beta) * (j + 1) + n)
            following[j + 1] += a * (1 + beta)
        row = following
    return tuple(row)


def grid(
    numbers: Any, betas: tuple[Fraction, ...], sizes: tuple[int, ...], zs: tuple[str, ...]
) -> Iterator[PowerLawSum]:
    """Yield all combinations."""
    for beta in betas:
        for L in sizes:
            for z in zs:
                yield PowerLawSum(numbers, beta, L, z)


# -- local exponents ---------------------------------------------------------------------------

_STEP = 0.02
_NEAR = 0.2


def exponent_in_time(law: PowerLawSum) -> Callable[[], Any]:
    """-d ln ε_g/d ln α of the engine's sum of exponentials, for a lazy value."""

    def value() -> Any:
        numbers, z, power = law.numbers, law.numbers.mpf(law.z), 1 + law.names["beta"]
        terms = law.terms()
        rates = (z * numbers.mpf(k) ** -power for k in range(1, law.L + 1))
        slope = numbers.fsum(rate * term for rate, term in zip(rates, terms, strict=True))
        return slope / numbers.fsum(terms)

    return value


def window_length(beta: Any, L: int) -> float:
    """ln(last/first time) of the longest stretch with an exponent within a fifth of β/(1+β).

    Args:
        beta: β.
        L: Number of eigenvalues.
    """
    power = 1.0 + float(beta)
    u = np.arange(1, L + 1, dtype=np.float64) ** -power
    expected = float(beta) / power
    longest = current = 0
    for log_z in np.arange(-3.0, power * np.log(L) + 1.0, _STEP):
        z = np.exp(log_z)
        terms = u * np.exp(-z * u)
        near = abs(z * np.sum(u * terms) / np.sum(terms) / expected - 1.0) < _NEAR
        current = current + 1 if near else 0
        longest = max(longest, current)
    return _STEP * longest
