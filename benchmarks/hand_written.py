"""The equations of two-layer erf networks typed from a paper, solved to 60 digits by Taylor series.

Nothing here is derived or generated: the integrals and the equations of motion are those of D. Saad
and S. A. Solla, Physical Review E 52, 4225 (1995), equations (4), (6) and (7), with output weights,
label noise and weight decay added by hand. Coefficients of the series are numbers of python-flint;
remainders are not enclosed, so that the digits are shown by steps of another length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, arb_series, ctx

__all__ = ["HandWritten", "Rule", "solution"]

_SPARE_DIGITS = 12
_LONGEST = 1.0
_TOGETHER = 8
"""Coefficients of derivatives, and so many that one evaluation gives beside the next."""
Rows = list[list[Any]]


@dataclass(frozen=True)
class Rule:
    """Rates of both layers, decay of the first one and the standard deviation of label noise."""

    eta: float
    eta_v: float = 0.0
    decay: float = 0.0
    noise: float = 0.0


@dataclass(frozen=True)
class HandWritten:
    """K students and M teachers on isotropic inputs.

    Attributes:
        T: M × M doubles, which are exact.
        teacher_weights: M doubles.
        rule: Of learning.
        linear: The activation is x, and not erf(x/√2).
    """

    T: np.ndarray
    teacher_weights: np.ndarray
    rule: Rule
    linear: bool = False

    def covariance(self, Q: Rows, R: Rows) -> Rows:
        """Return that of all fields, students first."""
        K, M = len(Q), len(self.T)
        top = [[*Q[i], *R[i]] for i in range(K)]
        low = [[*(R[i][n] for i in range(K)), *map(arb, self.T[n])] for n in range(M)]
        return top + low

    def pair(self, C: Rows, a: int, b: int) -> Any:
        """Return the mean of g(a) g(b)."""
        if self.linear:
            return C[a][b]
        return 2 / arb.pi() * (C[a][b] * ((1 + C[a][a]) * (1 + C[b][b])).rsqrt()).asin()

    def slope(self, C: Rows, roots: Rows, a: int, b: int, c: int) -> Any:
        """Return the mean of g'(a) b g(c)."""
        if self.linear:
            return C[b][c]
        return 2 / arb.pi() * roots[a][c] * (C[b][c] - C[a][b] * C[a][c] / (1 + C[a][a]))

    def slopes(self, roots: Rows, a: int, b: int) -> Any:
        """Return the mean of g'(a) g'(b)."""
        return arb(1) if self.linear else 2 / arb.pi() * roots[a][b]

    def squares(self, C: Rows, roots: Rows, a: int, b: int, weights: Sequence[Any]) -> Any:
        """Return the mean of g'(a) g'(b) times the square of a sum of all fields' g."""
        fields = range(len(C))
        if self.linear:
            return sum((weights[c] * weights[d] * C[c][d] for c in fields for d in fields), arb(0))
        one, two, ab, fourth = 1 + C[a][a], 1 + C[b][b], C[a][b], _fourth(C, a, b)
        scales = [
            fourth * (1 + C[c][c])
            - C[b][c] * C[b][c] * one
            - C[a][c] * C[a][c] * two
            + 2 * ab * C[a][c] * C[b][c]
            for c in fields
        ]
        scales = [each.rsqrt() for each in scales]
        found = arb(0)
        for c in fields:
            for d in range(c, len(C)):
                ac, ad, bc, bd = C[a][c], C[a][d], C[b][c], C[b][d]
                zeroth = fourth * C[c][d] - bc * bd * one - ac * ad * two + ab * (ac * bd + ad * bc)
                angle = (zeroth * scales[c] * scales[d]).asin()
                found = found + (1 if c == d else 2) * weights[c] * weights[d] * angle
        return 4 / (arb.pi() * arb.pi()) * roots[a][b] * found

    def rates(self, Q: Rows, R: Rows, v: list[Any]) -> tuple[Rows, Rows, list[Any]]:
        """Return the rates of Q, R and v in time."""
        K, M = len(Q), len(self.T)
        C, rule = self.covariance(Q, R), self.rule
        eta, decay, noise = arb(rule.eta), arb(rule.decay), arb(rule.noise)
        # the difference of teacher and student is a sum over all fields with these weights
        weights = [-x for x in v] + [arb(float(x)) for x in self.teacher_weights]
        fields = range(K + M)
        # what all means share is taken once, as series of sixty terms take long
        roots = [[self.linear or _fourth(C, i, c).rsqrt() for c in fields] for i in range(K)]

        def drift(i: int, other: int) -> Any:
            parts = (weights[c] * self.slope(C, roots, i, other, c) for c in fields)
            return v[i] * sum(parts, arb(0))

        def squares(i: int, k: int) -> Any:
            noisy = noise * noise * self.slopes(roots, i, k) if rule.noise else 0
            return v[i] * v[k] * (self.squares(C, roots, i, k, weights) + noisy)

        drifts = [[drift(i, other) for other in fields] for i in range(K)]
        dR = [[eta * drifts[i][K + n] - decay * R[i][n] for n in range(M)] for i in range(K)]
        dQ = [[arb(0)] * K for _ in range(K)]
        for i in range(K):
            for k in range(i, K):
                linear = eta * (drifts[i][k] + drifts[k][i]) - 2 * decay * Q[i][k]
                dQ[i][k] = dQ[k][i] = linear + eta * eta * squares(i, k)
        dv = [
            arb(rule.eta_v) * sum((weights[c] * self.pair(C, i, c) for c in fields), arb(0))
            for i in range(K)
        ]
        return dQ, dR, dv

    def error(self, Q: Rows, R: Rows, v: list[Any]) -> Any:
        """Return the generalisation error."""
        K, M = len(Q), len(self.T)
        C = self.covariance(Q, R)
        weights = [-x for x in v] + [arb(float(x)) for x in self.teacher_weights]
        pairs = [(a, b) for a in range(K + M) for b in range(K + M)]
        return sum((weights[a] * weights[b] * self.pair(C, a, b) for a, b in pairs), arb(0)) / 2


