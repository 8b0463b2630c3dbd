"""[[task]]: what is taught for some time, one table for each task of a sequence."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from symderiv.keys.checked import Index, NotNegative, Probability, Table
from symderiv.keys.key_records import Key
from symderiv.problem.input_models import Isotropic, PowerLaw, Spectrum

Eigenvalues = Annotated[Isotropic | Spectrum | PowerLaw, Field(discriminator="model")]


class Task(Table, table="task"):
    """[[task]]: what is taught for some time, or with some probability.

    Args:
        [task]
    """

    until: Annotated[
        NotNegative | None,
        Key("time α at which the next task begins; 0 for a task that only mixtures use"),
    ] = None
    teachers: Annotated[
        list[Index] | None, Key("teachers whose sum is the target, numbered from 0")
    ] = None
    head: Annotated[
        Index | Literal["shared"] | None,
        Key(
            "output weights of the student: the number of the task whose weights are used, or "
            "shared for those of task 0; its own when left out"
        ),
    ] = None
    mixture: Annotated[
        dict[str, Probability] | None,
        Key("probability of each task, which is drawn for every example"),
    ] = None
    data: Annotated[
        Eigenvalues | None,
        Key(
            "inputs of this task: other eigenvalues in the same eigenspaces",
            apart=("training.input_noise", "training.normalise"),
        ),
    ] = None
