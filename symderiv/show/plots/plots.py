"""Figures of a study: error curves, order parameters, local exponents. Dark on light, for paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.foundation.outputs import Output
from symderiv.show.plots.features import (
    FLAT,
    Floats,
    SlowestStretch,
    StudyCase,
    local_exponent,
    plateau,
)
from symderiv.show.plots.figure_files import figure_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that differ in print and for colour-blind readers (Okabe and Ito, darkened yellow).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#7B3294", "#A6761D", "#56B4E9", "#333333")
MARKERS = "osD^vPX"
_BAND: Any = {"alpha": 0.3, "linewidth": 0.8}
ALPHA = r"$\alpha$  (examples per input dimension)"
"""The label of the axis of times."""
_LIGHTEST = 0.85

_STYLE: Any = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "font.size": 10,
    "font.family": "sans-serif",
    "mathtext.fontset": "stix",
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.titlesize": 10,
    "lines.linewidth": 1.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    # Letters become outlines, so that a figure looks the same everywhere, and ids are fixed, so
    # that a study always gives the same file.
    "svg.fonttype": "path",
    "svg.hashsalt": "symderiv",
    "savefig.bbox": "tight",
}


@contextmanager
def _styled() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        yield


def _new(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def write(figure: Figure, target: Path | BytesIO, kind: str) -> None:
    """Write the figure in the given format ("svg", "png", "pdf"), without a date."""
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _styled():
        figure.savefig(target, format=kind, dpi=160, metadata=metadata.get(kind))


def save(figure: Figure, path: Path | Output) -> None:
    """Write the figure to a file, whole or not at all, in the format of the file's ending.

    Raises:
        InputError: The ending is not one of ``FIGURE_FORMATS``, or the file must not be replaced.
    """
    target = path if isinstance(path, Output) else figure_output(path)
    buffer = BytesIO()
    write(figure, buffer, target.format)
    target.write(buffer.getvalue())


def save_drawn(draw: Callable[[Axes], object], output: Output | Path) -> None:
    """Draw into new axes and write the figure; see :func:`save`."""
    with _styled():
        figure, axes = _new(1, 1, (6.4, 4.2))
        draw(axes[0, 0])
    save(figure, output)


def colour(index: int, count: int) -> Any:
    if count <= len(_COLOURS):
        return _COLOURS[index]
    import matplotlib

    return matplotlib.colormaps["viridis"](_LIGHTEST * index / (count - 1))


def _positive(alpha: Floats, *columns: Floats) -> tuple[Floats, ...]:
    good = alpha > 0
    return (alpha[good], *(column[good] for column in columns))


def error_figure(cases: Sequence[StudyCase]) -> Figure:
    """Draw ε_g over log α and α: equations as lines, simulations as points, plateaus marked."""
    with _styled():
        figure, axes = _new(1, 2, (9.2, 4.6), sharey=True)
        drawable = any(np.any((case.curve.alpha > 0) & (case.curve.error > 0)) for case in cases)
        for axis, scale in zip(axes[0], ("log", "linear"), strict=True):
            if drawable:
                # an empty logarithmic axis cannot be drawn
                axis.set(xscale=scale, yscale="log")
            for index, case in enumerate(cases):
                shade, marker = colour(index, len(cases)), MARKERS[index % len(MARKERS)]
                _draw_error(axis, case, shade, marker, scale)
            axis.set_xlabel(ALPHA)
        figure.align_xlabels(axes)
        axes[0, 0].set_ylabel(r"generalisation error $\epsilon_g$")
        _add_legend(figure, _legend(axes[0, 0], cases), "outside lower center", columns=4)
        return figure


def _add_legend(figure: Figure, handles: list[Any], place: Any, columns: int) -> None:
    if handles:
        figure.legend(loc=place, handles=handles, ncols=min(columns, len(handles)))


def _draw_error(axis: Axes, case: StudyCase, colour: Any, marker: str, scale: str) -> None:
    label = case.label or "equations"
    axis.plot(*_positive(case.curve.alpha, case.curve.error), color=colour, label=label)
    level = plateau(case.curve)
    if level is not None and level.exists:
        _mark_plateau(axis, level, colour)
    if case.band is not None:
        ends = (case.band.mean + sign * case.band.deviation for sign in (-1.0, 1.0))
        times, below, above = _positive(case.band.alpha, *ends)
        # a logarithmic axis has no place below zero
        below = np.maximum(below, 1e-3 * above)
        axis.fill_between(times, below, above, facecolor=colour, edgecolor=colour, **_BAND)
    if case.points is not None:
        alpha, mean, se = _positive(case.points.alpha, case.points.error, case.points.error_se)
        drawn_mean(axis, alpha, mean, se, colour, marker, None, scale)


def drawn_mean(
    axis: Axes,
    alpha: Floats,
    mean: Floats,
    se: Floats,
    colour: Any,
    marker: str,
    label: str | None,
    scale: str = "log",
) -> None:
    """Draw a simulation's mean at some of its times, with error bars on the scale of the axis."""
    chosen = _thinned(alpha, 22, scale)
    axis.errorbar(
        alpha[chosen],
        mean[chosen],
        yerr=_bars(axis, mean[chosen], se[chosen]),
        fmt=marker,
        color=colour,
        label=label,
        markersize=4.5,
        markerfacecolor="white",
        markeredgewidth=1.1,
        elinewidth=1.0,
        capsize=2,
        zorder=3,
    )


