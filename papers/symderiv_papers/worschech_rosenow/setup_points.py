"""Points of statements on the general equations: exact vectors, their fields, moments and flow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.precision.balls.contexts import numbers as arithmetic
from symderiv_papers.references.exact import as_number
from symderiv_papers.references.integrals import Integrals
from symderiv_papers.references.moments import generalization_error, motion
from symderiv_papers.references.vectors import Field, Network, field_integral, moments_of, networks

__all__ = [
    "ETA",
    "Output",
    "Square",
    "covariance_matrix",
    "network_points",
    "points_on",
]

#: Learning rate of all points: terms of the second order must not be small.
ETA = (7, 10)


def points_on(
    states: Callable[[], Sequence[Network]] = networks,
    *,
    weights: str = "means",
    activations: Sequence[str] = ("erf",),
) -> Callable[[Any], Iterator[Point]]:
    """Return the points of a claim.

    Args:
        states: Gives the vectors.
        weights: Output weights of student and teacher: "means" (√M/K and 1/√M), "sum" (√M/K and
            1), "ones" (1 and 1), "alone" (√M/K and 0).
        activations: Each is tried at all states.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for activation in activations:
            for state in states():
                yield network_points(state, numbers, weights, activation)

    return points


def network_points(
    state: Network, numbers: Any, weights: str = "means", activation: str = "erf"
) -> Point:
    """Return one point: everything that statements on a network may name.

    Indices of units and components start at 1, orders at 0. ``x[i, l]`` and ``y[n, l]`` are
    fields; ``cov``, ``C`` (a matrix), ``I2``, ``I3``, ``I4`` take fields. ``dQ`` and ``dR`` are
    the engine's rates, of dQ the parts of first and second order in eta are ``dQ1`` and ``dQ2``.
    ``g`` of a field is an output, ``sigma`` and ``zeta`` are those of student and teacher with the
    weights asked for, and ``mean`` takes the square of an output. Points are computed once for
    all claims.

    Args:
        state: The vectors.
        numbers: mpmath numbers.
        weights, activation: See :func:`points_on`.
    """
    return _point(state, numbers.dps, weights, activation)


@lru_cache(maxsize=64)
def _point(state: Network, digits: int, weights: str, activation: str) -> Point:
    with arithmetic(digits, "mpmath") as numbers:
        return _computed(state, numbers, weights, activation)


def _computed(state: Network, numbers: Any, weights: str, activation: str) -> Point:
    root = numbers.sqrt(numbers.mpf(state.M))
    one = numbers.one
    v, v_teacher = {
        "means": (root / state.K, 1 / root),
        "sum": (root / state.K, one),
        "ones": (one, one),
        "alone": (root / state.K, numbers.zero),
    }[weights]
    moments = moments_of(state, numbers, v, v_teacher)
    eta = numbers.mpf(ETA[0]) / ETA[1]
    integrals = Integrals(activation, numbers)
    units, top = (1, state.N), (0, 2 * state.L + 2)
    found: dict[tuple[Field, ...], Any] = {}

    def integral(count: int) -> Callable[..., Any]:
        def of_fields(*fields: Field) -> Any:
            if len(fields) != count:
                raise TypeError(f"I{count} has {count} arguments")
            if fields not in found:
                found[fields] = field_integral(integrals, state, *fields)
            return found[fields]

        return of_fields

    def rates(full_order: bool) -> Any:
        return motion(moments, eta, numbers, full_order=full_order, activation=activation)

    def second_order() -> Indexed:
        both = zip(rates(True).dQ, rates(False).dQ, strict=True)
        rows = [
            [[a - b for a, b in zip(p, q, strict=True)] for p, q in zip(full, first, strict=True)]
            for full, first in both
        ]
        return Indexed(rows, (0, state.L - 1), (1, state.K), (1, state.K))

    def vectors(rows: Sequence[Sequence[Any]]) -> Indexed:
        return Indexed(
            [[as_number(w, numbers) for w in row] for row in rows], (1, len(rows)), units
        )

    def mean(squared: Square) -> Any:
        terms = itertools.product(squared.output.terms.items(), repeat=2)
        total = sum(a * b * integral(2)(x, y) for (x, a), (y, b) in terms)
        return squared.factor * total

    def total(field: Callable[[int], Field], count: int) -> Output:
        found = Output({})
        for unit in range(1, count + 1):  # fields may coincide
            found = found + Output({field(unit): one})
        return found

    known = {
        **moments.indexed(),
        "N": state.N,
        "eta": eta,
        "lambda_": Indexed([as_number(rho, numbers) for rho in state.variance], units),
        "J": vectors(state.student),
        "B": vectors(state.teacher),
        "x": Indexed(state.x, (1, state.K), top),
        "y": Indexed(state.y, (1, state.M), top),
        "cov": lambda a, b: as_number(state.covariance(a, b), numbers),
        "C": lambda *fields: covariance_matrix(state, fields, numbers),
        "g": lambda field: Output({field: numbers.one}),
        "sigma": total(state.x, state.K) * v,
        "zeta": total(state.y, state.M) * v_teacher,
        "mean": mean,
        "I2": integral(2),
        "I3": integral(3),
        "I4": integral(4),
    }
    lazy = {
        "dQ": lambda: rates(True).indexed()["dQ"],
        "dR": lambda: rates(True).indexed()["dR"],
        "dQ1": lambda: rates(False).indexed()["dQ"],
        "dQ2": second_order,
        "epsilon_g": lambda: generalization_error(moments, numbers, activation),
    }
    words = "" if activation == "erf" else f", g = {activation}"
    return Point(f"{state.label}, eta = {ETA[0]}/{ETA[1]}{words}", Values(known, lazy))


def covariance_matrix(state: Network, fields: Sequence[Field], numbers: Any) -> Any:
    """Return the covariance matrix of fields."""
    return numbers.matrix(
        [[as_number(state.covariance(a, b), numbers) for b in fields] for a in fields]
    )


class Output:
    """A sum of activations of fields with weights, as a network puts out.

    Args:
        terms: The weight of g(field), per field.
    """

    def __init__(self, terms: dict[Field, Any]) -> None:
        self.terms = terms

    def __add__(self, other: Any) -> Output:
        if not isinstance(other, Output):
            if other == 0:
                return self
            raise TypeError("an output and a number have no sum here")
        fields = {**self.terms, **other.terms}
        return Output({z: self.terms.get(z, 0) + other.terms.get(z, 0) for z in fields})

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Output:
        return Output({field: weight * factor for field, weight in self.terms.items()})

    __rmul__ = __mul__

    def __neg__(self) -> Output:
        return self * -1

    def __sub__(self, other: Output) -> Output:
        return self + (-other)

    def __pow__(self, exponent: int) -> Square:
        if exponent != 2:
            raise TypeError("only squares of outputs have a mean here")
        return Square(self, 1)


class Square:
    """The square of an output times a factor."""

    def __init__(self, output: Output, factor: Any) -> None:
        self.output, self.factor = output, factor

    def __mul__(self, factor: Any) -> Square:
        return Square(self.output, self.factor * factor)

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Square:
        return Square(self.output, self.factor / factor)
