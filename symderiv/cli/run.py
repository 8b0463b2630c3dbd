"""The commands that run one study: ``solve`` and ``simulate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from symderiv.cli.figures import plot_output
from symderiv.cli.output import Force, Json, StudyFile, emit_json, notice, progress, written
from symderiv.cli.resumable import (
    CheckpointEvery,
    Fresh,
    checkpoint_beside,
    resumable,
    write_result,
)
from symderiv.errors import StoppedError, ToleranceError
from symderiv.outputs import Output, check_apart

if TYPE_CHECKING:
    from symderiv.dynamics import Simulation, Trajectory
    from symderiv.dynamics.checkpoint import Checkpoint

PlotOption = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FIG", help="Also draw the error curve (.svg, .png or .pdf)."),
]


def solve(
    study: StudyFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="RUN.nc", help="netCDF file.", show_default="STUDY-run.nc"
        ),
    ] = None,
    plot: PlotOption = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Integrate the order-parameter equations of a study.

    Example:  symderiv solve examples/two-units.toml --plot error.svg
    """
    from symderiv.dynamics import load_study, write_run
    from symderiv.dynamics import solve as integrate

    read = load_study(study)
    inputs = (study, *read.input_files)
    target = Output(output or f"{study.stem}-run.nc", "nc", inputs=inputs, force=force)
    figure = plot_output(plot, inputs=inputs, force=force)
    check_apart(target, figure)
    end = float(read.alpha[-1])
    checkpoint = checkpoint_beside(target.path, checkpoint_every, fresh)
    with resumable(checkpoint.path.exists):
        with progress(quiet=json_) as update:
            trajectory = integrate(
                read,
                progress=lambda alpha, steps: update("solving", alpha / end),
                notice=notice(quiet=json_),
                checkpoint=checkpoint,
            )
        write_result(checkpoint, lambda: write_run(target, trajectory))
        if figure is not None:
            _plot(trajectory, figure)
        _report_solve(target.path, figure, trajectory, checkpoint, json_)
        _end(checkpoint, trajectory.message, target.path)
    if not trajectory.succeeded:
        raise ToleranceError(_failure(trajectory))


def _report_solve(
    target: Path,
    figure: Output | None,
    trajectory: Trajectory,
    checkpoint: Checkpoint,
    as_json: bool,
) -> None:
    error = trajectory.generalization_error
    _report(
        {
            "output": str(target),
            "alpha_end": float(trajectory.alpha_end),
            "generalization_error_end": float(error[-1]) if error.size else None,
            "method": trajectory.method,
            "steps": trajectory.steps,
            "rhs_evaluations": trajectory.rhs_evaluations,
            "wall_seconds": trajectory.wall_seconds,
            "tolerance_reached": trajectory.tolerance_reached,
            "compression": str(trajectory.compression or "none"),
            "compression_error": (
                trajectory.compression.error if trajectory.compression is not None else None
            ),
            "cause": "interrupted" if checkpoint.stopped else trajectory.cause,
            "warnings": list(trajectory.warnings),
            "activation": trajectory.student_activation,
            "teacher_activation": trajectory.teacher_activation,
            **written(plot=figure),
        },
        as_json,
    )


def _end(checkpoint: Checkpoint, message: str, target: Path) -> None:
    """A finished run needs no checkpoint; one that was stopped says where it is."""
    if not checkpoint.stopped:
        checkpoint.remove()
        return
    how = message if "interrupted" in message else "interrupted while measuring the error"
    kept = checkpoint.problem or f"what was computed is in {target}"
    raise StoppedError(f"{how}; {kept}", checkpoint.signal or 2)


def _failure(trajectory: Trajectory) -> str:
    if trajectory.cause != "done":
        return f"{trajectory.message}; what was computed before is kept"
    return (
        f"time.relative_tolerance: {trajectory.relative_tolerance:g} was asked for, "
        f"{trajectory.tolerance_reached:.1e} was reached"
    )


def _plot(trajectory: Trajectory, target: Output) -> None:
    from symderiv.report.curves import Case
    from symderiv.report.job import curve_of
    from symderiv.report.plots import error_figure, save

    save(error_figure([Case("equations", {}, curve_of(trajectory))]), target)


def simulate(
    study: StudyFile,
    runs: Annotated[
        int | None,
        typer.Option("--runs", metavar="R", help="Number of runs, instead of the study's."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="SIM.nc", help="netCDF file.", show_default="STUDY-sim.nc"
        ),
    ] = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Simulate a study by one-pass stochastic gradient descent, several times.

    Example:  symderiv simulate examples/two-units.toml --runs 8
    """
    from symderiv.dynamics import load_study, write_simulation
    from symderiv.dynamics import simulate as descend

    read = load_study(study)
    inputs = (study, *read.input_files)
    target = Output(output or f"{study.stem}-sim.nc", "nc", inputs=inputs, force=force)
    checkpoint = checkpoint_beside(target.path, checkpoint_every, fresh)
    with resumable(checkpoint.path.exists):
        with progress(quiet=json_) as update:
            result = descend(
                read,
                runs=runs,
                progress=lambda done, total: update("simulating", done / max(total, 1)),
                notice=notice(quiet=json_),
                checkpoint=checkpoint,
            )
        write_result(checkpoint, lambda: write_simulation(target, result))
        _report_simulation(target.path, result, json_)
        _end(checkpoint, result.message, target.path)
    if not result.succeeded:
        raise ToleranceError(f"{result.message}; what was computed before is kept")


def _report_simulation(target: Path, result: Simulation, as_json: bool) -> None:
    mean = result.mean("generalization_error")
    standard_error = result.standard_error("generalization_error")
    _report(
        {
            "output": str(target),
            "alpha_end": float(result.alpha_end),
            "generalization_error_end": float(mean[-1]) if mean.size else None,
            "generalization_error_end_standard_error": (
                float(standard_error[-1]) if mean.size else None
            ),
            "runs": result.runs,
            "steps": int(result.examples[-1]) if result.examples.size else 0,
            # no right-hand side is evaluated; the key is there because solve has it
            "rhs_evaluations": 0,
            "wall_seconds": result.wall_seconds,
            "cause": result.cause,
            "warnings": list(result.warnings),
            "activation": result.student_activation,
            "teacher_activation": result.teacher_activation,
        },
        as_json,
    )


def _report(values: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(dict(values))
        return
    width = max(len(name) for name in values)
    for name, value in values.items():
        if name == "warnings":
            for warning in value:
                print(f"{'warning':<{width}}  {warning}")
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            print(f"{name.replace('_', ' '):<{width}}  {shown}")


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the application."""
    app.command()(solve)
    app.command()(simulate)
