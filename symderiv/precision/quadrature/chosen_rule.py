"""The choice of a rule that integrates a component: cost, value, description."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from flint import arb

from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.gauss_legendre import PanelPlan, panel_plan, panel_sum
from symderiv.precision.quadrature.lattice import LatticePlan, lattice_plan, lattice_sum
from symderiv.precision.quadrature.summation import evaluations, trapezoid_sum
from symderiv.precision.quadrature.trapezoid import StepPlan, plan

_LATTICE: Final = (3, 4)


class CertifiedRule(Protocol):
    """Integrates one component."""

    component: FactorComponent

    @property
    def dimension(self) -> int:
        """The number of normals that are integrated over numerically."""

    def cost(self, accuracy: float) -> float:
        """Return about how often a one-variable function is evaluated."""

    def evaluated(self, accuracy: float) -> tuple[arb, arb]:
        """Return the expectation as a ball of a radius of about exp(-accuracy) times the second
        number.

        The second number bounds the expectation of the modulus.
        """

    @property
    def name(self) -> str:
        """Description of the rule, for people."""

    def points(self) -> int:
        """Return how many evaluations the last value took."""

    def details(self) -> tuple[str, str]:
        """Return the rule in a sentence and its bound as LaTeX."""


class _Planned(ABC):
    """A rule with a plan for each accuracy: see :class:`CertifiedRule`."""

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
        plan = self._used = self._plan(accuracy)
        bits = plan.bits()
        value = type(self).summed(self.component, plan, bits)
        with working_bits(bits):
            return value + arb(0, plan.bound), plan.scale

    def cost(self, accuracy: float) -> float:
        """Return the cost of products of matrices, which are cheap."""
        return _matrix_cost(self._plan(accuracy).counts())

    def points(self) -> int:
        return math.prod(self._used.counts())

    def details(self) -> tuple[str, str]:
        bound = float(self._used.bound.log()) / math.log(10)
        return self._sentence(self._used), rf"\text{{error}} \leq 10^{{{bound:.1f}}}"

    @abstractmethod
    def _sentence(self, found: Any) -> str:
        """Return what a plan is."""


class Trapezoid(_Planned):
    """The trapezoid rule for smooth factors."""

    name = "trapezoid quadrature"
    made, summed = staticmethod(plan), staticmethod(trapezoid_sum)

    def cost(self, accuracy: float) -> float:
        return evaluations(self.component, self._plan(accuracy)) if self.dimension else 0.0

    def points(self) -> int:
        return int(evaluations(self.component, self._used)) if self.dimension else 0

    def _sentence(self, found: StepPlan) -> str:
        nodes = f"{int(found.points)} nodes"
        return f"Trapezoid rule with ${_steps(found)}$ and {nodes}. {_analytic(found)}"


class Panels(_Planned):
    """Gauss-Legendre panels for factors with kinks."""

    name = "Gauss-Legendre quadrature between kinks"
    made, summed = staticmethod(panel_plan), staticmethod(panel_sum)

    def _sentence(self, found: PanelPlan) -> str:
        panels = " and ".join(
            f"{len(row)} panels with {count} nodes"
            for row, count in zip(found.panels, found.counts(), strict=True)
        )
        return (
            f"Gauss-Legendre rules on {panels}, cut at the kinks. Between kinks the factors are"
            " analytic and bounded on ellipses around the panels (proved by ball arithmetic), which"
            " bounds the error; what is left out at the ends is included"
        )


class Lattice(_Planned):
    """The trapezoid rule on a lattice of the variables."""

    name = Trapezoid.name
    made, summed = staticmethod(lattice_plan), staticmethod(lattice_sum)

    def cost(self, accuracy: float) -> float:
        return super().cost(accuracy) / (2 if self.component.reflects else 1)

    def _sentence(self, found: LatticePlan) -> str:
        counts = ", ".join(map(str, found.counts()))
        return (
            f"Trapezoid rule on a lattice of the variables themselves, steps ${_steps(found)}$,"
            f" {counts} nodes. {_analytic(found)}"
        )


class Cheapest:
    """The cheaper of two rules, anew for each accuracy."""

    def __init__(self, rules: Sequence[CertifiedRule]) -> None:
        self._rules = rules
        self._used = rules[0]
        self.component = rules[0].component
        self.dimension = rules[0].dimension

    def _best(self, accuracy: float) -> CertifiedRule:
        return min(self._rules, key=lambda rule: rule.cost(accuracy))

    @property
    def name(self) -> str:
        return self._used.name

    def cost(self, accuracy: float) -> float:
        return self._best(accuracy).cost(accuracy)

    def evaluated(self, accuracy: float) -> tuple[arb, arb]:
        self._used = self._best(accuracy)
        return self._used.evaluated(accuracy)

    def points(self) -> int:
        return self._used.points()

    def details(self) -> tuple[str, str]:
        return self._used.details()


def _steps(found: StepPlan | LatticePlan) -> str:
    return ", ".join(f"h_{{{i + 1}}} = {h:.4f}" for i, h in enumerate(found.steps))


def _analytic(found: StepPlan | LatticePlan) -> str:
    widths = ", ".join(f"{s.width:.4g}" for s in found.strips)
    return (
        f"The factors are analytic and bounded for $|\\operatorname{{Im}} z| \\leq {widths}$"
        " (proved by ball arithmetic on cells); shifting the contours by that much bounds the"
        " error, nodes left out and rounding included"
    )


def _matrix_cost(counts: Sequence[int]) -> float:
    if len(counts) <= 2:
        return float(math.prod(counts))
    # multiplications in a product of matrices are cheap, those of single numbers less so
    return 0.0016 * math.prod(counts) + 0.1 * math.prod(counts) / min(counts) + sum(counts) ** 2


def rule_of(component: FactorComponent) -> CertifiedRule:
    """Return the rule for a component."""
    if not all(f.function.smooth for f in component.factors):
        return Panels(component.merged())
    nested = Trapezoid(component)
    d = component.dimension
    if d in _LATTICE and len(component.factors) == d:
        return Cheapest([nested, Lattice(component)])
    return nested
