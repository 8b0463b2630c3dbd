"""Equations 48 and 49: the sum over a power law as an integral, and how far they differ.

Throughout z = 2ηλ_+α. The errors are those of small learning rates, sums over exact eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import extended

from symderiv_papers.references.power_law import PowerLawSum, grid

Points = Callable[[Any], Iterator[Point]]

SMALL, HALF, ONE, LARGE = Fraction(1, 20), Fraction(1, 2), Fraction(1), Fraction(3)


def formula(numbers: Any) -> Iterator[Point]:
    """General ends, orders and times."""
    for beta, m, n, z, p in (
        (HALF, 2, 4, "3.5", 5),
        (LARGE, 1, 3, "0.4", 4),
        (SMALL, 3, 6, "20", 2),
        (ONE, 1, 2, "1", 1),
        (ONE, 2, 3, "7", 3),
    ):
        law = PowerLawSum(numbers, beta, 8, z, m, n)
        point = law.point(R=lambda law=law, p=p: _remainder(law, p))
        more = {"p": p, "floor": lambda x: int(numbers.floor(x))}
        yield Point(f"{point.label}, p = {p}", extended(point.values, more))


def _remainder(law: PowerLawSum, p: int) -> Any:
    """Return what the formula leaves over: an integral of the periodic polynomial."""
    numbers, names = law.numbers, law.point().values
    parts = (
        numbers.quad(lambda x: law.derivative(p, x) * names["P"](p, x), [i, i + 1])
        for i in range(law.first, law.last)
    )
    return (-1) ** (p + 1) * numbers.fsum(parts) / numbers.factorial(p)


def terms(numbers: Any) -> Iterator[Point]:
    for law in grid(numbers, (HALF, LARGE), (2, 5), ("0.3", "8")):
        yield law.point()


def ranges(zs: tuple[str, ...]) -> Points:
    """Short ranges, times from nearly zero to late."""

    def points(numbers: Any) -> Iterator[Point]:
        for beta, (m, n) in ((HALF, (1, 3)), (SMALL, (2, 4)), (LARGE, (1, 2))):
            for z in zs:
                yield PowerLawSum(numbers, beta, 6, z, m, n).point(str(beta))

    return points


def intervals(numbers: Any) -> Iterator[Point]:
    for beta in (SMALL, HALF, LARGE):
        yield PowerLawSum(numbers, beta, 4, "0").point()


def wide(numbers: Any) -> Iterator[Point]:
    """β from 0.05 to 3, L from 2 to 1000, z from nearly 0."""
    zs = ("1e-9", "0.3", "3", "100")
    for law in grid(numbers, (SMALL, HALF, ONE, LARGE), (2, 3, 20, 1000), zs):
        yield law.point(f"beta = {law.beta}, L = {law.L}")


def wide_halved(numbers: Any) -> Iterator[Point]:
    """Yield the same as wide for ε_g itself, whose terms are half of the printed f."""
    for point in wide(numbers):
        values = extended(point.values, {"excess": point.values["excess"] / 2})
        yield Point(point.label, values, series=point.series)


def long_sums(power: int) -> Points:
    """L to infinity; the small parameter is L^-β, or L^-(2+β) where the sum gains on its parts."""

    def points(numbers: Any) -> Iterator[Point]:
        for beta in (Fraction(1, 3), ONE, LARGE):
            for L in (20, 40, 80):
                small = float(L) ** -(float(beta) + power)
                yield PowerLawSum(numbers, beta, L, "0").point(str(beta), small)

    return points


def window(numbers: Any) -> Iterator[Point]:
    """1 <= z <= L^(1+β)."""
    zs = ("1", "1.5", "4", "12", "400")
    for law in grid(numbers, (SMALL, HALF, ONE, LARGE), (2, 20, 1000), zs):
        if float(law.z) <= float(law.L) ** (1 + float(law.beta)):
            yield law.point(f"beta = {law.beta}, L = {law.L}")


def many(numbers: Any) -> Iterator[Point]:
    """N = L eigenvalues, ever more of them."""
    for beta in (HALF, ONE, LARGE):
        for L in (50, 100, 200, 400):
            names = PowerLawSum(numbers, beta, L, "1").names | {"N": L}
            yield Point(f"beta = {beta}, N = L = {L}", names, L ** -float(beta), str(beta))


def terms_at(numbers: Any) -> Iterator[Point]:
    """Yield terms as a function of x."""
    for point in terms(numbers):
        for x in ("1", "2.3"):
            yield Point(point.label, extended(point.values, {"x": numbers.mpf(x)}))
