r"""Means without closed forms by rules of equal steps, with a measured error.

The templates of ``symderiv_codegen.runtime.tensor_mean`` compute E[∏ f_a(z_a)]. Their error falls
exponentially with the step (functions with kinks are split there), so the change under a finer step
is a good estimate of it. It is measured here, when a module is made, for the means that the
equations need, at covariances with variances up to 2, generic, almost singular and singular.
Larger variances make the steps finer in proportion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
import sympy as sp
from symderiv_codegen import (
    Constant,
    Function,
    Program,
    ScalarFunction,
    TemplateFunction,
    print_numba,
)

from symderiv.errors import DivergentError, ToleranceError
from symderiv.gaussian import existence
from symderiv.learning.numeric_activation import NumericActivation, X
from symderiv.learning.patterns import Kind, Pattern
from symderiv.learning.problem import LearningProblem

_NAMES = {
    0: "{}_activation",
    1: "{}_activation_derivative",
    2: "{}_activation_curvature",
}
# With every step the work for a mean of four factors grows by about three.
_STEPS = (0.9, 0.65, 0.47, 0.34, 0.25)
_KINKED_STEPS = (0.9, 0.65, 0.47, 0.34)


@dataclass(frozen=True)
class Rule:
    """The numbers of the rule; see the templates."""

    step: float
    width: float
    reach: float
    cell: float

    @property
    def constants(self) -> dict[str, Constant]:
        """As constants of the module."""
        return {
            "QUADRATURE_STEP": self.step,
            "QUADRATURE_WIDTH": self.width,
            "QUADRATURE_REACH": self.reach,
            "QUADRATURE_CELL": self.cell,
        }


def rule(step: float, tolerance: float) -> Rule:
    """The rule with a step; what concerns the Gaussian weight alone follows from the tolerance."""
    digits = math.log(100 / tolerance)
    return Rule(
        step,
        round(math.sqrt(2 * math.pi**2 / digits), 3),
        round(math.sqrt(2 * digits) + 0.5, 1),
        round(step / 10, 4),
    )


class Quadrature:
    """The means of a problem as functions of a module."""

    def __init__(self, problem: LearningProblem, tolerance: float, limited: bool = False) -> None:
        """Finds the coarsest rule that does.

        Args:
            problem: The activations.
            tolerance: Bound on the absolute error of the means.
            limited: Take the best rule where none does.

        Raises:
            DivergentError: Γ_ii does not exist.
            NotYetError: An activation has jumps or another property that the rules cannot treat.
            ToleranceError: No affordable rule reaches the tolerance.
        """
        self.problem = problem
        self.student = NumericActivation(problem.student.expression, problem.student.text)
        self.teacher = NumericActivation(problem.teacher.expression, problem.teacher.text)
        _refuse_divergence(problem, self.student, self.teacher)
        self.tolerance = tolerance
        self.rule, self.error = self._chosen(limited)

    @cached_property
    def kinked(self) -> bool:
        """Whether the rules have to be split."""
        return bool(self.student.kinks or self.teacher.kinks)

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module."""
        found = {
            "ACTIVATION_TOLERANCE": self.tolerance,
            "ACTIVATION_ERROR": self.error,
            "ACTIVATION_DERIVATIVE_ERROR": self.error,
            "ACTIVATION_METHOD": "quadrature",
            **self.rule.constants,
        }
        if self.kinked:
            found["STUDENT_KINKS"] = self.student.kinks
            found["TEACHER_KINKS"] = self.teacher.kinks
        return found

    @property
    def recipe(self) -> dict[str, str]:
        """Lines of the recipe."""
        return {"tolerance": f"{self.tolerance:g}", "quadrature step": f"{self.rule.step:g}"}

    @property
    def statement(self) -> list[str]:
        """Lines for the header of the module."""
        lines = [
            "E[..] has no closed form for these activations: it is computed by a rule of equal",
            "    steps in independent Gaussian variables, QUADRATURE_STEP in units of the fields;",
        ]
        if self.kinked:
            lines.append("    between the kinks of the activations Gauss' rule in panels is used;")
        return [
            *lines,
            f"    measured, not proved: absolute error of the means up to {self.error:.1e} for",
            "    variances up to 2 (change of their values under finer steps)",
        ]

    def activation_functions(self) -> tuple[ScalarFunction, ...]:
        """The activations and the derivatives that occur in means."""
        result = []
        for name, letter, of in (("student", "g", self.student), ("teacher", "h", self.teacher)):
            for order in range(3):
                if name == "teacher" and (order == 2 or (order and self.problem.same_activation)):
                    continue
                value: sp.Expr
                if name == "teacher" and self.problem.same_activation:
                    value = sp.Function("student_activation")(X)
                elif order == 2:
                    # Where the slope jumps Stein's rule is used instead: x g'(x).
                    bent = self.student.slope_jumps
                    value = X * of.derivative(1) if bent else of.derivative(2) / 2
                else:
                    value = of.derivative(order)
                doc = {0: f"The {name}'s activation {letter}(x).", 1: "Its derivative."}.get(
                    order,
                    "The variable times the derivative."
                    if self.student.slope_jumps
                    else "Half of its second derivative.",
                )
                name_of = _NAMES[order].format(name)
                result.append(ScalarFunction(name_of, (X,), (), value, doc, as_value=True))
        return tuple(result)

    def functions(
        self, pattern: Pattern, arguments: tuple[sp.Symbol, ...], name: str, doc: str
    ) -> list[Function]:
        """The function of a pattern in which every factor has a field of its own."""
        kinds = tuple(kind for (kind,) in pattern.fields)
        bent = any(order == 2 for _, order in kinds) and self.student.slope_jumps
        template = TemplateFunction(
            name=f"{name}_by_parts" if bent else name,
            arguments=arguments,
            template=f"{'split_' if self.kinked else ''}mean_of_{len(kinds)}",
            names=tuple(self._bound(kinds)),
            doc="E[a g'(a) h(b)] of the same functions." if bent else doc,
            symmetries=pattern.symmetries(),
        )
        if not bent:
            return [template]
        # Stein: E[a g'(a) f(b)] = c11 E[g''(a) f(b)] + c12 E[g'(a) f'(b)].
        c11, c12, _ = arguments
        product = sp.Function(name.replace("i2_11", "i2_12"))(*arguments)
        value = (sp.Function(template.name)(*arguments) - c12 * product) / c11 / 2
        return [template, ScalarFunction(name, arguments, (), value, doc, guarded=True)]

    def _bound(self, kinds: tuple[Kind, ...]) -> list[tuple[str, str]]:
        names = []
        for number, (teacher, order) in enumerate(kinds, start=1):
            owner = "teacher" if teacher else "student"
            names.append((f"factor_{number}", _NAMES[order].format(owner)))
            if self.kinked:
                names.append((f"kinks_{number}", f"{owner.upper()}_KINKS"))
        return names

    # The measurement: the templates as plain Python.

    def _chosen(self, limited: bool) -> tuple[Rule, float]:
        steps = _KINKED_STEPS if self.kinked else _STEPS
        tolerance = max(self.tolerance, 1e-12)
        best: tuple[Rule, float] | None = None
        coarse = self._values(rule(steps[0], tolerance))
        for step, finer in zip(steps, (*steps[1:], 0.7 * steps[-1]), strict=True):
            fine = self._values(rule(finer, tolerance / 100))
            # Twice the change: the finer values have errors too.
            error = 2 * float(np.max(np.abs(fine - coarse)))
            error = float(f"{1.05 * error + 1e-15:.1e}")
            if best is None or error < best[1]:
                best = rule(step, tolerance), error
            if error <= self.tolerance:
                return best
            coarse = self._values(rule(finer, tolerance))
        assert best is not None
        if limited and math.isfinite(best[1]):
            return best
        raise ToleranceError(
            f"tolerance {self.tolerance:g}: the best affordable quadrature for "
            f"{self.problem.student.text!r} reaches {best[1]:.1e}; ask for that or more"
        )

    @cached_property
    def _plain(self) -> dict[str, Any]:
        """The activations as Python functions of floats."""
        text = print_numba(Program("plain", "", {}, (), (), self.activation_functions(), ()))
        compiled = "@", "from numba", "_compiled"
        lines = [line for line in text.splitlines() if not line.startswith(compiled)]
        names: dict[str, Any] = {}
        exec("\n".join(lines), names)  # text that was printed here, nothing from outside
        return names

    def _values(self, used: Rule) -> np.ndarray:
        """Means of the kinds that the equations have, at some covariances."""
        source = resources.files("symderiv_codegen.runtime").joinpath("tensor_mean.py")
        space: dict[str, Any] = {"__name__": "tensor_mean"}
        exec(source.read_text(encoding="utf-8"), space)
        space.update(used.constants)
        teacher = not self.problem.same_activation
        values = []
        with np.errstate(all="ignore"):
            for kinds, covariance in _measured(teacher):
                for template, name in self._bound(kinds):
                    if template.startswith("kinks"):
                        found = self.teacher if name.startswith("TEACHER") else self.student
                        space[template] = np.array(found.kinks)
                    else:
                        space[template] = self._plain[name]
                prefix = "split_" if self.kinked else ""
                mean = space[f"{prefix}mean_of_{len(kinds)}"]
                try:
                    values.append(mean(*covariance[np.triu_indices(len(kinds))]))
                except (OverflowError, ValueError, ZeroDivisionError):
                    values.append(math.inf)
        found_values: np.ndarray = np.nan_to_num(np.array(values), nan=math.inf)
        return found_values


