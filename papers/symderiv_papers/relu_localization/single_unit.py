"""One ReLU unit taught both classes: equations 116 to 147.

The split X = A X + S v is made for each class: ``AX`` is A_1 X for Y = 1 and A_0 X for Y = 0.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.relu_localization.populations import one_unit_populations
from symderiv_papers.relu_localization.references import Case, cases, values_of

__all__ = [
    "any_input",
    "gaussian",
    "gaussian_on_a_ring",
    "several_units",
    "small_weights",
    "symmetric",
]


def _gaussian_points(numbers: Any, chosen: Iterable[Case]) -> Iterator[Point]:
    for case in chosen:
        single = Case(f"{case.label}; unit 1 alone", case.w[:1], case.sigma1, case.sigma0)
        yield Point(single.label, _split(values_of(single, numbers), numbers))


def gaussian(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes, one unit."""
    yield from _gaussian_points(numbers, cases())


def gaussian_on_a_ring(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes whose covariances are diagonal in the real Fourier basis, one unit."""
    for point in _gaussian_points(numbers, cases()[1:2]):
        yield Point(point.label, _in_fourier_basis(point.values, numbers))


def small_weights(numbers: Any) -> Iterator[Point]:
    """Yield the same with weights near 0."""
    case = cases()[1]
    small = tuple(x / 100 for x in case.w[0])
    single = Case(f"{case.label}; weights near 0", (small,), case.sigma1, case.sigma0)
    values = _split(values_of(single, numbers), numbers)
    yield Point(single.label, _in_fourier_basis(values, numbers))


def any_input(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes and finite populations on a ring, symmetric about 0 or not, one
    unit.
    """
    yield from gaussian(numbers)
    for label, values in one_unit_populations(numbers):
        yield Point(label, _in_fourier_basis(_split(values, numbers), numbers))


def symmetric(numbers: Any) -> Iterator[Point]:
    """Yield populations on a ring that are symmetric about 0, and not Gaussian."""
    yield from islice(any_input(numbers), len(cases()) + 1, None)


def several_units(numbers: Any) -> Iterator[Point]:
    """Yield Gaussian classes, all units of the network."""
    for case in cases():
        yield Point(case.label, values_of(case, numbers))


def _split(values: Any, numbers: Any) -> Any:
    """Add A_c X, v_c, the variances q_c of S and means given S > 0."""
    n, X, S, Y, theta = (values[name] for name in ("n", "X", "S", "Y", "theta"))
    mean, means = values["E"], (values["E0"], values["E1"])
    sites = (1, n)
    q = [each(S * S) for each in means]
    directions = [
        [each(X[(i,)] * S) / q[c] for i in range(1, n + 1)] for c, each in enumerate(means)
    ]
    second = [
        [[each(X[(i,)] * X[(j,)]) for j in range(1, n + 1)] for i in range(1, n + 1)]
        for each in means
    ]
    opened = theta(S)
    share = mean(opened)

    def rest(i: int) -> Any:
        one, zero = directions[1][i - 1], directions[0][i - 1]
        return X[(i,)] - S * (Y * (one - zero) + zero)

    rows = {
        f"A{c}": [
            [int(i == j) - directions[c][i] * values["w"][1, j + 1] for j in range(n)]
            for i in range(n)
        ]
        for c in (0, 1)
    }
    known: dict[str, Any] = {
        "AX": Indexed(rest, sites), "v1": Indexed(directions[1], sites),
        "v0": Indexed(directions[0], sites), "q1": q[1], "q0": q[0],
        "Sigma1": Indexed(second[1], sites, sites), "Sigma0": Indexed(second[0], sites, sites),
        "A1": Indexed(rows["A1"], sites, sites), "A0": Indexed(rows["A0"], sites, sites),
        "Egiven": lambda variable: mean(variable * opened) / share,
        "P": mean, "PS": share, "P1S": mean(Y * opened) / share,
        "P0S": 1 - mean(Y * opened) / share,
        "m1": means[1](S * opened) / means[1](opened),
        "m0": means[0](S * opened) / means[0](opened),
        "w1": Indexed(lambda i: values["w"][1, i], sites),
    }  # fmt: skip
    return ChainMap(known, values)


def _in_fourier_basis(values: Any, numbers: Any) -> Any:
    """Add the real Fourier basis B, u = B^T w, and the diagonals of both covariances there."""
    n, sites = values["n"], (1, values["n"])
    columns = []
    for wave in range(n):
        turn = 2 * numbers.pi * min(wave, n - wave) / n
        function = numbers.cos if 2 * wave <= n else numbers.sin
        column = [function(turn * i) for i in range(n)]
        length = numbers.sqrt(numbers.fsum([each * each for each in column]))
        columns.append([each / length for each in column])

    def along(row: Callable[[int], Any]) -> list[Any]:
        return [numbers.fsum([column[i] * row(i + 1) for i in range(n)]) for column in columns]

    def diagonal(name: str) -> list[Any]:
        return [
            numbers.fsum(
                [
                    column[i] * column[j] * values[name][i + 1, j + 1]
                    for i in range(n)
                    for j in range(n)
                ]
            )
            for column in columns
        ]

    known = {
        "B": Indexed(lambda i, j: columns[j - 1][i - 1], sites, sites),
        "u": Indexed(along(lambda i: values["w"][1, i]), sites),
        "L1": Indexed(diagonal("Sigma1"), sites), "L0": Indexed(diagonal("Sigma0"), sites),
    }  # fmt: skip
    lazy = {"uflow": lambda: Indexed(along(lambda i: values["flow"][(i,)]), sites)}
    return ChainMap(Values(known, lazy), values)  # type: ignore[arg-type]
