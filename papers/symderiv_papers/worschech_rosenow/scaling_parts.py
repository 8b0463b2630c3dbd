"""Equations 73, 74 and 79: what a partly trained network ends in, and when, as integrals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv.verification.arithmetic import extended
from symderiv.verification.bounds import Bound
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact, Within
from symderiv_papers.references.power_laws import PowerLawSum

_BETAS: Final = (Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3))


def _case(
    numbers: Any, beta: Fraction, L: int, trained: int, z: str, parameter: float | None = None
) -> Point:
    """The first ``trained`` of L directions are trained; errors from the engine's terms."""
    law, start = PowerLawSum(numbers, beta, L, z), PowerLawSum(numbers, beta, L, "0")
    front = law.scale / 2

    def integral() -> Any:
        return front * start.integral(trained, L)

    def end() -> Any:
        return front * start.total(trained + 1, L)

    def from_trained() -> Any:
        return front * start.total(trained, L)

    def error() -> Any:
        return front * (law.total(1, trained) + start.total(trained + 1, L))

    point = law.point(
        f"beta = {beta}",
        parameter,
        epsilon_asymp=end,
        epsilon_g=error,
        S=lambda: 2 * end() / (1 + law.names["sigma_J"] ** 2),
        frozen=lambda: 2 * integral() / (1 + law.names["sigma_J"] ** 2),
        integrals=lambda: front * law.integral(1, trained) + integral(),
        difference=lambda: abs(end() - integral()),
        excess_from_trained=lambda: from_trained() - integral(),
    )
    label = f"beta = {beta}, L = {L}, N_l = {trained}, z = {z}"
    values = extended(point.values, {"N_l": trained})
    return Point(label, values, parameter, f"beta = {beta}")


def _any(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for L, trained in ((5, 2), (300, 40)):
            yield _case(numbers, beta, L, trained, "0")


def _many(numbers: Any) -> Iterator[Point]:
    """More and more trained directions, a third of all."""
    for beta in _BETAS:
        for trained in (20, 40, 80):
            yield _case(numbers, beta, 3 * trained, trained, "0", 1 / trained)


def _wide(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for L, trained in ((3, 1), (8, 2), (60, 20), (3000, 60)):
            yield _case(numbers, beta, L, trained, "0")


def _short(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for L, trained in ((3, 2), (4, 3), (60, 20)):
            yield _case(numbers, beta, L, trained, "0")


def _each(points: Callable[[Any], Iterator[Point]]) -> Callable[[Any], Iterator[Point]]:
    """Every point is a series of its own."""
    return lambda numbers: (
        Point(point.label, point.values, series=point.label) for point in points(numbers)
    )


def _early_and_late(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for z in ("0.3", "9"):
            yield _case(numbers, beta, 9, 4, z)


def _late(numbers: Any) -> Iterator[Point]:
    """A third of all is trained; also times at which the last trained directions decay."""
    beta = Fraction(1, 4)
    for trained in (20, 200):
        late = trained**1.25
        for z in ("0.02", "2", f"{late:.8g}", f"{5 * late:.8g}"):
            yield _case(numbers, beta, 3 * trained, trained, z)


_TAIL: Final = "(1/N_l**beta - 1/L**beta)"
_MOVING: Final = (
    "(2*eta*lambda_plus*alpha)**(-beta/(1 + beta))/(1 + beta)"
    "*(Gamma(beta/(1 + beta), 2*eta*lambda_plus*alpha/{}**(beta + 1))"
    " - Gamma(beta/(1 + beta), 2*eta*lambda_plus*alpha))"
)
_WHOLE: Final = f"epsilon_g == (1 + sigma_J**2)/2*lambda_plus/L*(1/beta*{_TAIL} + {_MOVING})"

_INTEGRALS: Final = _WHOLE.replace("epsilon_g", "integrals", 1)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "73",
        "S == lambda_plus/L*Integral(1/i**(beta + 1), (i, N_l, L))",
        _many,
        Converges(1.0, digits=25),
        part="sum",
        given="the sum from N_l + 1 on",
        regime="N_l to infinity, L = 3 N_l; the small parameter is 1/N_l",
        where="S is the sum of the untrained eigenvalues over L",
    ),
    Claim(
        "73",
        "frozen == lambda_plus/L*Integral(1/i**(beta + 1), (i, N_l, L))"
        f" == lambda_plus/(N*beta)*{_TAIL}",
        _any,
        Exact(25),
        part="integral",
        regime="N = 2 L",
        corrected="frozen == lambda_plus/L*Integral(1/i**(beta + 1), (i, N_l, L))"
        f" == lambda_plus/(L*beta)*{_TAIL}",
        note="N in the denominator is right for N = L only; equation 74 has L again.",
        where="frozen is the integral in the place of S, by quadrature",
    ),
    Claim(
        "74",
        f"epsilon_asymp == (1 + sigma_J**2)/2*lambda_plus/(L*beta)*{_TAIL}",
        _many,
        Converges(1.0),
        regime="N_l to infinity, L = 3 N_l; the small parameter is 1/N_l",
    ),
    Claim(
        "after 74",
        "excess_from_trained == (1 + sigma_J**2)/4*lambda_plus/L"
        "*(1/N_l**(1 + beta) + 1/L**(1 + beta))",
        _many,
        Converges(1.0),
        part="zeroth order",
        given="the sum from N_l on, as printed in equation 71",
        regime="sum minus integral; the small parameter is 1/N_l",
        where="excess_from_trained is sum minus integral",
    ),
    Claim(
        "after 74",
        "(1 + sigma_J**2)/4*lambda_plus/L*(1/N_l**(1 + beta) + 1/L**(1 + beta)) > difference",
        _wide,
        Bound(0.95),
        part="worst case",
        regime="the true error, whose sum starts at N_l + 1; beta from 0.05 to 3, L up to 3000",
        where="difference is that of the error and equation 74, in absolute value",
    ),
    Claim(
        "after 74",
        "excess_from_trained < (1 + sigma_J**2)/4*lambda_plus/L"
        "*(1/N_l**(1 + beta) + 1/L**(1 + beta))",
        _each(_short),
        Bound(0.97),
        part="worst case of the printed sum",
        given="the sum from N_l on, as printed in equation 71",
        corrected="excess_from_trained < (1 + sigma_J**2)/4*lambda_plus/L"
        "*(1/N_l**(1 + beta) + 1/L**(1 + beta)"
        " + (1 + beta)/6*(1/N_l**(2 + beta) - 1/L**(2 + beta)))",
        note="With the sum of equation 71 as printed the difference is always larger than its "
        "zeroth order, because the summand is convex: the next order is needed for a bound.",
        where="excess_from_trained is sum minus integral",
    ),
    Claim(
        "79",
        _INTEGRALS.format("L"),
        _early_and_late,
        Exact(25),
        part="integrals",
        given="the sums of equation 78 as integrals from 1 to N_l and from N_l to L",
        corrected=_INTEGRALS.format("N_l"),
        note="The integral over the trained part ends at N_l.",
        where="integrals is their sum, by quadrature",
    ),
    Claim(
        "79",
        _WHOLE.format("L"),
        _late,
        Within(0.2),
        part="end",
        regime="beta = 1/4, L = 3 N_l, from z = 0.02 until all that is trained has decayed",
        corrected=_WHOLE.format("N_l"),
        note="The integral over the trained part ends at N_l. As printed the directions between "
        "N_l and L are counted twice until they would have decayed.",
    ),
)
