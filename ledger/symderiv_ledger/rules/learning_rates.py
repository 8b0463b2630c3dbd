r"""Order-parameter rates of isotropic inputs at exact states, for any activation.

For activations with closed means the rates are the engine's own moment form. For all others they
are the means over one example that define them,

.. math:: \dot R_{in} = -\eta v_i\, E[g'(x_i)\, y_n\, \delta], \quad
          \dot Q_{ik} = -\eta\, (v_i E[g'(x_i)\, x_k\, \delta] + v_k E[g'(x_k)\, x_i\, \delta])
                        + \eta^2 v_i v_k E[g'(x_i)\, g'(x_k)\, \delta^2],

and :math:`\epsilon_g = E[\delta^2]/2`, each enclosed by certified quadrature.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Final

import sympy as sp

from symderiv.formula import activation
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.precision.balls.contexts import Numbers
from symderiv_ledger.claims.claim import ComparisonRule, Point
from symderiv_ledger.rules.arithmetic import Indexed, Values
from symderiv_ledger.rules.comparison_rules import Enclosed, Exact
from symderiv_ledger.rules.exact_means import GUARD, enclosed_mean

#: Conventions on output weights, by the names that files give them.
WEIGHTS: Final = {
    "any": "any output weights v, w",
    "one": "output weights v = w = 1",
    "1/sqrt(K)": "output weights v = 1/sqrt(K), w = 1/sqrt(M)",
    "1/K": "output weights v = 1/K, w = 1/M",
}

#: K, M, η of the states at which closed rates are tried ...
_CLOSED: Final = ((2, 3, 0.75), (3, 2, 1.5), (1, 1, 0.25), (2, 2, 2.0))
#: ... and those for enclosed rates, whose cost grows with the number of units.
_ENCLOSED: Final = ((1, 1, 0.25), (1, 2, 0.75), (2, 1, 1.5))
#: States with scaled output weights that doubles represent exactly; for closed rates only.
_SCALED: Final = {
    "1/sqrt(K)": ((4, 1, 0.75), (1, 4, 1.5)),
    "1/K": ((2, 4, 0.75), (4, 1, 1.5)),
}
#: Digits of means without and with the terms of order η², which have products of four functions.
_DIGITS: Final = {False: 12, True: 6}
#: Values that are computed when they are asked for.
_Lazy = Mapping[str, Callable[[], Any]]
#: Sizes of the quantities with indices.
_SIZES: Final = {"v": "K", "w": "M", "Q": "KK", "R": "KM", "T": "MM", "dQ": "KK", "dR": "KM"}


@dataclass(frozen=True)
class LearningRates:
    """Rates of a student and a teacher."""

    student: str  # activations
    teacher: str
    full: bool  # True keeps the terms of order η²
    digits: int  # the number of digits of closed rates
    # a key of :data:`WEIGHTS`; scaled output weights are possible with closed means only
    weights: str = "any"

    @property
    def closed(self) -> bool:
        """True if their means have closed forms; finding this out takes seconds."""
        return _module(self.student, self.teacher) is not None

    @property
    def rule(self) -> ComparisonRule:
        """The rule by which statements about them are tried."""
        if not self.closed:
            return Enclosed(_DIGITS[self.full] + GUARD)
        return Exact(digits=self.digits + GUARD, lost=GUARD)

    def check_weights(self) -> None:
        """Refuse output weights with which there are no points."""
        if self.weights in _SCALED and not self.closed:
            raise InputError(f"there are no points with {WEIGHTS[self.weights]} for {self.student}")

    def points(self, numbers: Numbers) -> Iterator[Point]:
        """Yield random overlaps, K and M different, teachers correlated and not of length one.

        Raises:
            InputError: There are no points with these output weights.
        """
        self.check_weights()
        closed = self.closed
        rng = random.Random(1)
        for K, M, eta in _SCALED.get(self.weights, _CLOSED if closed else _ENCLOSED):
            size = K + M
            rows = [[rng.randint(-8, 8) / 8 for _ in range(size + 1)] for _ in range(size)]
            gram = [[sum(a * b for a, b in zip(p, q, strict=True)) for q in rows] for p in rows]
            for i in range(size):
                gram[i][i] += 0.25
            v, w = ([rng.randint(2, 12) / 8 for _ in range(units)] for units in (K, M))
            if self.weights != "any":
                power = {"one": 0.0, "1/sqrt(K)": 0.5, "1/K": 1.0}[self.weights]
                v, w = [K**-power] * K, [M**-power] * M
            exact = [[numbers.mpf(x) for x in row] for row in gram]
            values = {
                "v": [numbers.mpf(x) for x in v],
                "w": [numbers.mpf(x) for x in w],
                "Q": [row[:K] for row in exact[:K]],
                "R": [row[K:] for row in exact[:K]],
                "T": [row[K:] for row in exact[K:]],
            }
            known: dict[str, Any] = {"K": K, "M": M, "eta": numbers.mpf(eta)}
            known |= {name: _indexed(name, K, M, value) for name, value in values.items()}
            rates = (self._closed if closed else self._enclosed)(gram, v, w, eta, numbers)
            yield Point(f"K = {K}, M = {M}, eta = {eta:g}", Values(known, rates))

    def _closed(self, gram: Any, v: Any, w: Any, eta: float, numbers: Numbers) -> _Lazy:
        import numpy as np

        from symderiv.precision.moments.moment_system import MomentSystem, RuleParameters
        from symderiv.problem.state import State

        K, M, G, one = len(v), len(w), np.array(gram), np.ones(1)
        overlaps = G[None, :K, :K], G[None, :K, K:], G[None, K:, K:], G[K:, K:]
        state = State(one, one, *overlaps, np.array(v), np.array(w))
        module = _module(self.student, self.teacher)
        system = MomentSystem(module, state, RuleParameters(eta, full_order=self.full), numbers)
        dQ, dR, _ = system.split(system.right_hand_side(system.start))
        error = system.observables(system.start)[-1]
        return {
            "dQ": lambda: _indexed("dQ", K, M, dQ[0]),
            "dR": lambda: _indexed("dR", K, M, dR[0]),
            "eps_g": lambda: error,
        }

    def _enclosed(self, gram: Any, v: Any, w: Any, eta: float, numbers: Numbers) -> _Lazy:
        example = _ExampleMeans(self.student, self.teacher, gram, v, w, numbers, _DIGITS[self.full])
        K, M, rate = len(v), len(w), numbers.mpf(eta)

        def pull(i: int, a: int) -> Any:
            return -rate * v[i] * example.force(i, a)

        def own(i: int, k: int) -> Any:
            noise = rate**2 * v[i] * v[k] * example.square(i, k) if self.full else 0
            return pull(i, k) + pull(k, i) + noise

        def table(name: str, entry: Callable[[int, int], Any], columns: range) -> Indexed:
            return _indexed(name, K, M, [[entry(i, a) for a in columns] for i in range(K)])

        return {
            "dR": lambda: table("dR", pull, range(K, K + M)),
            "dQ": lambda: table("dQ", own, range(K)),
            "eps_g": lambda: example.square() / 2,
        }


def _indexed(name: str, K: int, M: int, values: Any) -> Indexed:
    """Return a quantity with its indices."""
    return Indexed(values, *((1, {"K": K, "M": M}[size]) for size in _SIZES[name]))


@dataclass
class _ExampleMeans:
    """Means over one example; fields are numbered, students first."""

    student: str
    teacher: str
    gram: Any
    v: Any
    w: Any
    numbers: Numbers
    digits: int
    known: dict[Any, Any] = field(default_factory=dict)

    @property
    def outputs(self) -> list[tuple[int, Any]]:
        """Return field and coefficient of every term of δ."""
        K = len(self.v)
        return [*enumerate(self.v), *((K + n, -x) for n, x in enumerate(self.w))]

    def force(self, i: int, a: int) -> Any:
        """Return E[g'(x_i) z_a δ]."""
        terms = (c * self.mean(("slope", i), ("field", a), ("value", f)) for f, c in self.outputs)
        return sum(terms, self.numbers.zero)

    def square(self, *slopes: int) -> Any:
        """Return E[g'(x_i) g'(x_k) δ²] for i and k, or E[δ²] for no slopes."""
        factors = [("slope", i) for i in slopes]
        pairs = product(self.outputs, repeat=2)
        terms = (
            a * b * self.mean(*factors, ("value", f), ("value", h)) for (f, a), (h, b) in pairs
        )
        return sum(terms, self.numbers.zero)

    def mean(self, *factors: tuple[str, int]) -> Any:
        key = tuple(sorted(factors))
        if key not in self.known:
            used = sorted({place for _, place in key})
            z = {place: sp.Symbol(f"z{place}", real=True) for place in used}
            product_ = sp.Mul(*(self._factor(kind, place, z[place]) for kind, place in key))
            rows = [[sp.Rational(Fraction(self.gram[a][b])) for b in used] for a in used]
            self.known[key] = enclosed_mean(
                product_, [z[place] for place in used], sp.Matrix(rows), self.digits
            )
        return self.known[key]

    def _factor(self, kind: str, place: int, z: sp.Symbol) -> sp.Expr:
        from symderiv.gaussian.distributions import derivative, variable_of

        if kind == "field":
            return z
        text = self.student if place < len(self.v) else self.teacher
        g = activation(text).expression
        return (derivative(g) if kind == "slope" else g).subs(variable_of(g), z)


@lru_cache(maxsize=8)
def _module(student: str, teacher: str) -> Any:
    """Return the moment form of the rates in closed means; None if there are none."""
    from symderiv.precision.moments.moment_system import moment_module

    try:
        return moment_module(student, teacher)
    except NotYetError:
        return None
