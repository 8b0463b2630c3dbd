"""The census of a statement: what every term of every update adds to the equations.

No term is dropped silently. A term contributes to the drift, to the noise, to a scalar's rate, or
to nothing, and then the reason is given. The census proves itself: the drifts of all terms add up
to those of the equations, number by number, at covariances drawn at random. Means without closed
form stay averages; their integrands are compared at random fields.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from symderiv.foundation.errors import SymderivError
from symderiv.statement.stated_motion import ALL, Average, StatedEquations, average_of, drift_of
from symderiv.statement.stated_problem import StatedChange
from symderiv.statement.vector_expressions import FreshInput, SlowVector
from symderiv.system.closed_motion import Closed
from symderiv.system.means.averages import Averages, has_no_closed_form

_Drift = Mapping[tuple[str, Any], sp.Expr]


@dataclass(frozen=True)
class CensusTerm:
    """One additive term of an update.

    Args:
        target: The vector or scalar that it moves.
        direction: The input or vector along which it moves a vector; None for a scalar.
        term: Its coefficient.
        drift: Its contribution to the drift, by name of inputs (:data:`ALL` for none) and vector,
            or to a scalar's rate under ``(ALL, None)``, with averages in closed form where
            possible.
        averaged: The same contribution with all averages left as averages.
        reason: Why it adds nothing to the drift, or an empty text.
    """

    target: SlowVector | sp.Symbol
    direction: FreshInput | SlowVector | None
    term: sp.Expr
    drift: _Drift
    averaged: _Drift
    reason: str = ""


def census(closed: Closed) -> tuple[CensusTerm, ...]:
    """Return the terms of all updates with their contributions to the equations.

    Raises:
        SymderivError: The terms do not add up to the equations, which is a defect.
    """
    averages = Averages(closed.equations.law, closed.means)
    terms = tuple(_terms(closed, averages))
    _proved(closed, terms)
    return terms


def _terms(closed: Closed, averages: Averages) -> Iterator[CensusTerm]:
    step, law = closed.equations.step, closed.equations.law

    def counted(
        target: SlowVector | sp.Symbol,
        direction: FreshInput | SlowVector | None,
        term: sp.Expr,
        averaged: _Drift,
        reason: str,
    ) -> CensusTerm:
        taken = {key: _taken(rate, averages) for key, rate in averaged.items()}
        drift = {key: rate for key, rate in taken.items() if rate != 0}
        return CensusTerm(target, direction, term, drift, averaged, "" if drift else reason)

    for vector, change in step.vectors.items():
        for atom, force in change.inputs.items():
            inputs = law.inputs_of(atom)
            if inputs.episode and atom is not inputs.atoms[0]:
                continue  # all examples of an episode are equivalent; the first stands for them
            for term in _summands(force):
                along = drift_of(StatedChange({atom: term}), law)
                reason = (
                    f"its mean direction vanishes: the mean slopes of the factor of {atom.name} do"
                    if along
                    else f"no field in the factor of {atom.name} correlates with {atom.name}: it "
                    "adds to the noise only"
                )
                yield counted(vector, atom, term, dict(along), reason)
        for other, rate in change.vectors.items():
            for term in _summands(rate):
                along = {(ALL, other): average_of(term, law)}
                yield counted(vector, other, term, along, "the mean of its factor vanishes")
    for symbol, change in step.scalars.items():
        for term in _summands(change.scalar):
            mean = {(ALL, None): average_of(term, law)}
            yield counted(symbol, None, term, mean, "its mean vanishes")


def _taken(rate: sp.Expr, averages: Averages) -> sp.Expr:
    """Return a rate with its averages in closed form, or unchanged if they have none."""
    if any(has_no_closed_form(each.args[0], averages.law) for each in rate.atoms(Average)):
        return rate
    return averages.lowered(rate)


def _inside(rate: sp.Expr) -> sp.Expr:
    """Return a rate with every average replaced by its integrand."""
    return rate.xreplace({each: each.args[0] for each in rate.atoms(Average)})


def _summands(expression: sp.Expr) -> tuple[sp.Expr, ...]:
    """Return the terms of a change, with products of a rate and a sum expanded."""
    return sp.Add.make_args(sp.expand_mul(expression, deep=False)) if expression != 0 else ()


_Key = tuple[SlowVector | sp.Symbol, str, SlowVector | None]


def _proved(closed: Closed, terms: Sequence[CensusTerm]) -> None:
    """Check that the terms add up to the equations without their constraints."""
    equations = closed.equations
    constrained = {v for c in equations.statement.constraints for v in c.vectors}
    total = _added((term.target, term.drift) for term in terms)
    averaged = _added((term.target, term.averaged) for term in terms)
    wanted = _added(_rates(closed))
    untaken = _added(_rates(equations))
    for key in sorted({*total, *wanted}, key=str):
        target, inputs, _ = key
        if inputs == ALL and target in constrained:
            continue  # constraints contribute in addition
        gap = wanted[key] - total[key]
        if total[key].has(Average):
            gap = _inside(untaken[key]) - _inside(averaged[key])
        if not _vanishes(gap):
            raise SymderivError(
                f"the census of {target} does not add up to its equation: {gap} is left"
            )


def _rates(equations: Closed | StatedEquations) -> Iterator[tuple[SlowVector | sp.Symbol, _Drift]]:
    """Yield the rates of all vectors and of the scalars that move."""
    yield from ((vector, dict(rates)) for vector, rates in equations.drift.items())
    for symbol, rate in equations.scalars.items():
        if rate != 0:
            yield symbol, {(ALL, None): rate}


def _added(drifts: Iterable[tuple[SlowVector | sp.Symbol, _Drift]]) -> dict[_Key, sp.Expr]:
    """Return sums of drifts by target and direction; missing entries are zero."""
    total: defaultdict[_Key, sp.Expr] = defaultdict(lambda: sp.S.Zero)
    for target, drift in drifts:
        for (inputs, vector), value in drift.items():
            total[target, inputs, vector] += value
    return total


def _vanishes(expression: sp.Expr) -> bool:
    """Return whether an expression is zero for random values of its symbols and means."""
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
