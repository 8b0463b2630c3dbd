"""Which rule integrates a component, behind one face: cost, value, description."""

from __future__ import annotations

from typing import Any, Protocol

from flint import arb

from symderiv.precision.component import Component
from symderiv.precision.summation import evaluations, trapezoid_sum
from symderiv.precision.trapezoid import Plan, plan
from symderiv.precision.working import working_bits

__all__ = ["Rule", "Trapezoid", "rule_of"]


class Rule(Protocol):
    """Integrates one component."""

    component: Component

    @property
    def dimension(self) -> int:
        """The number of normals that are integrated over numerically."""

    def cost(self, accuracy: float) -> float:
        """About how often a one-variable function is evaluated."""

    def evaluated(self, accuracy: float) -> tuple[Any, Any]:
        """The expectation as a ball of a radius of about exp(-accuracy) times the second number.

        The second number bounds the expectation of the modulus.
        """

    name: str

    def points(self) -> int:
        """How many evaluations the last value took."""

    def details(self) -> tuple[str, str]:
        """The rule in a sentence and its bound as LaTeX."""


class Trapezoid:
    """The trapezoid rule for smooth factors."""

    name = "trapezoid quadrature"

    def __init__(self, component: Component) -> None:
        self.component = component
        self.dimension = component.dimension
        self._plans: dict[float, Plan] = {}
        self._last: Plan | None = None

    def _plan(self, accuracy: float) -> Plan:
        if accuracy not in self._plans:
            self._plans[accuracy] = plan(self.component, accuracy)
        return self._plans[accuracy]

    def cost(self, accuracy: float) -> float:
        """See :class:`Rule`."""
        return evaluations(self.component, self._plan(accuracy)) if self.dimension else 0.0

    def evaluated(self, accuracy: float) -> tuple[Any, Any]:
        """See :class:`Rule`."""
        found = self._last = self._plan(accuracy)
        bits = found.bits()
        value = trapezoid_sum(self.component, found, bits)
        with working_bits(bits):
            return value + arb(0, found.bound), found.scale

    def points(self) -> int:
        """See :class:`Rule`."""
        assert self._last is not None
        return int(evaluations(self.component, self._last)) if self.dimension else 0

    def details(self) -> tuple[str, str]:
        """See :class:`Rule`."""
        found = self._last
        assert found is not None
        steps = ", ".join(f"h_{{{i + 1}}} = {h:.4f}" for i, h in enumerate(found.steps))
        widths = ", ".join(f"{s.width:.4g}" for s in found.strips)
        power = float(found.bound.log()) / 2.302585092994046
        sentence = (
            f"Trapezoid rule with ${steps}$ and {int(found.points)} nodes. The factors are"
            f" analytic and bounded for $|\\operatorname{{Im}} z| \\leq {widths}$ (proved by ball"
            " arithmetic on cells); shifting the contours by that much bounds the error, nodes"
            " left out and rounding included"
        )
        return sentence, rf"\text{{error}} \leq 10^{{{power:.1f}}}"


def rule_of(component: Component) -> Rule:
    """The rule for a component."""
    return Trapezoid(component)
