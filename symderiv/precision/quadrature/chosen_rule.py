"""Which rule integrates a component, behind one face: cost, value, description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Generic, Protocol, TypeVar

from flint import arb

from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.component import FactorComponent
from symderiv.precision.quadrature.gauss_legendre import PanelPlan, panel_plan, panel_sum
from symderiv.precision.quadrature.lattice import LatticePlan, lattice_plan, lattice_sum
from symderiv.precision.quadrature.summation import evaluations, trapezoid_sum
from symderiv.precision.quadrature.trapezoid import StepPlan, plan

__all__ = ["CertifiedRule", "Cheapest", "Lattice", "Panels", "Trapezoid", "rule_of"]

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
        """What was done, for people."""

    def points(self) -> int:
        """Return how many evaluations the last value took."""

    def details(self) -> tuple[str, str]:
        """Return the rule in a sentence and its bound as LaTeX."""


class _AnyPlan(Protocol):
    """What the plans of all rules have."""

    @property
    def bound(self) -> arb:
        """Of the error."""

    @property
    def scale(self) -> arb:
        """Of the expectation of the modulus."""

    def bits(self) -> int:
        """Return the bits at which rounding is below the bound."""


_Plan = TypeVar("_Plan", bound=_AnyPlan)


class _Planned(Generic[_Plan]):
    """A rule with a plan for each accuracy."""

    def __init__(self, component: FactorComponent) -> None:
        self.component = component
        self.dimension = component.dimension
        self._plans: dict[float, _Plan] = {}
        self._last: _Plan | None = None

    def _made(self, accuracy: float) -> _Plan:
        raise NotImplementedError

    def _summed(self, found: _Plan, bits: int) -> arb:
        raise NotImplementedError

    def _plan(self, accuracy: float) -> _Plan:
        if accuracy not in self._plans:
            self._plans[accuracy] = self._made(accuracy)
        return self._plans[accuracy]

    def _used(self) -> _Plan:
        assert self._last is not None
        return self._last

    def evaluated(self, accuracy: float) -> tuple[arb, arb]:
        """See :class:`Rule`."""
        found = self._last = self._plan(accuracy)
        bits = found.bits()
        value = self._summed(found, bits)
        with working_bits(bits):
            return value + arb(0, found.bound), found.scale


class Trapezoid(_Planned[StepPlan]):
    """The trapezoid rule for smooth factors."""

    name = "trapezoid quadrature"

    def _made(self, accuracy: float) -> StepPlan:
        return plan(self.component, accuracy)

    def _summed(self, found: StepPlan, bits: int) -> arb:
        return trapezoid_sum(self.component, found, bits)

    def cost(self, accuracy: float) -> float:
        """See :class:`Rule`."""
        return evaluations(self.component, self._plan(accuracy)) if self.dimension else 0.0

    def points(self) -> int:
        """See :class:`Rule`."""
        return int(evaluations(self.component, self._used())) if self.dimension else 0

    def details(self) -> tuple[str, str]:
        """See :class:`Rule`."""
        found = self._used()
        steps = ", ".join(f"h_{{{i + 1}}} = {h:.4f}" for i, h in enumerate(found.steps))
        widths = ", ".join(f"{s.width:.4g}" for s in found.strips)
        sentence = (
            f"Trapezoid rule with ${steps}$ and {int(found.points)} nodes. {_analytic(widths)}"
        )
        return sentence, _error_text(found.bound)


class Panels(_Planned[PanelPlan]):
    """Gauss-Legendre panels for factors with kinks."""

    name = "Gauss-Legendre quadrature between kinks"

    def _made(self, accuracy: float) -> PanelPlan:
        return panel_plan(self.component, accuracy)

    def _summed(self, found: PanelPlan, bits: int) -> arb:
        return panel_sum(self.component, found, bits)

    def cost(self, accuracy: float) -> float:
        """See :class:`Rule`; products of matrices are cheap."""
        return _matrix_cost(self._plan(accuracy).counts())

    def points(self) -> int:
        """See :class:`Rule`."""
        return math.prod(self._used().counts())

    def details(self) -> tuple[str, str]:
        """See :class:`Rule`."""
        found = self._used()
        panels = " and ".join(
            f"{len(row)} panels with {count} nodes"
            for row, count in zip(found.panels, found.counts(), strict=True)
        )
        sentence = (
            f"Gauss-Legendre rules on {panels}, cut at the kinks. Between kinks the factors are"
            " analytic and bounded on ellipses around the panels (proved by ball arithmetic), which"
            " bounds the error; what is left out at the ends is included"
        )
        return sentence, _error_text(found.bound)


class Lattice(_Planned[LatticePlan]):
    """The trapezoid rule on a lattice of the variables."""

    name = Trapezoid.name

    def _made(self, accuracy: float) -> LatticePlan:
        return lattice_plan(self.component, accuracy)

    def _summed(self, found: LatticePlan, bits: int) -> arb:
        return lattice_sum(self.component, found, bits)

    def cost(self, accuracy: float) -> float:
        """See :class:`Rule`."""
        return _matrix_cost(self._plan(accuracy).counts()) / (2 if self.component.reflects else 1)

    def points(self) -> int:
        """See :class:`Rule`."""
        return math.prod(self._used().counts())

    def details(self) -> tuple[str, str]:
        """See :class:`Rule`."""
        found = self._used()
        steps = ", ".join(f"h_{{{i + 1}}} = {h:.4f}" for i, h in enumerate(found.steps))
        widths = ", ".join(f"{s.width:.4g}" for s in found.strips)
        counts = ", ".join(map(str, found.counts()))
        sentence = (
            f"Trapezoid rule on a lattice of the variables themselves, steps ${steps}$, {counts}"
            f" nodes. {_analytic(widths)}"
        )
        return sentence, _error_text(found.bound)


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
        """See :class:`Rule`."""
        return self._used.name

    def cost(self, accuracy: float) -> float:
        """See :class:`Rule`."""
        return self._best(accuracy).cost(accuracy)

    def evaluated(self, accuracy: float) -> tuple[arb, arb]:
        """See :class:`Rule`."""
        self._used = self._best(accuracy)
        return self._used.evaluated(accuracy)

    def points(self) -> int:
        """See :class:`Rule`."""
        return self._used.points()

    def details(self) -> tuple[str, str]:
        """See :class:`Rule`."""
        return self._used.details()


def _analytic(widths: str) -> str:
    return (
        f"The factors are analytic and bounded for $|\\operatorname{{Im}} z| \\leq {widths}$"
        " (proved by ball arithmetic on cells); shifting the contours by that much bounds the"
        " error, nodes left out and rounding included"
    )


def _error_text(bound: arb) -> str:
    return rf"\text{{error}} \leq 10^{{{float(bound.log()) / math.log(10):.1f}}}"


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
