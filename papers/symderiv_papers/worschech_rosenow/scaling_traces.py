"""Appendix D: traces of high powers of a power-law covariance."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.data.spectra import power_law
from symderiv.verification.arithmetic import Indexed
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact
from symderiv_papers.references.power_laws import PowerLawSum, eigenvalues

_BETAS: Final = (Fraction(1, 2), Fraction(1), Fraction(3))


def _covariance(numbers: Any, beta: Fraction, L: int, N: int) -> Any:
    """A dense matrix with the eigenvalues of the engine's power-law inputs: a reflected diagonal.

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


def _traces(numbers: Any) -> Iterator[Point]:
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


def _long_traces(numbers: Any) -> Iterator[Point]:
    """N = L; the small parameter is 2^(-(1+β)(L-1))."""
    for beta in _BETAS:
        for L in (4, 7, 10):
            values = eigenvalues(numbers, beta, L)
            names = PowerLawSum(numbers, beta, L, "1").names | {"N": L}
            trace = numbers.fsum(value ** (L - 1) for value in values)
            small = 2.0 ** (-(1 + float(beta)) * (L - 1))
            yield Point(f"beta = {beta}, N = L = {L}", names | {"trace": trace}, small, str(beta))


def _growth(numbers: Any) -> Iterator[Point]:
    """The factor by which λ_+^(L-1) grows from L to L + 1."""
    for beta in _BETAS:
        tops = [eigenvalues(numbers, beta, L)[0] for L in range(1, 43)]

        def growth(L: int, tops: Any = tops) -> Any:
            return tops[L] ** L / tops[L - 1] ** (L - 1)

        for L in (2, 3, 10, 40):
            values = {"L": L, "M": 1, "growth": Indexed(growth, (1, 41))}
            yield Point(f"beta = {beta}, L = {L}", values)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "appendix D",
        "trace == lambda_plus**(L - 1)*Sum(1/i**((1 + beta)*(L - 1)), (i, 1, L))",
        _traces,
        Exact(digits=22, lost=10),
        part="trace",
        printed=0,
        regime="the power l = L - 1, N = 2 L",
        corrected="trace == N/L*lambda_plus**(L - 1)*Sum(1/i**((1 + beta)*(L - 1)), (i, 1, L))",
        note="Every eigenvalue occurs N/L times.",
        where="trace is that of the power L - 1 of the covariance",
    ),
    Claim(
        "appendix D",
        "trace == lambda_plus**(L - 1)",
        _long_traces,
        Converges(1.0),
        part="largest eigenvalue alone",
        printed=0,
        regime="N = L, the power l = L - 1; the small parameter is 2^(-(1+beta)(L-1))",
        equal=(("L", "N"),),
        where="trace is that of the power L - 1 of the covariance",
    ),
    Claim(
        "appendix D",
        "mean_T[l, n, m] == delta(n, m)*1/N*Tr[l]",
        _traces,
        Exact(digits=22, lost=10),
        ranges="l = 0..L, n = 1..M, m = 1..M",
        part="mean over teachers",
        printed=1,
        where="Tr[l] is the trace of the l-th power of the covariance",
    ),
    Claim(
        "appendix D",
        "growth[L + 1] > growth[L]",
        _growth,
        Exact(),
        part="growth",
        printed=2,
        regime="faster than any exponential: the factor from L to L + 1 grows itself",
        where="growth[L] is lambda_+^(L-1) for L + 1 over that for L",
    ),
)
