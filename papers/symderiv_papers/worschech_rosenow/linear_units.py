"""Committees of linear units beside one linear unit: does the error know the network's sizes?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Values

from symderiv_papers.references.linear_network import (
    Case,
    LinearNetwork,
    exponential,
    spectral_module,
)

__all__ = [
    "units",
]

_SIZES = ((2, 3), (3, 2), (2, 2), (1, 3))
_CASE = Case((Fraction(9, 5), Fraction(1, 5)), Fraction(2, 5), Fraction(3, 2), Fraction(1, 4))


def units(convention: str) -> Callable[[Any], Iterable[Point]]:
    """Return points with the mean error of a committee and, as a function, that of one unit.

    Args:
        convention: The student's output weights, "sqrt(M)/K" or "1/sqrt" for 1/sqrt(K). The
            teacher has 1/sqrt(M), so that the mean square of its output does not depend on M.
    """

    def points(numbers: Any) -> Iterator[Point]:
        for K, M in _SIZES:
            weight = 1 / numbers.sqrt(K) if convention == "1/sqrt" else numbers.sqrt(M) / K
            network = LinearNetwork(_CASE, numbers)
            values = Values(
                {
                    "K": K,
                    "M": M,
                    "L": network.L,
                    "N": 3 * network.L,
                    "eta": network.eta,
                    "alpha": network.alpha,
                    "sigma_J": numbers.sqrt(network.variance),
                    "curve": _Curve(numbers),
                },
                {"eps_g": _Committee(network, K, M, weight)},
            )
            yield Point(f"K = {K}, M = {M}, {_CASE}", values)

    return points


class _Curve:
    """ε_g of one unit at the time of the case, for any learning rate and variance."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers

    def __call__(self, rate: Any, variance: Any) -> Any:
        network = LinearNetwork(replace(_CASE), self.numbers)
        network.eta = rate
        network.student = [self.numbers.mpf(variance)] * network.L
        return network.error(*network.at())


class _Committee:
    """The mean error of K students and M teachers, all drawn independently."""

    def __init__(self, network: LinearNetwork, K: int, M: int, weight: Any) -> None:
        self.network, self.K, self.M = network, K, M
        self.weight = weight

    def __call__(self) -> Any:
        n, L = self.network.numbers, self.network.L
        start = [
            *self._flat(self.K, self.K, lambda i, j, k: self.network.variance * int(i == j)),
            *self._flat(self.K, self.M, lambda i, j, k: n.zero),
        ]
        size = len(start)
        constant = self._derivative([n.zero] * size)
        matrix = n.matrix(size + 1, size + 1)
        for column in range(size):
            unit = [n.one if row == column else n.zero for row in range(size)]
            # overlaps of two students are one variable, written twice
            column_j, rest = divmod(column, L)
            i, j = divmod(column_j, self.K)
            if column < self.K * self.K * L and i < j:
                continue
            if column < self.K * self.K * L and i > j:
                unit[(j * self.K + i) * L + rest] = n.one
            for row, value in enumerate(self._derivative(unit)):
                matrix[row, column] = value - constant[row]
        for row, value in enumerate(constant):
            matrix[row, size] = value
        moved = exponential(matrix * self.network.alpha, n)
        state = [
            n.fsum(moved[row, column] * x for column, x in enumerate([*start, n.one]))
            for row in range(size)
        ]
        v = self._nested(state)
        Q = [[n.zero] * self.K for _ in range(self.K)]
        R = [[n.zero] * self.M for _ in range(self.K)]
        return spectral_module().observables(
            n, v.student, v.cross, v.eigenvalue, v.weight, v.T, v.v, v.v_teacher, Q, R
        )

    def _flat(self, rows: int, columns: int, value: Callable[[int, int, int], Any]) -> list[Any]:
        L = self.network.L
        return [value(i, j, k) for i in range(rows) for j in range(columns) for k in range(L)]

    def _nested(self, state: list[Any]) -> SimpleNamespace:
        n, L, K, M = self.network.numbers, self.network.L, self.K, self.M
        cut = K * K * L
        rho = self.network.eigenvalue

        def nested(flat: list[Any], columns: int) -> list[list[list[Any]]]:
            return [
                [flat[(i * columns + j) * L : (i * columns + j + 1) * L] for j in range(columns)]
                for i in range(K)
            ]

        mean = self.network.moments([n.one] * L)[1]
        return SimpleNamespace(
            student=nested(state[:cut], K),
            cross=nested(state[cut:], M),
            eigenvalue=rho,
            weight=[n.one / L] * L,
            teacher=[[[x**2 * int(m == p) for x in rho] for p in range(M)] for m in range(M)],
            T=[[mean * int(m == p) for p in range(M)] for m in range(M)],
            v=[self.weight] * K,
            v_teacher=[1 / n.sqrt(M)] * M,
        )

    def _derivative(self, state: list[Any]) -> list[Any]:
        n, L, K, M = self.network.numbers, self.network.L, self.K, self.M
        d = self._nested(
            [*self._flat(K, K, lambda i, j, k: n.zero), *self._flat(K, M, lambda i, j, k: n.zero)]
        )
        v = self._nested(state)
        spectral_module().right_hand_side(
            n, v.student, v.cross, v.v, v.eigenvalue, v.weight, v.teacher, v.T, v.v_teacher,
            self.network.eta, n.zero, n.zero, n.zero, n.zero, 1, d.student, d.cross, [n.zero] * K,
        )  # fmt: skip
        blocks = (d.student, d.cross)
        return [x for block in blocks for row in block for entry in row for x in entry[:L]]
