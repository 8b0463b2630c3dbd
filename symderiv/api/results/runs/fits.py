"""Numbers of a problem fitted to measured curves, with derivatives from the equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.results.answer import Answer, Rows
from symderiv.foundation.documents.document import Node, Tabular
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, errors_about
from symderiv.foundation.progress import Tell
from symderiv.integrate.events.conditions import Readable
from symderiv.integrate.flows.event_times import Followed
from symderiv.integrate.flows.sensitivities import VariedRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ERRORS = "_standard_error"


class Fit(Answer):
    """Numbers of a problem that describe measured curves best, in the sense of least squares.

    Attributes:
        parameters: the numbers, by name.
        standard_errors: the standard errors of each, from the covariance.
        covariance: the covariance of the numbers in their order, (J^T J)^-1 of the weighted
            residuals; multiplied by their mean square where the data came without standard errors.
        chi_square: the sum of the squares of the residuals, divided by standard errors where there
            are some.
        degrees_of_freedom: values less numbers.
        evaluations: the number of evaluations of the equations with their derivatives, each a whole
            run.
        curves: data and fitted values by name, each with ``alpha``, ``data``, ``fit`` and, where
            given, ``standard_error``.
    """

    _title = "Fit"

    def _tables(self) -> Sequence[Node]:
        record = self._record
        rows = [
            [name, f"{value:.8g}", f"{record['standard_errors'][name]:.2g}"]
            for name, value in record["parameters"].items()
        ]
        return [Tabular(("number", "value", "standard error"), rows)]

    def _rows(self) -> Rows:
        record = self._record
        rows: list[tuple[str, object]] = [
            (name, f"{value:.6g} ± {record['standard_errors'][name]:.2g}")
            for name, value in record["parameters"].items()
        ]
        rows.append(("chi square", f"{record['chi_square']:.6g}"))
        rows.append(("degrees of freedom", record["degrees_of_freedom"]))
        return rows

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the data as points, with standard errors, and the fitted curves as lines.

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.
        """
        return drawn("analysis_plots.run_plots.fit_axes", self._record["curves"], ax)


def fitted(
    followed: Followed, curves: Mapping[str, Any], parameters: Sequence[str], update: Tell
) -> Fit:
    """Return the fit of a study or system; see :meth:`symderiv.Problem.fit`."""
    followed.course({})  # a wrong start is refused as such
    with errors_about("parameters"):
        begin = {name: followed.number(name) for name in parameters}
        followed.directions(parameters)
    given = _Data(curves, followed.readable)
    return _least_squares(followed.along, begin, given, update)


