"""Equations 89 to 94: I2, I3, I4 and their closed forms for erf, rates and error for K = M."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.exact import as_number
from symderiv_papers.references.integrals import Integrals, covariances
from symderiv_papers.references.moments import motion
from symderiv_papers.references.vectors import moments_of, networks
from symderiv_papers.worschech_rosenow.setup_points import points_on

__all__ = [
    "integrals",
    "one_field",
    "small_rates",
    "square",
]


def integrals(count: int) -> Callable[[Any], Iterator[Point]]:
    """Return the engine's integral ``I`` at exact covariances ``C``.

    For four fields also minors of 1 + C: by Price's theorem I4 is an arcsine of the partial
    correlation of the last two fields given the first two, where the Gaussian factors of erf widen
    every variance by 1.
    """

    def points(numbers: Any) -> Iterator[Point]:
        engine = Integrals("erf", numbers)
        for kind, rows in covariances(count):
            entries = [[as_number(e, numbers) for e in row] for row in rows]
            values = {"C": Indexed(entries, (1, count), (1, count))}
            if count == 4:
                minors = (
                    ("A0", (0, 1, 2), (0, 1, 3)),
                    ("A1", (0, 1, 2), (0, 1, 2)),
                    ("A2", (0, 1, 3), (0, 1, 3)),
                    ("A4", (0, 1), (0, 1)),
                )
                values |= {
                    name: as_number(_minor(rows, left, right), numbers)
                    for name, left, right in minors
                }
            shown = "; ".join(", ".join(map(str, row)) for row in rows)
            lazy = {"I": partial(engine.at, rows)}
            yield Point(f"{kind}: C = [{shown}]", Values(values, lazy))

    return points


def _minor(
    rows: Sequence[Sequence[Fraction]], left: Sequence[int], right: Sequence[int]
) -> Fraction:
    """Return a minor of 1 + C."""
    return _determinant([[rows[i][j] + (i == j) for j in right] for i in left])


def _determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    below = [list(row[1:]) for row in rows]
    return sum(
        (
            (-1) ** k * row[0] * _determinant([*below[:k], *below[k + 1 :]])
            for k, row in enumerate(rows)
        ),
        Fraction(0),
    )


def one_field(numbers: Any) -> Iterator[Point]:
    """Yield fields that are multiples of one normal variable: the means are single integrals."""
    root = numbers.sqrt(numbers.mpf(2))
    engine = Integrals("erf", numbers)
    for factors in ((1, 2, 3, -2), (Fraction(-1, 2), 3, Fraction(2, 3), 1), (0, 1, -1, 2)):
        a = [Fraction(factor) for factor in factors]
        rows = [[p * q for q in a] for p in a]
        values = {
            "a": Indexed([as_number(factor, numbers) for factor in a], (1, 4)),
            "g": lambda x: numbers.erf(x / root),
            "dg": lambda x: 2 / root / numbers.sqrt(numbers.pi) * numbers.exp(-(x**2) / 2),
            "w": lambda z: numbers.exp(-(z**2) / 2) / numbers.sqrt(2 * numbers.pi),
        }
        lazy = {f"I{n}": partial(engine.at, [row[:n] for row in rows[:n]]) for n in (2, 3, 4)}
        yield Point(f"fields {', '.join(map(str, a))} times one normal variable",
                    Values(values, lazy))  # fmt: skip


# -- rates and error, K = M -----------------------------------------------------------------------


_SQUARE = partial(networks, square=True)


def small_rates(numbers: Any) -> Iterator[Point]:
    """Yield states at falling learning rates."""
    for state in _SQUARE():
        moments = moments_of(state, numbers)
        for power in (2, 3):
            eta = numbers.mpf(10) ** -power
            values = {
                **moments.indexed(),
                "eta": eta,
                "scale": eta,
                "dQ": motion(moments, eta, numbers).indexed()["dQ"],
                "dQ1": motion(moments, eta, numbers, full_order=False).indexed()["dQ"],
            }
            yield Point(f"{state.label}, eta = 1e-{power}", values, float(eta), state.label)


square = points_on(_SQUARE)
