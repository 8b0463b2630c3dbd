"""The command ``symderiv localise``: receptive fields of networks taught inputs on a ring."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from symderiv.cli.figures import PlotOption, plot_output
from symderiv.cli.options import ACTIVATION, option
from symderiv.cli.output import Force, Json, shown
from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output


class Inputs(StrEnum):
    """What the network sees."""

    nlgp = "nlgp"
    single_pulse = "single-pulse"
    gaussian = "gaussian"


class Method(StrEnum):
    """How it learns."""

    flow = "flow"
    sgd = "sgd"


class Loss(StrEnum):
    """What it is taught with."""

    squared = "squared"
    cross_entropy = "cross-entropy"


def localise(
    lengths: Annotated[
        str, option("--lengths", "Lengths of label 1 and 0 in sites.", "LONG,SHORT")
    ],
    gain: Annotated[
        float | None, option("--gain", "Gain of the nonlinear process; inf for signs.", "G")
    ] = None,
    inputs: Annotated[
        Inputs, option("--inputs", "gaussian: the surrogate of the same covariance.")
    ] = Inputs.nlgp,
    sites: Annotated[int, option("--sites", "Sites on the ring.", "D")] = 40,
    units: Annotated[int, option("--units", "Hidden units.", "K")] = 1,
    activation: Annotated[str, ACTIVATION] = "relu",
    loss: Annotated[Loss, option("--loss", "Squared loss, or cross-entropy.")] = (Loss.squared),
    biases: Annotated[bool, option("--biases", "Learn biases too.")] = False,
    method: Annotated[
        Method, option("--method", "Population flow, or online gradient descent.")
    ] = Method.sgd,
    runs: Annotated[int, option("--runs", "Seeds.", "R")] = 8,
    steps: Annotated[int, option("--steps", "Steps of descent.", "S")] = 3000,
    batch: Annotated[int, option("--batch", "Examples per step.", "B")] = 200,
    learning_rate: Annotated[float, option("--learning-rate", "Step of time.", "H")] = 0.1,
    seed: Annotated[int, option("--seed", "Seed of the runs.")] = 0,
    animation: Annotated[
        Path | None, option("--animation", "Fields of the first run in time.", "FILE.html")
    ] = None,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Receptive fields of a mean of K units taught two classes of inputs on a ring.

    Example:  symderiv localise --gain 3 --lengths 2,1 --steps 2000
    """
    import symderiv

    figure = plot_output(plot, force=force)
    moving = None if animation is None else Output(animation, "html", force=force)
    found = symderiv.localise(
        lengths=_lengths(lengths),
        gain=gain,
        inputs=inputs.value,
        sites=sites,
        units=units,
        activation=activation,
        loss=loss.value,
        biases=biases,
        method=method.value,
        runs=runs,
        steps=steps,
        batch=batch,
        learning_rate=learning_rate,
        seed=seed,
        progress=False if json_ else None,
    )
    if moving is not None:
        found.animate(moving)
    shown(found, json_, plot=figure, animation=moving)


def _lengths(text: str) -> list[Any]:
    """Two lengths, each a number or a range ``10-12``."""
    try:
        return [_length(each) for each in text.split(",")]
    except ValueError:
        raise InputError(
            f"{text!r} is not two lengths such as 2,1 or 10-11,2-3", argument="lengths"
        ) from None


def _length(text: str) -> Any:
    least, dash, most = text.strip().partition("-")
    if dash:
        return int(least), int(most)
    number = float(least)
    return int(number) if math.isfinite(number) and number == int(number) else number
