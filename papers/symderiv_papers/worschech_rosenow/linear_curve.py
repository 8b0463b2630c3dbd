"""Section 4, power laws in time and in the number of trained components, Eqs. (9)-(11).

Throughout z = 2ηλ_+α. The errors are those of small learning rates, sums over exact eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from symderiv_ledger.claims.claim import Point

from symderiv_papers.references.exact import as_number
from symderiv_papers.references.power_law import PowerLawSum, exponent_in_time, grid, window_length

_SMALL, _HALF, _ONE, _TWO = Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(2)


def _given(value: Any) -> Callable[[], Any]:
    """Return a value that is known already, where a lazy one is asked for."""
    return lambda: value


def integrals(numbers: Any) -> Iterator[Point]:
    """Yield half of the printed f over [1, L], which is the summand of Eq. (8)."""
    for law in grid(numbers, (_SMALL, _ONE, _TWO), (3, 50), ("0.3", "5", "300")):
        yield law.point(integral=_given(law.scale / 2 * law.integral(1, law.L)))


def _middle(numbers: Any, sizes: tuple[int, ...] = (64, 256, 1024)) -> Iterator[PowerLawSum]:
    """Yield the middle of ever longer windows: z = L^((1+β)/2)."""
    for beta in (_ONE, _TWO):
        for L in sizes:
            z = numbers.mpf(L) ** (as_number(1 + beta, numbers) / 2)
            yield PowerLawSum(numbers, beta, L, str(z))


def half_ends(law: PowerLawSum, first: int = 1, last: int = 0) -> Any:
    """Return half of the first and last terms of Eq. (8), Euler and Maclaurin's first
    correction.
    """
    terms = law.terms()
    return (terms[first - 1] + terms[(last or law.L) - 1]) / 2


def early_and_middle(numbers: Any) -> Iterator[Point]:
    laws = list(grid(numbers, (_SMALL, _HALF, _ONE, _TWO), (32, 128), ("0.05", "0.3", "1", "2")))
    for law in [*laws, *_middle(numbers)]:
        yield law.point(half_ends=_given(half_ends(law)))


def slopes(numbers: Any) -> Iterator[Point]:
    """-d ln ε_g/d ln α in the middle of windows."""
    for law in _middle(numbers):
        small = law.L ** -(float(law.beta) / 2)
        yield law.point(str(law.beta), small, exponent=exponent_in_time(law))


def slopes_late(numbers: Any) -> Iterator[Point]:
    """Yield the same in the later part of the printed window and at its end."""
    for beta in (_SMALL, _ONE):
        s = as_number(beta / (1 + beta), numbers)
        end = numbers.gamma(1 + s) ** (1 / s) * numbers.mpf(1024) ** as_number(1 + beta, numbers)
        for part in ("0.01", "0.1", "0.5", "1"):
            law = PowerLawSum(numbers, beta, 1024, str(end * numbers.mpf(part)))
            yield law.point(exponent=exponent_in_time(law))


def ends(numbers: Any) -> Iterator[Point]:
    """Yield where the largest direction has decayed by 1/e, and where Γ(s) = z^s/s for
    z/L^(1+β).
    """
    for law in grid(numbers, (_SMALL, _ONE, _TWO), (3, 50), ("1",)):
        names = law.names
        s = as_number(law.beta / (1 + law.beta), numbers)
        logarithm = numbers.findroot(
            lambda t, s=s: numbers.gamma(s) - numbers.exp(s * t) / s, (-0.5, 0.1)
        )
        last = numbers.exp(logarithm) * names["L"] ** (1 + names["beta"])
        # the first term of the sum as a function of time is known from two of its values
        decayed = law.terms()[0]
        start = PowerLawSum(numbers, law.beta, law.L, "0").terms()[0]
        more = {
            "alpha_start": names["alpha"] / numbers.log(start / decayed),
            "alpha_end": last / (2 * names["eta"] * names["lambda_plus"]),
        }
        yield Point(f"beta = {law.beta}, L = {law.L}", names | more)


def lengths(numbers: Any) -> Iterator[Point]:
    for beta in ("0.5", "0.75", "1"):
        for L in (128, 512):
            values = {"beta": numbers.mpf(beta), "L": L, "length": window_length}
            yield Point(f"beta = {beta}, L = {L}", values)


def _frozen_tail(law: PowerLawSum, trained: int) -> Any:
    """Σ over untrained directions of half the printed f at α = 0."""
    start = PowerLawSum(law.numbers, law.beta, law.L, "0")
    return law.scale / 2 * start.total(trained + 1, law.L)


def partly(numbers: Any) -> Iterator[Point]:
    """Early times, and times at which the last of the trained directions begin to be learned."""
    for beta in (_HALF, _ONE, _TWO):
        for trained in (16, 64, 256):
            last = numbers.mpf(trained) ** as_number(1 + beta, numbers) / 3
            for z in ("0.05", "1", str(last)):
                law = PowerLawSum(numbers, beta, 4 * trained, z)
                start = PowerLawSum(numbers, beta, law.L, "0")
                error = law.scale / 2 * law.total(1, trained) + _frozen_tail(law, trained)
                allowed = half_ends(law, 1, trained) + half_ends(start, trained)
                yield law.point(N_l=_given(trained), eps_g=_given(error), half_ends=_given(allowed))


def partly_integrals(numbers: Any) -> Iterator[Point]:
    """Yield integrals in place of both sums of Eq. (10)."""
    for law in grid(numbers, (_SMALL, _ONE, _TWO), (12, 60), ("0.3", "5", "300")):
        trained = law.L // 3
        start = PowerLawSum(numbers, law.beta, law.L, "0")
        both = law.integral(1, trained) + start.integral(trained, law.L)
        yield law.point(N_l=_given(trained), eps_g=_given(law.scale / 2 * both))


def asymptotes(numbers: Any) -> Iterator[Point]:
    for beta in (_SMALL, _ONE, _TWO):
        for trained in (16, 64, 256):
            law = PowerLawSum(numbers, beta, 8 * trained, "0")
            error = _frozen_tail(law, trained)
            yield law.point(str(beta), 1 / trained, N_l=_given(trained), eps_g=_given(error))


def two_exponents(numbers: Any) -> Iterator[Point]:
    """-d ln ε_g/d ln N_l at late times, between N_l and 2 N_l, and -d ln ε_g/d ln α; L = N_l²."""
    for beta in (_HALF, _ONE, _TWO):
        for trained in (16, 32, 64):
            L = trained**2
            z = numbers.mpf(L) ** (as_number(1 + beta, numbers) / 2)
            law = PowerLawSum(numbers, beta, L, str(z))
            ratio = _frozen_tail(law, trained) / _frozen_tail(law, 2 * trained)
            small = float(trained) ** -min(float(beta), 1.0)
            yield law.point(
                str(beta),
                small,
                exponent_in_N_l=_given(numbers.log(ratio) / numbers.log(2)),
                exponent_in_alpha=exponent_in_time(law),
            )
