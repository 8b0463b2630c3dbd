r"""Over which Gaussian fields the means of the forces of a loss are integrals.

Exact reductions first: outputs that are linear in fields are functions of one field, labels that
are the sign of one field are averaged given the students, label noise on such a field widens it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp
from symderiv_codegen import Constant

from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.numeric_activation import NumericActivation, X
from symderiv.lowering.means.numeric_loss import NumericLoss
from symderiv.numerics.quadratures.all_forces import _over_lattice

MOST_MASKED = 8
"""The largest number of units with dropout: means are sums over all subsets of kept units."""


def over_fields(problem: LearningProblem) -> bool:
    """Return whether means of forces are no sums of means of products of activations."""
    return not problem.loss.quadratic or problem.rule.target == "sign"


@dataclass(frozen=True)
class ForceFields:
    """The fields of a problem, and where functions of them are not smooth.

    Raises:
        DivergentError: A mean force or the noise of the update does not exist.
        NotYetError: The loss has jumps that cannot be treated.
    """

    problem: LearningProblem

    def __post_init__(self) -> None:
        self.student.refuse_jumps()
        both = (self.student, self.teacher)
        g, h = (as_function(X, each.derivative(0), "mpmath") for each in both)
        self.loss.refuse_growth(g, h, self.sign_target)

    @cached_property
    def loss(self) -> NumericLoss:
        """ℓ(s, t)."""
        return NumericLoss(self.problem.loss)

    @cached_property
    def student(self) -> NumericActivation:
        """g."""
        return NumericActivation(self.problem.student.expression, self.problem.student.text)

    @cached_property
    def teacher(self) -> NumericActivation:
        """h."""
        return NumericActivation(self.problem.teacher.expression, self.problem.teacher.text)

    @property
    def sign_target(self) -> bool:
        """True if labels are the sign of the teacher's output."""
        return self.problem.rule.target == "sign"

    @property
    def flips(self) -> bool:
        """True if targets change their sign with some probability."""
        return self.problem.rule.flips

    @cached_property
    def kinked(self) -> bool:
        """True if an integrand is not smooth."""
        teacher = () if self.sign_target else self.teacher.kinks
        return bool(self.student.kinks or teacher or self.loss.kinks)

    @cached_property
    def _even(self) -> bool:
        if self.problem.rule.biases:
            return False
        if self.sign_target:
            taught = self.problem.teacher_keeps_sign
        else:
            taught = _odd(self.teacher.expression)
        return taught and _odd(self.student.expression) and self.loss.even

    @cached_property
    def flags(self) -> dict[str, Constant]:
        """Properties of the problem, as constants that the functions take as arguments."""
        return {
            "STUDENT_KINKS": self.student.kinks,
            "TEACHER_KINKS": self.teacher.kinks,
            "LOSS_KINKS": len(self.loss.kinks),
            "KINKED": int(self.kinked),
            "EVEN": int(self._even),
            "SIGN_TARGET": int(self.sign_target),
            "STUDENT_LINEAR": int(self.student.expression == X),
            "TEACHER_LINEAR": int(self.teacher.expression == X),
            "TEACHER_KEEPS_SIGN": int(self.sign_target and self.problem.teacher_keeps_sign),
        }

    def check_masks(self, K: int) -> None:
        """Refuse dropout of too many units.

        Raises:
            NotYetError: There are more than :data:`MOST_MASKED`.
        """
        if self.problem.rule.dropout and K > MOST_MASKED:
            raise NotYetError(
                f"cannot be combined with the loss {self.problem.loss.name!r} for {K} students: "
                f"means are sums over all choices of units; at most {MOST_MASKED} are affordable",
                argument="keep",
            )


def along_lattice(flags: Mapping[str, Any], K: int, M: int, noisy: bool) -> bool:
    """Return whether means for so many units use a lattice (``numerics/all_forces.py``).

    Args:
        flags: Constants of a module, see :attr:`ForceFields.flags`.
        K, M: Numbers of students and teachers.
        noisy: Whether labels are noisy.
    """
    students = 1 if flags["STUDENT_LINEAR"] else K
    one = bool(flags["TEACHER_LINEAR"] or (flags["TEACHER_KEEPS_SIGN"] and M == 1))
    sign = bool(flags["SIGN_TARGET"])
    noise = int(noisy and (sign or not flags["TEACHER_LINEAR"]))
    teachers = 0 if sign else 1 if one else M
    kinked, labels = bool(flags["KINKED"]), sign and one
    return _over_lattice(kinked, sign, labels, students, teachers + noise)


def _odd(g: sp.Expr) -> bool:
    return bool(sp.simplify(g.xreplace({X: -X}) + g) == 0)
