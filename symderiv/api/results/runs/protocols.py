"""Optimal control: a number of a problem as a function of time, and how optimal it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.numbers import range_of
from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.followed import number_of, with_numbers
from symderiv.api.results.rate_function import flow_at
from symderiv.foundation.documents.document import Node, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, errors_about
from symderiv.foundation.progress import Tell
from symderiv.integrate.control.controlled_flow import ControlledFlow
from symderiv.integrate.control.searches import (
    ControlFound,
    ControlSearch,
    FinalError,
    IntegratedError,
    Objective,
    TimeToError,
)
from symderiv.integrate.flows.sensitivities import VariedFlow, VariedRun
from symderiv.keys.study_tables import LEARNING_RATES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.api.results.rate_function import Start
    from symderiv.problem.study import Study
    from symderiv.system.varied_system import VariedSystem

# the largest relative change of the objective when steps are halved
_EXACT = 1e-6
_MOST_HALVES = 256
_TIME = re.compile(r"time\s*:\s*(\S+)")
_MOST_PIECES = 100_000
# places within bounds where constants are tested for being linear in the control
_PLACES = (0.25, 0.5, 0.75)


class OptimalControl(Answer):
    """A number of a problem as a function of time that makes an objective small.

    Attributes:
        control: the name of the number.
        edges: times at which it changes, from 0 to the end, shape (P + 1,).
        values: in each piece, shape (P,).
        objective: the value reached: the error at the end, its integral over α, or the time to the
            error asked for.
        constant: the best constant: ``values``, ``objective``, ``alpha``, ``errors``.
        greedy: the same of the control that makes the error fall fastest at every time.
        alpha, errors: ends of the steps of the run, and the generalisation error there.
        slopes: ∂H/∂u, a mean over each piece, of Pontryagin's Hamiltonian H = λ·f (+ ε_g for the
            integral), multiplied by the range of the control and by the end, divided by the
            objective: what moving the control through its range would change, to first order.
        residual: the largest |∂H/∂u| of those where the control is between its bounds; 0 at an
            optimum.
        wrong_signs: the largest ∂H/∂u that points from a bound inwards, of pieces at bounds; 0 at
            an optimum.
        arcs: pieces in a row at the lower bound, at the upper bound, between them, or idle (where
            the control changes nothing any more), each with ``begin`` and ``end``.
        bang_bang: whether it is at one or the other bound at all times.
        gradients: how many gradients the search took.
        scouts: the objectives that short searches from several controls came to, the best first;
            where they differ there are several local optima.
        step_error: what halving the steps changes the objective by, relative.
        schedule: for ``learning_rate`` the times and factors of the problem's argument of that
            name.
    """

    _title = "Optimal control"

    def _tables(self) -> Sequence[Node]:
        record = self._record
        rows = [[each["kind"], f"{each['begin']:.6g}", f"{each['end']:.6g}"] for each in self.arcs]
        table = Tabular(("arc", "from alpha", "to alpha"), rows)
        others = [
            [name, f"{value:.8g}", f"{value / record['objective']:.6g}"]
            for name, value in (
                ("optimal", record["objective"]),
                ("best constant", record["constant"]["objective"]),
                ("steepest descent", record["greedy"]["objective"]),
            )
        ]
        gains = Tabular(("control", record["asked"], "divided by the optimal one"), others)
        return [gains, table]

    def _rows(self) -> Rows:
        record = self._record
        values = record["values"]
        return [
            ("control", f"{record['control']}, {len(values)} pieces up to {record['edges'][-1]:g}"),
            ("values", f"{min(values):.6g} to {max(values):.6g}"),
            (record["asked"], f"{record['objective']:.8g}"),
            ("best constant", f"{record['constant']['objective']:.8g}"),
            ("steepest descent", f"{record['greedy']['objective']:.8g}"),
            ("residual of Pontryagin's conditions", f"{record['residual']:.1e}"),
            ("slopes of wrong sign at bounds", f"{record['wrong_signs']:.1e}"),
            ("kind", "bang-bang" if record["bang_bang"] else "with interior arcs"),
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the control over α, with the best constant and the steepest descent.

        The generalisation error has axes of its own above.

        Args:
            ax: Matplotlib axes for the control alone; None makes new ones for both.

        Returns:
            The axes of the control.
        """
        return drawn("analysis_plots.run_plots.control_axes", self._record, ax)


