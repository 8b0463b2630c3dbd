"""The study of a command, with values on the command line that replace the file's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from symderiv.cli.options import option

if TYPE_CHECKING:
    from symderiv.api.problem import Problem

Set = Annotated[
    list[str] | None,
    option(
        "--set",
        "Replace a value of the study: --set learning_rate=0.3, or training.learning_rate=0.3; "
        "repeatable. A key that is set is not swept.",
        "KEY=VALUE",
    ),
]
End = Annotated[
    float | None,
    option("--end", "Replace the time α at which equations and simulation end.", "A"),
]


def stated_problem(
    study: Path, changes: list[str] | None, end: float | None = None, *, timed: bool = True
) -> Problem:
    """Return the problem of a study file with other values; ``timed`` requires an end."""
    from symderiv.api.arguments.argument_names import typed_changes
    from symderiv.api.problem import Problem

    return Problem.from_toml(study, timed=timed, changes=typed_changes(changes or (), end))
