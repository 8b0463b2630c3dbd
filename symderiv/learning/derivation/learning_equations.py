r"""From the update of one example to the order-parameter equations, symbolically and step by step.

The chain is: loss → gradient → change of the order parameters, sorted by powers of 1/N → means over
an example → Stein's rule. Every right-hand side below comes out of that chain; nothing of it is
typed in. Means of products of activations (``symbols.Average``) stay symbols here and become
numbers only through the Gaussian calculus, so this derivation holds for all activations, all K, M
and all spectra.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

from symderiv.errors import NotYetError, SymderivError
from symderiv.gaussian import derivative as slope
from symderiv.learning.derivation import example_fields as fields
from symderiv.learning.derivation import example_means as means
from symderiv.learning.derivation import noisy_inputs, price, steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import MOMENTS, kept_definitions, pair_written_out
from symderiv.learning.derivation.indexed_sums import Definition, at, spread
from symderiv.learning.derivation.mean_factors import with_integral_names
from symderiv.learning.derivation.moment_hierarchy import MomentEquations, moment_equations
from symderiv.learning.derivation.motion import Motion, motion_of
from symderiv.learning.derivation.network_outputs import PLAIN_OUTPUTS
from symderiv.learning.derivation.self_averaging import (
    fluctuation,
    self_averaged,
    with_input_power,
)
from symderiv.learning.derivation.steps import LearningStep
from symderiv.learning.derivation.update import Example, in_difference
from symderiv.learning.derivation.weight_updates import (
    BIAS,
    OUTPUT_WEIGHT,
    SlowWeight,
    VectorUpdates,
    update_steps,
)
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.learning.rule.learning_rule import LearningRule


@dataclass(frozen=True)
class SpectralEquations:
    """Time derivatives of the order parameters of each eigenspace, for one component of the data.

    The symbols A, B, Γ in them are the expressions of the same name in :class:`Equations`.
    """

    student_overlap: sp.Expr
    cross_overlap: sp.Expr
    second_layer: sp.Expr


@dataclass(frozen=True)
class Equations:
    """The order-parameter equations of a problem as symbolic expressions, and how they came about.

    Attributes:
        generalization_error: ε_g as a sum of means of products of two activations.
        mean_loss: What the descent decreases: the mean of the loss over examples.
        student_gradient: A_ij = (1 + δ_ij) ∂⟨ε⟩/∂Q_ij.
        teacher_gradient: B_in = ∂⟨ε⟩/∂R_in.
        second_layer_gradient: ∂⟨ε⟩/∂v_i.
        noise: Γ_ij, the coefficient of η² ρ_k in dQ_k/dα.
        student_covariance: Q_ij from the overlaps of the eigenspaces.
        cross_covariance: R_in from the overlaps of the eigenspaces.
        components: The equations for data of several components (classes).
        spectral: The equations for a single component.
        moment_form: The same in the moments Q^(l), R^(l), with their closure; not with momentum.
        motion: What all fields of the state do under the rule, for a single component.
        steps: The derivation by section key.
        mean_force: Of a rule that trains biases: ⟨F_i⟩ = ∂⟨ε⟩/∂b_i, named db_i.
        seen_covariance: Q_ij of the fields of inputs with the student's noise, of a rule with such.
            A, B, Γ are then at this covariance, ε_g is at both.
    """

    problem: LearningProblem
    generalization_error: sp.Expr
    mean_loss: sp.Expr
    student_gradient: sp.Expr
    teacher_gradient: sp.Expr
    second_layer_gradient: sp.Expr
    noise: sp.Expr
    student_covariance: sp.Expr
    cross_covariance: sp.Expr
    components: SpectralEquations
    spectral: SpectralEquations
    motion: Motion
    moment_form: MomentEquations | None
    steps: Mapping[str, tuple[LearningStep, ...]]
    mean_force: sp.Expr | None = None
    seen_covariance: sp.Expr | None = None

    @property
    def moments(self) -> MomentEquations:
        """The equations in moments of the input covariance.

        Raises:
            NotYetError: They are not derived for this rule.
        """
        if self.moment_form is None:
            raise NotYetError("not yet: moments of the input covariance with momentum")
        return self.moment_form


def derive_equations(problem: LearningProblem) -> Equations:
    """The order-parameter equations of stochastic gradient descent, derived from its update.

    Args:
        problem: The activations and the loss; numbers of units and modes stay symbols.

    Returns:
        Right-hand sides as SymPy expressions in indexed arrays and sums over index ranges.

    Raises:
        SymderivError: A step that is proved fails its proof: an error of ours.
    """
    derived = dict(_of_all_activations(problem.rule))
    found = dict(derived["steps"])
    if slope(problem.student.expression).has(sp.DiracDelta):
        found["noise"] += (steps.Divergent(s.Gamma[s.i, s.i]),)
    return Equations(problem=problem, **{**derived, "steps": found})


@lru_cache(maxsize=8)
def _of_all_activations(rule: LearningRule) -> Mapping[str, Any]:
    """What :class:`Equations` holds for any activations: they stay symbols throughout."""
    example = Example(rule)
    found: dict[str, tuple[LearningStep, ...]] = {}
    found["setup"] = _setup(example)
    found["update"] = update_steps(example)
    changes, found["order_parameters"] = VectorUpdates(rule).changes()
    error, found["generalization_error"] = _generalization_error(example)
    gradients, found["drift"] = _drift(example, error)
    noise, found["noise"] = _noise(example)
    output_gradient, slow, found["second_layer"] = _second_layer(example, error)
    general, special, found["equations"] = _equations(changes)
    mean_force = None
    if rule.trained_biases:
        mean_force, of_biases, found["biases"] = _biases(example)
        slow = {**slow, **of_biases}
    clean = _of_one(fields.covariance(s.x[s.i], s.x[s.j], s.c))
    seen = None
    if rule.input_noise:
        seen = noisy_inputs.added(clean)
        general, special = (noisy_inputs.changed(each) for each in (general, special))
        found = noisy_inputs.narrated(found)
    motion = motion_of(rule, {**special, **slow})
    moments = None
    if not rule.plain_motion:
        found["motion"] = motion.steps
    elif not rule.momentum:
        moments, found["moment_equations"] = moment_equations(*special.values())
    components, spectral = (_first_two(each, slow[s.v[s.i]]) for each in (general, special))
    return {
        "generalization_error": error,
        "mean_loss": example.mean_loss,
        "student_gradient": gradients[0],
        "teacher_gradient": gradients[1],
        "second_layer_gradient": output_gradient,
        "noise": noise,
        "student_covariance": clean,
        "seen_covariance": seen,
        "cross_covariance": _of_one(fields.covariance(s.x[s.i], s.y[s.n], s.c)),
        "components": components,
        "spectral": spectral,
        "motion": motion,
        "moment_form": moments,
        "steps": found,
        "mean_force": mean_force,
    }


def _first_two(rates: Mapping[sp.Indexed, sp.Expr], output: sp.Expr) -> SpectralEquations:
    student, cross, *_velocities = rates.values()
    return SpectralEquations(student, cross, output)


_of_one = means.one_component


def _setup(example: Example) -> tuple[LearningStep, ...]:
    xi, other = s.xi[s.k, s.a], s.xi[s.k, s.b]
    assumed = tuple(
        steps.Equality(s.Average(xi * second), _of_one(fields.covariance(xi, second, s.c)))
        for second in (other, s.y[s.n])
    )
    components = sp.Sum(s.probability[s.c] * s.ComponentAverage(s.f, s.c), (s.c, 0, s.C - 1))
    return (
        steps.Defined(s.x[s.i], fields.linear_form(s.x[s.i])),
        steps.InputsAssumed(assumed),
        *_labels(example),
        *_noises(example),
        steps.Defined(s.delta, example.outputs.student - example.outputs.target),
        steps.LossDefined(in_difference(example.loss.expression), _judged(example)),
        steps.Mixed(s.Average(s.f), components),
    )


def _labels(example: Example) -> tuple[LearningStep, ...]:
    """What is taught where it is a sign."""
    if example.rule.target == "sum":
        return ()
    return (steps.Defined(s.label, sp.sign(example.outputs.summed, evaluate=False)),)


def _noises(example: Example) -> tuple[LearningStep, ...]:
    """Means of what is drawn for an example besides input and label noise."""
    present = ((example.rule.flips, s.flip), (example.rule.dropout, s.mask[s.i]))
    names = {
        s.flip: (s.mean_flip,),
        s.mask[s.i]: s.kept_cumulants,
    }
    return tuple(
        step
        for there, noise in present
        if there
        for step in (
            steps.NoiseDefined(s.Average(noise), means.mean_over_example(noise)),
            *(steps.MomentNamed(name, MOMENTS[name]) for name in names[noise]),
            *(
                steps.MomentNamed(*each)
                for each in (kept_definitions() if noise == s.mask[s.i] else ())
            ),
        )
    )


def _judged(example: Example) -> sp.Expr:
    """ε_g by its definition, by δ where label noise is all that is between them."""
    if example.outputs == PLAIN_OUTPUTS:
        return s.Average((s.delta + s.sigma * s.zeta) ** 2) / 2
    return s.Average(example.outputs.difference**2) / 2


def _generalization_error(example: Example) -> tuple[sp.Expr, tuple[LearningStep, ...]]:
    error = spread(s.Average(example.outputs.difference**2 / 2))
    error = error.xreplace({s.Average(s.label**2): sp.Integer(1)})
    return error, (
        steps.SquareAveraged(s.epsilon_g, error),
        *_integrals_named(s.epsilon_g, error),
    )


def _integrals_named(of: sp.Expr, value: sp.Expr) -> tuple[LearningStep, ...]:
    named = with_integral_names(value)
    return () if named == value else (steps.IntegralsNamed(of, named),)


def _potential(mean_loss: sp.Expr, error: sp.Expr) -> sp.Expr:
    """ε_g if the mean loss differs from it by no mean over the fields, else ⟨ε⟩."""
    return s.Average(s.epsilon) if spread(mean_loss - error).has(s.Average) else s.epsilon_g


def _drift(
    example: Example, error: sp.Expr
) -> tuple[tuple[sp.Expr, sp.Expr], tuple[LearningStep, ...]]:
    """A_ij and B_in: the coefficients that Stein's rule leaves, proved to be gradients."""
    found: list[LearningStep] = []
    for field, other in (
        (s.x_mode[s.k, s.i], s.x[s.j]),
        (s.x_mode[s.k, s.i], s.y[s.n]),
        (s.y_mode[s.c, s.k, s.n], s.x[s.j]),
        (s.y_mode[s.c, s.k, s.n], s.y[s.m]),
    ):
        component = s.c if field.base == s.x_mode else s.d
        mean = s.ComponentAverage(field * other, component)
        found.append(steps.ModeCovariance(mean, fields.covariance(field, other, component)))
    found.append(_stein())
    student, teacher = (
        pair_written_out(means.mean_over_example(example.force_by(field)))
        for field in (s.x[s.j], s.y[s.n])
    )
    found.append(steps.CoefficientAveraged(s.A[s.i, s.j], student))
    found.append(steps.CoefficientAveraged(s.B[s.i, s.n], teacher))
    price.prove_first_layer(example.mean_loss, student, teacher, example.outputs)
    potential = _potential(example.mean_loss, error)
    by_q, by_r = (s.Partial(potential, by) for by in (s.Q[s.i, s.j], s.R[s.i, s.n]))
    for by in (by_q, by_r):
        found.append(
            steps.Priced(by, price.by_covariance(example.mean_loss, by.args[1], example.outputs))
        )
    second = s.Average(s.Partial(s.epsilon, s.x[s.i], s.x[s.j]))
    found.append(
        steps.GradientsProved(
            steps.Equality(s.A[s.i, s.j], second),
            1 + sp.KroneckerDelta(s.i, s.j),
            by_q,
            steps.Equality(s.B[s.i, s.n], by_r),
        )
    )
    return (student, teacher), tuple(found)


