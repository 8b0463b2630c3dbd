"""Section 4, power laws in time and in the number of trained components, Eqs. (9)-(11).

Throughout z = 2ηλ_+α. The errors are those of small learning rates, sums over exact eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact, Within
from symderiv_papers.references.power_laws import PowerLawSum, fraction, grid
from symderiv_papers.references.power_windows import exponent_in_time, window_length
from symderiv_papers.worschech_rosenow.linear_points import (
    EXACT,
    partly_trained,
    partly_trained_slower,
)

_SMALL, _HALF, _ONE, _TWO = Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(2)


def _given(value: Any) -> Callable[[], Any]:
    """A value that is known already, where a lazy one is asked for."""
    return lambda: value


def _integrals(numbers: Any) -> Iterator[Point]:
    """Half of the printed f over [1, L], which is the summand of Eq. (8)."""
    for law in grid(numbers, (_SMALL, _ONE, _TWO), (3, 50), ("0.3", "5", "300")):
        yield law.point(integral=_given(law.scale / 2 * law.integral(1, law.L)))


def _middle(numbers: Any, sizes: tuple[int, ...] = (64, 256, 1024)) -> Iterator[PowerLawSum]:
    """The middle of ever longer windows: z = L^((1+β)/2)."""
    for beta in (_ONE, _TWO):
        for L in sizes:
            z = numbers.mpf(L) ** (fraction(numbers, 1 + beta) / 2)
            yield PowerLawSum(numbers, beta, L, str(z))


def half_ends(law: PowerLawSum, first: int = 1, last: int = 0) -> Any:
    """Half of the first and last terms of Eq. (8), Euler and Maclaurin's first correction."""
    terms = law.terms()
    return (terms[first - 1] + terms[(last or law.L) - 1]) / 2


def _early_and_middle(numbers: Any) -> Iterator[Point]:
    laws = list(grid(numbers, (_SMALL, _HALF, _ONE, _TWO), (32, 128), ("0.05", "0.3", "1", "2")))
    for law in [*laws, *_middle(numbers)]:
        yield law.point(half_ends=_given(half_ends(law)))


def _slopes(numbers: Any) -> Iterator[Point]:
    """-d ln ε_g/d ln α in the middle of windows."""
    for law in _middle(numbers):
        small = law.L ** -(float(law.beta) / 2)
        yield law.point(str(law.beta), small, exponent=exponent_in_time(law))


def _slopes_late(numbers: Any) -> Iterator[Point]:
    """The same in the later part of the printed window and at its end."""
    for beta in (_SMALL, _ONE):
        s = fraction(numbers, beta / (1 + beta))
        end = numbers.gamma(1 + s) ** (1 / s) * numbers.mpf(1024) ** fraction(numbers, 1 + beta)
        for part in ("0.01", "0.1", "0.5", "1"):
            law = PowerLawSum(numbers, beta, 1024, str(end * numbers.mpf(part)))
            yield law.point(exponent=exponent_in_time(law))


def _ends(numbers: Any) -> Iterator[Point]:
    """Where the largest direction has decayed by 1/e, and where Γ(s) = z^s/s for z/L^(1+β)."""
    for law in grid(numbers, (_SMALL, _ONE, _TWO), (3, 50), ("1",)):
        names = law.names
        s = fraction(numbers, law.beta / (1 + law.beta))
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


def _lengths(numbers: Any) -> Iterator[Point]:
    for beta in ("0.5", "0.75", "1"):
        for L in (128, 512):
            values = {"beta": numbers.mpf(beta), "L": L, "length": window_length}
            yield Point(f"beta = {beta}, L = {L}", values)


def _frozen_tail(law: PowerLawSum, trained: int) -> Any:
    """Σ over untrained directions of half the printed f at α = 0."""
    start = PowerLawSum(law.numbers, law.beta, law.L, "0")
    return law.scale / 2 * start.total(trained + 1, law.L)


def _partly(numbers: Any) -> Iterator[Point]:
    """Early times, and times at which the last of the trained directions begin to be learned."""
    for beta in (_HALF, _ONE, _TWO):
        for trained in (16, 64, 256):
            last = numbers.mpf(trained) ** fraction(numbers, 1 + beta) / 3
            for z in ("0.05", "1", str(last)):
                law = PowerLawSum(numbers, beta, 4 * trained, z)
                start = PowerLawSum(numbers, beta, law.L, "0")
                error = law.scale / 2 * law.total(1, trained) + _frozen_tail(law, trained)
                allowed = half_ends(law, 1, trained) + half_ends(start, trained)
                yield law.point(N_l=_given(trained), eps_g=_given(error), half_ends=_given(allowed))


