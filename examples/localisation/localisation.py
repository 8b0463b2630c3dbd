"""What localises, and what does not: inputs on a ring with the same covariance.

    python examples/localisation/localisation.py [--quick] [--output FOLDER]

Writes a page of numbers (``numbers.json``) and six figures: receptive fields of the nonlinear
Gaussian process and of its Gaussian surrogate; the map of participation ratios over the gain and
the length, with the onset; ReLU networks and the gated linear networks with their gates; labels
exchanged; how long gates stay as they are; E[x_i sgn S] and its approximation by one site. And
``fields.html``, fields in time. About six minutes on one core; ``--quick`` two.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from symderiv_models.localisation.gated_linear import GatedLinear
from symderiv_models.localisation.gates import same_gate_of_sample, unchanged_of_sample
from symderiv_models.localisation.sign_means import sign_means
from symderiv_models.localisation.training import Learner

import symderiv as sd
from symderiv.foundation.outputs import Output

LENGTHS = (2.0, 1.0)
GAIN = 3.0


def ratios(found: Any) -> tuple[float, float]:
    """Mean and standard error of participation ratios."""
    ratio = found.participation_ratio
    return ratio["mean"], ratio["standard_error"]


def fields(folder: Path, steps: int, numbers: dict[str, Any]) -> Any:
    """NLGP against the surrogate: fields, and by how many standard errors they differ."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.8), layout="constrained")
    both = []
    for axis, inputs in zip(axes, ("nlgp", "gaussian"), strict=True):
        found = sd.localise(gain=GAIN, lengths=LENGTHS, inputs=inputs, steps=steps, progress=False)
        found.plot(axis)
        both.append(found)
    figure.savefig(folder / "fields.svg")
    (one, e1), (two, e2) = (ratios(each) for each in both)
    numbers["gain 3"] = {"nlgp": [one, e1], "surrogate": [two, e2]}
    numbers["gain 3"]["standard errors apart"] = (one - two) / math.hypot(e1, e2)
    return both[0]


class OnsetMap:
    """Participation ratios over the gain and the longer length, refined where they change.

    For each length the interval of gains (in the logarithm) over which the ratio changes most is
    halved, until no change is above ``change`` or ``most`` gains were tried.
    """

    def __init__(self, steps: int, change: float, most: int) -> None:
        self.steps, self.change, self.most = steps, change, most
        self.rows: list[tuple[float, float, float, float]] = []

    def ratio(self, long: float, gain: float) -> float:
        found = sd.localise(
            gain=gain, lengths=(long, 1.0), steps=self.steps, runs=3, batch=100, progress=False
        )
        mean, error = ratios(found)
        self.rows.append((long, gain, mean, error))
        return mean

    def refine(self, long: float, gains: tuple[float, ...]) -> None:
        known = {gain: self.ratio(long, gain) for gain in gains}
        while len(known) < self.most:
            ordered = sorted(known)
            steps = [abs(known[b] - known[a]) for a, b in pairwise(ordered)]
            widest = int(np.argmax(steps))
            if steps[widest] <= self.change:
                break
            middle = math.sqrt(ordered[widest] * ordered[widest + 1])
            known[middle] = self.ratio(long, middle)

    def onset(self, long: float, threshold: float) -> float:
        """The gain at which the ratio crosses a threshold, between neighbours; nan if nowhere."""
        gains = sorted((gain, mean) for each, gain, mean, _ in self.rows if each == long)
        for (low, before), (high, after) in pairwise(gains):
            if before <= threshold < after:
                share = (threshold - before) / (after - before)
                return low * (high / low) ** share
        return math.nan


def onset_map(folder: Path, quick: bool, numbers: dict[str, Any]) -> None:
    """Where localisation sets in, over the gain and the longer length."""
    import matplotlib.pyplot as plt

    found = OnsetMap(*((300, 0.3, 5) if quick else (800, 0.12, 6)))
    lengths = (1.5, 2.0, 3.0, 4.0)
    for long in lengths:
        found.refine(long, (0.3, 3.0, 30.0))
    threshold = 9.0 / 40
    onset = [found.onset(long, threshold) for long in lengths]
    numbers["onset: longer length, gain at which the ratio is 9/D"] = [
        [long, float(f"{gain:.3g}")] for long, gain in zip(lengths, onset, strict=True)
    ]
    numbers["map: length, gain, ratio, standard error"] = [
        [float(f"{each:.3g}") for each in row] for row in sorted(found.rows)
    ]
    long, gain, mean, _ = np.array(found.rows).T
    figure, axis = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    levels = np.linspace(0.0, 1.0, 21)
    shades = axis.tricontourf(np.log10(gain), long, mean, levels=levels, cmap="viridis")
    axis.scatter(np.log10(gain), long, c="white", s=8, edgecolors="black", linewidths=0.5)
    axis.plot(np.log10(onset), lengths, "r-", label=f"ratio {threshold:.3g}, three times 3/D")
    axis.set(
        xlabel="gain", ylabel="longer length in sites (the other: 1)",
        xticks=np.log10([0.3, 1, 3, 10]), xticklabels=["0.3", "1", "3", "10"],
        title="participation ratio; points: where it was measured",
    )  # fmt: skip
    figure.colorbar(shades, ax=axis)
    axis.legend(loc="lower right")
    figure.savefig(folder / "onset.svg")


