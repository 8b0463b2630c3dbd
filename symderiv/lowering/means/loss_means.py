r"""Means of the forces of any loss, by quadrature over the fields, as parts of a module.

What ``symderiv.numerics.quadratures.force_mean`` computes with is chosen here: which fields are
left after exact reductions, whether there are kinks, and the coarsest rule whose error, the largest
that a search over covariances finds, is below the tolerance (``docs/notes/losses.md``).
"""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp
from symderiv_codegen import (
    Array,
    Constant,
    Function,
    Procedure,
    ScalarFunction,
)

from symderiv.formula.as_function import as_function
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET, LearningProblem
from symderiv.lowering.means import force_error
from symderiv.lowering.means.compiled_means import module_of_means
from symderiv.lowering.means.force_error import ForceRule
from symderiv.lowering.means.force_fields import ForceFields
from symderiv.lowering.means.numeric_activation import X
from symderiv.lowering.means.quadrature_error import LARGEST_BIAS
from symderiv.lowering.means.quadrature_rules import LAST, coarsest, stated_error
from symderiv.lowering.means.uncompiled import NO_OVERFLOW, Floats, uncompiled
from symderiv.lowering.solver_arrays import (
    B_STUDENT,
    B_TEACHER,
    DB,
    DV,
    ERROR,
    EVALUATION_SCALE,
    FIELDS,
    GAMMA,
    KEEP,
    LABEL_FLIP,
    LABEL_NOISE,
    LATTICE_SHIFT,
    LOSS,
    A,
    B,
)

DEFAULT_TOLERANCE, DEFAULT_KINKED_TOLERANCE = 1e-10, 1e-8
SAFETY, _CELL = 3.0, 0.05
STEPS = (0.9, 0.7, 0.55, 0.45, 0.4, 0.35, 0.3, 0.26, 0.22, 0.18, 0.14)
KINKED_PANELS = (1.3, 0.75, 0.5)
PANELS = (2.8, 2.4, 2.0, 1.7, 1.5, 1.3, 1.1, 0.9, 0.75, 0.6, 0.5)


NUMBERS: tuple[Array, ...] = (LABEL_NOISE, LABEL_FLIP, KEEP)
DRAWN = (*FIELDS, B_STUDENT, B_TEACHER, *NUMBERS)
FORCES = Procedure(
    "mean_forces",
    "A, B, dv, Gamma and db in one pass; the generalisation error is returned.",
    (*DRAWN, EVALUATION_SCALE, LATTICE_SHIFT),
    (A, B, DV, GAMMA, DB, ERROR),
    (),
    (),
    template="mean_forces",
)
LOSSES = Procedure(
    "loss_of_examples",
    "Mean of the loss over examples.",
    (*DRAWN, LATTICE_SHIFT),
    (LOSS,),
    (),
    (),
    template="mean_loss",
)
"""The procedures with which modules compute means; features that a rule lacks are passed as zero or
one."""


def force_rule(step: float, panel: float, tolerance: float, reach: float) -> ForceRule:
    """Return the parameters of equal steps and of panels for a tolerance.

    Args:
        step: The step in units of the fields, for outputs of order one.
        panel: The longest panel, in the same units.
        tolerance: Bound on the error of means.
        reach: How far the points go in the independent variables.
    """
    digits = math.log(10 / tolerance)
    width = round(math.sqrt(2 * math.pi**2 / (digits + 1.2 / step)), 3)
    panels = panel, panel, reach, 0.03, 1e-13, 0.7, 0.0, 48.0
    return ForceRule((step, width, reach), panels)


FEW_POINTS, MANY_POINTS = 4093, 16381
LATTICE_DIMENSIONS = 6
COARSER = 2.0
"""The factor by which steps along lines of a lattice may be longer, because the error of the
lattice dominates."""


