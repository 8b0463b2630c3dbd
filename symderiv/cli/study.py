"""The commands that run many studies: ``study`` (with its report) and ``sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.output import Force, Json, StudyFile, emit_json, progress
from symderiv.cli.resumable import CheckpointEvery, Fresh, checkpoint_beside, resumable, tell
from symderiv.errors import NotYetError, ToleranceError


def study(
    study: StudyFile,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Simulate as far as the equations are integrated.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Results directory.", show_default="STUDY-results"
        ),
    ] = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Derive, solve, simulate, compare, plot and report a study, with its sweep.

    Example:  symderiv study examples/power-law-plateau.toml --output results
    """
    from symderiv.report.job import run_study

    directory = output or Path(f"{study.stem}-results")
    with (
        resumable(lambda: any(directory.glob("*.checkpoint"))),
        progress(quiet=json_) as update,
    ):
        result = run_study(
            study,
            directory,
            thorough=thorough,
            force=force,
            progress=update,
            checkpoints=lambda file: checkpoint_beside(file, checkpoint_every, fresh),
        )
    from symderiv.report.summary import agreement_json, print_summary

    compared = agreement_json(result.found)
    if json_:
        emit_json(
            {
                "report": str(result.report),
                "figures": [str(path) for path in result.figures],
                "agreement": compared,
                "files": [str(path) for path in result.files],
                "claims": result.claims_json(),
            }
        )
    else:
        from rich.console import Console

        print_summary(Console(highlight=False), result.title, result.found)
        print(f"\nreport   {result.report}")
        for figure in result.figures:
            print(f"figure   {figure}")
        for file in result.files:
            print(f"numbers  {file}")
    if result.failures:
        raise ToleranceError("; ".join(result.failures))
    if compared["agrees"] is False:
        differing = [case["case"] or "this study" for case in compared["cases"]]
        raise ToleranceError(f"equations and simulation do not agree for {', '.join(differing)}")


def sweep(
    study: StudyFile,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=V1,V2,…",
            help="A key of the study and its values; repeat it for a grid. Replaces the same key "
            "of the sweep table.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Directory of RUN files.", show_default="STUDY-sweep"
        ),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A running Dask cluster.")
    ] = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Solve a grid of studies on this machine's cores; a second call skips what is finished.

    With --fresh, what is not finished is started over.

    Example:  symderiv sweep examples/two-units.toml --over training.learning_rate=0.1,0.2,0.4
    """
    if scheduler is not None:
        raise NotYetError(
            "--scheduler is not there yet; leave it out to use the cores of this machine"
        )
    from symderiv.report.grid import read_grid, run_grid

    directory = output or Path(f"{study.stem}-sweep")
    points = read_grid(study, over or [], directory)
    with resumable(lambda: True), progress(quiet=json_) as update:
        result = run_grid(
            points, directory, progress=update, checkpoint_every=checkpoint_every, fresh=fresh,
            force=force, inputs=(study,), notice=tell,
        )  # fmt: skip
    if json_:
        emit_json(
            {
                "completed": result.completed,
                "failed": result.failed,
                "output": str(directory),
                "skipped": result.skipped,
                "runs": [{"label": point.label, "file": str(point.file)} for point in points],
                "errors": result.errors,
            }
        )
    else:
        print(
            f"{result.completed} completed ({result.skipped} before), {result.failed} failed; "
            f"files in {directory}"
        )
    if result.failed:
        label, message = next(iter(result.errors.items()))
        raise ToleranceError(f"{result.failed} of {len(points)} failed; {label}: {message}")


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the application."""
    app.command()(study)
    app.command()(sweep)
