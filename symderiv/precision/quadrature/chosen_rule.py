"""The choice of a rule that integrates a component: cost, value, description."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

from flint import arb

from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.gauss_legendre import (
    PanelPlan,
    few_panels,
    panel_plan,
    panel_sum,
    reflected,
)
from symderiv.precision.quadrature.summation import evaluations, trapezoid_sum
from symderiv.precision.quadrature.trapezoid import StepPlan, plan

_NESTED: Final = 2  # up to so many normals, nested sums are cheaper than panels


class CertifiedRule(ABC):
    """Integrates one component, with a plan for each accuracy.

    Attributes:
        component: The component.
        dimension: The number of normals that are integrated over numerically.
        name: The name of the rule in results.
    """

    name: str
    made: Callable[[FactorComponent, float], Any]
    summed: Callable[[FactorComponent, Any, int], arb]

    def __init__(self, component: FactorComponent) -> None:
        self.component = component
        self.dimension = component.dimension
        self._plans: dict[float, Any] = {}
        self._used: Any = None

    def _plan(self, accuracy: float) -> Any:
        if accuracy not in self._plans:
            self._plans[accuracy] = type(self).made(self.component, accuracy)
        return self._plans[accuracy]

    def evaluated(self, accuracy: float) -> tuple[arb, arb]:
        """Return the expectation as a ball, and a bound on the expectation of the modulus.

        The ball's radius is about exp(-accuracy) times this bound.
        """
        plan = self._used = self._plan(accuracy)
        bits = plan.bits()
        value = type(self).summed(self.component, plan, bits)
        with working_bits(bits):
            return value + arb(0, plan.bound), plan.scale

    def cost(self, accuracy: float) -> float:
        """Return approximately how many evaluations of one-variable functions a plan costs."""
        return _matrix_cost(self._plan(accuracy).counts())

    def points(self) -> int:
        """Return the number of evaluations that the last value took."""
        return math.prod(self._used.counts())

    def details(self) -> tuple[str, str]:
        """Return the rule in a sentence and its bound as LaTeX."""
        bound = float(self._used.bound.log()) / math.log(10)
        return self._sentence(self._used), rf"\text{{error}} \leq 10^{{{bound:.1f}}}"

    @abstractmethod
    def _sentence(self, found: Any) -> str:
        """Return a plan described in a sentence."""


class Trapezoid(CertifiedRule):
    """The trapezoid rule, for smooth factors."""

    name = "trapezoid quadrature"
    made, summed = staticmethod(plan), staticmethod(trapezoid_sum)

    def cost(self, accuracy: float) -> float:
        return evaluations(self.component, self._plan(accuracy)) if self.dimension else 0.0

    def points(self) -> int:
        return int(evaluations(self.component, self._used)) if self.dimension else 0

    def _sentence(self, found: StepPlan) -> str:
        steps = ", ".join(f"h_{{{i + 1}}} = {h:.4f}" for i, h in enumerate(found.steps))
        widths = ", ".join(f"{s.width:.4g}" for s in found.strips)
        return (
            f"Trapezoid rule with ${steps}$ and {int(found.points)} nodes. The factors are analytic"
            f" and bounded for $|\\operatorname{{Im}} z| \\leq {widths}$ (proved by ball arithmetic"
            " on cells); shifting the contours by that much bounds the error, nodes left out and"
            " rounding included"
        )


class Panels(CertifiedRule):
    """Gauss-Legendre panels, between kinks if there are any."""

    made, summed = staticmethod(panel_plan), staticmethod(panel_sum)

    def __init__(self, component: FactorComponent) -> None:
        super().__init__(component)
        self._cut = not all(f.function.smooth for f in component.factors)
        self.name = f"Gauss-Legendre quadrature{' between kinks' if self._cut else ''}"

    def _sentence(self, found: PanelPlan) -> str:
        panels = " and ".join(
            f"{len(row)} panels with {count} nodes"
            for row, count in zip(found.panels, found.counts(), strict=True)
        )
        half = "; by reflection half of the last variable's line is enough"
        return (
            f"Gauss-Legendre rules on {panels}{', cut at the kinks' if self._cut else ''}"
            f"{half if reflected(self.component) else ''}. "
            f"{'Between kinks the' if self._cut else 'The'} factors are"
            " analytic and bounded on ellipses around the panels (proved by ball arithmetic), which"
            " bounds the error; what is left out at the ends is included"
        )


def _matrix_cost(counts: Sequence[int]) -> float:
    if len(counts) <= 2:
        return float(math.prod(counts))
    # in units of an evaluation; multiplications in matrix products are cheaper than single ones
    return 0.0016 * math.prod(counts) + 0.1 * math.prod(counts) / min(counts) + sum(counts) ** 2


def rule_of(component: FactorComponent) -> CertifiedRule:
    """Return the rule for a component."""
    if not all(f.function.smooth for f in component.factors):
        return Panels(component.merged())
    if component.dimension > _NESTED and few_panels(component):
        return Panels(component)
    return Trapezoid(component)