@lru_cache(maxsize=16)
def lattice(step: float, steep: bool) -> tuple[float, ...]:
    """Return the parameters of the lattice; see ``symderiv.numerics.quadratures.lattice_mean``.

    Its generator minimises, among many, the worst error for functions whose Fourier coefficients
    fall like the inverse square, with less weight for later variables.

    Args:
        step: The longest step of the fine variable in units of the fields.
        steep: Whether the step is divided by a factor for losses steeper than activations.
    """

    def worst(N: int, g: int) -> float:
        j, product, multiple = np.arange(N), np.ones(N), 1
        for c in range(LATTICE_DIMENSIONS):
            x = (j * multiple % N) / N
            product *= 1 + 2 * math.pi**2 * (x * x - x + 1 / 6) * 0.8**c
            multiple = multiple * g % N
        return float(product.mean())

    few, many = (
        min(range(2, N // 2, N // 160), key=lambda g, N=N: worst(N, g))  # type: ignore[misc]
        for N in (FEW_POINTS, MANY_POINTS)
    )
    numbers = (FEW_POINTS, few, 1.25, step, 6.5, 1.5, 0.6, MANY_POINTS, many, steep)
    return tuple(map(float, numbers))


class LossMeans:
    """The means of a problem whose loss is no quadratic form of outputs, or whose labels are signs.

    Attributes:
        tolerance: Bound on the error.
        rule: The parameters of the rule.
        error: The largest error found, times a safety factor.
    """

    def __init__(
        self, problem: LearningProblem, tolerance: float | None = None, limited: bool = False
    ) -> None:
        """Find the coarsest rule that keeps the tolerance.

        Args:
            problem: Activations, loss and target.
            tolerance: Bound on the error of the means; None for a default, which is larger with
                kinks, or the best that can be reached.
            limited: Take the best rule if none reaches the tolerance.

        Raises:
            DivergentError, NotYetError: See :class:`ForceFields`.
            ToleranceError: No rule reaches the tolerance.
        """
        self.problem, self.fields = problem, ForceFields(problem)
        default = DEFAULT_KINKED_TOLERANCE if self.fields.kinked else DEFAULT_TOLERANCE
        self.tolerance = max(default if tolerance is None else tolerance, 1e-12)
        self.rule, self.error = self._chosen(limited or tolerance is None)

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module."""
        return {
            "ACTIVATION_TOLERANCE": self.tolerance,
            "ACTIVATION_ERROR": self.error,
            "ACTIVATION_DERIVATIVE_ERROR": self.error,
            "ACTIVATION_PAIR_ERROR": self.error,
            "ACTIVATION_METHOD": "quadrature",
            "ACTIVATION_LARGEST_VARIANCE": force_error.LARGEST_VARIANCE,
            **({"ACTIVATION_LARGEST_BIAS": LARGEST_BIAS} if self.problem.rule.biases else {}),
            "FORCE_STEPS": self.rule.steps,
            "FORCE_PANELS": self.rule.panels,
            "FORCE_LATTICE": lattice(COARSER * self.rule.steps[0], not self.fields.loss.polynomial),
            **self.fields.flags,
        }

    @property
    def recipe(self) -> dict[str, str]:
        """Entries for the recipe in the module's header: the tolerance and the rule."""
        rule = (*self.rule.steps, *self.rule.panels)
        return {"tolerance": f"{self.tolerance:g}", "quadrature": " ".join(f"{x:g}" for x in rule)}

    @property
    def statement(self) -> list[str]:
        """Lines for the header of the module that describe the quadrature."""
        how = "by a rule of equal steps"
        if self.fields.kinked:
            how = "in panels between kinks and layers"
        elif self.fields.sign_target:
            how = "exactly over labels given the students, in panels from where labels change"
        return [
            "Means of forces have no closed form for this loss: they are computed in one pass,",
            f"    {how}; A and B from",
            "    means of forces with independent Gaussian variables, by Stein's rule.",
            f"    Absolute error of these for one student and one teacher, variances up to "
            f"{force_error.LARGEST_VARIANCE:g},"
            + (f" biases up to {LARGEST_BIAS:g}," if self.problem.rule.biases else ""),
            f"    output weights up to {force_error.LARGEST_WEIGHT:g}, aligned fields too: "
            f"{self.error:.1e} (the largest found, times {SAFETY:g})",
        ]

    def functions(self) -> tuple[Function, ...]:
        """Activations and loss."""
        same = self.problem.same_activation
        teacher = (
            sp.Function("student_activation")(X) if same else self.fields.teacher.derivative(0)
        )
        slope = self.fields.student.derivative(1)
        named = (
            (
                "student_activation",
                self.fields.student.derivative(0),
                "The student's activation g(x).",
            ),
            ("student_activation_derivative", slope, "Its derivative g'(x)."),
            ("teacher_activation", teacher, "The teacher's activation."),
        )
        own = [ScalarFunction(n, (X,), (), value, doc, as_value=True) for n, value, doc in named]
        return (*own, *self.fields.loss.functions())

    @property
    def _reach(self) -> float:
        """The t beyond which squared forces and outputs of aligned fields contribute nothing."""
        inside = np.nonzero(~(self._tails < self.tolerance / 100))[0]
        return round(_CELL * (int(inside[-1]) + 1), 1)

    @cached_property
    def _tails(self) -> Floats:
        """The tails beyond each t of the largest mean of squared forces, outputs and their
        products, roughly.
        """
        t = np.arange(0.0, 30.0, _CELL)
        x = math.sqrt(force_error.LARGEST_VARIANCE) * t
        g, slope, h = (
            as_function(X, each.derivative(order))
            for each, order in (
                (self.fields.student, 0),
                (self.fields.student, 1),
                (self.fields.teacher, 0),
            )
        )
        f = as_function((OUTPUT, TARGET), self.fields.loss.slope)
        largest = np.ones_like(t)
        weight = force_error.LARGEST_WEIGHT
        with np.errstate(all="ignore"):
            moved = (-LARGEST_BIAS, LARGEST_BIAS) if self.problem.rule.biases else (0.0,)
            shifted = [sign * x + shift for sign in (1, -1) for shift in moved]
            for first in shifted:
                for second in shifted:
                    s, size = weight * g(first), np.abs(weight * slope(first))
                    u = np.sign(second) if self.fields.sign_target else weight * h(second)
                    force = np.abs(f(s, u))
                    for each in ((size * force) ** 2, size * force * t, np.abs(s * force), s**2):
                        largest = np.fmax(largest, np.abs(each))
            return np.asarray(np.cumsum((largest * np.exp(-t * t / 2) * _CELL)[::-1])[::-1])

    def _chosen(self, limited: bool) -> tuple[ForceRule, float]:
        rules = [
            force_rule(step, panel, self.tolerance, self._reach)
            for step, panel in zip(STEPS, PANELS, strict=True)
            if not self.fields.kinked or panel in KINKED_PANELS
        ]

        def error_of(rule: ForceRule, enough: float) -> float:
            error = force_error.largest_deviation(
                self.trial, rule, enough / SAFETY, self.fields.flags
            )
            return stated_error(SAFETY * error, 1e-14)

        what = f"the loss {self.problem.loss.name!r}"
        last = LAST if limited else None
        return coarsest(rules, error_of, self.tolerance, what, self._tails[0], last, "loss")

    @cached_property
    def trial(self) -> force_error.ForceTrial:
        """The functions of the module as plain Python, with the rule in writable arrays."""
        known = force_rule(1.0, 1.0, 1e-8, 7.0)
        constants = {
            **self.fields.flags,
            "FORCE_STEPS": known.steps,
            "FORCE_PANELS": known.panels,
            "FORCE_LATTICE": lattice(COARSER * known.steps[0], True),
        }
        text = module_of_means(self.functions(), constants, (FORCES, LOSSES))
        rule = self.problem.rule
        return force_error.ForceTrial(uncompiled(text, NO_OVERFLOW), rule.flips, rule.biases)
