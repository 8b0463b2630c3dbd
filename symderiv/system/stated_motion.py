r"""From the statement of a step to the equations of all overlaps and scalars in the limit N → ∞.

With Δw_a = Σ_x F_ax ξ^x/√N + Σ_c G_ac w_c/N and jointly Gaussian ξ^x, Stein's rule gives the mean
motion of a vector, for every eigenvalue class k,

    dw_a/dα = Σ_c D^k_ac w_c,   D^k_ac = Σ_xx' ρ_k^{xx'} E[∂F_ax/∂h_cx'] + E[G_ac],

and self-averaging of ξ^x·ξ^x'/N its noise Γ^k_ab = Σ_xx' ρ_k^{xx'} E[F_ax F_bx'], so that

    dO^k_ab/dα = Σ_c D^k_ac O^k_cb + (a ↔ b) + Γ^k_ab,   du/dα = E[g].

Everything that is stated enters here once: no other module knows what a learning rule is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy as sp

from symderiv.errors import NotClosed, NotYetError
from symderiv.statement.register import Field, Mean, Size, Time
from symderiv.statement.slopes import slope
from symderiv.statement.stated_problem import Change, Statement, Step
from symderiv.statement.vector_expressions import FreshInput, SlowVector
from symderiv.system.averages import Average
from symderiv.system.field_law import Law

__all__ = ["ALL", "Equations", "derived"]

ALL = ""
"""The name of the identity in the place of the name of inputs."""

Pair = tuple[SlowVector, SlowVector]


@dataclass(frozen=True)
class Equations:
    """The motion of overlaps and scalars, with averages not yet taken.

    Args:
        statement: What they follow from.
        law: Of the fields.
        drift: Per moving vector a: the coefficients of ρ_k w_c by name of inputs and c, those of
            w_c itself under the name :data:`ALL`.
        noise: Per pair of moving vectors: the coefficients of ρ_k by name of inputs.
        scalars: du/dα.
        observables: By name.
        sources: The lines that move a vector or scalar.
    """

    statement: Statement
    law: Law
    drift: Mapping[SlowVector, Mapping[tuple[str, SlowVector], sp.Expr]]
    noise: Mapping[Pair, Mapping[str, sp.Expr]]
    scalars: Mapping[sp.Symbol, sp.Expr]
    observables: Mapping[str, sp.Expr]
    sources: Mapping[SlowVector | sp.Symbol, tuple[str, ...]] = field(default_factory=dict)

    def overlap_rate(self, first: SlowVector, second: SlowVector) -> sp.Expr:
        """Return d(w·v/N)/dα, all eigenvalue classes together."""
        law = self.law
        total = sp.S.Zero
        for one, other in ((first, second), (second, first)):
            for (inputs, source), rate in self.drift.get(one, {}).items():
                overlap = (
                    law.symbols.product(source, other)
                    if inputs == ALL
                    else law.covariance_of_vectors(inputs, source, other)
                )
                total += rate * overlap
        for inputs, rate in self.noise_of(first, second).items():
            total += rate * law.trace(inputs)
        return total

    def noise_of(self, first: SlowVector, second: SlowVector) -> Mapping[str, sp.Expr]:
        """Return the noise of a pair of vectors in either order."""
        return self.noise.get((first, second)) or self.noise.get((second, first)) or {}


def derived(statement: Statement) -> Equations:
    """Return the equations of a statement.

    Raises:
        NotClosed: They do not close in finitely many order parameters.
    """
    law = Law(statement)
    if statement.batch_ratio is not None or any(map(law.symbols.of, (Time, Mean))):
        raise NotYetError("equations of batches, of time and of averages are not derived yet")
    step = statement.step()
    moving = [v for v in statement.vectors if v in step.vectors]
    drift = {v: _drift(step.vectors[v], law) for v in moving}
    noise = {
        (a, b): _noise(step.vectors[a], step.vectors[b], law)
        for n, a in enumerate(moving)
        for b in moving[n:]
    }
    equations = Equations(
        statement,
        law,
        drift,
        noise,
        {u: _average(change.scalar, law) for u, change in step.scalars.items()},
        {name: _observed(name, value, law) for name, value in statement.observables.items()},
        step.source,
    )
    return _constrained(equations, step)


def _average(expression: sp.Expr, law: Law) -> sp.Expr:
    """Return the average of an expression, itself if nothing in it is random."""
    if expression == 0 or not (law.gaussian(expression) or law.finite_latents(expression)):
        return expression
    return Average(expression)


def _times(atom: FreshInput, law: Law) -> int:
    """Return how often an input counts: the first copy of an episode stands for all of them."""
    inputs = law.inputs_of(atom)
    if not inputs.episode:
        return 1
    return len(inputs.atoms) if atom is inputs.atoms[0] else 0


def _drift(change: Change, law: Law) -> dict[tuple[str, SlowVector], sp.Expr]:
    found: dict[tuple[str, SlowVector], sp.Expr] = {}
    for atom, force in change.inputs.items():
        times = _times(atom, law)
        if not times:
            continue
        for symbol in law.gaussian(force):
            meaning = law.symbols.meaning[symbol]
            if not isinstance(meaning, Field):
                continue
            share = law.correlation(atom, meaning.input)
            if share == 0:
                continue
            rate = _average(slope(force, symbol), law)
            key = atom.source, meaning.vector
            found[key] = found.get(key, sp.S.Zero) + times * share * rate
    for vector, rate in change.vectors.items():
        key = ALL, vector
        found[key] = found.get(key, sp.S.Zero) + _average(rate, law)
    return {key: rate for key, rate in found.items() if rate != 0}


def _noise(first: Change, second: Change, law: Law) -> dict[str, sp.Expr]:
    found: dict[str, sp.Expr] = {}
    for one, force in first.inputs.items():
        times = _times(one, law)
        if not times:
            continue
        for other, reaction in second.inputs.items():
            share = law.correlation(one, other)
            if share != 0:
                mean = _average(force * reaction, law)
                found[one.source] = found.get(one.source, sp.S.Zero) + times * share * mean
    return {key: rate for key, rate in found.items() if rate != 0}


def _observed(name: str, value: sp.Expr, law: Law) -> sp.Expr:
    """Return the average of an observable; the norms of inputs in it are left out.

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
    return _average(value.xreplace(dict.fromkeys(sizes, sp.S.Zero)), law)


def _constrained(equations: Equations, step: Step) -> Equations:
    """Return the equations with what constraints take back: −½ ΔQ, noise included.

    w → w (1 + ΔQ/Q)^(−1/2) on the sphere and W → (1 + ΔQ)^(−1/2) W for orthonormal vectors; ΔQ of
    one step is of order 1/N, so that its square adds nothing.
    """
    drift = {v: dict(rates) for v, rates in equations.drift.items()}
    symbols = equations.law.symbols
    for constraint in equations.statement.constraints:
        members = [v for v in constraint.vectors if v in drift]
        for a in members:
            for b in members if constraint.kind == "orthonormal" else [a]:
                back = -equations.overlap_rate(a, b) / 2
                if constraint.kind == "sphere":
                    back /= symbols.product(a, a)
                key = ALL, b
                drift[a][key] = drift[a].get(key, sp.S.Zero) + back
    return Equations(
        equations.statement,
        equations.law,
        drift,
        equations.noise,
        equations.scalars,
        equations.observables,
        equations.sources,
    )
