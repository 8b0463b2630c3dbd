r"""The rules: conditioning on δ, Stein, merging of collinear signs.

Everything here works on one kind of object, the moment

    E[ ∏ z_i^{p_i} ∏ sgn(s_a) ∏ δ^{(k)}(t_b) | S ],

and rewrites it until only products of signs are left:

* δ:  E[δ(t) G | S] = p(t = 0 | S) E[G | S, t = 0]
* δ^{(k)}: Stein read backwards. From t δ^{(k-1)}(t) = -(k-1) δ^{(k-2)}(t),
  E[δ^{(k)}(t) G] = -( (k-1) E[δ^{(k-2)} G] + μ_t E[δ^{(k-1)} G]
  + Σ_j C_tj E[δ^{(k-1)} ∂_j G] ) / C_tt, which needs only C_tt > 0
* Stein:  E[z_i G] = μ_i E[G] + Σ_j C_ij E[∂_j G],  ∂ sgn(s) = 2 δ(s)
* signs of collinear variables: sgn(s) sgn(c s) = sgn(c), and with thresholds
  sgn(s) sgn(s + d) = 1 + sgn(d) (sgn(s) - sgn(s + d)).

The densities p are not multiplied out: their product depends only on the final set S.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial

import sympy as sp

from symderiv.foundation.errors import DivergentError
from symderiv.gaussian.terms import weights
from symderiv.gaussian.terms.covariance import Conditions, Gaussian
from symderiv.gaussian.terms.weights import Weight
from symderiv.gaussian.terms.working_terms import sign_of

Powers = tuple[tuple[int, int], ...]
Signs = tuple[int, ...]
Deltas = tuple[tuple[int, int], ...]
Moment = tuple[Conditions, Powers, Signs, Deltas]
Leaves = dict[tuple[Conditions, Signs], Weight]

#: Called with (rule, moment before, [(weight, moment after)]).
Witness = Callable[[str, Moment, "list[tuple[Weight, Moment]]"], None]


class Moments:
    """Reduces moments of one Gaussian to products of signs.

    Args:
        gaussian: The variables.
        witness: Called for every application of a rule.
    """

    def __init__(self, gaussian: Gaussian, witness: Witness) -> None:
        self.g = gaussian
        self.witness = witness
        self._memo: dict[Moment, Leaves] = {}
        self.symbolic: dict[int, sp.Expr] = {}

    def reduce(self, moment: Moment) -> Leaves:
        """Return the moment as Σ weight × (density of S) × E[∏ sgn | S], keyed by (S, signs)."""
        if moment not in self._memo:
            self._memo[moment] = self._reduce(moment)
        return self._memo[moment]

    def _combine(self, rule: str, before: Moment, parts: list[tuple[Weight, Moment]]) -> Leaves:
        parts = [(w, m) for w, m in parts if w]
        self.witness(rule, before, parts)
        total: Leaves = {}
        for weight, moment in parts:
            for key, value in self.reduce(moment).items():
                weights.add(total.setdefault(key, {}), weights.times(weight, value))
        return {key: value for key, value in total.items() if value}

    def _reduce(self, moment: Moment) -> Leaves:
        given, powers, signs, deltas = moment
        degree = sum(p for _, p in powers) + len(signs) + sum(k for _, k in deltas)
        if self.g.centred and degree % 2:
            self.witness("parity", moment, [])
            return {}
        for rule in (self._merge, self._delta, self._stein):
            reduced = rule(moment)
            if reduced is not None:
                return reduced
        return {(given, signs): weights.ONE}

    # -- entries as weights ----------------------------------------------------------------

    def covariance(self, given: Conditions, i: int, j: int, exponent: int = 1) -> Weight:
        """Return C_ij|S to a power as a weight."""
        if self.g.is_zero(given, i, j):
            return {}
        return weights.of_entry(("c", given, min(i, j), max(i, j)), exponent)

    def mean(self, given: Conditions, i: int) -> Weight:
        """Return μ_i|S (real and imaginary part) as a weight."""
        total: Weight = {}
        if self.g.n(given, i, self.g.real):
            weights.add(total, weights.of_entry(("m", given, i, 0)))
        if self.g.n(given, i, self.g.imaginary):
            part = weights.of_entry(("m", given, i, 1))
            weights.add(total, weights.times(part, weights.of_entry(weights.IMAGINARY)))
        return total

    def _sign(self, value: sp.Expr) -> Weight:
        """Return the sign of an exact number or expression as a weight."""
        sign = sign_of(value)
        if sign is not None:
            return {(): Fraction(sign)} if sign else {}
        key = next((k for k, e in self.symbolic.items() if e == value), len(self.symbolic))
        self.symbolic[key] = value
        return weights.of_entry(("s", key))

    # -- rules -----------------------------------------------------------------------------

    def _merge(self, moment: Moment) -> Leaves | None:
        given, powers, signs, deltas = moment
        g = self.g
        for i in signs:
            if g.is_zero(given, i, i):
                rest = tuple(a for a in signs if a != i)
                value = self._value(given, i)
                after = (given, powers, rest, deltas)
                return self._combine("certain sign", moment, [(self._sign(value), after)])
        for x, i in enumerate(signs):
            for j in signs[x + 1 :]:
                if g.collinear(given, i, j):
                    return self._merge_pair(moment, i, j)
        return None

    def _value(self, given: Conditions, i: int) -> sp.Expr:
        """Return a scalar with the sign of the mean of a variable without fluctuations."""
        algebra = self.g.algebra
        return algebra.expression(self.g.n(given, i, self.g.real)) * self._orientation(given)

    def _orientation(self, given: Conditions) -> int:
        """Return the sign of d(S), negative only after a tilt by a growing exponential."""
        if not self.g.algebra.numeric:
            return 1
        return sign_of(self.g.algebra.expression(self.g.d(given))) or 1

    def _merge_pair(self, moment: Moment, i: int, j: int) -> Leaves:
        given, powers, signs, deltas = moment
        g = self.g
        algebra = g.algebra
        cross = g.n(given, i, j)
        for t, _ in deltas:
            certain = g.collinear(given, t, i) and not (
                g.n(given, i, g.real) * g.n(given, t, t) - g.n(given, t, g.real) * g.n(given, t, i)
            )
            if certain:
                names = ", ".join(g.variables[k].latex for k in (t, i, j))
                raise DivergentError(
                    f"delta and two signs of the proportional fields {names}: the limit depends "
                    "on how the fields align; give coincident fields the same symbol"
                )
        alike = self._sign(algebra.expression(cross) * self._orientation(given))
        both = tuple(a for a in signs if a not in (i, j))
        # s_j = λ s_i + d with λ = C_ij / C_ii; sgn(s_j) = sgn(λ) sgn(s_i + d/λ).
        gap = g.n(given, j, g.real) * g.n(given, i, i) - g.n(given, i, g.real) * cross
        offset = self._sign(algebra.expression(gap * cross) * self._orientation(given))
        parts = [(alike, (given, powers, both, deltas))]
        if offset:
            keep_i = tuple(a for a in signs if a != j)
            keep_j = tuple(a for a in signs if a != i)
            parts.append((weights.times(alike, offset), (given, powers, keep_i, deltas)))
            parts.append((weights.scaled(offset, -1), (given, powers, keep_j, deltas)))
        return self._combine("collinear signs", moment, parts)

    def _delta(self, moment: Moment) -> Leaves | None:
        given, powers, signs, deltas = moment
        if not deltas:
            return None
        g = self.g
        for i, order in deltas:
            name = g.variables[i].latex
            if sum(1 for a, _ in deltas if a == i) > 1:
                raise DivergentError(
                    f"the product of delta functions at the same place (argument {name}) has no "
                    "expectation: E[delta(s)**2] diverges"
                )
            reduced = self._power_times_delta(moment, i, order)
            if reduced is not None:
                return reduced
            if i in signs:
                if order == 0:
                    self.witness("sign at zero", moment, [])
                    return {}
                raise DivergentError(
                    f"the product of sgn({name}) and a derivative of delta({name}) is not defined"
                )
            if g.is_zero(given, i, i):
                if g.n(given, i, g.real):
                    return {}
                raise DivergentError(
                    f"delta({name}) at a field that is certainly zero: the expectation diverges"
                )
        for item in deltas:
            if item[1] == 0:
                rest = tuple(d for d in deltas if d != item)
                after = (g.conditioned(given, item[0]), powers, signs, rest)
                return self._combine("delta", moment, [(weights.ONE, after)])
        return self._delta_derivative(moment, *deltas[0])

    def _power_times_delta(self, moment: Moment, i: int, order: int) -> Leaves | None:
        """Apply x^p δ^{(k)}(x) = (-1)^p k!/(k-p)! δ^{(k-p)}(x), which is zero for p > k."""
        given, powers, signs, deltas = moment
        p = dict(powers).get(i, 0)
        if not p:
            return None
        rest = tuple(item for item in powers if item[0] != i)
        if p > order:
            self.witness("power at zero", moment, [])
            return {}
        factor = Fraction((-1) ** p * factorial(order), factorial(order - p))
        others = [d for d in deltas if d[0] != i]
        after = (given, rest, signs, tuple(sorted([*others, (i, order - p)])))
        return self._combine("power at zero", moment, [({(): factor}, after)])

    def _delta_derivative(self, moment: Moment, i: int, order: int) -> Leaves:
        given, powers, signs, deltas = moment
        others = tuple(d for d in deltas if d != (i, order))

        def lowered(k: int) -> Deltas:
            return tuple(sorted([*others, (i, k)]))

        inverse = weights.scaled(self.covariance(given, i, i, -1), -1)
        parts: list[tuple[Weight, Moment]] = []
        if order >= 2:
            parts.append(
                (weights.scaled(inverse, order - 1), (given, powers, signs, lowered(order - 2)))
            )
        mean = self.mean(given, i)
        if mean:
            parts.append((weights.times(inverse, mean), (given, powers, signs, lowered(order - 1))))
        for weight, after in self._gradient(given, i, powers, signs, others):
            p, s, d = after
            full = tuple(sorted([*d, (i, order - 1)]))
            parts.append((weights.times(inverse, weight), (given, p, s, full)))
        return self._combine("delta derivative", moment, parts)

    def _stein(self, moment: Moment) -> Leaves | None:
        given, powers, signs, deltas = moment
        if not powers:
            return None
        i, p = powers[0]
        rest = ((i, p - 1), *powers[1:]) if p > 1 else powers[1:]
        parts: list[tuple[Weight, Moment]] = []
        mean = self.mean(given, i)
        if mean:
            parts.append((mean, (given, rest, signs, deltas)))
        parts += [
            (w, (given, *after)) for w, after in self._gradient(given, i, rest, signs, deltas)
        ]
        return self._combine("Stein", moment, parts)

    def _gradient(
        self, given: Conditions, i: int, powers: Powers, signs: Signs, deltas: Deltas
    ) -> list[tuple[Weight, tuple[Powers, Signs, Deltas]]]:
        """Return the moments of Σ_j C_ij ∂_j of a product, with their weights."""
        branches = []
        for k, (j, p) in enumerate(powers):
            lowered = ((j, p - 1),) if p > 1 else ()
            after = (*powers[:k], *lowered, *powers[k + 1 :])
            branches.append(
                (weights.scaled(self.covariance(given, i, j), p), (after, signs, deltas))
            )
        for j in signs:
            rest = tuple(a for a in signs if a != j)
            raised = tuple(sorted([*deltas, (j, 0)]))
            branches.append(
                (weights.scaled(self.covariance(given, i, j), 2), (powers, rest, raised))
            )
        for k, (j, order) in enumerate(deltas):
            raised = tuple(sorted([*deltas[:k], (j, order + 1), *deltas[k + 1 :]]))
            branches.append((self.covariance(given, i, j), (powers, signs, raised)))
        return [item for item in branches if item[0]]
