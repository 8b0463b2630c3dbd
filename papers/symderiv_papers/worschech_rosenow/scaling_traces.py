"""Appendix D: traces of high powers of a power-law covariance."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv.inputs.spectra import power_law
from symderiv_papers.references.power_law import PowerLawSum, eigenvalues

_BETAS: Final = (Fraction(1, 2), Fraction(1), Fraction(3))


def _covariance(numbers: Any, beta: Fraction, L: int, N: int) -> Any:
    """Return a dense matrix with the eigenvalues of the engine's power-law inputs: a reflected
    diagonal.

    The engine's spectrum consists of doubles.
    """
    (component,) = power_law(L, float(beta), N).components
    values = [numbers.mpf(float(x)) for x in component.eigenvalue]
    axis = numbers.matrix([k % 3 + 1 for k in range(N)])
    reflection = numbers.eye(N) - axis * axis.T * (2 / (axis.T * axis)[0])
    return reflection * numbers.diag([values[k % L] for k in range(N)]) * reflection


def _powers(matrix: Any, numbers: Any, highest: int) -> list[Any]:
    found = [numbers.eye(matrix.rows)]
    for _ in range(highest):
        found.append(found[-1] * matrix)
    return found


def traces(numbers: Any) -> Iterator[Point]:
    """N = 2 L; the highest power, L - 1; traces of products of dense covariances."""
    for beta in _BETAS:
        for L in (2, 5):
            N = 2 * L
            powers = _powers(_covariance(numbers, beta, L, N), numbers, L)
            values = eigenvalues(numbers, beta, L)
            names = PowerLawSum(numbers, beta, L, "1").names | {"M": 3}

            def mean(l: int, n: int, m: int, powers: Any = powers, N: int = N) -> Any:
                """B_n Σ^l B_m/N with independent entries of variance 1."""
                if n != m:
                    return numbers.zero
                return numbers.fsum(powers[l][a, a] for a in range(N)) / N

            def trace(l: int, values: Any = values) -> Any:
                return 2 * numbers.fsum(value**l for value in values)

            more = {
                "trace": numbers.fsum(powers[L - 1][a, a] for a in range(N)),
                "Tr": Indexed(trace, (0, L)),
                "mean_T": Indexed(mean, (0, L), (1, 3), (1, 3)),
            }
            yield Point(f"beta = {beta}, N = {N}, L = {L}", names | more)


def long_traces(numbers: Any) -> Iterator[Point]:
    """N = L; the small parameter is 2^(-(1+β)(L-1))."""
    for beta in _BETAS:
        for L in (4, 7, 10):
            values = eigenvalues(numbers, beta, L)
            names = PowerLawSum(numbers, beta, L, "1").names | {"N": L}
            trace = numbers.fsum(value ** (L - 1) for value in values)
            small = 2.0 ** (-(1 + float(beta)) * (L - 1))
            yield Point(f"beta = {beta}, N = L = {L}", names | {"trace": trace}, small, str(beta))


def growth(numbers: Any) -> Iterator[Point]:
    """Yield the factor by which λ_+^(L-1) grows from L to L + 1."""
    for beta in _BETAS:
        tops = [eigenvalues(numbers, beta, L)[0] for L in range(1, 43)]

        def growth(L: int, tops: Any = tops) -> Any:
            return tops[L] ** L / tops[L - 1] ** (L - 1)

        for L in (2, 3, 10, 40):
            values = {"L": L, "M": 1, "growth": Indexed(growth, (1, 41))}
            yield Point(f"beta = {beta}, L = {L}", values)
