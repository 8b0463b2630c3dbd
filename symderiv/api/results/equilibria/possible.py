"""Bayes-optimal learning from α N examples: overlaps, errors and transitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.equilibria.statics import WITH_LABELS, alpha_values, check_known
from symderiv.foundation.documents.document import Node, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, NotYetError, check_one_of, errors_about

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.equilibrium.optimal.sign_channel import Channel
    from symderiv.equilibrium.optimal.state_evolution import OptimalState
    from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget
    from symderiv.problem.study import Study

_MOST_TEACHERS = 3


class BayesOptimal(Answer):
    """Overlaps and errors of the best estimate from α N examples.

    Attributes:
        alpha: the values that were asked for, shape (P,).
        overlap: E[estimate · teacher]/N of the state that is reached without knowledge, shape
            (P, M, M); this is what message passing finds.
        error: E[(y - its mean given the examples)²]/2 for a fresh input there, without the noise
            that is added to y, shape (P,).
        free_entropy: the free entropy per input dimension, shape (P,).
        informed: a dictionary with the same three, for the state that is reached from full
            knowledge; free entropies that are infinite are None in JSON.
        optimal: the overlap of the state with the larger free entropy, shape (P, M, M).
        transitions: dictionaries by ascending ``alpha`` with ``kind`` and ``branch``:
            "continuous" (another direction begins to be found), "first-order" (the informed state
            becomes the optimal one) or "spinodal" (the branch ends; of "uninformed", message
            passing jumps there).
        output, prior: what the examples show, and the law of weights.
        warnings: what limits the result.
    """

    _title = "Bayes-optimal learning"
    _warned = "{}"

    def plot(self, quantity: str = "error", ax: Axes | None = None) -> Axes:
        """Draw the error or the overlaps over α, informed states dashed.

        Args:
            quantity: "error", "overlap" or "free_entropy".
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: there is no such quantity.
        """
        check_one_of("quantity", quantity, ("error", "overlap", "free_entropy"))
        return drawn("analysis_plots.equilibrium_plots.possible_axes", self._record, quantity, ax)

    def _rows(self) -> Rows:
        record = self._record
        rows = [(name, record[name]) for name in ("output", "teachers", "prior")]
        rows.append(("alpha", f"{record['alpha'][0]:g} to {record['alpha'][-1]:g}"))
        rows.append(("error at its end", f"{record['error'][-1]:.6g}"))
        return rows

    def _tables(self) -> Sequence[Node]:
        changes = [
            [each["kind"], f"{each['alpha']:.8g}", each["branch"]]
            for each in self._record["transitions"]
        ]
        heads = ("transition", "alpha", "branch")
        return [Tabular(heads, changes, sides="lrl")] if changes else []


def bayes_optimal_of(
    study: Study,
    alpha: Iterable[float],
    prior: str,
    output: str | None,
    progress: Callable[[float], None],
) -> BayesOptimal:
    """Return Bayes-optimal learning of a study; see :meth:`symderiv.Problem.equilibrium`."""
    from symderiv.equilibrium.optimal.state_evolution import (
        GaussianPrior,
        RademacherPrior,
        StateEvolution,
    )
    from symderiv.equilibrium.optimal.thresholds_found import OptimalCurves

    values = alpha_values(alpha)
    check_one_of("prior", prior, ("gaussian", "rademacher"))
    check_known(study, "Bayes-optimal learning", "from", WITH_LABELS)
    if study.M > _MOST_TEACHERS:
        raise NotYetError(
            f"must be at most {_MOST_TEACHERS} for Bayes-optimal learning, not {study.M}",
            argument="teachers",
        )
    target, noise, flip = output_of(study, output)
    law = GaussianPrior() if prior == "gaussian" else RademacherPrior()
    evolution = StateEvolution(_channel(target, noise, flip), law)
    curves = OptimalCurves(evolution, values, progress)
    known = [_states(evolution, each) for each in (curves.uninformed, curves.informed)]
    best = [
        one.q if one.entropy >= other.entropy else other.q
        for one, other in zip(curves.uninformed, curves.informed, strict=True)
    ]
    return BayesOptimal(
        {
            "alpha": values,
            "output": str(target.expression) + (f" + {noise:g} noise" if noise else ""),
            "teachers": study.M,
            "prior": prior,
            **known[0],
            "informed": known[1],
            "optimal": [each.tolist() for each in best],
            "transitions": [
                {"kind": each.kind, "alpha": float(each.alpha), "branch": each.branch}
                for each in curves.transitions()
            ],
            "warnings": ["that no other state is optimal is not proved"],
        }
    )


def _states(evolution: Any, states: list[OptimalState]) -> dict[str, Any]:
    return {
        "overlap": [each.q.tolist() for each in states],
        "error": [evolution.error(each) for each in states],
        "free_entropy": [each.entropy for each in states],
    }


def output_of(study: Study, output: str | None) -> tuple[FewFieldTarget, float, float]:
    """Return the output y as a target, with the label noise and the flips of the study."""
    import sympy as sp

    from symderiv.equilibrium.weak_learning.stated_target import read_target
    from symderiv.formula import activation

    flip = float(getattr(study.training, "label_flip", 0.0) or 0.0)
    noise = float(study.training.label_noise or 0.0)
    if output is None:
        g = activation(study.teacher_activation).expression
        (x,) = g.free_symbols
        formula = sum(
            sp.nsimplify(float(w), [sp.sqrt(study.M)])
            * g.subs(x, sp.Symbol(f"z{n + 1}", real=True))
            for n, w in enumerate(study.teacher_weights)
        )
        if str(study.training.target) == "sign":
            formula = sp.sign(formula * sp.sqrt(study.M))
        target = read_target(formula)
    else:
        with errors_about("output"):
            target = read_target(output)
    if len(target.fields) != study.M:
        raise InputError(
            f"has {len(target.fields)} fields, but the problem has {study.M} teachers",
            argument="output",
        )
    return target, noise, flip


def _channel(target: FewFieldTarget, noise: float, flip: float) -> Channel:
    from symderiv.equilibrium.optimal.field_channel import FieldChannel, NoisyFieldChannel
    from symderiv.equilibrium.optimal.sign_channel import SignChannel

    if target.noisy and target.additive is not None:
        g, size = target.additive
        target, noise = replace(target, expression=g, noisy=False), float(np.hypot(size, noise))
    if target.in_signs is not None:
        return SignChannel(target, noise, flip)
    if len(target.fields) > 1 or target.noisy or flip:
        raise NotYetError(
            "must be a function of signs, or of one field with additive noise; Bayes-optimal "
            "learning of other outputs is not known yet",
            argument="output",
        )
    return NoisyFieldChannel(target, noise) if noise else FieldChannel(target)
