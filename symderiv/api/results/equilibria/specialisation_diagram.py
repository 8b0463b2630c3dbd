"""Transitions in equilibrium of committees with increasing numbers of units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from symderiv.api.results.answer import Answer
from symderiv.api.results.equilibria.statics import check_annealed
from symderiv.foundation.documents.document import Node, Part, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.showing import Summary

if TYPE_CHECKING:
    import sympy as sp
    from matplotlib.axes import Axes

    from symderiv.equilibrium.committee import SymmetricCommittee
    from symderiv.problem.study import Study

_MOST_UNITS, _DIGITS = 50, 20


class Specialisation(Answer):
    """Transitions of committees of K students and K teachers, for several K.

    Attributes:
        activation: the activation of students and teachers.
        units: the values of K, ascending; infinite the last, if it was asked for.
        kind: "continuous" or "first-order", for each K.
        alpha_per_unit: α/K from which specialised students have the smaller free energy.
        equal_until: α/K up to which equal students are stable; infinite if they always are.
        specialised_from: the smallest α/K of a stable specialised state.
        error_before, error_after: ε_g of equal and of specialised students at ``alpha_per_unit``.
        closed_form: ``equal_until`` of infinitely many units as text, 1/E[g''(x)]².
        equations: three expressions in C, R, alpha and K as text, which vanish where equal students
            cease to be stable: C is the overlap of two students, R that of a student and a teacher
            and alpha is α/K; None if the mean of two activations has no closed form.
        equal_until_digits: ``equal_until`` as text of 20 digits for each K, from a ball in which
            the equations are proved to have exactly one solution; None where there is no proof.
        warnings: what limits the result.
    """

    _title = "Specialisation"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the three values of α/K over K, with both states between the spinodals shaded.

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.
        """
        return drawn("analysis_plots.equilibrium_plots.specialisation_axes", self._record, ax)

    def _document(self) -> Node:
        record = self._record
        facts = [("activation", record["activation"])]
        if record["closed_form"] is not None:
            facts.append(("equal until, K = inf", record["closed_form"]))
        summary = Summary(self._title, facts, record["warnings"])
        columns = ("specialised_from", "alpha_per_unit", "equal_until")
        rows = [
            [f"{units:g}", record["kind"][n], *(f"{record[name][n]:.10g}" for name in columns)]
            for n, units in enumerate(record["units"])
        ]
        heads = ("K", "transition", "specialised from", "alpha/K", "equal until")
        return Part("", [summary, Tabular(heads, rows, sides="rlrrr")])


def specialisation_of(
    study: Study, units: Iterable[float], told: Callable[[float], None]
) -> Specialisation:
    """Return the transitions of a study's activation; see :meth:`symderiv.Problem.specialisation`.

    Args:
        study: the study.
        units: the values of K.
        told: a function that is called with the finished fraction.
    """
    from symderiv.equilibrium.committee import (
        SymmetricCommittee,
        equations_of_equal_units,
        limit_of_equal_units,
    )
    from symderiv.formula import activation as read

    values = _units(units)
    check_annealed(study)
    name = study.student_activation
    g = read(name).expression
    if g != read(study.teacher_activation).expression:
        raise NotYetError(
            "differs from that of the students, which is not known yet; leave it out",
            argument="teacher_activation",
        )
    closed = limit_of_equal_units(g)
    equations = equations_of_equal_units(g)
    transitions, digits = [], []
    for n, K in enumerate(values):
        committee = SymmetricCommittee(g, K)
        transitions.append(committee.specialising)
        digits.append(_digits(g, committee))
        told((n + 1) / len(values))
    return Specialisation(
        {
            "activation": name,
            "units": values,
            "kind": [each.kind for each in transitions],
            "alpha_per_unit": [each.alpha for each in transitions],
            "equal_until": [each.equal_until for each in transitions],
            "specialised_from": [each.specialised_from for each in transitions],
            "error_before": [each.before.error for each in transitions],
            "error_after": [each.after.error for each in transitions],
            "closed_form": _shown(closed),
            "equations": None if equations is None else [str(each) for each in equations],
            "equal_until_digits": digits,
            "warnings": ["states with other symmetries are not followed"],
        }
    )


def _digits(g: sp.Expr, committee: SymmetricCommittee) -> str | None:
    """Return α/K up to which equal students are stable, as proved digits; None without a proof."""
    from symderiv.equilibrium.committee import digits_of_equal_units

    if math.isinf(committee.K):
        return None
    first = committee.states[0]
    start = first.C, first.m / committee.K, first.alpha
    return digits_of_equal_units(g, int(committee.K), start, _DIGITS)


def _units(units: Iterable[float]) -> list[float]:
    try:
        values = [float(each) for each in units]
    except (TypeError, ValueError):
        raise InputError(f"{units!r} is not a list of numbers", argument="units") from None
    good = all(
        each == math.inf or (2 <= each <= _MOST_UNITS and each == int(each)) for each in values
    )
    if not values or not good or sorted(set(values)) != values:
        raise InputError(
            f"must be ascending whole numbers from 2 to {_MOST_UNITS}, or infinite",
            argument="units",
        )
    return values


def _shown(closed: sp.Expr | None) -> str | None:
    return None if closed is None else "infinite" if closed.is_infinite else str(closed)
