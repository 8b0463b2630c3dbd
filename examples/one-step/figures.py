"""Figures 1 and 2 of arXiv:2503.00856, all panels, with what agrees and what does not.

    python examples/one-step/figures.py --quick --output one-step-results   # n = 200, a minute
    python examples/one-step/figures.py --output one-step-results           # n = 1000

Dots are the network, diamonds the Hermite model at the cut-off of β (degree at most 4) on the same
data, lines the asymptotic equations, in which nothing is drawn. Below are differences from the
network in per cent: diamonds of the Hermite model, paired; lines of the equations (at the strengths
of the same trials where these are drawn). Bars are standard
errors over trials, which draw spikes, teacher, weights and data anew. Errors are E(y - ŷ)²: twice
what the published figures show; crosses (whole figures only) are values read off those, doubled.
Trials are kept in trials.jsonl, the lines in curve.jsonl; the command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symderiv.foundation.outputs import Output

sys.path.insert(0, str(Path(__file__).parent))

from kept_trials import Keys, Mean, Point, Trials, cores
from panels import ACTIVATIONS, PANELS, QUICK, WHOLE, Panel


def wanted(
    panels: Sequence[Panel], n: int, counts: dict[str, int], quick: bool
) -> list[tuple[Keys, int]]:
    """All trials, the first of every point before the second of any."""
    return [
        (panel.keys(x, activation, n), seed)
        for seed in range(max(counts.values()))
        for panel in panels
        if seed < counts[panel.name]
        for x in panel.thinned(quick)
        for activation in ACTIVATIONS
    ]


#: So many trials have the equations at the strengths that they drew.
_PAIRED = 6
#: Errors below this are not drawn as shares.
_NOTHING = 1e-3


@dataclass(frozen=True)
class Place:
    """What was found at a point: the trials, the asymptotic error, and its share of difference."""

    trials: Point
    limit: float
    gap: Mean


#: Of each activation by x.
Found = dict[str, dict[float, Place]]


def points(panel: Panel, trials: Trials, curve: Trials, n: int, count: int, quick: bool) -> Found:
    """Of each activation, by x; those that have trials."""
    found: Found = {name: {} for name in ACTIVATIONS}
    for name, by_place in found.items():
        for x in panel.thinned(quick):
            keys = panel.keys(x, name, n)
            point = trials.point(keys, range(count))
            if point is not None:
                by_place[x] = Place(point, curve.limit(keys), _gap(panel, curve, keys, point))
    return found


def _gap(panel: Panel, curve: Trials, keys: Keys, point: Point) -> Mean:
    """The equations less the network in per cent, of the trials that have both."""
    limits = [curve.limit(keys, panel.drawn(seed)) for seed in range(point.trials)]
    both = [seed for seed, limit in enumerate(limits) if not math.isnan(limit)]
    if not both:
        return Mean(math.nan, math.nan)
    network = [point.found["network"][seed] for seed in both]
    pairs = Point({"network": network, "asymptotic": [limits[seed] for seed in both]})
    return pairs.difference("asymptotic")


def lines_of(panel: Panel, found: Found) -> list[str]:
    """The table of a panel."""
    lines = [f"\nfigure {panel.name}, x = {panel.key}, errors E(y - yhat)^2"]
    lines.append(
        f"{'':8}{'x':>8}{'network':>20}{'Hermite':>20}{'difference %':>18}{'asymptotic':>12}"
        f"{'difference %':>18}{'published':>12}"
    )
    for name, by_place in found.items():
        for x, place in by_place.items():
            errors, gap = place.trials.errors, place.trials.difference("hermite")
            network, model = errors["network"], errors["hermite"]
            read = panel.read[name].get(x)
            lines.append(
                f"{name:8}{x:>8.3g}{network.value:>11.5f} ± {network.error:.5f}"
                f"{model.value:>10.5f} ± {model.error:.5f}{gap.value:>+10.2f} ± {gap.error:<5.2f}"
                f"{place.limit:>12.5f}{place.gap.value:>+10.2f} ± {place.gap.error:<5.2f}"
                + (f"{2 * read:>12.4f}" if read is not None else "")
            )
    return lines


def draw(panels: Sequence[Panel], found: dict[str, Found], title: str, published: bool) -> Any:
    """All panels, each with the strip of its differences."""
    import matplotlib.pyplot as plt

    rows = (len(panels) + 2) // 3
    figure, axes = plt.subplots(
        2 * rows, 3, figsize=(13, 4.6 * rows), squeeze=False, layout="constrained",
        height_ratios=[3, 1] * rows,
    )  # fmt: skip
    for place in range(3 * rows):
        above, below = axes[2 * (place // 3)][place % 3], axes[2 * (place // 3) + 1][place % 3]
        if place < len(panels):
            _draw_panel(panels[place], found[panels[place].name], published, above, below)
        else:
            above.set_axis_off()
            below.set_axis_off()
    figure.suptitle(title, fontsize=11)
    return figure


def _draw_panel(panel: Panel, found: Found, published: bool, above: Any, below: Any) -> None:
    width = (panel.places[-1] - panel.places[0]) / 200.0
    for place, (name, colour) in enumerate(ACTIVATIONS.items()):
        x, here = list(found[name]), list(found[name].values())
        if not x:
            continue
        network = [p.trials.errors["network"] for p in here]
        above.plot(x, [p.limit for p in here], "-", color=colour, lw=1.3)
        above.errorbar(
            x, [m.value for m in network], [m.error for m in network], fmt="o", ms=4,
            color=colour, capsize=2, lw=0.8, label=name,
        )  # fmt: skip
        model = [p.trials.errors["hermite"].value for p in here]
        above.plot(x, model, "D", ms=6.5, mfc="none", mew=0.8, color=colour)
        read = panel.read[name] if published else {}
        above.plot(
            list(read), [2 * value for value in read.values()], "x", color="0.15", ms=8, mew=1.3
        )
        # where errors vanish a share of them says nothing
        kept = [i for i, each in enumerate(network) if each.value > _NOTHING]
        gaps = [here[i].trials.difference("hermite") for i in kept]
        limits = [here[i].gap for i in kept]
        below.errorbar(
            [x[i] + (place - 1) * width for i in kept], [g.value for g in gaps],
            [g.error for g in gaps], fmt="D", ms=3, mfc="none", color=colour, capsize=1.5, lw=0.8,
        )  # fmt: skip
        at, low, high = ([x[i] for i in kept], *([g.value + sign * g.error for g in limits]
                                                 for sign in (-1, 1)))  # fmt: skip
        below.fill_between(at, low, high, color=colour, alpha=0.12, lw=0)
        below.plot(at, [g.value for g in limits], "-", color=colour, lw=1.0)
    below.axhline(0.0, color="0.5", lw=0.6)
    above.set(title=f"figure {panel.name}", ylabel=r"$\mathrm{E}(y-\hat y)^2$")
    above.set_ylim(bottom=0.0)
    above.tick_params(labelbottom=False)
    below.set(xlabel=panel.label, ylabel="difference, %")
    below.sharex(above)
    above.legend(fontsize=8, frameon=False, loc="best")


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute what is missing, write figures.png, figures.svg and figures.txt."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder")
    parser.add_argument("--quick", action="store_true", help="n = 200, 3 trials, fewer points")
    parser.add_argument("--panel", action="append", choices=[p.name for p in PANELS])
    parser.add_argument(
        "--trials", type=int, help="per point; those of the paper, or 3 with --quick"
    )
    parser.add_argument("--dimension", type=int, help="n; 1000, or 200 with --quick")
    parser.add_argument("--processes", type=int, default=cores())
    parser.add_argument("--shown", action="store_true", help="draw what there is, compute nothing")
    options = parser.parse_args(arguments)
    n = options.dimension or (QUICK if options.quick else WHOLE)
    panels = [p for p in PANELS if not options.panel or p.name in options.panel]
    counts = {p.name: options.trials or (3 if options.quick else p.trials) for p in panels}
    trials = Trials(options.output / "trials.jsonl")
    curve = Trials(options.output / "curve.jsonl")
    if not options.shown:
        trials.run(wanted(panels, n, counts, options.quick), options.processes)
        once = wanted(panels, n, dict.fromkeys(counts, 1), options.quick)
        limits = [({**keys, "models": ["asymptotic"]}, None) for keys, _ in once]
        own = [
            ({**panel.keys(x, name, n), "models": ["asymptotic"]}, seed)
            for panel in panels
            for seed in range(min(counts[panel.name], _PAIRED))
            if panel.drawn(seed) is not None
            for x in panel.thinned(options.quick)
            for name in ACTIVATIONS
        ]
        curve.run([*limits, *own], options.processes)
    found = {p.name: points(p, trials, curve, n, counts[p.name], options.quick) for p in panels}
    table = [line for p in panels for line in lines_of(p, found[p.name])]
    print("\n".join(table))
    Output(options.output / "figures.txt", "txt", force=True).write_text("\n".join(table) + "\n")
    least = min(place.trials.trials for f in found.values() for by in f.values()
                for place in by.values())  # fmt: skip
    title = (
        f"arXiv:2503.00856, figures 1 and 2, made anew: n = {n}, at least {least} trials a point\n"
        "dots: network, diamonds: Hermite model, lines: asymptotic equations"
        + (", crosses: published × 2" if n == WHOLE else "")
        + "; below: differences from the network"
    )
    figure = draw(panels, found, title, published=n == WHOLE)
    for ending in ("png", "svg"):
        figure.savefig(options.output / f"figures.{ending}", dpi=110)
        print(options.output / f"figures.{ending}")


if __name__ == "__main__":
    main()
