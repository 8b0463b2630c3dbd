"""Learning problems: the activations of student and teacher, and the learning rule."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from symderiv.formula import Activation, activation
from symderiv.formula.as_function import as_function
from symderiv.learning.rule.admissible import check_real, check_real_loss
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule
from symderiv.learning.rule.loss import Loss

OUTPUT, TARGET = sp.symbols("s t", real=True)
"""The symbols of losses: the student's output and its target."""


@dataclass(frozen=True)
class LearningProblem:
    """A two-layer student that learns a two-layer teacher by one-pass stochastic gradient descent.

    Numbers of units, learning rates, label noise, weight decay and the spectrum of the inputs stay
    symbols: one derivation serves them all.

    Attributes:
        student: Activation of the student.
        teacher: Activation of the teacher.
        rule: The learning rule.

    Raises:
        FormulaError: An activation or the loss is not real everywhere.
    """

    student: Activation
    teacher: Activation
    rule: LearningRule = PLAIN

    def __post_init__(self) -> None:
        check_real(self.student, "activation")
        check_real(self.teacher, "teacher_activation")
        check_real_loss(self.loss)

    @property
    def loss(self) -> Loss:
        """The loss that gradient descent decreases."""
        return self.rule.loss

    @property
    def same_activation(self) -> bool:
        """True if student and teacher share one activation, and so every Gaussian integral."""
        return bool(self.student.expression == self.teacher.expression)

    @cached_property
    def teacher_keeps_sign(self) -> bool:
        """True if h(y) has the sign of y at points 3 % apart."""
        h = as_function(sp.Symbol("x", real=True), self.teacher.expression, "mpmath")
        points = (float(y) for y in np.geomspace(1e-6, 20.0, 600))
        return all(h(y) > 0 > h(-y) for y in points)


def learning_problem(
    student: str, teacher: str | None = None, rule: LearningRule = PLAIN
) -> LearningProblem:
    """Return the problem with activations given as names or expressions in x.

    Args:
        student: Name or expression in ``x``.
        teacher: The name or expression of the teacher's activation; by default the student's.
        rule: The learning rule.

    Raises:
        FormulaError: A formula is outside the allow-list.
    """
    own = activation(student)
    return LearningProblem(own, own if teacher is None else activation(teacher), rule)
