r"""The trapezoid rule for expectations of products of analytic functions, with a proved bound.

The fields are :math:`z_a = \mu_a + \sum_i L_{ai} t_i` with independent standard normal t_1 … t_d;
the integrand is a polynomial in t times :math:`\prod_a f_a(z_a)`. Each factor obeys
:math:`|f_a(x+iy)| \le A_a e^{b_a|x|}` for :math:`|y| \le Y_a`
(:mod:`symderiv.precision.quadrature.strip`), so for :math:`a_i = \min_a Y_a/|L_{ai}|` the integrand
at :math:`t + i y e_i`, :math:`|y| \le a_i`, is at most :math:`M \prod_j e^{\beta_j |t_j|}`,
:math:`\beta_j = \sum_a b_a |L_{aj}|`.

**One dimension.** The nodes are n h, |n| <= N, and T = (N + 1/2) h. The sum is a contour integral
around the rectangle |Re t| <= T, |Im t| <= a; with q(y) = exp(2π y/h),

.. math:: \Big|\sum_n h\, f(nh) - \int_{-T}^{T} f\Big| \le
   \sum_\pm \frac{\int |f(x \pm i a)| dx}{q(a) - 1}
   + \sum_{\text{4 half sides}} \int_0^a \frac{|f(\pm T \pm iy)|}{q(y)}\, dy .

With the density :math:`\varphi(t+iy) = \varphi(t) e^{y^2/2}` in size, and
:math:`y^2/2 - 2\pi y/h \le -y(2\pi/h - a/2)`, this is at most M times
:math:`e = 2 e^{a^2/2} K/(q(a)-1) + 4 \varphi(T) e^{\beta T}/(2\pi/h - a/2)`,
:math:`K = \int \varphi e^{\beta|t|} = e^{\beta^2/2}(1 + \operatorname{erf}(\beta/\sqrt2))`, and
what is beyond T at most M times :math:`r = e^{\beta^2/2}\operatorname{erfc}((T-\beta)/\sqrt2)`.
(A power of t is covered by exp(c|t|); on the shifted lines it costs exp(c y) more.)

**Several dimensions,** one after the other: the total error is at most
:math:`M \sum_i (e_i + r_i) \prod_{j \ne i} (K_j + 2 h_j e^{\beta_j^2/2}/\sqrt{2\pi})`, the last
factor bounding sums and integrals alike (a function with one maximum per half line). Nodes outside
the ball |t| <= R are dropped; there the density times the bound decreases outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from flint import arb

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import bits_below, working_bits
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.strip import Strip, strips_for

_BITS: Final = 64
_POWER_RATE: Final = 0.5  # t**k is covered by exp(|t|/2)
_ROUNDS: Final = 12


@dataclass(frozen=True)
class StepPlan:
    """The steps and numbers of nodes of a rule, with its proved error.

    Args:
        strips: One per factor.
        steps: h per dimension.
        nodes: N per dimension: nodes n h, |n| <= N.
        radius: Nodes outside this ball are left out.
        bound: Proved bound of the difference between the sum and the expectation.
        scale: Proved bound of the expectation of the integrand's modulus.
        points: About how many nodes are in the ball.
        choice: The index of the strip taken for each factor.
    """

    strips: tuple[Strip, ...]
    steps: tuple[float, ...]
    nodes: tuple[int, ...]
    radius: float
    bound: arb
    scale: arb
    points: float
    choice: tuple[int, ...]

    def bits(self) -> int:
        """Return the precision at which rounding is below the bound."""
        return bits_below(self.bound, self.scale, math.log2(self.points + 1) + 40)


def plan(component: FactorComponent, accuracy: float) -> StepPlan:
    """Return the cheapest rule found for an error below exp(-accuracy) times the integrand's scale.

    Args:
        component: The component with smooth factors.
        accuracy: Natural logarithm, positive.

    Raises:
        NotYetError: No analytic strip, or no bound of the growth, was found.
        ToleranceError: No rule was found.
    """
    with working_bits(_BITS):
        planner = _StepPlanner(component, accuracy)
        count = len(component.factors)
        best = min((planner.plan([k] * count) for k in range(planner.sizes)), key=_points)
        if count > 1:
            # then vary the strip of each factor by itself, once
            for a in range(count):
                choice = best.choice
                near = [k for k in (choice[a] - 1, choice[a] + 1) if 0 <= k < planner.sizes]
                tries = [planner.plan([*choice[:a], k, *choice[a + 1 :]]) for k in near]
                best = min([best, *tries], key=_points)
        return best


def _points(found: StepPlan) -> float:
    return found.points


class _StepPlanner:
    def __init__(self, component: FactorComponent, accuracy: float) -> None:
        self.component = component
        self.accuracy = accuracy
        self.d = component.dimension
        self.loading = [[abs(ball).upper() for ball in row] for row in component.loading(_BITS)]
        self.mean = [abs(m).upper() for m in component.means(_BITS)]

    sizes = 16

    def plan(self, choice: list[int]) -> StepPlan:
        """Return the rule that uses the given strip of each factor."""
        reach = math.sqrt(2 * (self.accuracy + 20)) + 4
        for _ in range(_ROUNDS):
            known = [self._strips(k, reach) for k in range(len(self.loading))]
            chosen = [s[min(k, len(s) - 1)] for s, k in zip(known, choice, strict=True)]
            plan = self._with(chosen, [s[-1] for s in known], tuple(choice))
            needed = max(
                ((n + 0.5) * h for n, h in zip(plan.nodes, plan.steps, strict=True)), default=0.0
            )
            if needed <= reach:
                return plan
            reach = 1.2 * needed
        raise ToleranceError("the integrand grows too fast for the trapezoid rule")

    def _strips(self, factor: int, reach: float) -> tuple[Strip, ...]:
        row = [float(v) for v in self.loading[factor]]
        widest = math.sqrt(2 * self.accuracy + 20) * max(row)
        span = float(self.mean[factor]) + sum(row) * reach + 2 * widest
        deviation = math.sqrt(sum(v * v for v in row))
        function = self.component.factors[factor].function
        return strips_for(function, widest, span, deviation, self.accuracy)

    def _with(self, chosen: list[Strip], narrow: list[Strip], choice: tuple[int, ...]) -> StepPlan:
        d, pi, root = self.d, arb.pi(), (2 * arb.pi()).sqrt()
        powers = self.component.powers
        beta, heights = self._rates(chosen), self._heights(chosen)
        real = size = self.component.polynomial_size(_POWER_RATE)
        for s, t, mean in zip(chosen, narrow, self.mean, strict=True):
            size = size * s.factor * (s.rate * mean).exp()
            real = real * t.factor * (t.rate * mean).exp()
        peaks = [(b * b / 2).exp() for b in beta]
        whole = [
            peak * (1 + (b / arb(2).sqrt()).erf()) for b, peak in zip(beta, peaks, strict=True)
        ]
        # steps are below 1; this bounds sums and integrals before the steps are known
        sums = [k + 2 * peak / root for k, peak in zip(whole, peaks, strict=True)]
        scale = real
        for value in sums:
            scale = scale * value
        excess = float((size / real).log())
        share = self.accuracy + excess + math.log(4 * d) if d else 0.0
        # share is the logarithm of the ratio that the shift's decay has to reach
        steps, nodes, errors = [], [], []
        for i in range(d):
            height, h = self._step(heights[i], share, bool(powers[i]))
            b = float(beta[i])
            n = math.ceil((b + math.sqrt(2 * (share + b * b / 2) + 2)) / h)
            steps.append(h)
            nodes.append(n)
            errors.append(self._error(height, h, n, beta[i], whole[i], peaks[i], bool(powers[i])))
        bound = arb(0)
        for i, error in enumerate(errors):
            others = size
            for j in range(d):
                if j != i:
                    others = others * sums[j]
            bound = bound + error * others
        steep = sum((b * b for b in beta), arb(0)).sqrt()
        count, cell = 1, arb(1)
        for h, n in zip(steps, nodes, strict=True):
            count, cell = count * (2 * n + 1), cell * h / root
        dropped = size * count * cell
        # exp(-(R - |beta|)²/2 + |beta|²/2) times that is what the dropped nodes can amount to
        log_dropped = float((dropped / scale).log()) + float(steep) ** 2 / 2
        radius = float(steep) + math.sqrt(max(0.0, 2 * (log_dropped + self.accuracy + 2)) + 1)
        bound = bound + dropped * (-((radius - steep) ** 2) / 2 + steep**2 / 2).exp()
        ball_share = pi ** (arb(d) / 2) / (arb(d) / 2 + 1).gamma()
        inside = float(ball_share)
        for h in steps:
            inside *= radius / h
        points = min(float(count), inside) / (2 if self.component.reflects else 1)
        return StepPlan(
            tuple(chosen),
            tuple(steps),
            tuple(nodes),
            radius,
            bound.upper(),
            scale.upper(),
            points,
            choice,
        )

    def _rates(self, chosen: list[Strip]) -> list[arb]:
        """Return the exponential rate at which the product of the factors grows along each
        variable.
        """
        return [
            sum((s.rate * row[i] for s, row in zip(chosen, self.loading, strict=True)), arb(0))
            + (arb(_POWER_RATE) if self.component.powers[i] else 0)
            for i in range(self.d)
        ]

    def _heights(self, chosen: list[Strip]) -> list[float]:
        """Return the largest imaginary shift of each variable with all factors in their strips."""
        pairs = list(zip(chosen, self.loading, strict=True))
        return [
            min((s.width / float(r[i]) for s, r in pairs if float(r[i]) > 0), default=math.inf)
            for i in range(self.d)
        ]

    def _step(self, height: float, share: float, power: bool) -> tuple[float, float]:
        """Return the imaginary shift that allows the largest step, and that step."""
        best = (0.0, 0.0)
        for part in range(1, 21):
            a = min(height, math.sqrt(2 * share + 20)) * part / 20
            size = share + a * a / 2 + (_POWER_RATE * a if power else 0) + math.log(4)
            best = max(best, (2 * math.pi * a / size, a))
        # keep the step below 1, and exact in binary
        h = min(best[0], 0.99)
        return best[1], math.ldexp(math.floor(math.ldexp(h, 30)), -30) or h

    def _error(
        self, height: float, h: float, n: int, beta: arb, whole: arb, peak: arb, power: bool
    ) -> arb:
        """Return the error of one dimension, relative to the bound of the others."""
        a, step, pi = arb(height), arb(h), arb.pi()
        c = arb(_POWER_RATE) if power else arb(0)
        end = step * (2 * n + 1) / 2
        density = (-(end**2) / 2 + beta * end).exp() / (2 * pi).sqrt()
        rule = 2 * (a * a / 2 + c * a).exp() * whole / ((2 * pi * a / step).exp() - 1)
        decay = 2 * pi / step - a / 2 - c
        if not decay > 0:
            return arb.pos_inf()
        rest = peak * ((end - beta) / arb(2).sqrt()).erfc()
        return rule + 4 * density / decay + rest