def _partly_integrals(numbers: Any) -> Iterator[Point]:
    """Integrals in place of both sums of Eq. (10)."""
    for law in grid(numbers, (_SMALL, _ONE, _TWO), (12, 60), ("0.3", "5", "300")):
        trained = law.L // 3
        start = PowerLawSum(numbers, law.beta, law.L, "0")
        both = law.integral(1, trained) + start.integral(trained, law.L)
        yield law.point(N_l=_given(trained), eps_g=_given(law.scale / 2 * both))


def _asymptotes(numbers: Any) -> Iterator[Point]:
    for beta in (_SMALL, _ONE, _TWO):
        for trained in (16, 64, 256):
            law = PowerLawSum(numbers, beta, 8 * trained, "0")
            error = _frozen_tail(law, trained)
            yield law.point(str(beta), 1 / trained, N_l=_given(trained), eps_g=_given(error))


def _two_exponents(numbers: Any) -> Iterator[Point]:
    """-d ln ε_g/d ln N_l at late times, between N_l and 2 N_l, and -d ln ε_g/d ln α; L = N_l²."""
    for beta in (_HALF, _ONE, _TWO):
        for trained in (16, 32, 64):
            L = trained**2
            z = numbers.mpf(L) ** (fraction(numbers, 1 + beta) / 2)
            law = PowerLawSum(numbers, beta, L, str(z))
            ratio = _frozen_tail(law, trained) / _frozen_tail(law, 2 * trained)
            small = float(trained) ** -min(float(beta), 1.0)
            yield law.point(
                str(beta),
                small,
                exponent_in_N_l=_given(numbers.log(ratio) / numbers.log(2)),
                exponent_in_alpha=exponent_in_time(law),
            )