def _stein() -> steps.Stein:
    """⟨z F_i⟩ for any Gaussian field z, its coefficients by their names."""
    sums = tuple(
        steps.SteinSum(part.limit, part.covariance, means.named_slopes(part.mean))
        for part in means.by_parts(s.z, s.F[s.i], sp.Integer(1), s.c, (s.j, s.n))
    )
    named = tuple(
        steps.Equality(name, s.Average(s.Partial(s.F[s.i], field)))
        for name, field in ((s.A[s.i, s.j], s.x[s.j]), (s.B[s.i, s.n], s.y[s.n]))
    )
    return steps.Stein(s.ComponentAverage(s.z * s.F[s.i], s.c), sums, named)


def _noise(example: Example) -> tuple[sp.Expr, tuple[LearningStep, ...]]:
    name, forces = s.Gamma[s.i, s.j], s.F[s.i] * s.F[s.j]
    power = s.xi_square[s.k]
    mean = s.ComponentAverage(forces * power, s.c)
    found = fluctuation(s.c)

    def shown(expression: sp.Expr) -> sp.Expr:
        return _of_one(means.rewrite(expression, means.named_noise))

    noise = means.mean_over_example(spread(example.force * at(example.force, {s.i: s.j})))
    return noise, (
        steps.Defined(name, s.Average(forces)),
        steps.InputPower(power, _of_one(found.mean), _of_one(found.variance)),
        steps.Correlated(_of_one(mean), shown(with_input_power(mean))),
        steps.SelfAveraged(_of_one(mean), shown(self_averaged(mean)), _of_one(found.relative)),
        steps.NoiseAveraged(name, noise),
        *_integrals_named(name, noise),
    )


