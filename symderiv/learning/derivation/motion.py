r"""What all order parameters do under a rule: rates, or changes in a step.

Under most rules these are the means of the changes of one example. Where weights move otherwise:

The overlaps of an eigenspace are means over its coordinates, and a step changes them in two ways:
by its mean, √N E[F_i ξ_ka] = ḡ_ika by Stein's rule, which is a combination of the weights and of
the teachers; and by the independent parts of its examples around the mean, which add up in squares.

========== ========================================================================================
batches    b = cN examples per step, J_i ← J_i - η √N/b Σ_μ F_i^μ ξ^μ: a map from step to step. The
           mean moves the weights by an amount of order one, the rest adds a term of relative size
           1/c.
gradient   the step divided by the root of the mean of its square, Σ_i F_i² |ξ|²/N.
sphere     J_i rescaled after each step so that Q_ii is what it was.
========== ========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from symderiv.errors import InputError, SymderivError
from symderiv.learning.derivation import example_fields as fields
from symderiv.learning.derivation import example_means as means
from symderiv.learning.derivation import noisy_inputs, steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import Definition, at, contract, spread
from symderiv.learning.derivation.self_averaging import self_averaged
from symderiv.learning.derivation.weight_updates import without_update_noise
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule

GRADIENT = sp.IndexedBase(sp.Symbol("gradient", real=True))[s.i, s.k, s.a]
BATCH = sp.Symbol("batch_ratio", positive=True)
"""c: examples of a step over input dimension."""
GRADIENT_SIZE = sp.Symbol("gradient_size", positive=True)
"""Root mean square of the step."""

STRETCH = sp.IndexedBase(sp.Symbol("stretch", real=True))
"""What Q_ii would grow by, over Q_ii."""


@dataclass(frozen=True)
class Motion:
    """What happens to the order parameters, for one component of the data.

    Attributes:
        rates: dα-derivatives of all fields of the state, or what one step adds to them, in the
            order of the state; in A, B, Γ and the gradients of output weights and biases.
        before: what they use besides, in the order in which it is worked out.
        mean_gradient: ḡ_ika.
        by_steps: whether the rates are changes in a step.
    """

    rates: tuple[tuple[sp.Indexed, sp.Expr], ...]
    before: tuple[tuple[sp.Expr, sp.Expr], ...] = ()
    mean_gradient: sp.Expr | None = None
    by_steps: bool = False

    @property
    def steps(self) -> tuple[steps.LearningStep, ...]:
        """How it came about."""
        kind = s.Change if self.by_steps else s.Rate
        found: list[steps.LearningStep] = []
        if self.mean_gradient is not None:
            found.append(steps.MeanGradient(GRADIENT, self.mean_gradient))
        found += [steps.Defined(name, value) for name, value in self.before]
        return (*found, *(steps.Moved(kind(field), value) for field, value in self.rates))


Rates = Mapping[sp.Indexed, sp.Expr]
"""Rates by what they are of, for one component of the data."""


def motion_of(rule: LearningRule, plain: Rates) -> Motion:
    """How the order parameters move under a rule.

    Args:
        rule: The rule; it is checked that it has one motion only.
        plain: Rates where weights follow the steps of single examples, as they are.

    Raises:
        InputError: The rule asks for two motions at once.
    """
    asked = [
        name
        for name, there in (
            ("momentum_rate", rule.momentum),
            ("batch_ratio", rule.batches),
            ("normalise", rule.normalise != "none"),
        )
        if there
    ]
    if len(asked) > 1:
        raise InputError(f"not derived together with {asked[1]}; remove one", argument=asked[0])
    if rule.batches:
        return batches(rule)
    if rule.normalise == "gradient":
        return divided_gradient(rule, plain)
    if rule.normalise == "sphere":
        return sphere(plain)
    return Motion(_in_order(plain))


def _in_order(rates: Rates) -> tuple[tuple[sp.Indexed, sp.Expr], ...]:
    """Q_k, r_k, output weights and biases, overlaps of velocities, velocities of the others."""
    slow = (s.v[s.i], s.bias[s.i], s.v_velocity[s.i], s.b_velocity[s.i])
    overlaps = [each for each in rates if each not in slow]
    order = (*overlaps[:2], *slow[:2], *overlaps[2:], *slow[2:])
    return tuple((each, rates[each]) for each in order if each in rates)


def batches(rule: LearningRule = PLAIN) -> Motion:
    """What one step of a batch of cN examples adds; noise of the update is of order one in it.

    Raises:
        SymderivError: A mean over an example is left over.
    """
    seen = noisy_inputs.added if rule.input_noise else _as_it_is

    def updated(unit: Any) -> sp.Expr:
        added = s.update_noise * s.update_zeta[unit, s.k, s.a] if rule.update_noise else 0
        return s.J[unit, s.k, s.a] - s.eta * mean_gradient(unit) + added

    examples = BATCH * s.N
    noise = examples * (s.eta * sp.sqrt(s.N) / examples) ** 2 * _forces_squared()
    student, cross = (seen(_moved(each, updated)) for each in fields.OVERLAPS[:2])
    rates = {
        _STUDENT: student + seen(means.one_component(spread(noise))),
        _CROSS: cross,
        s.v[s.i]: -s.eta_v * s.dv[s.i],
        **({s.bias[s.i]: -s.eta_b * s.db[s.i]} if rule.trained_biases else {}),
    }
    gradient = seen(means.one_component(mean_gradient(s.i)))
    return Motion(_in_order(rates), mean_gradient=gradient, by_steps=True)


def divided_gradient(rule: LearningRule, plain: Rates) -> Motion:
    """Plain descent with η over the root mean square of the step, a number that self-averages.

    The noise of an update is not divided.
    """
    power = sp.Sum(s.eigenvalue[s.k] * s.weight[s.k], (s.k, 0, s.L - 1))
    if rule.input_noise:
        power = noisy_inputs.added(power)
    square = sp.Sum(s.Gamma[s.i, s.i], (s.i, 0, s.K - 1)) * power
    rates = {of: rate.xreplace({s.eta: s.eta / GRADIENT_SIZE}) for of, rate in plain.items()}
    return Motion(_in_order(rates), ((GRADIENT_SIZE, sp.sqrt(square)),))


def sphere(plain: Rates) -> Motion:
    """Plain descent, and J_i times (Q_ii/(Q_ii + dQ_ii))^(1/2) after each step.

    Q_ii is that of inputs without the student's noise.
    """
    change, length = sp.Symbol("change", real=True), sp.Symbol("length", real=True)
    scale = sp.sqrt(length / (length + change / s.N))
    first = _first_order(scale, change)
    clean = means.one_component(fields.covariance(s.x[s.i], s.x[s.i], s.c))
    longer = sp.Sum(
        s.weight[s.k] * s.eigenvalue[s.k] * at(plain[_STUDENT], {s.j: s.i}), (s.k, 0, s.L - 1)
    )
    shrinks = -2 * first.xreplace({change: sp.Integer(1)})
    stretch = shrinks.xreplace({length: clean}) * contract(spread(longer))
    half = sp.Rational(1, 2)
    taken = {
        _STUDENT: half * (STRETCH[s.i] + STRETCH[s.j]) * _STUDENT,
        _CROSS: half * STRETCH[s.i] * _CROSS,
    }
    rates = {of: rate - taken.get(of, 0) for of, rate in plain.items()}
    return Motion(_in_order(rates), ((STRETCH[s.i], stretch),))


def mean_gradient(unit: Any) -> sp.Expr:
    """ḡ_ika = √N E_c[F_i ξ_ka], N times the gradient of the mean loss by J_ika."""
    mean = s.ComponentAverage(s.F[unit] * s.xi[s.k, s.a], s.c)
    return spread(sp.sqrt(s.N) * _named(mean))


_STUDENT = means.one_component(fields.OVERLAPS[0].name)
_CROSS = means.one_component(fields.OVERLAPS[1].name)


def _as_it_is(expression: sp.Expr) -> sp.Expr:
    return expression


def _moved(definition: Definition, updated: Callable[[Any], sp.Expr]) -> sp.Expr:
    """What the mean of a step adds to an overlap."""
    change = without_update_noise(spread(fields.change(definition, {"J": updated})))
    named = fields.with_weights(fields.recognise(change, fields.OVERLAPS))
    return means.one_component(named)


def _first_order(scale: sp.Expr, change: sp.Symbol) -> sp.Expr:
    """N times the part of order 1/N of a factor that is one for no change."""
    step = sp.Symbol("step")
    moved = scale.xreplace({1 / s.N: step})
    if moved.xreplace({step: sp.Integer(0)}) != 1:
        raise SymderivError(f"{scale} is not one without a step")
    found: sp.Expr = sp.simplify(sp.diff(moved, step).xreplace({step: sp.Integer(0)}))
    return found


def _forces_squared() -> sp.Expr:
    """E[F_i F_j Σ_a ξ_ka²/n_k], which self-averages."""
    forces = s.ComponentAverage(s.F[s.i] * s.F[s.j] * s.xi_square[s.k], s.c)
    return _named(self_averaged(forces))


def _named(mean: sp.Expr) -> sp.Expr:
    for rule in (means.named_noise, means.stein, means.named_slopes):
        mean = means.rewrite(mean, rule)
    if mean.has(s.ComponentAverage):
        raise SymderivError(f"a mean is left over: {mean}")
    return mean