def solution(
    system: HandWritten,
    start: tuple[np.ndarray, np.ndarray, np.ndarray],
    times: Sequence[float],
    digits: int = 60,
    shorter: float = 1.0,
) -> list[tuple[Rows, Rows, list[Any], Any]]:
    """Return Q, R, v and the error at times.

    Args:
        system: The equations.
        start: Q, R and v, doubles which are exact.
        times: Ascending.
        digits: Of the solution.
        shorter: A part of the usual length of steps.
    """
    before, cap = ctx.dps, ctx.cap
    ctx.dps = digits + _SPARE_DIGITS
    try:
        Q, R, v = start
        K, M = R.shape
        y, now, found = _flat(Q, R, v), 0.0, []
        terms = int(0.9 * digits) + 6
        for time in times:
            while now < time:
                columns = _coefficients(system, K, M, y, terms)
                length = _short(shorter * _length(columns, digits))
                last = now + length >= time
                step = arb(time) - arb(now) if last else arb(length)
                y = [_value(each, step) for each in columns]
                now = time if last else now + length
            at = _apart(y, K, M)
            found.append((*at, system.error(*at)))
        return found
    finally:
        ctx.dps, ctx.cap = before, cap


def _coefficients(
    system: HandWritten, K: int, M: int, y: Sequence[arb], terms: int
) -> list[list[arb]]:
    """Return the coefficients of the solution in time, several from each evaluation of the rates.

    Rates of what is known so far have the next coefficient exactly; those after it lack what the
    missing ones change, which is linear in them.
    """

    def rates(columns: list[list[arb]], order: int) -> list[list[arb]]:
        ctx.cap = order
        found = _flat(*system.rates(*_apart([arb_series(c, order) for c in columns], K, M)))
        series = [each if isinstance(each, arb_series) else arb_series([each]) for each in found]
        return [[each[n] for n in range(order)] for each in series]

    columns = [[x] for x in y]
    for order in range(1, _TOGETHER):
        for column, rate in zip(columns, rates(columns, order), strict=True):
            column.append((rate[order - 1] / order).mid())
    slopes = _slopes(rates, columns)
    while (known := len(columns[0])) <= terms:
        last = min(known + _TOGETHER, terms)
        found = rates(columns, last)
        for order in range(known, last + 1):
            new = [rate[order - 1] for rate in found]
            for back, slope in enumerate(slopes[: order - known]):
                late = [column[order - 1 - back] for column in columns]
                for n, row in enumerate(slope):
                    new[n] += sum((m * x for m, x in zip(row, late, strict=True)), arb(0))
            for column, number in zip(columns, new, strict=True):
                column.append((number / order).mid())
    return columns


def _slopes(rates: Any, columns: list[list[arb]]) -> list[Rows]:
    """Return the coefficients in time of the derivatives of all rates by all variables.

    A power of time that is added to a variable and whose square is cut off changes rates linearly.
    """
    first, size = _TOGETHER, len(columns)
    still, moved = rates(columns, 2 * first), []
    for j in range(size):
        changed = [[*c, arb(1)] if j == n else c for n, c in enumerate(columns)]
        moved.append(rates(changed, 2 * first))
    return [
        [[moved[j][i][n] - still[i][n] for j in range(size)] for i in range(size)]
        for n in range(first, 2 * first)
    ]


def _length(columns: list[list[arb]], digits: int) -> float:
    """Return how far the last two coefficients let the series go."""
    order = len(columns[0]) - 1
    lengths = [_LONGEST]
    for back in (0, 1):
        size = max(float(abs(c[order - back]).log().mid()) for c in columns if c[order - back] != 0)
        wanted = -(digits + 2.0) * np.log(10.0)
        lengths.append(float(np.exp((wanted - size) / (order - back))))
    return min(lengths)


def _short(length: float) -> float:
    """Return a number of few bits, so that sums of times are exact."""
    return float(np.floor(length * 2.0**20) / 2.0**20)


def _value(column: Sequence[arb], time: arb) -> arb:
    found = arb(0)
    for each in reversed(column):
        found = each + time * found
    return found.mid()


def _flat(Q: Any, R: Any, v: Any) -> list[Any]:
    K, M = len(Q), len(R[0])
    own = [Q[i][k] for i in range(K) for k in range(i, K)]
    cross = [R[i][n] for i in range(K) for n in range(M)]
    return [_number(x) for x in (*own, *cross, *v)]


def _number(x: Any) -> Any:
    return x if isinstance(x, arb | arb_series) else arb(float(x))


def _apart(y: Sequence[Any], K: int, M: int) -> tuple[Rows, Rows, list[Any]]:
    entries = iter(y)
    Q: Rows = [[None] * K for _ in range(K)]
    for i in range(K):
        for k in range(i, K):
            Q[i][k] = Q[k][i] = next(entries)
    R = [[next(entries) for _ in range(M)] for _ in range(K)]
    return Q, R, list(entries)


def _fourth(C: Rows, a: int, b: int) -> Any:
    return (1 + C[a][a]) * (1 + C[b][b]) - C[a][b] * C[a][b]
