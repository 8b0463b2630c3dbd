"""The matrix B = a A_1 + ε U of moments, its eigenvectors and S, without its companion form.

In the eigenspaces of the covariance B is -a diag(ρ) + (ε/L) ρ ρᵀ, which is symmetric. Eigenvalues,
eigenvectors, weights and the error are taken from there, so that none of the recursions of the
moment form is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.analysis.linear.system import linear_system
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.power_law import eigenvalues

__all__ = [
    "Companion",
    "companions",
]

# Beyond the digits asked for: matrices of moments are close to singular.
_GUARD = 40

#: Spectra with mean 1 that are no power laws.
_SPECTRA = (
    (Fraction(3, 2), Fraction(1, 2)),
    (Fraction(9, 5), Fraction(4, 5), Fraction(2, 5)),
    (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5)),
    (Fraction(5, 2), Fraction(5, 4), Fraction(3, 4), Fraction(3, 8), Fraction(1, 8)),
)


@dataclass(frozen=True)
class Companion:
    """One case: a spectrum with mean 1, a, ε, and a time.

    Attributes:
        numbers: The arithmetic of the claim.
        spectrum: λ_k, or L and β of a power law.
        a: a.
        epsilon: ε.
    """

    numbers: Any
    spectrum: tuple[Fraction, ...] | tuple[int, Fraction]
    a: Fraction
    epsilon: Fraction
    time: Fraction = Fraction(13, 10)
    student_std: Fraction = Fraction(1, 2)

    @cached_property
    def inner(self) -> Any:
        """Numbers with more digits, for the references."""
        with arithmetic(self.numbers.dps + _GUARD, "mpmath") as found:
            return found

    @cached_property
    def rho(self) -> list[Any]:
        """λ_1 … λ_L."""
        if isinstance(self.spectrum[0], int):
            L, beta = self.spectrum
            return eigenvalues(self.inner, Fraction(beta), int(L))
        return [as_number(value, self.inner) for value in self.spectrum]

    @property
    def L(self) -> int:
        """Number of eigenvalues."""
        return len(self.rho)

    @cached_property
    def T(self) -> list[Any]:
        """T^(0) … T^(L+1), averaged over teachers."""
        return [self.inner.fsum(value**l for value in self.rho) / self.L for l in range(self.L + 2)]

    @cached_property
    def closure(self) -> list[Any]:
        """c_0 … c_L."""
        return [self.inner.one * c for c in [*closure_coefficients(self.rho), 1]]

    @cached_property
    def modes(self) -> tuple[list[Any], Any]:
        """Eigenvalues λ_{B,k} and orthonormal eigenvectors (columns) in the eigenspaces."""
        inner, L = self.inner, self.L
        a, epsilon = as_number(self.a, inner), as_number(self.epsilon, inner)
        matrix = inner.matrix(L, L)
        for j in range(L):
            for k in range(L):
                matrix[j, k] = epsilon * self.rho[j] * self.rho[k] / L
            matrix[j, j] -= a * self.rho[j]
        values, vectors = inner.eigsy(matrix)
        return list(values), vectors

    @cached_property
    def vectors(self) -> Any:
        """V_B: eigenvectors of B in moments as columns, first entry 1."""
        _, modes = self.modes
        found = self.inner.matrix(self.L, self.L)
        for k in range(self.L):
            first = self.inner.fsum(modes[j, k] for j in range(self.L))
            for i in range(self.L):
                moment = self.inner.fsum(self.rho[j] ** i * modes[j, k] for j in range(self.L))
                found[i, k] = moment / first
        return found

    @cached_property
    def weights(self) -> list[Any]:
        """b_k: equal deviations in all eigenspaces, whose moments are T^(l), in eigenvectors."""
        _, modes = self.modes
        sums = [self.inner.fsum(modes[j, k] for j in range(self.L)) for k in range(self.L)]
        return [s * s / self.L for s in sums]

    @cached_property
    def matrices(self) -> dict[str, Any]:
        """A_1, U, and the engine's generator of the deviation's moments at η = ε."""
        inner, L = self.inner, self.L
        A, U, generator = (inner.matrix(L, L) for _ in range(3))
        shift, source = linear_system().moments(as_number(self.epsilon, inner))
        for i in range(L):
            if i + 1 < L:
                A[i, i + 1] = -inner.one
                generator[i, i + 1] += shift
            U[i, 1] = self.T[i + 1]
            generator[i, 1] += source * self.T[i + 1]
            A[L - 1, i] = self.closure[i]
            generator[L - 1, i] -= shift * self.closure[i]
        return {"A": A, "U": U, "generator": generator}

    @cached_property
    def matrix(self) -> Any:
        """B."""
        known, inner = self.matrices, self.inner
        return as_number(self.a, inner) * known["A"] + as_number(self.epsilon, inner) * known["U"]

    def residual(self, x: Any) -> list[Any]:
        """B v - x v for the v with first entry 1 that its first L - 1 rows send to zero."""
        inner, L = self.inner, self.L
        shifted = self.matrix - x * inner.eye(L)
        left, right = inner.matrix(L - 1, L - 1), inner.matrix(L - 1, 1)
        for i in range(L - 1):
            right[i] = -shifted[i, 0]
            for j in range(L - 1):
                left[i, j] = shifted[i, j + 1]
        tail = inner.lu_solve(left, right)
        v = inner.matrix([inner.one, *tail])
        return list(shifted * v)

    @cached_property
    def polynomial(self) -> list[Any]:
        """c_{B,0} … c_{B,L}: the last entry of the residual as a polynomial, by interpolation."""
        inner, L = self.inner, self.L
        table, right = inner.matrix(L + 1, L + 1), inner.matrix(L + 1, 1)
        for i in range(L + 1):
            x = inner.mpf(2 * i - L) / 3
            right[i] = self.residual(x)[-1]
            for j in range(L + 1):
                table[i, j] = x**j
        return list(inner.lu_solve(table, right))

    @cached_property
    def vandermonde(self) -> Any:
        """Powers of the λ_{B,k}, one eigenvalue per column."""
        values, _ = self.modes
        powers = self.inner.matrix(self.L, self.L)
        for i in range(self.L):
            for k in range(self.L):
                powers[i, k] = values[k] ** i
        return powers

    @cached_property
    def similarity(self) -> Any:
        """S, which turns the Vandermonde matrix into V_B."""
        return self.vectors * self.inner.inverse(self.vandermonde)

    @cached_property
    def error(self) -> Any:
        """⟨ε_g⟩ at the learning rate ε, by the exponential of the engine's linear system."""
        inner, L = self.inner, self.L
        eta, weight = as_number(self.epsilon, inner), inner.one / L
        terms = [linear_system().numbers(eta, value, weight) for value in self.rho]
        matrix = inner.matrix(L, L)
        for j, (decay, source, _) in enumerate(terms):
            for k, (_, _, readout) in enumerate(terms):
                matrix[j, k] = source * readout
            matrix[j, j] -= decay
        start = 1 + as_number(self.student_std, inner) ** 2
        later = inner.expm(matrix * as_number(self.time, inner)) * inner.matrix([start] * L)
        readouts = [readout for _, _, readout in terms]
        total = inner.fsum(c * x for c, x in zip(readouts, later, strict=True))
        return inner.mpf(linear_system().factor) * total

    def point(self) -> Point:
        """Return the case with all names that statements use; η is ε."""
        numbers, L = self.numbers, self.L

        def list_of(values: Sequence[Any], first: int) -> Indexed:
            found = [numbers.mpf(value) for value in values]
            return Indexed(found, (first, first + len(found) - 1))

        def square(matrix: Any) -> Any:
            return numbers.matrix([[numbers.mpf(matrix[i, j]) for j in range(matrix.cols)]
                                   for i in range(matrix.rows)])  # fmt: skip

        def entries(matrix: Any) -> Indexed:
            return Indexed(square(matrix), (1, L), (1, L))

        epsilon = as_number(self.epsilon, numbers)
        known = {
            "L": L, "M": 1, "K": 1, "N": 3 * L, "a": as_number(self.a, numbers),
            "epsilon": epsilon, "eta": epsilon, "alpha": as_number(self.time, numbers),
            "sigma_J": as_number(self.student_std, numbers),
        }  # fmt: skip
        inverse = self.inner.inverse
        lazy = {
            "lambda_": lambda: list_of(sorted(self.rho, reverse=True), 1),
            "T": lambda: list_of(self.T, 0),
            "c": lambda: list_of(self.closure, 0),
            "c_B": lambda: list_of(self.polynomial, 0),
            "lambda_B": lambda: list_of(self.modes[0], 1),
            "b": lambda: list_of(self.weights, 1),
            "v_B": lambda: entries(self.vectors),
            "V_inverse": lambda: entries(inverse(self.vectors)),
            "rows": lambda: Indexed(self._rows(), (1, L), (1, L)),
            "S": lambda: entries(self.similarity),
            "S_inverse": lambda: entries(inverse(self.similarity)),
            "SV_inverse": lambda: entries(inverse(self.similarity * self.vandermonde)),
            "B_2": lambda: entries(inverse(self.similarity) * self.matrix * self.similarity),
            "epsilon_g": lambda: numbers.mpf(self.error),
            "A_1": lambda: square(self.matrices["A"]),
            "U": lambda: square(self.matrices["U"]),
            "generator": lambda: square(self.matrices["generator"]),
            "V_4": lambda: square(self.vectors),
            "exponential": self._exponential,
            "exponentials": lambda: numbers.diag(
                [numbers.exp(epsilon * numbers.mpf(x) * known["alpha"]) for x in self.modes[0]]
            ),
        }
        label = f"eigenvalues {', '.join(numbers.nstr(x, 4) for x in self.rho)}"
        return Point(f"{label}, a = {self.a}, epsilon = {self.epsilon}", Values(known, lazy))

    def _exponential(self) -> Any:
        """exp(η B α) by its series."""
        numbers, inner = self.numbers, self.inner
        scaled = self.matrix * (as_number(self.epsilon, inner) * as_number(self.time, inner))
        found = inner.expm(scaled)
        return numbers.matrix([[numbers.mpf(found[i, j]) for j in range(self.L)]
                               for i in range(self.L)])  # fmt: skip

    def _rows(self) -> list[list[Any]]:
        """(B v_k - λ_{B,k} v_k)_l as rows l, columns k; zero up to rounding of the guard digits."""
        values, _ = self.modes
        product = self.matrix * self.vectors
        return [
            [
                self.numbers.mpf(product[i, k] - values[k] * self.vectors[i, k])
                for k in range(self.L)
            ]
            for i in range(self.L)
        ]


def companions(
    numbers: Any,
    pairs: Sequence[tuple[Fraction, Fraction]],
    smallest: int = 2,
) -> Iterator[Point]:
    """Spectra with and without a power law, L = 2 … 6, with each pair of a and ε.

    Args:
        numbers: The arithmetic.
        pairs: Values of a and ε.
        smallest: Smallest L.
    """
    spectra: list[Any] = [*_SPECTRA, (6, Fraction(1, 2)), (3, Fraction(2))]
    for place, spectrum in enumerate(spectra):
        a, epsilon = pairs[place % len(pairs)]
        case = Companion(numbers, spectrum, a, epsilon)
        if smallest <= case.L:
            yield case.point()
