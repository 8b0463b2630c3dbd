"""The command ``sweep``: a grid of studies in one store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, StudyFile, bars, shown
from symderiv.cli.resumable import CheckpointEvery, resumable, tell


def sweep(
    study: StudyFile,
    over: Annotated[
        list[str] | None,
        option(
            "--over",
            "A key of the study and its values, or a range KEY=LOW:HIGH:COUNT or "
            "KEY=log:LOW:HIGH:COUNT; repeat it for a grid. Replaces the same key of the sweep "
            "table.",
            "KEY=V1,V2,…",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "Zarr store; one that is there goes on, and is widened by new keys and values.",
            "STORE",
            short="-o",
            show_default="STUDY-sweep.zarr",
        ),
    ] = None,
    scheduler: Annotated[
        str | None, option("--scheduler", "A Dask cluster that runs.", "ADDRESS")
    ] = None,
    workers: Annotated[
        int | None,
        option(
            "--workers",
            "Processes of this machine; 0 for threads of this one.",
            "N",
            min=0,
            max=10_000,
            show_default="by the number of points",
        ),
    ] = None,
    page: Annotated[
        Path | None, option("--page", "Also one page with all pictures.", "FILE.html")
    ] = None,
    netcdf: Annotated[Path | None, option("--netcdf", "Also one netCDF file.", "FILE.nc")] = None,
    files: Annotated[
        bool,
        option("--files", "Deprecated: a folder with one RUN file per point instead of a store."),
    ] = False,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Annotated[
        bool, option("--fresh", "Compute everything again (--files: no checkpoints).")
    ] = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Solve a grid of studies into one store; what is there already is not computed again.

    It may be stopped in any way: the same command goes on. Checkpoints are for --files only.

    Example:  symderiv sweep examples/two-units.toml --over training.learning_rate=0.1:0.4:4
    """
    from symderiv.api.problem import Problem
    from symderiv.api.swept import swept

    with resumable(lambda: True):
        found = swept(
            Problem.from_toml(study, timed=False),
            over or (),
            output=output,
            scheduler=scheduler,
            workers=workers,
            page=page,
            netcdf=netcdf,
            files=files,
            checkpoint_every=checkpoint_every,
            fresh=fresh,
            force=force,
            progress=bars(json_),
            notice=tell,
        )
    shown(found, json_)
