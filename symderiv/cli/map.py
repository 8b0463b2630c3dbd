"""The commands of many runs: ``sweep``, and ``map``, refined where a quantity changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from symderiv.cli.called import calling
from symderiv.cli.grouped import LongRun, grouped, resumable, tell, write_result
from symderiv.cli.output import Json, PlotOption, StudyFile, bars, option, plot_output, shown
from symderiv.foundation.outputs import Output, check_apart


@calling(
    "api/problem:Problem.map",
    "api/results/runs/grids:MapMade",
    but=("kinds",),
    placeholders={"resolution": "N", "coarse": "N", "change": "X", "check": "N"},
)
@grouped
def map(
    study: StudyFile,
    quantity: Annotated[
        str,
        option(
            "--quantity",
            "final_error, plateau, plateau_length, plateau_height, plateau_begin, plateau_end, "
            "slowest, exponent, rate, status or stable.",
            "NAME",
        ),
    ],
    over: Annotated[
        list[str],
        option(
            "--over",
            "A key and its ends, or KEY=log:LOW:HIGH, or three or more points KEY=V1,V2,V3; twice.",
            "KEY=LOW:HIGH",
        ),
    ],
    output: Annotated[
        Path | None, option("--output", "Also write the map as netCDF.", "MAP.nc", short="-o")
    ] = None,
    plot: PlotOption = None,
    *,
    run: LongRun,
    **asked: Any,
) -> None:
    """Map a number of a run over two keys of a study, solving only where it changes.

    If it is stopped, the same command continues with the runs that it has made.

    Example:  symderiv map STUDY.toml --quantity stable --over training.learning_rate=0:20 --over
    training.label_noise=0:1
    """
    from symderiv.api.problem import Problem
    from symderiv.api.results.runs.mapped import ends_of

    problem = Problem.from_toml(study, timed=True)
    figure = plot_output(plot, inputs=problem.files, force=run.force)
    file = None
    if output is not None:
        file = Output(output, "nc", inputs=problem.files, force=run.force)
    check_apart(figure, file)
    beside = Path(f"{study.stem}-map.nc") if file is None else file.path
    checkpoint = run.checkpoint(beside)
    with resumable(checkpoint.path.exists):
        study_map = problem.map(
            quantity, over=ends_of(over), **asked, checkpoint=checkpoint, progress=bars(run.json_)
        )
        if file is not None:
            write_result(checkpoint, lambda: study_map.save(file))
    checkpoint.remove()
    shown(study_map, run.json_, plot=figure, output=file)


@calling(
    "api/swept:swept",
    "api/problem:Problem.sweep",
    "api/results/runs/grids:SweepMade",
    placeholders={
        "over": "KEY=V1,V2,…",
        "output": "STORE",
        "scheduler": "ADDRESS",
        "workers": "N",
        "page": "FILE.html",
        "netcdf": "FILE.nc",
    },
)
def sweep(
    study: StudyFile,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Solve a grid of studies and keep it in one store, whose points are not computed again.

    If it is stopped, the same command continues.

    Example:  symderiv sweep examples/two-units.toml --over training.learning_rate=0.1:0.4:4
    """
    from symderiv.api.problem import Problem
    from symderiv.api.swept import swept

    with resumable(lambda: True):
        result = swept(
            Problem.from_toml(study, timed=False),
            **asked,
            progress=bars(json_),
            notice=tell,
        )
    shown(result, json_)