def _measured(teacher: bool) -> list[tuple[tuple[Kind, ...], np.ndarray]]:
    """Factors and covariances at which the error is measured."""
    lower = np.array(
        [
            [1.2, 0.0, 0.0, 0.0],
            [-0.5, 0.9, 0.0, 0.0],
            [0.7, 0.4, 1.1, 0.0],
            [0.3, -0.8, 0.5, 1.0],
        ]
    )
    generic = lower @ lower.T
    aligned = generic[np.ix_([0, 1, 0, 1], [0, 1, 0, 1])] + np.diag([0.0, 0.0, 1e-2, 1e-6])
    student, slope, bent, other = (False, 0), (False, 1), (False, 2), (teacher, 0)
    pairs = [((student, other), generic[:2, :2]), ((slope, (teacher, 1)), generic[1:3, 1:3])]
    pairs += [((bent, other), generic[2:, 2:]), ((bent, student), aligned[1::2, 1::2])]
    fours = [((slope, slope, student, other), generic), ((slope, slope, other, other), aligned)]
    return [*pairs, *fours]


def _refuse_divergence(
    problem: LearningProblem, student: NumericActivation, teacher: NumericActivation
) -> None:
    """Student activations for which the noise of the update does not exist."""
    where = (
        "Γ_ii, the noise of the update, diverges for the student activation "
        f"{problem.student.text!r}"
    )
    if student.jumps:
        raise DivergentError(
            f"{where}: it jumps, and the square of its derivative has no mean; choose a "
            "continuous one"
        )
    for found in (student, teacher):
        limit = existence((found.expression) ** 2, X)
        if limit.variance_limit != sp.oo:
            raise DivergentError(
                f"{where} (teacher {problem.teacher.text!r}): {limit.reason}; choose a slower "
                "growing activation"
            )