def bounds_of(text: str) -> tuple[float, float]:
    """Return two bounds that are given as the text ``LOW,HIGH``.

    Raises:
        InputError: the text has another form.
    """
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise InputError(f"{text!r} is not two numbers such as 0,5", argument="bounds") from None
    return low, high


def optimised(
    study: Study,
    control: str,
    objective: str,
    bounds: Sequence[float],
    pieces: int,
    initial: Start | None,
    update: Tell,
) -> OptimalControl:
    """Return the best control of a study; see :meth:`symderiv.Problem.optimise`."""
    asked = _Asked.of(control, objective, bounds, pieces, float(study.alpha[-1]))
    record = _searched(controlled(study, control, asked.bounds, initial), asked, update)
    rate = study.training.learning_rate
    if control == "learning_rate" and rate > 0.0:
        rates = [value / rate for value in record["values"]]
        record["schedule"] = {"times": record["edges"][:-1], "rates": rates}
    return OptimalControl(record)


def system_optimised(
    varied: VariedSystem,
    control: str,
    objective: str,
    bounds: Sequence[float],
    pieces: int,
    end: float,
    observable: str,
    update: Tell,
) -> OptimalControl:
    """Return the best control of a system; see :meth:`symderiv.System.optimise`."""
    from symderiv.system.system_following import steered

    asked = _Asked.of(control, objective, bounds, pieces, end)
    try:
        key = varied.key_of(control)
    except InputError as error:
        raise InputError(f"{control!r} {error.reason}", argument="control") from None

    def flow(value: float) -> VariedRun:
        return steered(varied.point({key: value}), observable)

    in_time = key.startswith("parameters.")
    steered_flow = on_a_line(flow, asked.bounds, observable) if in_time else None
    if steered_flow is None:
        raise InputError(
            f"{control!r} cannot change in time; take a parameter on which the constants of the "
            "equations depend linearly, not an initial value or an argument of inputs",
            argument="control",
        )
    return OptimalControl(_searched(steered_flow, asked, update))


@dataclass(frozen=True)
class _Asked:
    """The arguments of a search.

    Attributes:
        control, words: The names of the control and of the objective.
        objective: The objective to be minimised.
        bounds: The bounds of the control.
        edges: The edges of the pieces.
    """

    control: str
    words: str
    objective: Objective
    bounds: tuple[float, float]
    edges: np.ndarray

    @classmethod
    def of(
        cls, control: str, objective: str, bounds: Sequence[float], pieces: int, end: float
    ) -> _Asked:
        asked = _objective(objective)
        if not 1 <= pieces <= _MOST_PIECES:
            raise InputError(f"{pieces} is not between 1 and {_MOST_PIECES}", argument="pieces")
        if not 0.0 < end < np.inf:
            raise InputError(f"{end:g} is not a positive number", argument="end")
        names = {"final": "final error", "integral": "integral of the error"}
        words = names.get(objective, "time to the error")
        return cls(
            control, words, asked, range_of(bounds, "bounds"), np.linspace(0.0, end, pieces + 1)
        )


def _searched(flow: ControlledFlow, asked: _Asked, update: Tell) -> dict[str, Any]:
    """Return the record of the best control that is found."""
    start = ControlSearch(flow, asked.objective, asked.bounds, asked.edges, update)
    search = start.fine_enough()
    starts = search.starts(search.constant(), search.greedy())
    if not starts:
        raise InputError(
            "the run stays finite for no constant between them; make them narrower",
            argument="bounds",
        )
    scouts = search.scouted(starts)
    values = scouts[0].values
    while True:
        best = search.best(values)
        others = search.constant(), search.greedy()
        simple = min(others, key=lambda each: each.objective)
        if simple.objective < (1.0 - _EXACT) * best.objective:
            values = simple.values
            continue
        finer = search.finer()
        error = abs(finer.outcome_of(best.values).objective / best.objective - 1.0)
        if error <= _EXACT or search.halves >= _MOST_HALVES:
            break
        search, values = finer, best.values
    if isinstance(asked.objective, TimeToError) and best.objective > asked.edges[-1]:
        raise InputError(
            f"no control in the bounds was found that reaches an error of "
            f"{asked.objective.error:g} before alpha = {asked.edges[-1]:g}; ask for a larger "
            "error or a later end",
            argument="objective",
        )
    # results are those with the smaller steps
    best, constant, greedy = (finer.outcome_of(each.values) for each in (best, *others))
    record = _record(asked, finer, (best, constant, greedy))
    record |= {"step_error": error, "scouts": [each.objective for each in scouts]}
    if error > _EXACT:
        record["warnings"].append(f"halving the steps changes the objective by {error:.1e}")
    return record


