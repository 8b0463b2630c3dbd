"""How the escape time grows with M and shrinks with L, and how T^(2) and D^(2) grow with L."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed

from symderiv_papers.references.homogeneous import Committee
from symderiv_papers.worschech_rosenow.setup_definitions import study_of

__all__ = [
    "large",
    "spectra",
    "times",
]

_COPIES: Final = 3


def _spectrum(L: int, beta: Fraction, numbers: Any) -> list[Any]:
    """Distinct eigenvalues of mean 1 that fall like 1/l^(1 + beta)."""
    exponent = 1 + numbers.mpf(beta.numerator) / beta.denominator
    shape = [1 / numbers.mpf(l) ** exponent for l in range(1, L + 1)]
    scale = L / numbers.fsum(shape)
    return [scale * x for x in shape]


def _moments(L: int, beta: Fraction, numbers: Any) -> tuple[Any, Any]:
    """Return mean of T^(2) and standard deviation of D^(2) for two Gaussian teachers, N = 3 L."""
    rho = _spectrum(L, beta, numbers)
    mean = numbers.fsum(x**2 for x in rho) / L
    variance = numbers.fsum(x**4 for x in rho) / (L * L * _COPIES)
    return mean, numbers.sqrt(variance)


def _mean_over_teachers(L: int, beta: Fraction) -> float:
    """T^(2), averaged over Gaussian teachers by the engine (``draw = "mean"``)."""
    from symderiv.problem.initial import initial

    data = {
        "model": "power-law",
        "dimension": _COPIES * L,
        "distinct_eigenvalues": L,
        "exponent": float(beta),
    }
    state = initial(study_of(2, 2, data=data, initial={"draw": "mean", "student_std": 1.0})).state
    # t_k is of second order in the eigenvalue already
    return float(state.weight @ state.teacher_overlap[:, 0, 0])


def spectra(numbers: Any) -> Iterator[Point]:
    for L, beta in ((4, Fraction(1, 2)), (7, Fraction(1)), (10, Fraction(9, 4))):
        rho = _spectrum(L, beta, numbers)
        yield Point(
            f"L = {L}, N = {_COPIES * L}, beta = {beta}",
            {
                "L": L,
                "N": _COPIES * L,
                "M": 2,
                "beta": numbers.mpf(beta.numerator) / beta.denominator,
                "lambda_plus": rho[0],
                "lambda_": Indexed([x for x in rho for _ in range(_COPIES)], (1, _COPIES * L)),
                "T2": numbers.mpf(_mean_over_teachers(L, beta)),
            },
        )


def large(numbers: Any) -> Iterator[Point]:
    for beta in (Fraction(1, 2), Fraction(1), Fraction(7, 4)):
        for L in (200, 400, 800):
            mean, deviation = _moments(L, beta, numbers)
            twice, deviation_of_twice = _moments(2 * L, beta, numbers)
            yield Point(
                f"L = {L}, beta = {beta}",
                {
                    "L": L,
                    "beta": numbers.mpf(beta.numerator) / beta.denominator,
                    "lambda_plus": _spectrum(L, beta, numbers)[0],
                    "T2": mean,
                    "T2_at_2L": twice,
                    "D2": deviation,
                    "D2_at_2L": deviation_of_twice,
                },
                1.0 / L,
                f"beta = {beta}",
            )


def _escape_time(M: int, second_moment: Any, numbers: Any) -> Any:
    """Return the time for orthogonal teachers with T^(1) = 1 at learning rate 1, by the engine's
    closed form.
    """
    one = (Fraction(1),)
    response = Committee(M, one, one, one, (Fraction(0),)).plateau_rate("teacher_response")
    return -1 / (numbers.mpf(response) * second_moment)


def times(numbers: Any) -> Iterator[Point]:
    beta = Fraction(1)

    def tau(eta: Any) -> Callable[[int, int], Any]:
        def of(M: int, L: int) -> Any:
            return _escape_time(M, _moments(L, beta, numbers)[0], numbers) / eta

        return of

    for size in (64, 128, 256):
        eta = numbers.mpf(1) / 3
        known = {"M": size, "L": size // 2, "eta": eta, "tau": tau(eta)}
        known["T2"] = lambda L: _moments(L, beta, numbers)[0]
        yield Point(f"M = {size}, L = {size // 2}, beta = 1", known, 1.0 / size)
