"""Points of homogeneous committees: teachers in general position, what all points know."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import mpmath
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.homogeneous import Committee, at_precision

__all__ = [
    "FIVE",
    "GENERAL",
    "SINGLE",
    "TYPICAL",
    "Series",
    "UnitSeries",
    "cases",
    "companion",
    "converted",
    "label",
    "powers",
    "typical",
]


def _committee(M: int, L: int, learning_rate: Fraction, *, correlated: bool) -> Committee:
    """Return teachers with T^(0) = 1 and D^(0) = 0, and either T^(1) = 1 and no D at all, or
    neither.

    The mean eigenvalue is 1. All moments that the print leaves open are in general position.
    """
    share = [Fraction(3 + k, sum(range(3, 3 + L))) for k in range(L)]
    raw = [Fraction(7, 2 + 3 * k) for k in range(L)]
    mean = sum((w * x for w, x in zip(share, raw, strict=True)), Fraction(0))
    eigenvalue = [x / mean for x in raw]
    diagonal, row = [Fraction(1)] * L, [Fraction(0)] * L
    if correlated:
        diagonal[0] += Fraction(4, 5)
        diagonal[1] -= Fraction(4, 5) * share[0] / share[1]
        for k in range(1, L):
            overlap = Fraction((M - 1) * (-1) ** k, 8 + k)
            row[k] += overlap
            row[0] -= overlap * share[k] / share[0]
    elif L > 2:
        # the last eigenspace differs; the first two keep T^(0) and T^(1)
        change = Fraction(1, 5)
        diagonal[L - 1] += change
        (a, b, last), (x, y, z) = ((s[0], s[1], s[L - 1]) for s in (share, eigenvalue))
        first = change * last * (y - z) / (a * (x - y))
        diagonal[0] += first
        diagonal[1] -= (change * last + first * a) / b
    return Committee(M, tuple(eigenvalue), tuple(share), tuple(diagonal), tuple(row), learning_rate)


def typical(M: int, L: int) -> Committee:
    """T^(0) = T^(1) = 1, no D, η = M/7."""
    return _committee(M, L, Fraction(M, 7), correlated=False)


_SIZES: Final = ((2, 3), (3, 2), (5, 4))
#: T^(1) = 1, D^(l) = 0, but T^(l) in general position.
TYPICAL: Final = tuple(typical(M, L) for M, L in _SIZES)
#: T^(1) and all D^(l) in general position; L = 1 and 5.
SINGLE: Final = Committee(
    3, (Fraction(1),), (Fraction(1),), (Fraction(4, 3),), (Fraction(1, 5),), Fraction(1, 2)
)
FIVE: Final = _committee(4, 5, Fraction(2, 3), correlated=True)
#: The same for L = 2 to 4.
GENERAL: Final = tuple(_committee(M, L, Fraction(M, 7), correlated=True) for M, L in _SIZES)


@dataclass(frozen=True)
class Series:
    """Values with one index, or a matrix with two, that start at ``first`` (one each if a pair)."""

    first: int | tuple[int, int]
    values: Any

    def indexed(self, numbers: Any) -> Indexed:
        """Return the array that statements index."""
        entries = converted(self.values, numbers)
        starts = (self.first,) * 2 if isinstance(self.first, int) else self.first
        matrix = hasattr(entries, "rows")
        sizes = [entries.rows, entries.cols] if matrix else [len(entries)]
        ranges = [(start, start + n - 1) for start, n in zip(starts, sizes, strict=False)]
        return Indexed(entries, *ranges)


@dataclass(frozen=True)
class UnitSeries:
    """Values by order (from 0) and two units (from 1), nested."""

    values: Any

    def indexed(self, numbers: Any) -> Indexed:
        """Return the array that statements index."""
        orders, units = len(self.values), len(self.values[0])
        entries = converted(self.values, numbers)
        return Indexed(entries, (0, orders - 1), (1, units), (1, units))


def converted(value: Any, numbers: Any) -> Any:
    """Matrices, vectors and numbers of mpmath in the numbers of a claim."""
    if isinstance(value, int):
        return value
    if isinstance(value, Series | UnitSeries):
        return value.indexed(numbers)
    if isinstance(value, Fraction):
        return numbers.mpf(value.numerator) / value.denominator
    if isinstance(value, list | tuple):
        return [converted(entry, numbers) for entry in value]
    if hasattr(value, "rows"):
        found = numbers.matrix(value.rows, value.cols)
        for i, j in itertools.product(range(value.rows), range(value.cols)):
            found[i, j] = numbers.mpf(value[i, j])
        return found
    return numbers.mpf(value)


def label(committee: Committee) -> str:
    """Return a case in words."""
    return (
        f"M = {committee.units}, L = {committee.modes}, T1 = {float(committee.T(1)):.4g}, "
        f"D1 = {float(committee.D(1)):.4g}, eta = {committee.learning_rate}"
    )


def cases(
    committees: Iterable[Committee], found: Callable[[Committee], Mapping[str, Any]]
) -> Callable[[Any], Iterator[Point]]:
    """Return points of a claim.

    Args:
        committees: Cases.
        found: For a case, values by name; functions are asked when their name occurs.
            All in mpmath's numbers.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for committee in committees:
            yield Point(label(committee), _values(committee, found(committee), numbers))

    return points


def _values(committee: Committee, more: Mapping[str, Any], numbers: Any) -> Values:
    L, rho = committee.modes, committee.eigenvalue
    orders = range(L + 2)

    def column(entries: Iterable[Any]) -> Any:
        return mpmath.matrix([converted(entry, mpmath) for entry in entries])

    with at_precision():
        everywhere = {
            "M": committee.units,
            "L": L,
            "eta": committee.learning_rate,
            "T": Series(0, [committee.T(l) for l in orders]),
            "D": Series(0, [committee.D(l) for l in orders]),
            "lambda_": Series(1, list(rho)),
            "A1": companion(committee),
            "v": Series(1, [mpmath.matrix(power) for power in powers(committee)]),
            "e": Series(1, [column(Fraction(int(i == j)) for i in range(L)) for j in range(L)]),
            "u": column(committee.T(l + 1) for l in range(L)),
            "u_plus": column(committee.T(l + 2) for l in range(L)),
        }

    def later(value: Any) -> Callable[[], Any]:
        def compute() -> Any:
            with at_precision():
                return converted(value() if callable(value) else value, numbers)

        return compute

    return Values(lazy={name: later(value) for name, value in {**everywhere, **more}.items()})


def companion(committee: Committee) -> Any:
    """Multiplication by minus the covariance, in the basis of its powers."""
    L = committee.modes
    found = mpmath.zeros(L)
    for l in range(L - 1):
        found[l, l + 1] = mpmath.mpf(-1)
    for l, value in enumerate(committee.closure):
        found[L - 1, l] = converted(value, mpmath)
    return found


def powers(committee: Committee) -> list[list[Any]]:
    """v_k: per eigenvalue its powers 0 ... L - 1."""
    return [
        [converted(rho**l, mpmath) for l in range(committee.modes)] for rho in committee.eigenvalue
    ]
