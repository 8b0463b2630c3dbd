"""Fluctuations of order parameters at finite N, and the law of the times of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.starts import start_of
from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.followed import FollowedStudy
from symderiv.api.results.runs.fluctuating import Fluctuating
from symderiv.api.results.runs.study_fluctuating import StudyFluctuations
from symderiv.api.results.runs.system_fluctuating import SystemFluctuations
from symderiv.foundation.documents.document import Node, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, check_one_of
from symderiv.inputs.blas_threads import one_blas_thread
from symderiv.integrate.events.asked import Event, events_of
from symderiv.integrate.events.conditions import Condition
from symderiv.integrate.flows.courses import Goal
from symderiv.integrate.fluctuations.gaussian_run import (
    GaussianRun,
    distance_of_widths,
    first_times,
    gaussian_run,
    normal_points,
    without_later_noise,
)
from symderiv.system.system_following import FollowedSystem
from symderiv.system.varied_system import VariedSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.api.results.rate_function import Start
    from symderiv.problem.initial import Initial
    from symderiv.problem.study import Study
    from symderiv.show.plots.features import Band
    from symderiv.system.system_runs import Solver

_GAUSSIAN = 0.2
"""The largest expansion without a warning for bands, and up to which laws count as Gaussian."""
_AWAY = 4.0
"""The least distance of an event, in standard deviations, from the time at which its law begins."""
_DISTANCE = 0.06
"""The largest change of a distribution function by neglected noise without a warning."""
_POINTS = 512
_BENT = 33
"""The largest number of times at which the Jacobian's change within a deviation is computed."""
_GRID = 201
_SHOWN = 12
_ARRAYS = {"alpha", "mean", "covariance", "shift", "expansion", "A", "D", "Sigma"}


