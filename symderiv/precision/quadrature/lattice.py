r"""The trapezoid rule on a lattice of the variables themselves, for three and four variables.

As :mod:`symderiv.precision.quadrature.trapezoid`, but with nodes z_i = mean + n h_i: every function
is needed on one line of nodes only, and the sum is a product of matrices. Shifted by iy in one
variable the density grows by :math:`e^{P_{ii}y^2/2}`, P = C^-1, so this is for variables that are
not nearly dependent. With :math:`p = (2\pi)^{-d/2}(\det C)^{-1/2}`, :math:`X_i = (N_i + 1/2) h_i`,
:math:`|f_i| \le M_i` up to height a and :math:`W_j = 2 X_j \max|f_j|` on the line, variable i
contributes at most

.. math:: p \prod_{j \ne i} W_j \; M_i \Big(\frac{4 X_i e^{P_{ii}a^2/2}}{e^{2\pi a/h_i} - 1}
   + \frac{4 e^{-X_i^2/(2C_{ii})}}{2\pi/h_i - P_{ii}a/2}\Big),

because the density at x_i = ±X_i is at most p exp(-X_i²/(2 C_ii)). What is beyond some X_i is
bounded as in :mod:`symderiv.precision.quadrature.gauss_legendre`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from flint import arb

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import bits_below, working_bits
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.contraction import inverse_covariance, mean_exp, rule_sum
from symderiv.precision.quadrature.strip import Strip, strips_for

_BITS: Final = 64
_HOELDER: Final = 10
_POWER_RATE: Final = 0.5
_ROUNDS: Final = 30


@dataclass(frozen=True)
class LatticePlan:
    """Steps and numbers of nodes (n h, |n| <= N) per variable, and the bound.

    ``bound`` and ``scale`` as in :class:`symderiv.precision.quadrature.trapezoid.StepPlan`.
    """

    strips: tuple[Strip, ...]
    steps: tuple[float, ...]
    nodes: tuple[int, ...]
    bound: arb
    scale: arb

    def counts(self) -> list[int]:
        """Return nodes per variable."""
        return [2 * n + 1 for n in self.nodes]

    def bits(self) -> int:
        """Return the precision at which rounding is below the bound."""
        return bits_below(self.bound, self.scale, 60)


def lattice_plan(component: FactorComponent, accuracy: float) -> LatticePlan:
    """Return the lattice for an error below about ``exp(-accuracy)`` times the integrand's scale.

    Raises:
        NotYetError: No analytic strip, or no bound of the growth, was found.
        ToleranceError: The integrand grows too fast.
    """
    with working_bits(_BITS):
        return _LatticePlanner(component, accuracy).plan()


class _LatticePlanner:
    def __init__(self, component: FactorComponent, accuracy: float) -> None:
        self.component, self.accuracy = component, accuracy
        self.d = component.dimension
        self.loading = [[abs(v).upper() for v in row] for row in component.loading(_BITS)]
        self.mean = [abs(m).upper() for m in component.means(_BITS)]
        self.precision, self.determinant = inverse_covariance(component, 4 * _BITS)
        self.polynomial = component.in_variables(4 * _BITS)
        self.powers = [max((k[i] for k in self.polynomial), default=0) for i in range(self.d)]
        self.deviations = [
            math.sqrt(sum(float(v) ** 2 for v in row)) * (1 + 1e-9) for row in self.loading
        ]

    def plan(self) -> LatticePlan:
        """Return the shortest ranges with which the bound is small enough."""
        reach = math.sqrt(2 * self.accuracy / (1 - 1 / _HOELDER)) + 0.5
        for _ in range(_ROUNDS):
            plan = self._within(reach)
            if plan.bound < plan.scale * (-arb(self.accuracy)).exp():
                return plan
            reach *= 1.05
        raise ToleranceError("the integrand grows too fast for the lattice")

    def _within(self, reach: float) -> LatticePlan:
        """Return the plan for ranges of this many deviations."""
        d = self.d
        known = [self._strips(i, reach) for i in range(d)]
        narrow = [widths[-1] for widths in known]
        scale, rest = self._scale_and_rest(narrow, reach)
        density = 1 / ((2 * arb.pi()) ** d * self.determinant).sqrt()
        density = density * sum((abs(v) for v in self.polynomial.values()), arb(0))
        # X is up to one and a half steps further out
        reaches = [s * reach + 1 for s in self.deviations]
        lines = [2 * x * self._largest(i, narrow[i], x, 0.0) for i, x in enumerate(reaches)]
        chosen, steps, nodes, bound = [], [], [], rest
        for i in range(d):
            others = density
            for j in range(d):
                if j != i:
                    others = others * lines[j]
            strip, a, h = self._step(i, known[i], reaches[i], float((others / scale).log()))
            n = math.ceil(self.deviations[i] * reach / h)
            largest = self._largest(i, strip, reaches[i], a)
            bound = bound + others * largest * self._error(i, a, h, n)
            chosen.append(strip)
            steps.append(h)
            nodes.append(n)
        return LatticePlan(tuple(chosen), tuple(steps), tuple(nodes), bound.upper(), scale.upper())

    def _strips(self, i: int, reach: float) -> tuple[Strip, ...]:
        widest = math.sqrt(2 * self.accuracy + 20) * self.deviations[i]
        span = float(self.mean[i]) + self.deviations[i] * reach + 2
        function = self.component.factors[i].function
        return strips_for(function, widest, span, self.deviations[i], self.accuracy)

    def _scale_and_rest(self, narrow: list[Strip], reach: float) -> tuple[arb, arb]:
        size = self.component.polynomial_size(_POWER_RATE)
        for s, mean in zip(narrow, self.mean, strict=True):
            size = size * s.factor * (s.rate * mean).exp()
        scale = moment = size
        for j in range(self.d):
            b = arb(_POWER_RATE if self.component.powers[j] else 0)
            for s, row in zip(narrow, self.loading, strict=True):
                b = b + s.rate * row[j]
            scale = scale * mean_exp(b)
            moment = moment * mean_exp(_HOELDER * b) ** (arb(1) / _HOELDER)
        tail = (arb(reach) / arb(2).sqrt()).erfc()
        return scale, self.d * moment * tail ** (1 - arb(1) / _HOELDER)

    def _largest(self, i: int, strip: Strip, reach: float, height: float) -> arb:
        """|f_i x_i^k| on the part of a strip that is used."""
        size = strip.factor * (strip.rate * (self.mean[i] + reach)).exp()
        return size * arb(max(1.0, reach + height)) ** self.powers[i]

    def _step(
        self, i: int, known: tuple[Strip, ...], reach: float, excess: float
    ) -> tuple[Strip, float, float]:
        """Return the strip, the height in it and the step, for the largest step."""
        p = float(self.precision[i, i])
        best = (known[-1], known[-1].width, 0.0)
        for strip in known:
            size = float(self._largest(i, strip, reach, strip.width).log())
            share = self.accuracy + excess + size + math.log(32 * self.d * reach)
            for part in range(1, 21):
                a = strip.width * part / 20
                h = 2 * math.pi * a / (share + p * a * a / 2)
                if h > best[2]:
                    best = (strip, a, h)
        h = min(best[2], 0.66)
        return best[0], best[1], math.ldexp(math.floor(math.ldexp(h, 30)), -30) or h

    def _error(self, i: int, height: float, h: float, n: int) -> arb:
        a, step, pi, p = arb(height), arb(h), arb.pi(), self.precision[i, i]
        end = step * (2 * n + 1) / 2
        decay = 2 * pi / step - p * a / 2
        if not decay > 0:
            return arb.pos_inf()
        rule = 4 * end * (p * a * a / 2).exp() / ((2 * pi * a / step).exp() - 1)
        variance = arb(self.deviations[i]) ** 2
        return rule + 4 * (-(end**2) / (2 * variance)).exp() / decay


def lattice_sum(component: FactorComponent, plan: LatticePlan, bits: int) -> arb:
    """Return the rule's value; see :func:`rule_sum`."""

    def row(i: int, mean: arb) -> tuple[list[arb], list[arb]]:
        value = component.factors[i].function.on_real(bits)
        step, n = arb(plan.steps[i]), plan.nodes[i]
        # opposite nodes contribute alike
        half = component.reflects and i == component.dimension - 1
        xs = [k * step for k in range(0 if half else -n, n + 1)]
        ws = [step * value(mean + x) for x in xs]
        return xs, [ws[0], *(2 * w for w in ws[1:])] if half else ws

    return rule_sum(component, row, bits)