def _second_layer(
    example: Example, error: sp.Expr
) -> tuple[sp.Expr, Mapping[sp.Indexed, sp.Expr], tuple[LearningStep, ...]]:
    """∂ε_g/∂v_i and dv_i/dα, from the update of the output weights."""
    gradient = means.mean_over_example(example.output_force)
    price.prove_second_layer(example.mean_loss, gradient, example.outputs)
    by_v = s.Partial(_potential(example.mean_loss, error), s.v[s.i])
    rates = _slow_rates(OUTPUT_WEIGHT, example.rule, s.output_force[s.i], s.dv[s.i])
    return (
        gradient,
        rates,
        (
            steps.ForceAveraged(s.Average(example.by_chain_rule(s.v[s.i])), gradient, by_v),
            *_integrals_named(by_v, gradient),
            *(steps.Ordered(of, rate.xreplace({s.dv[s.i]: by_v})) for of, rate in rates.items()),
        ),
    )


def _biases(
    example: Example,
) -> tuple[sp.Expr, Mapping[sp.Indexed, sp.Expr], tuple[LearningStep, ...]]:
    """⟨F_i⟩ and db_i/dα, from the update of the biases."""
    force = means.mean_over_example(example.force)
    price.prove_biases(example.mean_loss, force, example.outputs)
    mean, by_bias = s.Average(s.F[s.i]), s.Partial(s.Average(s.epsilon), s.bias[s.i])
    rates = _slow_rates(BIAS, example.rule, s.F[s.i], s.db[s.i])
    return (
        force,
        rates,
        (
            steps.ForceAveraged(mean, force, by_bias),
            *(steps.Ordered(of, rate.xreplace({s.db[s.i]: mean})) for of, rate in rates.items()),
        ),
    )


