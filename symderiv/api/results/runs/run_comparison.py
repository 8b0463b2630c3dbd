"""The differences of two results: keys of their problems, and their curves."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.results.answer import Answer
from symderiv.foundation.documents.document import Paragraph, Part, Tabular
from symderiv.foundation.errors import InputError
from symderiv.foundation.named_arguments import public
from symderiv.problem.study import Study
from symderiv.storage.checkpoint import flat_keys
from symderiv.storage.curve_results import ERROR, CurveResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Times with a smaller relative difference are the same.
_SAME = 1e-9
# Standard errors below this part of a curve's largest value are rounding.
_ROUNDING = 1e-13


class Comparison(Answer):
    """The differences of two results.

    Attributes:
        keys: one entry per key of the study that differs: ``key``, ``first``, ``second``.
        curves: one entry per curve that both have: ``name``, ``difference``, the largest, second
            minus first, ``alpha``, where it is, ``scale``, the largest value of the first curve;
            and where one result is a simulation ``standard_errors``, the largest difference in
            standard errors (of both, if both are), ``standard_errors_alpha`` and
            ``root_mean_square`` of the differences in standard errors.
        times: at how many times curves were compared; 0 of problems.
        interpolated: whether one result had to be interpolated, as they share no two times.
    """

    _title = "Comparison"
    _first = ("times", "interpolated")

    def __init__(self, record: Mapping[str, Any], results: Sequence[CurveResult]) -> None:
        super().__init__(record)
        self._results = tuple(results)

    def plot(self, *names: str, ax: Axes | None = None) -> Axes:
        """Draw curves of both results into the same axes.

        Args:
            names: see :meth:`symderiv.Trajectory.plot`.
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: problems were compared, which have no curves.
        """
        if not self._results:
            raise InputError("problems have no curves; compare their runs", argument="run")
        first, second = self._results
        return first.plot(*names, second, label=["first", "second"], ax=ax)

    def _document(self) -> Part:
        keys = [[each["key"], _text(each["first"]), _text(each["second"])] for each in self.keys]
        parts: list[Any] = []
        if keys:
            parts.append(Tabular(["key", "first", "second"], keys, "Keys that differ"))
        else:
            parts.append(Paragraph("No key of the study differs."))
        if self.curves:
            how = ", one of them interpolated" if self.interpolated else ""
            title = f"Largest differences at {self.times} times{how}"
            heads = ["curve", "difference", "at alpha", "largest value", "in standard errors"]
            rows = [
                [
                    each["name"],
                    f"{each['difference']:.3g}",
                    f"{each['alpha']:.6g}",
                    f"{each['scale']:.3g}",
                    f"{each['standard_errors']:.2f}" if "standard_errors" in each else "",
                ]
                for each in self.curves
            ]
            parts.append(Tabular(heads, rows, title))
        return Part(self._title, tuple(parts))

    def __repr__(self) -> str:
        return self.to_text().rstrip()


@public
def compare(run: Any, other: Any, names: Sequence[str] | None = None) -> Comparison:
    """Return the differences of two runs, simulations or problems: keys, and curves.

    Args:
        run, other: trajectories, simulations, runs and simulations of systems; or two problems.
        names: names of curves, as for :meth:`Trajectory.plot`; when left out, all curves that both
            have.

    Returns:
        The lists ``keys`` and ``curves`` of differences. ``to_text()`` returns tables of them, and
        ``plot(*names)`` draws curves.

    Raises:
        InputError: an argument has no curves, there is no such curve, or the two have no time in
            common.

    >>> import symderiv as sd
    >>> problem = sd.Problem("erf", students=2, teachers=2)
    >>> run, other = (problem.replace(learning_rate=rate).solve(end=5) for rate in (0.2, 0.4))
    >>> found = sd.compare(run, other)
    >>> [(each["key"], each["first"], each["second"]) for each in found.keys]
    [('training.learning_rate', 0.2, 0.4)]
    """
    keys = list(_keys(_stated(run, "run"), _stated(other, "other")))
    if not isinstance(run, CurveResult) or not isinstance(other, CurveResult):
        return Comparison({"keys": keys, "curves": [], "times": 0, "interpolated": False}, ())
    curves, times, interpolated = _compared(run, other, names)
    record = {"keys": keys, "curves": curves, "times": times, "interpolated": interpolated}
    return Comparison(record, (run, other))


def _stated(result: Any, argument: str) -> dict[str, Any]:
    """Return the keys of a result with their values, including defaults."""
    if isinstance(getattr(result, "_study", None), Study):
        return flat_keys(result.to_dict())
    if not isinstance(result, CurveResult):
        raise InputError(
            f"{type(result).__name__} is neither a result with curves nor a Problem",
            argument=argument,
        )
    text = getattr(result, "study_text", "")
    if text:
        return flat_keys(tomllib.loads(text))
    stated = getattr(result, "statement", "")
    stated_by_run = {"statement": json.loads(stated)} if stated else {}
    return flat_keys({**stated_by_run, "parameters": dict(getattr(result, "parameters", {}))})


def _keys(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key in dict.fromkeys((*first, *second)):
        one, two = first.get(key), second.get(key)
        if one != two:
            yield {"key": key, "first": one, "second": two}


def _compared(
    run: CurveResult, other: CurveResult, names: Sequence[str] | None
) -> tuple[list[dict[str, Any]], int, bool]:
    """Return the differences of curves, the number of times, and whether one was interpolated."""
    first, second = dict(run.columns(names)), dict(other.columns(names))
    one, two = run.times(), other.times()
    near = np.abs(one[:, None] - two[None, :]) <= _SAME * (1e-300 + np.abs(one))[:, None]
    here = np.flatnonzero(near.any(axis=1))
    interpolated = here.size < 2
    if interpolated:
        # at the times of the result with noisy values, or else of that with fewer times
        noisy = any(name.partition("[")[0].endswith(ERROR) for name in _all(run))
        at = one if noisy or one.size <= two.size else two
        at = at[(at >= max(one[0], two[0])) & (at <= min(one[-1], two[-1]))]
        if not at.size:
            raise InputError("has no time in common with the other", argument="run")
    else:
        at = one[here]
    errors = [_all(each) for each in (run, other)]
    rows = []
    for name, values in first.items():
        field, bracket, place = name.partition("[")
        if name not in second or field.endswith(ERROR):
            continue
        apart = _at(two, second[name], at) - _at(one, values, at)
        squares = np.zeros(at.size)
        for times, own in zip((one, two), errors, strict=True):
            error = own.get(f"{field}{ERROR}{bracket}{place}")
            if error is not None:
                squares += np.nan_to_num(_at(times, error, at)) ** 2
        rows.append(_difference(name, at, apart, np.sqrt(squares), values))
    return rows, int(at.size), interpolated


def _all(result: CurveResult) -> dict[str, np.ndarray]:
    return dict(result.columns([name for name in result.arrays() if name.endswith(ERROR)]))


def _difference(
    name: str, at: np.ndarray, apart: np.ndarray, error: np.ndarray, values: np.ndarray
) -> dict[str, Any]:
    largest, scale = int(np.nanargmax(np.abs(apart))), float(np.nanmax(np.abs(values)))
    difference = {
        "name": name,
        "difference": float(apart[largest]),
        "alpha": float(at[largest]),
        "scale": scale,
    }
    # Runs that start from the same state differ there by rounding only, which is no scatter.
    scatters = error > _ROUNDING * scale
    if np.any(scatters):
        deviations = np.divide(apart, error, out=np.zeros_like(apart), where=scatters)
        worst = int(np.argmax(np.abs(deviations)))
        difference["standard_errors"] = float(deviations[worst])
        difference["standard_errors_alpha"] = float(at[worst])
        mean = float(np.mean(deviations[scatters] ** 2))
        difference["root_mean_square"] = math.sqrt(mean)
    return difference


def _at(times: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return values at other times: known ones, or a monotone interpolation in ln(1 + α)."""
    place = np.clip(np.searchsorted(times, at * (1 - _SAME)), 0, times.size - 1)
    if np.allclose(times[place], at, rtol=_SAME, atol=0.0):
        return values[place]
    from scipy.interpolate import PchipInterpolator

    return np.asarray(PchipInterpolator(np.log1p(times), values)(np.log1p(at)))


def _text(value: Any) -> str:
    return "" if value is None else str(value)
