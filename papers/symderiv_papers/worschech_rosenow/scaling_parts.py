"""Equations 73, 74 and 79: what a partly trained network ends in, and when, as integrals."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import extended

from symderiv_papers.references.power_law import PowerLawSum

_BETAS: Final = (Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3))


def _case(
    numbers: Any, beta: Fraction, L: int, trained: int, z: str, parameter: float | None = None
) -> Point:
    """Return the case in which the first ``trained`` of L directions are trained; errors from
    the engine's terms.
    """
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


def any(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for L, trained in ((5, 2), (300, 40)):
            yield _case(numbers, beta, L, trained, "0")


def many(numbers: Any) -> Iterator[Point]:
    """More and more trained directions, a third of all."""
    for beta in _BETAS:
        for trained in (20, 40, 80):
            yield _case(numbers, beta, 3 * trained, trained, "0", 1 / trained)


def wide(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for L, trained in ((3, 1), (8, 2), (60, 20), (3000, 60)):
            yield _case(numbers, beta, L, trained, "0")


def _short(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for L, trained in ((3, 2), (4, 3), (60, 20)):
            yield _case(numbers, beta, L, trained, "0")


def each_short(numbers: Any) -> Iterator[Point]:
    """Compare when every point is a series of its own."""
    for point in _short(numbers):
        yield Point(point.label, point.values, series=point.label)


def early_and_late(numbers: Any) -> Iterator[Point]:
    for beta in _BETAS:
        for z in ("0.3", "9"):
            yield _case(numbers, beta, 9, 4, z)


def early_and_last(numbers: Any) -> Iterator[Point]:
    """Compare when a third of all is trained: early, and as the last trained directions decay.

    ``half_ends`` is half of the first and of the last term of both sums.
    """
    for beta in (Fraction(1, 4), Fraction(3, 4)):
        for trained in (20, 80):
            last = trained ** (1 + float(beta))
            for z in ("0.05", "1", f"{last / 3:.8g}", f"{4 * last:.8g}"):
                point = _case(numbers, beta, 3 * trained, trained, z)
                yield Point(point.label, extended(point.values, _half_ends(point.values)))


def _half_ends(values: Any) -> dict[str, Any]:
    beta, L, trained = (values[name] for name in ("beta", "L", "N_l"))
    z = 2 * values["eta"] * values["lambda_plus"] * values["alpha"]
    powers = [values["sigma_J"].context.mpf(k) ** -(1 + beta) for k in (1, trained, L)]
    exp = values["sigma_J"].context.exp
    ends = powers[0] * exp(-z * powers[0]) + powers[1] * (1 + exp(-z * powers[1])) + powers[2]
    return {"half_ends": (1 + values["sigma_J"] ** 2) * values["lambda_plus"] / L / 4 * ends}
