"""The census of a statement: what every term of every update adds to the equations.

No term is dropped silently. A term adds to the drift, to the noise, to a scalar's rate, or to
nothing, for a reason that is named. The census proves itself: the drifts of all terms add up to
those of the equations, number by number, at covariances drawn at random. Means without closed form
stay averages: what is inside of them adds up at fields drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv.foundation.errors import SymderivError
from symderiv.statement.stated_motion import ALL, Average, average_of, drift_of
from symderiv.statement.stated_problem import StatedChange
from symderiv.statement.vector_expressions import FreshInput, SlowVector
from symderiv.system.closed_motion import Closed
from symderiv.system.means.averages import Averages, has_no_closed_form

__all__ = ["CensusTerm", "census"]


@dataclass(frozen=True)
class CensusTerm:
    """One additive term of an update.

    Args:
        target: What it moves.
        direction: The input or vector along which, None for a scalar.
        term: Its coefficient.
        drift: What it adds to the mean motion, by name of inputs (:data:`ALL` for none) and vector,
            or to a scalar's rate under ``(ALL, None)``; averages taken that have closed forms.
        reason: Why it adds nothing to the drift, or an empty text.
    """

    target: SlowVector | sp.Symbol
    direction: FreshInput | SlowVector | None
    term: sp.Expr
    drift: dict[tuple[str, SlowVector | None], sp.Expr]
    reason: str = ""


def census(closed: Closed) -> tuple[CensusTerm, ...]:
    """Return the terms of all updates with what they add to the equations.

    Raises:
        SymderivError: The terms do not add up to the equations, which is a defect.
    """
    averages = Averages(closed.equations.law, closed.means)
    terms = tuple(_terms(closed, averages))
    _proved(closed, terms)
    return terms


def _terms(closed: Closed, averages: Averages) -> Iterator[CensusTerm]:
    step, law = closed.equations.step, closed.equations.law
    for vector, change in step.vectors.items():
        yield from _of_vector(closed, averages, vector, change)
    for symbol, change in step.scalars.items():
        for term in _summands(change.scalar):
            value = _taken(average_of(term, law), averages)
            reason = "" if value != 0 else "its mean vanishes"
            yield CensusTerm(symbol, None, term, {(ALL, None): value} if value != 0 else {}, reason)


def _of_vector(
    closed: Closed, averages: Averages, vector: SlowVector, change: StatedChange
) -> Iterator[CensusTerm]:
    law = closed.equations.law
    for atom, force in change.inputs.items():
        inputs = law.inputs_of(atom)
        if inputs.episode and atom is not inputs.atoms[0]:
            continue  # all examples of an episode are alike; the first stands for them
        for term in _summands(force):
            drift_of_term = drift_of(StatedChange({atom: term}), law)
            found: dict[tuple[str, SlowVector | None], sp.Expr] = {
                key: lowered
                for key, rate in drift_of_term.items()
                if (lowered := _taken(rate, averages)) != 0
            }
            related = bool(drift_of_term)
            reason = (
                ""
                if found
                else (
                    f"its mean direction vanishes: the mean slopes of the factor of {atom.name} do"
                    if related
                    else f"no field in the factor of {atom.name} correlates with {atom.name}: it "
                    "adds to the noise only"
                )
            )
            yield CensusTerm(vector, atom, term, found, reason)
    for other, rate in change.vectors.items():
        for term in _summands(rate):
            value = _taken(average_of(term, law), averages)
            reason = "" if value != 0 else "the mean of its factor vanishes"
            drift: dict[tuple[str, SlowVector | None], sp.Expr] = (
                {(ALL, other): value} if value != 0 else {}
            )
            yield CensusTerm(vector, other, term, drift, reason)


def _taken(rate: sp.Expr, averages: Averages) -> sp.Expr:
    """Return a rate with its averages taken, or as it is if they have no closed form."""
    if any(has_no_closed_form(each.args[0]) for each in rate.atoms(Average)):
        return rate
    return averages.lowered(rate)


def _inside(rate: sp.Expr) -> sp.Expr:
    """Return a rate with what is averaged in the places of averages."""
    return rate.xreplace({each: each.args[0] for each in rate.atoms(Average)})


def _summands(expression: sp.Expr) -> tuple[sp.Expr, ...]:
    """Return the terms of a change: products of a rate with a sum are written out once."""
    return sp.Add.make_args(sp.expand_mul(expression, deep=False)) if expression != 0 else ()


def _proved(closed: Closed, terms: tuple[CensusTerm, ...]) -> None:
    """Compare sums over terms with the equations without their constraints."""
    total: dict[tuple[SlowVector | sp.Symbol, str, SlowVector | None], sp.Expr] = {}
    for term in terms:
        for (inputs, vector), value in term.drift.items():
            key = term.target, inputs, vector
            total[key] = total.get(key, sp.S.Zero) + value
    constrained = {v for c in closed.equations.statement.constraints for v in c.vectors}
    wanted: dict[tuple[SlowVector | sp.Symbol, str, SlowVector | None], sp.Expr] = {
        (a, inputs, c): rate
        for a, rates in closed.drift.items()
        for (inputs, c), rate in rates.items()
    }
    wanted |= {(u, ALL, None): rate for u, rate in closed.scalars.items() if rate != 0}
    equations = closed.equations
    averaged: dict[tuple[SlowVector | sp.Symbol, str, SlowVector | None], sp.Expr] = {
        (a, inputs, c): rate
        for a, rates in equations.drift.items()
        for (inputs, c), rate in rates.items()
    }
    averaged |= {(u, ALL, None): rate for u, rate in equations.scalars.items()}
    for key in sorted({*total, *wanted}, key=str):
        target, inputs, _ = key
        if inputs == ALL and target in constrained:
            continue  # constraints add to these
        gap = wanted.get(key, sp.S.Zero) - total.get(key, sp.S.Zero)
        if total.get(key, sp.S.Zero).has(Average):
            gap = _inside(averaged.get(key, sp.S.Zero)) - _inside(_untaken(closed, terms, key))
        if not _vanishes(gap):
            raise SymderivError(
                f"the census of {target} does not add up to its equation: {gap} is left"
            )


def _untaken(
    closed: Closed,
    terms: tuple[CensusTerm, ...],
    key: tuple[SlowVector | sp.Symbol, str, SlowVector | None],
) -> sp.Expr:
    """Return what all terms add to a drift, with no average taken."""
    law, total = closed.equations.law, sp.S.Zero
    target, inputs, vector = key
    for term in terms:
        if term.target != target:
            continue
        if isinstance(term.direction, FreshInput):
            found = drift_of(StatedChange({term.direction: term.term}), law)
            total += found.get((inputs, vector), sp.S.Zero) if vector is not None else 0
        elif inputs == ALL and term.direction == vector:
            total += average_of(term.term, law)
    return total


def _vanishes(expression: sp.Expr) -> bool:
    """Return whether an expression is zero, each different mean being any number."""
    expression = sp.expand(expression)
    if expression == 0:
        return True
    random = np.random.default_rng(5)
    names = sorted((*expression.atoms(AppliedUndef), *expression.free_symbols), key=str)
    for _ in range(3):
        numbers = {name: sp.Rational(int(random.integers(1, 10**6)), 10**6) for name in names}
        value = expression.xreplace(numbers)
        if abs(float(value)) > 1e-9:
            return False
    return True
