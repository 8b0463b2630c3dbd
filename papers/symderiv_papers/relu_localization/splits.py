"""X split into a regression on pre-activations and a rest, as names of statements.

The coefficients are those that leave the rest uncorrelated, computed from second moments.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

__all__ = [
    "with_one_constraint",
    "with_two_constraints",
]


def _extended(values: Mapping[str, Any], lazy: Mapping[str, Callable[[], Any]]) -> Any:
    return ChainMap(Values({}, lazy), values)  # type: ignore[arg-type]


def with_one_constraint(points: Iterable[Point], numbers: Any) -> Iterator[Point]:
    """Add ``v`` and ``A`` of the split by S, and a vector x with ``s`` = <w_1, x>."""
    for point in points:
        yield Point(point.label, _extended(point.values, _one_constraint(point.values, numbers)))


def _one_constraint(values: Mapping[str, Any], numbers: Any) -> dict[str, Callable[[], Any]]:
    n = values["n"]
    x = [numbers.mpf(7 * i * i - 11 * i + 3) / 8 for i in range(n)]

    def direction() -> list[Any]:
        mean, s = values["E1"], values["S"]
        return [mean(values["X"][(i,)] * s) / mean(s * s) for i in range(1, n + 1)]

    def rest(i: int, j: int) -> Any:
        return int(i == j) - direction()[i - 1] * values["w"][1, j]

    return {
        "x": lambda: Indexed(x, (1, n)),
        "s": lambda: sum((values["w"][1, i + 1] * x[i] for i in range(n)), numbers.mpf(0)),
        "v": lambda: Indexed(direction(), (1, n)),
        "A": lambda: Indexed(
            [[rest(i, j) for j in range(1, n + 1)] for i in range(1, n + 1)], (1, n), (1, n)
        ),
    }


def with_two_constraints(points: Iterable[Point], numbers: Any) -> Iterator[Point]:
    """Add ``C[k, i, a]`` and ``A[k, i, j]`` of the split by S and T_k, and matrices.

    ``Cmat(k)``, ``Umat(k)``, ``Covmat(k)`` (of S and T_k), ``Sigma1mat``, columns ``W(k)`` and
    ``SW(k)`` = (Sigma_1 w_1, Sigma_1 w_k), ``TX(k)`` = E[T X 1(S > 0) 1(T > 0) | Y = 1],
    ``Tb(k)`` the same with b = (S, T) for X;
    ``Sw[k, i]`` is entry i of Sigma_1 w_k, ``S0w[k, i]`` of Sigma_0 w_k;
    ``Sp`` and ``Tp[k]`` are S and T_k of variance 1.
    """
    for point in points:
        yield Point(
            point.label,
            _extended(point.values, _two_constraints(point.values, numbers)),
            point.parameter,
            point.series,
        )


def _two_constraints(values: Mapping[str, Any], numbers: Any) -> dict[str, Callable[[], Any]]:
    n, K = values["n"], values["K"]
    mean, X, S, T = values["E1"], values["X"], values["S"], values["T"]
    known: dict[int, Any] = {}

    def coefficients(k: int) -> list[list[Any]]:
        if k not in known:
            t = T[(k,)]
            a, b, d = mean(S * S), mean(S * t), mean(t * t)
            rows = []
            for i in range(1, n + 1):
                p, q = mean(X[(i,)] * S), mean(X[(i,)] * t)
                rows.append([(p * d - q * b) / (a * d - b * b), (q * a - p * b) / (a * d - b * b)])
            known[k] = rows
        return known[k]  # type: ignore[no-any-return]

    def rest(k: int, i: int, j: int) -> Any:
        first, second = coefficients(k)[i - 1]
        return int(i == j) - first * values["w"][1, j] - second * values["w"][k, j]

    def image(k: int, i: int) -> Any:
        return mean(X[(i,)] * T[(k,)])

    def kept(k: int) -> list[Any]:
        event = values["theta"](S) * values["theta"](T[(k,)])
        return [mean(event * T[(k,)] * X[(i,)]) for i in range(1, n + 1)]

    def kept_scalars(k: int) -> list[Any]:
        t = T[(k,)]
        event = values["theta"](S) * values["theta"](t)
        return [mean(event * S * t), mean(event * t * t)]

    def rows(k: int) -> list[list[Any]]:
        return [[values["w"][unit, j] for j in range(1, n + 1)] for unit in (1, k)]

    def matrix(entries: Any) -> Any:
        return numbers.matrix(entries)

    one, sites, others = (1, 2), (1, n), (2, K)
    x = [numbers.mpf(7 * i * i - 11 * i + 3) / 8 for i in range(n)]
    return {
        "x": lambda: Indexed(x, sites),
        "u": lambda: Indexed(
            lambda k: sum((values["w"][k, i + 1] * x[i] for i in range(n)), numbers.mpf(0)), (1, K)
        ),
        "C": lambda: Indexed(lambda k, i, a: coefficients(k)[i - 1][a - 1], others, sites, one),
        "A": lambda: Indexed(rest, others, sites, sites),
        "b": lambda: Indexed(lambda k, a: S if a == 1 else T[(k,)], others, one),
        "Sp": lambda: S / numbers.sqrt(mean(S * S)),
        "Tp": lambda: Indexed(lambda k: T[(k,)] / numbers.sqrt(mean(T[(k,)] * T[(k,)])), (1, K)),
        "Sw": lambda: Indexed(image, (1, K), sites),
        "S0w": lambda: Indexed(lambda k, i: values["E0"](X[(i,)] * T[(k,)]), (1, K), sites),
        "Cmat": lambda: lambda k: matrix(coefficients(k)),
        "U": lambda: Indexed(
            lambda k, a, j: values["w"][1 if a == 1 else k, j], others, one, sites
        ),
        "Umat": lambda: lambda k: matrix(rows(k)),
        "Covmat": lambda: (
            lambda k: matrix(
                [[mean(S * S), mean(S * T[(k,)])], [mean(S * T[(k,)]), mean(T[(k,)] * T[(k,)])]]
            )
        ),
        "Sigma1mat": lambda: matrix(
            [[values["Sigma1"][i, j] for j in range(1, n + 1)] for i in range(1, n + 1)]
        ),
        "W": lambda: lambda k: matrix([values["w"][k, j] for j in range(1, n + 1)]),
        "SW": lambda: lambda k: matrix([[image(1, i), image(k, i)] for i in range(1, n + 1)]),
        "TX": lambda: lambda k: matrix(kept(k)),
        "Tb": lambda: lambda k: matrix(kept_scalars(k)),
    }
