"""The command ``study``: all of a study with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from symderiv.cli.grouped import LongRun, TypedStudy, grouped
from symderiv.cli.options import option
from symderiv.cli.output import shown
from symderiv.cli.resumable import resumable


@grouped
def study(
    stated: TypedStudy,
    thorough: Annotated[
        bool, option("--thorough", "Simulate as far as the equations are integrated.")
    ] = False,
    output: Annotated[
        Path | None,
        option("--output", "Results directory.", "DIR", short="-o", show_default="STUDY-results"),
    ] = None,
    *,
    run: LongRun,
) -> None:
    """Derive, solve, simulate, compare, plot and report a study, with its sweep.

    Example:  symderiv study examples/power-law-plateau.toml --output results
    """
    problem = stated.problem()
    directory = output or Path(f"{stated.study.stem}-results")
    with resumable(lambda: any(directory.glob("*.checkpoint"))):
        result = problem.study(
            directory, thorough=thorough, force=run.force, checkpoints=run.checkpoint, **run.told
        )
    shown(result, run.json_)
