"""Every learning rule as a statement: a few lines in the language of ``symderiv.statement``.

This is all that a learning rule is: its equations are derived from it, with symbolic functions and
numbers (:mod:`symderiv.learning.derivation.named_rule`), its steps are simulated from it, and
generated modules are compared with averages of its steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp

from symderiv.formula import Activation
from symderiv.keys.study_tables import Training
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET, LearningProblem
from symderiv.statement.language import Language
from symderiv.statement.slopes import slope
from symderiv.statement.vector_expressions import norm2


class AnySpectrum:
    """Inputs with any spectrum: their eigenvalues come with a state."""

    model = "any"


@dataclass(frozen=True)
class RuleNumbers:
    """The numbers of a rule: exact numbers, floats (read as decimals) or parameters.

    Attributes:
        K, M: Numbers of students and teachers.
        teacher_weights, teacher_biases: Arrays of shape (M,).
        student_weights, student_biases: Arrays of shape (K,); None if they are trained.
        sizes: Rates, deviations and probabilities, by the names of keys in [training]; those that
            are left out, or None, belong to features that the rule does not have.
        batch: The number of examples in a step.
        input_variance: The mean variance of the coordinates of the inputs, for normalised steps.
        heads: The factors of the output weights of the student's heads.
        inputs: Input models, each with a factor of the steps on it; empty for a single model.
        hidden: Whether the teacher depends on variables that the inputs do not determine: fields of
            vectors ``H`` with independent inputs ``z``.
    """

    K: int
    M: int
    teacher_weights: Any
    teacher_biases: Any
    student_weights: Any = None
    student_biases: Any = None
    sizes: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 1
    input_variance: Any = 1
    heads: Sequence[Any] = (1,)
    inputs: Sequence[tuple[Any, Any]] = ()
    hidden: bool = False

    def __post_init__(self) -> None:
        unknown = self.sizes.keys() - Training.RECORDS.keys()
        if unknown:
            raise TypeError(f"{', '.join(sorted(unknown))}: not keys of [training]")

    def size(self, key: str, left_out: int = 0) -> sp.Expr:
        """Return a number by its key, or the neutral value for a feature that the rule does not
        have.
        """
        size = self.sizes.get(key)
        return sp.Integer(left_out) if size is None else exact(size)


def state_rule(P: Language, problem: LearningProblem, numbers: RuleNumbers, model: Any) -> None:
    """State a rule in the language of statements.

    Students are ``J``, teachers ``B``, trained output weights ``v`` (``head2_``, … those of further
    heads), trained biases ``b``, velocities ``U``, ``v_velocity`` and ``b_velocity``. With
    ``batch = b`` a step takes b examples, and time counts steps.

    Args:
        P: The statement that the lines are added to.
        problem: The activations and the rule.
        numbers: The numbers of the rule.
        model: The law of the inputs.
    """
    J, B = P.vectors("J", numbers.K), P.vectors("B", numbers.M, fixed=True)
    rates: dict[Any, Any] = {J: numbers.size("learning_rate")}
    v = numbers.student_weights
    if v is None:
        names = ["v", *(f"head{n}_" for n in range(2, len(numbers.heads) + 1))]
        heads = [P.scalars(name, numbers.K) for name in names]
        rates |= dict.fromkeys(heads, numbers.size("second_layer_learning_rate"))
        v = sum(factor * head for factor, head in zip(numbers.heads, heads, strict=True))
    b = numbers.student_biases
    if b is None:
        b = P.scalars("b", numbers.K)
        rates[b] = numbers.size("bias_learning_rate")
    drawn, vectors = _drawn(P, numbers), _Vectors(J, B)
    if numbers.size("consistency_weight"):
        vectors = replace(vectors, average=P.vectors("A", numbers.K))
    if numbers.hidden:
        vectors = replace(vectors, hidden=P.vectors("H", numbers.M, fixed=True))
    velocities = _velocities(P, numbers, rates)
    errors, examples = [], []
    for number, (law, factor) in enumerate(numbers.inputs or ((model, sp.S.One),)):
        example = _inputs(P, numbers, law, f"task{number + 1}" if number else "")
        examples.append(example)
        weights = _all_exact(v), _all_exact(b)
        loss, error = _loss(problem, numbers, vectors, weights, example, drawn)
        own = {key: rate * factor for key, rate in rates.items()}
        if problem.rule.normalise == "gradient":
            forces = [slope(loss, field) for field in J @ example.x]
            squares = P.average(sp.Add(*(force**2 for force in forces)))
            variance = exact(numbers.input_variance) + numbers.size("input_noise") ** 2
            own[J] = own[J] / sp.sqrt(variance * squares)
        many = numbers.batch > 1 or numbers.size("batch_ratio") != 0
        P.descend(example.x.mean(loss) if many else loss, own, velocities)
        errors.append(factor * error)
    _moved(P, numbers, rates, velocities)
    if vectors.average is not None:
        A = vectors.average
        P.update({A: numbers.size("averaging_rate") * (J.array - A.array)})
    if problem.rule.normalise == "sphere":
        P.constrain(J, "sphere", inputs=examples[0].x)
    P.observe(error=sp.Add(*errors))


@dataclass(frozen=True)
class _Vectors:
    """The vectors: students, teachers, averaged students, and the teachers' hidden parts."""

    students: Any
    teachers: Any
    average: Any = None
    hidden: Any = None


@dataclass(frozen=True)
class _Example:
    """The inputs of an example: as the teacher sees them, as the student does, and hidden ones."""

    x: Any
    seen: Any
    hidden: Any


