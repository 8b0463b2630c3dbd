"""The command ``sweep``: a grid of studies in one store."""

from __future__ import annotations

from typing import Any

from symderiv.cli.called import calling
from symderiv.cli.output import Json, StudyFile, bars, shown
from symderiv.cli.resumable import resumable, tell


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
