r"""What one example does to the weights and to their overlaps, under a rule.

Two kinds of weights move. The vectors of the first layer (J; with momentum also the velocities
U = N V) move by order 1/√N, and their overlaps in an eigenspace are followed. Output weights and
biases have learning rates that carry 1/N, and are followed themselves.

Heavy-ball momentum with 1 - β = γ/N is V ← βV - (η/N) F ξ/√N, J ← J + V. With U = N V velocities
move as the weights of plain descent do, and weights by U/N: they follow without noise of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symderiv.errors import SymderivError
from symderiv.learning.derivation import example_fields as fields
from symderiv.learning.derivation import steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import update_noise
from symderiv.learning.derivation.indexed_sums import (
    Definition,
    contract,
    derivative,
    orders,
    spread,
    terms,
    together,
)
from symderiv.learning.derivation.update import Example
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule

Updated = Callable[[Any], sp.Expr]


@dataclass(frozen=True)
class VectorUpdates:
    """The vectors of the first layer after one example."""

    rule: LearningRule = PLAIN

    @property
    def moving(self) -> Mapping[str, Updated]:
        """The vectors after the example, by their names."""
        return {"J": self.weight, "U": self.velocity} if self.rule.momentum else {"J": self.weight}

    @property
    def overlaps(self) -> tuple[Definition, ...]:
        """Overlaps that are followed."""
        velocities = fields.OF_VELOCITIES[:3] if self.rule.momentum else ()
        return (*fields.OVERLAPS[:2], *velocities)

    def weight(self, unit: Any) -> sp.Expr:
        """J_ia: descended by itself, or moved by its velocity."""
        weight = s.J[unit, s.k, s.a]
        if self.rule.momentum:
            return weight + self.velocity(unit) / s.N - s.kappa / s.N * weight
        return _descended(weight, self._force(unit), s.eta, s.kappa / s.N) + self._noise(unit)

    def velocity(self, unit: Any) -> sp.Expr:
        """U_ia, which forgets at the rate γ."""
        velocity = s.U[unit, s.k, s.a]
        return _descended(velocity, self._force(unit), s.eta, s.gamma / s.N) + self._noise(unit)

    def _force(self, unit: Any) -> sp.Expr:
        """F_i ∂x_i/∂J_ia, by the definition of the field."""
        return s.F[unit] * derivative(fields.linear_form(s.x[unit]), s.J[unit, s.k, s.a])

    def _noise(self, unit: Any) -> sp.Expr:
        if not self.rule.update_noise:
            return sp.Integer(0)
        return s.update_noise / sp.sqrt(s.N) * s.update_zeta[unit, s.k, s.a]

    @property
    def told(self) -> tuple[steps.LearningStep, ...]:
        """The new vectors."""
        weight, velocity = s.J[s.i, s.k, s.a], s.U[s.i, s.k, s.a]
        if self.rule.momentum:
            after = ((velocity, self.velocity(s.i)), (weight, self.weight(s.i)))
            return tuple(steps.Updated(name, value, value) for name, value in after)
        gradient = s.Partial(s.epsilon, weight)
        whole = _descended(weight, gradient, s.eta, s.kappa / s.N) + self._noise(s.i)
        return (steps.Updated(weight, whole, self.weight(s.i)),)

    def changes(self) -> tuple[Mapping[Definition, sp.Expr], tuple[steps.LearningStep, ...]]:
        """N times the changes of the overlaps in one example, as N tends to infinity.

        Raises:
            SymderivError: A change is larger than 1/N.
        """
        known = (*self.overlaps, *fields.FIELDS, *self._fields_of_velocities)
        found: list[steps.LearningStep] = [steps.Defined(e.name, e.value) for e in known]
        results = {}
        for definition in self.overlaps:
            change = s.Change(definition.name)
            expanded = spread(fields.change(definition, self.moving))
            found.append(steps.Substituted(change, expanded))
            if self.rule.update_noise:
                expanded = without_update_noise(expanded)
                found.append(steps.UpdateNoiseAveraged(change, expanded))
            named = fields.recognise(expanded, (*fields.OVERLAPS, *known))
            found.append(steps.Recognised(change, named))
            results[definition] = order_one(definition.name, fields.with_weights(named))
            found.append(steps.Ordered(change, results[definition]))
        return results, tuple(found)

    @property
    def _fields_of_velocities(self) -> tuple[Definition, ...]:
        return fields.OF_VELOCITIES[3:] if self.rule.momentum else ()


def without_update_noise(expression: sp.Expr) -> sp.Expr:
    """The mean over the noise that is added to the weights, which is independent of the example."""
    return contract(together(part for term in terms(expression) for part in update_noise(term)))


@dataclass(frozen=True)
class SlowWeight:
    """A weight whose learning rate carries 1/N.

    Attributes:
        weight, velocity: Names.
        rate, decay: N times the learning rate and the weight decay.
    """

    weight: sp.Indexed
    velocity: sp.Indexed
    rate: sp.Expr
    decay: sp.Expr

    def updated(self, rule: LearningRule, gradient: sp.Expr) -> Mapping[sp.Indexed, sp.Expr]:
        """What moves, after one example: the weight; with momentum its velocity before."""
        rate, decay = self.rate / s.N, self.decay / s.N
        if not rule.momentum:
            return {self.weight: _descended(self.weight, gradient, rate, decay)}
        velocity = _descended(self.velocity, gradient, rate, s.gamma / s.N)
        return {
            self.velocity: velocity,
            self.weight: self.weight + velocity / s.N - decay * self.weight,
        }

    def told(self, example: Example, gradient: sp.Expr) -> tuple[steps.LearningStep, ...]:
        """The update with the gradient named, and written out."""
        named = self.updated(example.rule, s.Partial(s.epsilon, self.weight))
        written = self.updated(example.rule, gradient)
        return tuple(steps.Updated(name, named[name], written[name]) for name in named)

    def changes(self, rule: LearningRule, force: sp.Expr) -> Mapping[sp.Indexed, sp.Expr]:
        """N times the changes in one example, before their mean is taken."""
        after = self.updated(rule, force)
        return {name: order_one(name, spread(value - name)) for name, value in after.items()}


OUTPUT_WEIGHT = SlowWeight(s.v[s.i], s.v_velocity[s.i], s.eta_v, s.kappa_v)
BIAS = SlowWeight(s.bias[s.i], s.b_velocity[s.i], s.eta_b, sp.Integer(0))
"""∂ℓ/∂b_i is F_i: a bias moves with its field."""


def _descended(weight: sp.Expr, gradient: sp.Expr, rate: sp.Expr, decay: sp.Expr) -> sp.Expr:
    return weight - rate * gradient - decay * weight


def update_steps(example: Example) -> tuple[steps.LearningStep, ...]:
    """The forces and the new weights."""
    return (
        steps.ForceFound(
            s.F[s.i],
            s.Partial(s.epsilon, s.x[s.i]),
            example.by_chain_rule(s.x[s.i]),
            example.force,
        ),
        *VectorUpdates(example.rule).told,
        *OUTPUT_WEIGHT.told(example, example.by_chain_rule(s.v[s.i])),
        *(BIAS.told(example, s.F[s.i]) if example.rule.trained_biases else ()),
    )


def order_one(of: sp.Expr, change: sp.Expr) -> sp.Expr:
    """N times the part of order 1/N of a change: the derivative by α as N tends to infinity.

    Raises:
        SymderivError: The change has a part that is larger, or of a power that does not occur.
    """
    by_order = orders(change, s.N)
    if max(by_order) != -1 or not all(power.is_Integer for power in by_order):
        raise SymderivError(f"the change of {of} has orders {list(by_order)} in N")
    return by_order[sp.Integer(-1)]
