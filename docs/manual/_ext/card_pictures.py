"""Pictures on the cards of the how-to page, drawn from runs while the manual is built."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from sphinx.application import Sphinx

import symderiv as sd

_FOLDER = Path("how-to") / "cards"
_COLOUR, _OTHER = "#2f6db5", "#c8553d"


def _problem(**changes: Any) -> sd.Problem:
    given = {"learning_rate": 0.5, "student_std": 0.1, **changes}
    return sd.Problem("erf", students=2, teachers=2, inputs=sd.Isotropic(500), **given)


def _state(axes: Any) -> None:
    """Draw the spectrum of power-law inputs."""
    state = _problem().replace(inputs=sd.PowerLaw(16, exponent=0.5, dimension=160)).solve(end=0.1)
    axes.bar(np.arange(16), np.sort(state.initial.eigenvalue)[::-1], color=_COLOUR)


def _solve(axes: Any) -> None:
    run = _problem().solve(end=300)
    for i in range(2):
        for n in range(2):
            axes.semilogx(run.alpha[1:], run.R[1:, i, n], color=_COLOUR, lw=2)


def _analyse(axes: Any) -> None:
    """Draw when the error falls, over learning rate and start."""
    rates, starts = np.geomspace(0.1, 3, 24), np.geomspace(1e-3, 1, 12)
    runs = _problem().ensemble(
        learning_rate=list(rates), student_std=list(starts), end=100, points=20
    )
    errors = runs.generalization_error.isel(alpha=-1).transpose("student_std", "learning_rate")
    axes.imshow(np.log(errors), aspect="auto", origin="lower", cmap="viridis")


def _compare(axes: Any) -> None:
    problem = _problem()
    run, sgd = problem.solve(end=30), problem.simulate(runs=4, end=30, points=9)
    axes.loglog(run.alpha[1:], run.generalization_error[1:], color=_COLOUR, lw=2)
    mean, error = (f("generalization_error")[1:] for f in (sgd.mean, sgd.standard_error))
    axes.errorbar(sgd.alpha[1:], mean, 2 * error, fmt="o", color=_OTHER)


def _keep(axes: Any) -> None:
    """Draw many starts, of which a part is computed."""
    runs = _problem(student_std=0.01).ensemble(seed=range(16), end=1000, points=60)
    for number, curve in enumerate(runs.generalization_error.values):
        axes.semilogy(runs.alpha, curve, color=_COLOUR if number < 11 else "#bbbbbb")


def _export(axes: Any) -> None:
    words = r"$\frac{dR_{in}}{d\alpha}=-\eta\,(A_{ip}R_{pn}+B_{im}T_{mn})$"
    axes.text(0.5, 0.5, words, ha="center", va="center", fontsize=15, transform=axes.transAxes)


def _extend(axes: Any) -> None:
    """Draw the units and connections of a network of three layers."""
    layers = [np.linspace(0, 1, count) for count in (5, 3, 5)]
    for x, (here, there) in enumerate(pairwise(layers)):
        for a in here:
            for b in there:
                axes.plot([x, x + 1], [a, b], color="#bbbbbb", zorder=1)
    for x, heights in enumerate(layers):
        axes.scatter([x] * len(heights), heights, s=120, color=_COLOUR, zorder=2)


_CARDS: dict[str, Callable[[Any], None]] = {
    "state": _state,
    "solve": _solve,
    "analyse": _analyse,
    "compare": _compare,
    "keep": _keep,
    "export": _export,
    "extend": _extend,
}


def draw_cards(app: Sphinx, _config: object) -> None:
    """Draw those that are not there; remove the folder to have them drawn again."""
    folder = Path(app.srcdir) / _FOLDER
    folder.mkdir(exist_ok=True)
    for name, draw in _CARDS.items():
        path = folder / f"{name}.svg"
        if path.exists():
            continue
        figure = Figure(figsize=(3.2, 1.6))
        figure.patch.set_alpha(0.0)
        axes = figure.add_axes((0.03, 0.05, 0.94, 0.9))
        draw(axes)
        axes.set_axis_off()
        with mpl.rc_context({"svg.hashsalt": name}):
            figure.savefig(path)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", draw_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