class Fluctuations(Answer):
    """The Gaussian law of order parameters at finite N, along a run.

    √N (order parameters - mean) is Gaussian with the covariance, and the mean over runs is
    mean + shift/N, up to terms of higher order in 1/√N.

    Attributes:
        alpha: times, shape (P,).
        names: the names of the n quantities: ``Q[i,j]``, ``R[i,n]``, ``v[i]`` where it is trained,
            and ``generalization_error``; of a system its order parameters, ``w.B[i,n]``, with the
            number of the eigenvalue first where there are several, and its observables.
        mean: in the limit of large N, shape (P, n).
        covariance: Σ, of √N times the quantities, shape (P, n, n); independent of N.
        shift: N times what finite N adds to the means, shape (P, n).
        A, D, Sigma: the Jacobian of the rates, the covariance of the steps and the covariance of
            √N times m order parameters, shape (P, m, m), with Sigma' = A Sigma + Sigma Aᵀ + D.
        linear_names: the names of these m: ``names`` without averages; of a problem with several
            eigenvalues the overlaps of each, with the number of the eigenvalue last.
        dimension: N, of the bands and laws.
        expansion: the parameter that must be small for the Gaussian picture, at N, shape (P,): the
            largest shift of an order parameter in units of its standard deviation, or, if that is
            larger, the relative change of the Jacobian within one standard deviation along the
            direction in which order parameters vary most; relative to 1/α where the Jacobian is
            smaller.
        error: the error of the covariance, relative to its largest entry: the largest found.
        events: the laws of the times of events, as dictionaries; see :meth:`law`.
        warnings: where the Gaussian picture fails.
    """

    _title = "Fluctuations at finite N"

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return np.array(value) if name in _ARRAYS else value

    def _column(self, name: str) -> int:
        names = self._record["names"]
        check_one_of("name", name, names)
        return int(names.index(name))

    def mean_of(self, name: str) -> np.ndarray:
        """Return the mean over runs at N, to order 1/N, shape (P,).

        Args:
            name: one of ``names``.

        Raises:
            InputError: there is no such quantity.
        """
        n = self._column(name)
        return np.asarray(self.mean[:, n] + self.shift[:, n] / self.dimension)

    def deviation_of(self, name: str) -> np.ndarray:
        """Return the standard deviation over runs at N, shape (P,).

        Args:
            name: one of ``names``.

        Raises:
            InputError: there is no such quantity.
        """
        n = self._column(name)
        return np.asarray(np.sqrt(np.maximum(self.covariance[:, n, n], 0.0) / self.dimension))

    def law(self, event: str | Event) -> EventTimes:
        """Return the law of the time at which a condition first holds.

        Args:
            event: one of the conditions that were asked for.

        Raises:
            InputError: it was not asked for.
        """
        condition = event if isinstance(event, str) else event.condition
        for each in self._record["events"]:
            if each["event"] == condition:
                return EventTimes(each)
        asked = ", ".join(repr(each["event"]) for each in self._record["events"]) or "none"
        raise InputError(
            f"{condition!r} is not one of the events of this result: {asked}", argument="event"
        )

    def plot(self, quantity: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw means with bands of one standard deviation on either side.

        Args:
            quantity: one of ``names``, or what several have before their places: Q, R, v or
                ``w.B``; that of the first when left out.
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: there is no such quantity.
        """
        own = self._record["names"][0].partition("[")[0] if quantity is None else quantity
        names = [n for n in self._record["names"] if n.partition("[")[0] == own]
        curves = [(name, self.mean_of(name), self.deviation_of(name)) for name in names or [own]]
        return drawn("analysis_plots.run_plots.band_axes", self.alpha, curves, ax)

    def _rows(self) -> Rows:
        record = self._record
        rows: list[tuple[str, object]] = [
            ("dimension", record["dimension"]),
            ("times", len(record["alpha"])),
            ("largest expansion", f"{max(record['expansion']):.2g}"),
            ("relative error of the covariance", f"{record['error']:.1g}, the largest found"),
        ]
        for each in record["events"]:
            rows.append((each["event"], _law_text(each)))
        return rows

    def _tables(self) -> Sequence[Node]:
        rows = [
            [name, f"{self.mean_of(name)[-1]:.6g}", f"{self.deviation_of(name)[-1]:.2g}"]
            for name in self._record["names"][:_SHOWN]
        ]
        head = ("at the end", "mean", "standard deviation")
        return [Tabular(head, rows, sides="lrr")]


class EventTimes(Answer):
    """The law of the time at which a condition first holds, over runs at finite N.

    Attributes:
        event: the condition.
        times: points of the law with equal weights, ascending; infinite where the condition does
            not hold before the end of the run.
        dimension: N.
        matched: the time up to which fluctuations were taken as Gaussian; from there on every point
            of the law follows the flow without noise.
        growth_rate: the largest real part of an eigenvalue of the Jacobian at that time.
        distance: how much the noise after that time, which is left out, can change the distribution
            function: by linear theory, at most.
        failed: the share of points from which the flow fails, which are left out.
        warnings: what is wrong with the law.
    """

    _title = "Time of an event"

    @property
    def times(self) -> np.ndarray:
        """Points of the law, ascending, shape (S,)."""
        return np.array([np.inf if t is None else t for t in self._record["times"]])

    def quantile(self, share: float) -> float:
        """Return the time before which a share of the runs meets the condition.

        Args:
            share: between 0 and 1.

        Raises:
            InputError: the share is not between 0 and 1.
        """
        if not 0.0 <= share <= 1.0:
            raise InputError(f"{share} is not between 0 and 1", argument="share")
        return float(np.quantile(self.times, share, method="inverted_cdf"))

    def distribution(self, alpha: Any) -> np.ndarray:
        """Return the share of runs that have met the condition by some times.

        Args:
            alpha: times, of any shape.
        """
        times = self.times
        counts = np.searchsorted(times, np.asarray(alpha, dtype=float), side="right")
        return np.asarray(counts / times.size)

    def density(self, alpha: Any) -> np.ndarray:
        """Return the density of the times per unit of α, smoothed by Gaussian kernels.

        Args:
            alpha: times, of any shape.

        Raises:
            InputError: the condition is met by no runs, or by all at one time.
        """
        from scipy.stats import gaussian_kde

        times = self.times
        known = times[np.isfinite(times)]
        if known.size < 2 or np.ptp(known) == 0.0:
            raise InputError(
                "the times have no density, because runs meet the condition at one time or never",
                argument="event",
            )
        asked = np.asarray(alpha, dtype=float)
        density = gaussian_kde(known)(asked.ravel()) * known.size / times.size
        return np.asarray(density.reshape(asked.shape))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of runs that have met the condition, over time.

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.
        """
        place = "analysis_plots.run_plots.time_axes"
        return drawn(place, self._record["event"], self.times, ax)

    def _rows(self) -> Rows:
        record = self._record
        return [
            ("event", record["event"]),
            ("dimension", record["dimension"]),
            ("law", _law_text(record)),
            ("Gaussian until", f"{record['matched']:.6g}"),
            ("growth rate there", f"{record['growth_rate']:.6g}"),
            ("change by later noise", f"{record['distance']:.2g} of the runs at most"),
        ]


def _law_text(record: dict[str, Any]) -> str:
    law = EventTimes(record)
    low, middle, high = (law.quantile(share) for share in (0.1, 0.5, 0.9))
    if not np.isfinite(low):
        return "not before the end of the run"
    return f"median {middle:.6g}, 10 % before {low:.6g}, 90 % before {high:.6g}"


def fluctuations_at(
    study: Study,
    initial: Start | None,
    dimension: int | None,
    independent: bool,
    events: Sequence[str | Event] | str | Event,
) -> Fluctuations:
    """Return fluctuations of a study; see :meth:`symderiv.Problem.fluctuations`."""
    asked = events_of(events)
    ends = [each.name for each in asked if not each.condition]
    if ends:
        raise InputError(
            f"the time of {ends[0]!r} has no distribution yet; give a condition such as "
            "'generalization_error < 1e-3'",
            argument="events",
        )
    conditions = FollowedStudy(study, initial).conditions(asked)
    start = _start(study, initial, independent)
    N = _checked(dimension, start.data.dimension if start.data else None)
    fluctuating = StudyFluctuations(study, start)
    begin = fluctuating.drawn() if independent else None
    return _followed(fluctuating, study.alpha, N, conditions, begin)


def error_band(study: Study) -> Band:
    """Return how the generalisation errors of single runs scatter at the dimension of a study."""
    from symderiv.show.plots.features import Band

    result, name = fluctuations_at(study, None, None, False, ()), "generalization_error"
    bad = result.alpha[result.expansion > _GAUSSIAN]
    ends = result.mean_of(name), result.deviation_of(name)
    return Band(result.alpha, *ends, result.dimension, float(min(bad, default=np.inf)))


def system_fluctuations(
    solver: Solver,
    alpha: np.ndarray,
    dimension: int,
    start: tuple[Mapping[str, Any], Mapping[str, Any]],
    events: Sequence[str | Event] | str | Event,
) -> Fluctuations:
    """Return fluctuations of a system; see :meth:`symderiv.System.fluctuations`.

    Args:
        solver: The equations of the system.
        alpha: Times.
        dimension: N, for bands and laws.
        start: The state at α = 0, and values of parameters that differ from the defaults.
        events: Conditions whose times have laws.
    """
    varied, N = VariedSystem(solver, *start), _checked(dimension, None)
    fluctuating = SystemFluctuations(varied.point({}))
    conditions = FollowedSystem(varied, Goal(alpha)).conditions(events_of(events))
    return _followed(fluctuating, alpha, N, conditions, None)


@one_blas_thread()  # faster for many small matrices
def _followed(
    fluctuating: Fluctuating,
    asked: np.ndarray,
    N: int,
    conditions: Sequence[Condition],
    begin: np.ndarray | None,
) -> Fluctuations:
    """Return the fluctuations along a run, with the laws of events.

    Args:
        fluctuating: The flow and its noise.
        asked: The times of the result.
        N: The dimension of bands and laws.
        conditions: The conditions whose times have laws.
        begin: Σ at α = 0, zero when left out.
    """
    motion = fluctuating.motion
    start = np.zeros((len(motion.places),) * 2) if begin is None else begin
    grid = np.linspace(0.0, float(asked[-1]), _GRID) if conditions else asked[:0]
    covariances = gaussian_run(motion, np.union1d(asked, grid), start)
    seen = _SeenFluctuations(fluctuating, covariances, N)
    rows = np.searchsorted(covariances.alpha, asked)
    laws = [_law(seen, each) for each in {each.text: each for each in conditions}.values()]
    return Fluctuations(
        {
            "alpha": asked.tolist(),
            "names": list(fluctuating.names),
            **seen.record(rows),
            "dimension": N,
            "expansion": seen.expansion[rows].tolist(),
            "error": covariances.error,
            "events": laws,
            "warnings": seen.warnings(rows) + [w for each in laws for w in each["warnings"]],
        }
    )


def _checked(given: int | None, usual: int | None) -> int:
    """Return the dimension of bands: the given one, or else that of the inputs."""
    dimension = usual if given is None else given
    if dimension is None:
        raise InputError("is missing; say how many coordinates inputs have", argument="dimension")
    if dimension < 2:
        raise InputError(f"{dimension} is below 2", argument="dimension")
    return int(dimension)


def _start(study: Study, initial: Start | None, independent: bool) -> Initial:
    """Return the start of a run; if students are drawn for every run, their mean overlaps."""
    start = start_of(study, initial)
    if not independent:
        return start
    if initial is not None:
        raise InputError(
            "cannot be given with independent_starts, where students are drawn; leave one out",
            argument="initial",
        )
    state = start.state
    square = study.initial.student_std**2
    mean = replace(
        state,
        student_overlap=np.tile(square * np.eye(state.K), (state.L, 1, 1)),
        cross_overlap=np.zeros_like(state.cross_overlap),
    )
    return replace(start, state=mean, vectors=None)


class _SeenFluctuations:
    """A Gaussian run with its law for the shown quantities."""

    def __init__(self, fluctuating: Fluctuating, run: GaussianRun, dimension: int) -> None:
        self.fluctuating, self.run, self.dimension = fluctuating, run, dimension
        slopes = fluctuating.slopes
        variance = np.einsum("ai,pij,aj->pa", slopes, run.covariance, slopes)
        shift = run.shift @ slopes.T
        known = variance > 1e-9 * variance.max(axis=1, keepdims=True)
        ratio = np.abs(shift) / np.sqrt(np.where(known, variance, 1.0) * dimension)
        #: The parameter that must be small for the Gaussian law, at every time.
        self.expansion = np.maximum(np.where(known, ratio, 0.0).max(axis=1), self._bent())

    def _bent(self) -> np.ndarray:
        """Return the relative change of the Jacobian within one standard deviation.

        It is computed at some of the times; between them its square is interpolated, as variances
        are.
        """
        motion, run, squares = self.fluctuating.motion, self.run, []
        known = np.unique(np.linspace(0, run.alpha.size - 1, _BENT).astype(int))
        rows = zip(run.alpha[known], run.states[known], run.covariance[known], strict=True)
        for alpha, state, sigma in rows:
            values, axes = np.linalg.eigh(sigma / self.dimension)
            step = motion.spread @ axes[:, -1] * np.sqrt(max(values[-1], 0.0))
            ahead, before = motion.jacobian(state + step), motion.jacobian(state - step)
            apart, whole = (np.linalg.norm(each, 2) for each in (ahead - before, ahead + before))
            # a change of the Jacobian acts no longer than the time so far
            change = apart / max(whole, 2.0 / alpha) if apart and alpha else 0.0
            # outside of the cone of overlaps the Jacobian may not exist
            squares.append(float(change**2) if np.isfinite(change) else np.inf)
        with np.errstate(invalid="ignore"):
            bent = np.sqrt(np.interp(run.alpha, run.alpha[known], squares))
        return np.where(np.isnan(bent), np.inf, bent)

    def record(self, rows: np.ndarray) -> dict[str, Any]:
        """Return means, covariances and shifts at some times; averages come last."""
        run, slopes = self.run, self.fluctuating.slopes
        mean = self.fluctuating.order_parameters(run.states[rows])
        record: dict[str, list[Any]] = {
            name: [] for name in ("mean", "covariance", "shift", "A", "D", "Sigma")
        }
        names, turn = self.fluctuating.linear_frame
        back = np.linalg.inv(turn)
        for own, row in zip(mean, rows, strict=True):
            sigma, shift = run.covariance[row], run.shift[row]
            averages, slope, moved = self.fluctuating.averaged(run.states[row], sigma, shift)
            whole = np.vstack([slopes, slope])
            record["mean"].append([*own.tolist(), *averages.tolist()])
            record["covariance"].append((whole @ sigma @ whole.T).tolist())
            record["shift"].append([*(slopes @ shift).tolist(), *moved.tolist()])
            record["A"].append((turn @ run.jacobian[row] @ back).tolist())
            record["D"].append((turn @ run.noise[row] @ turn.T).tolist())
            record["Sigma"].append((turn @ sigma @ turn.T).tolist())
        return {**record, "linear_names": list(names)}

    def warnings(self, rows: np.ndarray) -> list[str]:
        """Return a warning if the Gaussian picture fails at some of the times."""
        bad = np.flatnonzero(self.expansion[rows] > _GAUSSIAN)
        if not bad.size:
            return []
        return [
            f"from alpha = {self.run.alpha[rows[bad[0]]]:.6g} on the rates are not linear within "
            "one standard deviation of the order parameters (largest expansion "
            f"{self.expansion[rows].max():.2g}, more than {_GAUSSIAN}): at N = {self.dimension} "
            "these are not Gaussian there, and the bands are a guess"
        ]


def _law(seen: _SeenFluctuations, condition: Condition) -> dict[str, Any]:
    """Return the record of the law of an event's time."""
    fluctuating, run, N = seen.fluctuating, seen.run, seen.dimension
    place, warnings = _matched(seen, condition)
    motion = fluctuating.motion
    points = normal_points(run.shift[place] / N, run.covariance[place] / N, _POINTS)
    states = run.states[place] + points @ motion.spread.T
    begin, end = float(run.alpha[place]), float(run.alpha[-1])
    times = first_times(
        states, fluctuating.run, lambda *given: fluctuating.gaps(condition, *given), begin, end
    )
    failed = float(np.mean(np.isnan(times)))
    if failed > 0.0:
        warnings.append(f"the flow fails from {failed:.1%} of the points of the law")
    known = np.sort(times[~np.isnan(times)])
    growth = float(np.linalg.eigvals(motion.jacobian(run.states[place])).real.max())
    apart = _left_out(seen, condition, place, known, growth)
    if apart > _DISTANCE and not warnings:
        warnings.append(
            f"{condition.text}: fluctuations at N = {N} are Gaussian only until alpha = "
            f"{begin:.3g}; the law leaves out the noise after it, which can change its "
            f"distribution function by {apart:.2f} (more than {_DISTANCE}); ask for a larger "
            "dimension"
        )
    return {
        "event": condition.text,
        "times": [float(t) if np.isfinite(t) else None for t in known],
        "dimension": N,
        "matched": begin,
        "growth_rate": growth,
        "distance": apart,
        "failed": failed,
        "warnings": warnings,
    }


def _left_out(
    seen: _SeenFluctuations, condition: Condition, place: int, times: np.ndarray, growth: float
) -> float:
    """Return how much the noise after a time can change an event's law, by linear theory.

    The covariance with all noise is compared with that of the noise before the time, when half the
    runs have met the condition, or when the mean does if that is earlier. They are compared along
    the gradient of the gap and, if some direction grows, along the direction of largest variance.
    """
    run, N = seen.run, seen.dimension
    held = seen.fluctuating.gaps(condition, run.states, run.alpha) > 0.0
    median = np.quantile(times, 0.5, method="inverted_cdf") if times.size else np.inf
    after = [*np.flatnonzero(held)[:1], int(np.searchsorted(run.alpha, median))]
    at = min(after)
    if at <= place or at >= run.alpha.size:
        return 0.0
    whole, part = run.covariance[at] / N, without_later_noise(run, place)[at - place] / N
    shares = []
    every, own = (
        seen.fluctuating.gap_deviation(condition, run.states[at], each, float(run.alpha[at]))
        for each in (whole, part)
    )
    if every > 0.0:
        shares.append((own / every) ** 2)
    if growth > 0.0:
        widest = np.linalg.eigh(whole)[1][:, -1]
        shares.append(float(widest @ part @ widest / (widest @ whole @ widest)))
    return max((distance_of_widths(share) for share in shares), default=0.0)


def _matched(seen: _SeenFluctuations, condition: Condition) -> tuple[int, list[str]]:
    """Return the index of the last time with Gaussian fluctuations and a distant event."""
    run, N = seen.run, seen.dimension
    gaps = seen.fluctuating.gaps(condition, run.states, run.alpha)
    last = 0
    for place in range(1, run.alpha.size):
        if seen.expansion[place] > _GAUSSIAN or gaps[place] > 0.0:
            break
        spread = seen.fluctuating.gap_deviation(
            condition, run.states[place], run.covariance[place] / N, float(run.alpha[place])
        )
        if -gaps[place] < _AWAY * spread:
            break
        last = place
    if last == 0 and gaps[0] <= 0.0:
        return 0, [
            f"{condition.text}: fluctuations at N = {N} are never Gaussian before the event, so "
            "its law is a guess; ask for a larger dimension"
        ]
    return last, []