def _record(
    asked: _Asked, search: ControlSearch, controls: tuple[ControlFound, ControlFound, ControlFound]
) -> dict[str, Any]:
    best, *others = controls
    slopes = search.slopes(best)
    low, high = search.bounds
    lower, upper = best.values <= low, best.values >= high
    wrong = np.concatenate([-slopes[lower], slopes[upper], [0.0]])
    arcs = search.arcs(best.values, slopes)
    return {
        "control": asked.control,
        "asked": asked.words,
        "edges": search.edges.tolist(),
        **_listed(best),
        **{name: _listed(each) for name, each in zip(("constant", "greedy"), others, strict=True)},
        "slopes": slopes.tolist(),
        "residual": float(np.max(np.abs(slopes[~(lower | upper)]), initial=0.0)),
        "wrong_signs": float(np.max(wrong)),
        "arcs": [asdict(each) for each in arcs],
        "bang_bang": all(each.kind != "interior" for each in arcs),
        "gradients": len(search.made),
        "warnings": [],
    }


def _listed(control: ControlFound) -> dict[str, Any]:
    return {
        "values": control.values.tolist(),
        "objective": control.objective,
        "alpha": control.alpha.tolist(),
        "errors": control.errors.tolist(),
    }


def _objective(text: str) -> Objective:
    if text == "final":
        return FinalError()
    if text == "integral":
        return IntegratedError()
    time = _TIME.fullmatch(text)
    try:
        error = float(time[1]) if time else 0.0
    except ValueError:
        error = 0.0
    if not 0.0 < error < np.inf:
        raise InputError(
            f"{text!r} is not final, integral, or a time to an error such as time:1e-3",
            argument="objective",
        )
    return TimeToError(error)


def controlled(
    study: Study, control: str, bounds: tuple[float, float], initial: Start | None
) -> ControlledFlow:
    """Return the flow of a study with one of its numbers as control.

    Raises:
        InputError: the name is not that of a number, or the number cannot be a control.
    """
    with errors_about("control"):
        given = number_of(study, control)

    def flow(value: float) -> VariedRun:
        numbers = {control: value}
        if control == "learning_rate" and given > 0.0:
            own = {name: getattr(study.training, name) for name in LEARNING_RATES[1:]}
            numbers |= {name: each * value / given for name, each in own.items() if each}
        there = with_numbers(study, numbers)
        return VariedFlow(flow_at(there, start_of(there, initial)), {})

    steered = on_a_line(flow, bounds)
    if steered is None:
        raise InputError(
            f"{control!r} cannot change in time here; take one of learning_rate, weight_decay, "
            "label_noise, label_flip, keep, input_noise or update_noise (a batch of b examples "
            "learns as one example does with the rate η/b and less noise)",
            argument="control",
        )
    if "evaluation_scale" in steered.changing:
        raise InputError(
            "is missing: it would change in time with the control, and errors at different times "
            "could not be compared; give the factor of the output weights for the error",
            argument="evaluation_scale",
        )
    return steered


def on_a_line(
    flow: Callable[[float], VariedRun],
    bounds: tuple[float, float],
    average: str = "generalization_error",
) -> ControlledFlow | None:
    """Return a flow with constants linear in a number, or None if there is none."""
    low, high = bounds
    places = [low + (high - low) * place for place in _PLACES]
    flows = [flow(value) for value in places]
    constants = [each.course.flat for each in flows]
    change = (constants[2] - constants[0]) / (places[2] - places[0])
    base = constants[1] - places[1] * change
    line = base + places[0] * change
    begins = [each.course.begin for each in flows]
    same = all(np.array_equal(each, begins[0]) for each in begins)
    scale = np.max(np.abs(constants), axis=0)
    if not same or np.any(np.abs(line - constants[0]) > 1e-9 * scale) or not np.any(change):
        return None
    change[np.abs(change) * (high - low) < 1e-13 * scale] = 0.0
    return ControlledFlow(flows[1], base, change, average)
