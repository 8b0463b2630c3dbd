r"""The steps by which the equations of a rule follow from its statement, section by section.

The equations themselves are those of :mod:`symderiv.learning.derivation.learning_equations`; here
they are decomposed into definitions, the update, the changes by an example, means and orders. That
coefficients are derivatives of the mean loss is proved independently, by Price's rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import sympy as sp

from symderiv.gaussian import derivative as slope
from symderiv.learning.derivation import price, steps
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import (
    MOMENTS,
    kept_definitions,
)
from symderiv.learning.derivation.indexed_sums import derivative, spread
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.derivation.mean_factors import with_integral_names
from symderiv.learning.derivation.moment_hierarchy import moment_equations
from symderiv.learning.derivation.motion import SEEN, one_component, state_overlap
from symderiv.learning.derivation.named_rule import NamedLoss, judged_and_taught
from symderiv.learning.derivation.rule_equations import (
    Gain,
    RuleEquations,
    equations_of,
    written_out,
)
from symderiv.learning.derivation.steps import LearningStep
from symderiv.learning.rule.learning_problem import OUTPUT, TARGET
from symderiv.learning.rule.learning_rule import LearningRule

Steps = tuple[LearningStep, ...]

_COORDINATE = (s.a, 1, s.multiplicity[s.k])


def steps_of(equations: LearningEquations) -> dict[str, Steps]:
    """Return the derivation of equations by section key.

    Raises:
        SymderivError: A coefficient is not the derivative of the mean loss that it has to be.
    """
    sections = dict(_of_all_activations(equations.problem.rule))
    if slope(equations.problem.student.expression).has(sp.DiracDelta):
        sections["noise"] += (steps.Divergent(s.Gamma[s.i, s.i]),)
    return sections


@lru_cache(maxsize=8)
def _of_all_activations(rule: LearningRule) -> dict[str, Steps]:
    told = _RuleTold(rule)
    sections = {
        "setup": tuple(told.setup()),
        "update": tuple(told.update()),
        "generalization_error": tuple(told.error()),
        "drift": tuple(told.drift()),
        "noise": tuple(told.noise()),
        "second_layer": tuple(told.slow("v")),
    }
    if rule.trained_biases:
        sections["biases"] = tuple(told.slow("b"))
    if not rule.batches:
        sections["order_parameters"] = tuple(told.changes())
        sections["equations"] = tuple(told.equations())
    if not rule.plain_motion:
        sections["motion"] = tuple(told.motion())
    elif not (rule.momentum or rule.stated):
        rates = [*told.derived.of_one_component.values()][:2]
        sections["moment_equations"] = moment_equations(*rates)[1]
    return {key: sections[key] for key in _ORDER if key in sections}


_ORDER = (
    "setup",
    "update",
    "order_parameters",
    "generalization_error",
    "drift",
    "noise",
    "second_layer",
    "equations",
    "biases",
    "motion",
    "moment_equations",
)


class _RuleTold:
    """The steps of the derivation for one rule."""

    def __init__(self, rule: LearningRule) -> None:
        self.rule = rule
        self.derived: RuleEquations = equations_of(rule)
        self.potential = s.epsilon_g
        if spread(self.derived.mean_loss - self.derived.error).has(s.Average):
            self.potential = s.Average(s.epsilon)
        self.rho = SEEN if rule.input_noise else s.eigenvalue

    # definitions

    def setup(self) -> Iterator[LearningStep]:
        """Yield the definitions of fields, inputs, noises, loss and data."""
        xi, inner = s.xi[s.k, s.a], sp.Sum(s.J[s.i, s.k, s.a] * s.xi[s.k, s.a], _COORDINATE)
        if self.rule.input_noise:
            noisy = xi + s.input_noise * s.input_epsilon[s.k, s.a]
            yield steps.NoisyInputs(noisy, written_out(SEEN[s.c, s.k]))
        yield steps.Defined(s.x[s.i], sp.Sum(inner, (s.k, 0, s.L - 1)) / sp.sqrt(s.N))
        for family in self._added:
            other = sp.Sum(s.vector(family)[s.i, s.k, s.a] * xi, _COORDINATE)
            field = sp.Sum(other, (s.k, 0, s.L - 1)) / sp.sqrt(s.N)
            yield steps.Defined(s.field(family)[s.i], field)
        variance = written_out(self.rho[s.k]) * sp.KroneckerDelta(s.a, s.b)
        yield steps.InputsAssumed(
            (
                steps.Equality(s.Average(xi * s.xi[s.k, s.b]), variance),
                steps.Equality(s.Average(xi * s.y[s.n]), s.phi[s.n, s.k, s.a] / sp.sqrt(s.N)),
            )
        )
        yield from self._noises()
        yield steps.Defined(s.delta, self.derived.outputs.student - self._target)
        loss = _in_difference(self.rule.loss.expression) + self._added_loss
        yield steps.LossDefined(loss, self._judged)
        components = sp.Sum(s.probability[s.c] * s.ComponentAverage(s.f, s.c), (s.c, 0, s.C - 1))
        yield steps.Mixed(s.Average(s.f), components)

    @property
    def _target(self) -> sp.Expr:
        if self.rule.target == "sum":
            return self.derived.outputs.target
        return (s.flip if self.rule.flips else 1) * s.label + s.sigma * s.zeta

    @property
    def _added_loss(self) -> sp.Expr:
        """The additional terms of a stated rule in the loss."""
        whole = self.derived.named.descent.loss
        return self.derived.of_all(whole - sp.Add(*whole.atoms(NamedLoss)))

    @property
    def _judged(self) -> sp.Expr:
        """The definition of ε_g, in terms of δ if label noise is the only difference between the
        two.
        """
        rule = self.rule
        if rule.target == "sum" and not (rule.flips or rule.dropout):
            return s.Average((s.delta + s.sigma * s.zeta) ** 2) / 2
        observed = self.derived.named.statement.observables["error"]
        judged, taught = judged_and_taught(observed)
        return s.Average((self.derived.of_all(judged) - self.derived.of_all(taught)) ** 2) / 2

    def _noises(self) -> Iterator[LearningStep]:
        """Yield the noises of an example other than input and label noise."""
        if self.rule.target == "sign":
            yield steps.Defined(s.label, sp.sign(self.derived.outputs.target, evaluate=False))
        if self.rule.flips:
            yield steps.NoiseDefined(s.Average(s.flip), s.mean_flip)
            yield steps.MomentNamed(s.mean_flip, MOMENTS[s.mean_flip])
        if self.rule.dropout:
            yield steps.NoiseDefined(s.Average(s.mask[s.i]), s.keep)
            named = [(each, MOMENTS[each]) for each in s.kept_cumulants]
            for name, value in (*named, *kept_definitions()):
                yield steps.MomentNamed(name, value)

    # one example

    @property
    def _slope(self) -> sp.Expr:
        """The slope ∂ℓ/∂s, in terms of δ if that suffices."""
        return _in_difference(sp.diff(self.rule.loss.expression, OUTPUT))

    def _by_chain_rule(self, variable: sp.Indexed) -> sp.Expr:
        if self.rule.stated:
            name = {s.x: "x", s.v: "v"}[variable.base]
            return self.derived.force if name == "x" else self.derived.slope_by(name)
        return self._slope * derivative(self.derived.outputs.student, variable)

    def update(self) -> Iterator[LearningStep]:
        """Yield the force and the new weights."""
        gradient = s.Partial(s.epsilon, s.x[s.i])
        chain = self._by_chain_rule(s.x[s.i])
        yield steps.ForceFound(s.F[s.i], gradient, chain, self.derived.force)
        for each in self._gains_of_all:
            yield steps.Defined(s.gain(each.family)[each.letters], each.value)
        weight, velocity = s.J[s.i, s.k, s.a], s.U[s.i, s.k, s.a]
        eta = s.eta if self.rule.batches else self.derived.named_rate
        down = eta * s.F[s.i] * s.xi[s.k, s.a] / sp.sqrt(s.N)
        added = s.update_noise * s.update_zeta[s.i, s.k, s.a] / sp.sqrt(s.N)
        added = added if self.rule.update_noise else sp.S.Zero
        decay = sp.S.Zero if self.rule.batches else s.kappa / s.N * weight
        down += eta / s.N * self._gained
        if self.rule.momentum:
            moved = velocity - down - s.gamma / s.N * velocity + added
            yield steps.Updated(velocity, moved, moved)
            moved = weight + velocity / s.N - decay
            yield steps.Updated(weight, moved, moved)
        else:
            whole = weight - eta * s.Partial(s.epsilon, weight) - decay + added
            yield steps.Updated(weight, whole, weight - down - decay + added)
        yield from self._followers()
        yield from self._slow_update(s.v[s.i], s.v_velocity[s.i], s.eta_v, s.kappa_v)
        if self.rule.trained_biases:
            yield from self._slow_update(s.bias[s.i], s.b_velocity[s.i], s.eta_b, sp.S.Zero)

    @property
    def _gains_of_all(self) -> list[Gain]:
        """Motion of students along vectors themselves, in addition to that along inputs."""
        return [each for each in self.derived.gains if each.of_all]

    @property
    def _gained(self) -> sp.Expr:
        """The gradient of the loss of an example by J_i, as far as it is along vectors."""
        total = sp.S.Zero
        for each in self._gains_of_all:
            along, letter = s.vector(each.family)[s.p, s.k, s.a], s.p
            if each.family == "B":
                along, letter = s.phi[s.m, s.k, s.a] / s.eigenvalue[s.k], s.m
            gain = s.gain(each.family)[s.i, letter]
            total += sp.Sum(gain * along, (letter, 0, letter.upper))
        return total

    def _followers(self) -> Iterator[LearningStep]:
        """Yield the updates of the vectors that a rule adds."""
        for family in self._added:
            weight = s.vector(family)[s.i, s.k, s.a]
            moved = weight
            for along, rate in self.derived.drifts[family].items():
                moved += (
                    rate.coeff(sp.KroneckerDelta(s.i, s.j)) / s.N * s.vector(along)[s.i, s.k, s.a]
                )
            yield steps.Updated(weight, moved, moved)

    @property
    def _added(self) -> list[str]:
        return [name for name in self.derived.units if name not in ("F", "U", "J", "B")]

    def _slow_update(
        self, weight: sp.Indexed, velocity: sp.Indexed, rate: sp.Expr, decay: sp.Expr
    ) -> Iterator[LearningStep]:
        written = s.F[s.i] if weight == s.bias[s.i] else self._by_chain_rule(weight)
        steps_down = [rate / s.N * each for each in (s.Partial(s.epsilon, weight), written)]
        decay = sp.S.Zero if self.rule.batches else decay / s.N * weight
        if not self.rule.momentum:
            yield steps.Updated(weight, *(weight - step - decay for step in steps_down))
            return
        moved = [velocity - s.gamma / s.N * velocity - step for step in steps_down]
        yield steps.Updated(velocity, *moved)
        yield steps.Updated(weight, *(weight + each / s.N - decay for each in moved))

    # order parameters

    def changes(self) -> Iterator[LearningStep]:
        """Yield the changes of overlaps by one example."""
        J, U, xi = s.J, s.U, s.xi[s.k, s.a]
        phi = s.phi[s.c, s.n, s.k, s.a]
        products = [
            (s.student_overlap[s.k, s.i, s.j], J[s.i, s.k, s.a] * J[s.j, s.k, s.a]),
            (s.cross_overlap[s.c, s.k, s.i, s.n], J[s.i, s.k, s.a] * phi),
        ]
        linear = [
            (s.x_mode[s.k, s.i], J[s.i, s.k, s.a] * xi),
            (s.y_mode[s.c, s.k, s.n], phi * xi),
        ]
        if self.rule.momentum:
            products += [
                (s.momentum_overlap[s.k, s.i, s.j], U[s.i, s.k, s.a] * J[s.j, s.k, s.a]),
                (s.momentum_square[s.k, s.i, s.j], U[s.i, s.k, s.a] * U[s.j, s.k, s.a]),
                (s.momentum_cross[s.c, s.k, s.i, s.n], U[s.i, s.k, s.a] * phi),
            ]
            linear.append((s.u_mode[s.k, s.i], U[s.i, s.k, s.a] * xi))
        for first, second in self.derived.pairs:
            if {first, second} & set(self._added):
                last = phi if second == "B" else s.vector(second)[s.j, s.k, s.a]
                one = s.vector(first)[s.i, s.k, s.a]
                products.append((state_overlap(first, second), one * last))
        for family in self._added:
            one = s.vector(family)[s.i, s.k, s.a]
            linear.append((s.mode(family)[s.k, s.i], one * xi))
        for name, value in products:
            yield steps.Defined(name, _over_coordinates(value))
        for name, value in linear:
            yield steps.Defined(name, sp.sqrt(s.N) * _over_coordinates(value))
        yield steps.Defined(s.xi_square[s.k], _over_coordinates(xi**2))
        for of, change in self.derived.changes.items():
            if change.has(s.update_noise):
                yield steps.UpdateNoiseAveraged(s.Change(of), sp.expand(change / s.N))
            yield steps.Ordered(s.Change(of), change)

    def equations(self) -> Iterator[LearningStep]:
        """Yield the means of these changes, which are the rates."""
        special = self.derived.of_one_component
        for of, change in self.derived.changes.items():
            rate = s.Rate(of)
            label = s.d if of.has(s.c) else s.c
            yield steps.Averaged(rate, _over_components(change, label))
            yield steps.MeansTaken(rate, written_out(self.derived.overlaps[of]))
            yield steps.OneComponent(s.Rate(one_component(of)), special[one_component(of)])
        student = s.weight[s.k] * self.rho[s.c, s.k] * s.student_overlap[s.k, s.i, s.j]
        cross = s.weight[s.k] * s.cross_overlap[s.c, s.k, s.i, s.n]
        for field, value in ((s.x[s.j], student), (s.y[s.n], cross)):
            mean = s.ComponentAverage(s.x[s.i] * field, s.c)
            yield steps.FieldCovariance(mean, written_out(sp.Sum(value, (s.k, 0, s.L - 1))))
        shown = sp.Tuple(self.derived.mean_loss, *(value for _, value in self.derived.further))
        for name, value in self.derived.sums:
            fields = {s.field(family) for family in s.families_of(name.base)} - {s.x, s.y}
            if shown.has(name.base) or (fields and "covariance" in str(name.base.label)):
                yield steps.Defined(name, value)

    # means

    def error(self) -> Iterator[LearningStep]:
        """Yield the steps to ε_g."""
        yield steps.SquareAveraged(s.epsilon_g, self.derived.error)
        yield from _integrals_named(s.epsilon_g, self.derived.error)

    def drift(self) -> Iterator[LearningStep]:
        """Yield the steps to A_ij and B_in, the coefficients of Stein's rule, proved to be
        gradients.
        """
        derived, rho = self.derived, self.rho
        student, teacher = s.x_mode[s.k, s.i], s.y_mode[s.c, s.k, s.n]
        for field, other, label, value in (
            (student, s.x[s.j], s.c, rho[s.c, s.k] * s.student_overlap[s.k, s.i, s.j]),
            (student, s.y[s.n], s.c, s.cross_overlap[s.c, s.k, s.i, s.n]),
            (teacher, s.x[s.j], s.d, rho[s.d, s.k] * s.cross_overlap[s.c, s.k, s.j, s.n]),
            (teacher, s.y[s.m], s.d, s.teacher_overlap[s.c, s.d, s.k, s.n, s.m]),
        ):
            mean = s.ComponentAverage(field * other, label)
            yield steps.ModeCovariance(mean, written_out(value))
        yield _stein([each for each in derived.gains if not each.of_all])
        by_q, by_r = (s.Partial(self.potential, by) for by in (s.Q[s.i, s.j], s.R[s.i, s.n]))
        coefficients = derived.gradients
        for name, value in zip((s.A[s.i, s.j], s.B[s.i, s.n]), coefficients, strict=True):
            yield steps.CoefficientAveraged(name, value)
        for name, value in derived.further:
            yield steps.CoefficientAveraged(name, value)
        price.prove_first_layer(derived.mean_loss, *coefficients, derived.outputs)
        for by in (by_q, by_r):
            derivative = price.by_covariance(derived.mean_loss, by.args[1], derived.outputs)
            yield steps.Priced(by, derivative)
        second = s.Average(s.Partial(s.epsilon, s.x[s.i], s.x[s.j]))
        yield steps.GradientsProved(
            steps.Equality(s.A[s.i, s.j], second),
            1 + sp.KroneckerDelta(s.i, s.j),
            by_q,
            steps.Equality(s.B[s.i, s.n], by_r),
        )

    def noise(self) -> Iterator[LearningStep]:
        """Yield the steps to Γ_ij, with the self-averaging length of the input."""
        name, forces, power = s.Gamma[s.i, s.j], s.F[s.i] * s.F[s.j], s.xi_square[s.k]
        rho, n = written_out(self.rho[s.k]), s.multiplicity[s.k]
        fourth = 3 * rho**2  # of one coordinate, by Wick's rule
        variance = sp.factor((fourth - rho**2) / n)
        mean = s.Average(forces * power)
        yield steps.Defined(name, s.Average(forces))
        yield steps.InputPower(power, rho, variance)
        yield steps.SelfAveraged(mean, rho * name, sp.cancel(variance / rho**2))
        yield steps.NoiseAveraged(name, self.derived.noise)
        yield from _integrals_named(name, self.derived.noise)

    def slow(self, name: str) -> Iterator[LearningStep]:
        """Yield the mean force on output weights or biases, proved to be a gradient, and their
        rates.
        """
        derived = self.derived
        force, rates = derived.forces[name], derived.slow[name]
        if name == "v":
            price.prove_second_layer(derived.mean_loss, force, derived.outputs)
            mean, named = s.Average(self._by_chain_rule(s.v[s.i])), s.dv[s.i]
            shown = by = s.Partial(self.potential, s.v[s.i])
        else:
            price.prove_biases(derived.mean_loss, force, derived.outputs)
            shown = mean = s.Average(s.F[s.i])
            by, named = s.Partial(s.Average(s.epsilon), s.bias[s.i]), s.db[s.i]
        yield steps.ForceAveraged(mean, force, by)
        if name == "v":
            yield from _integrals_named(by, force)
        for of, rate in rates.items():
            yield steps.Ordered(of, rate.xreplace({named: shown}))

    def motion(self) -> Iterator[LearningStep]:
        """Yield the rates of the state under the rule."""
        motion = self.derived.motion
        kind = s.Change if motion.by_steps else s.Rate
        if motion.by_steps:
            rho = written_out(self.rho[s.k])
            weight = sp.Sum(s.A[s.i, s.p] * s.J[s.p, s.k, s.a], (s.p, 0, s.K - 1))
            taught = sp.Sum(s.B[s.i, s.m] * s.phi[s.m, s.k, s.a], (s.m, 0, s.M - 1))
            gradient = sp.IndexedBase(sp.Symbol("gradient", real=True))[s.i, s.k, s.a]
            yield steps.MeanGradient(gradient, rho * weight + taught)
        for each in motion.before:
            yield steps.Defined(*each)
        for of, value in motion.rates:
            yield steps.Moved(kind(of), value)


def _over_coordinates(product: sp.Expr) -> sp.Expr:
    """Return the mean over the coordinates of an eigenspace."""
    return sp.Sum(product, _COORDINATE) / s.multiplicity[s.k]


def _over_components(change: sp.Expr, label: Any) -> sp.Expr:
    """Return the mean of a change over an example as a mean over its component."""
    means = []
    for term in sp.Add.make_args(sp.expand(change)):
        factors = sp.Mul.make_args(term)
        random = sp.Mul(*(f for f in factors if s.is_random(f)))
        rest = sp.Mul(*(f for f in factors if not s.is_random(f)))
        own = sp.Mul(*(f for f in sp.Mul.make_args(rest) if f.has(label)))
        inside = s.probability[label] * own * s.ComponentAverage(random, label)
        mean = sp.Sum(inside, (label, 0, s.C - 1))
        means.append(rest if random == 1 else rest / own * mean)
    return sp.Add(*means)


def _in_difference(expression: sp.Expr) -> sp.Expr:
    """Return an expression in s and t in terms of δ = s - t if that suffices."""
    in_delta = sp.expand(expression.xreplace({OUTPUT: TARGET + s.delta}))
    return expression if in_delta.has(TARGET) else in_delta


def _stein(gains: Sequence[Gain]) -> steps.Stein:
    """Return Stein's rule for ⟨z F_i⟩ with any Gaussian field z, with named coefficients.

    Args:
        gains: The dependence of F_i on fields other than those of students and teachers.
    """
    others = [(s.j, s.field(each.family), each.name) for each in gains]
    sums = tuple(
        steps.SteinSum(
            (letter, 0, letter.upper),
            s.ComponentAverage(s.z * field[letter], s.c),
            coefficient[s.c, s.i, letter],
        )
        for letter, field, coefficient in ((s.j, s.x, s.A), (s.n, s.y, s.B), *others)
    )
    named = tuple(
        steps.Equality(name, s.Average(s.Partial(s.F[s.i], field)))
        for name, field in (
            (s.A[s.i, s.j], s.x[s.j]),
            (s.B[s.i, s.n], s.y[s.n]),
            *((name[s.i, letter], field[letter]) for letter, field, name in others),
        )
    )
    return steps.Stein(s.ComponentAverage(s.z * s.F[s.i], s.c), sums, named)


def _integrals_named(of: sp.Expr, value: sp.Expr) -> Iterable[LearningStep]:
    named = with_integral_names(value)
    return () if named == value else (steps.IntegralsNamed(of, named),)
