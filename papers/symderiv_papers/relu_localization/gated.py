"""Gated linear networks on finite populations: equations 80 to 113.

Inputs and gates are exact rational numbers; A, b and the flow come from sums over the population.
``wt`` is the flow of equation 85 as printed, K tau dw/dt = b - A w, by a matrix exponential.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.relu_localization.populations import FiniteClasses, Tabled

__all__ = ["exclusive", "general", "redundant", "several_structures", "two_norms"]

_ONE = ((3, -1), (1, 2), (-2, 1), (1, 1), (-1, -3))
_ZERO = ((2, 1), (-1, 2), (1, -2), (-3, 1), (2, 3))
_GATES = (
    ((1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 0, 1)),
    ((0, 1, 1), (1, 0, 0), (1, 1, 0), (0, 1, 0), (1, 0, 1)),
)
_OTHER_GATES = (
    ((1, 0, 0), (1, 1, 1), (0, 1, 0), (0, 1, 1), (1, 0, 1)),
    ((1, 1, 0), (0, 1, 1), (1, 0, 1), (1, 0, 0), (0, 0, 1)),
)
#: Three units that are open together for all inputs but two each.
_ALIKE_GATES = (
    ((1, 1, 1), (1, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 1)),
    ((1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1)),
)
_HALF = (((1,), (0,), (1,), (1,), (0,)), ((0,), (1,), (1,), (0,), (1,)))
_WEIGHTS = ((2, -1), (1, 3), (-2, 1))
# three sites for two units, so that K and n are never the same
_ONE_OF_THREE = ((3, -1, 1), (1, 2, -2), (-2, 1, 3), (1, 1, 2), (-1, -3, 1))
_ZERO_OF_THREE = ((2, 1, -1), (-1, 2, 2), (1, -2, 3), (-3, 1, 1), (2, 3, -2))
_WEIGHTS_OF_THREE = ((2, -1, 3), (1, 3, -2))

Gates = Sequence[Sequence[Sequence[int]]]


class _Network:
    """A network of K gated units: three on inputs of two sites, or two on three sites."""

    def __init__(self, gates: Gates, numbers: Any) -> None:
        self.numbers = numbers
        self.K = len(gates[0][0])
        one, zero, weights = (
            (_ONE, _ZERO, _WEIGHTS)
            if self.K == 3
            else (_ONE_OF_THREE, _ZERO_OF_THREE, _WEIGHTS_OF_THREE)
        )
        self.n = len(one[0])
        self.classes = FiniteClasses(
            [(*x, *g) for x, g in zip(one, gates[0], strict=True)],
            [(*x, *g) for x, g in zip(zero, gates[1], strict=True)],
            numbers,
        )
        self.sites = [self._coordinate(i) for i in range(self.n)]
        self.gates = [self._coordinate(self.n + k) for k in range(self.K)]
        self.label = Tabled([numbers.mpf(1)] * len(one), [numbers.mpf(0)] * len(zero))
        self.gated = [gate * site for gate in self.gates for site in self.sites]
        mean = self.classes.mean
        self.A = numbers.matrix([[mean(f * g) for g in self.gated] for f in self.gated])
        self.b = numbers.matrix([mean(f * self.label) for f in self.gated])
        self.start = numbers.matrix([numbers.mpf(x) / 4 for row in weights for x in row])

    def _coordinate(self, index: int) -> Tabled:
        return self.classes.variable(lambda sample: self.numbers.mpf(sample[index]))

    def flow(self, k: int, i: int) -> Any:
        """-dL/dw_ki of the loss of equation 3 with the output of equation 80."""
        place = (k - 1) * self.n + i - 1

        def loss(value: Any) -> Any:
            weights = [value if a == place else self.start[a] for a in range(len(self.gated))]
            output = sum((f * w for f, w in zip(self.gated, weights, strict=True)), 0 * self.label)
            return self.classes.mean((output / self.K - self.label) ** 2) / 2

        return -self.numbers.diff(loss, self.start[place])

    def at(self, time: Any, tau: Any) -> Any:
        """w(t) of K tau dw/dt = b - A w, also where A is singular."""
        numbers, size = self.numbers, len(self.gated)
        whole = numbers.zeros(size + 1)
        for a in range(size):
            for c in range(size):
                whole[a, c] = -self.A[a, c]
            whole[a, size] = self.b[a]
        moved = numbers.expm(whole * (time / (self.K * tau)))
        start = numbers.matrix([*self.start, numbers.mpf(1)])
        return moved * start

    def smallest_loss(self) -> Any:
        """min <(w x~ - y)^2>: what is left of y outside of the span of the gated inputs."""
        mean = self.classes.mean
        basis: list[Tabled] = []
        left = self.label
        for f in self.gated:
            for known in basis:
                f = f - known * mean(f * known)
            basis.append(f / self.numbers.sqrt(mean(f * f)))
            left = left - basis[-1] * mean(left * basis[-1])
        return mean(left * left)

    def names(self) -> dict[str, Any]:
        """Return what the names of statements stand for."""
        K, n, size = self.K, self.n, self.K * self.n
        mean = self.classes.mean
        sites, units, all_ = (1, n), (1, K), (1, size)

        def given(variable: Any, event: Any) -> Any:
            return mean(variable * event) / mean(event)

        return {
            "K": K, "n": n, "D": size, "M": 7,
            "X": Indexed(self.sites, sites), "Y": self.label,
            "gate": Indexed(self.gates, units), "XT": Indexed(self.gated, all_),
            "w": Indexed(lambda k, i: self.start[(k - 1) * n + i - 1], units, sites),
            "W": Indexed(list(self.start), all_),
            "A": Indexed([[self.A[a, c] for c in range(size)] for a in range(size)], all_, all_),
            "b": Indexed(list(self.b), all_), "flow": Indexed(self.flow, units, sites),
            "E": mean, "E1": self.classes.mean1, "E0": self.classes.mean0, "P": mean,
            "Egiven": given,
        }  # fmt: skip


def _spectral(matrix: Any, source: Any, start: Any, numbers: Any) -> dict[str, Any]:
    """P, Lambda, c, u(0) and the constant C; columns of P have the sign for which C is real."""
    size = matrix.rows
    values, vectors = numbers.eigsy(matrix)
    for a in range(size):
        column = [vectors[r, a] for r in range(size)]
        c = numbers.fdot(column, source)
        u = numbers.fdot(column, start)
        if values[a] * u < c:
            for r in range(size):
                vectors[r, a] = -vectors[r, a]
    inside = (1, size)
    c = [numbers.fdot([vectors[r, a] for r in range(size)], source) for a in range(size)]
    u = [numbers.fdot([vectors[r, a] for r in range(size)], start) for a in range(size)]
    inverse = numbers.inverse(matrix)
    return {
        "Pm": Indexed([[vectors[r, a] for a in range(size)] for r in range(size)], inside, inside),
        "lam": Indexed(list(values), inside), "c": Indexed(c, inside), "u0": Indexed(u, inside),
        "C": Indexed([numbers.log(values[a] * u[a] - c[a]) for a in range(size)], inside),
        "Ainv": Indexed(
            [[inverse[r, a] for a in range(size)] for r in range(size)], inside, inside
        ),
    }  # fmt: skip


_TIMES = (Fraction(2, 3), Fraction(5))
_TAU = Fraction(7, 5)


def _moving(network: _Network, numbers: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    tau = numbers.mpf(_TAU.numerator) / _TAU.denominator
    for each in _TIMES:
        time = numbers.mpf(each.numerator) / each.denominator
        found = network.at(time, tau)
        size = network.K * network.n
        yield f"t = {each}", {"t": time, "tau": tau, "wt": Indexed(list(found)[:size], (1, size))}


def general(numbers: Any) -> Iterator[Point]:
    """Yield three units with overlapping gates."""
    network = _Network(_GATES, numbers)
    known = network.names() | _spectral(network.A, network.b, network.start, numbers)
    size = network.K * network.n
    mean1, mean0 = network.classes.mean1, network.classes.mean0
    both = numbers.matrix(
        [[mean1(f * g) + mean0(f * g) for g in network.gated] for f in network.gated]
    )
    inverse = numbers.inverse(both)
    best = numbers.lu_solve(network.A, network.b)
    known |= {
        "Binv": Indexed(
            [[inverse[a, c] for c in range(size)] for a in range(size)], (1, size), (1, size)
        ),
        "best": Indexed(list(best), (1, size)), "LOLS": network.smallest_loss(),
    }  # fmt: skip
    for label, moving in _moving(network, numbers):
        yield Point(f"K = 3, n = 2, ten inputs, {label}", Values(known | moving))


def several_structures(numbers: Any) -> Iterator[Point]:
    """Gates drawn from two structures: the mean over both, and each by itself."""
    networks = [_Network(gates, numbers) for gates in (_GATES, _OTHER_GATES)]
    size = networks[0].K * networks[0].n
    mixed = [
        sum((each.b[a] for each in networks), numbers.mpf(0)) / 2
        - sum((each.A[a, c] * each.start[c] for each in networks for c in range(size)), 0) / 2
        for a in range(size)
    ]
    values = networks[0].names() | {
        "G": 2, "mixed": Indexed(mixed, (1, size)),
        "bg": Indexed([list(each.b) for each in networks], (1, 2), (1, size)),
        "Ag": Indexed(
            lambda g, a, c: networks[g - 1].A[a - 1, c - 1], (1, 2), (1, size), (1, size)
        ),
    }  # fmt: skip
    yield Point("two structures of K = 3 gates", Values(values))


def two_norms(numbers: Any) -> Iterator[Point]:
    """Yield two structures, the norm of A larger in the second, and how much is left of w(0) -
    w(inf).
    """
    for gates in (_GATES, _OTHER_GATES):
        networks = [_Network(each, numbers) for each in (gates, _ALIKE_GATES)]
        norms, left = [], []
        for each in networks:
            best = numbers.lu_solve(each.A, each.b)
            moved = each.at(numbers.mpf(40), numbers.one)
            size = range(each.K * each.n)
            norms.append(numbers.sqrt(numbers.fsum([x * x for x in each.A])))
            after = numbers.fsum([(moved[a] - best[a]) ** 2 for a in size])
            before = numbers.fsum([(each.start[a] - best[a]) ** 2 for a in size])
            left.append(numbers.sqrt(after / before))
        values = {"norm": Indexed(norms, (1, 2)), "left": Indexed(left, (1, 2))}
        yield Point("gates that overlap little, gates that are nearly alike", Values(values))


def _of_first(network: _Network, numbers: Any, start: Any) -> dict[str, Any]:
    n = network.n
    return _spectral(network.A[:n, :n], network.b[:n], start, numbers)


def exclusive(numbers: Any) -> Iterator[Point]:
    """Yield two units whose gates are never open together."""
    gates = [[(g, 1 - g) for (g,) in part] for part in _HALF]
    network = _Network(gates, numbers)
    known = network.names() | _of_first(network, numbers, network.start[: network.n])
    limit = numbers.lu_solve(network.A[: network.n, : network.n], network.b[: network.n])
    known["winf"] = Indexed(list(limit), (1, network.n))
    for label, moving in _moving(network, numbers):
        yield Point(f"K = 2, gates g and 1 - g, {label}", Values(known | moving))


def redundant(numbers: Any) -> Iterator[Point]:
    """Yield two units with the same gates and different initial weights."""
    gates = [[(g, g) for (g,) in part] for part in _HALF]
    network = _Network(gates, numbers)
    n, first, second = network.n, network.start[: network.n], network.start[network.n :]
    doubled, halves = network.A[:n, :n] * 2, (first + second) / 2
    known = network.names() | _of_first(network, numbers, first)
    # the mean of both obeys the flow with 2 A_11
    mean = _spectral(doubled, network.b[:n], halves, numbers)
    known |= {"Cmean": mean["C"], "Pmean": mean["Pm"], "lam2": mean["lam"]}
    # what equation 112 needs at t = 0
    printed = _spectral(doubled, network.b[:n], first, numbers)
    known |= {"C": printed["C"], "Pm": printed["Pm"]}
    known["Delta"] = Indexed(list((first - second) / 2), (1, n))
    for label, moving in _moving(network, numbers):
        yield Point(f"K = 2, the same gate twice, {label}", Values(known | moving))
