"""The command ``symderiv one-step``: one gradient step and ridge on a mixture with spikes."""

from __future__ import annotations

from typing import Annotated

from symderiv.cli.figures import PlotOption, plot_output
from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, StudyFile, bars, shown


def one_step(
    study: StudyFile,
    quick: Annotated[bool, option("--quick", "Smaller sizes and fewer trials: seconds.")] = False,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """One gradient step and ridge: network, conditional Gaussian map and Hermite model.

    Errors are E(y - ŷ)², without the ½ of some figures.

    Example:  symderiv one-step examples/one-step/spiked-mixture.toml --quick
    """
    figure = plot_output(plot, inputs=(study,), force=force)
    import symderiv

    setting = symderiv.OneStep.from_toml(study)
    found = (setting.quick() if quick else setting).run(progress=bars(json_))
    shown(found, json_, plot=figure)
