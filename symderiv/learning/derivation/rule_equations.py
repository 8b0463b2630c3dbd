"""Equations that follow from the statement of a learning rule, one family of units at a time.

The equations of a few units come from :mod:`symderiv.statement.stated_motion`; their coefficients
are summed over all units and get the names A, B and Γ, in which the motion of overlaps is written.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import sympy as sp

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import mean_over_example, pair_written_out
from symderiv.learning.derivation.indexed_sums import Term, at, contract, map_terms, spread
from symderiv.learning.derivation.motion import (
    GRADIENT_SIZE,
    SEEN,
    Motion,
    Rates,
    on_the_sphere,
    one_component,
    overlap_rate,
    state_overlap,
)
from symderiv.learning.derivation.named_rule import NamedLoss, NamedRule, named_rule
from symderiv.learning.derivation.network_outputs import Outputs
from symderiv.learning.derivation.summed_units import paired, summed
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.statement import stated_motion
from symderiv.statement.register import Mean
from symderiv.statement.slopes import slope
from symderiv.statement.stated_motion import ALL
from symderiv.statement.vector_expressions import SlowVector


@lru_cache(maxsize=8)
def equations_of(rule: LearningRule) -> RuleEquations:
    """Return the equations that follow from a rule, part by part.

    Raises:
        InputError: The rule asks for two motions at once.
    """
    _one_motion(rule)
    return RuleEquations(named_rule(rule))


STUDENTS = sp.Sum(
    s.weight[s.k] * s.eigenvalue[s.k] * s.student_overlap[s.k, s.i, s.j], (s.k, 0, s.L - 1)
)
"""Q_ij from the overlaps of the eigenspaces."""
CROSS = sp.Sum(s.weight[s.k] * s.cross_overlap[s.k, s.i, s.n], (s.k, 0, s.L - 1))
"""R_in from the overlaps of the eigenspaces."""


def one_of_all(drift: sp.Expr) -> sp.Expr:
    """Return the terms of a drift that are the same for all components of the data."""
    return sp.Add(*(term for term in sp.Add.make_args(drift) if not term.has(s.d)))


def _of_its_component(term: Term) -> Term:
    """Return a term for an example of component c in place of the mean over components."""
    limits = tuple(limit for limit in term.limits if limit[0] not in s.COMPONENTS)
    if len(limits) == len(term.limits):
        return term
    (index,) = {limit[0] for limit in term.limits} - {limit[0] for limit in limits}
    return Term(term.factor / s.probability[index], limits).relettered({index: s.c})


def written_out(rate: sp.Expr) -> sp.Expr:
    """Return a rate with ρ_k + σ_x² for the eigenvalues of noisy inputs."""
    return rate.xreplace(
        {
            each: s.eigenvalue[each.indices] + s.input_noise**2
            for each in rate.atoms(sp.Indexed)
            if each.base == SEEN
        }
    )


def _one_motion(rule: LearningRule) -> None:
    asked = [
        name
        for name, there in (
            ("momentum_rate", rule.momentum),
            ("batch_ratio", rule.batches),
            ("normalise", rule.normalise != "none"),
        )
        if there
    ]
    if len(asked) > 1:
        raise InputError(f"cannot be combined with {asked[1]}; remove one", argument=asked[0])


@dataclass(frozen=True)
class Gain:
    """The coefficient of −η with which an example moves students along other vectors.

    Attributes:
        family: The other vectors.
        of_all: Whether they move along these vectors themselves; else along the vectors times the
            input covariance.
        value: The value for one example, in the indices i and j, or i and n.
    """

    family: str
    of_all: bool
    value: sp.Expr

    @property
    def name(self) -> sp.IndexedBase:
        """The array of the mean coefficient."""
        return s.drift(self.family, self.of_all)

    @property
    def letters(self) -> tuple[sp.Idx, sp.Idx]:
        """The indices of the two units."""
        return s.i, s.n if self.family == "B" else s.j


@dataclass(frozen=True)
class RuleEquations:
    """Equations that follow from a named rule, one family of units at a time."""

    named: NamedRule

    @cached_property
    def equations(self) -> stated_motion.StatedEquations:
        """The equations of a few units; constraints act on the motion of all units below."""
        return stated_motion.derived(replace(self.named.statement, constraints=()))

    @cached_property
    def units(self) -> dict[str, tuple[SlowVector, ...]]:
        """The vectors by family; ``F`` has those to which the steps of gradient descent
        are added.
        """
        families = self.named.families()
        velocity = self.named.descent.velocity
        return {**families, "F": tuple(velocity.get(each, each) for each in families["J"])}

    # quantities of one example

    def of_all(self, value: sp.Expr) -> sp.Expr:
        """Return an expression without free units, summed over all units."""
        return summed(self.named.in_arrays(value), (), self.named.sizes).lettered({})

    def of_one(self, value: sp.Expr) -> sp.Expr:
        """Return an expression for the first student, generalised to student i."""
        first = ("K", 0)
        return summed(self.named.in_arrays(value), (first,), self.named.sizes).lettered(
            {first: s.i}
        )

    @cached_property
    def outputs(self) -> Outputs:
        """The outputs for an example."""
        (loss,) = self.named.descent.loss.atoms(NamedLoss)
        _, _, student, target = loss.args
        return Outputs(self.of_all(student), self.of_all(target))

    @cached_property
    def force(self) -> sp.Expr:
        """The force F_i = ∂ℓ/∂x_i."""
        first = self.units["F"][0]
        inputs = {
            each.name: value for each, value in self.equations.step.vectors[first].inputs.items()
        }
        return self.of_one(-inputs["x"] / self.rate)

    # means

    @cached_property
    def error(self) -> sp.Expr:
        """The generalisation error ε_g."""
        return mean_over_example(self.of_all(self.equations.observables["error"]))

    @cached_property
    def mean_loss(self) -> sp.Expr:
        """The mean loss ⟨ε⟩."""
        return mean_over_example(self.of_all(self.named.descent.loss))

    @cached_property
    def rate(self) -> sp.Expr:
        """The learning rate of the students."""
        return self.named.descent.rates[self.units["J"][0]]

    def _drift(self, along: SlowVector, inputs: str) -> sp.Expr:
        """Return the coefficient of −η in the drift of the first student."""
        drift = self.equations.drift[self.units["F"][0]].get((inputs, along), sp.S.Zero)
        return self.named.in_arrays(-drift / self.rate)

    @cached_property
    def gradients(self) -> tuple[sp.Expr, sp.Expr]:
        """The coefficients A_ij and B_in."""
        slopes = self.student_slope, self.teacher_slope
        student, teacher = (pair_written_out(mean_over_example(each)) for each in slopes)
        return student, teacher

    @cached_property
    def student_slope(self) -> sp.Expr:
        """The slope ∂F_i/∂x_j for an example."""
        first, second, *_ = self.units["J"]
        return paired(self._drift(second, "x"), self._drift(first, "x"), self.named.sizes)

    @cached_property
    def teacher_slope(self) -> sp.Expr:
        """The slope ∂F_i/∂y_n for an example."""
        units = ("K", 0), ("M", 0)
        value = summed(self._drift(self.units["B"][0], "x"), units, self.named.sizes)
        return value.lettered(dict(zip(units, (s.i, s.n), strict=True)))

    @cached_property
    def forces_squared(self) -> sp.Expr:
        """The product of forces F_i F_j for an example."""
        same, different = (self.noise_between(other, "x") for other in (0, 1))
        return paired(different, same, self.named.sizes)

    def noise_between(self, other: int, inputs: str) -> sp.Expr:
        """Return the noise of the first student and another over η², with batches over η² N/b."""
        first, second = self.units["F"][0], self.units["F"][other]
        noise = self.equations.noise_of(first, second).get(inputs, sp.S.Zero)
        return self.named.in_arrays(noise / self.rate**2 * (self._batch or 1))

    @cached_property
    def _batch(self) -> sp.Expr | None:
        return self.named.statement.batch_ratio

    @cached_property
    def noise(self) -> sp.Expr:
        """The noise Γ_ij."""
        return mean_over_example(self.forces_squared)

    # motion

    @cached_property
    def named_rate(self) -> sp.Expr:
        """The learning rate, with the root mean square of a step as a symbol."""
        return s.eta / GRADIENT_SIZE if self.rate.has(*self._averages) else self.rate

    @cached_property
    def _averages(self) -> tuple[sp.Symbol, ...]:
        return tuple(self.named.statement.symbols.of(Mean)) or (sp.Dummy(),)

    @property
    def _seen(self) -> sp.Expr:
        """The eigenvalues ρ_k of the inputs as the student sees them, of component d.

        Raises:
            SymderivError: The noise of the inputs does not act as a part of their covariance.
        """
        if not self.named.rule.input_noise:
            return s.eigenvalue[s.d, s.k]
        square = s.input_noise**2
        own = self.units["J"][0]
        if self._drift(own, "n") != sp.expand(square * self._drift(own, "x")):
            raise SymderivError("the drift of the noise of inputs is not that of inputs")
        if self.noise_between(1, "n") != sp.expand(square * self.noise_between(1, "x")):
            raise SymderivError("the noise that comes from noise of inputs is not that of inputs")
        return SEEN[s.d, s.k]

    @cached_property
    def drifts(self) -> dict[str, dict[str, sp.Expr]]:
        """The drifts D of all moving families."""
        drifts: dict[str, dict[str, sp.Expr]] = {}
        for name, members in self.units.items():
            drift = self.equations.drift.get(members[0], {}) if name != "F" else {}
            for family in dict.fromkeys(to.family for inputs, to in drift if inputs == ALL):
                rest = [
                    self._descending(drift.get((ALL, each), sp.S.Zero))[1]
                    for each in self._two(family)
                ]
                drifts.setdefault(name, {})[family] = self._of_all_units(family, *rest)
        mover = drifts.setdefault(self.mover, {})
        descent = -self.named_rate
        mover["J"] = mover.get("J", sp.S.Zero) + descent * s.A[s.d, s.i, s.j] * self._seen
        of_teachers = descent * s.B[s.d, s.i, s.n] * s.eigenvalue[s.d, s.k]
        mover["B"] = mover.get("B", sp.S.Zero) + of_teachers
        for each in self.gains:
            scale = sp.S.One if each.of_all else s.eigenvalue[s.d, s.k]
            along = descent * each.name[(s.d, *each.letters)] * scale
            mover[each.family] = mover.get(each.family, sp.S.Zero) + along
        return drifts

    def _two(self, family: str) -> tuple[SlowVector, ...]:
        """Return the vectors of the first two units of a family."""
        return tuple(each for each in self.named.statement.vectors if each.family == family)[:2]

    def _of_all_units(self, family: str, same: sp.Expr, different: sp.Expr) -> sp.Expr:
        """Return the coefficient of the first unit's motion along a family, in i and j, or i and n.

        Args:
            family: The family of the vectors that it moves along.
            same: The coefficient along the first unit's vector, written out for a few units.
            different: The coefficient along another unit's vector.
        """
        if family != "B":
            return paired(different, same, self.named.sizes)
        units = ("K", 0), ("M", 0)
        value = summed(same, units, self.named.sizes)
        return value.lettered(dict(zip(units, (s.i, s.n), strict=True)))

    def _descending(self, rate: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return the coefficient of −η in a drift, and the rest of the drift."""
        terms = sp.Add.make_args(self.named.in_arrays(rate))
        down = sp.Add(*(term for term in terms if term.has(s.eta)))
        rest = sp.Add(*(term for term in terms if not term.has(s.eta)))
        return sp.expand(-down / self.rate), rest

    @property
    def mover(self) -> str:
        """The family to which the steps of gradient descent are added."""
        return self.units["F"][0].family

    @cached_property
    def gains(self) -> tuple[Gain, ...]:
        """Motion of students along vectors other than in the coefficients A and B.

        It is empty for a rule that descends a function of the fields of students and teachers
        alone.
        """
        first, gains = self.units["F"][0], []
        drift = self.equations.drift[first]
        for family in dict.fromkeys(each.family for each in self.named.statement.vectors):
            for inputs in ("x", ALL):
                if inputs == "x" and family in ("J", "B"):
                    continue  # A and B
                same, different = (
                    self._descending(drift.get((inputs, each), sp.S.Zero))[0]
                    for each in self._two(family)
                )
                if same == different == 0:
                    continue
                value = self._of_all_units(family, same, different)
                gains.append(Gain(family, inputs == ALL, value))
        return tuple(gains)

    @cached_property
    def further(self) -> tuple[tuple[sp.Indexed, sp.Expr], ...]:
        """The mean coefficients of these motions, by name."""
        return tuple(
            (each.name[each.letters], pair_written_out(mean_over_example(each.value)))
            for each in self.gains
        )

    @cached_property
    def sums(self) -> tuple[tuple[sp.Indexed, sp.Expr], ...]:
        """Covariances and products of vectors that means may need in addition to Q, R and T."""
        families = [name for name in self.units if name not in ("F", "U")]
        pairs = itertools.combinations_with_replacement(families, 2)
        sums = []
        for first, second in dict.fromkeys(itertools.starmap(s.in_order, pairs)):
            i, j = (s.n, s.m) if first == "B" else (s.i, s.n if second == "B" else s.j)
            held = one_component(state_overlap(first, second)).xreplace({s.i: i, s.j: j})
            teachers = (first == "B") + (second == "B")
            for name, power in ((s.covariance(first, second), 1), (s.product(first, second), 0)):
                if name not in (s.Q, s.R, s.T):
                    value = s.weight[s.k] * s.eigenvalue[s.k] ** (power - teachers) * held
                    sums.append((name[i, j], sp.Sum(value, (s.k, 0, s.L - 1))))
        return tuple(sums)

    @cached_property
    def _added(self) -> sp.Expr:
        """The noise of two vectors to which the steps are added."""
        noise = self.named_rate**2 * s.Gamma[s.d, s.i, s.j] * self._seen
        if self._batch is not None:
            noise /= self._batch
        return noise + sp.KroneckerDelta(s.i, s.j) * self._update_noise

    @cached_property
    def _update_noise(self) -> sp.Expr:
        """Contribution of the noise of updates to the square of a vector."""
        first = self.units["F"][0]
        others = self.equations.noise_of(first, first)
        return sp.Add(*(rate for name, rate in others.items() if name not in ("x", "n")))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The families whose overlaps are followed."""
        pairs = [("J", "J"), ("J", "B")]
        if "U" in self.units:
            pairs += [("U", "J"), ("U", "U"), ("U", "B")]
        further = sorted(set(self.units) - {"F", "U", "J", "B"})
        for family in further:
            others = [name for name in ("U", "J", *further, "B") if name in self.units]
            pairs += [s.in_order(family, other) for other in others]
        return tuple(dict.fromkeys(pairs))

    @cached_property
    def overlaps(self) -> dict[sp.Indexed, sp.Expr]:
        """The rates of all overlaps, for data of several components."""
        return {
            state_overlap(*pair): overlap_rate(
                *pair,
                self.drifts,
                self._added if pair == (self.mover, self.mover) else sp.S.Zero,
                self._batch is not None,
            )
            for pair in self.pairs
        }

    @cached_property
    def changes(self) -> dict[sp.Indexed, sp.Expr]:
        """The changes of overlaps by one example, times N, for N to infinity, not averaged."""
        moving = self.mover
        steady = {
            name: {e: one_of_all(drift) for e, drift in drifts.items()}
            for name, drifts in self.drifts.items()
        }
        gained = {
            each.family: -self.named_rate * s.gain(each.family)[each.letters]
            for each in self.gains
            if each.of_all
        }
        force = -self.named_rate * s.F[s.i]
        mode = {name: s.mode(name)[s.k, s.i] for name in self.units if name not in ("F", "B")}
        mode["B"] = s.y_mode[s.c, s.k, s.n]
        changes = {}
        for (first, second), of in zip(self.pairs, self.overlaps, strict=True):
            total = overlap_rate(first, second, steady, sp.S.Zero)
            along = overlap_rate(first, second, {moving: gained}, sp.S.Zero)
            total += map_terms(along, _of_its_component)
            last = mode[second] if second == "B" else at(mode[second], {s.i: s.j})
            if first == moving:
                total += force * last
            if second == moving:
                total += at(force, {s.i: s.j}) * mode[first]
            if first == second == moving:
                total += force * at(force, {s.i: s.j}) * s.xi_square[s.k]
                total += sp.KroneckerDelta(s.i, s.j) * self._update_noise
            changes[of] = total
        return changes

    @cached_property
    def of_one_component(self) -> dict[sp.Indexed, sp.Expr]:
        """The equations for data of a single component."""
        rates = {one_component(of): one_component(rate) for of, rate in self.overlaps.items()}
        return {of: written_out(rate) for of, rate in rates.items()}

    @cached_property
    def forces(self) -> dict[str, sp.Expr]:
        """The derivatives of the mean loss by output weights and biases."""
        return {name: mean_over_example(self.slope_by(name)) for name in self._gradients}

    def slope_by(self, name: str) -> sp.Expr:
        """Return the derivative of the loss of an example by a scalar of student i."""
        return self.of_one(self._gradients[name][1])

    @cached_property
    def _gradients(self) -> dict[str, tuple[sp.Expr, sp.Expr]]:
        """The learning rate and the derivative of the loss, for each scalar that
        descends, by name.
        """
        descent, names = self.named.descent, self.named.statement.symbols.scalars
        firsts: dict[str, sp.Symbol] = {}
        for u in descent.rates:
            if u in names:
                firsts.setdefault(names[u], u)
        return {name: (descent.rates[u], slope(descent.loss, u)) for name, u in firsts.items()}

    @cached_property
    def slow(self) -> dict[str, Rates]:
        """The rates of output weights and biases, and of their velocities, by name."""
        entries = {"v": (s.v, s.v_velocity, s.dv), "b": (s.bias, s.b_velocity, s.db)}
        slow: dict[str, Rates] = {}
        for name, (rate, force) in self._gradients.items():
            weight, velocity, gradient = (base[s.i] for base in entries[name])
            names = self.named.statement.symbols.scalars
            rates = {}
            for of, family in ((weight, name), (velocity, f"{name}_velocity")):
                first = next((u for u, each in names.items() if each == family), None)
                if first is None:
                    continue
                total = self.equations.step.scalars[first].scalar
                descends = total.has(rate)
                rest = sp.expand(total + rate * force) if descends else total
                rates[of] = self.of_one(rest) - (rate * gradient if descends else 0)
            slow[name] = rates
        return slow

    @cached_property
    def motion(self) -> Motion:
        """The motion of all fields of the state, in its order."""
        overlaps = self.of_one_component
        slow = {of: rate for rates in self.slow.values() for of, rate in rates.items()}
        places = (*overlaps,)[:2], s.v[s.i], s.bias[s.i], (*overlaps,)[2:], s.v_velocity[s.i]
        order = [of for place in places for of in (place if isinstance(place, tuple) else (place,))]
        order += [of for of in slow if of not in order]
        rates = {of: {**overlaps, **slow}[of] for of in order if of in {**overlaps, **slow}}
        if self.named.statement.constraints:
            return on_the_sphere(rates, STUDENTS, self.pairs)
        before = ((GRADIENT_SIZE, self._size),) if self.rate != self.named_rate else ()
        return Motion(tuple(rates.items()), before, self._batch is not None)

    @property
    def _size(self) -> sp.Expr:
        """The root mean square of a step.

        Raises:
            SymderivError: It differs from that of the forces.
        """
        (average,) = self._averages
        square = mean_over_example(self.of_all(self.equations.averages[average]))
        own = sp.Sum(s.Gamma[s.i, s.i], (s.i, 0, s.K - 1))
        of_forces = sp.Sum(at(self.forces_squared, {s.j: s.i}), (s.i, 0, s.K - 1))
        if spread(square - mean_over_example(contract(spread(of_forces)))):
            raise SymderivError("the mean square of a step is not the mean square of its forces")
        power = sp.Sum(s.eigenvalue[s.k] * s.weight[s.k], (s.k, 0, s.L - 1))
        variance = sp.Symbol("input_variance", real=True)
        return (s.eta / self.rate).xreplace({average: own, variance: power})
