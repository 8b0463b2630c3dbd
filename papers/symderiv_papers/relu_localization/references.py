"""Points of the notes' claims: Gaussian classes with everything generic, and their exact flow."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.claims.statement import Relation, parse_statement
from symderiv_ledger.rules.arithmetic import Indexed, Values, evaluate, extended

from symderiv_papers.relu_localization.variables import (
    Form,
    GaussianClasses,
    Variable,
    step,
)

__all__ = [
    "Case",
    "Matrix",
    "cases",
    "gaussian_points",
    "moderate_points",
    "near_points",
    "orthogonal_points",
    "values_of",
]

Matrix = tuple[Form, ...]


class Case:
    """Weights and covariances, exact.

    Args:
        label: In words.
        w: Weights, shape (K, n).
        sigma1: Covariance given Y = 1, shape (n, n).
        sigma0: Covariance given Y = 0.
    """

    def __init__(self, label: str, w: Matrix, sigma1: Matrix, sigma0: Matrix) -> None:
        self.label = label
        self.w, self.sigma1, self.sigma0 = w, sigma1, sigma0


def _covariance(generator: random.Random, n: int) -> Matrix:
    """Return a generic positive definite matrix."""
    rows = [[Fraction(generator.randint(-4, 4), 5) for _ in range(n)] for _ in range(n)]
    return tuple(
        tuple(
            sum((a * b for a, b in zip(rows[i], rows[j], strict=True)), Fraction(i == j, 4))
            for j in range(n)
        )
        for i in range(n)
    )


def _ring(first: Sequence[Fraction]) -> Matrix:
    """Return the circulant matrix of a first row."""
    n = len(first)
    return tuple(tuple(first[(j - i) % n] for j in range(n)) for i in range(n))


def _weights(generator: random.Random, K: int, n: int) -> list[list[Fraction]]:
    return [[Fraction(generator.randint(-9, 9), 7) for _ in range(n)] for _ in range(K)]


@functools.lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    """Return generic, translation invariant, and nearly degenerate ones."""
    generator = random.Random(20)
    w = _weights(generator, 3, 3)
    generic = Case(
        "n = 3, K = 3, generic covariances",
        _with_last_reversed(w),
        _covariance(generator, 3),
        _covariance(generator, 3),
    )
    half = Fraction(1, 2)
    ring = Case(
        "n = 4, K = 3, covariances on a ring",
        _with_last_reversed(_weights(generator, 3, 4)),
        _ring([Fraction(1), half, half**2, half]),
        _ring([Fraction(1), half**3, half**6, half**3]),
    )
    w = _weights(generator, 4, 5)
    # the last unit is almost the first, twice as long
    w[3] = [2 * x + Fraction(i, 900) for i, x in enumerate(w[0])]
    w[2] = [-x + Fraction(i, 40) for i, x in enumerate(w[0])]
    close = Case(
        "n = 5, K = 4, units almost parallel and antiparallel to the first",
        _exact(w),
        _covariance(generator, 5),
        _covariance(generator, 5),
    )
    return generic, ring, close


def _exact(rows: Sequence[Sequence[Fraction]]) -> Matrix:
    return tuple(tuple(row) for row in rows)


def _with_last_reversed(rows: Sequence[Sequence[Fraction]]) -> Matrix:
    """So that both signs of overlaps with the first unit occur."""
    return _exact([*rows[:-1], [-x for x in rows[-1]]])


def values_of(case: Case, numbers: Any) -> Values:
    """Return what the names of the notes stand for.

    ``rho[i, j]`` is of class 1 and ``rho0[i, j]`` of class 0, ``gamma[k]`` the cosine with unit 1;
    ``flow[i]`` is -dL/dw_1i, so that gradient flow is tau*dw_1i/dt = flow[i]; M is a number that
    is not K.
    """
    classes = GaussianClasses(case.sigma1, case.sigma0, numbers)
    K, n = len(case.w), len(case.w[0])

    def number(value: Fraction) -> Any:
        return numbers.mpf(value.numerator) / value.denominator

    def table(rows: Matrix) -> Indexed:
        return Indexed(
            [[number(x) for x in row] for row in rows], (1, len(rows)), (1, len(rows[0]))
        )

    def overlaps(place: int) -> Matrix:
        return tuple(tuple(classes.covariance(place, a, b) for b in case.w) for a in case.w)

    rho = overlaps(0)
    units = [Variable.linear(row) for row in case.w]
    axes = [Variable.linear(tuple(Fraction(i == j) for j in range(n))) for i in range(n)]
    known = {
        "K": K, "M": 2, "n": n,
        "w": table(case.w), "Sigma1": table(case.sigma1), "Sigma0": table(case.sigma0),
        "rho": table(rho), "rho0": table(overlaps(1)),
        "gamma": Indexed(
            [number(rho[0][k]) / numbers.sqrt(number(rho[0][0] * rho[k][k])) for k in range(K)],
            (1, K),
        ),
        "X": Indexed(axes, (1, n)), "S": units[0], "T": Indexed(units, (1, K)),
        "Y": Variable.label(), "theta": step, "relu": lambda s: step(s) * s,
        "E": classes.mean, "E1": classes.mean1, "E0": classes.mean0,
        "P1": classes.mean1, "E1given": classes.given1, "E1of": classes.conditional1,
    }  # fmt: skip
    flow = functools.lru_cache(maxsize=1)(lambda: _flow(case, classes, numbers))
    lazy: dict[str, Callable[[], Any]] = {
        "flow": lambda: Indexed(flow(), (1, n)),
        "loss": lambda: _loss(case, classes, numbers),
    }
    return Values(known, lazy)


def gaussian_points(numbers: Any) -> Iterator[Point]:
    """Yield all :func:`cases`."""
    for case in cases():
        yield Point(case.label, values_of(case, numbers))


def moderate_points(numbers: Any) -> Iterator[Point]:
    """Yield those whose densities are not too narrow for quadrature in doubles."""
    for case in cases()[:2]:
        yield Point(case.label, values_of(case, numbers))


def _overlap(case: Case, one: Form, other: Form) -> Fraction:
    image = [
        sum((a * b for a, b in zip(row, other, strict=True)), Fraction()) for row in case.sigma1
    ]
    return sum((a * b for a, b in zip(one, image, strict=True)), Fraction())


def orthogonal_points(numbers: Any) -> Iterator[Point]:
    """Yield units orthogonal to the first in Sigma_1, but neither to each other nor in Sigma_0."""
    for case in cases():
        first = case.w[0]
        own = _overlap(case, first, first)
        others = [
            tuple(x - _overlap(case, first, row) / own * y for x, y in zip(row, first, strict=True))
            for row in case.w[1:]
        ]
        made = Case(f"{case.label}; rho_1k = 0", (first, *others), case.sigma1, case.sigma0)
        yield Point(made.label, values_of(made, numbers))


def near_points(numbers: Any) -> Iterator[Point]:
    """Yield unit 2 almost a multiple of unit 1: ``eps`` -> 0, eps^2 = sqrt(rho_11 rho_22) -
    rho_12.
    """
    for case in cases()[:2]:
        for power in (3, 4, 5):
            shift = Fraction(1, 10**power)
            first, second, *rest = case.w
            near = tuple(Fraction(3, 2) * x + shift * y for x, y in zip(first, second, strict=True))
            label = f"{case.label}; w_2 = 1.5 w_1 + 1e-{power} times another vector"
            values = values_of(Case(label, (first, near, *rest), case.sigma1, case.sigma0), numbers)
            rho = values["rho"]
            eps = numbers.sqrt(numbers.sqrt(rho[1, 1] * rho[2, 2]) - rho[1, 2])
            extended_values = extended(values, {"eps": eps})
            yield Point(label, extended_values, float(eps), series=case.label)


@functools.lru_cache(maxsize=1)
def _means_of_relu() -> dict[str, Relation]:
    """Return the engine's E[ReLU(x1)], E[ReLU(x1) ReLU(x2)] and their derivatives in the
    covariance.
    """
    import sympy as sp

    from symderiv.gaussian import covariance_symbols, expectation

    x1, x2 = sp.symbols("x1 x2")
    c = covariance_symbols(2)
    one = expectation(sp.Max(0, x1), [x1], c[:1, :1]).value
    two = expectation(sp.Max(0, x1) * sp.Max(0, x2), [x1, x2], c).value
    formulas = {
        "one": one, "one by c11": sp.diff(one, c[0, 0]), "two": two,
        "two by c11": sp.diff(two, c[0, 0]), "two by c12": sp.diff(two, c[0, 1]),
    }  # fmt: skip
    return {name: parse_statement(f"0 == {formula}") for name, formula in formulas.items()}


class _Relu:
    """Means of ReLUs of units given a class, as numbers."""

    def __init__(self, case: Case, classes: GaussianClasses, place: int, numbers: Any) -> None:
        self.case, self.classes, self.place, self.numbers = case, classes, place, numbers

    def overlap(self, one: Form, other: Form) -> Any:
        """Return covariance of two forms."""
        value = self.classes.covariance(self.place, one, other)
        return self.numbers.mpf(value.numerator) / value.denominator

    def __call__(self, name: str, *units: int) -> Any:
        rows = [self.case.w[k] for k in units]
        c = {
            f"c{i + 1}{j + 1}": self.overlap(rows[i], rows[j])
            for i in range(len(rows))
            for j in range(i, len(rows))
        }
        return evaluate(_means_of_relu()[name].sides[1], c, self.numbers)


def _loss(case: Case, classes: GaussianClasses, numbers: Any) -> Any:
    """Return the population loss from means of one and two ReLUs."""
    K = len(case.w)
    total = numbers.mpf(1) / 4
    for place in (0, 1):
        mean = _Relu(case, classes, place, numbers)
        for k in range(K):
            # E[ReLU^2] is half the variance by symmetry
            total += mean.overlap(case.w[k], case.w[k]) / (8 * K**2)
            if place == 0:
                total -= mean("one", k) / (2 * K)
            for other in range(k):
                total += mean("two", k, other) / (2 * K**2)
    return total


def _flow(case: Case, classes: GaussianClasses, numbers: Any) -> list[Any]:
    """-dL/dw_1 by the chain rule through the overlaps."""
    K, n = len(case.w), len(case.w[0])
    result = [numbers.mpf(0)] * n
    for place in (0, 1):
        mean = _Relu(case, classes, place, numbers)
        by_overlap = [(mean("two by c11", 0, k), mean("two by c12", 0, k)) for k in range(1, K)]
        for i in range(n):
            axis = tuple(Fraction(i == j) for j in range(n))
            image = [mean.overlap(axis, row) for row in case.w]
            slope = image[0] / (4 * K**2)
            for k, (by_own, by_mixed) in enumerate(by_overlap, start=1):
                slope += (2 * by_own * image[0] + by_mixed * image[k]) / (2 * K**2)
            if place == 0:
                slope -= mean("one by c11", 0) * image[0] / K
            result[i] -= slope
    return result


def at_some_s(numbers: Any) -> Iterator[Point]:
    """Moderate points with the outer variable of nested integrals fixed."""
    for point in moderate_points(numbers):
        for s in (0.1, 0.5):
            yield Point(f"{point.label}, s = {s}", extended(point.values, {"s": numbers.mpf(s)}))
