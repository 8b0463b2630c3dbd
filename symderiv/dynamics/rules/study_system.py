"""The learning rules of a ``Problem`` as statements of a :class:`symderiv.System`.

This is all that a learning rule is: a few lines in the language. The derivation of
:mod:`symderiv.learning` and that of :mod:`symderiv.system` share the Gaussian calculus and nothing
else, so that each checks the other (``tests/unit/system/test_rules_as_statements.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from symderiv.errors import NotClosed
from symderiv.expressions import activation
from symderiv.system.stated_system import System

if TYPE_CHECKING:
    from symderiv.dynamics.studies.study import Study

__all__ = ["system_of"]

#: Keys of rules that are no statement about one fresh example, and why.
_NO_STATEMENT = {
    "batch_ratio": "steps of cN examples move weights by amounts of order one, not 1/N",
    "schedule": "rates that depend on α are parameters of a run, not of the step",
    "task": "a sequence of tasks is a sequence of statements; state each of them",
}


def system_of(study: Study) -> System:
    """Return what a study says as a statement.

    Students are ``J``, teachers ``B``, trained output weights ``v``, trained biases ``b``,
    velocities ``U``. With ``batch = b`` a step takes b examples, and time counts steps.

    Raises:
        NotClosed: The rule is no statement about one fresh example.
    """
    training, network = study.training, study.network
    for key, reason in _NO_STATEMENT.items():
        given = study.task if key == "task" else getattr(training, key)
        if given not in (None, [], "constant"):
            raise NotClosed(f"{key}: {reason}", average="", statement=key)
    if training.normalise == "gradient":
        raise NotClosed(
            "a step divided by its root mean square contains an average in its rate",
            average="E[Σ F_i²]",
            statement='normalise = "gradient"',
        )
    P = System()
    batch = training.batch or 1
    x = P.inputs("x", model=study.data, episode=batch if batch > 1 else None)
    J, B = P.vectors("J", study.K), P.vectors("B", study.M, fixed=True)
    eta = _number(training.learning_rate) / (1 - _number(training.momentum))
    seen: Any = x
    if training.input_noise:
        seen = x + _number(training.input_noise) * P.inputs("n")
    v = _weights(P, "v", study.student_weights, network.train_second_layer)
    b = _weights(P, "b", study.student_biases, network.train_biases)
    g, h = activation(study.student_activation), activation(study.teacher_activation)
    kept: Any = 1
    if training.keep < 1:
        keep = _number(training.keep)
        kept = P.latents("kept", {0: 1 - keep, 1: keep}, study.K)
    s = (v * kept * g(J @ seen + b)).sum()
    clean = (_exact(study.teacher_weights) * h(B @ x + _exact(study.teacher_biases))).sum()
    if training.target == "sign" and study.M == 1 and _keeps_sign(h.expression):
        clean_label = sp.sign(study.teacher_weights[0]) * sp.sign((B @ x)[0])
    else:
        clean_label = sp.sign(clean)
    t = clean_label if training.target == "sign" else clean
    if training.label_flip:
        p = _number(training.label_flip)
        t = t * P.latents("flip", {-1: p, 1: 1 - p})
    if training.label_noise:
        t = t + _number(training.label_noise) * P.latents("zeta")
    loss = _loss(training.loss, s, t)
    if batch > 1:
        loss = x.mean(loss)
    rates: dict[Any, Any] = {J: eta}
    if network.train_second_layer:
        rates[v] = _number(study.second_layer_learning_rate)
    if network.train_biases:
        given = training.bias_learning_rate
        rates[b] = _number(training.learning_rate if given is None else given)
    _moved(P, study, J, loss, rates)
    if training.normalise == "sphere":
        P.constrain(J, "sphere")
    scale = training.evaluation_scale
    factor: Any = 1
    if training.keep < 1:
        factor = _number(training.keep if scale is None else scale)
    if batch == 1:
        shown = (v * factor * g(J @ x + b)).sum()
        wanted = clean_label if training.target == "sign" else clean
        P.observe(error=(shown - wanted) ** 2 / 2)
    return P


def _moved(P: System, study: Study, J: Any, loss: sp.Expr, rates: dict[Any, Any]) -> None:
    """State descent, directly or by velocities, with decay and noise of the update."""
    training = study.training
    decay = _number(training.weight_decay)
    if training.momentum_rate is None:
        P.descend(loss, rates)
        if decay:
            P.update({J: -decay * J.array})
    else:
        raise NotClosed(
            "velocities of rate 1/N need a gradient by one vector in the change of another; state "
            "it with update({J: U, U: −γ U − η F x})",
            average="",
            statement="momentum_rate",
        )
    if study.second_layer_weight_decay:
        v = next(key for key in rates if getattr(key, "size", 0) and str(key[0]).startswith("v"))
        P.update({v: -_number(study.second_layer_weight_decay) * v})
    if training.update_noise:
        size = _number(training.update_noise)
        for n, vector in enumerate(J):
            P.update({vector: size * P.inputs(f"noise{n + 1}")})


def _keeps_sign(g: sp.Expr) -> bool:
    """Return whether an activation has the sign of its argument: odd and increasing at zero."""
    x = sp.Symbol("x", real=True)
    odd = sp.simplify(g + g.subs(x, -x)) == 0
    return odd and all(g.subs(x, sp.Rational(n, 4)).evalf() > 0 for n in (1, 2, 4, 8, 40))


def _weights(P: System, name: str, values: np.ndarray, trained: bool) -> Any:
    return P.scalars(name, len(values)) if trained else _exact(values)


def _exact(values: np.ndarray) -> np.ndarray:
    return np.array([_number(each) for each in values], dtype=object)


def _number(value: float) -> sp.Expr:
    """Return the decimal that a float is printed as."""
    return sp.Rational(str(float(value)))


def _loss(name: str, s: sp.Expr, t: sp.Expr) -> sp.Expr:
    from symderiv.learning.rule.loss import OUTPUT, TARGET
    from symderiv.learning.rule.named_losses import loss

    return loss(name).expression.subs({OUTPUT: s, TARGET: t}, simultaneous=True)
