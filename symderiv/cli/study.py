"""The command ``study``: all of a study, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, StudyFile, bars, notice, shown
from symderiv.cli.resumable import CheckpointEvery, Fresh, checkpoint_beside, resumable
from symderiv.cli.typed_study import End, Set, stated_problem


def study(
    study: StudyFile,
    set_: Set = None,
    end: End = None,
    thorough: Annotated[
        bool, option("--thorough", "Simulate as far as the equations are integrated.")
    ] = False,
    output: Annotated[
        Path | None,
        option("--output", "Results directory.", "DIR", short="-o", show_default="STUDY-results"),
    ] = None,
    checkpoint_every: CheckpointEvery = 10.0,
    fresh: Fresh = False,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Derive, solve, simulate, compare, plot and report a study, with its sweep.

    Example:  symderiv study examples/power-law-plateau.toml --output results
    """
    problem = stated_problem(study, set_, end)
    directory = output or Path(f"{study.stem}-results")
    with resumable(lambda: any(directory.glob("*.checkpoint"))):
        result = problem.study(
            directory,
            thorough=thorough,
            force=force,
            progress=bars(json_),
            notice=notice(quiet=json_),
            checkpoints=lambda file: checkpoint_beside(file, checkpoint_every, fresh),
        )
    shown(result, json_)
