r"""The derivation in words and formulas: each step a rule, a sentence and an equation in LaTeX."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import sympy as sp

from symderiv.foundation.documents.written_derivation import Section, Step
from symderiv.learning.derivation import steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.narration.learning_latex import by_rates, coefficient_first, latex, sum_sign
from symderiv.learning.narration.shown_steps import steps_of

TITLES = MappingProxyType(
    {
        "setup": "Student, teacher, inputs",
        "update": "One example of stochastic gradient descent",
        "order_parameters": "Change of the order parameters in one example",
        "generalization_error": "Generalisation error",
        "drift": "Drift: terms of first order in the learning rate",
        "noise": "Noise: terms of second order in the learning rate",
        "second_layer": "Second layer",
        "biases": "Biases",
        "motion": "How the weights move",
        "equations": "Order-parameter equations",
        "moment_equations": "The same in moments of the input covariance",
    }
)
"""Headings of the sections by their keys."""

_DEFINITIONS = {
    "x": "The fields of an example are the projections of the input on the weights; $y_n$ is the "
    "field of teacher unit n, jointly Gaussian with the input.",
    "label": "The target is the sign of the teacher's output; slopes of the loss by $t$ are taken "
    "by that output, and are delta functions where the sign changes.",
    "delta": "The difference of student and teacher, with label noise $\\zeta$ of variance one.",
    "student_overlap": "The overlap of two students within one eigenspace.",
    "cross_overlap": "The overlap of a student with a teacher's correlations.",
    "x_mode": "The part of a student's field that one eigenspace contributes.",
    "y_mode": "The same for a teacher's correlations.",
    "xi_square": "The squared length of the input in one eigenspace.",
    "gradient_size": "The root mean square of a step, a number that averages itself.",
    "stretch": "The growth of $Q_{ii}$ over itself, which rescaling takes away.",
    "u_mode": "The same of a velocity.",
    "momentum_overlap": "The overlap of a velocity with a student.",
    "momentum_square": "The overlap of two velocities.",
    "momentum_cross": "The overlap of a velocity with a teacher's correlations.",
    "Gamma": "The part of second order in the learning rate.",
    "student_moment": "Moments are sums over the eigenvalues.",
    "cross_moment": "Moments are sums over the eigenvalues.",
}
_INTEGRALS = {
    "generalization_error": "Each mean is the integral I2 of the covariance of its two fields.",
    "Gamma": "Means of four factors are the integral I4 of the covariance of their fields.",
    "v": "In terms of I2.",
}
_OF_VELOCITIES = {
    "U": "With $1 - \\beta = \\gamma/N$ and $U = N V$ one example moves the velocity.",
    "J": "The weights follow it, with weight decay of their own.",
}
_FOLLOWER = "Vectors that the rule adds follow the weights."
_OF_FAMILIES = {
    "overlap": "Overlaps of the vectors that the rule adds, eigenvalue by eigenvalue.",
    "x": "The fields of the vectors that the rule adds.",
    "mode": "The part of such a field in an eigenspace.",
    "product": "Products of vectors over the input dimension, without the input covariance.",
    "covariance": "Covariances of the fields of the vectors that the rule adds.",
    "gain": "What an example moves students by along vectors themselves, beside its input.",
}
"""The meaning of quantities that are named after families of vectors, by their kind."""
_SLOW = {
    "v": "One step on the second layer, whose learning rate carries 1/N.",
    "student_biases": "One step on the biases, whose learning rate carries 1/N; the derivative of "
    "the loss by a bias is that by its field.",
    "v_velocity": "The velocities $U^v = N V^v$ of output weights, at rates of order 1/N.",
    "b_velocity": "The velocities $U^b = N V^b$ of biases, at rates of order 1/N.",
}
_SLOW_ONES = {
    "v": "output weights",
    "student_biases": "biases",
    "v_velocity": "velocities of output weights",
    "b_velocity": "velocities of biases",
}
_NAMES = dict.fromkeys(
    ("student_moment", "cross_moment"),
    "Sums over eigenvalues are moments again, one order higher.",
)
_NOISES = {
    "flip": "The target has its sign changed with probability $p_f$, by $f = -1$, else $f = 1$; "
    "$f^2 = 1$.",
    "mask": "Each unit is kept in an example with this probability, $\\theta_i = 1$, else "
    "$\\theta_i = 0$, independently of the others; $\\theta_i^2 = \\theta_i$.",
}

_EQUALITIES: dict[type[steps.Equality], tuple[str, str | dict[str, str]]] = {
    steps.Mixed: (
        "definition",
        "The data may consist of several components c (classes) of probability $p_c$, with a "
        "common eigenbasis; a mean over an example is then a mean over components.",
    ),
    steps.NoisyInputs: (
        "input noise",
        "The student sees inputs with independent Gaussian noise: their variances in an eigenspace "
        "are larger, their correlations with the teacher are not. All inputs below are those.",
    ),
    steps.NoiseDefined: ("definition", _NOISES),
    steps.MomentNamed: ("definition", "A moment or joint cumulant of this noise."),
    steps.Recognised: ("names", _NAMES),
    steps.UpdateNoiseAveraged: (
        "update noise",
        "The noise of the update is independent of the example: what is linear in it has mean "
        "zero, and $\\langle \\zeta_{ia} \\zeta_{ja} \\rangle = \\delta_{ij}$.",
    ),
    steps.SquareAveraged: (
        "linearity",
        "The square is multiplied out and averaged term by term.",
    ),
    steps.IntegralsNamed: ("names", _INTEGRALS),
    steps.ModeCovariance: (
        "covariance",
        "A field of one eigenspace and a field of the example.",
    ),
    steps.FieldCovariance: (
        "covariance",
        "A, B and Γ depend on the overlaps only through these sums.",
    ),
    steps.NoiseAveraged: (
        "label noise",
        "$\\zeta$ is independent of the input with mean zero and variance one.",
    ),
    steps.Averaged: ("mean", "The mean over an example."),
    steps.MeanGradient: (
        "Stein",
        "The mean of a step follows the gradient of the mean loss, N times as large as here; what "
        "examples add around it is independent, and adds up in squares.",
    ),
    steps.Moved: (
        "rule",
        "With the weights as the rule moves them; $\\Delta$ is what a step adds.",
    ),
    steps.MeansTaken: ("Stein", "Stein's rule, the noise term and self-averaging."),
    steps.OneComponent: ("one component", "A single Gaussian component."),
    steps.MomentsSummed: ("linearity", "The same sum over the equations of the eigenspaces."),
    steps.LadderClosed: ("closure", "The highest power is replaced by the lower ones."),
}


def sections(equations: LearningEquations) -> tuple[Section, ...]:
    """Return the derivation of the equations under its headings."""
    return tuple(
        Section(TITLES[key], key, tuple(_told(step, equations) for step in told))
        for key, told in steps_of(equations).items()
    )


def _told(step: steps.LearningStep, equations: LearningEquations) -> Step:
    if isinstance(step, steps.Divergent):
        return _divergent(step, equations.problem.student.text)
    for kind, teller in _TELLERS.items():
        if type(step) is kind:
            return teller(step)
    assert isinstance(step, steps.Equality)
    rule, words = _EQUALITIES[type(step)]
    if isinstance(words, dict):
        words = words[_label(step.of)]
    return Step(rule, words, latex(step.of), latex(step.value))


def _kind(label: str) -> str:
    return "mode" if label.endswith("_mode") else label.split("_")[0]


def _label(quantity: sp.Expr) -> str:
    """Return the name of a symbol or array; for a derivative of the loss that of the variable."""
    if isinstance(quantity, s.Partial):
        return _label(quantity.args[1])
    if isinstance(quantity, s.Change | s.Rate | s.Average):
        return _label(quantity.args[0])
    return str(quantity.base.label) if isinstance(quantity, sp.Indexed) else str(quantity)


def _equation(equality: steps.Equality) -> str:
    return f"{latex(equality.of)} = {latex(equality.value)}"


def _defined(step: steps.Defined) -> Step:
    label = _label(step.of)
    words = _DEFINITIONS.get(label) or _OF_FAMILIES[_kind(label)]
    if isinstance(step.value, s.Average):
        return Step("definition", words, latex(step.of), latex(step.value))
    return Step("definition", words, "", _equation(step))


def _inputs(step: steps.InputsAssumed) -> Step:
    words = (
        "The input has covariance $\\Omega$ with eigenvalues $\\rho_k$ of multiplicity "
        "$n_k = N w_k$; coordinates $a$ of an eigenspace $\\mathcal{E}_k$ are eigendirections."
    )
    return Step("definition", words, "", r" ,\quad ".join(map(_equation, step.covariances)))


def _loss(step: steps.LossDefined) -> Step:
    words = "The loss of one example, and the generalisation error of the noiseless target."
    stated = ((s.epsilon, step.loss), (s.epsilon_g, step.error))
    formula = r" ,\quad ".join(f"{latex(n)} = {coefficient_first(value)}" for n, value in stated)
    if not step.loss.has(s.delta):
        words += " $s$ and $t$ are the outputs of student and teacher, t with label noise."
    return Step("definition", words, "", formula)


def _force(step: steps.ForceFound) -> Step:
    how = "$\\delta$ written out." if step.factored.has(s.delta) else "outputs written out."
    if step.value.has(s.LossSlope):
        how = "$\\ell_{s}$ is the derivative of the loss by $s$ at the outputs."
    shown = [step.force, step.derivative]
    if step.factored != step.value:
        shown.append(step.factored)
    return Step(
        "chain rule",
        f"The force on the field of student i; {how}",
        " = ".join(map(latex, shown)),
        latex(step.value),
    )


def _update(step: steps.Updated) -> Step:
    words = _SLOW.get(_label(step.weight), "")
    if step.descended == step.value:  # velocities
        words = _OF_VELOCITIES.get(_label(step.weight), _FOLLOWER) + _noise_told(step.value)
        return Step("update", words, "", latex(step.value))
    if words:
        return Step("update", words, by_rates(step.descended), by_rates(step.value))
    words = (
        "One step of gradient descent on the first layer, $\\partial x_i/\\partial "
        "J_{ia} = \\xi_a/\\sqrt{N}$, with weight decay."
    )
    words += _noise_told(step.value)
    return Step("update", words, by_rates(step.descended), latex(step.value))


def _noise_told(weight: sp.Expr) -> str:
    if not weight.has(s.update_zeta):
        return ""
    return " $\\zeta_i$ is a fresh standard Gaussian vector in every update."


def _ordered(step: steps.Ordered) -> Step:
    if _label(step.of) in _SLOW:
        what = _SLOW_ONES[_label(step.of)]
        words = f"The {what} move by order 1/N per example."
        rate = rf"\frac{{d {latex(step.of)}}}{{d \alpha}}"
        return Step("order in 1/N", words, rate, by_rates(step.value))
    words = (
        "With $\\Delta\\alpha = 1/N$ the part of order 1/N is the time "
        "derivative; what is left vanishes as $N \\to \\infty$."
    )
    limit = rf"\lim_{{N\to\infty}} N {latex(step.of)}"
    return Step("order in 1/N", words, limit, latex(step.value))


def _stein(step: steps.Stein) -> Step:
    sums = " + ".join(
        f"{sum_sign(each.limit)} {latex(each.covariance)} {latex(each.coefficient)}"
        for each in step.sums
    )
    return Step(
        "Stein",
        "For jointly Gaussian fields $z, x, y$ of mean zero.",
        latex(step.of),
        r" ,\quad ".join([sums, *map(_equation, step.coefficients)]),
    )


def _coefficient(step: steps.CoefficientAveraged) -> Step:
    words = "The same for the teacher's fields."
    if _label(step.of) == "A":
        drops = "." if step.value.has(s.LossSlope) else "; the label noise drops out."
        words = f"The force differentiated and averaged{drops}"
    if _label(step.of).startswith("drift"):
        words = "What else moves students along vectors of these families, averaged."
    return Step("derivative", words, latex(step.of), latex(step.value))


def _potential(gradient: sp.Expr) -> str:
    return "generalisation error" if gradient.args[0] == s.epsilon_g else "mean loss"


def _priced(step: steps.Priced) -> Step:
    words = "The same for the covariances of students and teachers."
    if _label(step.of) == "Q":
        words = (
            f"Price's rule for each mean in the {_potential(step.of)}, "
            "$Q_{ij} = Q_{ji}$ one variable."
        )
    return Step("Price", words, latex(step.of), latex(step.value))


def _force_averaged(step: steps.ForceAveraged) -> Step:
    error = step.gradient.args[0] == s.epsilon_g
    on = "an output weight" if _label(step.gradient) == "v" else "a bias"
    words = f"The mean force on {on} is a derivative of the {'error' if error else 'mean loss'}."
    return Step("mean", words, latex(step.of), latex(step.value))


def _gradients(step: steps.GradientsProved) -> Step:
    words = (
        "As $F_i = \\partial \\epsilon/\\partial x_i$, Price's rule says that these are "
        f"derivatives of the {_potential(step.gradient)} ($Q_{{ij}} = Q_{{ji}}$ one variable)."
    )
    # the constant first
    factor = " + ".join(map(latex, sorted(step.factor.args, key=lambda part: not part.is_number)))
    gradient = rf"\left({factor}\right) {latex(step.gradient)}"
    after = rf"{gradient} ,\quad {_equation(step.teacher)}"
    return Step("Price", words, _equation(step.second), after)


def _power(step: steps.InputPower) -> Step:
    words = (
        f"The squared length of the input has the mean ${latex(step.mean)}$; its variance by "
        "Wick's rule for four input components."
    )
    square, mean = (latex(s.Average(step.of**power)) for power in (2, 1))
    return Step("Wick", words, f"{square} - {mean}^{{2}}", latex(step.variance))


def _self_averaged(step: steps.SelfAveraged) -> Step:
    above, below = map(latex, sp.fraction(step.relative_variance))
    words = (
        "The squared length of the input in an eigenspace tends to its mean; "
        f"its relative fluctuation is $\\sqrt{{{above}/{below}}}$."
    )
    return Step("self-averaging", words, latex(step.of), latex(step.value))


def _divergent(step: steps.Divergent, activation: str) -> Step:
    words = (
        f"The activation {activation} jumps: its derivative contains a "
        "delta function, and the mean of the square of that diverges. The terms of second "
        "order, and stochastic gradient descent at a finite learning rate, do not exist."
    )
    return Step("existence", words, latex(step.of), r"\infty")


def _closure(step: steps.ClosureDefined) -> Step:
    words = "Every eigenvalue is a root of this polynomial."
    rho, c = latex(step.eigenvalue), latex(step.coefficient)
    formula = (
        rf"\prod_{{k=1}}^{{L}} \left(\rho - {rho}\right) = \sum_{{l=0}}^{{L}} {c} \rho^{{l}} "
        r",\quad c_L = 1"
    )
    return Step("Cayley–Hamilton", words, "", formula)


_TELLERS: dict[type, Callable[..., Step]] = {
    steps.Defined: _defined,
    steps.InputsAssumed: _inputs,
    steps.LossDefined: _loss,
    steps.ForceFound: _force,
    steps.Updated: _update,
    steps.Ordered: _ordered,
    steps.Stein: _stein,
    steps.CoefficientAveraged: _coefficient,
    steps.Priced: _priced,
    steps.ForceAveraged: _force_averaged,
    steps.GradientsProved: _gradients,
    steps.InputPower: _power,
    steps.SelfAveraged: _self_averaged,
    steps.ClosureDefined: _closure,
}