def _inputs(P: Language, numbers: RuleNumbers, model: Any, name: str) -> _Example:
    ratio = numbers.size("batch_ratio") or None
    x = P.inputs(
        f"x{name}",
        model=model,
        episode=numbers.batch if numbers.batch > 1 else None,
        batch_ratio=ratio,
    )
    together = x if numbers.batch > 1 else None
    seen, hidden = x, None
    if numbers.size("input_noise"):
        noise = P.inputs(f"n{name}", episode=together, batch_ratio=ratio)
        seen = x + numbers.size("input_noise") * noise
    if numbers.hidden:
        hidden = P.inputs(f"z{name}", episode=together, batch_ratio=ratio)
    return _Example(x, seen, hidden)


def _drawn(P: Language, numbers: RuleNumbers) -> tuple[Any, Any, Any]:
    """Declare the noises of an example; return masks of kept units, sign and noise of the label."""
    active: Any = 1
    keep, p = numbers.size("keep", 1), numbers.size("label_flip")
    if keep != 1:
        active = P.latents("kept", {0: 1 - keep, 1: keep}, numbers.K)
    sign: Any = 1
    if p:
        sign = P.latents("flip", {-1: p, 1: 1 - p})
    noise = numbers.size("label_noise")
    return active, sign, noise * P.latents("zeta") if noise else 0


def _loss(
    problem: LearningProblem,
    numbers: RuleNumbers,
    vectors: _Vectors,
    weights: tuple[Any, Any],
    example: _Example,
    drawn: tuple[Any, Any, Any],
) -> tuple[sp.Expr, sp.Expr]:
    """Return the loss of an example, and the error by which the student is judged.

    Args:
        problem, numbers: The problem and the numbers of its rule.
        vectors: The vectors of students and teachers.
        weights: The output weights v and the biases b.
        example: The inputs.
        drawn: The masks of kept units, the sign and the noise of the label.
    """
    (v, b), (active, sign, noise), g = weights, drawn, problem.student
    J, B = vectors.students, vectors.teachers
    seen, taught = J @ example.seen + b, B @ example.x
    if vectors.hidden is not None:
        taught = taught + vectors.hidden @ example.hidden
    s, wanted = (v * active * g(seen)).sum(), _taught(problem, numbers, taught)
    given = {OUTPUT: s, TARGET: wanted * sign + noise}
    loss = problem.loss.expression.subs(given, simultaneous=True)
    if weight := numbers.size("sobolev_weight"):
        steep = _all_exact(numbers.teacher_weights) * _slope(
            problem.teacher, taught + _all_exact(numbers.teacher_biases)
        )
        gap = (v * active * _slope(g, seen)) @ J - steep @ B
        loss += weight * norm2(gap) / 2
    if vectors.average is not None:
        averaged = (v * g(vectors.average @ example.x + b)).sum()
        loss += numbers.size("consistency_weight") * (s - averaged) ** 2 / 2
    shown = (v * numbers.size("evaluation_scale", 1) * g(J @ example.x + b)).sum()
    return loss, (shown - wanted) ** 2 / 2


def _slope(g: Activation, fields: Any) -> Any:
    """Return the derivative g' at fields."""
    x = sp.Symbol("x", real=True)
    found = slope(g.expression, x)
    return np.array([found.xreplace({x: field}) for field in fields], dtype=object)


def _taught(problem: LearningProblem, numbers: RuleNumbers, fields: Any) -> sp.Expr:
    """Return the target before noise: the teacher's output, or its sign."""
    weights, h = _all_exact(numbers.teacher_weights), problem.teacher
    output = (weights * h(fields + _all_exact(numbers.teacher_biases))).sum()
    if problem.rule.target != "sign":
        return output
    if numbers.M == 1 and problem.teacher_keeps_sign:
        return sp.sign(weights[0]) * sp.sign((fields + _all_exact(numbers.teacher_biases))[0])
    return sp.sign(output)


def _velocities(P: Language, numbers: RuleNumbers, rates: Mapping[Any, Any]) -> dict[Any, Any]:
    """Declare the velocities of all trained quantities; return none without momentum."""
    if not numbers.size("momentum_rate"):
        return {}
    J, *others = rates
    velocities: dict[Any, Any] = {J: P.vectors("U", numbers.K)}
    for u in others:
        name = str(u[0]).rstrip("0123456789")
        velocities[u] = P.scalars(f"{name}_velocity", numbers.K)
    return velocities


def _moved(
    P: Language, numbers: RuleNumbers, rates: Mapping[Any, Any], velocities: Mapping[Any, Any]
) -> None:
    """State the motion by velocities, the weight decay and the noise of updates."""
    J, *others = rates
    for u, velocity in velocities.items():
        forgotten = -numbers.size("momentum_rate") * _entries(velocity)
        P.update({u: _entries(velocity), velocity: forgotten})
    decays = {J: numbers.size("weight_decay")}
    if numbers.student_weights is None:
        decay = numbers.size("second_layer_weight_decay")
        decays |= {u: decay * factor for u, factor in zip(others, numbers.heads, strict=False)}
    for u, decay in decays.items():
        if decay:
            P.update({u: -decay * _entries(u)})
    if size := numbers.size("update_noise"):
        for n, vector in enumerate(velocities.get(J, J)):
            P.update({vector: size * P.inputs(f"noise{n + 1}")})


def _entries(family: Any) -> Any:
    """Return the vectors or scalars of a family as an array."""
    return getattr(family, "array", family)


def _all_exact(values: Any) -> Any:
    """Return an array of expressions unchanged, and an array of numbers as exact ones."""
    if isinstance(values, np.ndarray) and values.dtype == object:
        return values
    return np.array([exact(each) for each in values], dtype=object)


def exact(value: Any) -> sp.Expr:
    """Return an expression unchanged, and a float as the decimal that it is printed as."""
    if isinstance(value, sp.Expr):
        return value
    return sp.Rational(str(float(value)))
