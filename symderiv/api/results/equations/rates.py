"""The right-hand side of the order-parameter equations at one state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symderiv.api.results.rate_function import flow_at, slope_at
from symderiv.foundation.packing import families_of, order_name
from symderiv.foundation.showing import Shown, Summary
from symderiv.integrate.flows.equivalent_numbers import shown_factor
from symderiv.integrate.flows.flat_run import FlatResult
from symderiv.problem.initial import Initial
from symderiv.problem.study import Study


@dataclass(frozen=True, repr=False, eq=False)
class Rates(Shown):
    """Time derivatives of the order parameters, per unit of α = examples / N.

    Attributes:
        dQ, dR, dv: shapes (K, K), (K, M), (K,).
        generalization_error: E[(student − teacher)²]/2 at the state, both without noise.
        d_student_overlap, d_cross_overlap: derivatives of Q_k and r_k per eigenvalue, shapes (L, K,
            K), (L, K, M).
        db: derivatives of trained biases, shape (K,); None if biases are not trained.
        dP, dW, dC: derivatives of the overlaps of velocities; None without momentum. Velocities
            that were not given are zero.
        further: derivatives of the other order parameters of the rule, by their names.
    """

    dQ: np.ndarray
    dR: np.ndarray
    dv: np.ndarray
    generalization_error: float
    d_student_overlap: np.ndarray
    d_cross_overlap: np.ndarray
    db: np.ndarray | None = None
    dP: np.ndarray | None = None
    dW: np.ndarray | None = None
    dC: np.ndarray | None = None
    further: Mapping[str, np.ndarray] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return nested lists by name of attribute; entries of ``further`` get the prefix d."""
        present = {name: value for name, value in vars(self).items() if value is not None}
        present |= {f"d{name}": value for name, value in present.pop("further").items()}
        return {name: np.asarray(value).tolist() for name, value in present.items()}

    def _summary(self) -> Summary:
        rows: list[tuple[str, object]] = [
            (name, getattr(self, name)) for name in ("dQ", "dR", "dv", "generalization_error")
        ]
        return Summary("Rates per unit of α", rows)


def rates_at(study: Study, start: Initial) -> Rates:
    """Return the right-hand side at the initial state of a run, as the integration uses it."""
    flow, state = flow_at(study, start), start.state
    fields = flow.packing("state").views(slope_at(flow)(flow.begin))
    variance = state.weight * state.eigenvalue
    rates = {}
    for packed, values in fields.items():
        families = families_of(packed)
        share = state.weight if families[1:] == ("B",) else variance
        shown = shown_factor(study, packed) * values
        rates[order_name(packed)] = shown @ share if families else shown
    named = {f"d{name}": rates.pop(name) for name in _NAMED if name in rates}
    here = FlatResult.of_rows(flow.begin[None])
    return Rates(
        generalization_error=float(flow.errors(here)[0]),
        d_student_overlap=np.ascontiguousarray(np.moveaxis(fields["student_overlap"], -1, 0)),
        d_cross_overlap=np.ascontiguousarray(np.moveaxis(fields["cross_overlap"], -1, 0)),
        further=rates,
        **named,
    )


_NAMED = ("Q", "R", "v", "b", "P", "W", "C")
"""Order parameters whose rates are attributes; all others are in ``further``."""
