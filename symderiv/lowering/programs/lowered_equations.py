"""The equations with scalar functions in place of means, and the activations themselves."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp
from symderiv_codegen import Function, Procedure, ScalarFunction

from symderiv.gaussian import derivative
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import MOMENTS
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.approximation import Approximation, Mixtures
from symderiv.lowering.means.closed_means import X
from symderiv.lowering.means.mean_functions import Integrals
from symderiv.lowering.means.numeric_activation import NumericActivation
from symderiv.lowering.means.quadrature_means import Quadrature
from symderiv.lowering.solver_arrays import B_STATE


@dataclass(frozen=True)
class Lowered:
    """The expressions of the equations with scalar functions in place of means.

    ``curvature`` and ``noise_diagonal`` are the terms that A_ii and Γ_ii have in addition to those
    of all A_ij, Γ_ij. ``further`` has the coefficients of students' drift along other vectors: the
    entry, its value for all indices, and the additional term on its diagonal. ``shared_means`` are
    the procedures that compute arrays of means.
    """

    generalization_error: sp.Expr
    mean_loss: sp.Expr
    second_layer_gradient: sp.Expr
    teacher_gradient: sp.Expr
    student_gradient: sp.Expr
    curvature: sp.Expr
    noise: sp.Expr
    noise_diagonal: sp.Expr
    mean_force: sp.Expr | None
    further: tuple[tuple[sp.Indexed, sp.Expr, sp.Expr], ...]
    functions: tuple[Function, ...]
    shared_means: tuple[Procedure, ...] = ()


def lower(equations: LearningEquations, approximation: Approximation | None = None) -> Lowered:
    """Return the equations with calls of scalar functions in place of all means.

    Args:
        equations: The derived equations.
        approximation: The mixtures or the quadrature, if means have no closed form.

    Raises:
        DivergentError: The student's activation is too rough for gradient descent; the message
            names the diverging Γ_ii.
    """
    mixtures = approximation.tables if isinstance(approximation, Mixtures) else None
    rules = approximation if isinstance(approximation, Quadrature) else None
    together = rules.shared_means if rules else ()
    integrals = Integrals(equations.problem, mixtures, rules, together)

    trained = equations.problem.rule.trained_biases

    def lowered(expression: sp.Expr, what: str) -> sp.Expr:
        program = integrals.lowered(expression, what).xreplace(MOMENTS)
        return in_state(program) if trained else program

    # The noise comes first: if it diverges, the message should name it.
    noise, noise_diagonal = _without_diagonal(equations.noise)
    gradient, curvature = _without_diagonal(equations.student_gradient)
    further = [(name, *_without_diagonal(value)) for name, value in equations.further]
    return Lowered(
        noise=lowered(noise, "Γ_ii, the noise of the update,"),
        noise_diagonal=lowered(noise_diagonal, "Γ_ii, the noise of the update,"),
        student_gradient=lowered(gradient, "the gradient of the error"),
        curvature=lowered(curvature, "the gradient of the error"),
        generalization_error=lowered(equations.generalization_error, "the error"),
        mean_loss=lowered(equations.mean_loss, "the loss"),
        second_layer_gradient=lowered(equations.second_layer_gradient, "the error"),
        teacher_gradient=lowered(equations.teacher_gradient, "the gradient"),
        mean_force=(
            None
            if equations.mean_force is None
            else lowered(equations.mean_force, "the mean force")
        ),
        further=tuple(
            (name, *(lowered(each, "the drift along other vectors") for each in values))
            for name, *values in further
        ),
        functions=integrals.functions,
        shared_means=integrals.shared_means,
    )


def in_state(expression: sp.Expr) -> sp.Expr:
    """Return an expression with trained biases under their name in the state."""
    name = sp.IndexedBase(sp.Symbol(B_STATE.name, real=True))
    biases = {e for e in expression.atoms(sp.Indexed) if e.base == s.bias}
    return expression.xreplace({bias: name[bias.indices] for bias in biases})


def _without_diagonal(matrix: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Split a function of i, j into the part for all i, j and the coefficient of δ_ij."""
    delta = sp.KroneckerDelta(s.i, s.j)
    diagonal = [term for term in sp.Add.make_args(matrix) if term.has(delta)]
    rest = matrix - sp.Add(*diagonal)
    return rest, sp.Add(*((term / delta).xreplace({s.j: s.i}) for term in diagonal))


def activation_functions(
    problem: LearningProblem, approximation: Approximation | None = None
) -> tuple[Function, ...]:
    """Return the activations themselves as functions, for simulations and for quadrature."""
    if isinstance(approximation, Quadrature):
        return approximation.activation_functions()
    student = problem.student.expression
    slope = derivative(student)
    if approximation:
        stable = NumericActivation(student, problem.student.text)
        student, slope = stable.derivative(0), stable.derivative(1)

    def function(name: str, value: sp.Expr, doc: str) -> ScalarFunction:
        return ScalarFunction(name, (X,), (), value, doc, as_value=True)

    same = problem.same_activation
    teacher = sp.Function("student_activation")(X) if same else problem.teacher.expression
    return (
        function("student_activation", student, "The student's activation g(x)."),
        function("student_activation_derivative", slope, "Its derivative g'(x)."),
        function("teacher_activation", teacher, "The teacher's activation."),
    )
