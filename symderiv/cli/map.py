"""The command ``map``: a number of a run over two keys, refined where it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.figures import PlotOption, plot_output
from symderiv.cli.output import Force, Json, StudyFile, bars, shown
from symderiv.cli.resumable import (
    CheckpointEvery,
    Fresh,
    checkpoint_beside,
    resumable,
    write_result,
)
from symderiv.outputs import Output, check_apart


def map(
    study: StudyFile,
    quantity: Annotated[
        str,
        typer.Option(
            "--quantity",
            metavar="NAME",
            help="final_error, plateau, plateau_length, plateau_height, plateau_end, slowest, "
            "exponent, rate, status or stable.",
        ),
    ],
    over: Annotated[
        list[str],
        typer.Option(
            "--over", metavar="KEY=LOW:HIGH", help="A key and its ends, or KEY=log:LOW:HIGH; twice."
        ),
    ],
    resolution: Annotated[
        int,
        typer.Option("--resolution", metavar="N", help="Cells along each side, coarse times 2^n."),
    ] = 128,
    coarse: Annotated[
        int,
        typer.Option("--coarse", metavar="N", min=1, help="Squares along each side to begin with."),
    ] = 8,
    change: Annotated[
        float | None,
        typer.Option(
            "--change",
            metavar="X",
            help="Difference that is none; decades where the quantity spans decades.",
            show_default="a twentieth of the range",
        ),
    ] = None,
    check: Annotated[
        int,
        typer.Option("--check", metavar="N", min=0, help="Other points, at random, to compare."),
    ] = 0,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MAP.nc", help="Also the map as netCDF."),
    ] = None,
    plot: PlotOption = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Map a number of a run over two keys of a study, solving only where it changes.

    It may be stopped in any way: the same command goes on with the runs that are known.

    Example:  symderiv map STUDY.toml --quantity stable --over training.learning_rate=0:20 --over
    training.label_noise=0:1
    """
    from symderiv.library.mapped import ends_of
    from symderiv.library.problem import Problem

    problem = Problem.from_toml(study, timed=True)
    figure = plot_output(plot, inputs=problem.files, force=force)
    file = None
    if output is not None:
        file = Output(output, "nc", inputs=problem.files, force=force)
    check_apart(figure, file)
    beside = Path(f"{study.stem}-map.nc") if file is None else file.path
    checkpoint = checkpoint_beside(beside, checkpoint_every, fresh)
    with resumable(checkpoint.path.exists):
        found = problem.map(
            quantity,
            over=ends_of(over),
            resolution=resolution,
            coarse=coarse,
            change=change,
            check=check,
            checkpoint=checkpoint,
            progress=bars(json_),
        )
        if file is not None:
            write_result(checkpoint, lambda: found.save(file))
    checkpoint.remove()
    shown(found, json_, plot=figure, output=file)
