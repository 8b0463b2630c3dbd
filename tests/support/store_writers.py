"""Processes that write one sweep at the same time, with integrations that take none."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from support.quick_integrations import integrated

from symderiv.foundation.errors import InputError
from symderiv.problem.study import parse_study
from symderiv.sweeps import run_grid, study_grid
from symderiv.sweeps.sweep import run_sweep


def writes_at_once(
    study: str, turns: Sequence[dict[str, Any]], path: Path, together: Any, told: Any
) -> None:
    """Sweep over keys and values, one after the other.

    Args:
        study: Its text.
        turns: Keys and values of each turn.
        path: The store.
        together: A barrier in front of each turn.
        told: Is given why a turn was refused, or nothing.
    """
    with (
        mock.patch.object(study_grid, "integrate_chunk", lambda points, **_: integrated(points)),
        mock.patch.object(run_grid, "_PARTS", 4),
    ):
        for over in turns:
            together.wait(60)
            try:
                run_sweep(parse_study(study), over, path)
                told.put("")
            except InputError as error:
                told.put(str(error))
            except BaseException as error:
                told.put(repr(error))
                raise
