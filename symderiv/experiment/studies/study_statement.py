"""One step of a study in the language of statements."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from symderiv.experiment.studies.study_form import CHANCES, SIZES, StudyForm
from symderiv.formula import activation
from symderiv.keys.study_tables import LEARNING_RATES
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.learning.rule.loss import loss
from symderiv.learning.rule.stated_rule import AnySpectrum, RuleNumbers, state_rule
from symderiv.statement.language import Language
from symderiv.statement.stated_problem import Statement

_HALF = sp.Rational(1, 2)  # stands for any probability


def stated_step(
    form: StudyForm, units: tuple[int, int], chances: Mapping[str, Fraction] | None = None
) -> tuple[Statement, tuple[sp.Symbol, ...]]:
    """Return the statement of one example's step, and the symbols given with every example.

    Args:
        form: The form of the study.
        units: The numbers of students and teachers.
        chances: Probabilities by name, if steps are divided by their root mean square, an average
            of the statement that depends on them.
    """
    P, trained = Language(most=1000), form.trains[0]
    K, M = units
    heads = _named(P, "head", form.heads)
    sizes = {name: P.parameter(name, 1) for name in SIZES if name in form.present}
    rates = {name: P.parameter(name, 1) for name in LEARNING_RATES}
    biases: dict[str, Any] = {
        f"{who}_biases": _named(P, f"{who}_bias", n)
        if f"{who}_bias" in form.present
        else np.zeros(n)
        for who, n in (("student", K), ("teacher", M))
    }
    if form.trains[1]:
        biases["student_biases"] = None
    g, h = (activation(each) for each in form.activations)
    drawn = [name for name in CHANCES if name in form.present]
    of = {name: sp.Rational(chance) for name, chance in (chances or {}).items()}
    numbers = RuleNumbers(
        K=K,
        M=M,
        teacher_weights=_named(P, "c", M),
        student_weights=None if trained else _named(P, "v", K),
        heads=tuple(heads) if form.heads > 1 else (1,),
        sizes={**rates, **sizes, **{name: of.get(name, _HALF) for name in drawn}},
        **biases,
    )
    normalise: Any = "sphere" if form.sphere else "none" if chances is None else "gradient"
    rule = LearningRule(loss=loss(form.loss), target=form.target, normalise=normalise)
    state_rule(P, LearningProblem(g, h, rule), numbers, AnySpectrum())
    return P.statement, _given(P, form, M)


def _named(P: Language, name: str, count: int) -> np.ndarray:
    """Declare numbered parameters under a name."""
    return np.array([P.parameter(f"{name}{n + 1}", 1) for n in range(count)], dtype=object)


def _given(P: Language, form: StudyForm, M: int) -> tuple[sp.Symbol, ...]:
    """Return the symbols whose values are given with every example, in order."""
    varies, tasks, latent, _ = form.comes
    named = {str(symbol): symbol for symbol in P.statement.symbols.parameters}
    names = [*(LEARNING_RATES if varies else ())]
    if tasks:
        names += [f"c{n + 1}" for n in range(M)] + [f"head{h + 1}" for h in range(form.heads)]
    numbers = [named[name] for name in names]
    if latent:
        vectors = {each.name: each for each in P.statement.vectors}
        x = P.statement.inputs[0].atoms[0]
        numbers += [P.statement.symbols.product(vectors[f"B{n + 1}"], x) for n in range(M)]
    return tuple(numbers)
