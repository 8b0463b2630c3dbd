"""The header of a module: title, recipe, equations as text, constants that identify it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

import sympy as sp
from symderiv_codegen import Constant
from sympy.functions.special.tensor_functions import KroneckerDelta
from sympy.printing.str import StrPrinter

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import MOMENTS, kept_definitions
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.rule.learning_problem import LearningProblem


class _PlainPrinter(StrPrinter):  # type: ignore[misc]
    """A printer of plain text with the names of arrays, for the header of a module."""

    def _print_Sum(self, total: sp.Sum) -> str:
        indices = ", ".join(str(limit[0]) for limit in reversed(total.limits))
        return f"sum_{indices}({self._print(total.function)})"

    def _print_StudentActivation(self, call: sp.Expr) -> str:
        return f"g{chr(39) * int(call.args[0])}({self._print(call.args[1])})"

    def _print_TeacherActivation(self, call: sp.Expr) -> str:
        return f"h{chr(39) * int(call.args[0])}({self._print(call.args[1])})"

    def _print_LossSlope(self, call: sp.Expr) -> str:
        by_s, by_t = map(int, call.args)
        return f"l_{'s' * by_s}{'t' * by_t}" if by_s or by_t else "l"

    def _print_Average(self, call: sp.Expr) -> str:
        return f"E[{self._print(call.args[0])}]"

    def _print_KroneckerDelta(self, delta: KroneckerDelta) -> str:
        return f"delta({delta.args[0]}, {delta.args[1]})"


def plain(expression: sp.Basic) -> str:
    """Return the expression as plain text."""
    return str(_PlainPrinter().doprint(expression))


FORMAT = 3
"""Version of the interface of generated modules."""


def header_equations(equations: LearningEquations) -> list[str]:
    """Return the equations of Q, R, T and v as lines of plain text, as they were derived."""
    lines = [
        "x[i] and y[n] are the fields of student and teacher, g and h their activations, E[..] is",
        "a mean over the inputs; sums run over all values of their index.",
    ]
    for name, value in (
        ("error", equations.generalization_error),
        ("A[i, j]", equations.student_gradient),
        ("B[i, n]", equations.teacher_gradient),
        ("dv[i]", equations.second_layer_gradient),
        ("Gamma[i, j]", equations.noise),
    ):
        lines += stated(name, value)
    means = (equations.noise, equations.student_gradient, equations.mean_loss)
    if equations.mean_force is not None:
        lines += stated("db[i]", equations.mean_force)
    for target, value in equations.further:
        lines += stated(str(target), value)
    if equations.noise.has(s.kept_pair):
        for name, value in kept_definitions():
            lines += stated(str(name), value)
    for name, value in MOMENTS.items():
        if any(mean.has(name) for mean in means):
            lines += stated(str(name), value)
    return lines


def stated(name: str, value: sp.Expr) -> list[str]:
    """Return ``name = value`` in lines that fit into the header of a module."""
    # Lines break between terms and factors, not inside of index lists.
    text = f"{name} = {plain(value)}".replace(", ", ",\0")
    lines = textwrap.wrap(
        text, 92, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


class ToldMeans(Protocol):
    """The interface of means without closed forms that a module's header needs."""

    @property
    def recipe(self) -> dict[str, str]:
        """Entries for the recipe in the module's header."""

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module."""


def recipe(problem: LearningProblem, approximation: ToldMeans | None = None) -> Mapping[str, str]:
    """Return the choices that make a module; its digest changes exactly when one of these does."""
    lines = {
        "student activation": problem.student.text,
        "teacher activation": problem.teacher.text,
        **problem.rule.features,
        **(approximation.recipe if approximation else {}),
        "SymPy": sp.__version__,
    }
    text = "\n".join(f"{key}: {value}" for key, value in lines.items())
    return {**lines, "recipe digest": sha256(text.encode()).hexdigest()[:16]}


def constants(
    problem: LearningProblem, approximation: ToldMeans | None = None
) -> Mapping[str, Constant]:
    """Return the module-level constants that identify a module, and its tables."""
    rule = ", ".join(f"{name} = {value}" for name, value in problem.rule.features.items())
    in_updates = ""
    if problem.rule.stated:  # other rules need no derivation for their header
        from symderiv.learning.derivation.rule_equations import equations_of

        # names of terms added at every step, which count once for the examples of a batch
        in_updates = " ".join(equations_of(problem.rule).named.in_updates)
    return {
        "FORMAT": FORMAT,
        "STUDENT_ACTIVATION": problem.student.text,
        "TEACHER_ACTIVATION": problem.teacher.text,
        **({"RULE": rule} if rule else {}),
        **({"IN_UPDATES": in_updates} if in_updates else {}),
        **(approximation.constants if approximation else {}),
    }


def title(problem: LearningProblem) -> str:
    """Return one line that says what the module computes."""
    student, teacher = problem.student.text, problem.teacher.text
    both = f"g(x) = {student}" if problem.same_activation else f"g(x) = {student}, h(x) = {teacher}"
    return f"Order-parameter dynamics of a two-layer student and teacher, {both}"