_FRONT: Final = (
    "lambda_plus*(1 + sigma_J**2)/(2*L)*(2*eta*lambda_plus*alpha)**(-beta/(1 + beta))/(1 + beta)"
)
_LATER: Final = "Gamma(beta/(1 + beta), 2*eta*lambda_plus*alpha)"
_NINE: Final = (
    f"{_FRONT}*(Gamma(beta/(1 + beta), 2*eta*lambda_plus*alpha/L**(beta + 1)) - {_LATER})"
)
_TRAINED: Final = (
    f"{_FRONT}*(Gamma(beta/(1 + beta), 2*eta*lambda_plus*alpha/N_l**(beta + 1)) - {_LATER})"
)
_FROZEN: Final = "(1 + sigma_J**2)/2*lambda_plus/(beta*L)*(1/N_l**beta - 1/L**beta)"
_TEN: Final = (
    "eps_g == (1 + sigma_J**2)/(2*L)*(Sum(lam[k]*exp(-2*eta*lam[k]*alpha), (k, 1, N_l))"
    " + Sum(lam[k], (k, N_l + 1, L)))"
)
#: Eq. (9), and Eq. (11) as printed and corrected.
NINE: Final = f"epsilon_g == {_NINE}"
ELEVEN: Final = f"eps_g == {_FROZEN} + {_NINE}"
ELEVEN_CORRECTED: Final = f"eps_g == {_FROZEN} + {_TRAINED}"
_UPPER: Final = "2*eta*lambda_plus*alpha/L**(1 + beta)"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "9",
        f"integral == {_NINE}",
        _integrals,
        Exact(),
        part="integral",
        given="the integral of the summand of Eq. (8) from 1 to L in place of the sum",
    ),
    Claim(
        "9",
        NINE,
        _early_and_middle,
        Within(1.4, relative_to="half_ends"),
        regime="eta -> 0, z = 2 eta lambda_+ alpha up to 2 and in the middle of the window, "
        "beta = 0.2 ... 2, L = 32 ... 1024; errors in units of half of the first and last terms "
        "of the sum",
        note="The error is Euler and Maclaurin's first correction. At z = 1, the start of the "
        "window, the integral is too small by 7 % for beta = 0.2, 21 % for beta = 1 and 37 % for "
        "beta = 2; in the middle of the window it is right but for L^-(1+beta/2).",
    ),
    Claim(
        "after 9",
        "exponent == beta/(1 + beta)",
        _slopes,
        Converges(1.0),
        part="exponent",
        regime="eta -> 0, the middle of the window, z = L^((1+beta)/2); the small parameter is "
        "L^(-beta/2)",
    ),
    Claim(
        "after 9",
        "exponent == beta/(1 + beta)",
        _slopes_late,
        Within(0.02),
        part="exponent up to the end",
        regime="from a hundredth of the window's end to its end, L = 1024",
        corrected=f"exponent == beta/(1 + beta) + ({_UPPER})**(beta/(1 + beta))*exp(-{_UPPER})"
        f"/Gamma(beta/(1 + beta), {_UPPER})",
        note="The window's end is where the correction is as large as the power law itself. "
        "There the local exponent is 3 (beta = 1) to 8 times (beta = 0.2) beta/(1+beta), and at a "
        "hundredth of it still 1.1 to 1.9 times. The power law needs z well below L^(1+beta), for "
        "small beta by many powers of ten.",
        in_words=True,
    ),
    Claim(
        "after 9",
        "alpha_start == 1/(2*eta*lambda_plus)",
        _ends,
        Exact(),
        part="start of the window",
        regime="the time at which the largest direction has decayed by 1/e",
    ),
    Claim(
        "after 9",
        "alpha_end == 1/(2*eta*lambda_plus)*Gamma((2*beta + 1)/(1 + beta))**((1 + beta)/beta)"
        "*L**(1 + beta)",
        _ends,
        Exact(),
        part="end of the window",
        regime="the time at which Gamma(s) - z^s/s, the first gamma function of Eq. (9) for a "
        "small second argument, vanishes",
    ),
    Claim(
        "after 9",
        "length(beta, 2*L)/length(beta, L) > 1",
        _lengths,
        Exact(),
        part="longer with L",
        regime="ln of the ratio of last and first time at which the local exponent is within a "
        "fifth of beta/(1+beta); beta = 0.5 ... 1, L = 128 ... 1024",
        in_words=True,
    ),
    Claim(
        "after 9",
        "length(5/4*beta, L)/length(beta, L) > 1",
        _lengths,
        Exact(),
        part="longer with beta",
        regime="the same",
        in_words=True,
    ),
    Claim(
        "10",
        _TEN,
        partly_trained,
        EXACT,
        part="first order",
        regime="without the terms of order eta^2; N_l = 1 ... L, L = 2 ... 6",
    ),
    Claim(
        "10",
        _TEN,
        partly_trained_slower,
        Converges(1.0),
        regime="eta -> 0 at fixed eta*alpha; N_l = 1 ... L-1",
    ),
    Claim(
        "11",
        ELEVEN,
        _partly_integrals,
        Exact(),
        part="integrals",
        given="integrals from 1 to N_l and from N_l to L in place of the sums of Eq. (10)",
        corrected=ELEVEN_CORRECTED,
        note="N_l^(beta+1) must stand in the first gamma function, not L^(beta+1).",
    ),
    Claim(
        "11",
        ELEVEN,
        _partly,
        Within(1.4, relative_to="half_ends"),
        regime="eta -> 0, z = 0.05, 1 and N_l^(1+beta)/3, L = 4 N_l; errors in units of half of "
        "the first and last terms of both sums",
        corrected=ELEVEN_CORRECTED,
        note="The integral over the trained directions ends at N_l: Eq. (9) with N_l^(beta+1) in "
        "the first gamma function. With Eq. (9) itself the directions from N_l to L count twice.",
    ),
    Claim(
        "after 11",
        f"eps_g == {_FROZEN}",
        _asymptotes,
        Converges(1.0),
        part="asymptote",
        printed=0,
        regime="eta -> 0, L = 8 N_l; the small parameter is 1/N_l",
    ),
    Claim(
        "after 11",
        "exponent_in_N_l == beta",
        _two_exponents,
        Converges(1.0),
        part="exponent",
        printed=1,
        regime="diagonal covariance, L = N_l^2; the small parameter is N_l^-min(beta, 1)",
    ),
    Claim(
        "after 11",
        "exponent_in_N_l - exponent_in_alpha == beta - beta/(1 + beta)",
        _two_exponents,
        Converges(1.0),
        part="two exponents",
        printed=1,
        regime="the same; the exponent in time at z = L^((1+beta)/2)",
    ),
)