def _slow_rates(
    moved: SlowWeight, rule: LearningRule, force: sp.Expr, named: sp.Expr
) -> Mapping[sp.Indexed, sp.Expr]:
    """The derivatives by α of a slow weight and its velocity, its mean force by name.

    Raises:
        SymderivError: They do not follow the force.
    """
    rates = {of: spread(s.Average(each)) for of, each in moved.changes(rule, force).items()}
    if not any(rate.has(s.Average(force)) for rate in rates.values()):
        raise SymderivError(f"{moved.weight} does not follow its force: {rates}")
    return {of: rate.xreplace({s.Average(force): named}) for of, rate in rates.items()}


Overlaps = Mapping[sp.Indexed, sp.Expr]


def _equations(
    changes: Mapping[Definition, sp.Expr],
) -> tuple[Overlaps, Overlaps, tuple[LearningStep, ...]]:
    """The rates of all overlaps, for several components of the data and for one."""
    found: list[LearningStep] = []
    general: dict[sp.Indexed, sp.Expr] = {}
    special: dict[sp.Indexed, sp.Expr] = {}
    for definition, change in changes.items():
        rate = s.Rate(definition.name)
        mean = means.over_components(spread(s.Average(change)))
        found.append(steps.Averaged(rate, mean))
        for rule in (self_averaged, means.named_noise, means.stein, means.named_slopes):
            mean = means.rewrite(mean, rule)
        if mean.has(s.ComponentAverage):
            raise SymderivError(f"a mean is left over in {rate}: {mean}")
        found.append(steps.MeansTaken(rate, mean))
        name, of_one = _of_one(definition.name), _of_one(mean)
        general[name], special[name] = mean, of_one
        found.append(steps.OneComponent(s.Rate(name), of_one))
    for first, second in ((s.x[s.i], s.x[s.j]), (s.x[s.i], s.y[s.n])):
        covariance = s.ComponentAverage(first * second, s.c)
        found.append(steps.FieldCovariance(covariance, fields.covariance(first, second, s.c)))
    return general, special, tuple(found)
