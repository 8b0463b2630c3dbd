"""Every learning rule as a statement: a few lines in the language of ``symderiv.statement``.

This is all that a learning rule is. The derivation of :mod:`symderiv.learning` does not read it;
that of :mod:`symderiv.system`, simulations and the check of generated modules do, so that each
checks the other (``tests/unit/system/test_rules_as_statements.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from symderiv.expressions import Activation
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.loss import OUTPUT, TARGET
from symderiv.statement.language import Language
from symderiv.statement.slopes import slope
from symderiv.statement.vector_expressions import norm2

__all__ = ["RuleNumbers", "exact", "state_rule"]


@dataclass(frozen=True)
class RuleNumbers:
    """The numbers of a rule: exact numbers, floats (read as decimals) or parameters.

    Attributes:
        K, M: Numbers of students and teachers.
        teacher_weights, teacher_biases: Shape (M,).
        student_weights, student_biases: Shape (K,); None where they are trained.
        learning_rate, second_layer_learning_rate, bias_learning_rate: η, η_v, η_b.
        weight_decay, second_layer_weight_decay: κ, κ_v.
        label_noise, label_flip, input_noise, update_noise: Deviations and a probability.
        keep, evaluation_scale: Probability of a kept unit, and what the judged output is scaled by.
        momentum_rate: γ of velocities; None for none.
        batch: Examples of a step.
        batch_ratio: The same over N; None for finitely many.
        input_variance: Of a coordinate of the inputs, their mean; for normalised steps.
        sobolev_weight: λ of λ |∇_ξ s - ∇_ξ t|²/2 in the loss, with gradients by the input.
        consistency_weight: λ of λ (s - a)²/2 in the loss, a the output of averaged students.
        averaging_rate: γ of the average A ← A + γ (J - A)/N of the students.
    """

    K: int
    M: int
    teacher_weights: Any
    teacher_biases: Any
    student_weights: Any = None
    student_biases: Any = None
    learning_rate: Any = 1
    second_layer_learning_rate: Any = 0
    bias_learning_rate: Any = 0
    weight_decay: Any = 0
    second_layer_weight_decay: Any = 0
    label_noise: Any = 0
    label_flip: Any = 0
    input_noise: Any = 0
    update_noise: Any = 0
    keep: Any = 1
    evaluation_scale: Any = 1
    momentum_rate: Any = None
    batch: int = 1
    batch_ratio: Any = None
    input_variance: Any = 1
    sobolev_weight: Any = 0
    consistency_weight: Any = 0
    averaging_rate: Any = 0


def state_rule(P: Language, problem: LearningProblem, numbers: RuleNumbers, model: Any) -> None:
    """State a rule.

    Students are ``J``, teachers ``B``, trained output weights ``v``, trained biases ``b``,
    velocities ``U``, ``v_velocity`` and ``b_velocity``. With ``batch = b`` a step takes b examples,
    and time counts steps.

    Args:
        P: Where it is stated.
        problem: The activations and the rule.
        numbers: Its numbers.
        model: The law of the inputs.
    """
    rule, batch = problem.rule, numbers.batch
    ratio = None if numbers.batch_ratio is None else exact(numbers.batch_ratio)
    x = P.inputs("x", model=model, episode=batch if batch > 1 else None, batch_ratio=ratio)
    J, B = P.vectors("J", numbers.K), P.vectors("B", numbers.M, fixed=True)
    v = P.scalars("v", numbers.K) if numbers.student_weights is None else numbers.student_weights
    b = P.scalars("b", numbers.K) if numbers.student_biases is None else numbers.student_biases
    v, b = _all_exact(v), _all_exact(b)
    seen: Any = x
    if numbers.input_noise:
        seen = x + exact(numbers.input_noise) * P.inputs("n", batch_ratio=ratio)
    kept: Any = 1
    if numbers.keep != 1:
        keep = exact(numbers.keep)
        kept = P.latents("kept", {0: 1 - keep, 1: keep}, numbers.K)
    g = problem.student
    clean = _taught(problem, numbers, B @ x)
    t = clean
    if numbers.label_flip:
        p = exact(numbers.label_flip)
        t = t * P.latents("flip", {-1: p, 1: 1 - p})
    if numbers.label_noise:
        t = t + exact(numbers.label_noise) * P.latents("zeta")
    s = (v * kept * g(J @ seen + b)).sum()
    loss = problem.loss.expression.subs({OUTPUT: s, TARGET: t}, simultaneous=True)
    eta = exact(numbers.learning_rate)
    if rule.normalise == "gradient":
        forces = [slope(loss, field) for field in J @ x]
        squares = P.average(sp.Add(*(force**2 for force in forces)))
        variance = exact(numbers.input_variance) + exact(numbers.input_noise) ** 2
        eta = eta / sp.sqrt(variance * squares)
    if numbers.sobolev_weight:
        weights = _all_exact(numbers.teacher_weights)
        steepness = v * kept * _slope(g, J @ seen + b)
        taught = weights * _slope(problem.teacher, B @ x + _all_exact(numbers.teacher_biases))
        loss += numbers.sobolev_weight * norm2(steepness @ J - taught @ B) / 2
    if numbers.consistency_weight:
        A = P.vectors("A", numbers.K)
        loss += numbers.consistency_weight * (s - (v * g(A @ x + b)).sum()) ** 2 / 2
        P.update({A: numbers.averaging_rate * (J.array - A.array)})
    rates: dict[Any, Any] = {J: eta}
    if numbers.student_weights is None:
        rates[v] = exact(numbers.second_layer_learning_rate)
    if numbers.student_biases is None:
        rates[b] = exact(numbers.bias_learning_rate)
    _moved(P, numbers, x.mean(loss) if batch > 1 or ratio is not None else loss, rates)
    if rule.normalise == "sphere":
        P.constrain(J, "sphere")
    shown = (v * exact(numbers.evaluation_scale) * g(J @ x + b)).sum()
    P.observe(error=(shown - clean) ** 2 / 2)


def _slope(g: Activation, fields: Any) -> Any:
    """Return g' at fields."""
    x = sp.Symbol("x", real=True)
    slope = sp.diff(g.expression, x)
    return np.array([slope.xreplace({x: field}) for field in fields], dtype=object)


