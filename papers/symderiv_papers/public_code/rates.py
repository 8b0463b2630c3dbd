"""Rates of committees by the engine's moment form, at exact states in general position."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv.precision.moments.moment_system import MomentSystem, RuleParameters, moment_module
from symderiv.problem.state import State
from symderiv_papers.references.integrals import Integrals

__all__ = ["SIZES", "Committee", "Flow", "Kept", "committees", "means", "point", "table"]

#: K, M, η.
SIZES: Final = ((2, 3, 0.75), (3, 2, 1.5))

Rows = list[list[float]]


@dataclass(frozen=True)
class Flow:
    """Rates per unit of α = examples/N; the lists are (K, K), (K, M), (K)."""

    dQ: list[list[Any]]
    dR: list[list[Any]]
    dv: list[Any]
    error: Any


@dataclass(frozen=True)
class Committee:
    """A committee and its teacher, isotropic inputs; all numbers are doubles, taken as exact.

    Args:
        gram: Covariance of the fields, students first, shape (K + M, K + M).
        v, w: Output weights of students and teachers.
        eta: Learning rate of both layers.
        activation: Of both.
        noise: Standard deviation of the labels' noise.
        decay: Weight decay κ of the first layer: J loses κJ/N per example.
    """

    gram: Rows
    v: Sequence[float]
    w: Sequence[float]
    eta: float
    activation: str
    noise: float = 0.0
    decay: float = 0.0

    @property
    def K(self) -> int:
        """Students."""
        return len(self.v)

    @property
    def M(self) -> int:
        """Teachers."""
        return len(self.w)

    def flow(self, numbers: Any, *, full: bool = True) -> Flow:
        """Return the engine's rates; ``full = False`` leaves out the terms of order η²."""
        K, G = self.K, np.array(self.gram)
        state = State(
            np.ones(1),
            np.ones(1),
            G[None, :K, :K],
            G[None, :K, K:],
            G[None, K:, K:],
            G[K:, K:],
            np.array(self.v),
            np.array(self.w),
        )
        rates = RuleParameters(self.eta, self.eta, self.decay, 0.0, self.noise, full)
        system = MomentSystem(moment_module(self.activation), state, rates, numbers)
        dQ, dR, dv = system.split(system.right_hand_side(system.start))
        return Flow(dQ[0], dR[0], list(dv), system.observables(system.start)[3])


def committees(
    activation: str,
    sizes: Sequence[tuple[int, int, float]] = SIZES,
    *,
    alike: bool = False,
) -> Iterator[Committee]:
    """Yield random overlaps, teachers correlated and not of length one.

    Args:
        activation: Of students and teachers.
        sizes: K, M, η.
        alike: Output weights 1/K and 1/M.
    """
    rng = random.Random(7)
    for K, M, eta in sizes:
        size = K + M
        rows = [[rng.randint(-8, 8) / 8 for _ in range(size + 1)] for _ in range(size)]
        gram = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
        for i in range(size):
            gram[i][i] += 0.25
        v, w = ([rng.randint(2, 12) / 8 for _ in range(units)] for units in (K, M))
        if alike:
            v, w = [1 / K] * K, [1 / M] * M
        yield Committee(gram, v, w, eta, activation)


def means(activation: str, gram: Rows, numbers: Any) -> dict[str, Callable[..., Any]]:
    """I2, I3, I4 of fields that are given by their places in the covariance, counted from 0."""
    integrals = Integrals(activation, numbers)

    def of(*fields: int) -> Any:
        used = list(dict.fromkeys(fields))
        rows = [[Fraction(gram[a][b]) for b in used] for a in used]
        return integrals.at(rows, tuple(used.index(field) for field in fields))

    return {"I2": of, "I3": of, "I4": of}


def table(rows: Any, numbers: Any) -> Indexed:
    """Return numbers with one or two indices from 1."""
    if not isinstance(rows[0], list):
        return Indexed([numbers.mpf(x) for x in rows], (1, len(rows)))
    exact = [[numbers.mpf(x) for x in row] for row in rows]
    return Indexed(exact, (1, len(rows)), (1, len(rows[0])))


def point(
    one: Committee,
    numbers: Any,
    label: str = "",
    more: Mapping[str, Any] | None = None,
    flow: Callable[[], Flow] | None = None,
) -> Point:
    """Return a committee with the names of statements.

    They are K, M, eta, sigma, kappa, v[i], w[n], Q[i, k], R[i, n], T[n, m]; the rates dQ, dR, dv
    and eps_g; dQ0 (without labels' noise and decay) and dQ1 (of these without the order η²); the
    fields lam[i] and nu[n] with their means I2, I3, I4.

    Args:
        one: The committee.
        numbers: The arithmetic.
        label: What more there is to say of it.
        more: Further names.
        flow: Rates that take the place of the committee's own.
    """
    K, M = one.K, one.M
    rows = one.gram
    plain = replace(one, noise=0.0, decay=0.0)
    own = Kept(flow or (lambda: one.flow(numbers)))
    without = Kept(lambda: plain.flow(numbers))
    values = {
        "K": K, "M": M, "eta": numbers.mpf(one.eta), "sigma": numbers.mpf(one.noise),
        "kappa": numbers.mpf(one.decay),
        "v": table(list(one.v), numbers), "w": table(list(one.w), numbers),
        "Q": table([row[:K] for row in rows[:K]], numbers),
        "R": table([row[K:] for row in rows[:K]], numbers),
        "T": table([row[K:] for row in rows[K:]], numbers),
        "lam": Indexed(list(range(K)), (1, K)), "nu": Indexed(list(range(K, K + M)), (1, M)),
        **means(one.activation, rows, numbers),
    }  # fmt: skip
    lazy = {
        "dQ": lambda: table(own().dQ, numbers),
        "dQ0": lambda: table(without().dQ, numbers),
        "dQ1": lambda: table(plain.flow(numbers, full=False).dQ, numbers),
        "dR": lambda: table(own().dR, numbers),
        "dv": lambda: table(own().dv, numbers),
        "eps_g": lambda: own().error,
    }
    text = f"K = {K}, M = {M}, eta = {one.eta:g}{label}"
    return Point(text, Values(values | dict(more or {}), lazy))


class Kept:
    """A value that is computed when it is first asked for."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._found: list[Any] = []

    def __call__(self) -> Any:
        if not self._found:
            self._found.append(self._function())
        return self._found[0]