def overlay(folder: Path, steps: int, numbers: dict[str, Any]) -> None:
    """ReLU networks and the gated linear networks that have their gates."""
    import matplotlib.pyplot as plt

    inputs = sd.NLGP(gain=GAIN, lengths=LENGTHS)
    random = np.random.default_rng(9)
    x = np.concatenate([inputs.sample(label, (6000,), random) for label in (1, 0)])
    labels = np.repeat([1.0, 0.0], 6000)
    figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    for axis, units in zip(axes, (2, 4), strict=True):
        fields = Learner(inputs, units).sgd(steps, 1, 0, points=4).weights[-1, 0]
        network = GatedLinear(x, labels, (x @ fields.T > 0.0).astype(float))
        gated = network.limit(np.zeros_like(fields))
        cosines = np.sum(fields * gated, axis=1) / (
            np.linalg.norm(fields, axis=1) * np.linalg.norm(gated, axis=1)
        )
        numbers[f"cosines of ReLU fields and gated linear ones, K = {units}"] = [
            float(f"{each:.3f}") for each in cosines
        ]
        for unit in range(units):
            shade = f"C{unit}"
            axis.plot(fields[unit], color=shade, label=f"ReLU, unit {unit + 1}")
            axis.plot(gated[unit], "--", color=shade, alpha=0.8)
        axis.set(xlabel="site", ylabel="weight", title=f"K = {units}; dashed: linear, same gates")
        axis.legend(fontsize=7)
    figure.savefig(folder / "overlay.svg")


def exchanged(folder: Path, steps: int, numbers: dict[str, Any]) -> None:
    """Labels exchanged: several outcomes, run by run and not as a mean."""
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    found = sd.localise(gain=GAIN, lengths=LENGTHS[::-1], units=3, steps=steps, progress=False)
    found.plot(axis)
    figure.savefig(folder / "exchanged.svg")
    numbers["labels exchanged, three units"] = {
        "outcomes": found.outcomes,
        "participation ratios of each run": [
            [float(f"{each:.3g}") for each in run] for run in found.participation_ratio["runs"]
        ],
    }


def gates(folder: Path, found: Any, numbers: dict[str, Any]) -> None:
    """p(t) and the share of inputs whose gate never changes (equations 78 and 79)."""
    import matplotlib.pyplot as plt

    inputs = sd.NLGP(gain=GAIN, lengths=LENGTHS)
    path = found.weights[:, :, 0]
    same = [
        same_gate_of_sample(inputs, path[i], path[i + 1], 4000, 1)[0] for i in range(len(path) - 1)
    ]
    never, error = unchanged_of_sample(inputs, path, 4000, 1)
    numbers["gates"] = {"never change": never.tolist(), "standard error": error.tolist()}
    figure, axis = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    axis.plot(found.time[1:], 1.0 - np.array(same), "o-", alpha=0.6)
    axis.set(
        xscale="log", yscale="log", xlabel="time", ylabel="share of inputs whose gate flips",
        title=f"{np.mean(never):.0%} of the inputs keep their gate from start to end",
    )  # fmt: skip
    figure.savefig(folder / "gates.svg")


def signs(folder: Path, found: Any, numbers: dict[str, Any]) -> None:
    """E[x_i sgn S]: the notes' approximation by one site, and how far it is off."""
    import matplotlib.pyplot as plt

    learnt = found.weights[-1, 0, 0]
    figure, axis = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    rows = []
    fields = {"learnt": learnt, "wave": np.cos(2.0 * np.pi * np.arange(learnt.size) / learnt.size)}
    for gain, marker in ((0.3, "o"), (1.0, "v"), (3.0, "s"), (math.inf, "^")):
        for name, field in fields.items():
            means = sign_means(sd.NLGP(gain=gain, lengths=LENGTHS).law, 1, field)
            rows.append([f"{learnt.size} sites, {name} field, gain {gain:g}", *off_by(means)])
            if name == "learnt":
                axis.errorbar(
                    means.approximated, means.value, means.standard_error, fmt=marker,
                    label=f"gain {gain:g}, largest difference {off_by(means)[0]:.2g}", alpha=0.7,
                )  # fmt: skip
    for sites in (3, 4, 6):
        small = sd.NLGP(gain=math.inf, lengths=(1.2, 0.7), sites=sites)
        field = np.exp(-(np.minimum(np.arange(sites), sites - np.arange(sites)) ** 2) / 2.0)
        rows.append([f"{sites} sites, bump, signs", *off_by(sign_means(small.law, 1, field))])
    numbers["E[x sgn S] by one site: largest difference, standard error, route"] = rows
    ends = axis.get_xlim()
    axis.plot(ends, ends, color="#999999", linewidth=0.8)
    axis.set(xlabel="approximation by one site", ylabel=r"E[$x_i$ sgn S]")
    axis.legend()
    figure.savefig(folder / "signs.svg")


def off_by(means: Any) -> list[Any]:
    """The largest difference of a mean from its approximation, its standard error, the route."""
    off = np.abs(means.value - means.approximated)
    worst = int(np.argmax(off))
    return [float(f"{off[worst]:.3g}"), float(f"{means.standard_error[worst]:.2g}"), means.route]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    mpl.use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, Any] = {}
    steps = 600 if options.quick else 2500
    found = fields(options.output, steps, numbers)
    found.animate(Output(options.output / "fields.html", "html", force=True))
    gates(options.output, found, numbers)
    signs(options.output, found, numbers)
    overlay(options.output, steps, numbers)
    exchanged(options.output, min(steps, 1500), numbers)
    onset_map(options.output, options.quick, numbers)
    (options.output / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")
    print(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()
