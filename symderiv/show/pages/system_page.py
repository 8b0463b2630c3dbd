"""The report of a run of a system: figures with their numbers, the derivation, the statement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from symderiv.foundation.documents.document import (
    Listing,
    Paragraph,
    Part,
    Picture,
    Tabular,
    Verbatim,
)
from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output
from symderiv.show.pages.page import page, svg_bytes, version_line
from symderiv.show.plots import plots
from symderiv.show.plots.axes import draw_curves, is_repeated
from symderiv.show.plots.claims import number
from symderiv.system.system_sgd import SystemSimulation
from symderiv.system.system_trajectory import SystemRun

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_page(run: SystemRun, simulation: SystemSimulation | None, output: Output) -> Path:
    """Write the page; return its path."""
    output.write_text(page_text(run, simulation))
    return output.path


def page_text(run: SystemRun, simulation: SystemSimulation | None = None) -> str:
    """Return the page of a system's run, with figures inside.

    Raises:
        InputError: The run does not know its statement, because it comes from another process.
    """
    if run.system is None:
        raise InputError(
            "the run has no statement, because it comes from another process; solve it again "
            "in this one"
        )
    last = float(run.alpha[-1]) if run.alpha.size else 0.0
    ended = "to the end" if run.cause == "done" else f"and ended there: {run.cause}"
    conditions = [(Paragraph(condition),) for condition in run.system.conditions]
    tables = [_ends(run), _work(run)]
    if simulation is not None:
        tables.insert(1, _compared(run, simulation))
    shown = enumerate(_shown(run), start=1)
    derivation = run.system.equations.derivation.document
    parts = (
        Paragraph(f"The equations were integrated to α = {last:g}, {ended}."),
        *(Paragraph(f"Warning: {warning}.") for warning in run.warnings),
        *([Listing(conditions)] if conditions else []),
        Part("Curves", [_picture(run, simulation, name, n) for n, name in shown], "curves"),
        Part("Numbers", tables, "numbers"),
        replace(derivation, key="derivation", name="Derivation"),
        Part("The statement", (Verbatim(run.statement),), "study"),
    )
    subtitle = ", ".join(f"{name} = {number(value)}" for name, value in run.parameters.items())
    return page(Part(repr(run.system), parts, subtitle=subtitle, links=True), version_line())


def _shown(run: SystemRun) -> list[str]:
    """Return the names of the shown quantities, observables first."""
    moving = [name for name in run.dimensions if run.alpha.size and np.ptp(run[name], axis=0).any()]
    return [*run.observables, *moving]


def _picture(run: SystemRun, simulation: SystemSimulation | None, name: str, count: int) -> Picture:
    dots = "" if simulation is None else "; points: means over SGD runs, bars: standard errors"
    kind = "The average" if name in run.observables else "The order parameter"
    caption = f"{kind} {name} over log α (left) and α (right). Lines: equations{dots}."
    columns = list(run.columns([name]))
    rows: list[list[object]] = [["alpha", *(label for label, _ in columns)]]
    rows += [
        [repr(float(a)), *(repr(float(v[n])) for _, v in columns)] for n, a in enumerate(run.alpha)
    ]
    return Picture(svg_bytes(curves_figure(run, simulation, name)), caption, count, rows)


def _ends(run: SystemRun) -> Tabular:
    rows = [
        [label, number(float(v[0])), number(float(v[-1]))]
        for label, v in run.columns()
        if not is_repeated(label)
    ]
    heads = ["", "at the first time", "at the last time"]
    return Tabular(heads, rows, "First and last values", export=True)


def _work(run: SystemRun) -> Tabular:
    known = "estimate" if run.enclosure is None else "proved"
    rows = [
        ["steps", str(run.steps)],
        ["right-hand sides", str(run.rhs_evaluations)],
        [f"largest error, relative ({known})", number(run.error)],
    ]
    return Tabular(["", ""], rows, "Computation", export=True)


def _compared(run: SystemRun, simulation: SystemSimulation) -> Tabular:
    """Return the deviations of the simulation at the last common time."""
    rows = []
    both = [a for a in simulation.alpha if np.any(np.isclose(run.alpha, a, rtol=1e-9, atol=0))]
    if not both:
        raise InputError(
            "run and simulation have no time in common; ask both for the same alpha",
            argument="simulation",
        )
    time = float(both[-1])
    here = int(np.flatnonzero(simulation.alpha == time)[0])
    there_at = int(np.argmin(np.abs(run.alpha - time)))
    for name in _shown(run):
        mean, error = simulation.mean[name][here], simulation.standard_error[name][here]
        curves = dict(run.columns([name]))
        labels = list(curves)
        for place, label in zip(np.ndindex(mean.shape), labels, strict=True):
            if is_repeated(label):
                continue
            there = float(curves[label][there_at])
            apart, width = float(mean[place]) - there, float(error[place])
            deviation = f"{apart / width:+.2f}".replace("-", "−") if width > 0 else "—"
            rows.append([label, number(there), number(float(mean[place])), deviation])
    heads = ["", "equations", "SGD", "deviation (standard errors)"]
    title = f"Equations and SGD at α = {time:g}, N = {simulation.dimension}"
    return Tabular(heads, rows, title, export=True)


def curves_figure(run: SystemRun, simulation: SystemSimulation | None, name: str) -> Figure:
    """Draw one order parameter or observable over log α and over α."""
    results = [run] if simulation is None else [run, simulation]
    with plots._styled():
        figure, axes = plots._new(1, 2, (8.6, 3.6))
        for axis, scale in zip(axes[0], ("log", "linear"), strict=True):
            draw_curves(axis, results, [name], xscale=scale)
        # the right panel has the same legend
        axes[0, 0].get_legend().remove()
        return figure