def _mark_plateau(axis: Axes, stretch: SlowestStretch, colour: Any) -> None:
    end = stretch.last if stretch.end is None else stretch.end
    axis.plot(
        [stretch.begin, end],
        [stretch.height] * 2,
        color=colour,
        linewidth=9,
        alpha=0.22,
        solid_capstyle="butt",
        zorder=1,
    )
    if stretch.end is not None:
        axis.plot([end], [0.5 * stretch.height], marker="|", color=colour, markersize=15, zorder=4)


def _legend(axis: Axes, cases: Sequence[StudyCase]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = list(axis.get_legend_handles_labels()[0][: len(cases)])
    grey = "#666666"
    if any(case.label for case in cases):
        handles.append(Line2D([], [], color=grey, label="equations"))
    simulated = [case.points for case in cases if case.points is not None]
    if simulated:
        runs = " ".join(sorted({str(points.runs) for points in simulated}))
        label = f"SGD, {runs} run{'' if runs == '1' else 's'}, ± standard error"
        points = Line2D([], [], color=grey, marker="o", linestyle="", markerfacecolor="white")
        points.set_label(label)
        handles.append(points)
    sizes = sorted({case.band.dimension for case in cases if case.band is not None})
    if sizes:
        text = f"single runs at N = {', '.join(map(str, sizes))}, ± standard deviation"
        handles.append(Patch(facecolor=grey, edgecolor=grey, label=text, **_BAND))
    levels = [plateau(case.curve) for case in cases]
    if any(one is not None and one.exists for one in levels):
        handles.append(Patch(color=grey, alpha=0.22, label="plateau"))
    if any(one is not None and one.exists and one.end is not None for one in levels):
        end = Line2D([], [], color=grey, marker="|", markersize=12, linestyle="")
        end.set_label("plateau's end (half its height)")
        handles.append(end)
    return handles


def _bars(axis: Axes, mean: Floats, se: Floats) -> Floats:
    """Return error bars, which end above zero on a logarithmic axis, as it cannot show that."""
    se = np.nan_to_num(se)
    limited = axis.get_yscale() == "log"
    return np.array([np.minimum(se, 0.999 * np.abs(mean)) if limited else se, se])


def _thinned(alpha: Floats, count: int, scale: str = "log") -> list[int]:
    """Return indices of about ``count`` times, evenly spread on the axis."""
    if not alpha.size:
        return []
    places = np.log(alpha) if scale == "log" else alpha
    wanted = np.linspace(places[0], places[-1], min(count, alpha.size))
    return sorted({int(np.argmin(np.abs(places - w))) for w in wanted})


_MOST_LINES = 12


def overlap_figure(cases: Sequence[StudyCase]) -> Figure:
    """Draw Q_ij(α), R_in(α) and trained output weights v_i(α), one column per case.

    Simulated means are points.
    """
    parts = ["Q", "R"]
    if any(case.curve.trained_weights is not None for case in cases):
        parts.append("v")
    with _styled():
        columns = min(len(cases), 4)
        rows = -(-len(cases) // columns)
        size = (max(2.3 * columns, 5.5), len(parts) * 2.1 * rows)
        figure, axes = _new(len(parts) * rows, columns, size, sharex=True, sharey="row")
        for index, case in enumerate(cases):
            row, column = divmod(index, columns)
            for part, name in enumerate(parts):
                axis = axes[len(parts) * row + part, column]
                _draw_overlaps(axis, case, name, first=column == 0)
                if column == columns - 1 or index == len(cases) - 1:
                    axis.legend(
                        loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8, handlelength=1.2
                    )
            axes[len(parts) * row, column].set_title(case.label, fontsize=9)
        for unused in range(len(cases), rows * columns):
            for part in range(len(parts)):
                axes[len(parts) * (unused // columns) + part, unused % columns].set_visible(False)
        for axis in axes[-1]:
            axis.set_xlabel(r"$\alpha$")
        return figure


def _entries(name: str, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the entries of Q, R or v that are drawn; repeated entries of Q are left out."""
    if name == "v":
        return list(np.ndindex(shape))[:_MOST_LINES]
    return [pair for pair in np.ndindex(shape) if name == "R" or pair[1] >= pair[0]][:_MOST_LINES]


def _draw_overlaps(axis: Axes, case: StudyCase, name: str, *, first: bool) -> None:
    values: Floats | None = getattr(case.curve, name)
    if values is None:
        return
    alpha, values = _positive(case.curve.alpha, values)
    entries = _entries(name, values.shape[1:])
    for index, entry in enumerate(entries):
        shade = colour(index, len(entries))
        comma = "" if max(entry) < 9 else ","
        label = rf"${name}_{{{comma.join(str(i + 1) for i in entry)}}}$"
        at: Any = (..., *entry)
        axis.plot(alpha, values[at], color=shade, linewidth=1.4, label=label)
        if case.points is not None and getattr(case.points, name) is not None:
            times, mean, se = _positive(
                case.points.alpha,
                getattr(case.points, name)[at],
                getattr(case.points, f"{name}_se")[at],
            )
            chosen = _thinned(times, 12)
            axis.errorbar(
                times[chosen],
                mean[chosen],
                yerr=np.nan_to_num(se[chosen]),
                fmt=MARKERS[index % len(MARKERS)],
                color=shade,
                markersize=3,
                markerfacecolor="white",
                elinewidth=0.8,
            )
    if alpha.size:
        axis.set_xscale("log")
    if first:
        axis.set_ylabel(rf"${name}$")


def exponent_figure(cases: Sequence[StudyCase]) -> Figure:
    """Draw the local exponent −d ln ε_g / d ln α of the equations, and a plateau's bound."""
    with _styled():
        figure, axes = _new(1, 1, (8.0, 3.0))
        axis = axes[0, 0]
        highest = 1.0
        for index, case in enumerate(cases):
            good = (case.curve.alpha > 0) & (case.curve.error > 0)
            alpha, error = case.curve.alpha[good], case.curve.error[good]
            if alpha.size < 3:
                continue
            exponent = local_exponent(alpha, error)
            highest = max(highest, float(np.nanquantile(exponent, 0.9)))
            label = case.label or "equations"
            axis.plot(alpha, exponent, color=colour(index, len(cases)), label=label)
        axis.axhspan(-FLAT, FLAT, color="#999999", alpha=0.25, linewidth=0)
        if axis.lines:
            axis.set_xscale("log")
        axis.set(
            xlabel=r"$\alpha$",
            ylabel=r"$-\,\mathrm{d}\ln\epsilon_g/\mathrm{d}\ln\alpha$",
            ylim=(-0.3, 1.3 * highest),
        )
        _add_legend(figure, axis.get_legend_handles_labels()[0], "outside right upper", columns=1)
        return figure