def _taught(problem: LearningProblem, numbers: RuleNumbers, fields: Any) -> sp.Expr:
    """Return the target before noise: the teacher's output, or its sign."""
    weights, h = _all_exact(numbers.teacher_weights), problem.teacher
    output = (weights * h(fields + _all_exact(numbers.teacher_biases))).sum()
    if problem.rule.target != "sign":
        return output
    if numbers.M == 1 and _keeps_sign(h):
        return sp.sign(weights[0]) * sp.sign((fields + _all_exact(numbers.teacher_biases))[0])
    return sp.sign(output)


def _moved(P: Language, numbers: RuleNumbers, loss: sp.Expr, rates: dict[Any, Any]) -> None:
    """State descent, directly or by velocities, with decay and noise of the update."""
    J, *others = rates
    decays = {J: exact(numbers.weight_decay)}
    if others and numbers.student_weights is None:
        decays[others[0]] = exact(numbers.second_layer_weight_decay)
    followed: dict[Any, Any] = {}
    if numbers.momentum_rate is not None:
        followed[J] = P.vectors("U", numbers.K)
        for u in others:
            name = str(u[0]).rstrip("0123456789")
            followed[u] = P.scalars(f"{name}_velocity", numbers.K)
        for u, velocity in followed.items():
            forgotten = -exact(numbers.momentum_rate) * _entries(velocity)
            P.update({u: _entries(velocity), velocity: forgotten})
    P.descend(loss, rates, followed)
    for u, decay in decays.items():
        if decay:
            P.update({u: -decay * _entries(u)})
    if numbers.update_noise:
        size = exact(numbers.update_noise)
        for n, vector in enumerate(followed.get(J, J)):
            P.update({vector: size * P.inputs(f"noise{n + 1}")})


def _entries(family: Any) -> Any:
    """Return the vectors or scalars of a family as an array."""
    return getattr(family, "array", family)


def _keeps_sign(h: Activation) -> bool:
    """Return whether an activation has the sign of its argument: odd and increasing at zero."""
    g = h.expression
    x = sp.Symbol("x", real=True)
    odd = sp.simplify(g + g.subs(x, -x)) == 0
    return odd and all(g.subs(x, sp.Rational(n, 4)).evalf() > 0 for n in (1, 2, 4, 8, 40))


def _all_exact(values: Any) -> Any:
    """Return an array of scalars as it is, one of numbers as exact ones."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values
    return np.array([exact(each) for each in values], dtype=object)


def exact(value: Any) -> sp.Expr:
    """Return an expression as it is, and the decimal that a float is printed as."""
    if isinstance(value, sp.Expr):
        return value
    return sp.Rational(str(float(value)))
