"""One HTML page of a sweep: the swept keys, statuses and all pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.documents.document import Node, Paragraph, Part, Picture, Tabular, Verbatim
from symderiv.foundation.outputs import Output
from symderiv.show.pages.page import (
    page,
    svg_bytes,
    version_line,
)
from symderiv.show.plots import sweep_plots
from symderiv.show.plots.run_quantities import QUANTITIES
from symderiv.show.plots.sweep_plots import plain_name, swept, value_text

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from symderiv.sweeps.sweep_result import Sweep

# Largest number of points in maps of numbers, each of which is computed from its curve.
_MOST_MAPPED = 20_000
_MOST_VALUES = 8


def write_page(sweep: Sweep, output: Output) -> Path:
    """Write the page of a sweep; return its path."""
    output.write_text(page_text(sweep))
    return output.path


def page_text(sweep: Sweep) -> str:
    """Return the page of a sweep, with figures inside."""
    data = sweep_plots.ascending(sweep.to_xarray())
    keys = " × ".join(f"{plain_name(data, name)} ({data.sizes[name]})" for name in swept(data))
    figures = enumerate(_figures(data), start=1)
    study = (
        Paragraph("The swept keys have other values at each point."),
        Verbatim(_statement(str(data.attrs["study"]))),
    )
    errors = [Paragraph(f"{label}: {why}", tone="warning") for label, why in sweep.errors.items()]
    parts: tuple[Node, ...] = (
        Paragraph(_said(sweep)),
        *errors,
        Part("Figures", [Picture(svg_bytes(f), words, n) for n, (f, words) in figures], "figures"),
        Part("Numbers", (_ends(sweep), _work(data)), "numbers"),
        Part("The study", study, "study"),
    )
    subtitle = "; ".join(_range(data, name) for name in swept(data))
    made_by = (f", made by symderiv {data.attrs['symderiv_version']}", "")
    store = (" · the sweep is in ", Path(sweep.output).name)
    document = Part(f"Sweep over {keys}", parts, subtitle=subtitle, links=True)
    return page(document, version_line(store, made_by))


def _figures(data: xarray.Dataset) -> list[tuple[Figure, str]]:
    """Return the figures of a sweep with their captions."""
    if "generalization_error" in data:
        pictures = [
            (sweep_plots.curve_figure(data), "Generalisation error ε_g over α."),
            (
                sweep_plots.order_figure(data),
                "Student overlaps Q, student-teacher overlaps R and, where they are trained, the "
                "output weights v at some points of the sweep.",
            ),
        ]
    else:
        pictures = [
            (sweep_plots.curve_figure(data, name), f"The average {name} over α.")
            for name in sweep_plots.observables(data)
        ]
    if data["status"].size <= _MOST_MAPPED:
        for name in ("final_error", "plateau_length", "exponent"):
            figure = sweep_plots.map_figure(data, name)
            words = QUANTITIES[name].words
            pictures.append((figure, f"{words[:1].upper()}{words[1:]} (symderiv: {name})."))
    if len(np.unique(data["status"].values)) > 1:
        pictures.append((sweep_plots.status_figure(data), "How the integrations ended."))
    return pictures


def _statement(text: str) -> str:
    """Return the text of the swept problem; JSON is broken into lines."""
    if text.startswith("{"):
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    return text


def _range(data: xarray.Dataset, name: str) -> str:
    """Return a key with its values, or with the first and the last if there are many."""
    values = data[name].values
    shown = [value_text(value) for value in values]
    if len(shown) > _MOST_VALUES:
        shown = [*shown[:2], "…", shown[-1]]
    return f"{plain_name(data, name)} = {', '.join(shown)}"


def _said(sweep: Sweep) -> str:
    missing = sweep.points - sweep.completed - sweep.failed
    words = f"{sweep.completed} of {sweep.points} points were integrated to their end"
    if sweep.failed:
        words += f", {sweep.failed} ended before"
    return words + (f", {missing} are not computed yet." if missing else ".")


def _ends(sweep: Sweep) -> Tabular:
    rows = [[kind, str(count)] for kind, count in sweep.statuses.items()]
    return Tabular(["end", "points"], rows, "How they ended", export=True)


def _work(data: xarray.Dataset) -> Tabular:
    def row(name: str, words: str) -> list[str]:
        values: Any = data[name].values.astype(np.float64)
        values = values[np.isfinite(values)]
        if not values.size:
            return [words, "—", "—", "—"]
        middle = float(np.median(values))
        return [words, *(f"{x:.3g}" for x in (values.min(), middle, values.max()))]

    rows = [
        row("steps", "steps"),
        row("rhs_evaluations", "right-hand sides"),
        row("wall_seconds", "seconds"),
        row("error_sum", "sum of the estimated local errors"),
    ]
    if "tolerance_reached" in data:
        rows.append(row("tolerance_reached", "estimated error of Q, R and v"))
    if "error_accuracy" in data:
        rows.append(row("error_accuracy", "estimated relative error of the generalisation error"))
    return Tabular(["", "least", "median", "most"], rows, "Work per point", export=True)
