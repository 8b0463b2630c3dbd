"""Gates of one unit at three times, counted over a finite population: equations 77 to 79."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.relu_localization.populations import FiniteClasses, Tabled, single_pulses

__all__ = ["walks"]


def walks(numbers: Any) -> Iterator[Point]:
    """Yield weights that move over single pulses on {-1, 1}; one pulse is at rest on a gate's
    edge.
    """
    one, zero = (
        [[2 * x - 1 for x in pulse] for pulse in single_pulses(5, (length,))] for length in (2, 1)
    )
    classes = FiniteClasses(one, zero, numbers)
    weights = ((4, -2, 3, 6, -5), (3, 1, 4, -5, 2), (1, 2, -7, 1, -4))

    def field(row: tuple[int, ...]) -> Tabled:
        return classes.variable(
            lambda x: numbers.mpf(sum(a * b for a, b in zip(row, x, strict=True))) / 8
        )

    def site(i: int) -> Tabled:
        return classes.variable(lambda x: numbers.mpf(x[i]))

    units, sites = [field(row) for row in weights], [site(i) for i in range(5)]

    def share(times: int) -> Any:
        """Return the share of inputs whose gate is the same at so many times, by counting."""
        counted = numbers.mpf(0)
        for part in zip(*(unit.values for unit in units[:times]), strict=True):
            same = [
                len({value >= 0 for value in values}) == 1 for values in zip(*part, strict=True)
            ]
            counted += numbers.mpf(sum(same)) / len(same) / 2
        return counted

    values = {
        "K": 1, "n": 5, "M": 2, "D": 5, "G": 1, "S": units[0], "Snext": units[1], "Slast": units[2],
        "relu": lambda s: s.map(lambda v: max(v, numbers.mpf(0))),
        "opened": lambda s: s.map(lambda v: numbers.mpf(v >= 0)),
        "X": Indexed(sites, (1, 5)),
        "E": classes.mean, "same": share(2), "never": share(3),
    }  # fmt: skip
    yield Point("single pulses on {-1, 1} of five sites", Values(values))
