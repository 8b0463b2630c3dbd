"""Sweeps as typed at a terminal: keys and values as texts, and files beside the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv.api.problem import Problem
from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output, check_apart
from symderiv.sweeps.swept_keys import parse_over

if TYPE_CHECKING:
    from symderiv.sweeps.sweep_result import Sweep


def swept(
    problem: Problem,
    over: Sequence[str] | None = None,
    *,
    page: Path | None = None,
    netcdf: Path | None = None,
    force: bool = False,
    notice: Callable[[str], None],
    **how: Any,
) -> Sweep:
    """Return :meth:`Problem.sweep` for texts ``key=values``, and write a page and a netCDF file.

    Args:
        problem: the problem that is swept.
        over: a key of the study and its values, or a range KEY=LOW:HIGH:COUNT or
            KEY=log:LOW:HIGH:COUNT; repeat it for a grid. Replaces the same key of the sweep table.
        page: also one page with all pictures.
        netcdf: also one netCDF file.
        force, notice, how: see :meth:`Problem.sweep`.

    Raises:
        InputError: a text is not a key with values, or nothing may be written there.
    """
    grid = {}
    for key, values in map(parse_over, over or ()):
        if key in grid:
            raise InputError(f"{key} is given twice; give all its values at once", argument="over")
        grid[key] = values
    # files that cannot be written are refused before anything is computed
    formats = ((page, "html"), (netcdf, "nc"))
    others = [
        None if path is None else Output(path, kind, inputs=problem.files, force=force)
        for path, kind in formats
    ]
    check_apart(*others)
    sweep = problem.sweep(grid, force=force, notice=notice, **how)
    for path, write in ((page, sweep.page), (netcdf, sweep.to_netcdf)):
        if path is not None:
            write(os.fspath(path), force=force)
            notice(f"wrote {path}")
    return sweep