def _least_squares(
    run: Callable[[Mapping[str, float]], VariedRun],
    numbers: Mapping[str, float],
    given: _Data,
    update: Tell,
) -> Fit:
    """Return the least-squares fit of data by runs that depend on numbers, from initial values."""
    from scipy.optimize import least_squares

    if not numbers:
        raise InputError("is empty; name at least one number of the problem", argument="parameters")
    names, begin = tuple(numbers), np.array([*numbers.values()])
    known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def evaluated(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = values.tobytes()
        if key not in known:
            # the number of runs of a fit is not known in advance
            update(f"fitting, run {len(known) + 1}", 1.0 - 0.9 ** len(known))
            there = run(dict(zip(names, map(float, values), strict=True)))
            known[key] = given.compared(there, names)
        return known[key]

    best = least_squares(
        lambda values: evaluated(values)[0],
        begin,
        jac=lambda values: evaluated(values)[1],
        # numbers keep their sign
        bounds=(np.where(begin > 0.0, 0.0, -np.inf), np.where(begin < 0.0, 0.0, np.inf)),
        x_scale=np.abs(begin) + (begin == 0.0),
        ftol=1e-14,
        xtol=1e-12,
        gtol=1e-14,
    )
    return _fit(given, names, best.x, *evaluated(best.x), runs=len(known))


def _fit(
    given: _Data,
    names: Sequence[str],
    numbers: np.ndarray,
    residuals: np.ndarray,
    slopes: np.ndarray,
    runs: int,
) -> Fit:
    free = residuals.size - len(names)
    square = float(residuals @ residuals)
    covariance = np.linalg.pinv(slopes.T @ slopes)
    if not given.weighted:
        covariance *= square / max(free, 1)
    errors = np.sqrt(np.diag(covariance))
    return Fit(
        {
            "parameters": dict(zip(names, map(float, numbers), strict=True)),
            "standard_errors": dict(zip(names, map(float, errors), strict=True)),
            "covariance": covariance.tolist(),
            "chi_square": square,
            "degrees_of_freedom": free,
            "evaluations": runs,
            "curves": given.curves(residuals),
            "warnings": [],
        }
    )


class _Data:
    """Measured curves by the names of their quantities.

    Args:
        data: The times and the curves by name.
        readable: The names of quantities that may be measured.

    Attributes:
        weighted: True if standard errors are given.
    """

    def __init__(self, data: Mapping[str, Any], readable: Readable) -> None:
        try:
            self._alpha = np.asarray(data["alpha"], dtype=np.float64)
        except KeyError:
            raise InputError("has no 'alpha', the times of the data", argument="curves") from None
        if self._alpha.ndim != 1 or np.any(np.diff(self._alpha) <= 0.0) or self._alpha[0] < 0.0:
            raise InputError("alpha must be ascending times from 0 on", argument="curves")
        names = [str(name) for name in data if name != "alpha"]
        self._names = [name for name in names if not name.endswith(_ERRORS)]
        if not self._names:
            raise InputError(
                f"has no curve; add {readable.measured} or another order parameter",
                argument="curves",
            )
        self._entries = [readable.entry(name) for name in self._names]
        self.weighted = any(name.endswith(_ERRORS) for name in names)
        self._values = np.array([self._read(data, name) for name in self._names])
        if self.weighted:
            self._errors = np.array([self._read(data, name + _ERRORS) for name in self._names])
            if np.any(self._errors <= 0.0):
                raise InputError("standard errors must be positive", argument="curves")
        else:
            self._errors = np.ones_like(self._values)

    def _read(self, data: Mapping[str, Any], name: str) -> np.ndarray:
        if name not in data:
            raise InputError(
                f"has no {name!r}; give standard errors of all curves, or none", argument="curves"
            )
        values = np.asarray(data[name], dtype=np.float64)
        if values.shape != self._alpha.shape or not np.all(np.isfinite(values)):
            raise InputError(
                f"{name!r} must have one finite number for each of the {self._alpha.size} times",
                argument="curves",
            )
        return values

    def compared(self, run: VariedRun, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals of a run, and their derivatives by the numbers."""
        rows = run.run(self._alpha)

        def taken(each: Any) -> list[float]:
            return [float(np.asarray(each[field])[place]) for field, place in self._entries]

        times = [float(each) for each in run.course.seen(self._alpha)]
        pairs = list(zip(rows, times, strict=True))
        observed = np.array([taken(run.observed(row, time)) for row, time in pairs]).T
        changes = [run.derivatives(row, time) for row, time in pairs]
        slopes = np.array([[taken(each[name]) for each in changes] for name in names])
        residuals = (observed - self._values) / self._errors
        weighted = np.moveaxis(slopes, 2, 1) / self._errors
        return residuals.ravel(), weighted.reshape(len(names), -1).T

    def curves(self, residuals: np.ndarray) -> dict[str, dict[str, list[float]]]:
        """Return data and fitted values by name."""
        fits = self._values + self._errors * residuals.reshape(self._values.shape)
        curves = {}
        for n, name in enumerate(self._names):
            curve = {"alpha": self._alpha, "data": self._values[n], "fit": fits[n]}
            if self.weighted:
                curve["standard_error"] = self._errors[n]
            curves[name] = {key: values.tolist() for key, values in curve.items()}
        return curves
