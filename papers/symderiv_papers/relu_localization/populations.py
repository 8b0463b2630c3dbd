"""Finite populations instead of Gaussian classes: every mean over them is a finite sum.

The lines of the notes that are meant for any input are tried on single pulses and on inputs drawn
from the nonlinear Gaussian process, neither of them Gaussian.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

__all__ = [
    "FiniteClasses",
    "Tabled",
    "nlgp_sample",
    "one_unit_populations",
    "population_points",
    "single_pulses",
]


class Tabled:
    """A random variable by its values over the populations of Y = 1 and Y = 0."""

    def __init__(self, one: Sequence[Any], zero: Sequence[Any]) -> None:
        self.values = (tuple(one), tuple(zero))

    def map(self, function: Callable[[Any], Any]) -> Tabled:
        """Return a function of the variable."""
        return Tabled(*(tuple(map(function, part)) for part in self.values))

    def _with(self, other: Any, function: Callable[[Any, Any], Any]) -> Tabled:
        if not isinstance(other, Tabled):
            return self.map(lambda value: function(value, other))
        return Tabled(
            *(
                tuple(function(a, b) for a, b in zip(mine, others, strict=True))
                for mine, others in zip(self.values, other.values, strict=True)
            )
        )

    def __add__(self, other: Any) -> Tabled:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Any) -> Tabled:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Tabled:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Tabled:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Any) -> Tabled:
        return self._with(other, lambda a, b: a / b)

    def __pow__(self, exponent: int) -> Tabled:
        return self.map(lambda value: value**exponent)

    def __neg__(self) -> Tabled:
        return self.map(lambda value: -value)

    __radd__ = __add__
    __rmul__ = __mul__


class FiniteClasses:
    """Means over two populations of equal weight.

    Args:
        one: Inputs of Y = 1, equally likely.
        zero: Inputs of Y = 0.
        numbers: The arithmetic.
    """

    def __init__(self, one: Sequence[Any], zero: Sequence[Any], numbers: Any) -> None:
        self.inputs = (one, zero)
        self.numbers = numbers

    def variable(self, function: Callable[[Any], Any]) -> Tabled:
        """Return a function of the input."""
        return Tabled(*(tuple(map(function, part)) for part in self.inputs))

    def _mean(self, place: int, variable: Any) -> Any:
        if not isinstance(variable, Tabled):
            return variable
        values = variable.values[place]
        return self.numbers.fsum(values) / len(values)

    def mean1(self, variable: Any) -> Any:
        """Return the mean given Y = 1."""
        return self._mean(0, variable)

    def mean0(self, variable: Any) -> Any:
        """Return the mean given Y = 0."""
        return self._mean(1, variable)

    def mean(self, variable: Any) -> Any:
        """Return the mean over both classes."""
        return (self._mean(0, variable) + self._mean(1, variable)) / 2

    def given1(self, variable: Any, event: Any) -> Any:
        """Return the mean given Y = 1 and an event."""
        return self._mean(0, variable * event) / self._mean(0, event)

    def conditional1(self, variable: Tabled, *given: Tabled) -> Tabled:
        """E[variable | given, Y = 1] by groups of equal values; 0 for Y = 0, where it is unused."""
        keys = list(zip(*(g.values[0] for g in given), strict=True))
        groups: dict[Any, list[Any]] = {}
        for key, value in zip(keys, variable.values[0], strict=True):
            groups.setdefault(key, []).append(value)
        means = {key: self.numbers.fsum(group) / len(group) for key, group in groups.items()}
        return Tabled([means[key] for key in keys], [0] * len(variable.values[1]))


def single_pulses(n: int, lengths: Sequence[int], complement: bool = True) -> list[list[int]]:
    """Return all single pulses on a ring, with support {0, 1}, each as often as it is drawn.

    Args:
        n: Sites.
        lengths: Possible lengths of the pulse, equally likely.
        complement: Also 1 - x, as likely as x.
    """
    found = [
        [int((i - start) % n < length) for i in range(n)]
        for length in lengths
        for start in range(n)
    ]
    return found + [[1 - x for x in pulse] for pulse in found] if complement else found


def nlgp_sample(n: int, xi: float, gain: float, count: int, seed: int) -> list[list[float]]:
    """Return inputs of the nonlinear Gaussian process, and their reflections, as doubles taken
    exactly.
    """
    import numpy as np
    from scipy.special import erf

    distance = np.minimum(np.arange(n), n - np.arange(n))
    row = np.exp(-((distance / xi) ** 2))
    covariance = np.array([np.roll(row, i) for i in range(n)])
    # the triangular root is unique; singular vectors of a circulant matrix depend on the machine
    root = np.linalg.cholesky(covariance)
    z = np.random.default_rng(seed).standard_normal((count, n)) @ root.T
    scale = np.sqrt(2 / np.pi * np.arcsin(gain**2 / (1 + gain**2)))
    x = erf(gain * z / np.sqrt(2)) / scale
    return [[float(v) for v in sample] for sample in [*x, *(-x)]]


def _values(
    w: Sequence[Sequence[Any]], one: Sequence[Any], zero: Sequence[Any], numbers: Any
) -> Values:
    K, n = len(w), len(w[0])
    number = numbers.mpf
    rows = [[number(x) for x in row] for row in w]
    given_one, given_zero = (
        [[number(x) for x in sample] for sample in part] for part in (one, zero)
    )
    classes = FiniteClasses(given_one, given_zero, numbers)

    def unit(row: Sequence[Any]) -> Tabled:
        return classes.variable(lambda x: sum(a * b for a, b in zip(row, x, strict=True)))

    def positive(variable: Tabled) -> Tabled:
        return variable.map(lambda s: number(s > 0))

    def site(i: int) -> Tabled:
        return classes.variable(lambda x: x[i])

    units, sites = [unit(row) for row in rows], [site(i) for i in range(n)]
    label = Tabled([number(1)] * len(one), [number(0)] * len(zero))
    mean_square = [[classes.mean1(a * b) for b in sites] for a in sites]

    def loss(first: Tabled) -> Any:
        output = sum((t.map(lambda s: max(s, 0)) for t in units[1:]), first) / K
        return classes.mean((output - label) ** 2) / 2

    def flow(i: int) -> Any:
        def along(value: Any) -> Any:
            changed = [*rows[0]]
            changed[i - 1] = value
            return loss(unit(changed).map(lambda s: max(s, 0)))

        return -numbers.diff(along, rows[0][i - 1])

    slopes = functools.lru_cache(maxsize=None)(flow)
    return Values(
        {
            "K": K, "M": 2, "n": n, "w": Indexed(rows, (1, K), (1, n)),
            "Sigma1": Indexed(mean_square, (1, n), (1, n)),
            "X": Indexed(sites, (1, n)),
            "S": units[0], "T": Indexed(units, (1, K)), "Y": label,
            "theta": positive, "relu": lambda s: s.map(lambda v: max(v, number(0))),
            "E": classes.mean, "E1": classes.mean1, "E0": classes.mean0, "P1": classes.mean1,
            "E1given": classes.given1, "E1of": classes.conditional1,
            "flow": Indexed(slopes, (1, n)),
            "rho": Indexed(
                [[classes.mean1(a * b) for b in units] for a in units], (1, K), (1, K)
            ),
        },
        {"loss": lambda: loss(units[0].map(lambda s: max(s, 0)))},
    )  # fmt: skip


def population_points(numbers: Any) -> Iterator[Point]:
    """Single pulses (not centred, then symmetric about 0) and a sample of the NLGP."""
    # eighths, so that equal pre-activations are equal in every arithmetic; none of unit 1 is 0
    w = [[0.375, -0.25, 0.375, 0.75, -0.625], [-0.125, 0.5, 0.625, -0.25, 0.25],
         [0.25, 0.25, -0.875, 0.125, -0.5]]  # fmt: skip
    one, zero = single_pulses(5, (2, 3), complement=False), single_pulses(5, (1,))
    yield Point("single pulses on {0, 1}, n = 5, K = 3", _values(w, one, zero, numbers))
    pairs, singles = (
        [[2 * x - 1 for x in sample] for sample in single_pulses(5, (length,))] for length in (2, 1)
    )
    symmetric = _values(w, pairs, singles, numbers)
    yield Point("single pulses on {-1, 1} with complements", symmetric)
    nine, eight = nlgp_sample(5, 1.5, 3.0, 9, 1), nlgp_sample(5, 0.5, 3.0, 8, 2)
    yield Point(
        "17 inputs of the NLGP at gain 3 and their reflections", _values(w, nine, eight, numbers)
    )


def one_unit_populations(numbers: Any) -> Iterator[tuple[str, Values]]:
    """Yield the same populations, made invariant under turns of the ring, and one unit."""
    w = [[0.375, -0.25, 0.375, 0.75, -0.625]]
    one, zero = single_pulses(5, (2, 3), complement=False), single_pulses(5, (1,))
    yield "single pulses on {0, 1}, one unit", _values(w, one, zero, numbers)
    pairs, singles = (
        [[2 * x - 1 for x in sample] for sample in single_pulses(5, (length,))] for length in (2, 1)
    )
    yield "single pulses on {-1, 1} with complements, one unit", _values(w, pairs, singles, numbers)
    long, short = (
        [[*sample[turn:], *sample[:turn]] for sample in nlgp_sample(5, xi, 3.0, count, seed)
         for turn in range(5)]
        for xi, count, seed in ((1.5, 2, 1), (0.5, 2, 2))
    )  # fmt: skip
    yield "turned inputs of the NLGP at gain 3, one unit", _values(w, long, short, numbers)
