r"""Equations of all overlaps and scalars in the limit N → ∞, from the statement of a step.

With Δw_a = Σ_x F_ax ξ^x/√N + Σ_c G_ac w_c/N and jointly Gaussian ξ^x, Stein's rule gives the mean
motion of a vector, for every eigenvalue class k,

    dw_a/dα = Σ_c D^k_ac w_c,   D^k_ac = Σ_xx' ρ_k^{xx'} E[∂F_ax/∂h_cx'] + E[G_ac],

and self-averaging of ξ^x·ξ^x'/N its noise Γ^k_ab = Σ_xx' ρ_k^{xx'} E[F_ax F_bx'], so that

    dO^k_ab/dα = Σ_c D^k_ac O^k_cb + (a ↔ b) + Γ^k_ab,   du/dα = E[g].

Steps of cN examples are a map: the mean step is of order one, so that Σ_cd D^k_ac D^k_bd O^k_cd is
added to what a step changes, and the noise is that of a mean over cN examples times N, that is Γ/c.
Where inputs are mixtures, D and Γ are means over the components. Averages in coefficients are
functions of the same overlaps, and time is one more argument.

This is the only derivation from a statement: no other module of this room knows learning rules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import sympy as sp

from symderiv.foundation.errors import NotClosed, NotYetError
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.indicators import kinks_as_steps, unnested
from symderiv.statement.register import Field, Mean, Size
from symderiv.statement.slopes import slope
from symderiv.statement.stated_problem import StatedChange, StatedStep, Statement
from symderiv.statement.vector_expressions import FreshInput, SlowVector

ALL = ""
"""The name that stands for the identity where inputs are named."""


class Average(sp.Function):  # type: ignore[misc]
    """The mean over a fresh example (input and label noise), not yet taken."""

    nargs = 1


Pair = tuple[SlowVector, SlowVector]
Key = tuple[str, SlowVector]


@dataclass(frozen=True)
class StatedEquations:
    """The motion of overlaps and scalars, with averages not yet taken.

    Args:
        statement: The statement that they follow from.
        law: The law of the fields.
        drift: The drift per moving vector a: the coefficients of ρ_k w_c by name of inputs and c,
            those of w_c itself under the name :data:`ALL`.
        noise: The noise per pair of moving vectors: the coefficients of ρ_k by name of inputs.
        scalars: The rates du/dα.
        observables: The observables by name.
        step: The step that they were derived from, with symbols for jumps in time.
        averages: The definitions of the averages in coefficients, by their symbols.
    """

    statement: Statement
    law: FieldLaw
    drift: Mapping[SlowVector, Mapping[Key, sp.Expr]]
    noise: Mapping[Pair, Mapping[str, sp.Expr]]
    scalars: Mapping[sp.Symbol, sp.Expr]
    observables: Mapping[str, sp.Expr]
    step: StatedStep
    averages: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)

    @property
    def by_steps(self) -> bool:
        """True if rates are changes of order one in a step."""
        return self.statement.batch_ratio is not None

    def overlap_rate(self, first: SlowVector, second: SlowVector, measure: str = "") -> sp.Expr:
        """Return d(w·v/N)/dα, or the change in a step, summed over all eigenvalue classes.

        Args:
            first, second: w and v.
            measure: The name of inputs for the rate of the covariance of w·ξ/√N and v·ξ/√N; empty
                for the overlap.
        """
        law = self.law
        total, weighed = sp.S.Zero, (measure,) if measure else ()
        for one, other in ((first, second), (second, first)):
            for (inputs, source), rate in self.drift.get(one, {}).items():
                names = weighed if inputs == ALL else (inputs, *weighed)
                total += rate * law.covariance_of_vectors(names, source, other)
        for (name, a), (another, b), rate in self.products(first, second):
            names = tuple(each for each in (name, another, *weighed) if each != ALL)
            total += rate * law.covariance_of_vectors(names, a, b)
        for inputs, rate in self.noise_of(first, second).items():
            total += rate * law.trace(inputs, *weighed)
        return total

    def products(self, first: SlowVector, second: SlowVector) -> Iterator[tuple[Key, Key, sp.Expr]]:
        """Yield the terms of D O Dᵀ as pairs of inputs and vectors with a coefficient; none for
        flows.
        """
        if self.by_steps:
            for one, rate in self.drift.get(first, {}).items():
                for other, factor in self.drift.get(second, {}).items():
                    yield one, other, rate * factor

    def noise_of(self, first: SlowVector, second: SlowVector) -> Mapping[str, sp.Expr]:
        """Return the noise of a pair of vectors in either order."""
        return self.noise.get((first, second)) or self.noise.get((second, first)) or {}


def derived(statement: Statement) -> StatedEquations:
    """Return the equations of a statement.

    Raises:
        NotClosed: The equations do not close in finitely many order parameters.
    """
    law = FieldLaw(statement)
    step = _parted(statement.step(), law)
    moving = {v: step.vectors[v] for v in statement.vectors if v in step.vectors}
    drift = {v: drift_of(change, law) for v, change in moving.items()}
    pairs = itertools.combinations_with_replacement(moving, 2)
    noise = {(a, b): _noise(moving[a], moving[b], law) for a, b in pairs}
    scalars = {u: average_of(change.scalar, law) for u, change in step.scalars.items()}
    observables = {
        name: _observed(name, _jumps_parted(value, law), law)
        for name, value in statement.observables.items()
    }
    used = [*scalars.values(), *observables.values()]
    used += [rate for each in drift.values() for rate in each.values()]
    used += [rate for each in noise.values() for rate in each.values()]
    averages = _averages_in(used, law)
    equations = StatedEquations(statement, law, drift, noise, scalars, observables, step, averages)
    return _constrained(equations)


def _jumps_parted(expression: sp.Expr, law: FieldLaw) -> sp.Expr:
    """Return an expression with symbols for jumps in time and no random jump inside of a
    function.
    """
    timed = law.timed(expression)
    if len(law.gaussian(timed)) > 1:
        # for a single field, nested kinks have closed forms
        timed = kinks_as_steps(timed, law.gaussian)
    return unnested(timed, law.gaussian) if timed.has(sp.sign, sp.Heaviside) else timed


def _parted(step: StatedStep, law: FieldLaw) -> StatedStep:
    """Return a step whose changes have no jump inside of a function."""

    def parted(change: StatedChange) -> StatedChange:
        inputs = {atom: _jumps_parted(force, law) for atom, force in change.inputs.items()}
        vectors = {vector: _jumps_parted(rate, law) for vector, rate in change.vectors.items()}
        return StatedChange(inputs, vectors, _jumps_parted(change.scalar, law))

    vectors = {v: parted(change) for v, change in step.vectors.items()}
    return StatedStep(vectors, {u: parted(c) for u, c in step.scalars.items()}, step.source)


def _averages_in(expressions: Iterable[sp.Expr], law: FieldLaw) -> dict[sp.Symbol, sp.Expr]:
    """Return the definitions of the averages that occur in expressions, or in each other."""
    means, averages = law.symbols.of(Mean), {}
    pending = [*expressions]
    while pending:
        for symbol in sorted(pending.pop().free_symbols & set(means), key=str):
            if symbol not in averages:
                averages[symbol] = average_of(_jumps_parted(means[symbol].expression, law), law)
                pending.append(averages[symbol])
    return averages


def average_of(expression: sp.Expr, law: FieldLaw) -> sp.Expr:
    """Return the average of an expression, or the expression itself if it is not random."""
    if not law.is_random(expression):
        return expression
    return sp.Add(*(case.probability * Average(case.of(expression)) for case in law.cases))


def _times(atom: FreshInput, law: FieldLaw) -> int:
    """Return the multiplicity of an input: the first copy of an episode represents all copies."""
    inputs = law.inputs_of(atom)
    if not inputs.episode:
        return 1
    return len(inputs.atoms) if atom is inputs.atoms[0] else 0


def drift_of(change: StatedChange, law: FieldLaw) -> dict[Key, sp.Expr]:
    """Return the drift of a vector by name of inputs and vector."""
    drift: dict[Key, sp.Expr] = {}
    for case in law.cases:
        for atom, force in case.change(change).inputs.items():
            times = _times(atom, law) * case.probability
            for symbol in law.gaussian(force) if times else ():
                meaning = law.symbols.meaning[symbol]
                if not isinstance(meaning, Field):
                    continue
                share = law.correlation(atom, meaning.input)
                if share == 0:
                    continue
                rate = average_of(slope(force, symbol), law)
                key = atom.source, meaning.vector
                drift[key] = drift.get(key, sp.S.Zero) + times * share * rate
    for vector, rate in change.vectors.items():
        key = ALL, vector
        drift[key] = drift.get(key, sp.S.Zero) + average_of(rate, law)
    return {key: rate for key, rate in drift.items() if rate != 0}


def _noise(first: StatedChange, second: StatedChange, law: FieldLaw) -> dict[str, sp.Expr]:
    noise: dict[str, sp.Expr] = {}
    small = law.statement.order == "small-learning-rate"
    for case in law.cases:
        one_change, other_change = case.change(first), case.change(second)
        for one, force in one_change.inputs.items():
            times = _times(one, law) * case.probability / (law.inputs_of(one).batch_ratio or 1)
            for other, reaction in other_change.inputs.items() if times else ():
                share = law.correlation(one, other)
                if share != 0 and not (small and law.is_random(force * reaction)):
                    mean = average_of(force * reaction, law)
                    noise[one.source] = noise.get(one.source, sp.S.Zero) + times * share * mean
    return {key: rate for key, rate in noise.items() if rate != 0}


def _observed(name: str, value: sp.Expr, law: FieldLaw) -> sp.Expr:
    """Return the average of an observable, without the norms of inputs in it.

    Raises:
        NotClosed: The part of order N is not a number times the norm of an input.
    """
    sizes = [s for s in value.free_symbols if isinstance(law.symbols.meaning.get(s), Size)]
    for size in sizes:
        slope = sp.diff(value, size)
        if law.gaussian(slope) or law.finite_latents(slope) or slope.free_symbols & set(sizes):
            raise NotClosed(
                f"the observable {name} contains {size} times a random number, which is of order N",
                average=f"E[{value}]",
                statement=f"observe({name}={value})",
            )
    return average_of(value.xreplace(dict.fromkeys(sizes, sp.S.Zero)), law)


def _constrained(equations: StatedEquations) -> StatedEquations:
    """Return the equations with the corrections −½ ΔQ by constraints, noise included.

    w → w (1 + ΔQ/Q)^(−1/2) on the sphere, Q the squared norm or the variance of a field, and W → (1
    + ΔQ)^(−1/2) W for orthonormal vectors; ΔQ of one step is of order 1/N, so that its square does
    not contribute.
    """
    if equations.by_steps and equations.statement.constraints:
        raise NotYetError(
            "a constraint cannot be combined with batches of cN examples yet; leave one out"
        )
    drift = {v: dict(rates) for v, rates in equations.drift.items()}
    law = equations.law
    for constraint in equations.statement.constraints:
        measure = constraint.inputs
        if measure in law.mixtures:
            raise NotYetError(
                f"a sphere of fields on {measure}, which are a mixture, is not derived yet; "
                "constrain norms instead"
            )
        members = constraint.moved(equations.drift)
        for a in members:
            drift.setdefault(a, {})
            for b in members if constraint.kind == "orthonormal" else [a]:
                back = -equations.overlap_rate(a, b, measure) / 2
                if constraint.kind == "sphere":
                    back /= law.covariance_of_vectors((measure,) if measure else (), a, a)
                key = ALL, b
                drift[a][key] = drift[a].get(key, sp.S.Zero) + back
    return replace(equations, drift=drift)
